"""Files hashed once for many runs: a folder of rows that opens like a file."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rosenblatt.data.features import Features
from rosenblatt.data.open import Batch, Source
from rosenblatt.errors import DataError
from rosenblatt.files import replacing
from rosenblatt.kernels.text import Rows

FORMAT, VERSION = "rosenblatt-cache", 2


def write_cache(source: Source, folder: str | os.PathLike[str]) -> int:
    """Hash all batches of a source into a folder; the number of rows.

    The rows lie in the Arrow file ``rows.arrow``, the table of the first batch in
    ``first.arrow``. The folder is a cache only when its last file, ``about.json``, is there.
    """
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError("is in the way; remove it first", path=target)
    target.mkdir(parents=True, exist_ok=True)
    first = None
    with (target / "rows.arrow").open("wb") as file:
        with pa.ipc.new_file(file, _SCHEMA) as rows:
            for batch in source:
                first = batch.table if first is None else first
                rows.write_batch(_record(batch))
        file.flush()
        os.fsync(file.fileno())
    first = source.first_table() if first is None else first
    if first is not None:
        with pa.ipc.new_file(target / "first.arrow", first.schema) as table:
            table.write_table(first)
    about = {
        "format": FORMAT,
        "version": VERSION,
        "features": source.features.to_json(),
        "classes": source.classes,
        "fingerprint": source.fingerprint(),
        "counts": [source.bad, dict(source.missing)],
    }
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


class RowFolder(Source):
    """A folder written by :func:`write_cache`, as a source of batches.

    If `features` of a model are given, the rows must have been hashed for the same.
    """

    def __init__(
        self, folder: str, features: Features | None = None, classes: Iterable[str] | None = None
    ) -> None:
        try:
            about = json.loads((Path(folder) / "about.json").read_text("utf-8"))
            if about["format"] != FORMAT or about["version"] != VERSION:
                raise ValueError("another format or version")
            self.features = Features.from_json(about["features"])
            self._classes = [str(name) for name in about["classes"]]
            self._bad, self._missing = about["counts"]
            self._rows = pa.ipc.open_file(pa.memory_map(str(Path(folder) / "rows.arrow")))
            if self._rows.schema != _SCHEMA:
                raise ValueError("rows.arrow has other columns")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"cannot be read as a cache: {error}", path=folder) from None
        if features is not None and features != self.features:
            raise DataError("the rows were hashed for other features", path=folder)
        self._folder, self._fingerprint = folder, about["fingerprint"]
        self.labelled, self.keep_table, self._closed = True, False, True
        self.rows, self.bad, self.missing = 0, 0, Counter[str]()
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
        path = Path(self._folder) / "first.arrow"
        if not path.exists():
            return None
        with pa.OSFile(str(path)) as file:
            return pa.ipc.open_file(file).read_all()

    def batches(self, start: int = 0, lent: bool = False) -> Iterator[Batch]:
        """The batches from number `start` on; each in memory of its own, lent or not."""
        foreign = set(self._classes) - set(self.classes)
        if foreign:
            message = f"the label {min(foreign)!r} is not a class of the model"
            raise DataError(message, path=self._folder)
        codes_of = np.array([self.classes.index(name) for name in self._classes], dtype=np.int32)
        self.bad, self.missing = int(self._bad), Counter(self._missing)
        for number in range(start, self._rows.num_record_batches):
            rows, codes, weights = self._read(number)
            self.rows += len(codes)
            table = self.first_table() if number == 0 else None
            yield Batch(rows, codes_of[codes], weights, table, 8 * len(rows.indices))

    def _read(self, number: int) -> tuple[Rows, np.ndarray, np.ndarray | None]:
        """The rows, codes and weights of a batch, once they are known to be sound."""
        try:
            record = self._rows.get_batch(number)
            record.validate(full=True)
            lists, codes, weights = (column for column in record.columns)
            indptr, entries = np.from_dlpack(lists.offsets), lists.values
            indices, values, codes, weights = map(
                np.from_dlpack, (entries.field(0), entries.field(1), codes, weights)
            )
            known = len(self._classes)
            if indices.max(initial=0) >> self.features.ngrams.bits or not np.all(
                (codes >= 0) & (codes < known)
            ):
                raise ValueError("a column or a class is out of range")
        except (pa.ArrowException, OSError, ValueError) as error:
            message = f"cannot be read as a cache: batch {number + 1}: {error}"
            raise DataError(message, path=self._folder) from None
        first, last = int(indptr[0]), int(indptr[-1])
        rows = Rows(
            (indptr - indptr[0]).astype(np.uint64),
            np.array(indices[first:last]),
            np.array(values[first:last]),
        )
        return rows, codes, None if np.all(weights == 1.0) else weights
