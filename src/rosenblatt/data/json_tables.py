"""JSON lines: blocks parsed to tables, one object per line.

Arrow parses a block. If it fails, Python's json module parses the block again to find the line.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa

from rosenblatt.data.arrow_tables import Chunk, Faults, drop_faults
from rosenblatt.data.bytes import Block
from rosenblatt.data.cells import is_utf8
from rosenblatt.errors import shown

_AS_STRINGS = (pa.string(), pa.int64(), pa.float64())


def parse_json(block: Block, schema: pa.Schema | None, skip: bool) -> Chunk:
    """Parse a block of JSON lines, with the columns and types of a schema, or detect these.

    If Arrow cannot parse the block, columns with mixed types become strings. A line that is not a
    JSON object in UTF-8 raises DataError or, with `skip`, is skipped.
    """
    table = _parse_by_arrow(block, schema) if is_utf8(block.array) else None
    if table is None:
        return _parse_slowly(block, schema, skip)
    return Chunk(table, block.path, block.filled_line)


def _parse_by_arrow(block: Block, schema: pa.Schema | None) -> pa.Table | None:
    """The table, or None if Arrow fails or there is not one object per line.

    Arrow parses a line ``null`` as a row, and crashes if a block begins with one (Arrow 26).
    """
    from pyarrow import json as arrow_json

    begins = np.append(0, np.flatnonzero(block.array == ord("\n")) + 1)[:-1]
    firsts = block.array[begins].tobytes()
    if firsts.strip(b"{"):  # there are blank lines, or blanks before objects
        firsts = b"".join(line.lstrip(b" \t\r")[:1] for _, line in block.filled_lines())
    if firsts.strip(b"{"):
        return None
    options = arrow_json.ParseOptions(
        explicit_schema=schema, unexpected_field_behavior="infer" if schema is None else "ignore"
    )
    reading = arrow_json.ReadOptions(use_threads=False, block_size=len(block.array) + 1)
    try:
        table = arrow_json.read_json(pa.py_buffer(block.array), reading, options)
    except pa.ArrowInvalid:
        return None
    return table if table.num_rows == len(firsts) else None


def _parse_slowly(block: Block, schema: pa.Schema | None, skip: bool) -> Chunk:
    """Parse line by line, to find those that are not objects or do not fit the schema."""
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
    return drop_faults(faults, Chunk(pa.table(columns), block.path, lines.__getitem__), skip)


def _object(line: bytes) -> dict[str, Any]:
    value = json.loads(line.decode("utf-8"), parse_constant=lambda name: None)
    if not isinstance(value, dict):
        raise ValueError("a line holds one JSON object")
    # Half of a surrogate pair is not a character.
    json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def _misfits(values: list[Any], kind: pa.DataType) -> list[int]:
    """The rows whose values do not fit a type; numbers and strings may be mixed as strings."""
    if kind in _AS_STRINGS or _read(values, kind) is not None:
        return []
    return [row for row, value in enumerate(values) if _read([value], kind) is None]


def _column(values: list[Any], kind: pa.DataType | None) -> pa.Array | pa.ChunkedArray:
    column = _read(values, kind)
    return pa.array([_plain(value) for value in values], pa.string()) if column is None else column


def _read(values: list[Any], kind: pa.DataType | None) -> pa.ChunkedArray | None:
    """Values as Arrow parses them, with the given or a detected type; None if they do not fit."""
    lines = "".join(json.dumps({"": value}) + "\n" for value in values)
    schema = None if kind is None else pa.schema([("", kind)])
    table = _parse_by_arrow(Block.of(lines.encode(), ""), schema)
    return None if table is None else table[""]


def _plain(value: Any) -> str | None:
    """A JSON value as a string cell."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
