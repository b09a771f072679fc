"""Separated values: CSV and TSV, how a file of them is written, and its blocks as tables.

Kernels of the engine read a block of strings, Arrow one with numbers. Only when these find fault
with it is the block read again, its values as they stand in the file, to find the row, and so the
line, to name.
"""

from __future__ import annotations

import csv
from collections.abc import Collection
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from rosenblatt.data.blocks import Block
from rosenblatt.data.strings import is_utf8, room_for_strings, strings_of
from rosenblatt.data.tables import MISSING_WORDS, Chunk
from rosenblatt.errors import DataError
from rosenblatt.kernels.cells import find_cells, gather_cells
from rosenblatt.kernels.row_ends import row_starts

_DELIMITERS = (",", "\t", ";", "|")
_SAMPLE_LINES = 50
SAMPLE_BYTES = 1 << 16
# So many bytes at a time, and what Arrow does with them stays in the cache.
_BITE = 1 << 19
# Arrow compares a missing number before it takes the blanks around it away.
_NO_NUMBERS = [blank + word for blank in ("", " ") for word in MISSING_WORDS]


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
    end = head.find(b"\n", SAMPLE_BYTES)
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


def parse_csv(
    block: Block, dialect: Dialect, columns: list[str], skip: bool, numbers: Collection[str] = ()
) -> Chunk:
    """Read the wanted columns of a block of separated values.

    Parameters
    ----------
    block : Block
        The rows, without a header.
    dialect : Dialect
        How they are written.
    columns : list of str
        The columns wanted.
    skip : bool
        Leave out bad rows rather than raise.
    numbers : collection of str
        Columns to read as numbers, missing ones as nulls. All others come as strings. But where
        something is wrong with the block, all come as bytes: what does not fit shows itself there.

    Raises
    ------
    DataError
        For a row that is not UTF-8 or has too few or too many values, unless bad rows are skipped.

    Examples
    --------
    >>> dialect = Dialect(",", True, ("age", "job"), False)
    >>> block = Block.of(b"39,tech\\n50,sales\\n", "a.csv")
    >>> parse_csv(block, dialect, ["age"], False, numbers=["age"]).table["age"].to_pylist()
    [39.0, 50.0]
    """
    if is_utf8(block.array):
        table = None if numbers else _strings(block.array, dialect, columns)
        if table is not None:
            return Chunk(table, block.path, partial(block.line_of, quoting=dialect.quoting))
        types = {name: pa.float64() if name in numbers else pa.string() for name in columns}
        try:
            table = _table(block.array, dialect, types, _BITE)
        except pa.ArrowInvalid:
            pass
        else:
            return Chunk(table, block.path, partial(block.line_of, quoting=dialect.quoting))
    return _parse_bytes(block, dialect, columns, skip)


def _strings(data: np.ndarray, dialect: Dialect, columns: list[str]) -> pa.Table | None:
    """Rows of UTF-8 as a table of strings, if they are of the shape that the kernels know."""
    width = len(dialect.names)
    if width < 2 or len(data) >= 1 << 31:
        return None
    cells, is_known = find_cells(data, ord(dialect.delimiter), dialect.quote, width)
    if not is_known:
        return None
    gathered = {}
    for name in columns:
        column = dialect.names.index(name)
        offsets, out = room_for_strings(cells[:, column])
        gather_cells(data, cells, column, offsets, out)
        gathered[name] = strings_of(offsets, out)
    return pa.table(gathered)


def _table(
    data: Any, dialect: Dialect, types: dict[str, pa.DataType], bite: int, on_ragged: Any = None
) -> pa.Table:
    """Rows of UTF-8 as a table, read `bite` bytes at a time; that they are UTF-8 is known."""
    from pyarrow import csv as arrow_csv

    return arrow_csv.read_csv(
        pa.py_buffer(data),
        read_options=arrow_csv.ReadOptions(
            column_names=list(dialect.names), use_threads=False, block_size=bite
        ),
        parse_options=arrow_csv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char='"' if dialect.quote else False,
            newlines_in_values=dialect.quote,
            invalid_row_handler=on_ragged,
        ),
        convert_options=arrow_csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=_NO_NUMBERS,
            strings_can_be_null=False,
            check_utf8=False,
        ),
    )


def _parse_bytes(block: Block, dialect: Dialect, columns: list[str], skip: bool) -> Chunk:
    """Read a block in which something is wrong, and find out where."""
    data, places, broken = _readable(block, dialect)
    ragged: list[tuple[int, str]] = []

    def note(row: Any) -> str:
        message = f"expected {row.expected_columns} values, found {row.actual_columns}"
        ragged.append((row.number - 1, message))
        return "skip"

    types = {name: pa.binary() for name in columns}
    try:
        table = _table(data, dialect, types, len(data) + 1, note) if data else _empty(types)
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


def _empty(types: dict[str, pa.DataType]) -> pa.Table:
    return pa.table({name: pa.nulls(0, kind) for name, kind in types.items()})


def _readable(
    block: Block, dialect: Dialect
) -> tuple[bytes, np.ndarray | None, list[tuple[int, str, str | None]]]:
    """Take rows that are not UTF-8 out of a block: Arrow could not report them.

    Returns the other rows, their numbers in the block (None if all are there), and for each row
    taken out its number, what is wrong, and in which column.
    """
    data = block.data
    if is_utf8(data):
        return data, None, []
    starts = row_starts(block.array, dialect.quoting)
    rows = [data[a:b] for a, b in pairwise([*starts.tolist(), len(data)])]
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
