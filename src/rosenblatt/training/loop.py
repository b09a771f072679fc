"""The loop with weights written down: walk through the examples, keep the best, find circles."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from rosenblatt.kernels.tasks import (
    UNLIMITED,
    Binary,
    Part,
    Route,
    Task,
    norm_and_change,
)
from rosenblatt.training.books import Books
from rosenblatt.training.history import Epoch, History
from rosenblatt.training.plan import Plan
from rosenblatt.training.state import Array, Hare, Snapshot, State, Tally

ENTRIES_A_CALL = 1 << 27  # stored numbers a kernel call looks at, so that Ctrl-C is heard in time


def run(state: State, task: Task, plan: Plan, *, steps: int | None = None) -> tuple[State, History]:
    """Train until a stopping rule ends the run, or for so many steps; go on by calling again.

    Returns the state reached and the history of the epochs completed in this call. The result of
    any sequence of calls is that of a single one. Batch iterations are not divided.
    """
    work = Work(state, task, plan)
    work.remember(state.before or Snapshot(state.weights, state.bias))
    epochs = work.finish(UNLIMITED if steps is None else steps)
    return work.state(), History(epochs, work.row_updates)


def feed(state: State, task: Task, plan: Plan) -> tuple[State, Array | None]:
    """Learn from ``plan.rows`` once, in their order, and leave the stopping rules aside.

    Returns the state reached and the class numbers predicted on the way, each before its label
    was used. Feeding any split of the examples, one after the other, ends in the same state.
    """
    work = Work(state, task, plan)
    predictions = work.feed()
    work.position, work.tally = 0, Tally()
    return work.state(), np.concatenate(predictions) if predictions else None


def idle(state: State, task: Task, plan: Plan) -> State:
    """Let the time of ``plan.rows`` pass without learning: a single class poses no problem yet."""
    passed = float(np.broadcast_to(task.omega, task.rows.shape[0])[plan.rows].sum())
    return replace(
        state,
        clock=state.clock + passed,
        steps=state.steps + passed,
        visits=state.visits + plan.rows.size,
    )


def kept(state: State, plan: Plan) -> Snapshot:
    """The weights that the plan wants in the end."""
    if state.kept is not None and (plan.keep == "best" or plan.early_stopping):
        return state.kept
    return state.average() if plan.keep == "average" else Snapshot(state.weights, state.bias)


class Work(Books):
    """A run under way: the state laid out for the kernels."""

    def __init__(self, state: State, task: Task, plan: Plan) -> None:
        super().__init__(state, task, plan)
        self.origin, self.hare = state, state.hare
        self.parts: list[Part] = task.parts(
            state.weights, state.sums, state.bias, state.bias_sums, state.clock
        )
        self.row_updates: Array | None = None
        self.before: list[tuple[Array, Array]] = []
        self.rates: Array | None = None
        if plan.pocketing and self.kept is None:
            weights = Snapshot(state.weights, state.bias)
            self.kept = replace(weights, error=task.count_wrong(weights.weights, weights.bias))
        if plan.repeats and self.hare is None:
            self.hare = Hare(state.weights, state.bias, norm=math.nan)

    def remember(self, start: Snapshot) -> None:
        """Keep the weights that the epoch began with, to tell how far they move in it."""
        self.before = [
            (self.task.rows.lay_out(start.weights[share]), start.bias[share].copy())
            for share in self.task.shares
        ]

    def _walk(self, steps: int) -> None:
        if self.plan.setting.online:
            self._walk_online(steps)
        else:
            self._walk_batch()

    def _walk_online(self, steps: int) -> None:
        stored = max(1, self.task.rows.stored // max(1, self.task.rows.shape[0]))
        stop = min(
            self.position + max(1024, ENTRIES_A_CALL // stored), self.order.size,
            self.position + steps,
        )  # fmt: skip
        allowed = UNLIMITED if self.plan.max_updates is None else self.plan.max_updates
        pocket = self.kept if self.plan.pocketing else None
        route = Route(
            self.order, (self.position, stop), self._etas(), self.plan.setting,
            (allowed - self.updates, pocket.run if pocket else UNLIMITED), self.run,
        )  # fmt: skip
        self._book(self.task.walk(self.parts, route))
        if pocket and self.position < stop and not self.out_of_updates:
            self._ratchet()
            past = (self.position, self.position + 1)
            step = route._replace(span=past, limits=(1, UNLIMITED), run=self.run)
            self._book(self.task.walk(self.parts, step))

    def _walk_batch(self) -> None:
        """One iteration: add up the corrections of all rows, then make them."""
        heaps = [np.zeros_like(part.W) for part in self.parts]
        starts = [(part.bias[0].copy(), part.clock[0]) for part in self.parts]
        for part in self.parts:
            part.bias[1] = 0.0
        quiet = self.plan.setting._replace(averaging=False)
        route = Route(
            self.order, (0, self.order.size), np.ones(1), quiet, (UNLIMITED, UNLIMITED), self.run,
            heaps,
        )  # fmt: skip
        self._book(self.task.walk(self.parts, route))
        eta = self.plan.eta(self.epoch + 1) if callable(self.plan.eta) else self.plan.eta
        for part, heap, (bias, clock) in zip(self.parts, heaps, starts, strict=True):
            part.W += part.W.dtype.type(eta) * heap
            correction = eta * part.bias[1]
            part.bias[0] = part.bias[1] = bias + correction
            if self.plan.setting.averaging:
                part.U += clock * eta * heap.astype(np.float64)
                part.bias[2] += clock * correction

    def _ratchet(self) -> None:
        """Put the present weights into the pocket if they get more of the rows right (Gallant)."""
        assert self.kept is not None
        now = self._snapshot()
        wrong = self.task.count_wrong(now.weights, now.bias, enough=self.kept.error)
        if wrong < self.kept.error:
            self.kept = replace(now, error=wrong, run=self.run)

    def close_epoch(self) -> Epoch:
        """Write the epoch into the books and see whether the run ends with it."""
        record, self.rates = super().close_epoch(), None
        return record

    def _train_error(self, finished: bool) -> float:
        """The share of rows that the present weights get wrong, where there is reason to count."""
        error = super()._train_error(finished)
        if error == 0.0 or not self.plan.pocketing:
            return error
        assert self.kept is not None
        now = self._snapshot()
        wrong = self.task.count_wrong(now.weights, now.bias)
        if wrong < self.kept.error:
            self.kept = replace(now, error=wrong, run=self.run)
        return wrong / float(np.broadcast_to(self.task.omega, self.task.rows.shape[0]).sum())

    def _nothing_mistaken(self, chosen: Array) -> bool:
        if np.unique(self.order).size == chosen.sum():
            return True
        now = self.state()
        parts = self.task.parts(now.weights, now.sums, now.bias, now.bias_sums, now.clock)
        rows = np.flatnonzero(chosen).astype(np.uint64)
        route = Route(rows, (0, rows.size), np.ones(1), self.plan.setting)
        return self.task.walk(parts, route).updates == 0

    def _judge(self) -> tuple[float, Snapshot] | None:
        plan = self.plan
        if plan.validation is None:
            return None
        now = self._snapshot(averaged=plan.keep == "average")
        error = plan.validation.error(now.weights, now.bias)
        return error, replace(now, error=error)

    def _goes_in_circles(self, norm: float) -> bool:
        """Brent's algorithm: compare with the weights at the last power of two."""
        hare = self.hare
        assert hare is not None
        length = hare.length + 1
        if norm == hare.norm or math.isnan(hare.norm):
            now = self._snapshot()
            if np.array_equal(now.bias, hare.bias) and np.array_equal(now.weights, hare.weights):
                self.row_updates = self._count_updates(length)
                return True
        if length == hare.power:
            now = self._snapshot()
            self.hare = Hare(now.weights, now.bias, norm, power=2 * hare.power)
        else:
            self.hare = replace(hare, length=length)
        return False

    def _count_updates(self, epochs: int) -> Array | None:
        """Walk the circle once more and count the updates of each row (two classes only)."""
        if not isinstance(self.task, Binary) or not self.plan.setting.online:
            return None
        now = self.state()
        part = self.task.parts(now.weights, now.sums, now.bias, now.bias_sums, now.clock)[0]
        route = Route(self.order, (0, self.order.size), self._etas(), self.plan.setting)
        counts = np.zeros(self.task.rows.shape[0], np.int64)
        signs = self.task.signs[self.order]
        threshold = np.where(signs > 0, self.plan.setting.above, self.plan.setting.below)
        for _ in range(epochs):
            _, scores = self.task.scored_walk(part, route)
            np.add.at(counts, self.order[signs * scores.astype(np.float64) <= threshold], 1)
        return counts

    def _etas(self) -> Array:
        """The learning rate of each step of the present order, or the one for all."""
        if not callable(self.plan.eta):
            return np.array([float(self.plan.eta)])
        if self.rates is None:
            first, eta = self.visits - self.position + 1, self.plan.eta
            self.rates = np.array([float(eta(first + i)) for i in range(self.order.size)])
        return self.rates

    def _norm_and_change(self) -> tuple[float, float]:
        norm = change = 0.0
        for part, (W, bias) in zip(self.parts, self.before, strict=True):
            squares = norm_and_change(part.W.reshape(-1), W.reshape(-1))
            norm += squares[0] + float((part.bias[0] ** 2).sum())
            change += squares[1] + float(((part.bias[0] - bias) ** 2).sum())
            bias[:] = part.bias[0]
        return math.sqrt(norm), math.sqrt(change)

    def _snapshot(self, averaged: bool = False) -> Snapshot:
        """The present weights, or their average so far."""
        if averaged:
            return self.state().average()
        restore = self.task.rows.restore
        return Snapshot(
            np.concatenate([restore(part.W) for part in self.parts]),
            np.concatenate([part.bias[0] for part in self.parts]),
        )

    def state(self) -> State:
        """The run as a value."""
        restore, now = self.task.rows.restore, self._snapshot()
        sums = self.origin.sums
        if self.plan.setting.averaging:
            sums = np.concatenate([restore(part.U) for part in self.parts])
        before = None
        if self.position > 0:
            before = Snapshot(
                np.concatenate([restore(W) for W, _ in self.before]),
                np.concatenate([bias for _, bias in self.before]),
            )
        return State(
            weights=now.weights,
            bias=now.bias,
            sums=sums,
            bias_sums=np.concatenate([part.bias[2] for part in self.parts]),
            clock=np.concatenate([np.repeat(p.clock, p.bias.shape[1]) for p in self.parts]),
            rng=self.rng,
            steps=self.steps,
            visits=self.visits,
            updates=self.updates,
            epoch=self.epoch,
            position=self.position,
            run=self.run,
            tally=self.tally,
            progress=self.progress,
            before=before,
            kept=self.kept,
            hare=self.hare,
            stop_reason=self.stop_reason,
        )
