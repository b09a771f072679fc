"""Rows and labels from outside: checked, and spelled as the columns of a model need them.

A checked row depends on nothing but itself, so that what a request sends cannot change how the
rows of others become features when they are hashed together.
"""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from rosenblatt.data.arrow_tables import stray_message
from rosenblatt.data.cells import make_strings
from rosenblatt.data.columns import Column
from rosenblatt.data.features import Features
from rosenblatt.data.limits import LARGEST
from rosenblatt.errors import OptionError, listed, shown
from rosenblatt.kernels.text import Rows

Row = dict[str, str | float | None]
_LONGEST_LABEL = 200
_FLAT = ("string", "large_string", "bool", "float", "double", "halffloat", "int", "uint", "null")
_DATES = ("date", "timestamp")


class Predict(NamedTuple):
    """Rows to predict; if there is a log, they are written to it, to be labelled later."""

    rows: list[Row]
    top: int = 1
    explain: bool = False


class NewLabel(NamedTuple):
    """A label for an id, with the row if the id may be unknown."""

    id: str
    label: str
    weight: float = 1.0
    row: Row | None = None


class Labels(NamedTuple):
    """Labels to write to the log, all or none."""

    labels: list[NewLabel]

    @property
    def rows(self) -> list[Row]:
        """The rows that came with labels."""
        return [label.row for label in self.labels if label.row is not None]


class RowReader:
    """Checks rows from outside and hashes them.

    >>> reader = RowReader(Features(columns=(Column("text", "text"),)))
    >>> reader.row("good fun"), reader.row({"text": "dull", "stars": 2})
    ({'text': 'good fun'}, {'text': 'dull'})
    >>> reader.row({"txet": "good"})
    Traceback (most recent call last):
    ValueError: a row has none of the columns of the model: text
    """

    def __init__(self, features: Features) -> None:
        if features.origin != "table":
            raise OptionError(
                f"the model was trained on {features.origin} data, and the service takes texts and "
                "columns by name: train it on csv, jsonl, parquet or arrow files"
            )
        self.features = features
        self._only_text = features.columns[0].name if features.is_one_text else None

    @property
    def blank(self) -> Row:
        """A row without values."""
        return self.row({column.name: None for column in self.features.columns})

    def row(self, value: Any) -> Row:
        """A row from outside with the columns of the model; ValueError if it cannot be read."""
        if isinstance(value, str) and self._only_text is not None:
            return {self._only_text: _text(value, self._only_text)}
        columns = self.features.columns
        if not isinstance(value, dict):
            text = "a text or " if self._only_text is not None else ""
            raise ValueError(f"a row is {text}an object of columns by name, not {shown(value)}")
        if not any(c.name in value for c in columns):
            names = listed([c.name for c in columns])
            raise ValueError(f"a row has none of the columns of the model: {names}")
        return {c.name: self._cell(c, value.get(c.name)) for c in columns}

    def _cell(self, column: Column, value: Any) -> str | float | None:
        if isinstance(value, dict | list):
            raise ValueError(f"column {column.name!r}: a cell is a text or a number, not a list")
        if column.kind == "number":
            return self._number(column, value)
        if value is None:
            return ""
        text = _text(value if isinstance(value, str) else json.dumps(value), column.name)
        if column.kind == "date":
            self._parsed(column, text)
        return text

    def _number(self, column: Column, value: Any) -> float | None:
        try:
            if isinstance(value, str):
                number = float(self._parsed(column, _text(value, column.name)))
            else:
                number = math.nan if value is None else float(value)
        except OverflowError:
            number = math.inf
        if math.isnan(number):
            return None
        if not abs(number - column.mean) <= LARGEST * column.scale:
            raise ValueError(f"column {column.name!r}: {shown(value)} is too large to learn from")
        return number

    def _parsed(self, column: Column, text: str) -> Any:
        numbers, stray = column.numbers(make_strings([text]), self.features.missing_words)
        if len(stray):
            raise ValueError(f"column {column.name!r}: {stray_message(column, text)}")
        return numbers[0]

    def table(self, rows: list[Row]) -> pa.Table:
        """Checked rows as a table."""
        arrays = []
        for column in self.features.columns:
            cells: list[Any] = [row[column.name] for row in rows]
            if column.kind == "number":
                numbers = np.array([math.nan if x is None else x for x in cells], np.float64)
                arrays.append(pa.array(numbers))  # NaN is a value here, not a null
            else:
                arrays.append(make_strings(cells))
        return pa.table(arrays, names=[column.name for column in self.features.columns])

    def hashed(self, rows: list[Row]) -> Rows:
        """The features of checked rows."""
        return self.features.rows(self.table(rows))

    def packed(self, rows: list[Row]) -> list[bytes]:
        """The features of each row as bytes, for a log that forgets its columns."""
        hashed = self.hashed(rows)
        indices, values = hashed.indices.astype("<u4"), hashed.values.astype("<f4")
        pointers = hashed.indptr.tolist()
        return [
            indices[start:end].tobytes() + values[start:end].tobytes()
            for start, end in pairwise(pointers)
        ]


def unpacked(content: bytes) -> Rows:
    """The row that :meth:`RowReader.packed` wrote."""
    n = len(content) // 8
    pointers = np.array([0, n], np.uint64)
    return Rows(pointers, np.frombuffer(content, "<u4", n), np.frombuffer(content, "<f4", n, 4 * n))


def _text(value: str, name: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"column {name!r}: half a surrogate pair is not text") from None
    return value


def label_of(value: Any) -> str:
    """A label from outside, spelled as in files; ValueError if it cannot be one.

    >>> label_of(" pos "), label_of(1.0), label_of(True)
    ('pos', '1', 'true')
    """
    if isinstance(value, bool):
        value = "true" if value else "false"
    elif isinstance(value, int | float):
        is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
        value = f"{value:.0f}" if is_whole else shown(value)
    label = value.strip() if isinstance(value, str) else ""
    if not label or len(label) > _LONGEST_LABEL or not label.isprintable():
        raise ValueError(
            f"a label is a text of 1 to {_LONGEST_LABEL} printable characters, not {shown(value)}"
        )
    return label


def parse_json(body: bytes) -> Any:
    """The value of a JSON text; ValueError also for NaN, infinities and endless nesting.

    >>> parse_json(b'{"a": 1}')
    {'a': 1}
    """

    def refuse(name: str) -> Any:
        raise ValueError(f"{name} is not JSON")

    try:
        return json.loads(body.decode(), parse_constant=refuse)
    except UnicodeDecodeError:
        raise ValueError("the body is not UTF-8") from None
    except RecursionError:
        raise ValueError("the body is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"the body is not JSON: {error}") from None


def parse_lines(body: bytes, most: int) -> list[Any]:
    """The values of JSON lines."""
    lines = [line for line in body.split(b"\n") if line.strip()]
    if len(lines) > most:
        raise TooManyRows(most)
    return [parse_json(line) for line in lines]


class TooManyRows(ValueError):  # noqa: N818  (named by what happened)
    """A request has more rows than one may have."""

    def __init__(self, most: int) -> None:
        super().__init__(f"a request may have {most:,} rows; send several")


def parse_arrow(body: bytes, most: int) -> list[dict[str, Any]]:
    """The rows of an Arrow stream of flat columns, not compressed; ValueError otherwise.

    A compressed stream of a few kilobytes could stand for gigabytes.
    """
    try:
        messages = list(pa.ipc.MessageReader.open_stream(pa.BufferReader(body)))
        if not messages or messages[0].type != "schema":
            raise ValueError("it has no schema")
        schema = pa.ipc.read_schema(messages[0])
        for field in schema:
            kind = str(field.type)
            if not (kind.rstrip("0123456789") in _FLAT or kind.startswith(_DATES)):
                raise ValueError(f"column {field.name!r} is of type {kind}")
        rows: list[dict[str, Any]] = []
        for message in messages[1:]:
            if message.type != "record batch" or _is_compressed(message.metadata.to_pybytes()):
                raise ValueError("compressed and dictionary batches are not taken")
            batch = pa.ipc.read_record_batch(message, schema)
            if len(rows) + batch.num_rows > most:
                raise TooManyRows(most)
            batch.validate(full=True)
            rows += pa.table(
                [
                    c.cast(pa.string()) if str(c.type).startswith(_DATES) else c
                    for c in batch.columns
                ],
                names=schema.names,
            ).to_pylist()
        return rows
    except TooManyRows:
        raise
    except (pa.ArrowException, ValueError, OSError, IndexError, OverflowError) as error:
        raise ValueError(f"the body is not a plain Arrow stream: {error}") from None


def _is_compressed(message: bytes) -> bool:
    """Whether the metadata of a record batch, a flatbuffer, names a compression."""

    def number(at: int, size: int) -> int:
        if not 0 <= at <= len(message) - size:
            raise ValueError("its metadata is damaged")
        return int.from_bytes(message[at : at + size], "little")

    def field(table: int, slot: int) -> int:
        """The place of a field of a table; 0 if it is absent."""
        vtable = (table - number(table, 4)) % 2**32
        offset = number(vtable + 4 + 2 * slot, 2) if 4 + 2 * slot < number(vtable, 2) else 0
        return table + offset if offset else 0

    header = field(number(0, 4), 2)
    return bool(field(header + number(header, 4), 3))
