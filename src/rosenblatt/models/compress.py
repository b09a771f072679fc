"""Smaller models: no training state, knots merged, weights rounded, the least important pruned."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

import numpy as np

from rosenblatt.data.source import Source
from rosenblatt.errors import OptionError
from rosenblatt.kernels.packing import Numbering
from rosenblatt.kernels.text import Rows
from rosenblatt.learners.pairs import PairWeights
from rosenblatt.learners.problems import differ
from rosenblatt.models.merge import merged
from rosenblatt.models.model import Array, Model
from rosenblatt.models.model_file import PRECISIONS, file_size, rounded
from rosenblatt.models.rows import labelled_batches

_SHRINK = 0.7  # of the weights are kept in each step of pruning
# How far merged knots may move a curve, as a share of the largest one: about what rounding does.
_TOLERANCES = {"float32": 1e-6, "float16": 1e-3, "int8": 1e-2}


@dataclass(frozen=True)
class Compressed:
    """A compressed model, the bytes of its file, and its accuracy; NaN without rows.

    `bound` is the most that merging its knots changes a score of any row
    (:func:`rosenblatt.models.merge.merged`).
    """

    model: Model
    bytes: int
    accuracy: float
    bound: float = 0.0

    @property
    def weights(self) -> int:
        """The number of nonzero weights."""
        return int(np.count_nonzero(stored(self.model.weights)))


def compress(
    model: Model,
    *,
    size: float | None = None,
    loss: float | None = None,
    rows: Source | None = None,
) -> list[Compressed]:
    """Smaller and smaller forms of a model; the last is the one that was asked for.

    First the training state is dropped and columns are sorted, which loses nothing. Then weights
    are rounded to float16 and to int8; knots between which the curve of a column is straight, to
    within about as much, are merged. Then weights are pruned, those first that change the scores
    of rows the least: the absolute weight times the root of the number of rows with the feature.

    `size` is the largest number of bytes of the file. `loss` is the accuracy on `rows` that may be
    lost, as a share; 0 without rows for the form that loses nothing. Without both, the last form is
    int8 and not pruned. The rows have labels and were opened with the model's features and classes;
    measure the result on other rows.

    >>> from rosenblatt import train
    >>> frame = {"label": ["pos", "neg"] * 20, "text": ["good and fun", "bad and dull"] * 20}
    >>> forms = compress(train(frame, text="text", epochs=3))
    >>> [form.model.precision for form in forms], forms[-1].bytes < forms[0].bytes
    (['float32', 'float32', 'float16', 'int8'], True)
    """
    if size is not None and loss is not None:
        raise OptionError("size and loss exclude each other: both decide how small the model is")
    if loss and rows is None:
        raise OptionError("loss needs rows to measure it on (--valid FILE)")
    test = _Test(model, rows) if rows is not None else None
    forms = [_measured(model, test)]
    lossless, bound = _merged(model, "float32")
    if loss == 0 and rows is None:
        return [*forms, _measured(lossless, test, bound)]
    for precision in PRECISIONS[PRECISIONS.index(model.precision) :]:
        lossless, bound = _merged(model, precision)
        weights = rounded(lossless.weights, precision)
        small = replace(lossless, weights=weights, precision=precision)
        forms.append(_measured(small, test, bound))
        if size is not None and forms[-1].bytes <= size:
            return forms
    if size is None and (loss is None or test is None):
        return forms
    pruned = _Pruner(forms[-1].model, _importance(model, lossless, test))
    if size is not None:
        most = pruned.largest(size)
        counts = *pruned.counts(most), most
        return forms + [_measured(pruned(count), test, bound) for count in counts]
    assert loss is not None
    enough = forms[0].accuracy - loss
    accurate = [form for form in forms if form.accuracy >= enough]
    if accurate[-1] is forms[-1]:
        smaller = (_measured(pruned(count), test, bound) for count in pruned.counts())
        accurate += takewhile(lambda form: form.accuracy >= enough, smaller)
    return accurate


def _merged(model: Model, precision: str) -> tuple[Model, float]:
    """The model without state, its columns sorted and its knots merged, and the bound of that.

    Knots stay as they are where the file would be larger.
    """
    form = merged(model, _TOLERANCES[precision])
    small, whole = (_in_order(each.sparsified()) for each in (form.model, model))
    is_smaller = form.knots and file_size(small) < file_size(whole)
    return (small, form.bound) if is_smaller else (whole, 0.0)


def _in_order(model: Model) -> Model:
    """The model with sorted columns, or as it is if it has pairs.

    Columns of one text have pairs of the same classes: files are a third smaller in their order.
    """
    if isinstance(model.weights, PairWeights):
        return model
    order = np.argsort(model.columns, kind="stable")
    return replace(model, columns=model.columns[order], weights=model.weights[order])


def _measured(model: Model, test: _Test | None, bound: float = 0.0) -> Compressed:
    accuracy = math.nan if test is None else test.accuracy(model)
    return Compressed(model, file_size(model), accuracy, bound)


class _Pruner:
    """A model with a given number of its most important weights."""

    def __init__(self, model: Model, importance: Array) -> None:
        self.model, self.importance = model, importance
        self.ranks = np.sort(importance[stored(model.weights) != 0])[::-1]

    def __call__(self, count: int) -> Model:
        least = math.inf if count == 0 else self.ranks[count - 1]
        numbers = stored(self.model.weights)
        weights: Any = np.where(self.importance >= least, numbers, np.float32(0))
        if isinstance(self.model.weights, PairWeights):
            weights = self.model.weights.with_values(weights)
        # Rounded again, as the largest weight, which sets the scale, may be pruned.
        weights = rounded(weights, self.model.precision)
        return replace(self.model, weights=weights).sparsified()

    def counts(self, end: int = 0) -> Iterator[int]:
        """Smaller and smaller numbers of weights, down to `end`."""
        count = len(self.ranks)
        while (count := int(count * _SHRINK)) > end:
            yield count

    def largest(self, size: float) -> int:
        """The largest number of weights in a file of `size` bytes, about, by bisection."""
        low, high = 0, len(self.ranks)
        least = file_size(self(0))
        if least > size:
            raise OptionError(f"without any weights the model still takes {least:,} bytes")
        while high - low > max(1, len(self.ranks) // 1000):
            middle = (low + high) // 2
            if file_size(self(middle)) <= size:
                low = middle
            else:
                high = middle
        return low


def _importance(model: Model, small: Model, test: _Test | None) -> Array:
    """An estimate of how much the scores of rows change if a weight becomes zero."""
    if test is not None:
        rows_with = test.rows_with(small)
    elif "scale" in model.state:
        scale = model.state["scale"].astype(np.float64)
        places = np.flatnonzero(np.isin(model.columns, small.columns))
        if not isinstance(small.weights, PairWeights):
            places = places[np.argsort(model.columns[places], kind="stable")]
        if model.features.is_text:
            # The scale of a feature of d in n rows is proportional to log((2 + n) / (1 + d)).
            rows_with = 4096 ** (1 - scale[places] / max(float(scale.max()), 1e-30))
        else:
            rows_with = np.maximum(scale[places], 1e-30) ** -2  # the scale is one over the size
    else:
        rows_with = np.ones(len(small.columns))
    if isinstance(small.weights, PairWeights):
        return np.abs(small.weights.values) * np.repeat(np.sqrt(rows_with), small.weights.counts)
    return np.abs(small.weights) * np.sqrt(rows_with)[:, None]


def stored(weights: Any) -> Array:
    """The numbers of weights that are stored: all of a matrix, or those of pairs."""
    return weights.values if isinstance(weights, PairWeights) else weights


class _Test:
    """Rows with labels, hashed once for all forms of the model that have the same knots."""

    def __init__(self, model: Model, source: Source) -> None:
        self.features, self.tables = model.features, list[Any]()
        self.batches: list[tuple[Rows, Array]] = []
        for batch, truth in labelled_batches(model, source):
            self.batches.append((batch.rows, truth))
            self.tables.append(batch.table if model.features.lift is not None else None)
        self.count = sum(len(truth) for _, truth in self.batches)

    def _rows(self, model: Model) -> list[tuple[Rows, Array]]:
        """The rows with the features of a model, and their classes."""
        if model.features != self.features:
            self.features = model.features
            truths = [truth for _, truth in self.batches]
            rows = [model.features.rows(table) for table in self.tables]
            self.batches = list(zip(rows, truths, strict=True))
        return self.batches

    def accuracy(self, model: Model) -> float:
        """The share of rows whose class, or whole set of labels, is predicted."""
        right = 0
        for rows, truth in self._rows(model):
            right += int((~differ(model.decide(model.scores(rows)), truth)).sum())
        return right / self.count

    def rows_with(self, model: Model) -> Array:
        """One plus the number of rows with each feature of a model."""
        counts = np.ones(len(model.columns), dtype=np.int64)
        numbering = Numbering(1 << model.features.ngrams.bits, model.columns)
        for rows, _ in self._rows(model):
            places = numbering.places_of(rows.indices)
            counts += np.bincount(places[places >= 0], minlength=len(counts))
        return counts


def parse_size(size: str) -> float:
    """A number of bytes from a text such as ``"2MB"``.

    >>> parse_size("2MB"), parse_size("1.5 kB"), parse_size("300")
    (2000000.0, 1500.0, 300.0)
    """
    units = {"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
    text = size.strip().lower()
    digits = text.rstrip("bikmg ")
    try:
        value = float(digits) * units[text[len(digits) :].strip() or "b"]
    except (ValueError, KeyError):
        value = math.nan
    if not 0 < value < math.inf:
        raise OptionError(f"{size!r} is not a size such as 2MB or 300kB")
    return value


def parse_share(percentage: str) -> float:
    """A share from a text such as ``"0.1%"``.

    >>> parse_share("0.1%"), parse_share("0.02")
    (0.001, 0.02)
    """
    text = percentage.strip()
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = math.nan
    if not 0 <= share < 1:
        raise OptionError(f"{percentage!r} is not a share such as 0.1%")
    return share
