"""Rows that a model is asked about: frames, records, lines, and the batches of a source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rosenblatt.data.arrow_tables import is_table_in_memory, stray_message, to_arrow_table
from rosenblatt.data.bytes import Block
from rosenblatt.data.cells import make_strings
from rosenblatt.data.features import Features
from rosenblatt.data.sparse_lines import lines_table, read_sparse
from rosenblatt.errors import DataError, NoRowsError, listed
from rosenblatt.kernels.text import Rows

if TYPE_CHECKING:
    from rosenblatt.data.source import Batch, Source
    from rosenblatt.models.model import Array, Model


def hashed_rows(features: Features, table: Any) -> Rows:
    """The features of a table, of which every cell can be read."""
    hashed = features.hashed(table)
    for column in features.columns:
        if column.name in hashed.strays:
            row = int(hashed.strays[column.name][0])
            message = stray_message(column, table[column.name][row].as_py())
            raise DataError(message, path="<table>", line=row + 1, column=column.name)
    return hashed.rows


def table_of(features: Features, X: Any) -> Any:
    """Rows that a model is asked about as an Arrow table with its columns."""
    import pyarrow as pa

    if isinstance(X, str | bytes):
        raise ValueError("a list of texts is expected, not one text: write [text]")
    if features.origin != "table":
        raise ValueError(f"the model was trained on {features.origin} data: use scores()")
    names = [c.name for c in features.columns]
    if isinstance(X, Mapping) and X and not any(map(_is_column, X.values())):
        X = [X]
    if isinstance(X, list | tuple) and X and all(isinstance(row, Mapping) for row in X):
        X = {n: [row.get(n) for row in X] for n in names if any(n in row for row in X)}
    if is_table_in_memory(X) and not hasattr(X, "to_frame"):  # a Series is a list of texts
        table = to_arrow_table(X)
    elif len(names) == 1:
        values = list(X)
        is_plain = all(isinstance(value, str) for value in values)
        # Not `pa.array` for strings: its first call imports pandas, if installed.
        column = make_strings(values) if is_plain else pa.array(values)
        table = pa.Table.from_arrays([column], names=names)
    else:
        raise ValueError(f"a table with the columns {listed(names)} is expected, or records")
    columns = set(table.column_names)
    absent = [name for name in names if name not in columns]
    if absent:
        raise ValueError(f"the columns {listed(absent)} are missing")
    return table


def _is_column(values: Any) -> bool:
    """Whether a value of a dict is a column, not a cell."""
    return hasattr(values, "__len__") and not isinstance(values, str | bytes)


def one_row(model: Model, row: Any) -> tuple[Rows, Any]:
    """The features of one row, and the table with their names or None."""
    if model.features.origin == "svmlight":
        if not isinstance(row, Mapping):
            raise ValueError(
                "a row of a model of svmlight files is a dict of feature number to value"
            )
        numbers = [int(number) for number in row]
        model.check_numbers(min(numbers, default=0), max(numbers, default=0))
        columns = np.array(numbers, np.uint32)
        values = np.array([float(value) for value in row.values()], np.float32)
        return Rows(np.array([0, len(columns)], np.uint64), columns, values), None
    if model.features.origin == "vw":
        if not isinstance(row, str) or "\n" in row:
            raise ValueError("a row of a model of Vowpal Wabbit files is one line, '| good'")
        f, line = model.features, row.encode() + b"\n"
        block = Block.of(line, "the line")
        lines = read_sparse(block, "vw", f.ngrams.bits, False, f.products)
        return lines.rows, lines_table(line)
    if isinstance(row, str):
        row = [row]
    elif isinstance(row, Mapping):
        row = {name: [value] for name, value in row.items()}
    table = table_of(model.features, row)
    if table.num_rows != 1:
        raise ValueError(f"one row is explained at a time, found {table.num_rows}")
    return hashed_rows(model.features, table), table


def labelled_batches(model: Model, source: Source) -> Iterator[tuple[Batch, Array]]:
    """Batches and the class numbers of their rows, or indicators of their labels.

    Raises DataError if there are no rows or no labels.
    """
    rows = 0
    for batch in source:
        if batch.labels is None:
            message = f"there is no column {model.features.label!r} to compare with"
            raise DataError(message, path=source.files[0])
        truth = batch.labels
        if model.multilabel:
            truth = source.label_sets.matrix(len(model.classes))[truth]
        rows += len(truth)
        yield batch, truth
    if not rows:
        what = " with a label" if source.missing[model.features.label or ""] else ""
        raise NoRowsError(f"the file has no rows{what}", path=source.files[0])
