"""Tables written to files, part by part, in the format of their names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from rosenblatt.data.arrow_tables import without_nulls
from rosenblatt.data.lines import LINE_FORMATS, header_of, lines_of
from rosenblatt.errors import DataError, OptionError

_SUFFIXES = {
    ".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".txt": "text", ".parquet": "parquet",
    ".arrow": "arrow",
}  # fmt: skip
_COMPRESSED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}
OUTPUT_FORMATS = tuple(_SUFFIXES.values())


def output_format(out: str | os.PathLike[str], to: str | None = None) -> tuple[str, str | None]:
    """The format and the compression that the name of an output tells; `to` names the format.

    >>> output_format("a.csv.gz"), output_format("a.zst", "jsonl")
    (('csv', 'gzip'), ('jsonl', 'zstd'))
    """
    suffixes = [suffix.lower() for suffix in Path(out).suffixes]
    compression = _COMPRESSED.get(suffixes.pop()) if suffixes[-1:] and suffixes[-1] in _COMPRESSED \
        else None  # fmt: skip
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
    """A file, or one that compresses what is written to it."""
    if compression is None:
        yield file
        return
    # A stream that is closed would close the file: what replaces another has yet to be synced.
    with pa.CompressedOutputStream(_Unclosed(file), compression) as stream:
        yield stream


class _Unclosed:
    """A file to write to that stays open when it is closed."""

    closed = False

    def __init__(self, file: Any) -> None:
        self.write, self.flush = file.write, file.flush

    def close(self) -> None:
        """Leave it open."""


@contextmanager
def writer(file: Any, format: str, header: bool = True) -> Iterator[Callable[[pa.Table], None]]:
    """A function that writes tables to a file in a format; a header, where there may be one."""
    if format in LINE_FORMATS:
        begun = not header

        def write(table: pa.Table) -> None:
            nonlocal begun
            if not begun:
                file.write(header_of(table.column_names, format))
            begun = True
            file.write(lines_of(table, format))

        yield write
    else:
        with ExitStack() as stack:
            yield _columnar(file, format, stack)


def _columnar(file: Any, format: str, stack: ExitStack) -> Callable[[pa.Table], None]:
    opened: Any = None
    schema = pa.schema([])

    def write(table: pa.Table) -> None:
        nonlocal opened, schema
        if opened is None:
            schema = without_nulls(table.schema)
            opened = stack.enter_context(_open_columnar(file, format, schema))
        try:
            opened.write_table(table.cast(schema))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise DataError(f"the rows differ in type from the first ones: {error}") from None

    return write


def _open_columnar(file: Any, format: str, schema: pa.Schema) -> Any:
    if format == "arrow":
        return pa.ipc.new_file(file, schema)
    from pyarrow import parquet

    return parquet.ParquetWriter(file, schema, compression="zstd")
