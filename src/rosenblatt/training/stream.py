"""Learning from sparse rows that come block by block, while new features keep turning up.

The kernels are those of every other run. What differs is that the weights stay laid out for them
from the first block to the last, and grow with the features met.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from threading import Thread
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rosenblatt.kernels import streams
from rosenblatt.kernels._memory import zeros
from rosenblatt.kernels.averages import mean_weights
from rosenblatt.kernels.packed import Packed

Array = npt.NDArray[Any]

_ROOM = 256 << 20  # bytes of address space for weights to begin with
_WORTH_A_SCOUT = 4096  # steps
_NO_SCOUT = np.empty(0, np.int64), np.empty(0, np.float32), np.empty(0, np.int64)
_MOST_OWED = 16 << 20  # bytes of scores kept until the averaging sums are settled


class Examples(NamedTuple):
    """Rows as the kernels want them, with classes and weights.

    `omega` holds the weight of each row, or a single one for all.
    """

    rows: Packed
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


class _Walk(NamedTuple):
    """A walk whose steps have not been added to the averaging sums yet."""

    examples: Examples
    order: Array
    seen: Array
    time: float


class Learner:
    """The online perceptron with its weights laid out for the sparse kernels.

    Two classes have one weight vector, for class 1; more have one each, against the rest.

    The averaging sums are looked after late: a walk keeps its scores, and what it owes to the sums
    is added when the average is asked for, or never, if the average starts anew before. The sums
    are the same to the last bit whenever that happens. Until then the learner holds on to the
    rows; call :meth:`settle` before they change.

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
    rates : float32 array, optional
        The learning rate of each feature, the last for all features beyond; 1 by default.

    Examples
    --------
    >>> from rosenblatt.kernels.compact import Numbering
    >>> from rosenblatt.kernels.text import Rows
    >>> rows = np.array([0, 1, 0, 1], np.uint32), np.array([2, 1, -1, 1], np.float32)
    >>> rows = Rows(np.array([0, 2, 4], np.uint64), *rows)
    >>> rows = Numbering(bits=4).pack(rows, Packed.room(2, 4))
    >>> examples = Examples(rows, np.array([1, 0], np.int32), np.ones(1))
    >>> learner = Learner(2, threshold=0.0, padding=1.0)
    >>> learner.reserve(2)
    >>> learner.learn(examples, np.arange(2, dtype=np.uint64))
    Outcome(steps=2, mistakes=2, updates=2, wrong=1)
    >>> learner.weights(averaged=False)[0].ravel().tolist()
    [3.0, 0.0]
    """

    def __init__(
        self,
        n_classes: int,
        threshold: float,
        padding: float,
        averaging: bool = True,
        rates: Array | None = None,
    ) -> None:
        self.n_classes, self.averaging = n_classes, averaging
        self.problems = 1 if n_classes == 2 else n_classes
        self.setting = (float(threshold), float(padding) ** 2)
        self.rates = np.ones(1, np.float32) if rates is None else rates
        self.n_features = 0
        self._W = np.zeros((0, self.problems), dtype=np.float32)
        self._U = np.zeros((0, self.problems))
        self.bias = np.zeros((3, self.problems))
        self.clock = np.zeros(1)
        self._owed: list[_Walk] = []

    @property
    def W(self) -> Array:  # noqa: N802 - the letter of the formulas
        """The last weights, (features, problems)."""
        return self._W[: self.n_features]

    @property
    def U(self) -> Array:  # noqa: N802
        """The averaging sums, up to date."""
        self.settle()
        return self._U[: self.n_features]

    def reserve(self, n_features: int) -> None:
        """Make room for so many features; new ones weigh nothing."""
        self.n_features = max(self.n_features, n_features)
        if self.n_features > len(self._W):
            # Room that no feature has come for yet is no memory: zeros are handed out when touched.
            # Much of it saves copying the weights whenever features have turned up.
            room = max(self.n_features, 2 * len(self._W), _ROOM // (4 * self.problems))
            self._W = _taller(self._W, room)

    def learn(self, examples: Examples, order: Array, scouted: bool = False) -> Outcome:
        """Visit the rows in this order, and learn from each.

        With a scout another thread scores rows ahead: the same model, sooner if a core is idle.
        """
        time = float(self.clock[0])
        arrays = self.W, self.bias[0], self.clock
        scouted = scouted and self.problems == 1 and len(order) >= _WORTH_A_SCOUT
        with _scout(examples, order, self.W) if scouted else nullcontext(_NO_SCOUT) as ahead:
            seen, updates, mistakes = self._walk(examples, order, arrays, *self.setting, ahead)
        self.bias[1] = self.bias[0]
        if self.averaging:
            self._owed.append(_Walk(examples, order, seen, time))
            if sum(walk.seen.nbytes for walk in self._owed) > _MOST_OWED:
                self.settle()
        wrong = int(np.count_nonzero(self._decide(seen) != examples.codes[order]))
        return Outcome(len(order), mistakes, updates, wrong)

    def settle(self) -> None:
        """Bring the averaging sums up to date."""
        if self.averaging and len(self._U) < self.n_features:
            self._U = _taller(self._U, len(self._W))
        for (rows, codes, omega), order, seen, time in self._owed:
            streams.settle(
                rows, codes, omega, order, seen, self._U, self.bias[2], self.rates, time,
                *self.setting,
            )  # fmt: skip
        self._owed.clear()

    def predict(self, examples: Examples, order: Array, averaged: bool) -> Array:
        """The classes predicted for rows, without learning."""
        W, b = self.weights(averaged)
        arrays = W, b.copy(), np.zeros(1)
        return self._decide(self._walk(examples, order, arrays, -math.inf, 0.0, _NO_SCOUT)[0])

    def weights(self, averaged: bool) -> tuple[Array, Array]:
        """Weights (features, problems) and biases: the last, or the average so far."""
        W = self.average(self.W, self.U) if averaged else self.W
        return W, self.biases(averaged)

    def biases(self, averaged: bool) -> Array:
        """The biases: the last, or the average so far."""
        if not averaged:
            return self.bias[0]
        self.settle()
        return self.bias[0] - self.bias[2] / self._steps

    def average(self, W: Array, U: Array) -> Array:
        """The average so far of some features, by their last weights and averaging sums."""
        return mean_weights(W, U, self._steps)

    @property
    def _steps(self) -> float:
        """The weighted steps of the average."""
        return max(float(self.clock[0]), 1.0)

    def restart_average(self) -> None:
        """Let the average begin with the next step."""
        self._owed.clear()
        self._U[: self.n_features] = 0.0  # nothing beyond has been touched
        self.bias[2] = 0.0
        self.clock[:] = 0.0

    def arrays(self) -> dict[str, Array]:
        """All that is needed to go on learning."""
        sums = {"U": self.U} if self.averaging else {}
        return {"W": self.W, "bias": self.bias, "clock": self.clock} | sums

    def restore(self, arrays: dict[str, Array]) -> None:
        """Go on from :meth:`arrays`."""
        self.n_features = len(arrays["W"])
        self._W = np.array(arrays["W"], dtype=np.float32)
        if self.averaging:
            self._U = np.array(arrays["U"], dtype=np.float64)
        self.bias, self.clock = np.array(arrays["bias"]), np.array(arrays["clock"])

    def _walk(
        self,
        examples: Examples,
        order: Array,
        arrays: Any,
        threshold: float,
        c2: float,
        ahead: tuple[Array, Array, Array],
    ) -> tuple[Array, int, int]:
        """The score of each step before learning, (steps, problems); updates; mistaken steps."""
        seen = np.empty((len(order), self.problems), dtype=np.float32)
        given = (*examples, order, *arrays, self.rates, threshold, c2, seen)
        if self.problems == 1:
            return seen, *streams.two_classes(*given, ahead)
        return seen, *streams.many_classes(*given)

    def _decide(self, scores: Array) -> Array:
        return scores[:, 0] > 0 if self.problems == 1 else scores.argmax(axis=1)


@contextmanager
def _scout(examples: Examples, order: Array, W: Array) -> Iterator[tuple[Array, Array, Array]]:
    """A thread that scores rows ahead of the walk that is taken meanwhile."""
    board = np.zeros(streams.CORRECTIONS + 1, np.int64)
    ahead = board, np.empty(len(order), np.float32), np.full(len(order), -1, np.int64)
    thread = Thread(target=streams.scout, args=(examples.rows, order, W, *ahead))
    thread.start()
    try:
        yield ahead
    finally:
        board[streams.PLACE] = len(order)
        thread.join()


def _taller(array: Array, rows: int) -> Array:
    grown = zeros((rows, array.shape[1]), array.dtype)
    grown[: len(array)] = array
    return grown
