"""The hashed rows of a shard: made once per machine, kept on its disk, made again elsewhere.

A folder holds the rows of a shard and the file ``about`` that knows their checksums. It is named
by the hash of all that decides what is in it, appears as a whole, and is checked when a process
opens it; what is damaged is made again.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
from collections import OrderedDict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from rosenblatt import tensorfile
from rosenblatt.cluster.manifest import Shard, name_of
from rosenblatt.cluster.part_reader import Reading, naming_lines
from rosenblatt.data.store import Store
from rosenblatt.errors import DataError, ModelFormatError
from rosenblatt.files import temporary_folder
from rosenblatt.kernels.packing import Numbering
from rosenblatt.models.files import damage_is_named

_FORMAT, _VERSION = "rosenblatt-shard", 1
_LARGEST = 1e15  # of a value: products of two, added up, are in the range of float32
_MOST_OPEN = 256  # shards that a process has open: of each the pointers are in memory

_lock = Lock()
_open: OrderedDict[str, ShardRows] = OrderedDict()


@dataclass
class ShardRows:
    """Rows of a shard."""

    store: Store  # packed, by places
    columns: np.ndarray  # of each place
    classes: list[str]  # the codes of the store are numbers of these
    counts: list[Any]  # rows left out as bad, missing values by column, bytes read
    digest: str  # equal rows have equal ones
    placed: tuple[str, Any] = ("", None)  # what depends on the features of all shards

    def __len__(self) -> int:
        return len(self.store)


def shard_name(shard: Shard, reading: Reading) -> str:
    """The name of a shard's rows: a hash of what decides them."""
    parts = [[part.file.about, part.start, part.end, part.file.dialect] for part in shard]
    return name_of(_VERSION, parts, reading.to_json())


def rows_of(shard: Shard, reading: Reading, folder: str | None, digest: str = "") -> ShardRows:
    """The rows of a shard: those open already, those on this machine's disk, or made now.

    Without a `folder` they are kept in one of this process or Dask worker. If their digest is
    known, others are refused: files may have changed.
    """
    kept = Path(folder) if folder is not None else Path(own_folder())
    name = shard_name(shard, reading)
    rows = _open.get(name)
    if rows is None or not (kept / name).is_dir():
        rows = _opened(kept / name) or _made(shard, reading, kept, name)
    with _lock:  # a worker may have several threads
        _open[name] = rows
        _open.move_to_end(name)
        while len(_open) > _MOST_OPEN:
            _open.popitem(last=False)
    if digest and rows.digest != digest:
        forget(name)
        raise DataError("was changed since the run began", path=shard[0].file.path)
    return rows


def forget(name: str) -> None:
    """Let go of rows that are open."""
    rows = _open.pop(name, None)
    if rows is not None:
        rows.store.close()


def own_folder() -> str:
    """Where this process keeps rows: the folder of the Dask worker it is, or a temporary one."""
    try:
        from distributed import get_worker

        return str(Path(get_worker().local_directory) / "rosenblatt-rows")
    except (ImportError, ValueError):
        return _process_folder()


@cache
def _process_folder() -> str:
    folder, lock = temporary_folder()
    atexit.register(_remove, folder, lock)
    return str(folder)


def _remove(folder: Path, lock: Any) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    lock.close()


def _opened(folder: Path) -> ShardRows | None:
    """Rows on disk; None if there are none, or if they are damaged."""
    if not (folder / "about").is_file():
        return None
    try:
        arrays, about = tensorfile.read(folder / "about", sealed=True)
        with damage_is_named(str(folder)):
            if about["format"] != _FORMAT or about["version"] != _VERSION:
                raise ValueError("another format or version")
            columns, classes = arrays["columns"], [str(name) for name in about["classes"]]
            if columns.dtype != np.uint32 or columns.ndim != 1:
                raise ValueError("columns is not a list of columns")
            store = Store.restored(folder, about["store"], len(columns), max(1, len(classes)))
            return ShardRows(store, columns, classes, list(about["counts"]), str(about["digest"]))
    except (ModelFormatError, OSError):
        shutil.rmtree(folder, ignore_errors=True)
        return None


def _made(shard: Shard, reading: Reading, kept: Path, name: str) -> ShardRows:
    """Read and hash a shard; its folder gets its name when it is whole."""
    kept.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=kept))
    try:
        with naming_lines(shard):
            _write(shard, reading, unfinished)
        try:
            os.rename(unfinished, kept / name)  # noqa: PTH104 - not onto what is there
        except OSError:
            if not (kept / name).is_dir():
                raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    rows = _opened(kept / name)
    if rows is None:
        raise DataError("the hashed rows cannot be read back; is the disk full?", path=kept)
    return rows


def _write(shard: Shard, reading: Reading, folder: Path) -> None:
    source, numbering = reading.open(shard), Numbering(1 << reading.features.ngrams.bits)
    store, size = Store(0, folder), 0
    for batch in source.batches(lent=True):
        if batch.labels is None:
            raise DataError("the file has no labels", path=source.files[0])
        _check_values(batch, source)
        room = store.room(len(batch), len(batch.rows.indices))
        store.commit(numbering.pack(batch.rows, room), batch.labels, batch.weights)
        size += batch.size
    store.flush()
    summary, columns = store.summary(), np.array(numbering.columns)
    digest = hashlib.sha256(
        repr((sorted(summary["checksums"].items()), len(store), source.classes)).encode()
        + columns.tobytes()
    ).hexdigest()[:32]
    about = {
        "format": _FORMAT,
        "version": _VERSION,
        "classes": source.classes,
        "store": summary,
        "counts": [source.bad, dict(source.missing), size],
        "digest": digest,
    }
    store.close()
    tensorfile.write(folder / "about", {"columns": columns}, about)


def _check_values(batch: Any, source: Any) -> None:
    """Refuse values whose products float32 cannot hold: weights would become infinite."""
    values = batch.rows.values
    if values.size and not np.abs(values).max() <= _LARGEST:
        raise DataError(
            f"a value is beyond {_LARGEST:g}, scaled, and cannot be learned from: correct or "
            "leave out such rows or columns",
            path=source.files[0],
        )
