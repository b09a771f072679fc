"""Files that hold columns, Parquet and Arrow: their rows in batches, and samples of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from operator import add

import pyarrow as pa

from rosenblatt.data.arrow_tables import Chunk, require_columns
from rosenblatt.data.bytes import STDIN, is_stream
from rosenblatt.data.cells import is_stringlike
from rosenblatt.data.formats import Format, Parsing
from rosenblatt.data.samples import Open, Sampled, places, slices
from rosenblatt.errors import DataError

BATCH_ROWS = 8192
_FEW_GROUPS = 8  # of rows, of which all rows of numbers are read for a sample
_SAMPLE_ROWS = 512


def select(chunk: Chunk, format: Format | None, how: Parsing) -> Chunk:
    """A chunk with some of its columns; one from a `format` of columns is validated.

    Arrow does not check the offsets in Arrow files, nor whether Parquet strings are UTF-8.
    """
    if how.columns is not None:
        require_columns(how.columns, chunk.table.column_names, chunk.path)
    table = chunk.table if how.columns is None else chunk.table.select(how.columns)
    if format is None:
        return chunk._replace(table=table)
    try:
        table.validate(full=True)
    except pa.ArrowException as error:
        raise _unreadable(format, error, chunk.path, chunk.line_of(0) - 1) from None
    return chunk._replace(table=table, size=table.nbytes)


def read_columnar(
    path: str,
    format: Format,
    columns: list[str] | None,
    rows: int,
    open: Open = pa.OSFile,
    groups: range | None = None,
) -> Iterator[Chunk]:
    """Read a file of a format that holds columns, or `groups` of its parts, in batches.

    Lines are rows, counted from 1. The chunks are not validated.
    """
    done = 0
    if is_stream(path):
        name = "<stdin>" if path == STDIN else path
        message = f"{format.name} cannot be read from standard input or a pipe; name a file"
        raise DataError(message, path=name)
    assert format.batches is not None, "formats of lines are read by blocks"
    try:
        with open(path) as file:
            for batch in format.batches(file, columns, rows, groups):
                # Decodes the names, which may not be UTF-8.
                table = pa.Table.from_arrays(batch.columns, names=batch.schema.names)
                yield Chunk(table, path, partial(add, done + 1))
                done += batch.num_rows
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _unreadable(format, error, path, done) from None


def columnar_sample(
    paths: list[str], format: Format, open: Open, schema: pa.Schema
) -> list[pa.Table]:
    """Rows from all over files that hold columns; of few parts, the columns of numbers and dates.

    A place within a part is reached only by reading all before it.
    """
    files = []
    for path in paths:
        with open(path) as file:
            groups, _ = (format.parts or (lambda _: ((), ())))(file)
        files.append(Sampled(path, len(groups) or 1, only_begin=not groups))
    if sum(file.size for file in files) >= _FEW_GROUPS:
        firsts = (
            next(
                read_columnar(file.path, format, None, _SAMPLE_ROWS, open, range(at, at + 1)), None
            )
            for file, at in places(files, 1)
        )
        return [chunk.table for chunk in firsts if chunk is not None and chunk.table.num_rows]
    names = [field.name for field in schema if not _holds_strings(field.type)]
    if not names:
        return []
    tables = [
        chunk.table.slice(0, _SAMPLE_ROWS // 8)
        for file in files
        for chunk in read_columnar(file.path, format, names, BATCH_ROWS, open)
    ]
    return slices(pa.concat_tables(tables, promote_options="permissive"))


def _holds_strings(kind: pa.DataType) -> bool:
    return is_stringlike(kind.value_type if pa.types.is_dictionary(kind) else kind)


def _unreadable(format: Format, error: Exception, path: str, done: int) -> DataError:
    message = f"the {format.name.capitalize()} file cannot be read: {error}"
    return DataError(message, path=path, line=done + 1 if done else None)
