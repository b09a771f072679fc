"""Classes with an order, learned by a run of two classes: is a row above a threshold, or not?

A row of class k among K becomes K - 1 rows of two classes, each with a feature of its own for one
threshold, as in :class:`rosenblatt.Ordinal`. What the run learned is then one weight per feature
and K - 1 thresholds, and the score of class k is the sum of the distances above the first k.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rosenblatt.data import Batch, Source
from rosenblatt.data.bytes import is_stream
from rosenblatt.data.labels import sorted_labels
from rosenblatt.errors import DataError, OptionError, listed, shown
from rosenblatt.jobs.options import TrainOptions
from rosenblatt.kernels.text import Rows
from rosenblatt.models.head import Head
from rosenblatt.models.model import Model

_CUT = -1.0  # the value of a threshold's feature; a row has a length of about 1
_SIDES = ["0", "1"]  # the two classes: below and above


def ordered_rows(source: Source, options: TrainOptions) -> OrderedSource:
    """The rows of two classes of a source, by the order of its classes."""
    if source.features.multilabel:
        raise OptionError("ordered classes are for one label per row, and here it may have several")
    order = _order_of_numbers(source) if options.order is None else list(options.order)
    if len(set(order)) < max(2, len(order)):
        raise OptionError(f"an order has two classes or more, all different; got {listed(order)}")
    return OrderedSource(source, order)


def _order_of_numbers(source: Source) -> list[str]:
    """All labels of a source as numbers, from the lowest; their column is read for that."""
    if source.format != "table" and any(map(is_stream, source.files)):
        raise OptionError("a stream is read once: say the order of its classes, --order 0,1,2")
    features, source.features = source.features, replace(source.features, columns=(), lift=None)
    for _ in source:
        pass
    source.features, names = features, sorted_labels(source.classes)
    try:
        np.array(names, np.float64)
    except ValueError:
        raise OptionError(
            f"the labels {listed(names)} are not all numbers: say their order from the lowest "
            "to the highest, --order low,medium,high (order=)"
        ) from None
    return names


class OrderedSource(Source):
    """The rows of a source, one for each threshold between the classes of an order."""

    def __init__(self, source: Source, order: Sequence[str]) -> None:
        self.__dict__.update(source.__dict__)
        self.order, self.classes = list(order), list(_SIDES)
        self.thresholds = len(order) - 1

    def like(self, source: Source) -> OrderedSource:
        """The rows of another source by the same order."""
        return OrderedSource(source, self.order)

    def fix_classes(self, classes: Any, label_sets: Any = None) -> None:
        """Nothing: the order fixes the classes."""

    def batches(self, start: int = 0) -> Iterator[Batch]:
        """The batches of the source, row i and threshold j at place ``i * (K - 1) + j``."""
        for batch in super().batches(start):
            assert batch.labels is not None, "training needs labels"
            sides = batch.labels[:, None] > np.arange(self.thresholds)
            yield replace(
                batch,
                rows=self._copied(batch.rows),
                labels=sides.astype(np.int32).ravel(),
                weights=None
                if batch.weights is None
                else np.repeat(batch.weights, self.thresholds),
            )

    def _copied(self, rows: Rows) -> Rows:
        n, first = len(rows.indptr) - 1, 1 << self.features.ngrams.bits
        starts, sizes = rows.indptr[:-1].astype(np.int64), np.diff(rows.indptr).astype(np.int64)
        lengths = np.repeat(sizes + 1, self.thresholds)
        ends = np.cumsum(lengths)
        # The place of each entry in the source, and behind each row that of its threshold.
        places = np.arange(ends[-1] if n else 0)
        places += np.repeat(np.repeat(starts, self.thresholds) - (ends - lengths), lengths)
        last = ends - 1
        places[last] = 0
        indices = np.append(rows.indices, np.uint32(0))[places]
        values = np.append(rows.values, np.float32(0))[places]
        indices[last] = np.tile(np.arange(first, first + self.thresholds, dtype=np.uint32), n)
        values[last] = _CUT
        return Rows(np.append(0, ends).astype(np.uint64), indices, values)

    def _class_codes(self, hashed: Any) -> list[int]:
        codes = {name: code for code, name in enumerate(self.order)}
        unknown = [at for at, name in enumerate(hashed.names) if name not in codes]
        if unknown:
            row, label = int(np.flatnonzero(hashed.codes == unknown[0])[0]), self.features.label
            message = f"the label {shown(hashed.names[unknown[0]])} is not in the order "
            line = hashed.chunk.line_of(row)
            message += listed(self.order)
            raise DataError(message, path=hashed.chunk.path, line=line, column=label)
        return [codes[name] for name in hashed.names]


def ordered_model(model: Model, order: Sequence[str]) -> Model:
    """The model of ordered classes that a model of two classes, below and above, stands for."""
    is_cut = model.columns >> np.uint32(model.features.ngrams.bits) > 0
    thresholds = np.zeros(len(order) - 1)
    cuts = model.columns[is_cut] - np.uint32(1 << model.features.ngrams.bits)
    thresholds[cuts] = -_CUT * model.weights[is_cut, 0]
    thresholds = np.sort(thresholds - model.bias[0])
    calibration = model.calibration
    if calibration is not None:
        n = len(order)
        calibration = replace(calibration, n_classes=n, rows=calibration.rows // (n - 1))
    words = {order[side]: model.words[name] for side, name in ((0, "0"), (-1, "1"))}
    return replace(
        model,
        classes=tuple(order),
        columns=np.ascontiguousarray(model.columns[~is_cut]),
        weights=np.ascontiguousarray(model.weights[~is_cut]),
        bias=-np.cumsum(np.append(0.0, thresholds)),
        calibration=None if calibration is None else replace(calibration, ordered=True),
        words=words,
        state={},
        head=Head(np.arange(len(order), dtype=np.float32)[None], np.empty((0, 2), np.int32)),
    )
