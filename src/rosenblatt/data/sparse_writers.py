"""Rows of tables as lines of svmlight, Vowpal Wabbit and fastText files."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rosenblatt.data.arrow_tables import Chunk
from rosenblatt.data.cells import Words, as_strings, label_strings, string_buffers, to_numbers
from rosenblatt.data.column_kinds import Column
from rosenblatt.data.features import Features
from rosenblatt.errors import DataError, listed, shown

_MARKS = r"[\s:|]+"  # what Vowpal Wabbit separates by


def sparse_lines_of(chunk: Chunk, format: str, features: Features) -> bytes:
    """The rows of a table, one line each: the label, and the columns that are features.

    svmlight numbers the columns from 1 and leaves out zeros; Vowpal Wabbit gets ``name:value``,
    ``name=category`` and a namespace for the words of each text; fastText the texts alone.

    >>> table = pa.table({"label": ["1", "-1"], "age": [41.5, 0.0], "job": ["clerk", None]})
    >>> columns = Column("age", "number"), Column("job", "category")
    >>> chunk = Chunk(table, "a.csv", lambda row: row + 2)
    >>> sparse_lines_of(chunk, "vw", Features("table", columns, label="label"))
    b'1 | age:41.5 job=clerk\\n-1 | age:0\\n'
    """
    written = {"svmlight": _svmlight, "vw": _vw, "fasttext": _fasttext}[format]
    parts = written(chunk, features.columns, features.missing_words)
    label = _labels(chunk, str(features.label), format)
    lines = pc.binary_join_element_wise(label, *parts, " ", null_handling="skip")
    offsets, data = string_buffers(pc.binary_join_element_wise(lines, "", "\n"))
    return data[int(offsets[0]) : int(offsets[-1])].tobytes()


def _labels(chunk: Chunk, name: str, format: str) -> pa.Array:
    """The labels as a format writes them."""
    labels = label_strings(chunk.table[name])
    _refuse(chunk, name, pc.is_null(labels), "the label is missing")
    if format == "fasttext":
        wrong = pc.match_substring_regex(labels, r"\s")
        _refuse(chunk, name, wrong, "labels of fastText files hold no blanks, found", labels)
        return pc.binary_join_element_wise("__label__", labels, "")
    wrong = pc.invert(pc.match_substring_regex(labels, r"^[-+]?[0-9.]+([eE][-+]?[0-9]+)?$"))
    message = f"labels of {format} files are numbers: number the classes first; found"
    _refuse(chunk, name, wrong, message, labels)
    return labels


def _svmlight(chunk: Chunk, columns: tuple[Column, ...], missing: Words) -> list[pa.Array]:
    _refuse_all_but("number", columns, chunk.path)
    parts = []
    for place, column in enumerate(columns, 1):
        numbers = pa.array(to_numbers(chunk.table[column.name], missing)[0])
        message = "a missing value would be read as 0 from an svmlight file: fill it first"
        _refuse(chunk, column.name, pc.is_nan(numbers), message)
        parts.append(_named(f"{place}:", numbers, pc.equal(numbers, 0.0)))
    return parts


def _vw(chunk: Chunk, columns: tuple[Column, ...], missing: tuple[str, ...]) -> list[pa.Array]:
    parts = [pa.repeat("|", chunk.table.num_rows)]
    for column in sorted(columns, key=lambda column: column.kind == "text"):
        cells, name = chunk.table[column.name], re.sub(_MARKS, "_", column.name)
        if column.kind == "number":
            numbers = pa.array(to_numbers(cells, missing)[0])
            parts.append(_named(f"{name}:", numbers, pc.is_nan(numbers)))
            continue
        is_text = column.kind == "text"
        words = as_strings(cells, missing)
        clean = pc.replace_substring_regex(words, _MARKS, " " if is_text else "_")
        parts.append(_named(f"|{name} " if is_text else f"{name}=", clean, pc.is_null(clean)))
    return parts


def _fasttext(chunk: Chunk, columns: tuple[Column, ...], missing: Words) -> list[pa.Array]:
    _refuse_all_but("text", columns, chunk.path)
    texts = (as_strings(chunk.table[c.name], missing) for c in columns)
    # A word of a text that looks like a label would be one.
    return [
        pc.replace_substring(pc.replace_substring_regex(t, r"\s+", " "), "__label__", "label")
        for t in texts
    ]


def _named(lead: str, values: pa.Array, left_out: pa.Array) -> pa.Array:
    """Values behind their name; nothing where they are left out."""
    whole = pc.binary_join_element_wise(lead, values.cast(pa.string()), "")
    return pc.if_else(left_out, pa.nulls(1, pa.string())[0], whole)


def _refuse_all_but(kind: str, columns: tuple[Column, ...], path: str) -> None:
    others = [f"{c.name} ({c.kind})" for c in columns if c.kind != kind]
    if others:
        message = f"such lines hold columns of kind {kind} alone, not {listed(others)}: "
        message += "leave them out (--column NAME=ignore), or write a .vw file"
        raise DataError(message, path=path)


def _refuse(
    chunk: Chunk, column: str, wrong: pa.Array, message: str, cells: pa.Array | None = None
) -> None:
    """Name the first row of those that are wrong, and what stands there."""
    rows = np.flatnonzero(wrong.to_numpy(zero_copy_only=False))
    if len(rows):
        row = int(rows[0])
        found = "" if cells is None else f" {shown(cells[row].as_py())}"
        line = chunk.line_of(row)
        raise DataError(message + found, path=chunk.path, line=line, column=column)
