"""Tables: rows that know their lines; JSON lines by the block, Parquet and Arrow by the batch."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from operator import add
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from rosenblatt.data.blocks import Block
from rosenblatt.data.strings import make_strings
from rosenblatt.errors import DataError

MISSING_WORDS = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")


class Chunk(NamedTuple):
    """Rows of a table, where they stand in the file, and how many were left out as bad."""

    table: pa.Table
    path: str
    line_of: Callable[[int], int]
    bad: int = 0


def parse_json(block: Block, schema: pa.Schema | None, skip: bool) -> Chunk:
    """Read a block of JSON lines, one object a line.

    A block that is not of one piece (a value that changes its type, a bad line) is read again
    line by line: slower, but it finds the line.
    """
    from pyarrow import json as arrow_json

    options = arrow_json.ParseOptions(
        explicit_schema=schema, unexpected_field_behavior="infer" if schema is None else "ignore"
    )
    reading = arrow_json.ReadOptions(use_threads=False, block_size=len(block.array) + 1)
    try:
        table = arrow_json.read_json(pa.py_buffer(block.array), reading, options)
        # One object a line: else lines could not be named, and two on a line are a mistake.
        lines = block.lines
        if table.num_rows != lines:
            lines = sum(1 for line in block.data.split(b"\n") if line.strip())
        if table.num_rows == lines:
            return Chunk(table, block.path, block.line_of)
    except (pa.ArrowInvalid, UnicodeDecodeError):
        pass
    return _json_by_line(block, schema, skip)


def _json_by_line(block: Block, schema: pa.Schema | None, skip: bool) -> Chunk:
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    bad = 0
    for number, line in enumerate(block.data.split(b"\n")):
        if not line.strip():
            continue
        try:
            value = json.loads(line.decode("utf-8"), parse_constant=lambda name: None)
            if not isinstance(value, dict):
                raise ValueError("a line holds one JSON object")
            json.dumps(value, ensure_ascii=False).encode("utf-8")
            rows.append(value)
            lines.append(number)
        except (ValueError, RecursionError) as error:
            bad += 1
            if not skip:
                message = f"expected a JSON object: {error}"
                raise DataError(message, path=block.path, line=block.line + number) from None
    names = schema.names if schema is not None else list(dict.fromkeys(k for r in rows for k in r))
    columns = [pa.array([_plain(row.get(name)) for row in rows], pa.string()) for name in names]
    table = pa.table(dict(zip(names, columns, strict=True)))
    return Chunk(table, block.path, lambda row: block.line + lines[row], bad)


def _plain(value: Any) -> str | None:
    """A JSON value as a cell of a table."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False)


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

        with parquet.ParquetFile(path) as file:
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
