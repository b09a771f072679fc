"""Arrow tables whose rows know their lines: from Parquet and Arrow files, and from memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import add
from typing import Any, NamedTuple

import pyarrow as pa

from rosenblatt.errors import DataError

_BUFFER = 1 << 18


class Chunk(NamedTuple):
    """Rows of a table, where they stand in the file, and how many were left out as bad."""

    table: pa.Table
    path: str
    line_of: Callable[[int], int]
    bad: int = 0


def is_frame(given: Any) -> bool:
    """Whether something is a table in memory: of pandas, polars or Arrow, or a dict of columns."""
    return (
        isinstance(given, Mapping) or hasattr(given, "__arrow_c_stream__") or hasattr(given, "iloc")
    )


def table_of(frame: Any) -> pa.Table:
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


def without_nulls(schema: pa.Schema) -> pa.Schema:
    """A schema of first rows, in which a column that is empty there may be filled later on."""
    return pa.schema([f.with_type(pa.string()) if f.type == pa.null() else f for f in schema])
