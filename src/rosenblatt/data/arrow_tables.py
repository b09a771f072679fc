"""Arrow tables: opening Parquet and Arrow files, and chunks whose rows know their lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from rosenblatt.data.cells import (
    MISSING_WORDS,
    Words,
    decoded,
    is_bytes,
    is_stringlike,
    label_strings,
    plain_strings,
    to_numbers,
)
from rosenblatt.data.columns import Column
from rosenblatt.data.labels import indicator_columns, label_cells, wrong_rows
from rosenblatt.data.unpacking import check_arrow, check_footer, rows_at_once, small_batches
from rosenblatt.errors import DataError, listed, shown

_BUFFER_BYTES = 1 << 18

# Row, column name or None, and message.
Faults = list[tuple[int, str | None, str]]


class Chunk(NamedTuple):
    """Rows of a table with their file and lines; how many bad rows were skipped; bytes of input."""

    table: pa.Table
    path: str
    line_of: Callable[[int], int]
    bad: int = 0
    size: int = 0


def is_table_in_memory(rows: Any) -> bool:
    """Whether an object is a table of pandas, polars or Arrow, or a dict of columns."""
    return isinstance(rows, Mapping) or hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "iloc")


def to_arrow_table(frame: Any) -> pa.Table:
    """A table in memory as an Arrow table; the index of a data frame is dropped."""
    try:
        if isinstance(frame, Mapping):
            return pa.table(dict(frame))
        if hasattr(frame, "iloc"):
            return pa.Table.from_pandas(frame, preserve_index=False)
        return pa.table(frame)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise DataError(f"the table cannot be read: {error}", path="<table>") from None


def parquet_batches(
    file: pa.NativeFile, columns: list[str] | None, rows: int, groups: range | None
) -> Iterator[pa.RecordBatch]:
    """The rows of a Parquet file, or of some of its row groups."""
    from pyarrow import parquet

    # Not a memory map: if another program truncates the file, the process would be killed. With a
    # buffer a column of a row group is not read at once; remote stores want few requests.
    buffer = _BUFFER_BYTES if groups is None else 0
    check_footer(file)
    with parquet.ParquetFile(file, buffer_size=buffer, pre_buffer=False) as opened:
        count = opened.num_row_groups
        chosen = [i for i in range(count) if groups is None or i in groups]
        at_once = rows_at_once(file, columns, rows, chosen)
        yield from small_batches(opened.iter_batches(at_once, chosen, columns), rows)


def parquet_parts(file: pa.NativeFile) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The bytes of each row group of a Parquet file, and the names of its columns."""
    from pyarrow import parquet

    check_footer(file)
    metadata = parquet.read_metadata(file)
    sizes = [metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)]
    return tuple(sizes) or (0,), tuple(metadata.schema.names)


def arrow_batches(
    file: pa.NativeFile, columns: list[str] | None, rows: int, groups: range | None
) -> Iterator[pa.RecordBatch]:
    """The rows of an Arrow file or stream, which is read as a whole."""
    opened, is_file = _open_arrow(file, None)
    if columns is not None:
        places = [opened.schema.get_field_index(name) for name in columns]
        opened, is_file = _open_arrow(file, [place for place in places if place >= 0])
    wanted = None if columns is None else set(columns)
    numbers = range(opened.num_record_batches) if is_file else ()
    for batch in (opened.get_batch(i) for i in numbers) if is_file else opened:
        selected = (
            batch
            if wanted is None
            else batch.select([i for i, name in enumerate(batch.schema.names) if name in wanted])
        )
        for start in range(0, batch.num_rows, rows):
            yield from small_batches([selected.slice(start, rows)], rows)


def arrow_parts(file: pa.NativeFile) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """No parts of an Arrow file can be read alone; the names of its columns."""
    return (), tuple(_open_arrow(file, None)[0].schema.names) or ("",)


def _open_arrow(file: pa.NativeFile, fields: list[int] | None) -> tuple[Any, bool]:
    """A reader of an Arrow file or stream, and whether it is a file."""
    file.seek(0)
    is_file = file.read(6) == b"ARROW1"
    check_arrow(file, is_file)
    file.seek(0)
    options = pa.ipc.IpcReadOptions(included_fields=fields)
    return (pa.ipc.open_file if is_file else pa.ipc.open_stream)(file, options=options), is_file


def null_types_as_strings(schema: pa.Schema) -> pa.Schema:
    """A schema with string columns in place of those that are empty in the first rows."""
    return pa.schema([f.with_type(pa.string()) if f.type == pa.null() else f for f in schema])


def check_chunk(
    chunk: Chunk,
    columns: tuple[Column, ...],
    label: str | None,
    skip: bool,
    missing: Words = MISSING_WORDS,
    may_lack_label: bool = False,
    cells: bool = True,
) -> Chunk:
    """Raise DataError for rows with bad UTF-8, bad numbers or dates, or no label, or skip them.

    Bad numbers and dates are left, to be counted as missing, if `cells` is False. If there is a
    column of 0 and 1 per label, a column with the labels of each row is added.
    """
    faults: Faults = []
    for column in columns:
        values = chunk.table[column.name]
        if cells and column.is_scaled and is_stringlike(values.type):
            for row in column.numbers(values, missing)[1]:
                cell = values[int(row)].as_py()
                faults.append((int(row), column.name, stray_message(column, cell)))
        faults.extend(_bad_utf8(chunk, column.name))
    indicators = indicator_columns(label, chunk.table.column_names)
    for name in indicators:
        for row in wrong_rows(chunk.table[name]):
            faults.append((row, name, f"expected 0 or 1, found {_shown(chunk, name, row)}"))
    if label is not None and not indicators:
        faults.extend(_bad_utf8(chunk, label))
        if not may_lack_label:
            faults.extend(_missing_labels(chunk, label))
    checked = drop_faults(faults, chunk, skip)
    if not indicators:
        return checked
    labels = label_cells(checked.table, indicators)
    return checked._replace(table=checked.table.append_column(label, labels))


def stray_message(column: Column, cell: Any) -> str:
    """The message about a cell that does not fit a column of numbers or dates."""
    what = "a number" if column.kind == "number" else "a date such as 2024-03-31"
    return f"expected {what}, found {shown(cell)}"


def weights_of(chunk: Chunk, name: str) -> np.ndarray:
    """The weights of rows; DataError if one is not a number or is negative."""
    weights, _ = to_numbers(chunk.table[name])
    wrong = np.flatnonzero(~(weights >= 0))
    if len(wrong):
        row = int(wrong[0])
        message = f"expected a weight, which is not negative, found {_shown(chunk, name, row)}"
        raise DataError(message, path=chunk.path, line=chunk.line_of(row), column=name)
    return weights


def require_columns(required: Sequence[str], names: Sequence[str], path: str) -> None:
    """Raise DataError if a column is not among the names of a file's columns."""
    known = set(names)
    for name in required:
        if name not in known:
            message = f"there is no column {shown(name)}; the columns are {listed(names)}"
            raise DataError(message, path=path)


def drop_faults(faults: Faults, chunk: Chunk, skip: bool) -> Chunk:
    """Drop and count bad rows or, without `skip`, raise DataError for the first."""
    if not faults:
        return chunk
    if not skip:
        row, name, message = min(faults, key=lambda fault: (fault[0], fault[1] or ""))
        raise DataError(message, path=chunk.path, line=chunk.line_of(row), column=name)
    wrong = {row for row, _, _ in faults}
    is_good = np.isin(np.arange(chunk.table.num_rows), list(wrong), invert=True)
    good_rows = np.flatnonzero(is_good)
    return chunk._replace(
        table=chunk.table.filter(pa.array(is_good)),
        line_of=lambda row: chunk.line_of(int(good_rows[row])),
        bad=chunk.bad + len(wrong),
    )


def labelled_rows(chunk: Chunk, label: str) -> Chunk:
    """The rows that have a label."""
    unlabelled = _missing_labels(chunk, label)
    return drop_faults(unlabelled, chunk, skip=True)._replace(bad=chunk.bad)


def _shown(chunk: Chunk, name: str, row: int) -> str:
    return shown(chunk.table[name][int(row)].as_py())


def _bad_utf8(chunk: Chunk, name: str) -> Faults:
    if not is_bytes(chunk.table[name].type):
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


def _missing_labels(chunk: Chunk, name: str) -> Faults:
    labels = label_strings(chunk.table[name])
    if not labels.null_count:
        return []
    rows = np.flatnonzero(labels.is_null().to_numpy(zero_copy_only=False))
    return [(int(row), name, "the label is missing") for row in rows]
