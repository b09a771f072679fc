"""JSON lines, block by block: one object per line.

Arrow reads a block. Only if it refuses is the block read again, slowly, by Python's json module,
which finds the line.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa

from rosenblatt.data.arrow_tables import Chunk, Faults, without
from rosenblatt.data.bytes import Block
from rosenblatt.data.cells import is_utf8
from rosenblatt.errors import shown

_AS_STRINGS = (pa.string(), pa.int64(), pa.float64())


def parse_json(block: Block, schema: pa.Schema | None, skip: bool) -> Chunk:
    """Read a block of JSON lines, with the columns and types of a schema, or detect these.

    Where something is wrong with the block, a column in which a value does not fit comes as
    strings. A line that is not a JSON object in UTF-8 is left out or raises a DataError.

    >>> lines = Block.of(b'{"a": 1, "b": "x"}\\n{"a": 2.5}\\n', "a.jsonl")
    >>> parse_json(lines, None, False).table.to_pylist()
    [{'a': 1.0, 'b': 'x'}, {'a': 2.5, 'b': None}]
    """
    is_plain = is_utf8(block.array) and _holds_objects(block)
    table = _by_arrow(block, schema) if is_plain else None
    if table is None:
        return _second_look(block, schema, skip)
    return Chunk(table, block.path, block.filled_line)


def _holds_objects(block: Block) -> bool:
    """Whether each line that is not blank begins as an object does.

    Arrow takes a line ``null`` for a row, and crashes where a block begins with one (Arrow 26).
    """
    begins = np.append(0, np.flatnonzero(block.array[:-1] == ord("\n")) + 1)
    if len(block.array) and np.all(block.array[begins] == ord("{")):
        return True
    return all(line.lstrip(b" \t\r").startswith(b"{") for _, line in block.filled_lines())


def _by_arrow(block: Block, schema: pa.Schema | None) -> pa.Table | None:
    """The table, if Arrow takes every line for one object."""
    from pyarrow import json as arrow_json

    options = arrow_json.ParseOptions(
        explicit_schema=schema, unexpected_field_behavior="infer" if schema is None else "ignore"
    )
    reading = arrow_json.ReadOptions(use_threads=False, block_size=len(block.array) + 1)
    try:
        table = arrow_json.read_json(pa.py_buffer(block.array), reading, options)
    except pa.ArrowInvalid:
        return None
    # One object per line: else lines could not be named, and two on a line are a mistake.
    ends = np.flatnonzero(block.array == ord("\n"))
    lines = len(ends)
    if not np.all(block.array[ends - 1] == ord("}")):  # some may be blank
        lines = len(list(block.filled_lines()))
    return table if table.num_rows == lines else None


def _second_look(block: Block, schema: pa.Schema | None, skip: bool) -> Chunk:
    """Read line by line, to find those that are not objects or do not fit into the columns."""
    rows: list[dict[str, Any]] = []
    lines, faults = [], Faults()
    for place, (line, content) in enumerate(block.filled_lines()):
        lines.append(line)
        try:
            rows.append(_object(content))
        except (ValueError, RecursionError) as error:
            rows.append({})
            faults.append((place, None, f"expected a JSON object: {error}"))
    for field in schema or ():
        for place in _misfits([row.get(field.name) for row in rows], field.type):
            found = shown(rows[place].pop(field.name))
            message = f"expected {field.type}, as in the first rows, found {found}"
            faults.append((place, field.name, message))
    names = dict.fromkeys(name for row in rows for name in row)
    kinds = names if schema is None else dict(zip(schema.names, schema.types, strict=True))
    columns = {name: _column([row.get(name) for row in rows], kinds[name]) for name in kinds}
    return without(faults, Chunk(pa.table(columns), block.path, lines.__getitem__), skip)


def _object(line: bytes) -> dict[str, Any]:
    value = json.loads(line.decode("utf-8"), parse_constant=lambda name: None)
    if not isinstance(value, dict):
        raise ValueError("a line holds one JSON object")
    # Half of a surrogate pair is not a character.
    json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def _misfits(values: list[Any], kind: pa.DataType) -> list[int]:
    """Which values cannot be had in a column; but numbers, too, can be written as strings."""
    if kind in _AS_STRINGS or _read(values, kind) is not None:
        return []
    return [row for row, value in enumerate(values) if _read([value], kind) is None]


def _column(values: list[Any], kind: pa.DataType | None) -> pa.Array | pa.ChunkedArray:
    column = _read(values, kind)
    return pa.array([_plain(value) for value in values], pa.string()) if column is None else column


def _read(values: list[Any], kind: pa.DataType | None) -> pa.ChunkedArray | None:
    """Values as Arrow reads them, of the type given or detected, if they fit."""
    lines = "".join(json.dumps({"": value}) + "\n" for value in values)
    schema = None if kind is None else pa.schema([("", kind)])
    table = _by_arrow(Block.of(lines.encode(), ""), schema)
    return None if table is None else table[""]


def _plain(value: Any) -> str | None:
    """A JSON value as a cell of a table."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
