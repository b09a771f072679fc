"""Rows of tables as lines of CSV, TSV, JSON or plain text, made column by column."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rosenblatt.data.strings import MISSING_WORDS, make_strings, string_buffers

LINE_FORMATS = ("csv", "tsv", "text", "jsonl")

_DELIMITERS = {"csv": ",", "tsv": "\t", "text": "\t"}
_encode_string = json.JSONEncoder(ensure_ascii=False).encode
# A number of a table of cells stays as it is written there, if JSON writes it so.
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?\Z")


def header_of(names: list[str], format: str) -> bytes:
    """The line with the names of columns; nothing for formats that have none.

    >>> header_of(["a", "b, c"], "csv"), header_of(["a"], "jsonl")
    (b'a,"b, c"\\n', b'')
    """
    if format not in ("csv", "tsv"):
        return b""
    line = io.StringIO()
    csv.writer(line, delimiter=_DELIMITERS[format], lineterminator="\n").writerow(names)
    return line.getvalue().encode()


def lines_of(table: pa.Table, format: str, numbers: frozenset[str] = frozenset()) -> bytes:
    """All rows of a table, one line each.

    Cells are quoted where they must be in CSV and TSV; plain text has no quotes, and tabs and line
    breaks within a cell become blanks, but for tabs of the last one. `numbers` are columns of
    strings that JSON writes as numbers.

    >>> table = pa.table({"text": ['so "good"', "a, b"], "score": [1.5, None]})
    >>> print(lines_of(table, "csv").decode(), end="")
    "so ""good""\",1.5
    "a, b",
    >>> print(lines_of(table, "jsonl").decode(), end="")
    {"text": "so \\"good\\"", "score": 1.5}
    {"text": "a, b", "score": null}
    """
    if table.num_rows == 0 or table.num_columns == 0:
        return b""
    if format == "jsonl":
        return _json_lines(table, numbers)
    delimiter = _DELIMITERS[format]
    special = [f'["\r\n{delimiter}]'] * table.num_columns
    if format == "text":
        special = ["[\r\n\t]"] * (table.num_columns - 1) + ["[\r\n]"]
    cells = [
        _cells(column, marks, quoted=format != "text")
        for column, marks in zip(table.columns, special, strict=True)
    ]
    if any(pa.types.is_large_string(column.type) for column in cells):
        cells = [column.cast(pa.large_string()) for column in cells]
    kind = cells[0].type
    joined = (
        pc.binary_join_element_wise(*cells, _scalar(delimiter, kind)) if cells[1:] else cells[0]
    )
    whole = pc.binary_join_element_wise(joined, _scalar("", kind), _scalar("\n", kind))
    offsets, data = string_buffers(whole)
    return data[int(offsets[0]) : int(offsets[-1])].tobytes()


def _scalar(value: str, kind: pa.DataType) -> Any:
    return make_strings([value]).cast(kind)[0]


def _cells(column: pa.ChunkedArray, special: str, quoted: bool) -> pa.Array:
    """A column as cells: those with special characters in quotes, or with blanks for these."""
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks)
    if pa.types.is_nested(array.type):
        array = make_strings([_encode_string(value) for value in array.to_pylist()])
    is_text = pa.types.is_string(array.type) or pa.types.is_large_string(array.type)
    strings = array if is_text else array.cast(pa.string())
    if strings.null_count:
        strings = strings.fill_null(_scalar("", strings.type))
    if pa.types.is_floating(array.type) or pa.types.is_integer(array.type):
        return strings
    marked = pc.match_substring_regex(strings, special)
    if not pc.any(marked).as_py():
        return strings
    if not quoted:
        return pc.replace_substring_regex(strings, special, " ")
    mark = _scalar('"', strings.type)
    doubled = pc.replace_substring(strings, '"', '""')
    whole = pc.binary_join_element_wise(mark, doubled, mark, _scalar("", strings.type))
    return pc.if_else(marked, whole, strings)


def _json_lines(table: pa.Table, numbers: frozenset[str]) -> bytes:
    names = [_encode_string(name) + ": " for name in table.column_names]
    leads = ["{" + names[0], *(", " + name for name in names[1:])]
    columns = [
        [lead + value for value in _json_values(table[name], name in numbers)]
        for lead, name in zip(leads, table.column_names, strict=True)
    ]
    return "".join(part for row in zip(*columns, strict=True) for part in (*row, "}\n")).encode()


def _json_values(column: pa.ChunkedArray, is_number: bool) -> list[str]:
    if pa.types.is_floating(column.type):  # Arrow writes the shortest number of the type
        return [_json_number(value) for value in column.cast(pa.string()).to_pylist()]
    values = column.to_pylist()
    if is_number:
        return [_json_number(value) for value in values]
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return ["null" if value is None else _encode_string(value) for value in values]
    return [json.dumps(value, ensure_ascii=False, default=str) for value in values]


def _json_number(value: str | None) -> str:
    """A cell of a column of numbers; what JSON writes in another way stays a string.

    >>> [_json_number(cell) for cell in ("1.50", "007", "inf", "NA", None)]
    ['1.50', '"007"', 'null', 'null', 'null']
    """
    plain = "" if value is None else value.strip()
    if _JSON_NUMBER.match(plain):
        return plain
    is_missing = plain in MISSING_WORDS or plain.lstrip("+-").lower() in ("inf", "infinity")
    return "null" if is_missing else _encode_string(value)
