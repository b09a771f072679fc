"""The loop: walk through the examples, keep the books, decide when to stop."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from rosenblatt.engine.tasks import (
    UNLIMITED,
    Binary,
    Part,
    Route,
    Setting,
    Task,
    Walk,
    norm_and_change,
)
from rosenblatt.training.history import Epoch, History
from rosenblatt.training.state import Array, Hare, Snapshot, State, Tally

ENTRIES_A_CALL = 1 << 27  # stored numbers a kernel call looks at, so that Ctrl-C is heard in time


@dataclass(frozen=True)
class Plan:
    """What a run is to do; nothing in it changes on the way.

    Parameters
    ----------
    setting : Setting
        The rule: thresholds, padding constant squared, averaging, online or batch.
    rows : array of uint64
        The rows to visit.
    draw : {"fixed", "permutation", "random"}
        Visit them as they stand, in a new permutation an epoch, or drawn with replacement.
    eta : float or callable
        The learning rate, or the rate at visit t = 1, 2, ...
    keep : {"last", "average", "best"}
        Which weights are wanted in the end.
    max_epochs, max_updates
        The budget.
    tol, patience
        What counts as progress, and for how many epochs to wait for it. None: for ever.
    early_stopping : bool
        Stop by the validation error, and keep the weights that were best by it.
    validation : Task or None
        Examples held out.
    callbacks : tuple of callables
        Each receives every :class:`Epoch`; returning True stops the run.
    """

    setting: Setting
    rows: Array
    draw: str = "fixed"
    eta: float | Callable[[int], float] = 1.0
    keep: str = "last"
    max_epochs: int = 1000
    max_updates: int | None = None
    tol: float | None = 1e-3
    patience: int = 5
    early_stopping: bool = False
    validation: Task | None = None
    callbacks: tuple[Callable[[Epoch], Any], ...] = ()

    @property
    def pocketing(self) -> bool:
        """Whether the best weights are told by the training error."""
        return self.keep == "best" and self.validation is None

    @property
    def repeats(self) -> bool:
        """Whether equal weights at two epoch ends mean that the run goes in circles."""
        return self.draw == "fixed" and not callable(self.eta)


def run(state: State, task: Task, plan: Plan, *, steps: int | None = None) -> tuple[State, History]:
    """Train until a stopping rule ends the run, or for so many steps; go on by calling again.

    Returns the state reached and the history of the epochs completed in this call. The result of
    any sequence of calls is that of a single one. Batch iterations are not divided.
    """
    work = Work(state, task, plan)
    work.remember(state.before or Snapshot(state.weights, state.bias))
    epochs = []
    left = UNLIMITED if steps is None else steps
    while work.stop_reason is None and left > 0:
        left -= work.advance(left)
        if work.epoch_is_over:
            epochs.append(work.close_epoch())
    return work.state(), History(epochs, work.row_updates)


def feed(state: State, task: Task, plan: Plan) -> tuple[State, Array | None]:
    """Learn from ``plan.rows`` once, in their order, and leave the stopping rules aside.

    Returns the state reached and the class numbers predicted on the way, each before its label
    was used. Feeding any split of the examples, one after the other, ends in the same state.
    """
    work = Work(state, task, plan)
    predictions = []
    while not work.epoch_is_over:
        work.advance(UNLIMITED)
        predictions.append(work.predictions)
    work.position, work.tally = 0, Tally()
    known = [p for p in predictions if p is not None]
    return work.state(), np.concatenate(known) if known else None


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


class Work:
    """A run under way: the state laid out for the kernels, and the books beside it."""

    def __init__(self, state: State, task: Task, plan: Plan) -> None:
        self.task, self.plan, self.origin = task, plan, state
        self.parts: list[Part] = task.parts(
            state.weights, state.sums, state.bias, state.bias_sums, state.clock
        )
        self.steps, self.visits, self.updates = state.steps, state.visits, state.updates
        self.epoch, self.position, self.run = state.epoch, state.position, state.run
        self.tally, self.progress, self.stop_reason = state.tally, state.progress, state.stop_reason
        self.kept, self.hare, self.rng = state.kept, state.hare, state.rng
        self.row_updates: Array | None = None
        self.predictions: Array | None = None
        self.before: list[tuple[Array, Array]] = []
        self.order, self.next_rng = self._draw()
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

    @property
    def out_of_updates(self) -> bool:
        """Whether the budget of updates is used up."""
        return self.plan.max_updates is not None and self.updates >= self.plan.max_updates

    @property
    def epoch_is_over(self) -> bool:
        """Whether the books of an epoch can be closed."""
        return self.position >= self.order.size or self.out_of_updates

    def advance(self, steps: int) -> int:
        """Walk on for at most so many steps; return how many were taken."""
        began, start = perf_counter(), self.position
        if self.plan.setting.online:
            self._walk_online(steps)
        else:
            self._walk_batch()
        omega = self.task.omega
        taken = self.position - start
        visited = self.order[start : self.position]
        self.steps += float(omega[visited].sum() if omega.size > 1 else taken * omega[0])
        self.visits += taken
        self.tally = replace(self.tally, seconds=self.tally.seconds + perf_counter() - began)
        return max(taken, 1)

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

    def _ratchet(self) -> None:
        """Put the present weights into the pocket if they get more of the rows right (Gallant)."""
        assert self.kept is not None
        now = self._snapshot()
        wrong = self.task.count_wrong(now.weights, now.bias, enough=self.kept.error)
        if wrong < self.kept.error:
            self.kept = replace(now, error=wrong, run=self.run)

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
        self.tally, self.position, self.rates = Tally(), 0, None
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
        """The share of rows that the present weights get wrong, where there is reason to count."""
        omega = np.broadcast_to(self.task.omega, self.task.rows.shape[0])
        if self.tally.updates == 0 and finished and self._nothing_mistaken(omega > 0):
            return 0.0
        if not self.plan.pocketing:
            return math.nan
        assert self.kept is not None
        now = self._snapshot()
        wrong = self.task.count_wrong(now.weights, now.bias)
        if wrong < self.kept.error:
            self.kept = replace(now, error=wrong, run=self.run)
        return wrong / float(omega.sum())

    def _nothing_mistaken(self, chosen: Array) -> bool:
        """Whether none of the chosen rows is mistaken; an epoch may have left some of them out."""
        if np.unique(self.order).size == chosen.sum():
            return True
        now = self.state()
        parts = self.task.parts(now.weights, now.sums, now.bias, now.bias_sums, now.clock)
        rows = np.flatnonzero(chosen).astype(np.uint64)
        route = Route(rows, (0, rows.size), np.ones(1), self.plan.setting)
        return self.task.walk(parts, route).updates == 0

    def _validate(self) -> float:
        plan = self.plan
        if plan.validation is None:
            return math.nan
        now = self._snapshot(averaged=plan.keep == "average")
        error = plan.validation.error(now.weights, now.bias)
        best = self.progress.validation
        if error < best:
            self.kept = replace(now, error=error)
        better = error < best - (plan.tol or 0.0)
        self.progress = replace(
            self.progress,
            validation=min(error, best),
            validations_without=0 if better else self.progress.validations_without + 1,
        )
        return error

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

    def _norm_and_change(self) -> tuple[float, float]:
        """Length of all weights and of their change since the epoch began, which now is over."""
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
