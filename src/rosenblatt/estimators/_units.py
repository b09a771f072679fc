"""What ``"auto"`` stands for: threshold and padding in units of the data, and the multiclass rule.

An update by a row x moves its own margin by ``η·(‖x‖² + c²)``. In units of that mean gain the best
threshold is much the same for all data: docs/guide/settings.md has the study. Multiplying X by a
number multiplies the gain, and with it the threshold, by its square: predictions stay as they are,
to the last bit if the number is a power of two.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from rosenblatt.estimators import _device
from rosenblatt.kernels.measures import squared_lengths
from rosenblatt.learners.examples import Examples

GAINS = 2.0  # the threshold: how many updates by a typical row it takes to satisfy it
PADDING = 0.5  # the padding constant, as a share of the root mean square length of the rows
MOST_PAIRWISE = 16  # classes that are told apart pair by pair
ROWS_THAT_DECIDE = 256  # of those that come one by one
_BITS = 8


@dataclass(frozen=True)
class MeanSquare:
    """The mean squared length of rows, rounded so that the order of adding up cannot be seen."""

    value: float = 1.0
    total: float = 0.0  # what it is made of while rows come one by one
    rows: int | None = None  # None once the mean is settled

    @classmethod
    def of(
        cls, examples: Examples, rates: np.ndarray, lengths: np.ndarray | None = None
    ) -> MeanSquare:
        """That of all rows of positive weight, a row of weight 2 counting twice.

        `lengths` are the squared lengths of all rows, if they are known.
        """
        if lengths is None:
            everything = np.arange(len(examples), dtype=np.uint64)
            lengths = lengths_of(examples, everything, rates)
        omega = examples.omega
        if omega.size == 1:
            return cls(_rounded(float(lengths.mean())))
        visited = omega > 0
        return cls(_rounded(float(lengths[visited] @ omega[visited]) / float(omega.sum())))

    def visits(
        self, examples: Examples, order: np.ndarray, rates: np.ndarray
    ) -> Iterator[tuple[np.ndarray, MeanSquare]]:
        """The rows of an order in stretches, with the mean to learn by from each.

        Row 1, 2, 4, ..., 256 renews the mean, which is that of all rows up to it: a function of the
        rows in their order, however they are divided into calls.
        """
        if self.rows is None or not len(order):
            yield order, self
            return
        first, value = self.rows, self.value
        lengths = lengths_of(examples, order[: ROWS_THAT_DECIDE - first], rates)
        totals = np.add.accumulate(np.append(self.total, lengths)).tolist()
        for start, end in stretches(first, len(order)):
            row = first + start + 1
            if row & (row - 1) == 0:
                value = _rounded(totals[start + 1] / row)
            rows = first + end if first + end < ROWS_THAT_DECIDE else None
            yield order[start:end], MeanSquare(value, totals[min(end, len(lengths))], rows)


def lengths_of(examples: Examples, order: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """The squared lengths of some rows, each feature times its rate.

    >>> from rosenblatt.learners.examples import examples_of
    >>> rows = examples_of(np.array([[3.0, 4.0], [1.0, 0.0]]), np.array([0, 1]))
    >>> lengths_of(rows, np.arange(2, dtype=np.uint64), np.ones(1, np.float32))
    array([25.,  1.])
    """
    X = getattr(examples.rows, "X", None)
    if _device.is_on_cuda(X):
        return _device.device_lengths(X, rates)[order.astype(np.intp)]
    lengths = np.empty(len(order))
    squared_lengths(examples.rows, order, rates, lengths)
    return lengths


def _rounded(number: float) -> float:
    """A positive number to eight binary digits; 1 instead of zero.

    >>> _rounded(1000.0), _rounded(4000.0), _rounded(0.0)
    (1000.0, 4000.0, 1.0)
    >>> _rounded(1001.0)
    1000.0
    """
    if not math.isfinite(number):
        raise ValueError(
            "The squared lengths of the rows overflow. Scale the features (for example with "
            "StandardScaler)."
        )
    if number == 0:
        return 1.0
    mantissa, exponent = math.frexp(number)
    return math.ldexp(round(math.ldexp(mantissa, _BITS)), exponent - _BITS)


def padding_of(given: Any, square: float) -> float:
    """The padding constant c."""
    return float(given) if given != "auto" else _rounded(PADDING * math.sqrt(square))


def threshold_of(given: Any, square: float, padding: float, eta: float, joint: bool) -> float:
    """The threshold δ; a joint update moves two classes, and so its margin twice as far."""
    if given != "auto":
        return float(given)
    return GAINS * eta * (square + padding * padding) * (2.0 if joint else 1.0)


def multiclass_of(
    given: str, n_classes: int, rows: float, n_features: int, several: bool = False
) -> str:
    """How several classes are told apart: pair by pair if they are few and rows are many.

    A pair learns from its own rows only, two in k: it needs at least as many of them as features.
    Where a row may have several of the classes, each is a problem of its own (``"labels"``).

    >>> multiclass_of("auto", 3, rows=150, n_features=4)
    'ovo'
    >>> multiclass_of("auto", 20, rows=11_314, n_features=62_061)
    'joint'
    """
    if several:
        return "labels"
    if given != "auto":
        return given
    in_pairs = 2 < n_classes <= MOST_PAIRWISE and n_features <= 2 * rows / n_classes
    return "ovo" if in_pairs else "joint"


def stretches(first: int, count: int) -> list[tuple[int, int]]:
    """Where visits, after `first` of them, are cut: rows 1, 2, 4, ..., 256 each change the mean.

    >>> stretches(0, 9)
    [(0, 1), (1, 3), (3, 7), (7, 9)]
    >>> stretches(5, 4)
    [(0, 2), (2, 4)]
    >>> stretches(255, 1000), stretches(256, 10)
    ([(0, 1000)], [(0, 10)])
    """
    cuts = [(1 << k) - 1 - first for k in range(ROWS_THAT_DECIDE.bit_length())]
    return list(pairwise([0, *(cut for cut in cuts if 0 < cut < count), count]))
