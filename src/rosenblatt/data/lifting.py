"""The lift of a table's features, fitted to a sample of its rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from rosenblatt.data.cells import label_strings, trimmed_strings
from rosenblatt.data.features import Features
from rosenblatt.lifts.tables import MOST_PAIRS, LiftedColumn, TableLift, best_pairs

KINDS = ("none", "knots", "pairs")
_MOST_ROWS = 8192  # of the sample, to compare pairs
_MOST_CLASSES = 16  # the most frequent ones, to compare pairs
_MOST_LEVELS = 32  # of a category, in the comparison


def lifted(features: Features, sample: pa.Table, kind: str) -> Features:
    """The features with a lift that is fitted to a sample of rows: none, knots, or pairs too.

    >>> from rosenblatt.data.columns import Column
    >>> table = pa.table({"x": [1.0, 2.0, 3.0, 4.0], "job": ["a", "b", "a", "b"]})
    >>> features = Features(columns=(Column("x", "number"), Column("job", "category")))
    >>> lifted(features, table, "pairs").lift.pairs
    ((0, 1),)
    """
    columns = [c for c in features.columns if c.kind in ("number", "category")]
    if kind == "none" or features.origin != "table" or not columns:
        return replace(features, lift=None)
    words = features.missing_words
    numbers = {c.name: c.numbers(sample[c.name], words)[0] for c in columns if c.kind == "number"}
    lift = TableLift.fit(numbers, [c.name for c in columns], pairs=kind == "pairs")
    if len(lift.pairs) > MOST_PAIRS:
        lift = lift.of_pairs(_chosen_pairs(features, lift, sample[:_MOST_ROWS], numbers))
    return replace(features, lift=lift)


def _chosen_pairs(
    features: Features, lift: TableLift, sample: pa.Table, numbers: dict[str, np.ndarray]
) -> list[tuple[int, int]]:
    """The pairs that help most on the sample."""
    codes = [
        _bins(column, numbers[column.name][: len(sample)])
        if column.is_number
        else _levels(sample, column.name, features)
        for column in lift.columns
    ]
    if features.label is None or features.label not in sample.column_names:
        labels = np.zeros(len(sample), np.int64)
    else:
        coded = label_strings(sample[features.label]).dictionary_encode()
        labels = _frequent(np.asarray(coded.indices.fill_null(-1)), _MOST_CLASSES)
    targets = np.eye(int(labels.max(initial=0)) + 1)[labels]
    return best_pairs(np.array(codes), targets)


def _bins(column: LiftedColumn, x: np.ndarray) -> np.ndarray:
    """The bins of numbers; a missing one is the last."""
    codes = np.searchsorted(np.array(column.edges), x, side="right")
    codes[np.isnan(x)] = len(column.edges) + 1
    return codes


def _levels(sample: pa.Table, name: str, features: Features) -> np.ndarray:
    """The numbers of the categories of a column."""
    coded = trimmed_strings(sample[name], features.missing_words).dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    return _frequent(np.asarray(coded.indices.fill_null(-1)), _MOST_LEVELS)


def _frequent(codes: np.ndarray, most: int) -> np.ndarray:
    """Codes numbered by falling frequency; the rare ones share the last number."""
    values, numbered, counts = np.unique(codes, return_inverse=True, return_counts=True)
    ranks = np.empty(len(values), np.int64)
    ranks[np.argsort(-counts, kind="stable")] = np.arange(len(values))
    return np.minimum(ranks, most - 1)[numbered]
