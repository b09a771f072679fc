"""Choose features and settings within a time: successive halving on rows that are hashed once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from time import monotonic, perf_counter
from typing import Any

import pyarrow as pa

from rosenblatt.data import Batch, Source
from rosenblatt.errors import DataError
from rosenblatt.estimators.file_run import FileRun, Settings
from rosenblatt.estimators.tuning_choices import Choice, Draw, Trial, best_of
from rosenblatt.kernels import jit
from rosenblatt.kernels.text import Ngrams
from rosenblatt.training import run as run_epochs

_KEEP = 3  # one of so many goes on to so many times the rows
_BRACKET = 9  # settings that a bracket begins with
_MOST_BYTES = 256 << 20  # of input that are tried on
_MOST_KEPT = 1 << 30  # bytes of hashed rows that are kept
_FEW_ROWS = 300  # on fewer, errors say little
_HELD_OUT = 5000  # rows that are enough to compare by

Report = Callable[[Trial], Any]


def _now() -> float:
    """Seconds, without those that kernels were compiled in, once on a machine."""
    return monotonic() - jit.compile_seconds()


def tune(
    source: Source,
    valid: Source | None,
    settings: Settings,
    fixed: dict[str, Any],
    seconds: float,
    threads: int,
    report: Report | None = None,
) -> tuple[Choice, list[Trial]]:
    """Try features and settings for so many seconds; the best, and all that was tried.

    Each bracket begins with nine choices on a ninth of the rows; the better third goes on to a
    third of the rows, and the best to all. The defaults are among the first nine and always tried
    on all rows, so that what is chosen does at least as well there. Later brackets draw half of
    their choices near the best one so far. A part of the time is left for training the model.

    The rows of `valid`, or held-out ones, tell the errors. `settings` are what training was told
    otherwise, `fixed` attributes of `Choice` that were given, and are not tried otherwise.
    """
    clock = _Clock(seconds)
    rows = _Rows(source, valid, clock.until - 0.75 * seconds)
    first = Choice(source.features.ngrams, **{n: getattr(settings, n) for n in Choice.SETTINGS})
    first = replace(first, **fixed)
    draw = Draw(first, fixed, rows.has_text, rows.n_classes, settings)
    trials: list[Trial] = []
    shares = _shares(rows.count)
    while draw.is_open:
        group = draw.choices(_BRACKET, trials)
        is_first = not trials
        for share in shares:
            here: list[Trial] = []
            for choice in group:
                if not clock.allows(choice, share, trials, rows):
                    return best_of(trials).choice, trials
                here.append(_tried(choice, rows, share, settings, threads))
                trials.append(here[-1])
                if report is not None:
                    report(here[-1])
            best = sorted(here, key=lambda trial: trial.error)[: max(1, len(here) // _KEEP)]
            group = [trial.choice for trial in best]
            if is_first and first not in group:
                group.append(first)
    return best_of(trials).choice, trials


def _shares(count: int) -> list[float]:
    """The shares of the rows that are learned from, one after the other."""
    shares = [1 / _KEEP**2, 1 / _KEEP, 1.0]
    return [share for share in shares if share * count >= _FEW_ROWS or share == 1.0]


class _Clock:
    """How much time is left, without what training the model in the end will take."""

    def __init__(self, seconds: float) -> None:
        self.until = _now() + seconds

    def allows(self, choice: Choice, share: float, trials: list[Trial], rows: _Rows) -> bool:
        """Whether there is time to try a choice on some rows, and to train the best after it."""
        if not trials:
            return True
        own = [t for t in trials if t.choice == choice] or trials
        trial = min(t.seconds_for(max(1, int(share * rows.count))) for t in own)
        best = best_of(trials)
        # Training reads the files again, and learns from held-out rows in a second run.
        runs = 2.0 if rows.valid is None else 1.0
        last = runs * best.seconds_for(rows.count) + rows.seconds_to_read(best.choice.ngrams)
        return _now() + trial + last < self.until


def _tried(choice: Choice, rows: _Rows, share: float, settings: Settings, threads: int) -> Trial:
    """Learn from a share of the rows, and measure on held-out ones."""
    began = _now()
    source, valid = rows.hashed(choice.ngrams, share)
    held_out = 0.0 if valid is not None else min(0.3, max(0.1, _HELD_OUT / rows.count))
    told = replace(choice.settings(settings), holdout=held_out, memory=_MOST_KEPT)
    run = FileRun(source, told, valid=valid, threads=threads)
    with closing(run.rows):
        part, plan = next(run.phases())
        spent, at = [0.0, 0.0], perf_counter()  # in walks over rows, and between epochs
        for epoch in run_epochs(run.learner, part, plan, run.progress):
            spent[epoch is not None] += perf_counter() - at
            at = perf_counter()
        errors = [epoch.validation_error for epoch in run.history]
        error = errors[-1] if settings.epochs is not None else min(errors, default=math.nan)
        learned = sum(len(batch) for batch in source.kept)
    seconds = _now() - began
    between = seconds * spent[1] / max(sum(spent), 1e-9)
    return Trial(choice, learned, error, len(errors), seconds, between)


class _KeptBatches(Source):
    """Batches in memory as a source."""

    def __init__(self, kept: list[Batch], like: Source, ngrams: Ngrams) -> None:
        self.features, self.classes = replace(like.features, ngrams=ngrams), list(like.classes)
        self.labelled, self.kept_columns, self._closed = True, (), True
        self.kept, self._like = kept, like
        self.rows = self.bad = 0
        self.missing = like.missing.__class__()
        self.label_sets = like.label_sets

    @property
    def files(self) -> list[str]:
        """The files that the batches are of."""
        return self._like.files

    @property
    def format(self) -> str:
        """The format of these files."""
        return self._like.format

    def batches(self, start: int = 0, lent: bool = False) -> Iterator[Batch]:
        """The batches from number `start` on."""
        for batch in self.kept[start:]:
            self.rows += len(batch)
            yield batch


class _Rows:
    """Rows of a source in memory, as tables, and hashed in the ways that were asked for last."""

    def __init__(self, source: Source, valid: Source | None, until: float) -> None:
        self.source, self.valid = source, valid
        began = _now()
        self.read = self._read(source, until)
        self._seconds = _now() - began
        if len(source.classes) < 2:
            message = "at least two classes are needed to tune"
            raise DataError(message, path=source.files[0], column=source.features.label)
        self.valid_read: list[Batch] = []
        if valid is not None:
            valid.expect(source.classes)
            self.valid_read = self._read(valid, math.inf)
        self.count = sum(map(len, self.read))
        self.n_classes = len(source.classes)
        self.has_text = any(c.kind == "text" for c in source.features.columns)
        self._hashed: dict[tuple[Ngrams, bool, int], Batch] = {}  # the last ones used last
        self._made = self._bytes = 0  # rows that were hashed, and the size of those kept
        self._hashing: dict[Ngrams, float] = {}  # seconds per row

    def seconds_to_read(self, ngrams: Ngrams) -> float:
        """How long it takes to read all rows again and to hash them in a way that was tried."""
        return self._seconds + self._hashing.get(ngrams, 0.0) * self.count

    @staticmethod
    def _read(source: Source, until: float) -> list[Batch]:
        """Batches up to a size, and for no longer than until then; one at least."""
        found: list[Batch] = []
        size = 0
        for batch in source:
            found += _cut(batch)
            size += batch.size
            if size > _MOST_BYTES or _now() > until:
                break
        return found

    def hashed(self, ngrams: Ngrams, share: float) -> tuple[_KeptBatches, _KeptBatches | None]:
        """A share of the rows, and those to validate with, as sources of hashed batches."""
        count = max(1, round(share * len(self.read)))
        # Evenly spread: a file may be sorted.
        places = [len(self.read) * i // count for i in range(count)]
        began, before = _now(), self._made
        rows = [self._batch((ngrams, False, i), self.read[i]) for i in places]
        if self._made > before:
            self._hashing[ngrams] = (_now() - began) / (self._made - before)
        source = _KeptBatches(rows, self.source, ngrams)
        if self.valid is None:
            return source, None
        others = [self._batch((ngrams, True, i), raw) for i, raw in enumerate(self.valid_read)]
        return source, _KeptBatches(others, self.valid, ngrams)

    def _batch(self, key: tuple[Ngrams, bool, int], raw: Batch) -> Batch:
        ngrams = key[0]
        if raw.table is None or ngrams == self.source.features.ngrams:
            return raw
        batch = self._hashed.pop(key, None)
        if batch is None:
            batch = replace(raw, rows=replace(self.source.features, ngrams=ngrams).rows(raw.table))
            self._made += len(batch)
            self._bytes += 8 * len(batch.rows.indices)
        self._hashed[key] = batch
        # Let go of rows that were hashed in ways not asked for lately.
        while self._bytes > _MOST_KEPT and (oldest := next(iter(self._hashed)))[0] != ngrams:
            self._bytes -= 8 * len(self._hashed.pop(oldest).rows.indices)
        return batch


def _cut(batch: Batch) -> list[Batch]:
    """A batch in parts, so that a share of the rows can be taken of few batches."""
    size = max(1, len(batch) // 32)
    indptr, indices, values = batch.rows
    parts = []
    for start in range(0, len(batch), size):
        end = min(start + size, len(batch))
        first, last = int(indptr[start]), int(indptr[end])
        rows = batch.rows.__class__(
            (indptr[start : end + 1] - indptr[start]), indices[first:last], values[first:last]
        )
        table = None if batch.table is None else batch.table.slice(start, end - start)
        if isinstance(table, pa.Table):
            table = table.combine_chunks()
        labels = None if batch.labels is None else batch.labels[start:end]
        weights = None if batch.weights is None else batch.weights[start:end]
        parts.append(Batch(rows, labels, weights, table, batch.size * (end - start) // len(batch)))
    return parts
