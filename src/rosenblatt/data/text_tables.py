"""Lines of CSV, TSV and JSON parsed to tables, and detection of the dialect of CSV and TSV.

Arrow parses a block. If it fails, Python's csv or json module parses the block again to find line
and column of what is wrong.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from rosenblatt.data.arrow_tables import Chunk, Faults, drop_faults
from rosenblatt.data.bytes import BLOCK_BYTES, LONGEST_ROW, Block, ByteSource
from rosenblatt.data.cells import MISSING_WORDS, Words, is_utf8
from rosenblatt.errors import DataError, NoRowsError, shown

SAMPLE_BYTES = 1 << 16

_SAMPLE_ROWS = 50
_PART_BYTES = 1 << 19  # parsed at a time, to stay in the processor's cache
_MOST_NESTED = 500
_AS_STRINGS = (pa.string(), pa.int64(), pa.float64())

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"')
_BLANKS = re.compile(r"[ \t\n\r]*")
_JSON_ARRAY = re.compile(rb"\s*\[\s*\{")

# A global setting of the csv module: a value may be as long as a row.
csv.field_size_limit(2**31 - 1)


class Dialect(NamedTuple):
    """How a CSV or TSV file is written; `start` is the byte after the header.

    `is_certain` is False if it is a guess whether the first row is a header.
    """

    delimiter: str
    quote: bool
    names: tuple[str, ...]
    header: bool
    start: int = 0
    is_certain: bool = True

    @property
    def quoting(self) -> str:
        """The delimiter, or an empty string if quotes have no meaning."""
        return self.delimiter if self.quote else ""

    def rows(self, lines: io.StringIO) -> Any:
        """The rows, by a reader of the csv module."""
        quoting: Any = csv.QUOTE_MINIMAL if self.quote else csv.QUOTE_NONE
        return csv.reader(lines, delimiter=self.delimiter, quoting=quoting)


def detect_dialect(
    head: bytes,
    delimiters: Sequence[str],
    path: str,
    header: bool | None = None,
    mentioned: Collection[str] = (),
) -> Dialect:
    """Detect delimiter, quoting and column names from the beginning of a file.

    If there is one delimiter, as in TSV, values are quoted if all of the first line are; if there
    are several to choose from, they are. So is whether the first row is a header, unless `header`
    tells; it is if it has a name `mentioned` in the user's options. Columns without a header are
    named by number: "1", "2", ...

    >>> detect_dialect(b"39; Private; <=50K\\n50; Local-gov; >50K\\n", ",;", "adult").names
    ('1', '2', '3')
    """
    end = head.find(b"\n", SAMPLE_BYTES)
    text = (head if end < 0 else head[: end + 1]).decode("utf-8", errors="surrogateescape")
    delimiter = max(delimiters, key=partial(_fit, text))
    quote = len(delimiters) > 1 or _is_quoted(text, delimiter)
    dialect = Dialect(delimiter, quote, (), False)
    rows = _sample(text, dialect)
    if not rows:
        raise NoRowsError("the file is empty", path=path)
    first = [cell.strip() for cell in rows[0]]
    if header is None:
        header, is_certain = _is_header(first, rows[1:], mentioned)
        dialect = dialect._replace(is_certain=is_certain)
    if not header:
        return dialect._replace(names=tuple(str(i + 1) for i in range(len(first))))
    names = tuple(name.encode(errors="surrogateescape").decode(errors="replace") for name in first)
    return dialect._replace(names=names, header=True, start=_header_size(text, dialect))


def _sample(text: str, dialect: Dialect) -> list[list[str]]:
    """The first rows that are not empty."""
    return list(islice(filter(None, dialect.rows(io.StringIO(text, newline=""))), _SAMPLE_ROWS))


def _fit(text: str, delimiter: str) -> tuple[bool, int]:
    """Whether a delimiter splits sampled rows into equally many cells, and how many."""
    counts = [len(row) for row in _sample(text, Dialect(delimiter, True, (), False))] or [0]
    return counts[0] > 1 and len(set(counts[:-1] or counts)) == 1, counts[0]


def _is_quoted(text: str, delimiter: str) -> bool:
    """Whether all cells of the first line are quoted: the rule of TSV, in docs/guide/files.md."""
    first = next((line for line in io.StringIO(text, newline=None) if line.strip()), "")
    return all(map(_is_quote, first.rstrip("\n").split(delimiter)))


def _is_quote(cell: str) -> bool:
    """Whether a cell begins and ends with a quote, and quotes inside are doubled."""
    inside = cell[1:-1].replace('""', "")
    return len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in inside


def _is_header(
    first: list[str], rows: list[list[str]], mentioned: Collection[str] = ()
) -> tuple[bool, bool]:
    """Whether the first row is a header, and whether that is certain.

    It is if it has a name `mentioned` in options, or "label", and if there is a column of numbers
    below a cell that is none. It is data if it has a number, or a value that its column repeats.

    >>> _is_header(["a", "a", "label"], [["1", "2", "x"], ["3", "4", "y"]])
    (True, True)
    >>> _is_header(["p", "x", "x"], [["e", "x", "s"], ["p", "b", "s"]])
    (False, True)
    >>> _is_header(["spam", "win now"], [["ham", "see you"]])
    (True, False)
    """
    names = {name for name in (*mentioned, "label") if not _is_number(name)}
    if names & set(first):
        return True, True
    if any(_is_number(cell) for cell in first):
        return False, True
    columns = [
        {row[j].strip() for row in rows if j < len(row)} - set(MISSING_WORDS)
        for j in range(len(first))
    ]
    if any(values and all(map(_is_number, values)) for values in columns):
        return True, True
    repeated = sum(name in values for name, values in zip(first, columns, strict=True))
    # Names that occur twice are a mistake in a header, and common among data.
    return not repeated, repeated > 0 and (repeated > 1 or len(set(first)) < len(first))


def _header_size(text: str, dialect: Dialect) -> int:
    """The bytes of the first row and of empty lines before it."""
    reader = dialect.rows(io.StringIO(text, newline=""))
    next(row for row in reader if row)
    lines = islice(io.StringIO(text, newline=""), reader.line_num)
    return len("".join(lines).encode(errors="surrogateescape"))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def parse_csv(
    block: Block,
    dialect: Dialect,
    columns: list[str],
    skip: bool,
    numbers: Collection[str] = (),
    missing: Words = MISSING_WORDS,
) -> Chunk:
    """Parse the wanted columns of a block without a header.

    Columns in `numbers` become float64, null where missing, all others strings. If a cell is not
    a number, all become strings. A row that is not UTF-8 or has a wrong number of values
    raises DataError or, with `skip`, is skipped.
    """
    types = {name: pa.float64() if name in numbers else pa.string() for name in columns}
    table = None
    if is_utf8(block.array):
        table = _csv_by_arrow(block, dialect, types, missing)
        if table is None and numbers:
            strings = dict.fromkeys(columns, pa.string())
            table = _csv_by_arrow(block, dialect, strings, missing)
    if table is None:
        return _csv_by_rows(block, dialect, columns, skip)
    return Chunk(table, block.path, partial(_line_of, block, dialect))


def _csv_by_arrow(
    block: Block, dialect: Dialect, types: dict[str, pa.DataType], missing: Words = MISSING_WORDS
) -> pa.Table | None:
    """The table of a block that is known to be UTF-8, or None if Arrow fails."""
    from pyarrow import csv as arrow_csv

    parsing = arrow_csv.ParseOptions(
        delimiter=dialect.delimiter,
        quote_char='"' if dialect.quote else False,
        newlines_in_values=dialect.quote,
    )
    converting = arrow_csv.ConvertOptions(
        column_types=types,
        include_columns=list(types),
        # Arrow compares with these before it trims blanks from numbers.
        null_values=[blank + word for blank in ("", " ") for word in missing],
        strings_can_be_null=False,
        check_utf8=False,
    )
    # A chunk of a column takes a kilobyte, however few rows it has: wide tables get larger parts.
    for size in (max(_PART_BYTES, len(dialect.names) << 10), len(block.array) + 1):
        reading = arrow_csv.ReadOptions(
            column_names=list(dialect.names), use_threads=False, block_size=size
        )
        try:
            return arrow_csv.read_csv(pa.py_buffer(block.array), reading, parsing, converting)
        except pa.ArrowInvalid as error:
            if "straddl" not in str(error):  # a row is longer than a part
                return None
    return None


def _rows(block: Block, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """Lines and rows by the csv module; bytes that are not UTF-8 become surrogates."""
    text = block.data.decode(errors="surrogateescape")
    reader = dialect.rows(io.StringIO(text, newline=""))
    line = block.line
    for row in reader:
        if row:
            yield line, row
        line = block.line + reader.line_num


def _line_of(block: Block, dialect: Dialect, row: int) -> int:
    return next(islice(_rows(block, dialect), row, None))[0]


def _csv_by_rows(block: Block, dialect: Dialect, columns: list[str], skip: bool) -> Chunk:
    """Parse a block with errors row by row."""
    rows, lines = [], []
    faults: Faults = []
    for place, (line, row) in enumerate(_rows(block, dialect)):
        if fault := _fault(row, dialect.names):
            faults.append((place, *fault))
        rows.append([""] * len(dialect.names) if fault else row)
        lines.append(line)
    places = {name: j for j, name in enumerate(dialect.names)}
    arrays = [pa.array([row[places[name]] for row in rows], pa.string()) for name in columns]
    chunk = Chunk(pa.table(arrays, names=columns), block.path, lines.__getitem__)
    return drop_faults(faults, chunk, skip)


def _fault(row: list[str], names: tuple[str, ...]) -> tuple[str | None, str] | None:
    """The column, or None, and the message if a row is bad."""
    if len(row) != len(names):
        return None, f"expected {len(names)} values, found {len(row)}"
    for name, cell in zip(names, row, strict=True):
        try:
            cell.encode()
        except UnicodeEncodeError:
            return name, f"expected UTF-8, found {cell.encode(errors='surrogateescape')[:40]!r}"
    return None


def parse_json(block: Block, schema: pa.Schema | None, skip: bool) -> Chunk:
    """Parse a block of JSON lines, with the columns and types of a schema, or detect these.

    If Arrow cannot parse the block, columns with mixed types become strings. A line that is not a
    JSON object in UTF-8 raises DataError or, with `skip`, is skipped.
    """
    table = _json_by_arrow(block, schema) if is_utf8(block.array) else None
    if table is None:
        return _json_by_rows(block, schema, skip)
    return Chunk(table, block.path, block.filled_line)


def is_json_array(head: bytes) -> bool:
    """Whether a file begins like an array of JSON objects.

    >>> is_json_array(b'[ {"a": 1}'), is_json_array(b'{"a": [1]}')
    (True, False)
    """
    return _JSON_ARRAY.match(head) is not None


def json_array_blocks(source: ByteSource) -> Iterator[Block]:
    """Blocks of the objects of a JSON array, one per line, so that lines count them."""
    line, lines, size = 1, list[bytes](), 0
    try:
        for item in _array_items(_decoded(source)):
            lines.append(item.replace("\n", " ").replace("\r", " ").encode() + b"\n")
            size += len(lines[-1])
            if size >= BLOCK_BYTES:
                yield Block.of(b"".join(lines), source.path, line)
                line, lines, size = line + len(lines), [], 0
    except (ValueError, RecursionError) as error:
        place = f"object {line + len(lines):,}: {error}"
        raise DataError(f"expected an array of JSON objects: {place}", path=source.path) from None
    finally:
        source.close()
    if lines or line == 1:
        yield Block.of(b"".join(lines), source.path, line)


def _decoded(source: ByteSource) -> Iterator[str]:
    """The text of a file, in pieces."""
    decoder, room = codecs.getincrementaldecoder("utf-8")(), np.empty(_PART_BYTES, np.uint8)
    while not source.ended:
        size = source.read_into(room)
        yield decoder.decode(room[:size].tobytes(), source.ended)
    source.check(1)


def _array_items(pieces: Iterator[str]) -> Iterator[str]:
    """The objects of a JSON array as they are written; raises a ValueError where it is none.

    >>> list(_array_items(iter(['[{"a": 1}, {"b"', ': [2]} ]'])))
    ['{"a": 1}', '{"b": [2]}']
    """
    scan = json.JSONDecoder().raw_decode
    text, at, expected, fault = "", 0, "[", "the array does not end"
    while True:
        at = _BLANKS.match(text, at).end()  # type: ignore[union-attr]
        sign = text[at : at + 1]
        if sign == "{" and sign in expected:
            try:
                end = scan(text, at)[1]
            except json.JSONDecodeError as error:
                fault, sign = error.msg, ""  # unless the rest of the object comes
                if len(text) - at > LONGEST_ROW:
                    raise ValueError(fault) from None
            else:
                yield text[at:end]
                at, expected = end, ",]"
                continue
        if not sign:
            piece = next(pieces, None)
            if piece is None:
                if expected:
                    raise ValueError(fault)
                return
            text, at = text[at:] + piece, 0
        elif sign in expected:
            at, expected = at + 1, {"[": "{]", ",": "{", "]": ""}[sign]
        else:
            raise ValueError(f"expected {' or '.join(expected) or 'nothing'}, found {sign!r}")


def _json_by_arrow(block: Block, schema: pa.Schema | None) -> pa.Table | None:
    """The table, or None if Arrow fails or there is not one object per line.

    Arrow parses a line ``null`` as a row, and crashes if a block begins with one, or if values are
    nested in each other by the thousand (Arrow 26).
    """
    from pyarrow import json as arrow_json

    begins = np.append(0, np.flatnonzero(block.array == ord("\n")) + 1)[:-1]
    longest = np.diff(begins, append=len(block.array)).max(initial=0)
    if longest > _MOST_NESTED and _is_nested_deeply(block.array, begins):
        return None
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


def _is_nested_deeply(array: np.ndarray, begins: np.ndarray) -> bool:
    """Whether more than 500 brackets of a line are open at once, those in strings aside."""
    is_bracket = array == ord("[")
    is_bracket |= array == ord("{")
    ends = np.append(begins[1:], len(array))
    before = np.searchsorted(np.flatnonzero(is_bracket), np.append(begins, len(array)))
    for line in np.flatnonzero(np.diff(before) > _MOST_NESTED):
        content = _STRING.sub(b"", array[begins[line] : ends[line]].tobytes())
        signs = np.frombuffer(content, np.uint8) | 0x20  # [ differs from { in this bit
        levels = np.cumsum((signs == ord("{")).astype(np.int64) - (signs == ord("}")))
        if levels.max(initial=0) > _MOST_NESTED:
            return True
    return False


def _json_by_rows(block: Block, schema: pa.Schema | None, skip: bool) -> Chunk:
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
            value = shown(rows[place].pop(field.name))
            message = f"expected {field.type}, as in the first rows, found {value}"
            faults.append((place, field.name, message))
    names = dict.fromkeys(name for row in rows for name in row)
    kinds = names if schema is None else dict(zip(schema.names, schema.types, strict=True))
    columns = {name: _json_column([row.get(name) for row in rows], kinds[name]) for name in kinds}
    return drop_faults(faults, Chunk(pa.table(columns), block.path, lines.__getitem__), skip)


def _object(line: bytes) -> dict[str, Any]:
    value = json.loads(line.decode("utf-8"), parse_constant=lambda name: None)
    if not isinstance(value, dict):
        raise ValueError("a line holds one JSON object")
    # Half of a surrogate pair is not a character. The lists leave room for writing the value again,
    # from a function further in.
    json.dumps([[[[[[[[value]]]]]]]], ensure_ascii=False).encode("utf-8")
    return value


def _misfits(values: list[Any], kind: pa.DataType) -> list[int]:
    """The rows whose values do not fit a type; numbers and strings may be mixed as strings."""
    if kind in _AS_STRINGS or _typed_by_arrow(values, kind) is not None:
        return []
    return [row for row, value in enumerate(values) if _typed_by_arrow([value], kind) is None]


def _json_column(values: list[Any], kind: pa.DataType | None) -> pa.Array | pa.ChunkedArray:
    column = _typed_by_arrow(values, kind)
    return pa.array(map(_as_cell, values), pa.string()) if column is None else column


def _typed_by_arrow(values: list[Any], kind: pa.DataType | None) -> pa.ChunkedArray | None:
    """Values as Arrow parses them, with the given or a detected type; None if they do not fit."""
    lines = "".join(json.dumps({"": value}) + "\n" for value in values)
    schema = None if kind is None else pa.schema([("", kind)])
    table = _json_by_arrow(Block.of(lines.encode(), ""), schema)
    return None if table is None else table[""]


def _as_cell(value: Any) -> str | None:
    """A JSON value as a string cell."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
