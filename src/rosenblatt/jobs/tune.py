"""Choose features and settings in limited time, by successive halving on rows in memory."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from itertools import product
from statistics import mean
from time import monotonic, perf_counter
from typing import Any, ClassVar

import pyarrow as pa

from rosenblatt.data import Batch, Source
from rosenblatt.errors import DataError, OptionError
from rosenblatt.jobs.options import PROGRAM_MEMORY, TrainOptions
from rosenblatt.jobs.rows import FileRows
from rosenblatt.jobs.run import Run
from rosenblatt.kernels import jit
from rosenblatt.kernels.text import Ngrams, Rows
from rosenblatt.training import run as run_epochs
from rosenblatt.training.defaults import options_for_files

_KEEP = 3  # one in three goes on to three times the rows
_BRACKET = 9  # choices that a bracket begins with
_MOST_BYTES = 256 << 20  # of input to try choices on
_MOST_CACHED = 1 << 30  # bytes of hashed rows
_FEW_ROWS = 300  # too few to compare errors
_HELD_OUT = 5000  # rows, enough to compare errors
_MOST_CONFIRMED = 10  # times that the best choice and the default are compared anew


@dataclass(frozen=True)
class Choice:
    """Features and settings to try, as for :func:`rosenblatt.train`."""

    ngrams: Ngrams
    threshold: float = 2.0
    padding: float = 0.1
    average: bool = True
    multiclass: str = "ovr"
    rule: str = "perceptron"

    TUNED: ClassVar = ("threshold", "padding", "average", "multiclass", "rule")

    def options(self, others: TrainOptions) -> TrainOptions:
        """The options of this choice; those that are not tuned are the others'."""
        return replace(others, **{name: getattr(self, name) for name in self.TUNED})


@dataclass(frozen=True)
class Trial:
    """The error of a choice on held-out rows, after training on `rows` others for some epochs.

    `seconds` is the time it took, `between` the part of it at the ends of epochs, which does not
    depend on the number of rows.
    """

    choice: Choice
    rows: int
    error: float
    epochs: int
    seconds: float
    between: float = 0.0

    def seconds_for(self, rows: int) -> float:
        """The time that a trial on this number of rows would take."""
        return self.between + (self.seconds - self.between) * rows / self.rows

    def to_json(self) -> dict[str, Any]:
        """The trial as plain data, without its time."""
        n = self.choice.ngrams
        chosen = asdict(self.choice) | {
            "ngrams": [n.low, n.high],
            "analyzer": n.analyzer,
            "bits": n.bits,
        }
        return chosen | {"rows": self.rows, "error": self.error, "epochs": self.epochs}


@dataclass(frozen=True)
class Verdict:
    """What the best choice gains on the defaults, on held-out rows that did not choose it.

    It takes their place if it gains more than a standard error: the least of many errors on few
    rows is a small one by luck.

    >>> Verdict.of(0.25, 0.20, rows=400)
    Verdict(gain=0.05, error=0.021)
    """

    gain: float  # in shares of the rows
    error: float  # the standard error of the gain

    @classmethod
    def of(cls, default: float, best: float, rows: int) -> Verdict:
        """The verdict on two errors on so many rows."""
        share = min(0.5, max((default + best) / 2, 1.0 / rows))
        return cls(round(default - best, 6), round(math.sqrt(share * (1 - share) / rows), 3))

    @property
    def is_worth_it(self) -> bool:
        """Whether to prefer the best choice."""
        return self.gain > self.error

    def __str__(self) -> str:
        gain, most = 100 * self.gain, 196 * self.error
        return f"{gain:.1f} points ({gain - most:.1f} to {gain + most:.1f})"

    def to_json(self) -> dict[str, Any]:
        """The verdict as plain data."""
        return {"gain": self.gain, "standard_error": self.error, "is_chosen": self.is_worth_it}


def parse_seconds(given: str | float) -> float:
    """Seconds from a number or a text such as ``"60s"``.

    >>> parse_seconds("60s"), parse_seconds("1.5m"), parse_seconds(20)
    (60.0, 90.0, 20.0)
    """
    match = re.fullmatch(r"\s*([\d.]+)\s*(s|m|min|h|)\s*", str(given))
    scales = {"m": 60, "min": 60, "h": 3600}
    try:
        seconds = float(match[1]) * scales.get(match[2], 1) if match else 0
    except ValueError:
        seconds = 0
    if not 0 < seconds < math.inf:
        raise OptionError(f"{given!r} is not a time such as 60s or 5m")
    return float(seconds)


def best_of(trials: list[Trial]) -> Trial:
    """The first trial with the least error on the largest number of rows."""
    most = max(trial.rows for trial in trials)
    return min((t for t in trials if t.rows == most), key=lambda trial: trial.error)


class _Untried:
    """All choices that were not tried yet: the default first, the others in random order."""

    def __init__(
        self, default: Choice, fixed: dict[str, Any], has_text: bool, classes: int, seed: int
    ) -> None:
        values: dict[str, list[Any]] = {
            "threshold": [0.5, 1.0, 2.0, 4.0, 8.0],
            "padding": [0.03, 0.1, 0.5, 1.0],
            "average": [True, False],
            "multiclass": ["ovr", "joint"] if classes > 2 else [default.multiclass],
            "rule": ["perceptron", "perceptron", "arow", "pa1"],  # half of the choices
            "ngrams": _ngrams_to_try(default.ngrams) if has_text else [default.ngrams],
        }
        values |= {name: [value] for name, value in fixed.items()}
        self._varied = [name for name in values if len(values[name]) > 1]
        self._random = random.Random(seed)
        choices = [
            Choice(**dict(zip(values, combined, strict=True)))
            for combined in product(*values.values())
        ]
        self._random.shuffle(choices)
        # Only the perceptron has a threshold.
        plain = (
            c if c.rule == "perceptron" else replace(c, threshold=default.threshold)
            for c in choices
        )
        self._left = list(dict.fromkeys([default, *plain]))

    def __bool__(self) -> bool:
        return bool(self._left)

    def take(self, count: int, best: Choice) -> list[Choice]:
        """Up to `count` choices, of which every second one is a neighbour of the best so far."""
        taken: list[Choice] = []
        while len(taken) < count and self._left:
            near = self._neighbour(best) if len(taken) % 2 else None
            taken.append(near or self._left[0])
            self._left.remove(taken[-1])
        return taken

    def _neighbour(self, best: Choice) -> Choice | None:
        """A choice that differs from the best in one value, drawn at random; None if tried."""
        name = self._random.choice(self._varied)
        same = {name: getattr(best, name)}
        return next((c for c in self._left if replace(c, **same) == best), None)


def _ngrams_to_try(given: Ngrams) -> list[Ngrams]:
    words = [("word", 2), ("marks", 1), ("marks", 2), ("marks", 3), ("pieces", 1), ("pieces", 2)]
    chars = [("char", 2, 4), ("char", 2, 5), ("char", 3, 6)]
    return [
        given._replace(low=low, high=high, analyzer=analyzer, bits=bits)
        for analyzer, low, high in [(name, 1, high) for name, high in words] + chars
        for bits in (20, 22, 24)
    ]


def _now() -> float:
    """Seconds, without the time spent compiling kernels."""
    return monotonic() - jit.compile_seconds()


def tune(
    source: Source,
    valid: Source | None,
    options: TrainOptions,
    seconds: float,
    threads: int,
    report: Callable[[Trial], Any] | None = None,
) -> tuple[Choice, list[Trial], Verdict]:
    """Try features and settings for a number of seconds; the choice, all trials and their verdict.

    Each bracket begins with nine choices on a ninth of the rows; the better third goes on to a
    third of the rows, and the best to all (successive halving). The defaults are in the first
    bracket and always tried on all rows. Half of the choices are drawn near the best one so far;
    where rows are few, so are the choices. The best one is then compared with the defaults on rows
    held out anew, several times where they are few, and chosen if it gains more than a standard
    error. A part of the time is left for that and for training the model.

    Errors are those on `valid`, or on held-out rows. Options that were given are not tuned.
    """
    until = _now() + seconds
    rows = _Rows(source, valid, until - 0.75 * seconds)
    fixed = _fixed_values(options, source)
    usual = options_for_files(source.features.is_plain_table, 1, source.sampled_classes)
    values = {name: usual[name] for name in Choice.TUNED}
    default = Choice(**{"ngrams": source.features.ngrams} | values | fixed)
    untried = _Untried(default, fixed, rows.has_text, rows.n_classes, options.seed)
    trials: list[Trial] = []
    shares = [s for s in (1 / _KEEP**2, 1 / _KEEP) if s * rows.count >= _FEW_ROWS] + [1.0]
    most = max(_BRACKET, rows.count // 50)
    while untried and len(trials) < most:
        is_first = not trials
        group = untried.take(_BRACKET, default if is_first else best_of(trials).choice)
        for share in shares:
            rung: list[Trial] = []
            for choice in group:
                if not _has_time(until, choice, share, trials, rows):
                    return _confirmed(default, trials, rows, options, threads)
                rung.append(_run_trial(choice, rows, share, options, threads))
                trials.append(rung[-1])
                if report is not None:
                    report(rung[-1])
            best = sorted(rung, key=lambda trial: trial.error)[: max(1, len(rung) // _KEEP)]
            group = [trial.choice for trial in best]
            if is_first and default not in group:
                group.append(default)
    return _confirmed(default, trials, rows, options, threads)


def _confirmed(
    default: Choice, trials: list[Trial], rows: _Rows, options: TrainOptions, threads: int
) -> tuple[Choice, list[Trial], Verdict]:
    """The best choice, if it is better than the default on rows held out anew."""
    best, usual = best_of(trials), [trial for trial in trials if trial.choice == default][-1]
    errors, held = [(usual.error, best.error)], rows.held_out_count
    if best.choice == default:
        return default, trials, Verdict.of(best.error, best.error, held)
    if rows.valid is None:
        seeds = [options.seed + 1 + again for again in range(rows.confirmations)]

        # As many epochs as before: the least error of many epochs is luck, too.
        def error(trial: Trial, seed: int) -> float:
            again = replace(options, seed=seed, epochs=trial.epochs)
            return _run_trial(trial.choice, rows, 1.0, again, threads).error

        errors = [(error(usual, seed), error(best, seed)) for seed in seeds]
    before, after = map(mean, zip(*errors, strict=True))
    verdict = Verdict.of(before, after, min(rows.count, held * len(errors)))
    return best.choice if verdict.is_worth_it else default, trials, verdict


def _fixed_values(options: TrainOptions, source: Source) -> dict[str, Any]:
    """The values of options that were given, which are not tuned."""
    values = {name: getattr(options, name) for name in Choice.TUNED}
    fixed = {name: value for name, value in values.items() if value is not None}
    if any(getattr(options, name) is not None for name in ("ngrams", "analyzer", "bits")):
        fixed["ngrams"] = source.features.ngrams
    return fixed


def _has_time(until: float, choice: Choice, share: float, trials: list[Trial], rows: _Rows) -> bool:
    """Whether there is time to try a choice on a share of the rows, and to train after it."""
    if not trials:
        return True
    similar = [t for t in trials if t.choice == choice] or trials
    trial = min(t.seconds_for(max(1, int(share * rows.count))) for t in similar)
    best = best_of(trials)
    # Training reads the files again, and is run again with the held-out rows.
    runs = 2.0 + 2.0 * rows.confirmations if rows.valid is None else 1.0
    last = runs * best.seconds_for(rows.count) + rows.seconds_to_read(best.choice.ngrams)
    return _now() + trial + last < until


def _run_trial(
    choice: Choice, rows: _Rows, share: float, options: TrainOptions, threads: int
) -> Trial:
    """Train on a share of the rows, and measure the error on held-out ones."""
    began = _now()
    source, valid = rows.hashed(choice.ngrams, share)
    memory = PROGRAM_MEMORY + _MOST_CACHED
    trial_options = replace(choice.options(options), holdout=rows.held_out, memory=memory)
    run = Run(FileRows(source, trial_options, valid=valid, threads=threads), trial_options)
    with closing(run.rows):
        data, plan = next(run.phases())
        spent, at = [0.0, 0.0], perf_counter()  # in walks over rows, and between epochs
        for epoch in run_epochs(run.learner, data, plan, run.progress):
            spent[epoch is not None] += perf_counter() - at
            at = perf_counter()
        errors = [epoch.validation_error for epoch in run.history]
        best = len(errors) if options.epochs is not None else 1 + errors.index(min(errors))
        learned = sum(map(len, source.in_memory))
    seconds = _now() - began
    between = seconds * spent[1] / max(sum(spent), 1e-9)
    return Trial(choice, learned, errors[best - 1], best, seconds, between)


class _BatchSource(Source):
    """A source of batches in memory, with the labels of another source."""

    def __init__(self, batches: list[Batch], origin: Source, ngrams: Ngrams) -> None:
        features = replace(origin.features, ngrams=ngrams)
        super().__init__(origin._reader, features, True, origin.classes, False)
        self.in_memory, self.label_sets = batches, origin.label_sets

    def batches(self, start: int = 0) -> Iterator[Batch]:
        """The batches from number `start` on."""
        for batch in self.in_memory[start:]:
            self.rows += len(batch)
            yield batch


class _Rows:
    """The rows to try choices on, in memory as tables; hashed rows are cached."""

    def __init__(self, source: Source, valid: Source | None, until: float) -> None:
        self.source, self.valid = source, valid
        began = _now()
        self._read = _read(source, until)
        self._seconds = _now() - began
        if len(source.classes) < 2:
            message = "at least two classes are needed to tune"
            raise DataError(message, path=source.files[0], column=source.features.label)
        self._valid_read: list[Batch] = []
        if valid is not None:
            valid.fix_classes(source.classes)
            self._valid_read = _read(valid, math.inf)
        self.count = sum(map(len, self._read))
        self.n_classes = len(source.classes)
        self.has_text = any(c.kind == "text" for c in source.features.columns)
        self._cache: dict[tuple[Ngrams, bool, int], Batch] = {}  # least recently used first
        self._cached_bytes = self._rows_hashed = 0
        self._seconds_per_row: dict[Ngrams, float] = {}  # of hashing

    @property
    def held_out(self) -> float:
        """The share of the rows that is held out."""
        return 0.0 if self.valid is not None else min(0.3, max(0.1, _HELD_OUT / self.count))

    @property
    def held_out_count(self) -> int:
        """About how many rows tell the error."""
        validated = sum(map(len, self._valid_read))
        return max(1, validated or int(self.held_out * self.count))

    @property
    def confirmations(self) -> int:
        """How often the best choice is compared with the default: until as many rows are enough."""
        return min(_MOST_CONFIRMED, -(-_HELD_OUT // self.held_out_count))

    def seconds_to_read(self, ngrams: Ngrams) -> float:
        """The time to read all rows again and to hash their n-grams."""
        return self._seconds + self._seconds_per_row.get(ngrams, 0.0) * self.count

    def hashed(self, ngrams: Ngrams, share: float) -> tuple[_BatchSource, _BatchSource | None]:
        """A share of the rows, evenly spread as files may be sorted, and the validation rows."""
        count = max(1, round(share * len(self._read)))
        places = [len(self._read) * i // count for i in range(count)]
        began, before = _now(), self._rows_hashed
        rows = [self._batch((ngrams, False, i), self._read[i]) for i in places]
        if self._rows_hashed > before:
            self._seconds_per_row[ngrams] = (_now() - began) / (self._rows_hashed - before)
        source = _BatchSource(rows, self.source, ngrams)
        if self.valid is None:
            return source, None
        others = [self._batch((ngrams, True, i), raw) for i, raw in enumerate(self._valid_read)]
        return source, _BatchSource(others, self.valid, ngrams)

    def _batch(self, key: tuple[Ngrams, bool, int], raw: Batch) -> Batch:
        ngrams = key[0]
        if raw.table is None or ngrams == self.source.features.ngrams:
            return raw
        batch = self._cache.pop(key, None)
        if batch is None:
            batch = replace(raw, rows=replace(self.source.features, ngrams=ngrams).rows(raw.table))
            self._rows_hashed += len(batch)
            self._cached_bytes += 8 * len(batch.rows.indices)
        self._cache[key] = batch
        while (
            self._cached_bytes > _MOST_CACHED and (oldest := next(iter(self._cache)))[0] != ngrams
        ):
            self._cached_bytes -= 8 * len(self._cache.pop(oldest).rows.indices)
        return batch


def _read(source: Source, until: float) -> list[Batch]:
    """Batches in small parts, up to a size and for no longer than `until`, but at least one."""
    parts: list[Batch] = []
    size = 0
    for batch in source:
        step = max(1, len(batch) // 32)
        parts += [_part(batch, at, min(at + step, len(batch))) for at in range(0, len(batch), step)]
        size += batch.size
        if size > _MOST_BYTES or _now() > until:
            break
    return parts


def _part(batch: Batch, start: int, end: int) -> Batch:
    """The rows of a batch from number `start` up to `end`."""
    indptr, indices, values = batch.rows
    entries = slice(int(indptr[start]), int(indptr[end]))
    table = None if batch.table is None else batch.table.slice(start, end - start)
    return Batch(
        Rows(indptr[start : end + 1] - indptr[start], indices[entries], values[entries]),
        None if batch.labels is None else batch.labels[start:end],
        None if batch.weights is None else batch.weights[start:end],
        table.combine_chunks() if isinstance(table, pa.Table) else table,
        batch.size * (end - start) // len(batch),
    )
