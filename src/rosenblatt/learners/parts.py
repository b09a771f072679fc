"""The arrays of some problems, in the layout of the kernels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rosenblatt.kernels import learn
from rosenblatt.kernels._memory import zeros
from rosenblatt.learners.protocol import Array, Limits


@dataclass
class Part:
    """The arrays of some problems that one kernel call trains together.

    ``W`` is a vector for a single problem; else (problems, features) for dense rows and (features,
    problems) for sparse ones. ``classes`` are its first class, or its negative and positive one.
    """

    classes: tuple[int, int]
    problems: int
    W: Array
    U: Array
    book: Array
    moves: Array
    before: Array = field(default_factory=lambda: np.empty(0))
    before_bias: Array = field(default_factory=lambda: np.empty(0))


def tally_of(classes: tuple[int, int], limits: Limits) -> Array:
    """Limits and counts as the kernels keep them."""
    tally = np.zeros(learn.TALLY, np.int64)
    tally[learn.ALLOWED], tally[learn.RUN], tally[learn.LONGEST] = limits
    tally[learn.NEGATIVE], tally[learn.POSITIVE] = classes
    return tally


def taller(
    array: Array, rows: int, rest: tuple[int, ...] | None = None, dtype: Any = None
) -> Array:
    """A copy of an array with room for more rows, which are zero."""
    grown = zeros((rows, *(array.shape[1:] if rest is None else rest)), dtype or array.dtype)
    if array.size:
        grown[: len(array)] = array
    return grown
