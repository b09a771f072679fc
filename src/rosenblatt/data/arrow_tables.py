"""Arrow tables whose rows know their lines: from Parquet and Arrow files, and from memory.

Rows whose values do not fit their columns are refused by name, or left out and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import add
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from rosenblatt.data.cells import (
    MISSING_WORDS,
    Words,
    decoded,
    is_stringlike,
    label_strings,
    plain_strings,
    to_numbers,
    to_times,
)
from rosenblatt.data.column_kinds import Column
from rosenblatt.data.labels import indicator_columns, label_cells, wrong_rows
from rosenblatt.errors import DataError, shown

_BUFFER = 1 << 18

Faults = list[tuple[int, str | None, str]]


class Chunk(NamedTuple):
    """Rows of a table with their file and lines; how many bad rows were skipped; bytes of input."""

    table: pa.Table
    path: str
    line_of: Callable[[int], int]
    bad: int = 0
    size: int = 0


def is_table_in_memory(given: Any) -> bool:
    """Whether something is a table in memory: of pandas, polars or Arrow, or a dict of columns."""
    return (
        isinstance(given, Mapping) or hasattr(given, "__arrow_c_stream__") or hasattr(given, "iloc")
    )


def to_arrow_table(frame: Any) -> pa.Table:
    """A table in memory as an Arrow table, without an index."""
    try:
        if isinstance(frame, Mapping):
            return pa.table(dict(frame))
        if hasattr(frame, "iloc"):
            return pa.Table.from_pandas(frame, preserve_index=False)
        return pa.table(frame)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise DataError(f"the table cannot be read: {error}", path="<table>") from None


def read_columnar(
    path: str,
    format: str,
    columns: list[str] | None,
    rows: int,
    open: Callable[[str], pa.NativeFile] = pa.OSFile,
    groups: range | None = None,
) -> Iterator[Chunk]:
    """Read a Parquet file, or some row groups of it, an Arrow file or an Arrow stream, in batches.

    Lines are rows here, counted from 1. What is read is yet to be validated.
    """
    done = 0
    if path == "-":
        raise DataError(f"{format} cannot be read from standard input", path="<stdin>")
    try:
        with open(path) as file:
            if format == "parquet":
                batches = _parquet(file, columns, rows, groups)
            else:
                batches = _arrow(file, columns, rows)
            for batch in batches:
                # Names are decoded here, where one that is not UTF-8 is a fault of the file.
                table = pa.Table.from_arrays(batch.columns, names=batch.schema.names)
                yield Chunk(table, path, partial(add, done + 1))
                done += batch.num_rows
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _unreadable(format, error, path, done) from None


def validated(chunk: Chunk, format: str) -> Chunk:
    """A chunk once it is known to be sound.

    Arrow files are used as they stand there, and Parquet's reader takes any bytes for a string.
    """
    try:
        chunk.table.validate(full=True)
    except pa.ArrowException as error:
        raise _unreadable(format, error, chunk.path, chunk.line_of(0) - 1) from None
    return chunk


def _unreadable(format: str, error: Exception, path: str, done: int) -> DataError:
    what = "Parquet" if format == "parquet" else "Arrow"
    message = f"the {what} file cannot be read: {error}"
    return DataError(message, path=path, line=done + 1 if done else None)


def _parquet(
    file: pa.NativeFile, columns: list[str] | None, rows: int, groups: range | None
) -> Iterator[pa.RecordBatch]:
    from pyarrow import parquet

    # Not a memory map: a file that another program cuts short would end the process. With a
    # buffer, a column of a row group is read bit by bit, not all of it at once; but a store is
    # asked as seldom as possible.
    buffer = _BUFFER if groups is None else 0
    with parquet.ParquetFile(file, buffer_size=buffer, pre_buffer=False) as opened:
        wanted = None if groups is None else [i for i in groups if i < opened.num_row_groups]
        yield from opened.iter_batches(rows, wanted, columns)


def _arrow(file: pa.NativeFile, columns: list[str] | None, rows: int) -> Iterator[pa.RecordBatch]:
    is_file = file.read(6) == b"ARROW1"
    file.seek(0)
    kind = pa.ipc.open_file if is_file else pa.ipc.open_stream
    opened = kind(file)
    if columns is not None:
        places = [opened.schema.get_field_index(name) for name in columns]
        file.seek(0)
        opened = kind(file, options=pa.ipc.IpcReadOptions(included_fields=places))
    numbers = range(opened.num_record_batches) if is_file else ()
    for batch in (opened.get_batch(i) for i in numbers) if is_file else opened:
        wanted = batch if columns is None else batch.select(columns)
        for start in range(0, batch.num_rows, rows):
            yield wanted.slice(start, rows)


def null_types_as_strings(schema: pa.Schema) -> pa.Schema:
    """A schema of first rows, in which a column that is empty there may be filled later on."""
    return pa.schema([f.with_type(pa.string()) if f.type == pa.null() else f for f in schema])


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
    sound = without(faults, chunk, skip)
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
    kept = without(faults, chunk, skip)
    return kept._replace(table=kept.table.cast(schema))


def _fits(column: pa.ChunkedArray, kind: pa.DataType) -> bool:
    try:
        column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


def without(faults: Faults, chunk: Chunk, skip: bool) -> Chunk:
    """Refuse or leave out the rows in which something is wrong."""
    if not faults:
        return chunk
    if not skip:
        row, name, message = min(faults, key=lambda fault: (fault[0], fault[1] or ""))
        raise DataError(message, path=chunk.path, line=chunk.line_of(row), column=name)
    wrong = {row for row, _, _ in faults}  # of a table without columns, which has no rows, too
    keep = np.isin(np.arange(chunk.table.num_rows), list(wrong), invert=True)
    kept = np.flatnonzero(keep)
    return chunk._replace(
        table=chunk.table.filter(pa.array(keep)),
        line_of=lambda row: chunk.line_of(int(kept[row])),
        bad=chunk.bad + len(wrong),
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
    labels = label_strings(chunk.table[name])
    if not labels.null_count:
        return []
    rows = np.flatnonzero(labels.is_null().to_numpy(zero_copy_only=False))
    return [(int(row), name, "the label is missing") for row in rows]
