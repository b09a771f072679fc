"""Tables written to files, part by part, in the format of their names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pyarrow as pa

from rosenblatt.data.arrow_tables import without_nulls
from rosenblatt.errors import DataError

WRITERS = (".csv", ".tsv", ".jsonl", ".parquet", ".arrow")


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
