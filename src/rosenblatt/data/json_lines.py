"""JSON lines, by the block: one object a line."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from rosenblatt.data.blocks import Block
from rosenblatt.data.strings import is_utf8, room_for_strings, strings_of
from rosenblatt.data.tables import Chunk
from rosenblatt.errors import DataError
from rosenblatt.kernels.json_lines import BOOLEAN, NUMBER, STRING, find_values, gather_values

_AS_STRINGS = (pa.string(), pa.int64(), pa.float64())
_WANTED = {
    pa.string(): STRING,
    pa.int64(): NUMBER,
    pa.float64(): NUMBER,
    pa.bool_(): BOOLEAN,
}


def parse_json(block: Block, schema: pa.Schema | None, skip: bool) -> Chunk:
    """Read a block of JSON lines, one object a line.

    Lines without nested values are read by the kernels of the engine; any others, and the first
    block, whose columns are still to be found out, by Arrow. A block that is not of one piece (a
    value that changes its type, a bad line) is read again line by line: slower, but it finds the
    line. A column in which a value does not fit comes as strings then.

    Parameters
    ----------
    block : Block
        The lines.
    schema : pyarrow.Schema or None
        The columns wanted, and of what type they are; None to find out.
    skip : bool
        Leave out bad lines rather than raise.

    Raises
    ------
    DataError
        For a line that is no JSON object in UTF-8, unless bad lines are skipped.

    Examples
    --------
    >>> lines = Block.of(b'{"a": 1, "b": "x"}\\n{"a": 2.5}\\n', "a.jsonl")
    >>> parse_json(lines, None, False).table.to_pylist()
    [{'a': 1.0, 'b': 'x'}, {'a': 2.5, 'b': None}]
    """
    if is_utf8(block.array):
        table = None if schema is None else _by_kernels(block.array, schema)
        if table is None:
            table = _by_arrow(block, schema)
        if table is not None:
            return Chunk(table, block.path, partial(_line_of, block))
    return _by_line(block, schema, skip)


def _by_kernels(data: np.ndarray, schema: pa.Schema) -> pa.Table | None:
    """The table, if lines and columns are of the plain shape; they are known to be UTF-8."""
    if not all(kind in _WANTED for kind in schema.types) or len(data) >= 1 << 31:
        return None
    encoded = [name.encode() for name in schema.names]
    ends = np.cumsum([len(name) for name in encoded], dtype=np.uint64)
    values, is_known = find_values(data, np.frombuffer(b"".join(encoded), dtype=np.uint8), ends)
    if not is_known:
        return None
    columns = []
    for place, kind in enumerate(schema.types):
        strings = _gathered(data, values, place, _WANTED[kind])
        try:
            columns.append(None if strings is None else strings.cast(kind))
        except pa.ArrowInvalid:
            columns.append(None)
        if columns[-1] is None:
            return None
    return pa.Table.from_arrays(columns, schema=schema)


def _gathered(data: np.ndarray, values: np.ndarray, place: int, wanted: int) -> pa.Array | None:
    """One column of what `find_values` found, as strings; None if something else is in it."""
    offsets, out = room_for_strings(values[:, place])
    valid = np.empty(len(values), dtype=np.bool_)
    count = gather_values(data, values, place, wanted, offsets, out, valid)
    if count < 0:
        return None
    return strings_of(offsets, out, None if count == len(values) else valid)


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
    # One object a line: else lines could not be named, and two on a line are a mistake.
    lines = block.lines
    if table.num_rows != lines:
        lines = len(_filled(block))
    return table if table.num_rows == lines else None


def _filled(block: Block) -> list[int]:
    """The lines that are not blank, counted from 0."""
    return [number for number, line in enumerate(block.data.split(b"\n")) if line.strip()]


def _line_of(block: Block, row: int) -> int:
    return block.line + _filled(block)[row]


def _by_line(block: Block, schema: pa.Schema | None, skip: bool) -> Chunk:
    """Read line by line, to find those that are no objects or do not fit into the columns."""
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    faults: dict[int, tuple[str, str | None]] = {}
    for number, line in enumerate(block.data.split(b"\n")):
        if line.strip():
            try:
                rows.append(_object(line))
                lines.append(number)
            except (ValueError, RecursionError) as error:
                faults[number] = (f"expected a JSON object: {error}", None)
    for name, kind in () if schema is None else zip(schema.names, schema.types, strict=True):
        for row in _misfits([row.get(name) for row in rows], kind):
            found = f"expected {kind}, as in the first rows, found {rows[row][name]!r}"
            faults[lines[row]] = (found, name)
    if faults and not skip:
        first = min(faults)
        message, column = faults[first]
        raise DataError(message, path=block.path, line=block.line + first, column=column)
    kept = [row for row, line in enumerate(lines) if line not in faults]
    names = dict.fromkeys(name for row in kept for name in rows[row])
    kinds = names if schema is None else dict(zip(schema.names, schema.types, strict=True))
    columns = {name: _column([rows[row].get(name) for row in kept], kinds[name]) for name in kinds}
    table = pa.table(columns)
    return Chunk(table, block.path, lambda row: block.line + lines[kept[row]], len(faults))


def _object(line: bytes) -> dict[str, Any]:
    value = json.loads(line.decode("utf-8"), parse_constant=lambda name: None)
    if not isinstance(value, dict):
        raise ValueError("a line holds one JSON object")
    # Half of a surrogate pair is no character.
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
    """Values as Arrow reads them, of the type given or found out, if they fit."""
    lines = "".join(json.dumps({"": value}) + "\n" for value in values)
    schema = None if kind is None else pa.schema([("", kind)])
    table = _by_arrow(Block.of(lines.encode(), ""), schema)
    return None if table is None else table[""]


def _plain(value: Any) -> str | None:
    """A JSON value as a cell of a table."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False)
