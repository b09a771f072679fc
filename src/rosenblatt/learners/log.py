"""The log of updates that represents the weights of a dual learner, its state, and its scores.

New rows are scored by the last weights of a log, by their average, or by vote of all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from rosenblatt import rules
from rosenblatt.kernels import gram
from rosenblatt.learners.gram_blocks import BYTES_AN_ENTRY, MIB
from rosenblatt.learners.problems import moves
from rosenblatt.learners.protocol import Array

# Votes are counted per copy of an update: a row of weight 10^9 would take minutes to score.
MOST_COPIES = 10_000


@dataclass(frozen=True)
class Log:
    """The updates of a run, in order; an update by several copies of a row is one line.

    Attributes
    ----------
    problems, rows : arrays of int64 (m,)
        The problem that was corrected, and the row.
    taus : array (m,)
        The signed coefficient: ``τ·φ(x)`` was added to the weight vector of the problem.
    times : array (m,)
        The weighted steps of the problem before the update.
    """

    problems: Array = field(default_factory=lambda: np.empty(0, np.int64))
    rows: Array = field(default_factory=lambda: np.empty(0, np.int64))
    taus: Array = field(default_factory=lambda: np.empty(0))
    times: Array = field(default_factory=lambda: np.empty(0))

    def __len__(self) -> int:
        return int(self.rows.size)

    def __getitem__(self, chosen: Any) -> Log:
        lines = (self.problems, self.rows, self.taus, self.times)
        return Log(*(column[chosen] for column in lines))

    @classmethod
    def joined(cls, logs: list[Log]) -> Log:
        """Several logs, one after the other."""
        parts = [(log.problems, log.rows, log.taus, log.times) for log in logs if len(log)]
        return cls(*map(np.concatenate, zip(*parts, strict=True)))

    def updates(self, n_problems: int) -> Array:
        """The number of updates of each problem: one per copy of a row."""
        copies = np.maximum(1.0, np.ceil(np.abs(self.taus)))
        counts = np.bincount(self.problems, weights=copies, minlength=n_problems)
        return counts.astype(np.int64)

    def raised(self) -> Log:
        """The lines with τ > 0: in joint learning, one of the two of each update."""
        return self[self.taus > 0]

    def coefficients(self, n_problems: int, n_rows: int) -> Array:
        """The dual coefficients (problems, rows) of the last weights."""
        out = np.zeros((n_problems, n_rows))
        np.add.at(out, (self.problems, self.rows), self.taus)
        return out

    def by_row(self) -> tuple[Array, Log]:
        """The distinct rows, sorted, and the log with indices of these as rows."""
        rows, places = np.unique(self.rows, return_inverse=True)
        return rows, replace(self, rows=places)

    def averaged(self, n_rows: int, clock: Array) -> Array:
        """The dual coefficients of the average of the weights over all steps."""
        sizes = np.abs(self.taus)
        lags = sizes * self.times  # the rule for at most one copy
        for line in np.flatnonzero(sizes > 1.0).tolist():
            lags[line] = rules.lag(float(sizes[line]), 1.0, float(self.times[line]))
        shares = lags / np.maximum(clock, 1e-300)[self.problems]
        out = np.zeros((len(clock), n_rows))
        np.add.at(out, (self.problems, self.rows), self.taus - np.copysign(shares, self.taus))
        return out


class Moment(NamedTuple):
    """A moment of a run: the length of the log, the clock, and the squared norms."""

    lines: int
    clock: Array
    squares: Array


@dataclass(frozen=True)
class DualState:
    """The state of a dual learner, as data.

    Attributes
    ----------
    log : Log
        All updates so far.
    clock : array (problems,)
        Weighted steps so far.
    squares : array (2, problems)
        The squared norm of each weight vector, and of its change in this epoch.
    updates : array of int (problems,)
        The updates of each problem; in joint learning those by rows of each class.
    marked : int
        The length of the log when the epoch began.
    kept : Moment or None
        The moment of the least validation error.
    """

    log: Log
    clock: Array
    squares: Array
    updates: Array
    marked: int
    kept: Moment | None = None

    @classmethod
    def zero(cls, problems: int) -> DualState:
        """The state before learning."""
        counts = np.zeros(problems, np.int64)
        return cls(Log(), np.zeros(problems), np.zeros((2, problems)), counts, 0)

    def at_best(self) -> tuple[Log, Array]:
        """The log and the clock at the least validation error, or at the end."""
        if self.kept is None:
            return self.log, self.clock
        return self.log[: self.kept.lines], self.kept.clock

    def grown(self, old: Array, new: Array, multiclass: str) -> DualState:
        """The state with problems for added classes."""
        if len(new) <= 2 or len(new) == len(old):
            return self
        places, signs, sources, total = moves(old, new, multiclass)
        parts = []
        for place, sign, source in zip(places, signs, sources, strict=True):
            lines = np.flatnonzero(self.log.problems == source)
            log = self.log[lines]
            log = replace(log, problems=np.full(lines.size, place), taus=sign * log.taus)
            parts.append((lines, log))
        log = Log.joined([log for _, log in parts])
        if len(log):
            log = log[np.argsort(np.concatenate([lines for lines, _ in parts]), kind="stable")]

        def spread(array: Array) -> Array:
            out = np.zeros((*array.shape[:-1], total), array.dtype)
            out[..., places] = array[..., sources]
            return out

        clock = spread(self.clock) if multiclass == "ovo" else np.full(total, self.clock[0])
        updates = log.raised().updates(total) if multiclass == "joint" else spread(self.updates)
        return DualState(log, clock, spread(self.squares), updates, len(log))


def coefficients(log: Log, clock: Array, keep: str, n_support: int) -> Array:
    """The dual coefficients (problems, support) of the averaged weights, else of the last."""
    if keep == "average":
        return log.averaged(n_support, clock)
    return log.coefficients(clock.size, n_support)


def votes(K: Array, log: Log, clock: Array) -> Array:
    """The votes (rows, problems) of all weights of a run; ``K`` is (rows, support)."""
    updates, out = np.column_stack([log.taus, log.times]), np.empty((len(K), clock.size))
    starts = np.searchsorted(log.problems, np.arange(clock.size + 1))
    gram.vote(K, starts, log.rows, updates, clock, out)
    return out


def scores_by(
    entries: Callable[[slice], Any],
    n: int,
    log: Log,
    clock: Array,
    keep: str,
    n_support: int,
    megabytes: float,
    *,
    vote: Callable[..., Any] = votes,
    xp: Any = np,
) -> Any:
    """The scores (n, problems) of rows; `entries(slice)` is their kernel with the support rows.

    The kernel is computed once, whatever is kept: all weight vectors that vote are prefix sums of
    the same terms. For arrays on a GPU, `xp` is their module, and `vote` replaces :func:`votes`.

    Examples
    --------
    Two updates, at the first and third of four steps; the first vector has two votes, the second
    two:

    >>> log = Log(np.array([0, 0]), np.array([0, 1]), np.array([1.0, -1.0]), np.array([0.0, 2.0]))
    >>> K = np.array([[1.0, 3.0]])
    >>> for keep in ("last", "average", "vote"):
    ...     print(keep, scores_by(lambda rows: K, 1, log, np.array([4.0]), keep, 2, 1.0))
    last [[-2.]]
    average [[-0.5]]
    vote [[0.]]
    """
    out = xp.zeros((n, clock.size)) - (keep == "vote")
    if n_support == 0:
        return out
    if keep == "vote":  # the kernel expects updates by problem
        log = log[np.argsort(log.problems, kind="stable")]
    else:
        weights = xp.asarray(coefficients(log, clock, keep, n_support).T)
    size = max(1, int(megabytes * MIB / 2 // (BYTES_AN_ENTRY * n_support)))
    for start in range(0, n, size):
        rows = slice(start, min(start + size, n))
        K = entries(rows)
        if keep == "vote":
            out[rows] = vote(K, log, clock)
        else:
            out[rows] = K.astype(np.float64, copy=False) @ weights
    return out
