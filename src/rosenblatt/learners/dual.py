"""Learners in the dual form: the weights are represented by the log of updates.

The scores of all rows are kept. If the whole Gram matrix is in memory, as for a few thousand rows,
a walk is one kernel call, in which each update changes all scores. Otherwise rows are walked in
blocks. The updates of the last few blocks are *pending*: each new block adds them to its own
scores. When there are enough of them for an efficient matrix product, they are added to the scores
of all rows. So a Gram entry is computed once per correction of its row, not once per block, and
working memory does not grow with the data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from rosenblatt.kernels import gram as kernels
from rosenblatt.learners.examples import ONE, Examples
from rosenblatt.learners.gram_blocks import GramBlocks
from rosenblatt.learners.log import DualState, Log, Moment
from rosenblatt.learners.problems import CountedByScores, Problems
from rosenblatt.learners.protocol import NO_LIMITS, UNLIMITED, Array, Limits, Tally


class Logged(CountedByScores):
    """Base class of dual learners, with the log of their updates."""

    batch = False
    clock: Array
    """The weighted steps of each problem."""
    squares: Array
    """The squared norm of each weight vector, and of its change in this epoch."""

    def __init__(self, problems: Problems, gram: Any, state: DualState | None) -> None:
        self.problems, self.gram = problems, gram
        self._initial = DualState.zero(len(problems)) if state is None else state
        self._logs, self._marked = [self._initial.log], self._initial.marked
        self._epoch_starts = False  # whether the next walk is the first of an epoch

    @property
    def log(self) -> Log:
        """All updates so far."""
        self._logs = [Log.joined(self._logs)]
        return self._logs[0]

    def mark(self) -> None:
        """Start an epoch, for :meth:`measure`."""
        self._marked, self._epoch_starts = sum(map(len, self._logs)), True

    def measure(self) -> tuple[float, float]:
        """The norms of all weights, and of their change since the last measure or mark."""
        squares = self.squares
        check_finite(squares)
        norm, change = np.sqrt(np.maximum(squares.sum(axis=1), 0.0)).tolist()
        self.mark()
        return norm, change

    def snapshot(self, averaged: bool = False) -> Moment:
        """The current moment: the log up to it determines the weights and their average."""
        return Moment(sum(map(len, self._logs)), self.clock.copy(), self.squares[0].copy())

    def restart_average(self) -> None:
        """Not supported: the average of the log starts with the run."""
        raise NotImplementedError("the average of the dual form starts with the run")

    def state(self) -> DualState:
        """The state, from which a new learner can continue."""
        fresh = self.log[len(self._initial.log) :]
        updates = (fresh.raised() if self.problems.joint else fresh).updates(len(self.problems))
        return replace(
            self._initial, log=self.log, clock=self.clock.copy(), squares=self.squares.copy(),
            updates=self._initial.updates + updates, marked=self._marked, kept=None,
        )  # fmt: skip


class Dual(Logged):
    """Perceptrons in the feature space of a kernel, through its origin, with learning rate 1.

    Parameters
    ----------
    problems : Problems
        The binary problems of the classes.
    gram : GramBlocks
        The Gram entries of the rows; `examples` of a walk are these rows.
    state : DualState or None
        Where to continue from.
    epochs : int
        The largest number of epochs. In the last one the scores of rows already visited are not
        updated, which saves half of its Gram entries. If they are needed after all, they are
        recomputed from the log.

    Examples
    --------
    >>> from rosenblatt.learners.examples import examples_of
    >>> X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    >>> xor = examples_of(X, np.array([0, 1, 1, 0]))
    >>> learner = Dual(Problems(2), GramBlocks(lambda A, B: (A @ B.T + 1) ** 2, X))
    >>> [learner.walk(xor, np.arange(4, dtype=np.uint64)).updates for _ in range(8)]
    [4, 4, 4, 4, 3, 1, 1, 0]
    >>> learner.scores(np.arange(4)).T
    array([[-1.,  2.,  2., -3.]])
    """

    def __init__(
        self,
        problems: Problems,
        gram: GramBlocks,
        state: DualState | None = None,
        *,
        epochs: int = UNLIMITED,
    ) -> None:
        super().__init__(problems, gram, state)
        self.epochs = epochs
        n, state = len(problems), self._initial
        self.clock, self.squares = state.clock.copy(), state.squares.copy()
        self._pending: list[Log] = []
        self._n_pending = 0
        # The scores of each problem, then those at the start of the epoch; without pending updates.
        self._scores = np.zeros((2 * n, gram.n))
        self._is_stale = np.full(gram.n, len(state.log) > 0)

    def walk(
        self,
        examples: Examples,
        order: Array,
        etas: Array = ONE,
        limits: Limits = NO_LIMITS,
    ) -> Tally:
        """Visit the rows in this order and learn from each; there is only one learning rate, 1."""
        self._open(order)
        n, joint = len(self.problems), self.problems.joint
        G = self.gram.whole  # all entries, if they are in memory
        size = self.gram.block_rows if G is None else len(order)
        at = updates = corrected = 0
        lines, predictions = (1 + joint) * n * min(size, len(order)), []
        while at < len(order):
            rows = order[at : at + size].astype(np.int64)
            corrections, places = np.empty((lines, 2)), np.empty((lines, 2), np.int64)
            seen = np.empty((n, len(rows)))
            block = self._block(rows) if G is None else (G, rows, *self._halves())
            labels, omega = self._labels(examples, rows if G is None else None)
            kernel = kernels.walk_joint if joint else kernels.walk
            visits, written, made, rows_corrected = kernel(
                *block, labels, omega,
                tuple(map(float, self.problems.thresholds)),
                (self.clock, self.squares), (corrections, places), seen,
            )  # fmt: skip
            check_finite(block[2])
            at += visits
            updates += made
            corrected += rows_corrected
            if written:
                numbers = places[:written, 1] if G is not None else rows[places[:written, 1]]
                self._remember(numbers, corrections[:written], places[:written, 0], order[at:])
            predictions.append(self.problems.decide(seen[:, :visits].T))
            if visits == 0:
                lines *= 8  # for the copies of one row
        return tally(examples, order[:at], updates, corrected, predictions)

    def _halves(self) -> tuple[Array, Array]:
        """The scores of all rows, and those at the start of the epoch."""
        n = len(self.problems)
        return self._scores[:n], self._scores[n:]

    def _block(self, rows: Array) -> tuple[Array, Array, Array, Array]:
        """Kernel arguments for some rows: Gram matrix, order, scores now and before."""
        before = np.take(self._halves()[1], rows, axis=1)
        return self.gram.block(rows, rows), np.arange(len(rows)), self._now(rows), before

    def _labels(self, examples: Examples, rows: Array | None) -> tuple[Array, Array]:
        """The classes, or signs per problem, of some rows or of all, and their weights."""
        rows = np.arange(len(examples)) if rows is None else rows
        codes, omega = examples.codes[rows].astype(np.int64), examples.weights_of(rows)
        if self.problems.joint:
            return codes, omega
        return np.ascontiguousarray(self.problems.signs[codes].T), omega

    def _open(self, order: Array) -> None:
        """Compute the scores of these rows, now and at the start of the epoch."""
        if self._epoch_starts:
            self._settle(None)
            now, before = self._halves()
            before[...] = now
            self._epoch_starts = False
        self._refresh(order.astype(np.int64))

    def _refresh(self, rows: Array) -> None:
        """Recompute the scores of stale rows from the log."""
        stale = np.unique(rows[self._is_stale[rows]])
        if stale.size == 0:
            return
        (support, log), n = self.log.by_row(), len(self.problems)
        settled = len(log) - sum(map(len, self._pending))
        coefficients = np.concatenate(
            [log[:end].coefficients(n, support.size) for end in (settled, self._marked)]
        )
        self._scores[:, stale] = 0.0
        self.gram.add(self._scores, support, coefficients, stale)
        self._is_stale[stale] = False

    def _now(self, rows: Array) -> Array:
        """The scores (problems, rows) of rows that are not stale, pending updates included."""
        n = len(self.problems)
        S = np.take(self._scores[:n], rows.astype(np.intp, copy=False), axis=1)
        if self._pending:
            waiting, log = Log.joined(self._pending).by_row()
            K = self.gram.block(waiting, rows).astype(np.float64, copy=False)
            S += log.coefficients(n, waiting.size) @ K
        return S

    def _remember(self, rows: Array, corrections: Array, problems: Array, ahead: Array) -> None:
        """Write updates to the log; those of blocks stay pending until there are enough."""
        taus, times = corrections.T.copy()
        log = Log(problems.copy(), rows.copy(), taus, times)
        self._logs.append(log)
        if self.gram.whole is not None:
            return
        self._pending.append(log)
        self._n_pending += np.unique(log.rows).size
        if self._n_pending >= self.gram.pending_rows:
            self._settle(ahead)

    def _settle(self, ahead: Array | None) -> None:
        """Add pending updates to the scores, in the last epoch only of the rows `ahead`."""
        if not self._pending:
            return
        waiting, log = Log.joined(self._pending).by_row()
        self._pending, self._n_pending = [], 0
        to, n = None, len(self.problems)
        if ahead is not None and self.epochs <= 1:
            to = np.unique(ahead).astype(np.int64)
            self._is_stale[:] = True
            self._is_stale[to] = False
        if to is None or to.size:
            coefficients = log.coefficients(n, waiting.size)
            self.gram.add(self._scores[:n], waiting, coefficients, to)

    def idle(self, weight: float) -> None:
        """Advance the clock without learning, while only one class is known."""
        self.clock += weight

    def mark(self) -> None:
        """Start an epoch, for :meth:`measure`."""
        super().mark()
        self.squares[1] = 0.0

    def measure(self) -> tuple[float, float]:
        """The norms of all weights, and of their change since the last measure or mark."""
        self.epochs -= 1
        return super().measure()

    def is_at(self, snapshot: Moment) -> bool:
        """Whether the weights equal those of a snapshot: the updates since then score zero.

        Exact if scores are, for example on whole numbers.
        """
        if not np.array_equal(self.squares[0], snapshot.squares):
            return False
        support, log = self.log[snapshot.lines :].by_row()
        coefficients = log.coefficients(len(self.problems), support.size)
        rows = np.arange(self.gram.n)
        moved, added = coefficients.any(axis=0), np.zeros((len(coefficients), len(rows)))
        for start in range(0, len(rows), self.gram.chunk_rows):
            chunk = rows[start : start + self.gram.chunk_rows]
            self.gram.add(added, support[moved], coefficients[:, moved], chunk)
            if added[:, chunk].any():
                return False
        return True

    def scores(self, rows: Array) -> Array:
        """The scores (rows, problems) of some rows by the current weights."""
        self._refresh(rows)
        return self._now(rows).T

    def _scorer(self, examples: Examples, averaged: bool = False) -> Callable[[Array], Array]:
        if not averaged:
            return self.scores
        mean = np.zeros((len(self.problems), self.gram.n))
        support, log = self.log.by_row()
        self.gram.add(mean, support, log.averaged(support.size, self.clock), None)
        return lambda rows: mean[:, rows].T


def check_finite(numbers: Array) -> None:
    """Raise ValueError if a score overflowed."""
    if not np.isfinite(numbers).all():
        raise ValueError(
            "A score is not a finite number: the kernel overflowed, or raised a negative number to "
            "a fractional degree. Scale the features, or choose another gamma, coef0 or degree."
        )


def tally(
    examples: Examples, visited: Array, updates: int, corrected: int, predictions: list[Array]
) -> Tally:
    """The result of a walk that predicted each row before learning from it."""
    guesses = np.concatenate(predictions) if predictions else np.empty(0, np.int32)
    mistakes = int(np.count_nonzero(guesses != examples.codes[visited]))
    return Tally(
        len(visited), examples.weight_of(visited), updates, corrected, mistakes, 0, guesses
    )  # fmt: skip
