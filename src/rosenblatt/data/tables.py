"""Tables: CSV, TSV and JSON lines block by block, Parquet and Arrow batch by batch.

Values of CSV and TSV arrive as they stand in the file, as bytes; what they mean is decided later
(:mod:`rosenblatt.data.kinds`), so that a value that does not fit can be named with its line.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from operator import add
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rosenblatt.data.blocks import Block
from rosenblatt.data.strings import is_utf8, make_strings
from rosenblatt.engine.parsers import row_starts
from rosenblatt.errors import DataError

_DELIMITERS = (",", "\t", ";", "|")
_SAMPLE_LINES = 50
_SAMPLE_BYTES = 1 << 16


class Chunk(NamedTuple):
    """Rows of a table, where they stand in the file, and how many were left out as bad."""

    table: pa.Table
    path: str
    line_of: Callable[[int], int]
    bad: int = 0


class Dialect(NamedTuple):
    """How a file of separated values is written."""

    delimiter: str
    quote: bool
    names: tuple[str, ...]
    header: bool

    @property
    def quoting(self) -> int:
        """The code of the delimiter where quotes mean something, else 0."""
        return ord(self.delimiter) if self.quote else 0


def sniff_dialect(head: bytes, format: str, path: str, header: bool | None = None) -> Dialect:
    """Find out delimiter, quoting and column names from the beginning of a file.

    A file has a header unless a name in it would be a number. Columns without a header are named
    by their place: "1", "2", ...

    Parameters
    ----------
    head : bytes
        The first bytes, with at least the first row.
    format : {"csv", "tsv"}
        TSV is separated by tabs, and quoted only if it looks like it.
    path : str
        For messages.
    header : bool or None
        Whether the first row holds the names; None to find out.

    Examples
    --------
    >>> sniff_dialect(b"39; Private; <=50K\\n50; Local-gov; >50K\\n", "csv", "adult")
    Dialect(delimiter=';', quote=True, names=('1', '2', '3'), header=False)
    """
    end = head.find(b"\n", _SAMPLE_BYTES)
    text = (head if end < 0 else head[: end + 1]).decode("utf-8", errors="replace")
    lines = text.splitlines()[:_SAMPLE_LINES]
    if not lines:
        raise DataError("the file is empty", path=path)
    if format == "tsv":
        delimiter, quote = "\t", _is_quoted(lines, "\t")
    else:
        delimiter, quote = _best_delimiter(lines), True
    first = _first_row(text, delimiter, quote)
    if header is None:
        header = not any(_is_number(cell) for cell in first) and len(set(first)) == len(first)
    if not header:
        return Dialect(delimiter, quote, tuple(str(i + 1) for i in range(len(first))), False)
    names = tuple(cell.strip() for cell in first)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"the name {twice!r} stands twice in the header", path=path, line=1)
    return Dialect(delimiter, quote, names, True)


def _best_delimiter(lines: list[str]) -> str:
    """The delimiter that cuts all sampled lines into the same, largest number of cells."""

    def score(delimiter: str) -> tuple[bool, int]:
        counts = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        return (counts[0] > 1 and len(set(counts[:-1] or counts)) == 1, counts[0])

    return max(_DELIMITERS, key=score)


def _is_quoted(lines: list[str], delimiter: str) -> bool:
    """Whether the cells that open with a quote also close with one, with pairs in between."""
    opened = [
        cell for line in lines for cell in line.split(delimiter) if cell.startswith('"')
    ]  # fmt: skip
    return bool(opened) and all(
        len(cell) > 1 and cell.endswith('"') and '"' not in cell[1:-1].replace('""', "")
        for cell in opened
    )


def _first_row(text: str, delimiter: str, quote: bool) -> list[str]:
    quoting: Any = csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE
    rows = csv.reader(text.splitlines(keepends=True), delimiter=delimiter, quoting=quoting)
    try:
        return next(row for row in rows if row)
    except (StopIteration, csv.Error):
        return text.splitlines()[0].split(delimiter)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def parse_csv(block: Block, dialect: Dialect, columns: list[str], skip: bool) -> Chunk:
    """Read the wanted columns of a block of separated values, as bytes.

    Raises
    ------
    DataError
        For a row with too few or too many values, unless bad rows are skipped.
    """
    from pyarrow import csv as arrow_csv

    data, places, broken = _readable(block, dialect)
    ragged: list[tuple[int, str]] = []

    def note(row: Any) -> str:
        message = f"expected {row.expected_columns} values, found {row.actual_columns}"
        ragged.append((row.number - 1, message))
        return "skip"

    if not data:
        table = pa.table({name: pa.nulls(0, pa.binary()) for name in columns})
    else:
        try:
            table = arrow_csv.read_csv(
                pa.py_buffer(data),
                read_options=arrow_csv.ReadOptions(
                    column_names=list(dialect.names), use_threads=False, block_size=len(data) + 1
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=dialect.delimiter,
                    quote_char='"' if dialect.quote else False,
                    newlines_in_values=dialect.quote,
                    invalid_row_handler=note,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types={name: pa.binary() for name in dialect.names},
                    include_columns=columns,
                    strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid as error:
            raise DataError(f"cannot be read: {error}", path=block.path, line=block.line) from None
    dropped = np.array([row for row, _ in ragged], dtype=np.int64)

    def original(row: int) -> int:
        return row if places is None else int(places[row])

    bad = [*broken, *((original(row), message, None) for row, message in ragged)]
    if bad and not skip:
        row, message, name = min(bad, key=lambda entry: entry[0])
        line = block.line_of(row, dialect.quoting)
        raise DataError(message, path=block.path, line=line, column=name)

    def line_of(row: int) -> int:
        # Ragged rows stand in the block and not in the table: step over those before this one.
        place = row
        while (shifted := row + int(np.searchsorted(dropped, place, side="right"))) != place:
            place = shifted
        return block.line_of(original(place), dialect.quoting)

    return Chunk(table, block.path, line_of, len(bad))


def _readable(
    block: Block, dialect: Dialect
) -> tuple[bytes, np.ndarray | None, list[tuple[int, str, str | None]]]:
    """Take rows that are not UTF-8 out of a block: Arrow could not report them.

    Returns the other rows, their numbers in the block (None if all are there), and for each row
    taken out its number, what is wrong, and in which column.
    """
    if is_utf8(block.data):
        return block.data, None, []
    starts = row_starts(np.frombuffer(block.data, dtype=np.uint8), dialect.quoting)
    rows = [block.data[a:b] for a, b in pairwise([*starts.tolist(), len(block.data)])]
    broken = [
        (number, *_not_utf8(row, dialect)) for number, row in enumerate(rows) if not is_utf8(row)
    ]
    gone = {number for number, _, _ in broken}
    places = np.array([i for i in range(len(rows)) if i not in gone], dtype=np.int64)
    return b"".join(rows[i] for i in places), places, broken


def _not_utf8(row: bytes, dialect: Dialect) -> tuple[str, str | None]:
    """What is wrong with a row that is not UTF-8, and in which column, as far as it has them."""
    for name, cell in zip(dialect.names, row.split(dialect.delimiter.encode()), strict=False):
        if not is_utf8(cell):
            return f"expected UTF-8, found {cell[:40]!r}", name
    return "expected UTF-8", None


def parse_json(block: Block, schema: pa.Schema | None, skip: bool) -> Chunk:
    """Read a block of JSON lines, one object a line.

    A block that is not of one piece (a value that changes its type, a bad line) is read again
    line by line: slower, but it finds the line.
    """
    from pyarrow import json as arrow_json

    options = arrow_json.ParseOptions(
        explicit_schema=schema, unexpected_field_behavior="infer" if schema is None else "ignore"
    )
    reading = arrow_json.ReadOptions(use_threads=False, block_size=len(block.data) + 1)
    try:
        table = arrow_json.read_json(pa.py_buffer(block.data), reading, options)
        # One object a line: else lines could not be named, and two on a line are a mistake.
        lines = block.data.count(b"\n")
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
    for number, line in enumerate(block.data.split(b"\n"), start=block.line):
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
                raise DataError(message, path=block.path, line=number) from None
    names = schema.names if schema is not None else list(dict.fromkeys(k for r in rows for k in r))
    columns = [pa.array([_plain(row.get(name)) for row in rows], pa.string()) for name in names]
    table = pa.table(dict(zip(names, columns, strict=True)))
    return Chunk(table, block.path, lambda row: lines[row], bad)


def _plain(value: Any) -> str | None:
    """A JSON value as a cell of a table."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False)


def read_columnar(path: str, format: str, columns: list[str] | None, rows: int) -> Iterator[Chunk]:
    """Read a Parquet file, an Arrow file or an Arrow stream, in batches.

    Lines are rows here, counted from 1.
    """
    done = 0
    try:
        for batch in _batches(path, format, columns, rows):
            start = done + 1
            yield Chunk(pa.Table.from_batches([batch]), path, partial(add, start))
            done += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        what = "Parquet" if format == "parquet" else "Arrow"
        message = f"the {what} file cannot be read: {error}"
        raise DataError(message, path=path, line=done + 1 if done else None) from None


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
            batch.validate(full=True)
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


MISSING = make_strings(["", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"])
