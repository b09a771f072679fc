"""A shard: a source of batches, as the one reader of the package reads it, and its hashed rows.

These are made once per machine, kept on its disk, and made again elsewhere. A folder holds the rows
of a shard and the file ``about`` that knows their checksums. It is named by the hash of all that
decides what is in it, appears as a whole, and is checked when a process opens it; what is damaged
is made again.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from rosenblatt import tensorfile
from rosenblatt.cluster.manifest import Manifest, Range, Shard, name_of
from rosenblatt.cluster.stores import open_file
from rosenblatt.data import Features, Source
from rosenblatt.data.arrow_tables import Chunk, null_types_as_strings, read_columnar
from rosenblatt.data.bytes import BLOCK_BYTES, Block, ByteSource
from rosenblatt.data.cells import Words
from rosenblatt.data.csv_tables import Dialect
from rosenblatt.data.readers import BATCH_ROWS, Reader
from rosenblatt.data.schema import check_scales, detect_features, fit_features, missing_words
from rosenblatt.data.store import Store
from rosenblatt.errors import DataError, ModelFormatError
from rosenblatt.files import temporary_folder
from rosenblatt.kernels.packing import Numbering
from rosenblatt.kernels.text import Ngrams
from rosenblatt.models.files import reporting_damage

_FORMAT, _VERSION = "rosenblatt-shard", 1
_LARGEST = 1e15  # of a value: products of two, added up, are in the range of float32
_MOST_OPEN = 256  # shards that a process has open: of each the pointers are in memory

_lock = Lock()
_open: OrderedDict[str, ShardRows] = OrderedDict()


@dataclass(frozen=True)
class Reading:
    """How all shards of a data set are read."""

    format: str
    features: Features
    skip: bool = False  # whether bad rows are left out
    labelled: bool = True
    schema: bytes = b""  # the columns of a table as the first rows have them
    first: Range | None = None  # where the first rows are, which say what the columns are

    def to_json(self) -> list[Any]:
        """All of it as plain data."""
        return [self.format, self.features.to_json(), self.skip, self.labelled, self.schema.hex()]

    @classmethod
    def from_json(cls, plain: list[Any]) -> Reading:
        """What :meth:`to_json` told, without the first rows."""
        format, features, skip, labelled, schema = plain
        return cls(format, Features.from_json(features), skip, labelled, bytes.fromhex(schema))

    def open(self, shard: Shard, classes: Iterable[str] | None = None) -> Source:
        """The rows of a shard."""
        schema = pa.ipc.read_schema(pa.py_buffer(self.schema)) if self.schema else None
        words = self.features.missing_words
        reader = PartReader(shard, self.format, self.skip, words, self.first)
        reader.schema = schema
        return Source(reader, self.features, self.labelled, classes, self.skip)


def detect_reading(manifest: Manifest, features: Features | None = None, **reading: Any) -> Reading:
    """Detect from the beginning of the first file what the columns are, as :func:`open` does.

    `reading` are options of it.
    """
    file, given = manifest.files[0], reading.get
    first = Range(file, 0, len(file.groups) if file.groups else file.size)
    words = missing_words(given("missing")) if features is None else features.missing_words
    skip, labelled = bool(given("skip_bad_rows")), True
    reader = PartReader((first,), manifest.format, skip, words)
    if features is None:
        columns, chosen = (given("label"), given("text"), given("columns")), given("ngrams")
        reader.multilabel = True  # lines of several labels are told from others below
        features = detect_features(
            reader, *columns, chosen or Ngrams(), words, bool(given("expect_text"))
        )
        check_scales(features, file.path)
        if manifest.format == "fasttext" and b" " in b"".join(reader.head()["label"].to_pylist()):
            features = replace(features, separator=" ")
    else:
        labelled = fit_features(reader, features)
    schema = b""
    if features.origin == "table":
        found = null_types_as_strings(reader.head().schema).remove_metadata()
        schema = found.serialize().to_pybytes()
    return Reading(manifest.format, features, skip, labelled, schema, first)


class PartReader(Reader):
    """Parts of files in the place of files; `first` is where the first rows are, if elsewhere."""

    def __init__(
        self, shard: Shard, format: str, skip: bool, missing: Words, first: Range | None = None
    ) -> None:
        self.parts, self.format, self._skip, self.missing = shard, format, skip, missing
        self.files = list(dict.fromkeys(part.file.path for part in shard))
        dialect = shard[0].file.dialect
        self.header = None if dialect is None else dialect.header
        self._first_part, self._block_bytes = first or shard[0], BLOCK_BYTES

    def fingerprint(self) -> dict[str, Any]:
        """Which files these are."""
        return {"format": self.format, "files": [part.file.about for part in self.parts]}

    def _open(self, part: Any) -> tuple[Dialect | None, Iterator[Block]]:
        """How a part is written, and its blocks, without a header."""
        dialect = part.file.dialect
        if dialect is not None and part.start:
            dialect = dialect._replace(start=0)
        path, place = part.file.path, (part.start, part.end)
        return dialect, self._blocks(ByteSource(path, open_file(path), part=place), dialect)

    def _columnar(self, part: Any, columns: list[str] | None) -> Iterator[Chunk]:
        """The rows of row groups of Parquet, or of an Arrow file."""
        path, groups = part.file.path, range(part.start, part.end)
        return read_columnar(path, self.format, columns, BATCH_ROWS, open_file, groups)


@contextmanager
def naming_lines(shard: Shard) -> Iterator[None]:
    """Let errors name lines of files, not of their parts."""
    try:
        yield
    except DataError as error:
        own = [part for part in shard if part.file.path == error.path]
        raise (_in_file(error, own[0]) if own else error) from None


def _in_file(error: DataError, part: Range) -> DataError:
    """An error whose line, counted in a part, is counted in the file."""
    if error.line is None or not part.start or not part.file.has_lines:
        return error
    before, lines = 0, open_file(part.file.path).get_stream(0, part.start)
    while data := lines.read(BLOCK_BYTES):
        before += data.count(b"\n")
    place = str(DataError("", path=error.path, line=error.line, column=error.column))
    message = str(error).removeprefix(place)
    return DataError(message, path=error.path, line=error.line + before, column=error.column)


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
        with reporting_damage(str(folder)):
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
    for batch in source.batches(reuse_memory=True):
        if batch.labels is None:
            raise DataError("the file has no labels", path=source.files[0])
        _check_values(batch, source)
        room = store.reserve(len(batch), len(batch.rows.indices))
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
