"""Choose features and settings within a time: successive halving on rows that are hashed once."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from itertools import product
from time import monotonic, perf_counter
from typing import Any, ClassVar

import pyarrow as pa

from rosenblatt.data import Batch, Source
from rosenblatt.errors import DataError, OptionError
from rosenblatt.estimators.file_run import FileRun, Settings
from rosenblatt.kernels import jit
from rosenblatt.kernels.text import Ngrams, Rows
from rosenblatt.training import run as run_epochs

_KEEP = 3  # one of so many goes on to so many times the rows
_BRACKET = 9  # settings that a bracket begins with
_MOST_BYTES = 256 << 20  # of input that are tried on
_MOST_KEPT = 1 << 30  # bytes of hashed rows that are kept
_FEW_ROWS = 300  # on fewer, errors say little
_HELD_OUT = 5000  # rows that are enough to compare by


@dataclass(frozen=True)
class Choice:
    """Features and settings that can be tried, as for :func:`rosenblatt.train`."""

    ngrams: Ngrams
    threshold: float = 2.0
    padding: float = 0.1
    average: bool = True
    multiclass: str = "ovr"
    rule: str = "perceptron"

    SETTINGS: ClassVar = ("threshold", "padding", "average", "multiclass", "rule")

    def settings(self, of: Settings) -> Settings:
        """Settings with what was chosen, and all else as it was."""
        return replace(of, **{name: getattr(self, name) for name in self.SETTINGS})


@dataclass(frozen=True)
class Trial:
    """What came of a choice: its error on held-out rows, after learning from so many others.

    Of the seconds, those between epochs are the same for any number of rows.
    """

    choice: Choice
    rows: int
    error: float
    epochs: int
    seconds: float
    between: float = 0.0

    def seconds_for(self, rows: int) -> float:
        """How long so many rows would take."""
        return self.between + (self.seconds - self.between) * rows / self.rows

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        n = self.choice.ngrams
        chosen = asdict(self.choice) | {
            "ngrams": [n.low, n.high],
            "analyzer": "char" if n.chars else "word",
            "bits": n.bits,
        }
        return chosen | {"rows": self.rows, "error": self.error, "epochs": self.epochs}


def parse_seconds(given: str | float) -> float:
    """A time in seconds from what a person writes.

    >>> parse_seconds("60s"), parse_seconds("1.5m"), parse_seconds(20)
    (60.0, 90.0, 20.0)
    """
    found = re.fullmatch(r"\s*([\d.]+)\s*(s|m|min|h|)\s*", str(given))
    try:
        seconds = float(found[1]) * {"m": 60, "min": 60, "h": 3600}.get(found[2], 1) if found else 0
    except ValueError:
        seconds = 0
    if not 0 < seconds < math.inf:
        raise OptionError(f"{given!r} is not a time such as 60s or 5m")
    return float(seconds)


def best_of(trials: list[Trial]) -> Trial:
    """The least error on the most rows; of equal ones the first."""
    most = max(trial.rows for trial in trials)
    return min((t for t in trials if t.rows == most), key=lambda trial: trial.error)


class Draw:
    """Choices that were not tried yet: the defaults first, then at random, the seed decides."""

    def __init__(
        self, first: Choice, fixed: dict[str, Any], text: bool, classes: int, settings: Settings
    ) -> None:
        spread: dict[str, list[Any]] = {
            "threshold": [0.5, 1.0, 2.0, 4.0, 8.0],
            "padding": [0.03, 0.1, 0.5, 1.0],
            "average": [True, False],
            "multiclass": ["ovr", "joint"] if classes > 2 else [first.multiclass],
            "rule": ["perceptron", "perceptron", "arow", "pa1"],
            "ngrams": _text_forms(first.ngrams) if text else [first.ngrams],
        }
        self.spread = {n: v if n not in fixed else [fixed[n]] for n, v in spread.items()}
        self._random = random.Random(settings.seed)
        self._seen: set[Choice] = set()
        self._first = first
        self._size = len(set(self._all()))

    @property
    def is_open(self) -> bool:
        """Whether some choices are left."""
        return len(self._seen) < self._size

    def choices(self, count: int, trials: list[Trial]) -> list[Choice]:
        """So many new choices, or as many as are left."""
        found: list[Choice] = []
        if not trials:
            found.append(self._first)
            self._seen.add(self._first)
        best = best_of(trials).choice if trials else self._first
        everything = len(self._seen) + count >= self._size
        while len(found) < count and self.is_open:
            if everything:
                new = next(c for c in self._all() if c not in self._seen)
            else:
                near = len(found) % 2 and len(self._seen) > 1
                new = self._near(best) if near else self._anywhere()
            if new not in self._seen:
                self._seen.add(new)
                found.append(new)
            elif self._random.random() < 0.01:  # the neighbours may all be tried
                best = self._anywhere()
        return found

    def _all(self) -> Iterator[Choice]:
        for values in product(*self.spread.values()):
            yield self._plain(Choice(**dict(zip(self.spread, values, strict=True))))

    def _anywhere(self) -> Choice:
        drawn = {name: self._random.choice(values) for name, values in self.spread.items()}
        return self._plain(Choice(**drawn))

    def _near(self, choice: Choice) -> Choice:
        name = self._random.choice([n for n, v in self.spread.items() if len(v) > 1])
        return self._plain(replace(choice, **{name: self._random.choice(self.spread[name])}))

    def _plain(self, choice: Choice) -> Choice:
        """Other rules than the perceptron have no threshold to choose."""
        if choice.rule == "perceptron":
            return choice
        return replace(choice, threshold=self._first.threshold)


def _text_forms(given: Ngrams) -> list[Ngrams]:
    """N-grams of words and characters, in tables of different sizes."""
    words = [(1, 1, False), (1, 2, False), (1, 3, False)]
    chars = [(2, 4, True), (3, 5, True), (3, 6, True)]
    return [
        given._replace(low=low, high=high, chars=is_chars, bits=bits)
        for low, high, is_chars in words + chars
        for bits in (20, 22, 24)
    ]


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
    report: Callable[[Trial], Any] | None = None,
) -> tuple[Choice, list[Trial]]:
    """Try features and settings for so many seconds; the best, and all that was tried.

    Each bracket begins with nine choices on a ninth of the rows; the better third goes on to a
    third of the rows, and the best to all. The defaults are among the first nine and always tried
    on all rows, so that what is chosen does at least as well there. Later brackets draw half of
    their choices near the best one so far. A part of the time is left for training the model.

    The rows of `valid`, or held-out ones, tell the errors. `settings` are what training was told
    otherwise, `fixed` attributes of `Choice` that were given, and are not tried otherwise.
    """
    until = _now() + seconds
    rows = _Rows(source, valid, until - 0.75 * seconds)
    first = Choice(source.features.ngrams, **{n: getattr(settings, n) for n in Choice.SETTINGS})
    first = replace(first, **fixed)
    draw = Draw(first, fixed, rows.has_text, rows.n_classes, settings)
    trials: list[Trial] = []
    # The shares of the rows that are learned from, one after the other.
    shares = [s for s in (1 / _KEEP**2, 1 / _KEEP) if s * rows.count >= _FEW_ROWS] + [1.0]
    while draw.is_open:
        group = draw.choices(_BRACKET, trials)
        is_first = not trials
        for share in shares:
            here: list[Trial] = []
            for choice in group:
                if not _has_time(until, choice, share, trials, rows):
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


def _has_time(until: float, choice: Choice, share: float, trials: list[Trial], rows: _Rows) -> bool:
    """Whether there is time to try a choice on some rows, and to train the best after it."""
    if not trials:
        return True
    own = [t for t in trials if t.choice == choice] or trials
    trial = min(t.seconds_for(max(1, int(share * rows.count))) for t in own)
    best = best_of(trials)
    # Training reads the files again, and learns from held-out rows in a second run.
    runs = 2.0 if rows.valid is None else 1.0
    last = runs * best.seconds_for(rows.count) + rows.seconds_to_read(best.choice.ngrams)
    return _now() + trial + last < until


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
        features = replace(like.features, ngrams=ngrams)
        super().__init__(like._reader, features, True, like.classes, False)
        self.kept, self.label_sets = kept, like.label_sets

    def batches(self, start: int = 0) -> Iterator[Batch]:
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
            valid.fix_classes(source.classes)
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
        pointers = indptr[start : end + 1] - indptr[start]
        rows = Rows(pointers, indices[first:last], values[first:last])
        table = None if batch.table is None else batch.table.slice(start, end - start)
        if isinstance(table, pa.Table):
            table = table.combine_chunks()
        labels = None if batch.labels is None else batch.labels[start:end]
        weights = None if batch.weights is None else batch.weights[start:end]
        parts.append(Batch(rows, labels, weights, table, batch.size * (end - start) // len(batch)))
    return parts
