"""The books of a run: the order of the rows, what has happened, and when it ends.

They are the same whether weights are written down (:class:`rosenblatt.training.loop.Work`) or are
a log of mistakes (:class:`rosenblatt.training.dual.DualWork`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from rosenblatt.kernels.tasks import UNLIMITED, Task, Walk
from rosenblatt.training.history import Epoch
from rosenblatt.training.log import DualState
from rosenblatt.training.plan import Plan
from rosenblatt.training.state import Array, State, Tally


class Books(ABC):
    """A run under way, but for its weights."""

    def __init__(self, state: State | DualState, task: Task, plan: Plan) -> None:
        self.task, self.plan = task, plan
        self.steps, self.visits, self.updates = state.steps, state.visits, state.updates
        self.epoch, self.position, self.run = state.epoch, state.position, state.run
        self.tally, self.progress, self.stop_reason = state.tally, state.progress, state.stop_reason
        self.kept: Any = state.kept
        self.rng = state.rng
        self.predictions: Array | None = None
        self.order, self.next_rng = self._draw()

    @abstractmethod
    def _walk(self, steps: int) -> None:
        """Learn from at most so many rows that come next, and book it."""

    @abstractmethod
    def _norm_and_change(self) -> tuple[float, float]:
        """Length of all weights and of their change since the epoch began, which now is over."""

    @abstractmethod
    def _nothing_mistaken(self, chosen: Array) -> bool:
        """Whether none of the chosen rows is mistaken; an epoch may have left some of them out."""

    @abstractmethod
    def _judge(self) -> tuple[float, Any] | None:
        """The validation error, and what to keep if it is the least; None without validation."""

    @abstractmethod
    def _goes_in_circles(self, norm: float) -> bool:
        """Whether the weights are back where they were at an earlier epoch end."""

    @property
    def out_of_updates(self) -> bool:
        """Whether the budget of updates is used up."""
        return self.plan.max_updates is not None and self.updates >= self.plan.max_updates

    @property
    def epoch_is_over(self) -> bool:
        """Whether the books of an epoch can be closed."""
        return self.position >= self.order.size or self.out_of_updates

    def finish(self, steps: int = UNLIMITED) -> list[Epoch]:
        """Walk on until a stopping rule ends the run, or for so many steps; the epochs closed."""
        epochs = []
        while self.stop_reason is None and steps > 0:
            steps -= self.advance(steps)
            if self.epoch_is_over:
                epochs.append(self.close_epoch())
        return epochs

    def feed(self) -> list[Array]:
        """Walk to the end of the epoch and leave it open; what was predicted on the way."""
        predictions = []
        while not self.epoch_is_over:
            self.advance(UNLIMITED)
            if self.predictions is not None:
                predictions.append(self.predictions)
        return predictions

    def advance(self, steps: int) -> int:
        """Walk on for at most so many steps; return how many were taken."""
        began, start = perf_counter(), self.position
        self._walk(steps)
        omega = self.task.omega
        taken = self.position - start
        visited = self.order[start : self.position]
        self.steps += float(omega[visited].sum() if omega.size > 1 else taken * omega[0])
        self.visits += taken
        self.tally = replace(self.tally, seconds=self.tally.seconds + perf_counter() - began)
        return max(taken, 1)

    def _book(self, walk: Walk) -> None:
        visited = self.order[self.position : walk.position]
        wrong = (
            math.nan if walk.predictions is None
            else int((walk.predictions != self.task.codes[visited]).sum())
        )  # fmt: skip
        self.tally = replace(
            self.tally,
            updates=self.tally.updates + walk.updates,
            mistaken=self.tally.mistaken + walk.mistaken,
            wrong=self.tally.wrong + wrong,
        )
        self.predictions = walk.predictions
        self.updates += walk.updates
        self.position, self.run = walk.position, walk.run

    def close_epoch(self) -> Epoch:
        """Write the epoch into the books and see whether the run ends with it."""
        began = perf_counter()
        finished = self.position >= self.order.size
        norm, change = self._norm_and_change()
        if not math.isfinite(norm):
            raise ValueError(
                "The weights overflowed. Scale the features (for example with StandardScaler) or "
                "choose a smaller eta0."
            )
        train_error = self._train_error(finished)
        validation_error = self._validate()
        self.epoch += 1
        tally, steps = self.tally, max(1, self.position)
        record = Epoch(
            epoch=self.epoch,
            mistakes=tally.mistaken,
            updates=tally.updates,
            online_error=tally.wrong / steps,
            train_error=train_error,
            validation_error=validation_error,
            weight_norm=norm,
            relative_change=change / norm if norm > 0 else 0.0,
            seconds=tally.seconds + perf_counter() - began,
        )
        self.stop_reason = self._reason(record, finished)
        for callback in self.plan.callbacks:
            if callback(record) is True and self.stop_reason is None:
                self.stop_reason = "callback"
        self.tally, self.position = Tally(), 0
        self.rng = self.next_rng
        self.order, self.next_rng = self._draw()
        return record

    def _reason(self, record: Epoch, finished: bool) -> str | None:
        plan, still = self.plan, record.updates == 0 and finished
        if still and record.train_error == 0.0:
            return "separated"
        if plan.early_stopping and self.progress.validations_without >= plan.patience:
            return "validation"
        if plan.repeats and finished and not still and self._goes_in_circles(record.weight_norm):
            return "cycle"
        if plan.tol is not None and finished and record.relative_change < plan.tol:
            return "stable"
        if still and plan.repeats:
            return "stable"
        if plan.tol is not None and not plan.early_stopping and self._stalls(record, plan.tol):
            return "stalled"
        if record.epoch >= plan.max_epochs or self.out_of_updates:
            return "budget"
        return None

    def _stalls(self, record: Epoch, tol: float) -> bool:
        """Whether the updates an epoch have not fallen for too long."""
        omega = self.task.omega
        weight = float(omega[self.order].sum() if omega.size > 1 else self.order.size * omega[0])
        rate = record.updates / max(weight, 1e-300)
        fell = rate < self.progress.updates - tol
        self.progress = replace(
            self.progress,
            updates=min(rate, self.progress.updates),
            epochs_without=0 if fell else self.progress.epochs_without + 1,
        )
        return self.progress.epochs_without >= self.plan.patience

    def _train_error(self, finished: bool) -> float:
        """Zero where the epoch shows that nothing is mistaken; else nobody counted."""
        omega = np.broadcast_to(self.task.omega, self.task.rows.shape[0])
        still = self.tally.updates == 0 and finished
        return 0.0 if still and self._nothing_mistaken(omega > 0) else math.nan

    def _validate(self) -> float:
        judged = self._judge()
        if judged is None:
            return math.nan
        (error, weights), least = judged, self.progress.validation
        if error < least:
            self.kept = weights
        better = error < least - (self.plan.tol or 0.0)
        self.progress = replace(
            self.progress,
            validation=min(error, least),
            validations_without=0 if better else self.progress.validations_without + 1,
        )
        return error

    def _draw(self) -> tuple[Array, dict[str, Any]]:
        """The order of the present epoch, and the generator as it is for the next."""
        rows = self.plan.rows
        if self.plan.draw == "fixed":
            return rows, self.rng
        bits = np.random.PCG64()
        bits.state = self.rng  # type: ignore[assignment]
        generator = np.random.Generator(bits)
        if self.plan.draw == "permutation":
            order = rows[generator.permutation(rows.size)]
        else:
            order = rows[generator.integers(0, rows.size, rows.size)]
        return order, dict(bits.state)
