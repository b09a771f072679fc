"""Ordered classes: rank correlation on unseen rows, beside Ridge and one against the rest.

The repository has no set of ratings: the classes are fifths of a target (diabetes, Friedman's first
function, lengths of reviews told from their words), which is said in the table.

    python benchmarks/bench_ordinal.py
"""

from __future__ import annotations

import csv
import gzip
import os
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.preprocessing import StandardScaler

from rosenblatt import AROW, Ordinal, Perceptron

DATA = Path(os.environ.get("ROSENBLATT_DATA", "../shared/data"))


def fifths(target):
    return np.searchsorted(np.quantile(target, [0.2, 0.4, 0.6, 0.8]), target)


def rated_texts(rows=6000):
    """Short reviews whose rating is their label and how many words of it they have."""
    with gzip.open(DATA / "text/rt_polarity.tsv.gz", "rt", encoding="utf-8") as file:
        table = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    order = np.random.default_rng(0).permutation(len(table))[:rows]
    texts = [max(table[i], key=len) for i in order]
    labels = np.array([min(table[i], key=len) for i in order])
    X = TfidfVectorizer(min_df=2, ngram_range=(1, 2), sublinear_tf=True).fit_transform(texts)
    scores = cross_val_predict(
        LogisticRegression(), X, labels, cv=5, method="decision_function"
    )  # a judge that rates reviews from 0 to 4
    return X, fifths(scores)


def sets():
    X, t = load_diabetes(return_X_y=True)
    yield "diabetes, fifths", StandardScaler().fit_transform(X), fifths(t)
    X, t = make_friedman1(3000, 20, noise=1.0, random_state=0)
    yield "friedman1, fifths", StandardScaler().fit_transform(X), fifths(t)
    yield "reviews, fifths of a judge", *rated_texts()


def textbook(keep):
    return Ordinal(Perceptron.textbook(max_iter=20, keep=keep))


MODELS = {
    "Ordinal()": (lambda: Ordinal(), "scores"),
    "Ordinal, textbook": (lambda: textbook("last"), "scores"),
    "Ordinal, textbook averaged": (lambda: textbook("average"), "scores"),
    "Ordinal(AROW())": (lambda: Ordinal(AROW()), "scores"),
    "Ridge on the ranks": (lambda: Ridge(), "predict"),
    "Perceptron, one against the rest": (lambda: Perceptron(), "predict"),
}


def main():
    warnings.simplefilter("ignore")
    for name, X, y in sets():
        print(f"{name}: {X.shape[0]:,} rows, {X.shape[1]:,} features")
        for model, (make, method) in MODELS.items():
            ranks = []
            for train, test in KFold(5, shuffle=True, random_state=0).split(y):
                fitted = make().fit(X[train], y[train])
                ranks.append(spearmanr(getattr(fitted, method)(X[test]), y[test]).statistic)
            print(f"  {model:<34} {np.mean(ranks):.3f}")


if __name__ == "__main__":
    main()
