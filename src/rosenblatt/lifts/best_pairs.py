"""Which pairs of columns help most, and which triples matter, by a sample of rows."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
_PRIOR = 5.0  # rows that a bin is shrunk by when pairs are compared
_SWEEPS = 3
_MOST_COMPARED = 64  # columns, those that help most alone
MOST_TRIPLES = 10
_CLEARLY = 40.0  # the square of a correlation over its standard error; of noise below 25
_MOST_PRODUCTS = 3e8  # to compare triples by: about 30 ms
_FEWEST_ROWS = 500


def best_pairs(codes: Array, targets: Array, most: int) -> list[tuple[int, int]]:
    """The pairs of columns that explain most of what the columns alone leave, the best first.

    Parameters
    ----------
    codes : int array (columns, rows)
        The bin of each row in each column.
    targets : float array (rows, classes)
        1 for the class of a row, else 0.
    most : int
        The number of pairs.

    Notes
    -----
    An additive model of the columns is fitted by cyclic means (backfitting). The gain of a pair is
    the sum of squares that the means of its cells would take from the residuals, each mean shrunk
    as if by five more rows. (FAST: Y. Lou, R. Caruana, J. Gehrke, G. Hooker (2013).)

    Examples
    --------
    >>> x = np.array([0, 0, 1, 1] * 9), np.array([0, 1, 0, 1] * 9), np.arange(36) % 3
    >>> best_pairs(np.array(x), np.eye(2)[x[0] ^ x[1]], most=1)
    [(0, 1)]
    """
    residuals = targets - targets.mean(axis=0)
    sizes = codes.max(axis=1) + 1
    alone = [_gain(code, size, residuals) for code, size in zip(codes, sizes, strict=True)]
    for _ in range(_SWEEPS):
        for code, size in zip(codes, sizes, strict=True):
            residuals = residuals - _means(code, size, residuals)[code]
    columns = sorted(np.argsort(-np.array(alone), kind="stable")[:_MOST_COMPARED].tolist())
    pairs = list(combinations(columns, 2))
    gains = [
        _gain(codes[a] * sizes[b] + codes[b], int(sizes[a] * sizes[b]), residuals) for a, b in pairs
    ]
    best = np.argsort(-np.array(gains), kind="stable")[:most]
    return [pairs[i] for i in best.tolist()]


def best_triples(sides: Array, classes: Array) -> list[tuple[int, int, int]]:
    """The triples of columns that matter together, beyond what each does alone; the best first.

    Parameters
    ----------
    sides : float array (columns, rows)
        0 or 1: on which side of a column a row is.
    classes : int array (rows,)

    Notes
    -----
    The product of three standardised sides is compared with what a straight line leaves of the
    classes: for chance the square of the sum over its standard error is below 25, even as the
    largest of 40,000 triples. Where there are too many columns for 500 rows, no triple is sought.

    Examples
    --------
    >>> x = np.random.default_rng(0).integers(0, 2, (4, 600)).astype(np.float32)
    >>> best_triples(x, (x[0] + x[1] + x[3]).astype(int) % 2)
    [(0, 1, 3)]
    """
    values, counts = np.unique(classes, return_counts=True)
    values = values[np.argsort(-counts)][: 1 if len(values) == 2 else None]
    work = max(1, len(sides)) ** 3 * len(values)
    rows = min(len(classes), int(_MOST_PRODUCTS / work))
    if len(sides) < 3 or rows < _FEWEST_ROWS:
        return []
    spread = sides[:, :rows].std(axis=1, keepdims=True)
    x = (sides[:, :rows] - sides[:, :rows].mean(axis=1, keepdims=True)) / np.maximum(spread, 1e-6)
    targets = (classes[:rows, None] == values).astype(np.float32)
    targets -= targets.mean(axis=0)
    residuals = targets - x.T @ np.linalg.lstsq(x.T, targets, rcond=None)[0]
    triples: list[tuple[float, tuple[int, int, int]]] = []
    for residual in residuals.T:
        unit = max(1e-30, float(residual @ residual))
        for a in range(len(x) - 2):
            sums = (x[a + 1 :] * (residual * x[a])) @ x[a + 1 :].T
            for b, c in np.argwhere(np.triu(sums**2, 1) > _CLEARLY * unit).tolist():
                triples.append((float(sums[b, c] ** 2), (a, a + 1 + b, a + 1 + c)))
    best = dict.fromkeys(triple for _, triple in sorted(triples, reverse=True))
    return sorted(list(best)[:MOST_TRIPLES])


def _sums(code: Array, size: int, residuals: Array) -> tuple[Array, Array]:
    counts = np.bincount(code, minlength=size) + _PRIOR
    return counts, np.stack([np.bincount(code, r, size) for r in residuals.T], axis=1)


def _means(code: Array, size: int, residuals: Array) -> Array:
    counts, sums = _sums(code, size, residuals)
    return np.asarray(sums / counts[:, None])


def _gain(code: Array, size: int, residuals: Array) -> float:
    counts, sums = _sums(code, size, residuals)
    return float((sums**2 / counts[:, None]).sum())


def frequent(codes: Array, most: int = 32) -> Array:
    """Codes numbered by falling frequency; the rare ones share the last number."""
    values, numbered, counts = np.unique(codes, return_inverse=True, return_counts=True)
    ranks = np.empty(len(values), np.int64)
    ranks[np.argsort(-counts, kind="stable")] = np.arange(len(values))
    return np.minimum(ranks, most - 1)[numbered]
