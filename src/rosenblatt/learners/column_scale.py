"""Columns in any units: each is centred and scaled inside, so that no caller needs a scaler.

Factors are powers of two: products keep their bits, whole numbers stay exact, and a column that is
multiplied by a power of two gives the same model. A dense column with zeros in less than half of
its rows is centred at its mean, to a sixteenth of the unit, and has its standard deviation as unit;
others, such as indicators and pixels, are not centred and have the root mean square of their other
numbers. Sparse rows are in one unit if they are text: a column is scaled only if its numbers are
more than 16 times as large as usual, or as small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rosenblatt.kernels.column_sums import (
    FILLED,
    MOVED,
    MOVED_SQUARED,
    SQUARED,
    SUMS,
    add_sums,
    scale_and_add,
    scale_rows,
)
from rosenblatt.kernels.rows import Csr, Dense
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.problems import module_of
from rosenblatt.learners.protocol import Array
from rosenblatt.learners.weights import Weights

UNUSUAL = 16.0  # times the median of sparse columns
MOST = 1e140  # in a stream, so that no square of a sum overflows
LARGE = 64.0  # a number that the scale of a stream does not fit
_FINENESS = 16  # of centres, per unit


@dataclass(frozen=True)
class ColumnScale:
    """What is subtracted from each column, and the powers of two that it is then multiplied by.

    Attributes
    ----------
    centre, factors : float64 arrays (n_features,)
        Sparse rows have no centre: it is zero. The factor of a dense column with a single number is
        0: it teaches nothing.

    Examples
    --------
    >>> from rosenblatt.learners.examples import examples_of
    >>> X = np.array([[1.0, 1000.0], [2.0, 1500.0], [3.0, 2900.0]])
    >>> scale = ColumnScale.of(examples_of(X, [0, 1, 1]), np.ones(1), centred=True)
    >>> scale.factors.tolist(), scale.rows(X).round(2)[0].tolist()
    ([1.0, 0.0009765625], [-1.0, -0.77])
    """

    centre: Array
    factors: Array

    @classmethod
    def of(cls, examples: Examples, omega: Array, centred: bool) -> ColumnScale | None:
        """The scale of the columns of weighted rows; None if they are fine as they are."""
        sums = np.zeros((SUMS, examples.n_features))
        rows, sparse = examples.rows, not examples.is_dense
        first = np.zeros(examples.n_features)
        if isinstance(rows, Dense):
            at = int(np.argmax(omega > 0)) if omega.size > 1 else 0
            first = rows.X[at].astype(np.float64)
        add_sums(rows, omega, first, sums)
        total = float(omega.sum()) if omega.size > 1 else len(examples) * float(omega[0])
        precision = float(np.finfo(examples.dtype).eps)
        if sparse:
            scale = sparse_scale(sums)
        else:
            scale = dense_scale(sums, first, total, centred, precision)
        changes = scale.centre.any() or (scale.factors != 1.0).any()
        return scale if changes else None

    def examples(self, examples: Examples) -> Examples:
        """A copy of the examples with their columns scaled."""
        rows = examples.rows
        if isinstance(rows, Dense):
            return replace(examples, rows=Dense(self.rows(rows.X)))
        assert isinstance(rows, Csr), "rows are scaled before they are packed"
        data = rows.data * self.factors.astype(rows.data.dtype)[rows.columns]
        return replace(examples, rows=rows._replace(data=data))

    def rows(self, X: Any) -> Any:
        """A copy of checked rows, dense or CSR, with their columns scaled; dense if centred."""
        if hasattr(X, "indptr"):
            if not self.centre.any():
                data = X.data * self.factors.astype(X.dtype)[X.indices]
                return type(X)((data, X.indices, X.indptr), shape=X.shape)
            X = X.toarray()
        if not isinstance(X, np.ndarray):  # on a GPU
            xp = module_of(X)
            centred = X.astype(np.float64) - xp.asarray(self.centre)
            return (centred * xp.asarray(self.factors)).astype(X.dtype)
        out = np.empty_like(X, order="C")
        scale_rows(np.require(X, requirements=["C", "A"]), self.centre, self.factors, out)
        return out

    def fold(self, weights: Array, bias: Array) -> Weights:
        """The weights and biases, for the columns as given, of those for scaled columns."""
        whole = weights * self.factors
        return Weights(whole.astype(weights.dtype), bias - _row_products(whole, self.centre))

    def unfold(self, weights: Array, bias: Array) -> Weights:
        """The weights and biases for scaled columns of those for the columns as given."""
        moved = bias + _row_products(weights, self.centre)
        divisors = np.where(self.factors > 0, self.factors, np.inf)
        return Weights((weights / divisors).astype(weights.dtype), moved)

    def change_from(self, before: ColumnScale) -> tuple[Array, Array]:
        """The factors that scaled columns grow by, and the distances that they move before."""
        ratio = np.ones_like(self.factors)
        np.divide(self.factors, before.factors, out=ratio, where=before.factors > 0)
        return ratio, before.factors * (self.centre - before.centre)


def dense_scale(
    sums: Array, first: Array, total: float, centred: bool, precision: float
) -> ColumnScale:
    """The scale of dense columns by their sums over rows of a total weight."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean = sums[MOVED] / total
        variance = np.maximum(sums[MOVED_SQUARED] / total - mean * mean, 0.0)
        mean += first
        spread = np.sqrt(variance)
        spread[spread <= 8 * precision * np.abs(mean)] = 0.0
        size = np.sqrt(sums[SQUARED] / np.maximum(sums[FILLED], 1e-300))
    is_full = (2 * sums[FILLED] > total) & centred
    unit = _powers_of_two(np.where(is_full, spread, size))
    is_known = np.isfinite(sums).all(axis=0)
    factors = np.where(is_known, np.divide(1.0, unit, out=np.zeros_like(unit), where=unit > 0), 1.0)
    # A column with a single number is centred at just that.
    near = np.where(spread > 0, np.rint(mean * factors * _FINENESS) / _FINENESS * unit, first)
    return ColumnScale(np.where(is_full & is_known, near, 0.0), factors)


def sparse_scale(sums: Array) -> ColumnScale:
    """The scale of sparse columns: 1 but for unusual ones."""
    factors, is_known = np.ones(sums.shape[1]), (sums[SQUARED] > 0) & np.isfinite(sums[SQUARED])
    size = np.sqrt(sums[SQUARED][is_known] / sums[FILLED][is_known])
    if size.size:
        usual = float(np.median(size))
        is_usual = (size <= UNUSUAL * usual) & (UNUSUAL * size >= usual)
        factors[is_known] = np.where(is_usual, 1.0, 1.0 / _powers_of_two(size / usual))
    return ColumnScale(np.zeros_like(factors), factors)


def _powers_of_two(numbers: Array) -> Array:
    """The nearest power of two of each positive number; zeros stay.

    >>> _powers_of_two(np.array([0.0, 1.4, 1.5, 1000.0])).tolist()
    [0.0, 1.0, 2.0, 1024.0]
    """
    mantissa, exponent = np.frexp(np.where(np.isfinite(numbers), numbers, 1.0))
    powers = np.ldexp(1.0, exponent - (mantissa < np.sqrt(0.5)))
    return np.where(mantissa > 0, powers, 0.0)


def refuse_large(X: Array) -> None:
    """Raise an error if sums of squares of a stream of such rows would overflow."""
    if max(float(X.max()), -float(X.min())) > MOST:
        raise ValueError(
            f"The sums of squares of numbers beyond {MOST:g} overflow. Divide the columns of X by "
            "a number."
        )


class RunningScale:
    """The scale of the rows of a stream: of those up to the first, second, fourth ... row.

    And of those up to a row that the scale of the rows before does not fit. It depends on the rows
    in their order, not on how they are divided into calls. (S. Ross, P. Mineiro, J. Langford 2013,
    Normalized online learning, UAI 29.)

    Attributes
    ----------
    scale : ColumnScale
        By the rows when it was last decided.
    square : float
        The mean squared length of the scaled rows, when it was last decided.
    rows : int
        How many rows the sums are of.
    sums, first : arrays
        See :mod:`rosenblatt.kernels.column_sums`.
    """

    def __init__(self, n_features: int, centred: bool) -> None:
        self.scale = ColumnScale(np.zeros(n_features), np.zeros(n_features))
        self.sums, self.first = np.zeros((SUMS, n_features)), np.zeros(n_features)
        self.rows, self.centred, self.square = 0, centred, 1.0

    @property
    def is_due(self) -> bool:
        """Whether the next row decides."""
        return self.rows & (self.rows + 1) == 0

    def visits(self, X: Array, order: Array, out: Array) -> Iterator[tuple[Array, ColumnScale]]:
        """The order in parts with one scale, and the scale before; ``out`` gets scaled rows."""
        at = 0
        while at < len(order):
            before = self.scale
            if not self.rows:
                self.first = X[order[at]].astype(np.float64)
            if self.is_due or not self._take(X, order[at : at + 1], out):
                self._decide(X, order[at : at + 1], out)
            due = 1 << self.rows.bit_length()  # the row that decides next
            end = min(len(order), at + due - self.rows)
            stop = at + 1 + self._take(X, order[at + 1 : end], out)
            yield order[at:stop], before
            at = stop

    def _take(self, X: Array, order: Array, out: Array, limit: float = LARGE) -> int:
        """Scale rows and add them, until one that the scale does not fit; how many."""
        centre, factors = self.scale.centre, self.scale.factors
        taken = scale_and_add(X, order, centre, factors, limit, self.first, self.sums, out)
        self.rows += int(taken)
        return int(taken)

    def _decide(self, X: Array, order: Array, out: Array) -> None:
        """Decide by all rows including one more, which is scaled."""
        self._take(X, order, out, np.inf)
        self.scale = dense_scale(self.sums, self.first, float(self.rows), self.centred, 0.0)
        row = order.astype(np.int64)
        out[row] = self.scale.rows(X[row])
        self.square = self._mean_square()

    def _mean_square(self) -> float:
        """The mean squared length of the rows so far, scaled."""
        total, (_, moved, squared, _) = float(self.rows), self.sums
        offset = self.scale.centre - self.first
        deviations = squared / total - 2 * offset * moved / total + offset * offset
        return float(np.maximum(deviations, 0.0) @ self.scale.factors**2)


def _row_products(weights: Array, column: Array) -> Array:
    """``weights @ column``, each sum in the same order whatever the number of rows."""
    products: Array = np.multiply(weights, column, order="C").sum(axis=1)
    return products
