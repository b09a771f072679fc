"""The loop in the dual form: weights are the log of the mistakes that made them.

Scores of all rows are kept and brought up to date in two moves. Mistakes of the last few blocks
are *pending*: each new block adds their share to its scores by itself. When there are enough of
them for an efficient matrix product, they are added to the scores of all rows that can still come,
and are pending no more. So each Gram entry is made once for each time its row is mistaken, not once
a block, and the memory at work does not grow with the data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from rosenblatt.kernels import gram as kernels
from rosenblatt.kernels.tasks import UNLIMITED, Task, Walk
from rosenblatt.training.books import Books
from rosenblatt.training.history import Epoch, History
from rosenblatt.training.log import DualState, Log
from rosenblatt.training.plan import Plan
from rosenblatt.training.state import Array


class Gram(Protocol):
    """Where Gram entries come from; made and remembered as far as its memory allows."""

    block_rows: int
    pending_rows: int

    def block(self, rows: Array, columns: Array) -> Array:
        """The entries between some rows and some others."""

    def add(self, scores: Array, rows: Array, coefficients: Array, to: Array | None) -> None:
        """Add ``coefficients @ K(rows, to)`` to ``scores[:, to]``; None: to all."""


@dataclass(frozen=True)
class DualTask:
    """Rows with their classes, where their Gram entries come from, and the problems they pose.

    Attributes
    ----------
    task : Task
        Codes and weights of the rows, and how scores become classes.
    signs : array of int8 (classes, problems)
        What each class is to each problem: -1, +1, or 0 for none of its business.
    gram : Gram
    judge : callable or None
        The validation error of a log, given also the clock.
    """

    task: Task
    signs: Array
    gram: Gram
    judge: Callable[[Log, Array], float] | None = None


def run_dual(work: DualWork) -> tuple[DualState, History]:
    """Train until a stopping rule ends the run."""
    epochs = work.finish()
    return work.dual_state(), History(epochs)


def feed_dual(work: DualWork) -> DualState:
    """Learn from the rows of the plan once, in their order, and leave the stopping rules aside."""
    work.feed()
    return work.dual_state()


class DualWork(Books):
    """A run under way in the dual form."""

    def __init__(self, state: DualState, dual: DualTask, plan: Plan) -> None:
        super().__init__(state, dual.task, plan)
        self.dual, self.gram = dual, dual.gram
        self.clock, self.mistakes = state.clock.astype(np.float64), state.mistakes.copy()
        self.damage, self.longest, self.removals = state.damage, state.longest, state.removals
        self.squares = np.array([state.squares, np.zeros(state.n_problems)])
        self.logs, self.pending, self.n_pending = [state.log], [state.log], 0
        self.scores = np.zeros((state.n_problems, self.task.rows.shape[0]))
        self.behind = False  # whether rows that cannot come again lack some mistakes
        self._settle()
        self.start_scores = self.scores.copy()
        self.tortoise = (self.start_scores, self.squares[0].copy(), 1, 0)

    @property
    def is_last(self) -> bool:
        """Whether nothing but the rest of this epoch can need the scores."""
        return self.epoch + 1 >= self.plan.max_epochs

    def _walk(self, steps: int) -> None:
        stop = min(
            self.position + self.gram.block_rows, self.order.size, self.position + steps
        )  # fmt: skip
        rows = self.order[self.position : stop].astype(np.int64)
        S = np.ascontiguousarray(self.scores[:, rows])
        waiting, coefficients = self._gathered()
        if waiting.size:
            S += coefficients @ self.gram.block(waiting, rows).astype(np.float64, copy=False)
        G = np.ascontiguousarray(self.gram.block(rows, rows))
        omega = np.broadcast_to(self.task.omega, self.task.rows.shape[0])[rows]
        walked, updates, mistaken, places, found = self._learn_block(G, S, rows, omega)
        self._check_finite(S)
        predictions = self.task.decide(S[:, :walked].T)
        self._book(Walk(self.position + walked, updates, mistaken, 0, predictions))
        self._remember(rows, places, found)

    def _learn_block(self, G: Array, S: Array, rows: Array, omega: Array) -> tuple[Any, ...]:
        """Learn from a block; rows walked, updates, mistaken steps, and the mistakes."""
        signs = np.ascontiguousarray(self.dual.signs[self.task.codes[rows]].T)
        places, found = np.empty((S.size, 2), np.int64), np.empty((S.size, 2))
        walked, written, updates, mistaken = kernels.walk(
            G, S, np.ascontiguousarray(self.start_scores[:, rows]), signs, omega,
            self.plan.setting[:2], self.allowed, self.clock, self.squares, found, places,
        )  # fmt: skip
        return walked, updates, mistaken, places[:written], found[:written]

    @property
    def allowed(self) -> int:
        """How many updates are left."""
        most = self.plan.max_updates
        return UNLIMITED if most is None else most - self.updates

    @staticmethod
    def _check_finite(S: Array) -> None:
        if not np.isfinite(S).all():
            raise ValueError(
                "A score is not a finite number: the kernel overflowed, or raised a negative "
                "number to a fractional degree. Scale the features, or choose another gamma, coef0 "
                "or degree."
            )

    def _remember(self, rows: Array, places: Array, found: Array) -> None:
        if not len(places):
            return
        log = Log(
            places[:, 0].copy(), rows[places[:, 1]], found[:, 0].copy(), found[:, 1].copy()
        )  # fmt: skip
        self.mistakes += self._mistakes_of(log)
        self.logs.append(log)
        self.pending.append(log)
        self.behind |= self.is_last
        self.n_pending += len(np.unique(places[:, 1]))
        if self.n_pending >= self.gram.pending_rows:
            self._settle()

    def _mistakes_of(self, log: Log) -> Array:
        return log.updates(self.clock.size)

    def _gathered(self) -> tuple[Array, Array]:
        """The rows pending, each once, and their coefficients."""
        log = Log.joined(self.pending)
        rows, places = np.unique(log.rows, return_inverse=True)
        return rows, replace(log, rows=places).coefficients(self.clock.size, rows.size)

    def _settle(self) -> None:
        """Add what is pending to the scores of all rows that can still come."""
        rows, coefficients = self._gathered()
        self.pending, self.n_pending = [], 0
        if rows.size == 0:
            return
        to = np.unique(self.order[self.position :]).astype(np.int64) if self.is_last else None
        self.behind |= to is not None
        if to is None or to.size:
            self.gram.add(self.scores, rows, coefficients, to)

    def _norm_and_change(self) -> tuple[float, float]:
        if not self.is_last:
            self._settle()
        self._check_finite(self.squares)
        norm, change = np.sqrt(np.maximum(self.squares.sum(axis=1), 0.0)).tolist()
        self.squares[1] = 0.0
        return norm, change

    def close_epoch(self) -> Epoch:
        """Write the epoch into the books and see whether the run ends with it."""
        record = super().close_epoch()
        if self.stop_reason is None:
            self.start_scores = self.scores.copy()
        return record

    def _nothing_mistaken(self, chosen: Array) -> bool:
        if np.unique(self.order).size == chosen.sum():
            return True
        scores = self._scores_of_all()[:, chosen]
        signs = self.dual.signs[self.task.codes[chosen]].T
        below, above, *_ = self.plan.setting
        return not np.any((signs != 0) & (signs * scores <= np.where(signs > 0, above, below)))

    def _judge(self) -> tuple[float, Any] | None:
        if self.dual.judge is None:
            return None
        log = Log.joined(self.logs)
        return self.dual.judge(log, self.clock), (len(log), self.clock.copy())

    def _goes_in_circles(self, norm: float) -> bool:
        """Brent's algorithm on the scores of all rows: equal scores are equal weights."""
        scores, squares, power, length = self.tortoise
        length += 1
        if np.array_equal(self.squares[0], squares) and np.array_equal(
            self._scores_of_all(), scores
        ):
            return True
        if length == power:
            self.tortoise = (self.scores.copy(), self.squares[0].copy(), 2 * power, 0)
        else:
            self.tortoise = (scores, squares, power, length)
        return False

    def _scores_of_all(self) -> Array:
        """The scores of all rows; those that could not come again were left behind."""
        if not self.behind:
            return self.scores
        log, scores = Log.joined(self.logs), np.zeros_like(self.scores)
        rows, places = np.unique(log.rows, return_inverse=True)
        coefficients = replace(log, rows=places).coefficients(self.clock.size, rows.size)
        self.gram.add(scores, rows, coefficients, None)
        return scores

    def dual_state(self) -> DualState:
        """The run as a value."""
        return DualState(
            Log.joined(self.logs), self.clock.copy(), self.squares[0].copy(), self.mistakes,
            self.damage, self.longest, self.rng, self.steps, self.visits, self.updates, self.epoch,
            self.progress, self.kept, self.stop_reason, self.removals,
        )  # fmt: skip
