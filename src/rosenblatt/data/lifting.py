"""The lift of a table's features, fitted to a sample of its rows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pyarrow as pa

from rosenblatt.data.cells import label_strings
from rosenblatt.data.features import Features
from rosenblatt.lifts.best_pairs import frequent
from rosenblatt.lifts.tables import TableLift

_MOST_ROWS = 8192  # of the sample, to compare pairs and blocks on
_MOST_CLASSES = 16  # the most frequent ones, to compare pairs


def lifted(
    features: Features, sample: pa.Table, kind: str, alone: Collection[str] = ()
) -> Features:
    """The features with a lift that is fitted to a sample of rows: none, knots, or pairs too.

    Columns that stand `alone` are in no pair.

    >>> from rosenblatt.data.columns import Column
    >>> table = pa.table({"x": [1.0, 2.0, 3.0, 4.0], "job": ["a", "b", "a", "b"]})
    >>> features = Features(columns=(Column("x", "number"), Column("job", "category")))
    >>> lifted(features, table, "pairs").lift.pairs
    ((0, 1),)
    """
    columns = [c for c in features.columns if c.kind in ("number", "category")]
    if kind == "none" or features.origin != "table" or not columns or not sample.num_rows:
        return replace(features, lift=None)
    words = features.missing_words
    numbers = {c.name: c.numbers(sample[c.name], words)[0] for c in columns if c.kind == "number"}
    categories = {c.name: features.levels(sample, c) for c in columns if c.kind == "category"}
    names = [c.name for c in columns]
    labels, pairs = _labels(features, sample), kind == "pairs"
    lift = TableLift.fit(numbers, categories, names, labels, pairs=pairs, alone=alone)
    return features.with_lift(lift, sample[:_MOST_ROWS])


def _labels(features: Features, sample: pa.Table) -> np.ndarray | None:
    """The numbers of the classes of the rows, the rare ones as one."""
    if features.label is None or features.label not in sample.column_names:
        return None
    coded = label_strings(sample[features.label]).dictionary_encode()
    return frequent(np.asarray(coded.indices.fill_null(-1)), _MOST_CLASSES)
