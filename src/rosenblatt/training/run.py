"""The only loop over epochs: draw an order, walk, apply the stopping rules, record, yield."""

from __future__ import annotations

import math
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np

from rosenblatt.cycles import CycleFinder
from rosenblatt.kernels.jit import compile_seconds
from rosenblatt.learners.protocol import UNLIMITED, Learner, Limits
from rosenblatt.training.order import Data, Drawn
from rosenblatt.training.plan import Plan, reason_to_stop, remember_validation
from rosenblatt.training.progress import Counts, Epoch, Kept, Progress

_FAR_FROM_OVERFLOW = 1e-12  # a share of the largest float that no sum of products comes near
_OVERFLOW = (
    "The weights overflowed. Scale the features (for example with StandardScaler) or choose a "
    "smaller eta0."
)


def run(learner: Learner, data: Data, plan: Plan, progress: Progress) -> Iterator[Epoch | None]:
    """Train until a stopping rule ends the run; learner and progress change in place.

    Yields after every walk, None or the epoch that it completed. Learner and progress can then be
    saved; a run resumed from there ends in the same weights, bit for bit. An epoch of a batch
    learner is a single walk.

    Examples
    --------
    >>> import numpy as np
    >>> from rosenblatt.learners.examples import examples_of
    >>> from rosenblatt.learners import Spec, make
    >>> from rosenblatt.training.order import Drawn
    >>> examples = examples_of(np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), [0, 0, 0, 1])
    >>> data, progress = Drawn(examples, np.arange(4, dtype=np.uint64)), Progress()
    >>> epochs = [e for e in run(make(Spec(dense=True), 2, 2), data, Plan(tol=None), progress) if e]
    >>> progress.stop_reason, len(epochs), progress.updates
    ('separated', 9, 18)
    """
    repeats = data.repeats and not callable(plan.eta)
    if progress.position == 0:
        learner.mark()
    if repeats and progress.cycle is None:
        progress.cycle = CycleFinder(learner.snapshot())
    while progress.stop_reason is None:
        for examples, order in data.parts(progress.epoch + 1, progress.position):
            if plan.has_pocket and progress.kept is None:
                error = learner.misclassified(*data.everything(), math.inf)
                progress.kept = Kept(learner.snapshot(), error)
            at, paused = 0, False
            while at < len(order):
                began, compiled = perf_counter(), compile_seconds()
                size = len(order) - at if learner.batch else examples.rows_per_call
                stop = at + 1 if paused else min(len(order), at + min(size, plan.most_visits))
                pocket = None if paused or not plan.has_pocket else progress.kept
                limits = Limits(
                    progress.run,
                    UNLIMITED if pocket is None else max(4 * pocket.run, len(examples) >> 12),
                )
                first = progress.epoch if learner.batch else progress.visits
                etas = plan.etas(first + 1, stop - at)
                tally = learner.walk(examples, order[at:stop], etas, limits)
                at += tally.visits
                seconds = perf_counter() - began - (compile_seconds() - compiled)
                progress.count(tally, seconds)
                # The walk stopped before a mistake that ends a long run of right answers.
                paused = at < stop
                if paused:
                    _ratchet(learner, data, progress)
                else:
                    yield None
            if len(order) == 0:  # only progress of reading
                yield None
        yield _close(learner, data, plan, progress, repeats)


def kept_weights(learner: Learner, plan: Plan, progress: Progress) -> Any:
    """The weights to return, by ``plan.keep``."""
    if progress.kept is not None and (plan.keep == "best" or plan.early_stopping):
        return progress.kept.weights
    return learner.snapshot(plan.averages)


def refuse_overflow(
    learner: Any, data: Drawn, plan: Plan, progress: Progress, largest: float
) -> None:
    """Raise an error if the score of a row by the weights to return is not finite.

    Rows whose numbers are at most `largest` are scored only if an overflow is conceivable.
    """
    norm = max(epoch.weight_norm for epoch in progress.history)
    if norm * largest < _FAR_FROM_OVERFLOW * float(np.finfo(data.examples.dtype).max):
        return
    with np.errstate(all="ignore"):
        scores = learner.scores(*data.everything(), plan.averages)
    if not np.isfinite(scores).all():
        raise ValueError(_OVERFLOW)


def _ratchet(learner: Learner, data: Data, progress: Progress) -> None:
    """Put the current weights into the pocket if they misclassify fewer rows (Gallant).

    The next evaluation is for a run of right answers more than four times as long, and of at least
    1/4096 of the rows, as an evaluation costs as much as an epoch.
    """
    assert progress.kept is not None
    progress.kept.run = progress.run
    wrong = learner.misclassified(*data.everything(), progress.kept.error)
    if wrong < progress.kept.error:
        progress.kept = Kept(learner.snapshot(), wrong, progress.run)


def _close(learner: Learner, data: Data, plan: Plan, progress: Progress, repeats: bool) -> Epoch:
    """Record the epoch and apply the stopping rules."""
    began, counts = perf_counter(), progress.counts
    norm, change = learner.measure()
    if not math.isfinite(norm):
        raise ValueError(_OVERFLOW)
    still = counts.updates == 0
    train_error = _train_error(learner, data, plan, progress, still)
    validation_error = math.nan
    if plan.validate is not None:
        validation_error = plan.validate(learner, plan.averages)
        if remember_validation(validation_error, plan, progress):
            progress.kept = Kept(learner.snapshot(plan.averages), validation_error)
    cycle = 0
    if repeats and not still:
        assert progress.cycle is not None
        cycle = progress.cycle.length_at(learner.is_at, learner.snapshot)
    progress.epoch += 1
    record = Epoch(
        epoch=progress.epoch,
        updates=counts.updates,
        updated_rows=counts.updated_rows,
        mistakes=counts.mistakes,
        progressive_error=counts.mistakes / max(1, progress.position),
        train_error=train_error,
        validation_error=validation_error,
        weight_norm=norm,
        relative_change=change / norm if norm > 0 else 0.0,
        seconds=counts.seconds + perf_counter() - began,
    )
    progress.history.append(record)
    progress.stop_reason = reason_to_stop(record, plan, progress, repeats=repeats, cycles=cycle > 0)
    if progress.stop_reason == "cycle":
        [(examples, order)] = data.parts(progress.epoch, 0)
        progress.row_updates = learner.row_updates(examples, order, plan.etas(1, 1), cycle)
    for callback in plan.callbacks:
        if callback(record) is True and progress.stop_reason is None:
            progress.stop_reason = "callback"
    progress.counts, progress.position = Counts(), 0
    doubled = progress.epoch & (progress.epoch - 1) == 0
    if plan.keep == "late_average" and doubled and progress.stop_reason is None:
        learner.restart_average()
    return record


def _train_error(
    learner: Learner, data: Data, plan: Plan, progress: Progress, still: bool
) -> float:
    """The share of rows that the current weights misclassify, NaN if it is not needed.

    Zero if the epoch shows that no row is left to correct. An epoch without an update but with a
    mistake does not: the step that would have corrected it was too small to change the weights.
    """
    may_separate = still and not progress.counts.mistakes > 0
    if may_separate and (data.visits_all or learner.is_separating(*data.everything())):
        return 0.0
    if not plan.has_pocket:
        return math.nan
    assert progress.kept is not None
    examples, rows = data.everything()
    wrong = learner.misclassified(examples, rows, math.inf)
    if wrong < progress.kept.error:
        progress.kept = Kept(learner.snapshot(), wrong, max(progress.kept.run, progress.run))
    return wrong / examples.weight_of(rows)
