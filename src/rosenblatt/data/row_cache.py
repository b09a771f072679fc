"""A cache folder: rows of files hashed once for many runs, opened like a file."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rosenblatt.atomic_files import atomic_write
from rosenblatt.data.features import Features
from rosenblatt.data.readers import Piece, Reader
from rosenblatt.data.source import Batch, Source
from rosenblatt.data.sparse_lines import Lines
from rosenblatt.errors import DataError
from rosenblatt.kernels.text import Rows

FORMAT, VERSION = "rosenblatt-cache", 3


def write_cache(source: Source, folder: str | os.PathLike[str]) -> int:
    """Hash all batches of a source into a folder; return the number of rows.

    The rows are in the Arrow file ``rows.arrow``, the table of the first batch in ``first.arrow``.
    ``about.json``, which has checksums of both, is written last and makes the folder valid.
    """
    if source.features.separator is not None:
        raise DataError("rows of several labels cannot be cached", path=source.files[0])
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError("exists already; remove it first", path=target)
    target.mkdir(parents=True, exist_ok=True)
    checksums = []
    with (target / "rows.arrow").open("wb") as file:
        with pa.ipc.new_file(file, _SCHEMA) as rows:
            for batch in source:
                record = _record(batch)
                rows.write_batch(record)
                checksums.append(_checksum(record))
        file.flush()
        os.fsync(file.fileno())
    first = source.first_table()
    if first is not None:
        with (
            atomic_write(target / "first.arrow") as named,
            pa.ipc.new_file(named, first.schema) as table,
        ):
            table.write_table(first)
    about = {
        "format": FORMAT,
        "version": VERSION,
        "features": source.features.to_json(),
        "classes": source.classes,
        "fingerprint": source.fingerprint(),
        "counts": [source.bad, dict(source.missing)],
        "checksums": checksums,
        "first": None if first is None else zlib.crc32((target / "first.arrow").read_bytes()),
    }
    about["checksum"] = _checksum_of_plain(about)
    with atomic_write(target / "about.json", "w") as written:
        json.dump(about, written)
    return source.rows


_ENTRY = pa.struct({"index": pa.uint32(), "value": pa.float32()})
_SCHEMA = pa.schema({"entries": pa.large_list(_ENTRY), "code": pa.int32(), "weight": pa.float64()})


def _record(batch: Batch) -> pa.RecordBatch:
    """The rows of a batch as an Arrow record batch."""
    assert batch.labels is not None, "a cache is for training"
    indptr, indices, values = batch.rows
    weights = np.ones(len(batch)) if batch.weights is None else batch.weights
    entries = pa.StructArray.from_arrays([pa.array(indices), pa.array(values)], fields=list(_ENTRY))
    lists = pa.LargeListArray.from_arrays(pa.array(indptr.astype(np.int64)), entries)
    columns = [lists, pa.array(batch.labels, pa.int32()), pa.array(weights, pa.float64())]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def _checksum(record: pa.RecordBatch) -> int:
    """The checksum of the arrays of a batch."""
    total = 0
    for array in _arrays(record):
        total = zlib.crc32(np.ascontiguousarray(array).data if array.size else b"", total)
    return total


def _arrays(record: pa.RecordBatch) -> tuple[np.ndarray, ...]:
    """Row offsets, indices, values, codes and weights of a batch."""
    lists, codes, weights = record.columns
    offsets = np.from_dlpack(lists.offsets)
    used, begin = slice(int(offsets[0]), int(offsets[-1])), offsets - offsets[0]
    indices, values = (np.from_dlpack(lists.values.field(i))[used] for i in range(2))
    return begin, indices, values, np.from_dlpack(codes), np.from_dlpack(weights)


def _checksum_of_plain(about: dict[str, Any]) -> int:
    plain = {name: value for name, value in about.items() if name != "checksum"}
    return zlib.crc32(json.dumps(plain, sort_keys=True).encode())


class CacheReader(Reader):
    """A folder written by :func:`write_cache`."""

    def __init__(self, folder: str) -> None:
        if not (Path(folder) / "about.json").exists():
            kind = "folder" if Path(folder).is_dir() else "file"
            raise DataError(
                f"is a {kind}, but neither a cache written by rosenblatt convert nor a folder with "
                "a folder of text files per class; name the files to read, such as '*.csv'",
                path=folder,
            )
        self.files, self.format, self.header = [folder], "cache", False
        with self._reading():
            about = json.loads((Path(folder) / "about.json").read_text("utf-8"))
            if about["format"] != FORMAT or about["version"] != VERSION:
                raise ValueError("another format or version; convert the files again")
            if about["checksum"] != _checksum_of_plain(about):
                raise ValueError("about.json is not what was written (its checksum differs)")
            self.features = Features.from_json(about["features"])
            self.classes = [str(name) for name in about["classes"]]
            self._bad, self._missing = about["counts"]
            self._rows = pa.ipc.open_file(pa.memory_map(str(Path(folder) / "rows.arrow")))
            if self._rows.schema != _SCHEMA:
                raise ValueError("rows.arrow has other columns")
            self._checksums, self._first_sum = list(about["checksums"]), about["first"]
            if self._rows.num_record_batches != len(self._checksums):
                raise ValueError("rows.arrow is not what was written: batches are missing")
        self._fingerprint = about["fingerprint"]

    @contextmanager
    def _reading(self, what: str = "") -> Iterator[None]:
        """Turn errors into a DataError that names the folder and the part that cannot be read."""
        try:
            yield
        except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, RecursionError) as e:
            message = f"cannot be read as a cache: {what}{e}"
            raise DataError(message, path=self.files[0]) from None

    def fingerprint(self) -> dict[str, Any]:
        """The fingerprint of the files that were hashed."""
        return dict(self._fingerprint)

    def last_changes(self) -> list[int | None]:
        """The time when the folder was written: the original files may be gone."""
        return [(Path(self.files[0]) / "about.json").stat().st_mtime_ns]

    def head(self) -> Any:
        """The table of the first batch, to name hashed features; None for sparse formats.

        It has only the columns that were hashed.
        """
        if self._first_sum is None:
            return None
        with self._reading("first.arrow: "):
            content = (Path(self.files[0]) / "first.arrow").read_bytes()
            if zlib.crc32(content) != self._first_sum:
                raise ValueError("it is not what was written (its checksum differs)")
            table = pa.ipc.open_file(pa.py_buffer(content)).read_all()
            table.validate(full=True)
            if missing := {c.name for c in self.features.columns} - set(table.column_names):
                raise ValueError(f"it has no column {min(missing)!r}")
        return table

    def pieces(self, columns: list[str] | None, numbers: Collection[str] = ()) -> Iterator[Piece]:
        """The batches; the counts of bad rows and missing values are in the first."""
        for number in range(self._rows.num_record_batches):
            with self._reading(f"batch {number + 1}: "):
                record = self._rows.get_batch(number)
            yield partial(self._read, number, record)

    def _read(self, number: int, record: pa.RecordBatch) -> Lines:
        """Verify a batch and return its rows."""
        with self._reading(f"batch {number + 1}: "):
            record.validate(full=True)
            if _checksum(record) != self._checksums[number]:
                raise ValueError("it is not what was written (its checksum differs)")
            begin, indices, values, codes, weights = _arrays(record)
            if indices.max(initial=0) >> self.features.ngrams.bits or not np.all(
                (codes >= 0) & (codes < len(self.classes))
            ):
                raise ValueError("a column or a class is out of range")
            if not np.isfinite(values).all() or not np.all((weights >= 0) & (weights < np.inf)):
                raise ValueError("a value or a weight is not finite")
        rows = Rows(begin.astype(np.uint64), np.array(indices), np.array(values))
        bad, missing = (int(self._bad), self._missing) if number == 0 else (0, {})
        size, path = 8 * len(indices), self.files[0]
        omega = None if np.all(weights == 1.0) else weights
        return Lines(rows, self.classes, codes, omega, path, lambda row: None, bad, missing, size)
