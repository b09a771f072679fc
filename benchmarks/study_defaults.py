"""Which settings err least without tuning? Cross-validated over many small tables.

Every number is a mean over tables of the error in stratified folds of training data; columns are
standardised by the training folds. The last column counts the tables on which a model errs more
than the one in the first row by more than chance (a sign test on the rows that only one of the two
gets right, 1 %). Times are of the processor, the median over the tables.

    python -m benchmarks.study_defaults [--generated 48] [--folds 3] [--seed 0] [--kernels]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from scipy.stats import binomtest
from sklearn import linear_model
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from benchmarks.common import machine
from benchmarks.study_tables import Table, generated_tables, real_tables
from rosenblatt import KernelPerceptron, Perceptron

BALANCED = 0.4  # the rows of the smaller class for each of the larger, at least
GROUPS = ("two classes", "two, imbalanced", "several")
THEIRS = "scikit-learn's Perceptron"


def linear_models() -> dict[str, Any]:
    """The default, what is one option away from it, the textbook, and the peers."""
    seed: dict[str, Any] = {"random_state": 0}
    passive = {"loss": "hinge", "penalty": None, "learning_rate": "pa1", "average": True}
    return {
        THEIRS: linear_model.Perceptron(**seed),
        "averaged passive-aggressive": linear_model.SGDClassifier(**passive, eta0=1.0, **seed),
        "LinearSVC": LinearSVC(**seed),
        "LogisticRegression": linear_model.LogisticRegression(max_iter=1000),
        "Perceptron.textbook()": Perceptron.textbook(**seed),
        'textbook(keep="average")': Perceptron.textbook(keep="average", **seed),
        "Perceptron()": Perceptron(**seed),
        "Perceptron(threshold=0)": Perceptron(threshold=0.0, **seed),
        'Perceptron(keep="late_average")': Perceptron(keep="late_average", **seed),
        'Perceptron(keep="last")': Perceptron(keep="last", **seed),
        'Perceptron(multiclass="joint")': Perceptron(multiclass="joint", **seed),
        'Perceptron(multiclass="ovr")': Perceptron(multiclass="ovr", **seed),
        "Perceptron(max_iter=5, tol=None)": Perceptron(max_iter=5, tol=None, **seed),
        "Perceptron(max_iter=100, tol=None)": Perceptron(max_iter=100, tol=None, **seed),
    }


def balanced_models() -> dict[str, Any]:
    """Models that weigh classes by how rare they are."""
    options: dict[str, Any] = {"class_weight": "balanced", "random_state": 0}
    return {
        THEIRS: linear_model.Perceptron(**options),
        "LinearSVC": LinearSVC(**options),
        "LogisticRegression": linear_model.LogisticRegression(max_iter=1000, **options),
        "Perceptron()": Perceptron(**options),
        "Perceptron(), not balanced": Perceptron(random_state=0),
    }


def kernel_models() -> dict[str, Any]:
    """The kernel perceptron and its peer."""
    seed: dict[str, Any] = {"random_state": 0}
    return {
        "SVC": SVC(),
        "KernelPerceptron.textbook()": KernelPerceptron.textbook(**seed),
        "KernelPerceptron()": KernelPerceptron(**seed),
    }


def judged(model: Any, X: np.ndarray, y: np.ndarray, folds: int) -> tuple[np.ndarray, float]:
    """Which rows a model gets right when it has not seen them, and processor seconds per fit."""
    split = StratifiedKFold(folds, shuffle=True, random_state=0).split(X, y)
    right, seconds = np.zeros(len(y), bool), 0.0
    for seen, unseen in split:
        scaler = StandardScaler().fit(X[seen])
        own, rows = clone(model), scaler.transform(X[seen])
        began = process_time()
        own.fit(rows, y[seen])
        seconds += process_time() - began
        right[unseen] = own.predict(scaler.transform(X[unseen])) == y[unseen]
    return right, seconds / folds


def error(right: np.ndarray, _: np.ndarray) -> float:
    """The share of wrong predictions in percent."""
    return 100 * float(1 - right.mean())


def balanced_error(right: np.ndarray, y: np.ndarray) -> float:
    """The mean over classes of the share of wrong predictions, in percent."""
    return 100 * float(np.mean([1 - right[y == c].mean() for c in np.unique(y)]))


def group_of(y: np.ndarray) -> str:
    """The column of the report that a table counts for."""
    counts = np.unique(y, return_counts=True)[1]
    if len(counts) > 2:
        return GROUPS[2]
    return GROUPS[0] if counts.min() >= BALANCED * counts.max() else GROUPS[1]


def report(
    title: str,
    models: dict[str, Any],
    tables: dict[str, Table],
    folds: int,
    measure: Callable[[np.ndarray, np.ndarray], float] = error,
) -> None:
    """Print the mean error of each model in each group of tables."""
    groups = {name: group_of(y) for name, (_, y) in tables.items()}
    counts = {g: sum(found == g for found in groups.values()) for g in GROUPS}
    shown = [g for g in GROUPS if counts[g]]
    print(f"\n{title}\n")
    print(f"| | {' | '.join(f'{g} ({counts[g]})' for g in shown)} | ms per fit | worse |")
    print("|---|" + "---|" * (len(shown) + 2))
    first: dict[str, np.ndarray] = {}
    for name, model in models.items():
        errors: dict[str, list[float]] = {g: [] for g in shown}
        times, worse = [], 0
        for table, (X, y) in tables.items():
            right, seconds = judged(model, X, y, folds)
            errors[groups[table]].append(measure(right, y))
            times.append(1000 * seconds)
            rival = first.setdefault(table, right)
            lost, won = int((rival & ~right).sum()), int((right & ~rival).sum())
            if lost > won:
                worse += binomtest(lost, lost + won, alternative="greater").pvalue < 0.01
        means = " | ".join(f"{np.mean(errors[g]):.2f}" for g in shown)
        print(f"| {name} | {means} | {np.median(times):.1f} | {worse} |", flush=True)


def main() -> None:
    """Print the study."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--generated", type=int, default=48)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kernels", action="store_true")
    told = parser.parse_args()
    warnings.simplefilter("ignore")
    print(machine("scikit-learn"))
    tables = {**real_tables(), **generated_tables(told.generated, told.seed)}
    if told.kernels:
        small = {name: table for name, table in tables.items() if len(table[1]) <= 500}
        report("Mean error, %, against SVC", kernel_models(), small, told.folds)
        return
    report("Mean error, %", linear_models(), tables, told.folds)
    uneven = {name: table for name, table in tables.items() if group_of(table[1]) == GROUPS[1]}
    report(
        'Mean balanced error, %, class_weight="balanced"', balanced_models(), uneven, told.folds,
        balanced_error,
    )  # fmt: skip


if __name__ == "__main__":
    main()
