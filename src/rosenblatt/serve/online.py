"""A model that learns the labels of a log: equal logs give equal bits, however they are cut."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rosenblatt import __version__
from rosenblatt.data.features import Features
from rosenblatt.data.labels import sorted_labels
from rosenblatt.errors import ModelFormatError, OptionError
from rosenblatt.jobs.options import TrainOptions
from rosenblatt.jobs.outcome import state_for_model
from rosenblatt.jobs.run import head_of, rule_of, spec_of
from rosenblatt.jobs.start import check_can_learn, state_of_model
from rosenblatt.kernels.packing import Numbering
from rosenblatt.kernels.rows import Packed
from rosenblatt.kernels.text import Rows
from rosenblatt.learners import make
from rosenblatt.learners.examples import ONE, Examples
from rosenblatt.learners.parts import ONE_RATE
from rosenblatt.learners.problems import n_problems
from rosenblatt.learners.rates import IdfScales
from rosenblatt.learners.weights import State, with_new_classes
from rosenblatt.models import tensorfile
from rosenblatt.models.model import Model
from rosenblatt.models.model_file import check_columns, read_model
from rosenblatt.models.tensorfile import reporting_damage, state_arrays, state_from
from rosenblatt.serve.record import Record
from rosenblatt.serve.rows import Row, RowReader, unpacked
from rosenblatt.training import Plan
from rosenblatt.training.defaults import options_for_services

Content = Row | bytes  # of a row: its columns, or its features if the columns are forgotten
# What a service may be told of learning; all else is for files.
SETTINGS = ("rule", "threshold", "padding", "average", "multiclass")
_FORMAT, _VERSION = "rosenblatt-online", 1


class Event(NamedTuple):
    """A label in the log, with the row that it is of and what was predicted for that."""

    position: int
    id: str
    time: float
    label: str
    weight: float
    replaced: str | None  # the label that this one corrects
    predicted: str | None
    version: int  # the position of the model that predicted
    content: Content


@dataclass(frozen=True)
class Start:
    """What a log begins with: the features, the settings of learning, and perhaps a model."""

    features: Features
    settings: dict[str, Any]
    model: Model | None = None

    @classmethod
    def of(cls, options: TrainOptions, features: Features, model: Model | None = None) -> Start:
        """The start for some options; what they leave open a model says, or the defaults."""
        RowReader(features)  # which checks where they are from
        if features.multilabel:
            raise OptionError(
                "a service learns one label per row, and the model has several: serve it without "
                "--learn"
            )
        if model is not None:
            check_can_learn(model)
            if model.precision != "float32":
                raise OptionError("a compressed model cannot learn: start from the one before that")
        before = {} if model is None else model.parameters
        rule = options.rule or before.get("rule")
        defaults = options_for_services(features.is_plain_table, rule)
        settings = {}
        for name in SETTINGS:
            value = getattr(options, name)
            value = before.get(name) if value is None else value
            settings[name] = defaults.get(name) if value is None else value
        start = cls(features, settings, model)
        rule_of(start.options)  # which checks it
        return start

    @property
    def options(self) -> TrainOptions:
        """The settings as options of training."""
        return TrainOptions(**self.settings)

    def to_json(self) -> dict[str, Any]:
        """All but the model as plain data."""
        return {
            "features": self.features.to_json(),
            "settings": self.settings,
            "package": __version__,
        }

    @classmethod
    def from_json(cls, plain: dict[str, Any], model: bytes | None) -> Start:
        """What :meth:`to_json` wrote, and the bytes of the model file."""
        with reporting_damage("the start of the log"):
            features = Features.from_json(plain["features"])
            settings = {name: plain["settings"][name] for name in SETTINGS}
            start = cls(features, settings)
            rule_of(start.options)
        if model is None:
            return start
        with as_file(model) as path:
            return replace(start, model=read_model(path))


class Online:
    """A model that learns labels one by one, in the order of their log.

    Its weights depend on the start and on the labels in their order, not on how these are divided
    into calls, nor on snapshots between them.

    Examples
    --------
    >>> from rosenblatt.data import Column
    >>> features = Features(columns=(Column("text", "text"),), label="label")
    >>> online = Online(Start.of(TrainOptions(), features))
    >>> pairs = [("fun", "pos"), ("dull", "neg"), ("good fun", "pos"), ("good", "pos")]
    >>> online.learn(
    ...     Event(i, str(i), 0.0, label, 1.0, None, None, 0, {"text": text})
    ...     for i, (text, label) in enumerate(pairs, start=1)
    ... )
    >>> online.position, online.model.predict(["good", "dull"]).tolist()
    (4, ['pos', 'neg'])
    """

    def __init__(self, start: Start) -> None:
        self.start, model = start, start.model
        self.options = start.options
        self.reader = RowReader(start.features)
        self._plan = Plan(rule_of(self.options)[1])
        self.rarity = None if model is None else IdfScales.of_state(model.state)
        self.classes: list[str] = [] if model is None else list(model.classes)
        columns = None if model is None else model.columns
        self.numbering = Numbering(1 << start.features.ngrams.bits, columns)
        self.learner = self._new_learner()
        if model is not None:
            self.learner.restore(state_of_model(model))
        self.learner.reserve(len(self.numbering))
        self.position = self.visits = 0
        self.record = Record()
        self._model: Model | None = None

    def _new_learner(self) -> Any:
        rates = ONE_RATE if self.rarity is None else self.rarity.rates
        return make(spec_of(self.options, rates), max(2, len(self.classes)), 0)

    def learn(self, labels: Any) -> None:
        """Count and learn some labels, the next of the log."""
        events = list(labels)
        if not events:
            return
        rows, start = self.hashed([event.content for event in events]), 0
        known = set(self.classes)
        for i, event in enumerate(events):
            if event.label not in known:
                self._walk(rows, events, start, i)
                self._add_class(event.label)
                known.add(event.label)
                start = i
            if event.replaced is None:
                self.record.count(event.position, event.time, event.label, event.predicted)
            else:
                self.record.correct(event.label, event.replaced, event.predicted)
        self._walk(rows, events, start, len(events))
        self.position = events[-1].position
        self._model = None

    @classmethod
    def compile(cls, start: Start) -> None:
        """Learn and predict some rows for nothing, so that a service need not compile later."""
        online = cls(replace(start, model=None))
        row = online.reader.blank
        for i, labels in enumerate((["a", "b"], ["c"]), start=1):
            online.learn(Event(i, "", 0.0, label, 1.0, None, None, 0, row) for label in labels)
            online.guess([row])

    def hashed(self, contents: list[Content]) -> Rows:
        """The features of rows, some of which may be features already."""
        parts: list[Rows] = []
        for is_hashed, group in groupby(contents, key=lambda content: isinstance(content, bytes)):
            part: list[Any] = list(group)
            parts += map(unpacked, part) if is_hashed else [self.reader.hashed(part)]
        if len(parts) == 1:
            return parts[0]
        sizes = [np.diff(part.indptr) for part in parts]
        return Rows(
            np.concatenate([np.zeros(1, np.uint64), np.cumsum(np.concatenate(sizes))]).astype("u8"),
            np.concatenate([part.indices for part in parts]),
            np.concatenate([part.values for part in parts]),
        )

    def _walk(self, rows: Rows, events: list[Event], start: int, end: int) -> None:
        """Learn the labels from `start` to `end`, all of known classes.

        Columns get their places here and not earlier, so that a class that arrives between two
        calls meets the same columns as one that arrives within a call.
        """
        if start == end:
            return
        first, last = int(rows.indptr[start]), int(rows.indptr[end])
        pointers = rows.indptr[start : end + 1] - rows.indptr[start]
        part = Rows(pointers, rows.indices[first:last], rows.values[first:last])
        packed = self.numbering.pack(part, Packed.room(end - start, last - first))
        self.learner.reserve(len(self.numbering))
        numbers = {name: code for code, name in enumerate(self.classes)}
        codes = np.array([numbers[event.label] for event in events[start:end]], np.int32)
        omega = np.array([event.weight for event in events[start:end]])
        order = np.flatnonzero(omega > 0).astype(np.uint64)
        n, columns = len(self.numbering), self.numbering.columns
        examples = Examples(packed, codes, ONE if (omega == 1).all() else omega, n, columns)
        if len(self.classes) < 2:
            self.learner.idle(examples.weight_of(order))
        elif len(order):
            self.learner.walk(examples, order, self._plan.etas(self.visits + 1, len(order)))
        self.visits += len(order)

    def _add_class(self, label: str) -> None:
        """Replace the learner by one that has another class, with zero weights."""
        old, new = self.classes, sorted_labels([*self.classes, label])
        state = with_new_classes(self.learner, np.array(old), np.array(new))
        self.classes = new
        self.learner = self._new_learner()
        self.learner.restore(state)
        self.learner.reserve(len(self.numbering))

    def guess(self, contents: list[Content]) -> list[str | None]:
        """The labels that the current model predicts for rows; None while no class is known."""
        if len(self.classes) < 2 or not contents:
            return [next(iter(self.classes), None)] * len(contents)
        model = self.model
        codes = model.decide(model.scores(self.hashed(contents)))
        return [self.classes[code] for code in codes.tolist()]

    @property
    def model(self) -> Model:
        """The current model. It sees the learner's weights: use it before learning more."""
        if self._model is None:
            weights, bias = self.learner.weights(bool(self.options.average))
            start = self.start.model
            is_same = start is not None and list(start.classes) == self.classes
            self._model = Model(
                tuple(self.classes),
                self.start.features,
                self.numbering.columns,
                np.ascontiguousarray(weights.T, np.float32),
                np.asarray(bias, np.float64),
                parameters=self.options.settings,
                calibration=start.calibration if start is not None and is_same else None,
                threshold=start.threshold if start is not None and is_same else 0.0,
                head=head_of(self.options, len(self.classes)),
            )
            vars(self._model)["_numbering"] = self.numbering  # which would be made again
        return self._model

    def exported(self) -> Model:
        """A copy of the current model, with all that is needed to go on from it."""
        clocks = len(self.model.bias) if self.model.by_pairs else 1
        state = state_for_model(self.learner, clocks)
        if self.rarity is not None:
            state |= self.rarity.state(np.arange(len(self.numbering), dtype=np.uint32))
        return deepcopy(replace(self.model, state=state))

    def snapshot(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Copies of the arrays, and the plain data, that :meth:`restored` continues from."""
        arrays = state_arrays(self.learner.state(), "learner.")
        arrays = {"columns": self.numbering.columns} | arrays
        about = {
            "format": _FORMAT,
            "version": _VERSION,
            "position": self.position,
            "visits": self.visits,
            "classes": self.classes,
            "record": asdict(self.record),
        }
        return {name: array.copy() for name, array in arrays.items()}, about

    @classmethod
    def restored(cls, start: Start, path: Path, log: str, last: int) -> Online:
        """The model of a snapshot of a log up to its last position; else a ModelFormatError."""
        arrays, about = tensorfile.read(path)
        if (about.get("format"), about.get("version")) != (_FORMAT, _VERSION):
            raise ModelFormatError(f"{path} is not a snapshot of this release")
        if about.get("log") != log or about.get("position", 0) > last:
            raise ModelFormatError("it is of another log, or ahead of this one")
        online = cls(start)
        with reporting_damage(str(path)):
            classes = [str(name) for name in about["classes"]]
            problems = n_problems(max(2, len(classes)), online.learner.spec.multiclass)
            state: State = state_from(arrays, "learner.", problems)
            check_columns(arrays["columns"], 1 << start.features.ngrams.bits)
            if state.weights.shape[1] != len(arrays["columns"]):
                raise ValueError("columns and weights differ in number")
            online.classes = classes
            online.position, online.visits = int(about["position"]), int(about["visits"])
            online.record = Record(**about["record"])
            online.numbering = Numbering(1 << start.features.ngrams.bits, arrays["columns"])
            online.learner = online._new_learner()
            online.learner.restore(state)
        return online


@contextmanager
def as_file(content: bytes) -> Iterator[Path]:
    """A temporary file with some content."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.model"
        path.write_bytes(content)
        yield path


def file_of(save: Callable[[Path], Any]) -> bytes:
    """The content of the file that a function writes."""
    with as_file(b"") as path:
        save(path)
        return path.read_bytes()
