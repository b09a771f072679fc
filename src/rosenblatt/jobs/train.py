"""From a source of batches to a model: read once while learning, then learn from what was kept.

The first pass hashes, learns and keeps the rows; later epochs visit the kept rows in random order.
Each step leaves the trainer in a state that can be saved (:mod:`rosenblatt.jobs.checkpoint`), and
nothing depends on time or on threads: a run that was killed and resumed ends in the same model,
bit for bit.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from rosenblatt.counts import counted
from rosenblatt.data import Batch, Source
from rosenblatt.data.store import Store
from rosenblatt.errors import DataError
from rosenblatt.jobs.result import model_of
from rosenblatt.kernels.compact import Numbering, Rarity
from rosenblatt.kernels.packed import NEAR, Packed
from rosenblatt.models import Model
from rosenblatt.training.history import Epoch
from rosenblatt.training.stream import Examples, Learner, Outcome

_ROWS_A_STEP = 1 << 16
_MOST_RESTARTS = 10
_MOST_HELD = 50_000
_CORES = os.cpu_count() or 1


@dataclass(frozen=True)
class Settings:
    """What training is told.

    Attributes
    ----------
    epochs : int or None
        How many; None lets held-out rows decide.
    threshold : float
        δ: a row is corrected when its margin is at most this.
    padding : float
        The padding constant c, small because the rows have length 1.
    averaged : bool
        Whether the model is an average of the weights, or the last weights. The average is the
        mean over all steps since the number of epochs last doubled, about the last half of the
        run: weights from before much was learned would only hold it back. (Averaging a suffix:
        A. Rakhlin, O. Shamir, K. Sridharan (2012).)
    holdout : float or None
        The share of rows held out, at most 50,000 rows; None is a tenth if `epochs` is None.
    max_epochs, patience : int
        With held-out rows: the most epochs, and how many without a better result end the run.
    seed : int
        Decides the order of rows and which are held out.
    memory : int
        Bytes of rows kept in memory; more go to disk.
    """

    epochs: int | None = None
    threshold: float = 2.0
    padding: float = 0.1
    averaged: bool = True
    holdout: float | None = None
    max_epochs: int = 20
    patience: int = 3
    seed: int = 0
    memory: int = 128 << 20

    def held_share(self, has_validation: bool) -> float:
        """The share of the rows to hold out."""
        if self.holdout is not None:
            return self.holdout
        return 0.1 if self.epochs is None and not has_validation else 0.0


@dataclass
class Progress:
    """Where training stands.

    `phase` is ``"reading"``, ``"epochs"``, ``"refit"`` or ``"done"``; `epoch` counts from 1;
    `visits` are the rows seen of it, `batches` the batches read.
    """

    phase: str = "reading"
    epoch: int = 1
    visits: int = 0
    batches: int = 0
    bytes: int = 0
    restarts: int = 0
    refit_epochs: int = 0
    stop_reason: str = ""
    seconds: float = 0.0


class Trainer:
    """One training run over a source.

    Parameters
    ----------
    source : Source
        Where the rows come from.
    settings : Settings
        What to do.
    valid : Source, optional
        Rows that decide the number of epochs, instead of held-out ones.
    folder : path, optional
        Where the rows are kept on disk, for runs that are to be resumed.
    start : Model, optional
        A model to go on from; the source must have been opened with its features and classes.
    report : callable, optional
        Called with the trainer after every step.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from rosenblatt import data
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "reviews.csv"
    >>> _ = path.write_text("label,text\\n" + "pos,good and fun\\nneg,bad and dull\\n" * 20)
    >>> model = Trainer(data.open(path, text="text"), Settings(epochs=3)).run()
    >>> model.predict(["good", "dull"]).tolist(), len(model.columns)
    (['pos', 'neg'], 8)
    """

    def __init__(
        self,
        source: Source,
        settings: Settings,
        *,
        valid: Source | None = None,
        folder: Path | None = None,
        start: Model | None = None,
        report: Callable[[Trainer], None] | None = None,
    ) -> None:
        self.source, self.settings, self.valid = source, settings, valid
        self.report = report or (lambda trainer: None)
        self.store = Store(settings.memory, folder)
        columns = start.columns if start is not None else None
        self.numbering = Numbering(source.features.ngrams.bits, columns)
        self.rarity = _rarity_of(start) if start is not None else None
        self.learner: Learner | None = None
        self.progress = Progress()
        self.outcome = Outcome()
        self.history: list[Epoch] = []
        self.best: tuple[np.ndarray, np.ndarray] | None = None
        self._start = start
        self._valid_store: Store | None = None
        self.table: Any = None
        self.nameable = 0
        self._held: np.ndarray | None = None
        self._clock = monotonic()

    def run(self) -> Model:
        """Train to the end."""
        for _ in self.steps():
            self.report(self)
        return self.model()

    def steps(self) -> Iterator[None]:
        """Train step by step; between two steps the trainer can be saved."""
        p = self.progress
        if p.phase == "reading":
            yield from self._read()
        while p.phase in ("epochs", "refit"):
            yield from self._visit()
        self.report(self)

    @property
    def error(self) -> float:
        """The least validation error so far."""
        return min((e.validation_error for e in self.history), default=math.nan)

    def _read(self) -> Iterator[None]:
        """The first pass: hash, learn, keep."""
        for batch in self.source.batches(self.progress.batches, lent=True):
            rows = self._keep(batch, self.store)
            if self.progress.batches == 0:
                self.nameable = _near_rows(rows)
                self.table = batch.table
            self._learn_first(batch, rows)
            self.progress.batches += 1
            self.progress.bytes += batch.size
            self.progress.visits += len(batch)
            yield
        if len(self.source.classes) < 2:
            message = f"two classes at least are needed, but {self._one_class()}"
            raise DataError(message, path=self.source.files[0], column=self.source.features.label)
        if self.learner is None or self.learner.n_classes != len(self.source.classes):
            self._begin_again()
        self._close_epoch()
        yield

    def _one_class(self) -> str:
        """What was found where there are fewer than two classes."""
        if len(self.store):
            return f"all rows have the label {self.source.classes[0]!r}"
        if self.source.bad:
            left_out = counted(self.source.bad, "bad row")
            return f"{left_out} left out and none kept: without skipping, the first is named"
        return "there are no rows"

    def _learn_first(self, batch: Batch, rows: Packed) -> None:
        """Learn from a batch that was just kept; start over if it brought new classes."""
        known = len(self.source.classes)
        if self.learner is None or self.learner.n_classes != known:
            if known > 1 and self.progress.restarts < _MOST_RESTARTS:
                self._begin_again()
            return
        assert batch.labels is not None
        self.learner.reserve(len(self.numbering))
        omega = np.ones(1) if batch.weights is None else batch.weights
        first = len(self.store) - len(batch)
        order = np.flatnonzero(~self._is_held(first, len(batch))).astype(np.uint64)
        self._learn(Examples(rows, batch.labels, omega), order)

    def _learn(self, examples: Examples, order: np.ndarray, scouted: bool = False) -> None:
        assert self.learner is not None
        self.outcome += self.learner.learn(examples, order, scouted)
        if self.store.on_disk:
            self.learner.settle()  # the rows are about to leave memory

    def _keep(self, batch: Batch, store: Store) -> Packed:
        """Put a batch into a store, packed."""
        assert batch.labels is not None, "training needs labels"
        room = store.room(len(batch), len(batch.rows.indices))
        rows = self.numbering.pack(batch.rows, room)
        if len(self.store) == 0 and self._start is None and self.source.features.is_text:
            self.rarity = Rarity.of(rows)
        store.commit(rows, batch.labels, batch.weights)
        return rows

    def _begin_again(self) -> None:
        """Start over, from the rows kept so far, because another class has turned up.

        So a model is the same as if all classes had been known from the first row on.
        """
        self.progress.restarts += 1
        self.learner = self._started()
        self.outcome = Outcome()
        for order in self.store.orders(None):
            self._learn(self._examples(), self._trainable(order))

    def new_learner(self, n_classes: int) -> Learner:
        """A learner that knows nothing yet."""
        s, rates = self.settings, None if self.rarity is None else self.rarity.rates
        return Learner(n_classes, s.threshold, s.padding, s.averaged, rates)

    def _started(self) -> Learner:
        """A learner of the classes known so far, where the model to go on from has left it."""
        learner = self.new_learner(len(self.source.classes))
        if self._start is not None and self._start.state:
            learner.restore(self._start.state)
        elif self._start is not None:
            bias = np.stack([self._start.bias, self._start.bias, np.zeros_like(self._start.bias)])
            sums = np.zeros(self._start.weights.shape)
            learner.restore(
                {"W": self._start.weights, "U": sums, "bias": bias, "clock": np.zeros(1)}
            )
        learner.reserve(len(self.numbering))
        return learner

    def _visit(self) -> Iterator[None]:
        """One epoch over the kept rows."""
        p = self.progress
        assert self.learner is not None
        seed = None if p.epoch == 1 else [self.settings.seed, p.epoch, p.phase == "refit"]
        seen = 0
        for order in self.store.orders(seed):
            rows = self._trainable(order) if p.phase == "epochs" else order
            for start in range(0, len(rows), _ROWS_A_STEP):
                part = rows[start : start + _ROWS_A_STEP]
                seen += len(part)
                if seen <= p.visits:
                    continue
                self._learn(self._examples(), part, scouted=_CORES > 1)
                p.visits = seen
                yield
        self._close_epoch()
        yield

    def _close_epoch(self) -> None:
        """Write the epoch down and decide how to go on."""
        p, s, outcome = self.progress, self.settings, self.outcome
        now = monotonic()
        seconds, self._clock = p.seconds + now - self._clock, now
        p.seconds = 0.0
        if p.phase != "refit":
            error = self._validate()
            record = Epoch(
                epoch=p.epoch,
                mistakes=outcome.mistakes,
                updates=outcome.updates,
                online_error=outcome.wrong / max(1, outcome.steps),
                validation_error=error,
                seconds=seconds,
            )
            if not error >= self.error and not math.isnan(error) and self.learner is not None:
                self.best = tuple(np.array(a) for a in self.learner.weights(s.averaged))  # type: ignore[assignment]
            self.history.append(record)
            p.stop_reason = self._reason(record)
        elif p.epoch >= p.refit_epochs:
            p.phase = "done"
        p.epoch, p.visits, self.outcome = p.epoch + 1, 0, Outcome()
        if p.phase == "reading":
            p.phase = "epochs"
        if p.phase == "epochs" and p.stop_reason:
            self._finish_epochs()
        if p.phase != "done" and p.epoch > 1 and _is_power_of_two(p.epoch - 1):
            assert self.learner is not None
            self.learner.restart_average()

    def _reason(self, record: Epoch) -> str:
        s = self.settings
        if s.epochs is not None:
            return "budget" if record.epoch >= s.epochs else ""
        if not math.isnan(record.validation_error):
            errors = [e.validation_error for e in self.history]
            if record.epoch - 1 - int(np.argmin(errors)) >= s.patience:
                return "validation"
        if record.mistakes == 0:
            return "separated"
        return "budget" if record.epoch >= s.max_epochs else ""

    def _finish_epochs(self) -> None:
        """Take the best epoch's weights; or train on all rows, if they are at hand, as long."""
        p = self.progress
        p.phase = "done"
        if self._held_count() == 0 or self.settings.epochs is not None:
            if self.valid is None:
                self.best = None
            return
        if self.store.size <= self.settings.memory:
            p.phase, p.epoch = "refit", 1
            p.refit_epochs = 1 + int(np.argmin([e.validation_error for e in self.history]))
            self.best = None
            self.learner = self._started()

    def _validate(self) -> float:
        assert self.learner is not None
        if self.valid is not None:
            store = self._validation_store()
            self.learner.reserve(len(self.numbering))
            examples = Examples(*store.arrays())
            order = np.arange(len(store), dtype=np.uint64)
        else:
            examples = self._examples()
            order = np.flatnonzero(self._held_mask()).astype(np.uint64)
        if len(order) == 0:
            return math.nan
        predicted = self.learner.predict(examples, order, self.settings.averaged)
        return float(np.mean(predicted != examples.codes[order]))

    def _validation_store(self) -> Store:
        if self._valid_store is None:
            self._valid_store = Store(self.settings.memory)
            assert self.valid is not None
            self.valid.expect(self.source.classes)
            for batch in self.valid:
                if batch.labels is None:
                    raise DataError("the validation file has no labels", path=self.valid.files[0])
                self._keep(batch, self._valid_store)
        return self._valid_store

    def _examples(self) -> Examples:
        return Examples(*self.store.arrays())

    def _trainable(self, order: np.ndarray) -> np.ndarray:
        mask = self._held_mask()
        return order[~mask[order.astype(np.int64)]] if mask.any() else order

    def _held_mask(self) -> np.ndarray:
        if self._held is None or len(self._held) != len(self.store):
            self._held = self._is_held(0, len(self.store))
        return self._held

    def _held_count(self) -> int:
        return int(self._held_mask().sum())

    def _is_held(self, first: int, count: int) -> np.ndarray:
        """Which rows are held out: decided by their number and the seed alone."""
        share = self.settings.held_share(self.valid is not None)
        rows = np.arange(first, first + count, dtype=np.uint64)
        if share <= 0:
            return np.zeros(count, dtype=bool)
        h = (rows + np.uint64(self.settings.seed)) * np.uint64(0x9E3779B97F4A7C15)
        h = (h ^ (h >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
        h ^= h >> np.uint64(33)
        return (h < np.uint64(int(share * 2**64))) & (rows < np.uint64(_MOST_HELD / share))

    def model(self) -> Model:
        """The model as it stands now."""
        return model_of(self)


def _rarity_of(model: Model) -> Rarity | None:
    """The scales a model was trained with; features it never met get the largest of them."""
    scales = model.state.get("scale")
    return Rarity(scales, float(scales.max())) if scales is not None and len(scales) else None


def _near_rows(rows: Packed) -> int:
    """How many rows it takes to meet a place that is not near, or how many there are."""
    late = np.flatnonzero(rows.columns >= NEAR)[:1].astype(np.uint64)
    ends = rows.pointers[1:]
    met = [np.searchsorted(ends[:, 1], np.uint64(0), side="right")]
    met += [np.searchsorted(ends[:, 2], place, side="right") for place in late]
    return min(int(min(met)) + 1, len(ends))


def _is_power_of_two(n: int) -> bool:
    return n & (n - 1) == 0


__all__ = ["Progress", "Settings", "Trainer"]
