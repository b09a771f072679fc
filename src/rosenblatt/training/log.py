"""Weights as the log of the mistakes that made them, and a run in that form as one value."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from rosenblatt import rules
from rosenblatt.training.state import Array, Progress, Tally


@dataclass(frozen=True)
class Log:
    """The mistakes of a run, in the order they were made.

    Attributes
    ----------
    problems, rows : arrays of int64 (m,)
        Which problem was mistaken, and about which row.
    taus : array (m,)
        What was added: the weight vector of the problem moved by ``τ·φ(x)``, sign included.
    times : array (m,)
        The weighted steps the problem had taken before.
    """

    problems: Array = field(default_factory=lambda: np.empty(0, np.int64))
    rows: Array = field(default_factory=lambda: np.empty(0, np.int64))
    taus: Array = field(default_factory=lambda: np.empty(0))
    times: Array = field(default_factory=lambda: np.empty(0))

    def __len__(self) -> int:
        return int(self.rows.size)

    def __getitem__(self, chosen: Any) -> Log:
        return Log(
            self.problems[chosen], self.rows[chosen], self.taus[chosen], self.times[chosen]
        )  # fmt: skip

    @classmethod
    def joined(cls, logs: list[Log]) -> Log:
        """Several logs, one after the other."""
        parts = [log for log in logs if len(log)]
        if not parts:
            return cls()
        return cls(
            np.concatenate([log.problems for log in parts]),
            np.concatenate([log.rows for log in parts]),
            np.concatenate([log.taus for log in parts]),
            np.concatenate([log.times for log in parts]),
        )

    def updates(self, n_problems: int) -> Array:
        """The updates of each problem: one for each copy of a row that was answered."""
        copies = np.maximum(1.0, np.ceil(np.abs(self.taus)))
        counts = np.bincount(self.problems, weights=copies, minlength=n_problems)
        return counts.astype(np.int64)

    def raised(self) -> Log:
        """The mistakes that moved weights up: in joint learning, one of the two of each update."""
        return self[self.taus > 0]

    def in_copies(self) -> Log:
        """The same in the order of time, with a line for each copy of a row that was answered.

        Examples
        --------
        >>> log = Log(np.array([0]), np.array([0]), np.array([-2.5]), np.array([3.0]))
        >>> log.in_copies().taus, log.in_copies().times
        (array([-1. , -1. , -0.5]), array([3., 4., 5.]))
        """
        copies = np.maximum(1, np.ceil(np.abs(self.taus))).astype(np.int64)
        lines = self[np.repeat(np.arange(len(self)), copies)]
        number = np.arange(len(lines)) - np.repeat(np.cumsum(copies) - copies, copies)
        sizes = np.minimum(1.0, np.abs(lines.taus) - number)
        lines = replace(lines, taus=np.copysign(sizes, lines.taus), times=lines.times + number)
        return lines[np.argsort(lines.times, kind="stable")]

    def coefficients(self, n_problems: int, n_rows: int) -> Array:
        """The dual coefficients (problems, rows) of the last weights.

        Examples
        --------
        >>> log = Log(np.array([0, 0]), np.array([1, 1]), np.array([1.0, -3.0]), np.array([0., 1.]))
        >>> log.coefficients(1, 2)
        array([[ 0., -2.]])
        """
        out = np.zeros((n_problems, n_rows))
        np.add.at(out, (self.problems, self.rows), self.taus)
        return out

    def averaged(self, n_rows: int, clock: Array) -> Array:
        """The dual coefficients of the mean of the weights after each step.

        Examples
        --------
        >>> log = Log(np.array([0]), np.array([0]), np.array([1.0]), np.array([3.0]))
        >>> log.averaged(1, clock=np.array([4.0]))
        array([[0.25]])
        """
        pairs = zip(self.taus.tolist(), self.times.tolist(), strict=True)
        lags = [rules.lag(abs(tau), 1.0, time) for tau, time in pairs]
        shares = np.array(lags) / np.maximum(clock, 1e-300)[self.problems]
        out = np.zeros((len(clock), n_rows))
        np.add.at(out, (self.problems, self.rows), self.taus - np.copysign(shares, self.taus))
        return out


@dataclass(frozen=True)
class DualState:
    """A run in the dual form as data; for the counters see :class:`rosenblatt.training.State`.

    Attributes
    ----------
    log : Log
        All mistakes so far.
    clock : array (problems,)
        Weighted steps so far.
    squares : array (problems,)
        The squared length of each weight vector.
    mistakes : array of int (problems,)
        The updates of each problem.
    damage : array (problems,)
        On a budget: what removals may have cost so far, by the books of the Forgetron.
    longest : array (problems,)
        On a budget: the largest ``K(x, x)`` of a row that was mistaken.
    kept : tuple or None
        How many mistakes there were, and the clock, when the validation error was least.
    removals : dict or None
        On a budget: the random generator that chooses what to forget.
    """

    log: Log
    clock: Array
    squares: Array
    mistakes: Array
    damage: Array
    longest: Array
    rng: dict[str, Any]
    steps: float = 0.0
    visits: int = 0
    updates: int = 0
    epoch: int = 0
    progress: Progress = field(default_factory=Progress)
    kept: tuple[int, Array] | None = None
    stop_reason: str | None = None
    removals: dict[str, Any] | None = None
    position: ClassVar[int] = 0  # a state is taken between epochs only
    run: ClassVar[int] = 0
    tally: ClassVar[Tally] = Tally()

    @classmethod
    def start(cls, n_problems: int, seed: int | None = None) -> DualState:
        """A run about to begin at zero.

        Examples
        --------
        >>> len(DualState.start(3).log)
        0
        """
        zeros, rng = np.zeros(n_problems), dict(np.random.PCG64(seed).state)
        return cls(Log(), zeros, zeros, zeros.astype(np.int64), zeros, zeros, rng, removals=rng)

    @property
    def n_problems(self) -> int:
        """How many weight vectors there are."""
        return int(self.clock.size)

    def idle(self, passed: float, visits: int) -> DualState:
        """Time passes without learning: a single class poses no problem yet."""
        return replace(
            self,
            clock=self.clock + passed,
            steps=self.steps + passed,
            visits=self.visits + visits,
        )

    def again(self, seed: int | None) -> DualState:
        """The same weights, ready for another run."""
        return replace(
            self, rng=dict(np.random.PCG64(seed).state), updates=0, epoch=0, progress=Progress(),
            kept=None, stop_reason=None,
        )  # fmt: skip

    def at_best(self) -> DualState:
        """The state as it was when the validation error was least, if that was looked at."""
        if self.kept is None:
            return self
        count, clock = self.kept
        return replace(self, log=self.log[:count], clock=clock)
