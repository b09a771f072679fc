"""Tables to choose defaults on: parts of real training sets, and generated families of many shapes.

No test set is among them. The generated ones vary in rows, columns, classes, noise, correlation,
tails and balance; `seed` makes others.
"""

from __future__ import annotations

import csv
import gzip

import numpy as np
from sklearn import datasets

from benchmarks.common import data_folder, mnist

Table = tuple[np.ndarray, np.ndarray]
MOST_ROWS = 1000
FAMILIES = ("logit", "clusters", "normal", "tails", "low rank", "codes")


def real_tables() -> dict[str, Table]:
    """Training sets of scikit-learn and of shared/data, at most 1,000 rows of each."""
    tables = {
        name: getattr(datasets, f"load_{name}")(return_X_y=True)
        for name in ("iris", "wine", "breast_cancer", "digits")
    }
    X, y = datasets.load_diabetes(return_X_y=True)
    tables["diabetes, halves"] = X, y > np.median(y)
    tables["diabetes, thirds"] = X, np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))
    for name in ("banknote_authentication", "sonar", "ionosphere", "pima-indians-diabetes"):
        with gzip.open(data_folder() / "tabular" / f"{name}.csv.gz", "rt") as file:
            rows = list(csv.reader(file))
        tables[name] = (
            np.array([row[:-1] for row in rows], float),
            np.array([r[-1] for r in rows]),
        )
    for name in ("a1a", "splice", "svmguide3", "ijcnn1.val", "w8a", "mushrooms"):
        X, y = datasets.load_svmlight_file(str(data_folder() / "libsvm" / f"{name}.gz"))
        X, y = _some(X, y)
        tables[name] = X.toarray(), y
    with np.load(data_folder() / "tabular" / "covtype_120k.npz") as file:
        tables["covtype"] = file["X"].astype(float), file["y"]
    pixels, digit = mnist("train")
    for digits in ((4, 9), (3, 5, 8)):
        some = np.isin(digit, digits)
        tables[f"mnist {digits}"] = _some(pixels[some].astype(float), digit[some], 400)
    return {name: _some(*table) for name, table in tables.items()}


def _some(X: np.ndarray, y: np.ndarray, rows: int = MOST_ROWS) -> Table:
    chosen = np.random.default_rng(0).permutation(X.shape[0])[:rows]
    return X[chosen], np.asarray(y)[chosen]


def generated_tables(count: int, seed: int = 0) -> dict[str, Table]:
    """Tables of six families in turn, two classes and several."""
    tables = {}
    for number in range(count):
        random = np.random.default_rng([seed, number])
        family = FAMILIES[number % len(FAMILIES)]
        classes = 2 if number // len(FAMILIES) % 2 == 0 else int(random.integers(3, 9))
        rows = max(25 * classes, int(np.exp(random.uniform(np.log(100), np.log(MOST_ROWS)))))
        columns = int(np.exp(random.uniform(np.log(3), np.log(60))))
        X, y = _family(family, rows, columns, classes, random)
        if classes == 2 and random.random() < 0.3:
            keep = (y == 0) | (random.random(len(y)) < random.uniform(0.05, 0.4))
            X, y = X[keep], y[keep]
        labels, counts = np.unique(y, return_counts=True)
        common = np.isin(y, labels[counts >= 8])
        if (counts >= 8).sum() > 1:
            tables[f"{family} {number}"] = X[common], y[common]
    return tables


def _family(
    family: str, rows: int, columns: int, classes: int, random: np.random.Generator
) -> Table:
    if family == "clusters":
        informative = max(5, min(columns, 12))
        return datasets.make_classification(
            rows, max(columns, informative), n_informative=informative, n_redundant=0,
            n_classes=classes, n_clusters_per_class=int(random.integers(1, 3)),
            flip_y=random.choice([0, 0.02, 0.1, 0.2]), class_sep=random.uniform(0.5, 2),
            random_state=int(random.integers(2**31)),
        )  # fmt: skip
    if family == "normal":  # every class with its own mean and covariance
        y = random.integers(0, classes, rows)
        means = random.normal(size=(classes, columns)) * random.uniform(0.6, 3) / np.sqrt(columns)
        shapes = [
            random.normal(size=(columns, columns)) / np.sqrt(columns)
            + random.uniform(0.3, 1) * np.eye(columns)
            for _ in range(classes)
        ]
        return np.stack([means[c] + shapes[c] @ random.normal(size=columns) for c in y]), y
    X = _features(family, rows, columns, random)
    Z = X / (X.std(axis=0) + 1e-9)
    W = random.normal(size=(columns, classes)) * (random.random((columns, 1)) < 0.6)
    scores = Z @ W
    scores /= scores.std() + 1e-9
    if random.random() < 0.4:  # no line is right
        bent = (Z**2 - 1) @ (W * random.normal(size=W.shape)) / np.sqrt(columns)
        scores = scores + random.uniform(0.2, 0.8) * bent
    scores = scores * random.uniform(1, 5) + random.normal(size=classes)
    return X, (scores + random.gumbel(size=scores.shape)).argmax(axis=1)


def _features(family: str, rows: int, columns: int, random: np.random.Generator) -> np.ndarray:
    if family == "tails":
        X = random.standard_t(2.5, size=(rows, columns))
        half = columns // 2
        X[:, :half] = np.exp(0.7 * random.normal(size=(rows, half)))
        return X
    if family == "low rank":
        rank = max(2, columns // 4)
        hidden = random.normal(size=(rows, rank)) @ random.normal(size=(rank, columns))
        return hidden + 0.3 * random.normal(size=(rows, columns))
    if family == "codes":
        levels = random.integers(2, 6, size=columns)
        return random.integers(0, levels, size=(rows, columns)).astype(float)
    return random.normal(size=(rows, columns))
