"""Tables from one format to another, also as svmlight, Vowpal Wabbit and fastText lines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rosenblatt.atomic_files import atomic_write, check_output
from rosenblatt.data.arrow_tables import Chunk, fit_types, null_types_as_strings
from rosenblatt.data.bytes import BLOCK_BYTES
from rosenblatt.data.cells import label_strings, plain_strings, to_numbers, trimmed_strings
from rosenblatt.data.features import Features
from rosenblatt.data.files import named_format
from rosenblatt.data.open import open, reader_of
from rosenblatt.data.readers import SPARSE, Reader
from rosenblatt.data.row_cache import write_cache
from rosenblatt.data.schema import detect_features, missing_words
from rosenblatt.data.source import Source
from rosenblatt.data.writers import compressed, joined_bytes, output_format, writer
from rosenblatt.errors import DataError, OptionError, listed, shown
from rosenblatt.kernels.text import Ngrams

_UNTYPED = ("csv", "tsv", "fasttext")
_TYPED = ("parquet", "arrow")
_WITHOUT_NESTING = ("csv", "tsv", "text")
_VW_SPECIAL = r"[\s:|]+"


def convert(files: Iterable[str], out: str | os.PathLike[str], **reading: Any) -> tuple[int, int]:
    """Write the rows of files to one file of another format.

    Parameters
    ----------
    files : paths
    out : path
        A .parquet, .arrow, .csv, .tsv or .jsonl file, also as .gz or .zst; a .svm, .vw or .ft file
        (svmlight, Vowpal Wabbit, fastText); or a .cache folder of hashed rows for training.
    **reading
        Options of :func:`rosenblatt.data.open`.

    Returns
    -------
    rows, bad : int
        Rows written and rows skipped.
    """
    if Path(out).suffix == ".cache":
        hashed = open(files, **reading)
        return write_cache(hashed, out), hashed.bad
    named = named_format(os.fspath(out))
    if named in ("svmlight", "vw", "fasttext"):
        return _write_sparse(open(files, **reading), Path(out), named)
    for name in ("label", "text", "columns", "ngrams"):
        if reading.get(name) is not None:
            message = "has no effect unless rows are hashed into a .cache folder or written as "
            raise OptionError(f"{name} {message}svmlight, vw or fasttext lines")
    return _write_table(files, out, reading)


def _write_table(
    files: Iterable[str], out: str | os.PathLike[str], reading: dict[str, Any]
) -> tuple[int, int]:
    """Write all columns, numbers as numbers and all else as text; return rows and bad rows."""
    rows = bad = 0
    schema, skip = None, bool(reading.get("skip_bad_rows"))
    words, block_bytes = missing_words(reading.get("missing")), reading.get("block_bytes")
    reader = reader_of(
        files, reading.get("format"), reading.get("header"), skip, block_bytes or BLOCK_BYTES,
        missing=words,
    )  # fmt: skip
    _require_table(reader)
    source = Source(
        reader, detect_features(reader, 1, None, None, Ngrams(), words), True, None, skip
    )
    format, compression = output_format(out)
    check_output(Path(out), source.files)
    with (
        atomic_write(out) as file,
        compressed(file, compression) as stream,
        writer(stream, format) as write,
    ):
        for chunk, kinds in source.chunks():
            typed = chunk._replace(table=_typed(chunk.table, kinds, source.format, words))
            schema = schema or null_types_as_strings(typed.table.schema)
            if format in _WITHOUT_NESTING:
                _refuse_nested(typed.table.schema, format, source.files[0])
            written = fit_types(typed, schema, skip) if format in _TYPED else typed
            write(written.table)
            rows, bad = rows + written.table.num_rows, bad + written.bad
    return rows, bad


def _require_table(source: Reader | Source) -> None:
    if source.format in (*SPARSE, "cache"):
        message = f"{source.format} files are not tables"
        if source.format != "cache":
            message += "; their rows can be hashed into a .cache folder"
        raise DataError(message, path=source.files[0])


def _refuse_nested(schema: pa.Schema, format: str, path: str) -> None:
    for field in schema:
        if pa.types.is_nested(field.type):
            message = (
                f"a cell of a .{format} file cannot hold {field.type}; write to a .jsonl, .parquet "
                "or .arrow file, or put its values into separate columns first"
            )
            raise DataError(message, path=path, column=field.name)


def _typed(
    table: pa.Table, kinds: dict[str, str], format: str, missing: tuple[str, ...]
) -> pa.Table:
    """The table with numbers and strings in place of cells without a type."""
    columns = {}
    for name in table.column_names:
        column = table[name]
        if format in _UNTYPED or pa.types.is_binary(column.type):
            if kinds.get(name) == "number":
                column = pa.array(to_numbers(column, missing)[0], from_pandas=True)
            else:
                column = plain_strings(column)
        columns[name] = column
    return pa.table(columns)


def _write_sparse(source: Source, out: Path, format: str) -> tuple[int, int]:
    """Write label and features of a table as lines; return rows and bad rows."""
    _require_table(source)
    rows = bad = 0
    check_output(out, source.files)
    with atomic_write(out) as file, compressed(file, output_format(out, "text")[1]) as stream:
        for chunk, _ in source.chunks():
            stream.write(_sparse_lines(chunk, format, source.features))
            rows, bad = rows + chunk.table.num_rows, bad + chunk.bad
    return rows, bad


def _sparse_lines(chunk: Chunk, format: str, features: Features) -> bytes:
    """The rows of a table, one line each: the label, then the columns that are features.

    svmlight numbers the columns from 1 and omits zeros; Vowpal Wabbit gets ``name:value``,
    ``name=category`` and a namespace for the words of each text; fastText the texts alone.
    """
    entries = {"svmlight": _svmlight, "vw": _vw, "fasttext": _fasttext}[format](chunk, features)
    label = _labels(chunk, str(features.label), format)
    lines = pc.binary_join_element_wise(label, *entries, " ", null_handling="skip")
    return joined_bytes(pc.binary_join_element_wise(lines, "", "\n"))


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


def _svmlight(chunk: Chunk, features: Features) -> list[pa.Array]:
    _refuse_kinds_but("number", features, chunk.path)
    entries = []
    for number, column in enumerate(features.columns, 1):
        values = pa.array(to_numbers(chunk.table[column.name], features.missing_words)[0])
        message = "a missing value would be read as 0 from an svmlight file: fill it first"
        _refuse(chunk, column.name, pc.is_nan(values), message)
        entries.append(_prefixed(f"{number}:", values, pc.equal(values, 0.0)))
    return entries


def _vw(chunk: Chunk, features: Features) -> list[pa.Array]:
    entries = [pa.repeat("|", chunk.table.num_rows)]
    for column in sorted(features.columns, key=lambda column: column.kind == "text"):
        cells, name = chunk.table[column.name], re.sub(_VW_SPECIAL, "_", column.name)
        if column.kind == "number":
            numbers = pa.array(to_numbers(cells, features.missing_words)[0])
            entries.append(_prefixed(f"{name}:", numbers, pc.is_nan(numbers)))
            continue
        is_text = column.kind == "text"
        words = trimmed_strings(cells, features.missing_words)
        clean = pc.replace_substring_regex(words, _VW_SPECIAL, " " if is_text else "_")
        entries.append(_prefixed(f"|{name} " if is_text else f"{name}=", clean, pc.is_null(clean)))
    return entries


def _fasttext(chunk: Chunk, features: Features) -> list[pa.Array]:
    _refuse_kinds_but("text", features, chunk.path)
    texts = (trimmed_strings(chunk.table[c.name], features.missing_words) for c in features.columns)
    # A word of a text must not be read as a label.
    return [
        pc.replace_substring(pc.replace_substring_regex(t, r"\s+", " "), "__label__", "label")
        for t in texts
    ]


def _prefixed(prefix: str, values: pa.Array, omitted: pa.Array) -> pa.Array:
    """Values with a prefix; null where they are omitted."""
    whole = pc.binary_join_element_wise(prefix, values.cast(pa.string()), "")
    return pc.if_else(omitted, pa.nulls(1, pa.string())[0], whole)


def _refuse_kinds_but(kind: str, features: Features, path: str) -> None:
    others = [f"{c.name} ({c.kind})" for c in features.columns if c.kind != kind]
    if others:
        message = f"such lines hold columns of kind {kind} alone, not {listed(others)}: "
        message += "leave them out (--column NAME=ignore), or write a .vw file"
        raise DataError(message, path=path)


def _refuse(
    chunk: Chunk, column: str, wrong: pa.Array, message: str, cells: pa.Array | None = None
) -> None:
    """Raise DataError for the first row that is `wrong`, with its cell."""
    rows = np.flatnonzero(wrong.to_numpy(zero_copy_only=False))
    if len(rows):
        row = int(rows[0])
        found = "" if cells is None else f" {shown(cells[row].as_py())}"
        line = chunk.line_of(row)
        raise DataError(message + found, path=chunk.path, line=line, column=column)
