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

from rosenblatt.data.cache import Store
from rosenblatt.data.features import Features
from rosenblatt.data.source import Batch, Source
from rosenblatt.engine.text import Rows
from rosenblatt.errors import DataError
from rosenblatt.files import replacing

FORMAT = "rosenblatt-cache"


def write_cache(source: Source, folder: str | os.PathLike[str]) -> int:
    """Hash all batches of a source into a folder; the number of rows.

    The folder is a cache only when its last file, ``about.json``, is there.
    """
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError("is in the way; remove it first", path=target)
    store = Store(folder=target / "rows")
    first = None
    for batch in source:
        assert batch.labels is not None, "a cache is for training"
        first = batch.table if first is None else first
        store.append(batch.rows, batch.labels, batch.weights)
    store.flush(sync=True)
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
        "store": store.summary(),
        "counts": [source.bad, dict(source.missing)],
    }
    with replacing(target / "about.json", "w") as file:
        json.dump(about, file)
    store.close()
    return source.rows


class CachedSource(Source):
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
            self._store = Store.restored(Path(folder) / "rows", about["store"], writable=False)
            self._bad, self._missing = about["counts"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"is no cache that can be read: {error}", path=folder) from None
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
        (values, indices, pointers), codes, omega = self._store.arrays()
        edges = self._store.blocks
        for block in range(start, len(edges) - 1):
            a, b = edges[block], edges[block + 1]
            first, last = int(pointers[a]), int(pointers[b])
            # Copies: training renumbers and scales the rows of a batch in place.
            rows = Rows(
                pointers[a : b + 1] - pointers[a],
                indices[first:last].copy(),
                values[first:last].copy(),
            )
            weights = omega[a:b] if len(omega) > 1 else None
            self.rows += b - a
            table = self.first_table() if block == 0 else None
            yield Batch(rows, codes_of[codes[a:b]], weights, table, 8 * (last - first))
