"""Tables: rows that know their lines; Parquet and Arrow by the batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from operator import add
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from rosenblatt.data.strings import make_strings
from rosenblatt.errors import DataError

MISSING_WORDS = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")


class Chunk(NamedTuple):
    """Rows of a table, where they stand in the file, and how many were left out as bad."""

    table: pa.Table
    path: str
    line_of: Callable[[int], int]
    bad: int = 0


def read_columnar(path: str, format: str, columns: list[str] | None, rows: int) -> Iterator[Chunk]:
    """Read a Parquet file, an Arrow file or an Arrow stream, in batches.

    Lines are rows here, counted from 1. What comes from an Arrow file is yet to be validated.
    """
    done = 0
    try:
        for batch in _batches(path, format, columns, rows):
            start = done + 1
            yield Chunk(pa.Table.from_batches([batch]), path, partial(add, start))
            done += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        what = "Parquet" if format == "parquet" else "Arrow"
        raise _unreadable(what, error, path, done) from None


def validated(chunk: Chunk) -> Chunk:
    """A chunk of an Arrow file, which is used as it stands there, once it is known to be sound."""
    try:
        chunk.table.validate(full=True)
    except pa.ArrowException as error:
        raise _unreadable("Arrow", error, chunk.path, chunk.line_of(0) - 1) from None
    return chunk


def _unreadable(what: str, error: Exception, path: str, done: int) -> DataError:
    message = f"the {what} file cannot be read: {error}"
    return DataError(message, path=path, line=done + 1 if done else None)


def _batches(
    path: str, format: str, columns: list[str] | None, rows: int
) -> Iterator[pa.RecordBatch]:
    if path == "-":
        raise DataError(f"{format} cannot be read from standard input", path="<stdin>")
    if format == "parquet":
        from pyarrow import parquet

        # Else all of a row group's column is copied to memory of its own before it is unpacked.
        with parquet.ParquetFile(path, memory_map=True) as file:
            yield from file.iter_batches(batch_size=rows, columns=columns)
        return
    with pa.memory_map(path) as file:
        is_file = file.read(6) == b"ARROW1"
        file.seek(0)
        opened = pa.ipc.open_file(file) if is_file else pa.ipc.open_stream(file)
        batches = (
            (opened.get_batch(i) for i in range(opened.num_record_batches)) if is_file else opened
        )
        for batch in batches:
            wanted = batch if columns is None else batch.select(columns)
            for start in range(0, batch.num_rows, rows):
                yield wanted.slice(start, rows)


def without_nulls(schema: pa.Schema) -> pa.Schema:
    """A schema of first rows, in which a column that is empty there may be filled later on.

    >>> without_nulls(pa.schema({"a": pa.null(), "b": pa.int64()})).types
    [DataType(string), DataType(int64)]
    """
    return pa.schema([f.with_type(pa.string()) if f.type == pa.null() else f for f in schema])


def as_strings(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column as strings, trimmed, missing values as nulls; bad UTF-8 raises ArrowInvalid.

    >>> as_strings(pa.array([b" Private", b" ?", b""])).to_pylist()
    ['Private', None, None]
    """
    strings = plain_strings(column)
    strings = pc.utf8_trim_whitespace(strings)
    # `pa.scalar` and `pa.array` import pandas, for a fifth of a second; so they are kept away from
    # the way that every file takes.
    return pc.if_else(pc.is_in(strings, MISSING), pa.nulls(1, strings.type)[0], strings)


def plain_strings(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column of any type as one array of strings, as they stand."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_boolean(array.type):
        array = pc.if_else(array, "true", "false")
    if pa.types.is_floating(array.type):
        whole = pc.all(pc.equal(pc.floor(array), array)).as_py()
        array = array.cast(pa.int64()) if whole else array
    if pa.types.is_large_binary(array.type) or pa.types.is_large_string(array.type):
        return array.cast(pa.large_string())
    return array.cast(pa.string())


MISSING = make_strings(list(MISSING_WORDS))
