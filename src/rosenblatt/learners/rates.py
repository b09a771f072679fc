"""Learning rates of features by how rare they are."""

from __future__ import annotations

import numpy as np

from rosenblatt.kernels.packing import Rarity
from rosenblatt.kernels.rows import Csr, Dense, Packed
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.protocol import Array

SAMPLE = 4096  # rows that the frequencies are taken from


def idf_rates(examples: Examples) -> Array:
    """The squares of inverse document frequencies in the first 4,096 rows.

    To learn with them is to learn from idf-weighted rows, and to multiply the weights by the idf
    afterwards (:class:`rosenblatt.kernels.packing.Rarity`).

    >>> from rosenblatt.learners.examples import examples_of
    >>> idf_rates(examples_of(np.array([[1.0, 1.0], [1.0, 0.0]]), [0, 1])).round(2)
    array([0.26, 1.49, 5.95], dtype=float32)
    """
    return rarity_of(examples.rows, len(examples), examples.n_features).rates


def rarity_of(rows: Dense | Csr | Packed, n: int, n_features: int) -> Rarity:
    """The scales of features by their frequencies in the first rows."""
    n = min(n, SAMPLE)
    if isinstance(rows, Packed):
        near, far, rest = map(int, rows.pointers[n])
        return Rarity.of(
            Packed(
                rows.near[:near], rows.far[:far], rows.columns[:rest], rows.values[:rest],
                rows.bases[:n], rows.pointers[: n + 1],
            )
        )  # fmt: skip
    if isinstance(rows, Dense):
        X = rows.X[:n]
        frequencies, squares = np.count_nonzero(X, axis=0), (X.astype(np.float64) ** 2).sum(axis=0)
    else:
        end = int(rows.pointers[n])
        columns, values = rows.columns[:end], rows.data[:end].astype(np.float64)
        frequencies = np.bincount(columns[values != 0], minlength=n_features)
        squares = np.bincount(columns, weights=values**2, minlength=n_features)
    return rarity_by(frequencies, squares, n)


def rarity_by(frequencies: Array, squares: Array, n: int) -> Rarity:
    """The scales of features by the rows, of n, that have them, and their sums of squares."""
    logs = np.log((2 + n) / (1 + frequencies))
    total = float((squares * logs**2).sum())
    unit = 1.0 / np.sqrt(total / n) if total > 0 else 1.0
    return Rarity((unit * logs).astype(np.float32), float(np.float32(unit * np.log(2 + n))))
