"""Writing tables to files, part by part; lines of text are made column by column."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rosenblatt.data.arrow_tables import null_types_as_strings
from rosenblatt.data.cells import MISSING_WORDS, make_strings, one_array, string_buffers
from rosenblatt.errors import DataError, OptionError, shown

LINE_FORMATS = ("csv", "tsv", "text", "jsonl")

_ZERO_BYTE = (
    "a cell holds a zero byte, which CSV and TSV files cannot; write JSON lines or Parquet "
    "(--to jsonl, --to parquet)"
)
_DELIMITERS = {"csv": ",", "tsv": "\t", "text": "\t"}
_encode_string = json.JSONEncoder(ensure_ascii=False).encode
# Numbers that can be copied from CSV to JSON as they are.
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?\Z")
OUTPUT_FORMATS = ("csv", "tsv", "jsonl", "text", "parquet", "arrow")
_SUFFIXES = {".txt" if name == "text" else f".{name}": name for name in OUTPUT_FORMATS}
_COMPRESSED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}


def output_format(out: str | os.PathLike[str], to: str | None = None) -> tuple[str, str | None]:
    """Format and compression by the name of an output file; `to` overrides the format.

    >>> output_format("a.csv.gz"), output_format("a.zst", "jsonl")
    (('csv', 'gzip'), ('jsonl', 'zstd'))
    """
    suffixes = [suffix.lower() for suffix in Path(out).suffixes]
    compression = _COMPRESSED.get(suffixes[-1]) if suffixes else None
    if compression is not None:
        suffixes.pop()
    if to is not None:
        if to not in OUTPUT_FORMATS:
            known = ", ".join(OUTPUT_FORMATS)
            raise OptionError(f"{to!r} is not a format to write; the formats are {known}")
        return to, compression
    format = _SUFFIXES.get(suffixes[-1]) if suffixes else None
    if format is None:
        known = ", ".join(_SUFFIXES)
        raise DataError(f"tables are written to {known} files, also as .gz and .zst", path=out)
    return format, compression


@contextmanager
def compressed(file: Any, compression: str | None) -> Iterator[Any]:
    """A file object that compresses what is written to `file`."""
    if compression is None:
        yield file
        return
    # Closing the stream would close the file, which has yet to be synced.
    with pa.CompressedOutputStream(_Unclosed(file), compression) as stream:
        yield stream


class _Unclosed:
    """A file to write to that ignores `close`."""

    closed = False

    def __init__(self, file: Any) -> None:
        self.write, self.flush = file.write, file.flush

    def close(self) -> None:
        """Leave the file open."""


@contextmanager
def writer(file: Any, format: str, header: bool = True) -> Iterator[Callable[[pa.Table], None]]:
    """A function that writes tables to a file; with a header, if the format has one."""
    schema = pa.schema([])  # that of the first table
    opened: Any = None

    def write(table: pa.Table) -> None:
        nonlocal header, schema, opened
        if format in LINE_FORMATS:
            if header:
                file.write(header_of(table.column_names, format))
            header = False
            file.write(lines_of(table, format))
            return
        if opened is None:
            schema = null_types_as_strings(table.schema)
            opened = stack.enter_context(_open_columnar(file, format, schema))
        try:
            opened.write_table(table.cast(schema))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise DataError(f"the rows differ in type from the first ones: {error}") from None

    with ExitStack() as stack:
        yield write


def _open_columnar(file: Any, format: str, schema: pa.Schema) -> Any:
    if format == "arrow":
        return pa.ipc.new_file(file, schema)
    from pyarrow import parquet

    return parquet.ParquetWriter(file, schema, compression="zstd")


def header_of(names: list[str], format: str) -> bytes:
    """The header line of CSV and TSV; empty for other formats."""
    if format not in ("csv", "tsv"):
        return b""
    if format == "tsv" and (bad := [name for name in names if set(name) & set("\t\r\n")]):
        raise DataError(f"TSV cannot hold the column name {shown(bad[0])}; write CSV (--to csv)")
    line = io.StringIO()
    # Our reader tells by quoted names that cells of TSV may be quoted.
    quoting: Any = csv.QUOTE_ALL if format == "tsv" else csv.QUOTE_MINIMAL
    mark = _DELIMITERS[format]
    csv.writer(line, delimiter=mark, lineterminator="\n", quoting=quoting).writerow(names)
    return line.getvalue().encode()


def lines_of(table: pa.Table, format: str, numbers: frozenset[str] = frozenset()) -> bytes:
    """The rows of a table, one line each.

    Cells of CSV and TSV are quoted if necessary. In plain text, line breaks in cells become blanks,
    and so do tabs except in the last column. `numbers` are string columns to write as JSON numbers.

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
    special = [f'["\\x00\r\n{delimiter}]'] * table.num_columns
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
    return joined_bytes(whole)


def joined_bytes(strings: pa.Array) -> bytes:
    """All strings of an array, joined."""
    offsets, data = string_buffers(strings)
    return data[int(offsets[0]) : int(offsets[-1])].tobytes()


def _scalar(value: str, kind: pa.DataType) -> Any:
    return make_strings([value]).cast(kind)[0]


def _cells(column: pa.ChunkedArray, special: str, quoted: bool) -> pa.Array:
    """A column as strings, with `special` characters quoted or else replaced by blanks."""
    array = one_array(column)
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
    if quoted and pc.any(pc.match_substring(strings, "\0")).as_py():
        raise DataError(_ZERO_BYTE)
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
    """A cell of a column of numbers as JSON; a string if JSON has no such number.

    >>> [_json_number(cell) for cell in ("1.50", "007", "inf", "NA", None)]
    ['1.50', '"007"', 'null', 'null', 'null']
    """
    plain = "" if value is None else value.strip()
    if _JSON_NUMBER.match(plain):
        return plain
    is_missing = plain in MISSING_WORDS or plain.lstrip("+-").lower() in ("inf", "infinity")
    return "null" if is_missing else _encode_string(value)
