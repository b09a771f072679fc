"""Data and settings of a session: plain records, checked, and encoded in a URL to share."""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import re
import sys
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from rosenblatt import teaching_sets
from rosenblatt.data import Arrays, read_arrays
from rosenblatt.errors import listed, shown
from rosenblatt.lifts.registry import LIFTS
from rosenblatt.rules import MISTAKE_RULES
from rosenblatt.tracing import TraceProblem
from rosenblatt.tracing.run import RULES

MOST_POINTS = 500
MOST_FEATURES = 100
MOST_COLUMNS = 1000  # commas in a sentence are no columns, so that more than the features pass
MOST_CLASSES = 8
MOST_CELLS = 200_000
MOST_CHARACTERS = 2_000_000
LARGEST = 1e6
ORDERS = {"in order": False, "shuffled": True, "random": "random"}  # as `trace` takes them
KEEPS = ("last", "average", "best")
CLOUDS = ("blobs", "moons", "rings", "overlap")
_CLOUD_POINTS = 60
UPDATES = ("online", "batch")
_JSON_NAME = re.compile(r'"([^"\\]*)"\s*:')


@dataclass(frozen=True)
class LabSettings:
    """How a session learns; a ValueError says which setting is wrong and why.

    Examples
    --------
    >>> LabSettings(threshold=1.0).threshold
    1.0
    >>> LabSettings(eta=0)
    Traceback (most recent call last):
    ...
    ValueError: the learning rate must be between 0.001 and 1000
    """

    update: str = "online"
    mistake: str = "margin"
    order: str = "in order"
    seed: int = 0
    threshold: float = 0.0
    eta: float = 1.0
    bias: bool = True
    padding: float = 1.0
    keep: str = "last"
    lift: str = "none"
    degree: int = 2
    gamma: float = 1.0
    max_epochs: int = 100
    start: tuple[float, ...] = ()
    rule: str = "perceptron"
    C: float = 1.0
    r: float = 1.0

    def __post_init__(self) -> None:
        _one_of("rule", self.rule, RULES)
        _one_of("update", self.update, UPDATES)
        _one_of("mistake rule", self.mistake, MISTAKE_RULES)
        _one_of("order", self.order, ORDERS)
        _one_of("weights kept", self.keep, KEEPS)
        _one_of("lift", self.lift, tuple(LIFTS))
        _between("threshold", self.threshold, 0, LARGEST)
        _between("learning rate", self.eta, 1e-3, 1e3)
        _between("padding constant", self.padding, 1e-3, 1e3)
        _between("gamma", self.gamma, 1e-3, 1e3)
        _between("C", self.C, 1e-3, 1e3)
        _between("r", self.r, 1e-3, 1e3)
        _whole("degree", self.degree, 2, 4)
        _whole("number of epochs", self.max_epochs, 1, 1000)
        _whole("seed", self.seed, 0, 2**31)
        if not isinstance(self.bias, bool):
            raise ValueError("bias must be on or off")
        if not isinstance(self.start, tuple) or len(self.start) > MOST_FEATURES + 1:
            raise ValueError("the start must be a list of numbers: the weights, then the bias")
        for value in self.start:
            if not _is_number(value):
                raise ValueError(
                    f"the start must be numbers, separated by commas, not {shown(value)}"
                )
            _between("start", value, -LARGEST, LARGEST)

    @classmethod
    def of(cls, values: dict[str, Any]) -> LabSettings:
        """Settings from a plain dictionary; unknown names are refused."""
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise ValueError(f"there is no setting called {shown(unknown[0])}")
        if "start" in values and isinstance(values["start"], list):  # JSON has no tuples
            values = {**values, "start": tuple(values["start"])}
        return cls(**values)


@dataclass(frozen=True)
class Data:
    """The rows of a session, their signs, and the names of rows, features and classes.

    With more than two classes, `labels` are indices into `all_classes`, and the signs follow: +1
    for the class `target`, -1 for all others.

    Examples
    --------
    >>> data = Data.example("xor")
    >>> data.with_point((0.5, 0.5), 1).X[-1], data.without(0).signs
    ((0.5, 0.5), (1, 1, -1))
    """

    feature_names: tuple[str, ...] = ("x", "y")
    X: tuple[tuple[float, ...], ...] = ()
    signs: tuple[int, ...] = ()
    row_names: tuple[str, ...] | None = None
    class_names: tuple[str, ...] = ("-1", "+1")
    title: str = "your points"
    labels: tuple[int, ...] | None = None
    all_classes: tuple[str, ...] = ()
    target: int = 0

    def __post_init__(self) -> None:
        width = len(self.feature_names)
        if self.labels is not None:
            self._set_signs()
        if not 1 <= width <= MOST_FEATURES:
            raise ValueError(f"the lab takes 1 to {MOST_FEATURES} features, not {width}")
        if len(self.X) > MOST_POINTS:
            raise ValueError(f"the lab takes up to {MOST_POINTS} points, not {len(self.X)}")
        names = self.row_names
        if len(self.signs) != len(self.X) or (names is not None and len(names) != len(self.X)):
            raise ValueError("rows, labels and names differ in number")
        if any(sign not in (-1, 1) or not _is_number(sign) for sign in self.signs):
            raise ValueError("labels must be -1 or +1")
        for row in self.X:
            if len(row) != width:
                raise ValueError(f"a row has {len(row)} numbers where {width} are expected")
            if not all(_is_number(value) and abs(value) <= LARGEST for value in row):
                raise ValueError(f"numbers must lie between -{LARGEST:g} and {LARGEST:g}")

    def _set_signs(self) -> None:
        """Compute signs and class names from the class that counts as +1."""
        count, labels = len(self.all_classes), self.labels or ()
        if not 2 <= count <= MOST_CLASSES:
            raise ValueError(f"the lab takes 2 to {MOST_CLASSES} classes, not {count}")
        _whole("class that counts as +1", self.target, 0, count - 1)
        for label in labels:
            _whole("label", label, 0, count - 1)
        signs = tuple(1 if label == self.target else -1 for label in labels)
        object.__setattr__(self, "signs", signs)
        names = ("all others", self.all_classes[self.target])
        object.__setattr__(self, "class_names", names)

    @property
    def planar(self) -> bool:
        """Whether the rows have two features, so that they can be drawn and moved."""
        return len(self.feature_names) == 2

    @classmethod
    def example(cls, name: str) -> Data:
        """The data of an example of :mod:`rosenblatt.teaching_sets`."""
        source = teaching_sets.load(name)
        names = {"feature_names": source.feature_names, "title": source.title}
        row_names = None if name == "iris" else source.row_names
        X, y = np.array(source.X), np.array(source.y)
        return cls._labelled(X, y, source.class_names, row_names=row_names, **names)

    @classmethod
    def cloud(cls, name: str, noise: float, seed: int) -> Data:
        """Points drawn at random around two shapes; `noise`, from 0 to 1, blurs them."""
        from sklearn.datasets import make_blobs, make_circles, make_moons

        _one_of("cloud", name, CLOUDS)
        _between("noise", noise, 0, 1)
        _whole("seed", seed, 0, 2**31)
        n = _CLOUD_POINTS
        if name == "moons":
            X, y = make_moons(n, noise=0.4 * noise, random_state=seed)
        elif name == "rings":
            X, y = make_circles(n, noise=0.4 * noise, factor=0.4, random_state=seed)
        else:
            apart = 2.0 if name == "blobs" else 0.5
            centers = [(-apart, -apart / 2), (apart, apart / 2)]
            X, y = make_blobs(n, centers=centers, cluster_std=0.2 + 1.6 * noise, random_state=seed)
        rows = tuple(map(tuple, X.round(2).tolist()))
        return cls(X=rows, signs=tuple((2 * y - 1).tolist()), title=f"{name}, at random")

    @classmethod
    def arrays(cls, X: Any, y: Any) -> Data:
        """Rows and labels of two classes, in any form that :func:`rosenblatt.trace` takes."""
        problem = TraceProblem.of(X, y)
        rows = tuple(tuple(float(value) for value in row) for row in problem.X)
        names = _class_names(list(problem.classes))
        return cls(problem.feature_names, rows, problem.signs, class_names=names, title="your rows")

    @classmethod
    def csv(cls, text: str, title: str = "your file") -> Data:
        """The rows of an uploaded file."""
        if len(text) > MOST_CHARACTERS:
            raise ValueError(f"the file is larger than {MOST_CHARACTERS // 1_000_000} MB")
        _check_width(text)
        content = io.BytesIO(text.encode(errors="replace"))
        table = read_arrays(content, row_names=True, most_cells=MOST_CELLS, name=title)
        return cls._table(table, title)

    @classmethod
    def file(
        cls,
        path: str | os.PathLike[str],
        label: str | int | None = None,
        header: bool | None = None,
    ) -> Data:
        """The rows of a file on this machine; label and header as for `data.open`."""
        table = read_arrays(path, label, header=header, row_names=True, most_cells=MOST_CELLS)
        return cls._table(table, Path(path).name)

    @classmethod
    def _table(cls, table: Arrays, title: str) -> Data:
        X = table.X.toarray() if issparse(table.X) else table.X
        names = {"feature_names": table.columns, "row_names": table.row_names, "title": title}
        return cls._labelled(X, table.y, _class_names(np.unique(table.y).tolist()), **names)

    @classmethod
    def _labelled(cls, X: Any, y: Any, classes: tuple[str, ...], **names: Any) -> Data:
        """Arrays of rows and labels; `classes` are the names of the labels, in sorted order."""
        if not 2 <= len(classes) <= MOST_CLASSES:
            raise ValueError(
                f"expected labels of 2 to {MOST_CLASSES} classes, found {len(classes)}: "
                f"{listed(classes, most=4)}"
            )
        rows = tuple(map(tuple, X.astype(float).tolist()))
        labels = np.unique(y, return_inverse=True)[1]
        if len(classes) > 2:
            return cls(X=rows, labels=tuple(labels.tolist()), all_classes=classes, **names)
        signs = tuple((2 * labels - 1).tolist())
        return cls(X=rows, signs=signs, class_names=classes, **names)

    def with_point(self, point: Sequence[float], sign: int, label: int | None = None) -> Data:
        """The data with one more point, with several classes of the class with a number."""
        added: dict[str, Any] = {"X": (*self.X, tuple(point)), "signs": (*self.signs, sign)}
        if self.row_names is not None:
            added["row_names"] = (*self.row_names, f"point {len(self.X) + 1}")
        if self.labels is not None:
            other = (self.target + 1) % len(self.all_classes)
            implied = self.target if sign > 0 else other
            added["labels"] = (*self.labels, implied if label is None else label)
        return replace(self, **added)

    def moved(self, row: int, point: Sequence[float]) -> Data:
        """The data with one point moved."""
        X = list(self.X)
        X[self._checked(row)] = tuple(point)
        return replace(self, X=tuple(X))

    def flipped(self, row: int) -> Data:
        """The data with one label flipped; with several classes, changed to the next one."""
        if self.labels is not None:
            labels = list(self.labels)
            labels[self._checked(row)] = (labels[row] + 1) % len(self.all_classes)
            return replace(self, labels=tuple(labels))
        signs = list(self.signs)
        signs[self._checked(row)] *= -1
        return replace(self, signs=tuple(signs))

    def without(self, row: int) -> Data:
        """The data without one point."""
        at = self._checked(row)
        columns = {name: getattr(self, name) for name in ("X", "signs", "row_names", "labels")}
        left = {name: values and values[:at] + values[at + 1 :] for name, values in columns.items()}
        return replace(self, **left)

    def with_target(self, target: int) -> Data:
        """The data with another class against all others."""
        if self.labels is None:
            raise ValueError("there are only two classes")
        return replace(self, target=target)

    def _checked(self, row: int) -> int:
        if not isinstance(row, int) or not 0 <= row < len(self.X):
            raise ValueError(f"there is no point {shown(row)}")
        return row


def encode(
    data: Data, settings: LabSettings, position: int, beside: LabSettings | None = None
) -> str:
    """A session as a short text that fits into a URL; `beside` are the settings of a second run.

    Examples
    --------
    >>> text = encode(Data.example("xor"), LabSettings(lift="products"), 3)
    >>> data, settings, position, beside = decode(text)
    >>> data == Data.example("xor"), settings.lift, position
    (True, 'products', 3)
    """
    # Default values are omitted, to keep links short.
    rows = {key: value for key, value in vars(data).items() if value not in (None, 0, ())}
    rows = {"row_names": None, "X": (), "signs": (), **rows}
    content = {"v": 1, "data": rows, "settings": _changed(settings), "position": position}
    if beside is not None:
        content["beside"] = _changed(beside)
    packed = zlib.compress(json.dumps(content, separators=(",", ":")).encode(), 9)
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def _changed(settings: LabSettings) -> dict[str, Any]:
    """The settings that differ from the default."""
    standard = asdict(LabSettings())
    return {key: value for key, value in asdict(settings).items() if value != standard[key]}


def decode(text: str) -> tuple[Data, LabSettings, int, LabSettings | None]:
    """The session in a text made by :func:`encode`, or a ValueError."""
    try:
        packed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        unpacker = zlib.decompressobj()
        # A few bytes can decompress to gigabytes: stop at the size of the largest session.
        raw = unpacker.decompress(packed, MOST_CHARACTERS)
        if unpacker.unconsumed_tail:
            raise ValueError
        content = json.loads(raw)
        record = content["data"]
        data = Data(
            feature_names=tuple(map(str, record["feature_names"])),
            X=tuple(tuple(float(value) for value in row) for row in record["X"]),
            signs=tuple(record["signs"]),
            row_names=None if record["row_names"] is None else tuple(map(str, record["row_names"])),
            class_names=(str(record["class_names"][0]), str(record["class_names"][1])),
            title=str(record["title"]),
            labels=None if record.get("labels") is None else tuple(record["labels"]),
            all_classes=tuple(map(str, record.get("all_classes", ()))),
            target=record.get("target", 0),
        )
        beside = content.get("beside")
        other = None if beside is None else LabSettings.of(beside)
        return data, LabSettings.of(content["settings"]), max(0, int(content["position"])), other
    except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError, zlib.error):
        raise ValueError("this link does not contain a session of the lab") from None


def _check_width(text: str) -> None:
    """ValueError if a text has far more columns than the lab takes: reading each takes 13 kB."""
    if text.lstrip()[:1] == "{":
        widths = [len(set(_JSON_NAME.findall(text)))]
    else:
        widths = [_first_width(text, mark) for mark in (",", "\t", ";", "|")]
    if max(widths) > MOST_COLUMNS:
        raise ValueError(f"the lab takes 1 to {MOST_FEATURES} features, not {max(widths):,}")


def _first_width(text: str, mark: str) -> int:
    """How many cells a table has whose cells this mark separates, by its first row."""
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
        return len(next((row for row in rows if row), ()))
    except csv.Error:  # a cell of 131,072 characters
        return 1


def _class_names(labels: list[Any]) -> tuple[str, ...]:
    return ("-1", "+1") if labels == [-1, 1] else tuple(map(str, labels))


def _is_number(value: Any) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return abs(value) <= sys.float_info.max  # an integer may be beyond all floats; NaN is not


def _one_of(what: str, value: Any, choices: Iterable[str]) -> None:
    if value not in tuple(choices):
        raise ValueError(f"the {what} must be one of {', '.join(choices)}")


def _between(what: str, value: Any, low: float, high: float) -> None:
    if not _is_number(value) or not low <= value <= high:
        raise ValueError(f"the {what} must be between {low:g} and {high:g}")


def _whole(what: str, value: Any, low: int, high: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ValueError(f"the {what} must be a whole number from {low} to {high}")
