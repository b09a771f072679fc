"""Learning from sparse rows that come block by block, while new features keep turning up.

The kernels are those of every other run. What differs is that the weights stay laid out for them
from the first block to the last, and grow with the features met.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rosenblatt.engine import walks
from rosenblatt.engine.averages import mean_weights

Array = npt.NDArray[Any]

_UNLIMITED = np.iinfo(np.int64).max


class Examples(NamedTuple):
    """Rows as the kernels want them, (values, columns, pointers), with classes and weights.

    `omega` holds the weight of each row, or a single one for all.
    """

    rows: tuple[Array, Array, Array]
    codes: Array
    omega: Array


@dataclass(frozen=True)
class Outcome:
    """What came of a walk over some rows, each predicted before it was learned from."""

    steps: int = 0
    mistakes: int = 0
    updates: int = 0
    wrong: int = 0

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(
            self.steps + other.steps,
            self.mistakes + other.mistakes,
            self.updates + other.updates,
            self.wrong + other.wrong,
        )


class Learner:
    """The online perceptron with its weights laid out for the sparse kernels.

    Two classes have one weight vector, for class 1; more have one each, against the rest.

    Parameters
    ----------
    n_classes : int
        At least two.
    threshold : float
        δ: a row is mistaken when its margin is at most this.
    padding : float
        The padding constant c; 0 for a classifier through the origin.
    averaging : bool
        Whether to keep the sums that the average is made of.

    Examples
    --------
    >>> rows = np.array([2, 1, -1, 1], np.float32), np.array([0, 1, 0, 1], np.uint32)
    >>> rows = (*rows, np.array([0, 2, 4], np.uint64))
    >>> examples = Examples(rows, np.array([1, 0], np.int32), np.ones(1))
    >>> learner = Learner(2, threshold=0.0, padding=1.0)
    >>> learner.reserve(2)
    >>> learner.learn(examples, np.arange(2, dtype=np.uint64))
    Outcome(steps=2, mistakes=2, updates=2, wrong=1)
    >>> learner.weights(averaged=False)[0].ravel().tolist()
    [3.0, 0.0]
    """

    def __init__(
        self, n_classes: int, threshold: float, padding: float, averaging: bool = True
    ) -> None:
        self.n_classes, self.averaging = n_classes, averaging
        self.problems = 1 if n_classes == 2 else n_classes
        self.setting = (float(threshold), float(threshold), float(padding) ** 2, averaging, True)
        self.n_features = 0
        self.W = np.zeros((0, self.problems), dtype=np.float32)
        self.U = np.zeros((0, self.problems)) if averaging else np.zeros((1, self.problems))
        self.bias = np.zeros((3, self.problems))
        self.clock = np.zeros(1)

    def reserve(self, n_features: int) -> None:
        """Make room for so many features; new ones weigh nothing."""
        self.n_features = max(self.n_features, n_features)
        if self.n_features > len(self.W):
            # Room that no feature has come for yet is no memory: zeros are handed out when touched.
            room = max(self.n_features, 2 * len(self.W))
            self.W = _taller(self.W, room)
            self.U = _taller(self.U, room) if self.averaging else self.U

    def learn(self, examples: Examples, order: Array) -> Outcome:
        """Visit the rows in this order, and learn from each."""
        predictions, updates, mistakes = self._walk(
            examples, order, self.setting, (self.W, self.U, self.bias, self.clock)
        )
        wrong = int(np.count_nonzero(predictions != examples.codes[order]))
        return Outcome(len(order), mistakes, updates, wrong)

    def predict(self, examples: Examples, order: Array, averaged: bool) -> Array:
        """The classes predicted for rows, without learning."""
        W, b = self.weights(averaged)
        never = (-math.inf, -math.inf, 0.0, False, True)
        arrays = (W, np.zeros((1, self.problems)), np.stack([b, b, b]), np.zeros(1))
        return self._walk(examples, order, never, arrays)[0]

    def weights(self, averaged: bool) -> tuple[Array, Array]:
        """Weights (features, problems) and biases: the last, or the average so far."""
        W = self.W[: self.n_features]
        if not averaged:
            return W, self.bias[0]
        N = max(float(self.clock[0]), 1.0)
        return mean_weights(W, self.U[: self.n_features], N), self.bias[0] - self.bias[2] / N

    def restart_average(self) -> None:
        """Let the average begin with the next step."""
        self.U[:] = 0.0
        self.bias[2] = 0.0
        self.clock[:] = 0.0

    def arrays(self) -> dict[str, Array]:
        """All that is needed to go on learning."""
        n = self.n_features
        kept: dict[str, Array] = {"W": self.W[:n], "bias": self.bias, "clock": self.clock}
        return kept | ({"U": self.U[:n]} if self.averaging else {})

    def restore(self, arrays: dict[str, Array]) -> None:
        """Go on from :meth:`arrays`."""
        self.n_features = len(arrays["W"])
        self.W = np.array(arrays["W"], dtype=np.float32)
        if self.averaging:
            self.U = np.array(arrays["U"], dtype=np.float64)
        self.bias, self.clock = np.array(arrays["bias"]), np.array(arrays["clock"])

    def _walk(
        self, examples: Examples, order: Array, setting: Any, arrays: Any
    ) -> tuple[Array, int, int]:
        W, U, bias, clock = arrays
        span, limits, eta = (0, len(order)), (_UNLIMITED, _UNLIMITED), np.ones(1)
        top = np.empty(len(order), dtype=np.float32)
        if self.problems == 1:
            signs = (2 * examples.codes - 1).astype(np.int8)
            _, updates, mistakes, _ = walks.binary(
                examples.rows, signs, examples.omega, order, span, eta,
                W, W, U, bias, clock, setting, limits, 0, top,
            )  # fmt: skip
            return (top > 0).astype(np.int32), updates, mistakes
        best = np.empty(len(order), dtype=np.int32)
        _, updates, mistakes, _ = walks.ovr(
            examples.rows, examples.codes, examples.omega, order, span, eta,
            W, W, U, bias, clock, setting, limits, 0, best, top,
        )  # fmt: skip
        return best, updates, mistakes


def _taller(array: Array, rows: int) -> Array:
    grown = np.zeros((rows, array.shape[1]), dtype=array.dtype)
    grown[: len(array)] = array
    return grown
