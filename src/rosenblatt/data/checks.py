"""Rows whose values do not fit their columns: refused by name, or left out and counted."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from rosenblatt.data.arrow_tables import Chunk
from rosenblatt.data.cells import (
    MISSING_WORDS,
    Words,
    decoded,
    is_stringlike,
    label_strings,
    plain_strings,
    to_numbers,
    to_times,
    valid_strings,
)
from rosenblatt.data.column_kinds import Column
from rosenblatt.data.labels import indicator_columns, label_cells, wrong_rows
from rosenblatt.errors import DataError, shown

Faults = list[tuple[int, str, str]]


def check_chunk(
    chunk: Chunk,
    columns: tuple[Column, ...],
    label: str | None,
    skip: bool,
    missing: Words = MISSING_WORDS,
) -> Chunk:
    """Refuse or leave out rows whose values do not fit: bad UTF-8, not a number, no label.

    A label that is made of columns of 0 and 1 becomes a column of its own.
    """
    faults: Faults = []
    for column in columns:
        values = chunk.table[column.name]
        if column.kind in ("number", "date") and is_stringlike(values.type):
            convert = to_numbers if column.kind == "number" else to_times
            what = "a number" if column.kind == "number" else "a date such as 2024-03-31"
            for row in convert(values, missing)[1]:
                found = _shown(chunk, column.name, row)
                faults.append((int(row), column.name, f"expected {what}, found {found}"))
        faults.extend(_bad_utf8(chunk, column.name))
    parts = indicator_columns(label, chunk.table.column_names)
    for name in parts:
        for row in wrong_rows(chunk.table[name]):
            faults.append((row, name, f"expected 0 or 1, found {_shown(chunk, name, row)}"))
    if label is not None and not parts:
        faults.extend([*_bad_utf8(chunk, label), *_missing(chunk, label)])
    sound = _without(faults, chunk, skip)
    if not parts:
        return sound
    return sound._replace(table=sound.table.append_column(label, label_cells(sound.table, parts)))


def weights_of(chunk: Chunk, name: str) -> np.ndarray:
    """The weights of rows: numbers that are not negative."""
    weights, _ = to_numbers(chunk.table[name])
    wrong = np.flatnonzero(~(weights >= 0))
    if len(wrong):
        row = int(wrong[0])
        message = f"expected a weight, a number from 0 on, found {_shown(chunk, name, row)}"
        raise DataError(message, path=chunk.path, line=chunk.line_of(row), column=name)
    return weights


def fit_types(chunk: Chunk, schema: pa.Schema, skip: bool) -> Chunk:
    """Give columns the types that they have in a schema; refuse or leave out rows that cannot."""
    faults: Faults = []
    for field in schema:
        column = chunk.table[field.name]
        if column.type != field.type and not _fits(column, field.type):
            message = f"expected {field.type}, as in the first rows, found "
            for row in range(len(column)):
                if not _fits(column[row : row + 1], field.type):
                    faults.append((row, field.name, message + _shown(chunk, field.name, row)))
    kept = _without(faults, chunk, skip)
    return kept._replace(table=kept.table.cast(schema))


def _fits(column: pa.ChunkedArray, kind: pa.DataType) -> bool:
    try:
        column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


def _without(faults: Faults, chunk: Chunk, skip: bool) -> Chunk:
    """Refuse or leave out the rows in which something is wrong."""
    if not faults:
        return chunk
    if not skip:
        row, name, message = min(faults)
        raise DataError(message, path=chunk.path, line=chunk.line_of(row), column=name)
    keep = np.ones(chunk.table.num_rows, dtype=bool)
    keep[[row for row, _, _ in faults]] = False
    kept = np.flatnonzero(keep)
    return Chunk(
        chunk.table.filter(pa.array(keep)),
        chunk.path,
        lambda row: chunk.line_of(int(kept[row])),
        chunk.bad + int(len(keep) - len(kept)),
    )


def _shown(chunk: Chunk, name: str, row: int) -> str:
    return shown(chunk.table[name][int(row)].as_py())


def _bad_utf8(chunk: Chunk, name: str) -> Faults:
    kind = chunk.table[name].type
    if not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        return []
    try:
        plain_strings(chunk.table[name])
    except pa.ArrowInvalid:
        values = chunk.table[name].to_pylist()
        return [
            (row, name, f"expected UTF-8, found {value[:40]!r}")
            for row, value in enumerate(values)
            if value is not None and decoded(value) is None
        ]
    return []


def _missing(chunk: Chunk, name: str) -> Faults:
    column = chunk.table[name]
    try:
        labels = label_strings(column)
    except pa.ArrowInvalid:
        labels = valid_strings(column, ("",))
    if not labels.null_count:
        return []
    rows = np.flatnonzero(labels.is_null().to_numpy(zero_copy_only=False))
    return [(int(row), name, "the label is missing") for row in rows]
