"""Tables from one format to another."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from rosenblatt.data.arrow_tables import fit_types, null_types_as_strings
from rosenblatt.data.bytes import BLOCK_BYTES
from rosenblatt.data.cells import plain_strings, to_numbers
from rosenblatt.data.files import named_format
from rosenblatt.data.open import open, reader_of
from rosenblatt.data.readers import SPARSE, Reader
from rosenblatt.data.row_cache import write_cache
from rosenblatt.data.schema import detect_features, missing_words
from rosenblatt.data.source import Source
from rosenblatt.data.sparse_writers import sparse_lines_of
from rosenblatt.data.writers import compressed, output_format, writer
from rosenblatt.errors import DataError, OptionError
from rosenblatt.files import atomic_write, check_output
from rosenblatt.kernels.text import Ngrams

_CELLS = ("csv", "tsv", "fasttext")
_TYPED = ("parquet", "arrow")
_FLAT = ("csv", "tsv", "text")


def convert(files: Iterable[str], out: str | os.PathLike[str], **reading: Any) -> tuple[int, int]:
    """Write the tables of files into one, with numbers as numbers and all else as text.

    Parameters
    ----------
    files : paths
    out : path
        A .parquet, .arrow, .csv, .tsv or .jsonl file, also as .gz or .zst; a .svm, .vw or .ft file
        (svmlight, Vowpal Wabbit, fastText); or a .cache folder, into which the rows are hashed for
        training.
    **reading
        Options of :func:`rosenblatt.data.open`.

    Returns
    -------
    rows, bad : int
        Rows written and rows left out.
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
    rows = bad = 0
    schema, skip = None, bool(reading.get("skip_bad_rows"))
    source = _table(files, reading, skip)
    format, packing = output_format(out)
    check_output(Path(out), source.files)
    with (
        atomic_write(out) as file,
        compressed(file, packing) as stream,
        writer(stream, format) as write,
    ):
        for chunk, kinds in source.chunks():
            words = source.features.missing_words
            typed = chunk._replace(table=_typed(chunk.table, kinds, source.format, words))
            schema = schema or null_types_as_strings(typed.table.schema)
            if format in _FLAT:
                _must_be_flat(typed.table.schema, format, source.files[0])
            fitting = fit_types(typed, schema, skip) if format in _TYPED else typed
            write(fitting.table)
            rows, bad = rows + fitting.table.num_rows, bad + fitting.bad
    return rows, bad


def _write_sparse(source: Source, out: Path, format: str) -> tuple[int, int]:
    """Write the features of a table as lines that begin with the label."""
    _must_be_table(source)
    rows = bad = 0
    check_output(out, source.files)
    with atomic_write(out) as file, compressed(file, output_format(out, "text")[1]) as stream:
        for chunk, _ in source.chunks():
            stream.write(sparse_lines_of(chunk, format, source.features))
            rows, bad = rows + chunk.table.num_rows, bad + chunk.bad
    return rows, bad


def _table(files: Iterable[str], reading: dict[str, Any], skip: bool) -> Source:
    """Files that are tables, as a source whose rows are taken as they stand."""
    words, block_bytes = missing_words(reading.get("missing")), reading.get("block_bytes")
    reader = reader_of(
        files, reading.get("format"), reading.get("header"), skip, block_bytes or BLOCK_BYTES,
        missing=words,
    )  # fmt: skip
    _must_be_table(reader)
    features = detect_features(reader, 1, None, None, Ngrams(), words)
    return Source(reader, features, True, None, skip)


def _must_be_table(source: Reader | Source) -> None:
    if source.format in (*SPARSE, "cache"):
        message = f"{source.format} files are not tables"
        if source.format != "cache":
            message += "; their rows can be hashed into a .cache folder"
        raise DataError(message, path=source.files[0])


def _must_be_flat(schema: pa.Schema, format: str, path: str) -> None:
    for field in schema:
        if pa.types.is_nested(field.type):
            message = (
                f"a cell of a .{format} file cannot hold {field.type}; write to a .jsonl, .parquet "
                "or .arrow file, or take what is in it into columns of their own first"
            )
            raise DataError(message, path=path, column=field.name)


def _typed(
    table: pa.Table, kinds: dict[str, str], format: str, missing: tuple[str, ...]
) -> pa.Table:
    """Numbers and strings where the file has but cells; what has a type keeps it."""
    columns = {}
    for name in table.column_names:
        column = table[name]
        if format in _CELLS or pa.types.is_binary(column.type):
            if kinds.get(name) == "number":
                column = pa.array(to_numbers(column, missing)[0], from_pandas=True)
            else:
                column = plain_strings(column)
        columns[name] = column
    return pa.table(columns)
