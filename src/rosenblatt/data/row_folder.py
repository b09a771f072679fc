"""Files hashed once for many runs: a folder of rows that opens like a file."""

from __future__ import annotations

import json
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rosenblatt.data.features import Features
from rosenblatt.data.labels import LabelSets
from rosenblatt.data.parallel import in_order
from rosenblatt.data.source import Batch, Made, Source
from rosenblatt.errors import DataError
from rosenblatt.files import replacing
from rosenblatt.kernels.text import Rows

FORMAT, VERSION = "rosenblatt-cache", 3


def write_cache(source: Source, folder: str | os.PathLike[str]) -> int:
    """Hash all batches of a source into a folder; the number of rows.

    The rows lie in the Arrow file ``rows.arrow``, the table of the first batch in
    ``first.arrow``. The folder is a cache only when its last file, ``about.json``, is there, which
    holds checksums of the others.
    """
    if source.features.separator is not None:
        raise DataError("rows of several labels cannot be cached", path=source.files[0])
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError("is in the way; remove it first", path=target)
    target.mkdir(parents=True, exist_ok=True)
    first, checksums = None, []
    with (target / "rows.arrow").open("wb") as file:
        with pa.ipc.new_file(file, _SCHEMA) as rows:
            # Checksums are made in a thread of their own, while Arrow writes the batch before.
            for found, record, checksum in in_order(iter(source), _sealed, 1, 1):
                first = found if first is None else first
                rows.write_batch(record)
                checksums.append(checksum)
        file.flush()
        os.fsync(file.fileno())
    first = source.first_table() if first is None else first
    if first is not None:
        with (
            replacing(target / "first.arrow") as named,
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
    with replacing(target / "about.json", "w") as written:
        json.dump(about, written)
    return source.rows


_ENTRY = pa.struct({"index": pa.uint32(), "value": pa.float32()})
_SCHEMA = pa.schema({"entries": pa.large_list(_ENTRY), "code": pa.int32(), "weight": pa.float64()})


def _record(batch: Batch) -> pa.RecordBatch:
    """A batch of rows as a batch of Arrow."""
    assert batch.labels is not None, "a cache is for training"
    indptr, indices, values = batch.rows
    weights = np.ones(len(batch)) if batch.weights is None else batch.weights
    entries = pa.StructArray.from_arrays([pa.array(indices), pa.array(values)], fields=list(_ENTRY))
    lists = pa.LargeListArray.from_arrays(pa.array(indptr.astype(np.int64)), entries)
    columns = [lists, pa.array(batch.labels, pa.int32()), pa.array(weights, pa.float64())]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def _sealed(batch: Batch) -> tuple[pa.Table | None, pa.RecordBatch, int]:
    """The table of a batch, its rows as a batch of Arrow, and their checksum."""
    record = _record(batch)
    return batch.table, record, _checksum(record)


def _checksum(record: pa.RecordBatch) -> int:
    """A checksum of the numbers of a batch."""
    total = 0
    for array in _arrays(record):
        total = zlib.crc32(np.ascontiguousarray(array).data if array.size else b"", total)
    return total


def _arrays(record: pa.RecordBatch) -> tuple[np.ndarray, ...]:
    """Where rows begin, indices, values, codes and weights of a batch."""
    lists, codes, weights = record.columns
    offsets = np.from_dlpack(lists.offsets)
    used, begin = slice(int(offsets[0]), int(offsets[-1])), offsets - offsets[0]
    indices, values = (np.from_dlpack(lists.values.field(i))[used] for i in range(2))
    return begin, indices, values, np.from_dlpack(codes), np.from_dlpack(weights)


def _checksum_of_plain(about: dict[str, Any]) -> int:
    plain = {name: value for name, value in about.items() if name != "checksum"}
    return zlib.crc32(json.dumps(plain, sort_keys=True).encode())


class RowFolder(Source):
    """A folder written by :func:`write_cache`, as a source of batches.

    If `features` of a model are given, the rows must have been hashed for the same.
    """

    def __init__(
        self, folder: str, features: Features | None = None, classes: Iterable[str] | None = None
    ) -> None:
        if not (Path(folder) / "about.json").exists():
            raise DataError(
                "is a folder, but neither a cache written by rosenblatt convert nor one with a "
                "folder of text files per class; name the files in it, such as '*.csv'",
                path=folder,
            )
        try:
            about = json.loads((Path(folder) / "about.json").read_text("utf-8"))
            if about["format"] != FORMAT or about["version"] != VERSION:
                raise ValueError("another format or version; convert the files again")
            if about["checksum"] != _checksum_of_plain(about):
                raise ValueError("about.json is not what was written (its checksum differs)")
            self.features = Features.from_json(about["features"])
            self._classes = [str(name) for name in about["classes"]]
            self._bad, self._missing = about["counts"]
            self._rows = pa.ipc.open_file(pa.memory_map(str(Path(folder) / "rows.arrow")))
            if self._rows.schema != _SCHEMA:
                raise ValueError("rows.arrow has other columns")
            self._checksums, self._first = list(about["checksums"]), about["first"]
            if self._rows.num_record_batches != len(self._checksums):
                raise ValueError("rows.arrow is not what was written: batches are missing")
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise DataError(f"cannot be read as a cache: {error}", path=folder) from None
        if features is not None and features != self.features:
            raise DataError("the rows were hashed for other features", path=folder)
        self._folder, self._fingerprint = folder, about["fingerprint"]
        self.labelled, self.kept_columns, self._closed = True, (), True
        self.rows, self.bad, self.missing = 0, 0, Counter[str]()
        self.label_sets = LabelSets()
        self.expect(self._classes if classes is None else classes)

    @property
    def files(self) -> list[str]:
        """The folder."""
        return [self._folder]

    @property
    def format(self) -> str:
        """Always ``"cache"``."""
        return "cache"

    def fingerprint(self) -> dict[str, Any]:
        """That of the files that were hashed."""
        return dict(self._fingerprint)

    def last_changes(self) -> list[int | None]:
        """When the folder was written: the files that were hashed may be gone."""
        return [(Path(self._folder) / "about.json").stat().st_mtime_ns]

    def first_table(self) -> pa.Table | None:
        """The table of the first batch, kept to name features by their words."""
        if self._first is None:
            return None
        try:
            content = (Path(self._folder) / "first.arrow").read_bytes()
            if zlib.crc32(content) != self._first:
                raise ValueError("it is not what was written (its checksum differs)")
            table = pa.ipc.open_file(pa.py_buffer(content)).read_all()
            table.validate(full=True)
            if missing := {c.name for c in self.features.columns} - set(table.column_names):
                raise ValueError(f"it has no column {min(missing)!r}")
        except (pa.ArrowException, OSError, ValueError) as error:
            message = f"cannot be read as a cache: first.arrow: {error}"
            raise DataError(message, path=self._folder) from None
        return table

    def first_rows(self) -> pa.Table | None:
        """The columns of the first rows that were hashed."""
        return self.first_table() if self.features.origin == "table" else None

    def batches(self, start: int = 0, lent: bool = False) -> Iterator[Batch]:
        """The batches from number `start` on; each in memory of its own, lent or not."""
        foreign = set(self._classes) - set(self.classes)
        if foreign:
            message = f"the label {min(foreign)!r} is not a class of the model"
            raise DataError(message, path=self._folder)
        codes_of = np.array([self.classes.index(name) for name in self._classes], dtype=np.int32)
        self.bad, self.missing = int(self._bad), Counter(self._missing)
        numbers = range(start, self._rows.num_record_batches)
        # Read and checked in a thread of its own, while the batch before is learned from.
        read = in_order(iter(numbers), self._read, 1, 1)
        for number, (rows, codes, weights) in zip(numbers, read, strict=True):
            self.rows += len(codes)
            table = self.first_table() if number == 0 else None
            yield Batch(rows, codes_of[codes], weights, table, 8 * len(rows.indices))

    def mapped(self, work: Callable[[Batch], Made]) -> Iterator[Made]:
        """What `work` makes of each batch; there are no columns to go with it."""
        return (work(replace(batch, labels=None, table=None)) for batch in self)

    def weigh_by(self, name: str) -> None:
        """Refused: the rows are hashed, with the weights they had."""
        raise DataError("a cache has no column of weights; train on the files", path=self._folder)

    @property
    def column_names(self) -> list[str]:
        """None: the rows are hashed."""
        return []

    @property
    def has_header(self) -> bool:
        """Never."""
        return False

    def number_columns(self) -> set[str]:
        """None: the rows are hashed."""
        return set()

    def _read(self, number: int) -> tuple[Rows, np.ndarray, np.ndarray | None]:
        """The rows, codes and weights of a batch, once they are known to be sound."""
        try:
            record = self._rows.get_batch(number)
            record.validate(full=True)
            if _checksum(record) != self._checksums[number]:
                raise ValueError("it is not what was written (its checksum differs)")
            begin, indices, values, codes, weights = _arrays(record)
            known = len(self._classes)
            if indices.max(initial=0) >> self.features.ngrams.bits or not np.all(
                (codes >= 0) & (codes < known)
            ):
                raise ValueError("a column or a class is out of range")
            if not np.isfinite(values).all() or not np.all((weights >= 0) & (weights < np.inf)):
                raise ValueError("a value or a weight is not finite")
        except (pa.ArrowException, OSError, ValueError) as error:
            message = f"cannot be read as a cache: batch {number + 1}: {error}"
            raise DataError(message, path=self._folder) from None
        rows = Rows(begin.astype(np.uint64), np.array(indices), np.array(values))
        return rows, codes, None if np.all(weights == 1.0) else weights
