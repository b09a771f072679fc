"""Files hashed once for many runs: a folder of rows that opens like a file."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rosenblatt.data.features import Features
from rosenblatt.data.open import Batch, Source
from rosenblatt.errors import DataError
from rosenblatt.files import replacing
from rosenblatt.kernels.text import Rows

FORMAT = "rosenblatt-cache"
# One file each, written from front to back; the first two hold one item per entry, the others one per row.
_KINDS: dict[str, np.dtype[Any]] = {
    "indices": np.dtype(np.uint32),
    "values": np.dtype(np.float32),
    "lengths": np.dtype(np.uint32),
    "codes": np.dtype(np.int32),
    "weights": np.dtype(np.float64),
}


def write_cache(source: Source, folder: str | os.PathLike[str]) -> int:
    """Hash all batches of a source into a folder; the number of rows.

    The folder is a cache only when its last file, ``about.json``, is there.
    """
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError("is in the way; remove it first", path=target)
    (target / "rows").mkdir(parents=True, exist_ok=True)
    blocks, entries, first = [0], 0, None
    with ExitStack() as stack:
        files = {name: stack.enter_context((target / "rows" / name).open("wb")) for name in _KINDS}
        for batch in source:
            assert batch.labels is not None, "a cache is for training"
            first = batch.table if first is None else first
            weights = np.ones(len(batch)) if batch.weights is None else batch.weights
            indptr, indices, values = batch.rows
            arrays = (indices, values, np.diff(indptr), batch.labels, weights)
            for (name, kind), array in zip(_KINDS.items(), arrays, strict=True):
                files[name].write(np.ascontiguousarray(array, dtype=kind).data)
            blocks.append(blocks[-1] + len(batch))
            entries += len(indices)
        for written in files.values():
            written.flush()
            os.fsync(written.fileno())
    first = source.first_table() if first is None else first
    if first is not None:
        with pa.ipc.new_file(target / "first.arrow", first.schema) as file:
            file.write_table(first)
    about = {
        "format": FORMAT,
        "version": 1,
        "features": source.features.to_json(),
        "classes": source.classes,
        "fingerprint": source.fingerprint(),
        "store": {"blocks": blocks, "entries": entries},
        "counts": [source.bad, dict(source.missing)],
    }
    with replacing(target / "about.json", "w") as file:
        json.dump(about, file)
    return source.rows


class RowFolder(Source):
    """A folder written by :func:`write_cache`, as a source of batches.

    Parameters
    ----------
    folder : str
        The folder.
    features, classes : optional
        Those of a model; the rows must have been hashed for the same features.
    """

    def __init__(
        self, folder: str, features: Features | None = None, classes: Iterable[str] | None = None
    ) -> None:
        try:
            about = json.loads((Path(folder) / "about.json").read_text("utf-8"))
            if about["format"] != FORMAT or about["version"] != 1:
                raise ValueError("another format or version")
            self.features = Features.from_json(about["features"])
            self._classes = [str(name) for name in about["classes"]]
            self._blocks = list(about["store"]["blocks"])
            sizes = [int(about["store"]["entries"])] * 2 + [self._blocks[-1]] * 3
            self._arrays = {
                name: _mapped(Path(folder) / "rows" / name, kind, size)
                for (name, kind), size in zip(_KINDS.items(), sizes, strict=True)
            }
            self._bad, self._missing = about["counts"]
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
            message = f"the label {min(foreign)!r} is none of the model's"
            raise DataError(message, path=self._folder)
        codes_of = np.array([self.classes.index(name) for name in self._classes], dtype=np.int32)
        self.bad, self.missing = int(self._bad), Counter(self._missing)
        indices, values, lengths, codes, omega = self._arrays.values()
        pointers = np.append(np.uint64(0), np.cumsum(lengths, dtype=np.uint64))
        is_weighted = not np.all(omega == 1.0)
        for block in range(start, len(self._blocks) - 1):
            a, b = self._blocks[block], self._blocks[block + 1]
            first, last = int(pointers[a]), int(pointers[b])
            rows = Rows(
                pointers[a : b + 1] - pointers[a],
                np.array(indices[first:last]),
                np.array(values[first:last]),
            )
            weights = omega[a:b] if is_weighted else None
            self.rows += b - a
            table = self.first_table() if block == 0 else None
            yield Batch(rows, codes_of[codes[a:b]], weights, table, 8 * (last - first))


def _mapped(path: Path, kind: np.dtype[Any], count: int) -> np.ndarray:
    """A file of so many items as an array; ValueError if it is not that long."""
    if path.stat().st_size != count * kind.itemsize:
        raise ValueError(f"{path.name} is not {count * kind.itemsize} bytes long")
    return np.memmap(path, kind, "r") if count else np.empty(0, kind)
