"""A file in, the same rows out in the same order, with predicted labels and scores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rosenblatt.data import Batch, Source
from rosenblatt.data.arrow_tables import without_nulls
from rosenblatt.data.strings import plain_strings
from rosenblatt.errors import DataError
from rosenblatt.files import replacing
from rosenblatt.models import Model

LABEL, SCORE = "predicted", "score"
WRITERS = (".csv", ".tsv", ".jsonl", ".parquet", ".arrow")


def predict(model: Model, source: Source, out: str | os.PathLike[str]) -> int:
    """Write all columns of a source with the columns ``predicted`` and ``score``.

    The score is that of the predicted class: for two classes the distance of the score from zero
    with the sign of the decision, so that it is positive for the second class.

    Parameters
    ----------
    model : Model
    source : Source
        Opened with the model's features; needs no labels.
    out : path
        A .csv, .tsv, .jsonl, .parquet or .arrow file; it appears when all rows are written.

    Returns
    -------
    int
        The number of rows.
    """
    source.keep_table = True
    with replacing(out) as file, writer(file, Path(out).suffix.lower(), out) as write:
        for batch in source:
            write(_predicted(model, batch))
    return source.rows


def _predicted(model: Model, batch: Batch) -> pa.Table:
    scores = model.scores(batch.rows)
    codes = model.decide(scores)
    best = scores[:, 0] if len(model.classes) == 2 else scores[np.arange(len(codes)), codes]
    table = batch.table if batch.table is not None else pa.table({})
    for i, name in enumerate(table.column_names):
        if pa.types.is_binary(table[name].type) or pa.types.is_large_binary(table[name].type):
            table = table.set_column(i, name, plain_strings(table[name]))
    table = table.append_column(_free(LABEL, table), pa.array(np.array(model.classes)[codes]))
    return table.append_column(_free(SCORE, table), pa.array(best))


def _free(name: str, table: pa.Table) -> str:
    while name in table.column_names:
        name += "_"
    return name


@contextmanager
def writer(
    file: Any, suffix: str, out: str | os.PathLike[str]
) -> Iterator[Callable[[pa.Table], None]]:
    """A function that writes tables to a file in the format of its name."""
    if suffix in (".csv", ".tsv"):
        yield _csv(file, "," if suffix == ".csv" else "\t")
    elif suffix == ".jsonl":
        yield lambda table: _json(file, table)
    elif suffix in (".parquet", ".arrow"):
        with ExitStack() as stack:
            yield _columnar(file, suffix, stack)
    else:
        message = f"tables are written to {', '.join(WRITERS)} files"
        raise DataError(message, path=os.fspath(out))


def _csv(file: Any, delimiter: str) -> Callable[[pa.Table], None]:
    from pyarrow import csv

    first = True

    def write(table: pa.Table) -> None:
        nonlocal first
        options = csv.WriteOptions(include_header=first, delimiter=delimiter)
        csv.write_csv(table, file, options)
        first = False

    return write


def _json(file: Any, table: pa.Table) -> None:
    import json

    for row in table.to_pylist():
        file.write(json.dumps(row, ensure_ascii=False, default=str).encode() + b"\n")


def _columnar(file: Any, suffix: str, stack: ExitStack) -> Callable[[pa.Table], None]:
    opened: Any = None
    schema = pa.schema([])

    def write(table: pa.Table) -> None:
        nonlocal opened, schema
        if opened is None:
            schema = without_nulls(table.schema)
            opened = stack.enter_context(_open_columnar(file, suffix, schema))
        try:
            opened.write_table(table.cast(schema))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise DataError(f"the rows differ in type from the first ones: {error}") from None

    return write


def _open_columnar(file: Any, suffix: str, schema: pa.Schema) -> Any:
    if suffix == ".arrow":
        return pa.ipc.new_file(file, schema)
    from pyarrow import parquet

    return parquet.ParquetWriter(file, schema, compression="zstd")
