"""The state of a linear learner, as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.learners.protocol import Array


class Weights(NamedTuple):
    """Weights (problems, features) and biases (problems,)."""

    weights: Array
    bias: Array


@dataclass(frozen=True)
class State:
    """The state of a linear learner, as plain arrays.

    Attributes
    ----------
    weights, bias : arrays (problems, features) and (problems,)
    sums, bias_sums : arrays of the same shapes
        The averaging sums u; `sums` is empty if nothing is averaged.
    clock : array (problems,)
        Weighted steps of the average so far.
    before : Weights or None
        The weights at the start of the current epoch.
    cells : array (problems, ...)
        What a member of the family has beside the weights, such as variances; else empty.
    book : array (13, problems)
        The numbers of such a member, see :mod:`rosenblatt.kernels.family_cells`; else empty.
    """

    weights: Array
    bias: Array
    sums: Array
    bias_sums: Array
    clock: Array
    before: Weights | None = None
    cells: Array = field(default_factory=lambda: np.zeros((0, 0, 0)))
    book: Array = field(default_factory=lambda: np.zeros((0, 0)))

    @classmethod
    def zero(
        cls, problems: int, features: int, dtype: Any = np.float64, averaging: bool = False
    ) -> State:
        """The state before learning.

        >>> State.zero(1, 2).weights
        array([[0., 0.]])
        """
        shape = (problems, features)
        return cls(
            np.zeros(shape, dtype), np.zeros(problems), np.zeros(shape if averaging else (0, 0)),
            np.zeros(problems), np.zeros(problems),
        )  # fmt: skip
