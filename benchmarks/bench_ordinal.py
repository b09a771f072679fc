"""Ordered classes: rank correlation on unseen rows, beside Ridge and one against the rest.

Ratings that people gave are rare: of marriages (Fair, in statsmodels) and of where candidates and
oneself stand (the American national election study of 1996, in statsmodels); grades of diamonds
(their clarity, in plotnine). Made of others: fifths of a target (diabetes), and fifths of what a
judge, a model of other reviews and other features, says of texts. Means of five folds.

    python benchmarks/bench_ordinal.py --registry FOLDER

FOLDER has the unpacked wheels of statsmodels and plotnine; without it only the made sets are used.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.stats import spearmanr
from sklearn.datasets import load_diabetes
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from common import data_folder, machine
from rosenblatt import AROW, OnlineGradient, Ordinal, Perceptron

MOST = 8000  # rows of a table


class PRank:
    """PRank on rows in random orders; its mean over all steps if averaged."""

    def __init__(self, averaged: bool, epochs: int = 20) -> None:
        self.averaged, self.epochs = averaged, epochs

    def fit(self, X: np.ndarray, y: np.ndarray) -> PRank:
        """Learn; the rows are :func:`rosenblatt.reference.prank`'s, with a unit for thresholds."""
        X, rng, above = sp.csr_array(X), np.random.default_rng(0), y[:, None] > np.arange(y.max())
        unit = np.sqrt(X.multiply(X).sum() / X.shape[0])
        signs = np.where(above, 1, -1)
        w, cuts, total, t = np.zeros(X.shape[1]), np.zeros(y.max()), np.zeros(X.shape[1]), 0
        steps = self.epochs * len(y)
        for _ in range(self.epochs):
            for i in rng.permutation(len(y)):
                at = slice(X.indptr[i], X.indptr[i + 1])
                columns, values = X.indices[at], X.data[at]
                z = signs[i] * (signs[i] * (w[columns] @ values - unit * cuts) <= 0)
                if z.any():
                    change = z.sum() * values
                    w[columns] += change
                    total[columns] += (steps - t) * change
                    cuts -= unit * z
                t += 1
        self.coef_ = total / steps if self.averaged else w
        return self

    def scores(self, X: np.ndarray) -> np.ndarray:
        """What ranks rows."""
        return np.asarray(X @ self.coef_)


def fifths(target: np.ndarray) -> np.ndarray:
    """The fifth of the sorted target that each row is in, from 0 to 4."""
    return np.searchsorted(np.quantile(target, [0.2, 0.4, 0.6, 0.8]), target)


def rated_texts(rows: int = 5000) -> tuple[sp.csr_array, np.ndarray]:
    """Short reviews, rated 0 to 4 by a judge who has learned from other reviews and from pieces."""
    with gzip.open(data_folder() / "text/rt_polarity.tsv.gz", "rt", encoding="utf-8") as file:
        table = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    order = np.random.default_rng(0).permutation(len(table))
    texts = np.array([max(table[i], key=len) for i in order])
    labels = np.array([min(table[i], key=len) for i in order])
    pieces = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), min_df=2, sublinear_tf=True)
    judge = LogisticRegression().fit(pieces.fit_transform(texts[rows:]), labels[rows:])
    scores = judge.decision_function(pieces.transform(texts[:rows]))
    words = TfidfVectorizer(min_df=2, ngram_range=(1, 2), sublinear_tf=True)
    return words.fit_transform(texts[:rows]), fifths(scores)


def table(frame: pd.DataFrame, target: str, order: list[object]) -> tuple[np.ndarray, np.ndarray]:
    """Scaled numbers and indicators of categories, and the place of each label in the order."""
    rows = frame.sample(min(MOST, len(frame)), random_state=0)
    X = pd.get_dummies(rows.drop(columns=target)).to_numpy(float)
    return StandardScaler().fit_transform(X), rows[target].map(order.index).to_numpy()


def sets(registry: Path | None) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Names, rows and ratings."""
    if registry is not None:
        here = registry / "statsmodels/datasets"
        frame = pd.read_csv(here / "fair/fair.csv")
        yield "marriages, 1 to 5", *table(frame, "rate_marriage", [1, 2, 3, 4, 5])
        frame = pd.read_csv(here / "anes96/anes96.csv", sep="\t", quotechar="'")
        yield "left to right, 1 to 7", *table(frame, "selfLR", [1, 2, 3, 4, 5, 6, 7])
        frame = pd.read_csv(registry / "plotnine/data/diamonds.csv").dropna()
        frame[["carat", "price"]] = np.log(frame[["carat", "price"]])
        frame = frame.drop(columns=["x", "y", "z"])
        order = ["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"]
        yield "diamonds, I1 to IF", *table(frame, "clarity", order)
    X, t = load_diabetes(return_X_y=True)
    yield "diabetes, fifths", StandardScaler().fit_transform(X), fifths(t)
    yield "reviews, fifths of a judge", *rated_texts()


def textbook(keep: str) -> Ordinal:
    """All thresholds, each a row of two classes, by the textbook perceptron."""
    return Ordinal(Perceptron.textbook(max_iter=20, keep=keep))


MODELS = {
    "Ordinal()": (lambda: Ordinal(), "scores"),
    "Ordinal, textbook": (lambda: textbook("last"), "scores"),
    "Ordinal, textbook averaged": (lambda: textbook("average"), "scores"),
    "Ordinal(AROW())": (lambda: Ordinal(AROW()), "scores"),
    "Ordinal(OnlineGradient(log))": (lambda: Ordinal(OnlineGradient(loss="log")), "scores"),
    "PRank": (lambda: PRank(False), "scores"),
    "PRank, averaged": (lambda: PRank(True), "scores"),
    "Ridge on the ranks": (lambda: Ridge(), "predict"),
    "Perceptron, one against the rest": (lambda: Perceptron(multiclass="ovr"), "predict"),
}


def main() -> None:
    """Print the rank correlation of each model on each set."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--registry", type=Path)
    print(machine("scikit-learn"))
    for name, X, y in sets(parser.parse_args().registry):
        print(f"{name}: {X.shape[0]:,} rows, {X.shape[1]:,} features")
        for model, (make, method) in MODELS.items():
            ranks = []
            for train, test in KFold(5, shuffle=True, random_state=0).split(y):
                fitted = make().fit(X[train], y[train])
                ranks.append(spearmanr(getattr(fitted, method)(X[test]), y[test]).statistic)
            print(f"  {model:<34} {np.mean(ranks):.3f}", flush=True)


if __name__ == "__main__":
    main()
