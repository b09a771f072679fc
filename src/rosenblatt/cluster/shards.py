"""A shard as a source of batches, and its hashed rows in a folder.

Rows are hashed once per machine and kept on its disk. The folder of a shard holds the rows and the
file ``about`` with their checksums. It is named by a hash of everything its content depends on,
appears as a whole, and is checked when a process opens it; a damaged one is made again.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rosenblatt.atomic_files import temporary_folder
from rosenblatt.cluster.manifest import File, Manifest, Range, Shard, digest_of, identity, open_file
from rosenblatt.data import Features, Source
from rosenblatt.data.arrow_tables import Chunk, null_types_as_strings
from rosenblatt.data.bytes import BLOCK_BYTES, Block, ByteSource, last_change
from rosenblatt.data.cells import Words
from rosenblatt.data.columnar import BATCH_ROWS, read_columnar
from rosenblatt.data.formats import Format
from rosenblatt.data.limits import check_values
from rosenblatt.data.open import detect_features, missing_words, source_for
from rosenblatt.data.readers import LOOK_BYTES, Reader
from rosenblatt.data.samples import Sampled
from rosenblatt.data.store import Store
from rosenblatt.data.text_tables import Dialect, is_json_array
from rosenblatt.errors import DataError, ModelFormatError
from rosenblatt.kernels.packing import Numbering
from rosenblatt.kernels.text import Ngrams
from rosenblatt.models import tensorfile
from rosenblatt.models.tensorfile import reporting_damage

_FORMAT, _VERSION = "rosenblatt-shard", 2
_ARRAY = (
    "an array of JSON objects cannot be cut into shards: train without --workers, or write an "
    "object per line"
)
_MAX_OPEN = 256  # shards per process; the row pointers of each are in memory


@dataclass(frozen=True)
class Reading:
    """How all shards of a data set are read."""

    format: str
    features: Features
    skip: bool = False  # whether bad rows are left out
    labelled: bool = True
    schema: bytes = b""  # the Arrow schema of a table, detected from its first rows
    first: Range | None = None  # the part of the first file from which columns were detected

    def to_json(self) -> list[Any]:
        """As plain data, without `first`."""
        return [self.format, self.features.to_json(), self.skip, self.labelled, self.schema.hex()]

    @classmethod
    def from_json(cls, plain: list[Any]) -> Reading:
        """The inverse of :meth:`to_json`."""
        format, features, skip, labelled, schema = plain
        return cls(format, Features.from_json(features), skip, labelled, bytes.fromhex(schema))

    def everything(self, manifest: Manifest) -> Source:
        """All shards as one source, with samples from all over the files."""
        reader = self._reader(tuple(part for shard in manifest.shards for part in shard))
        reader.all_files = manifest.files
        return Source(reader, self.features, self.labelled, None, self.skip)

    def _reader(self, shard: Shard) -> PartReader:
        words = self.features.missing_words
        reader = PartReader(shard, self.format, self.skip, words, self.first)
        if self.schema:
            reader.schema = pa.ipc.read_schema(pa.py_buffer(self.schema))
        return reader

    def open(self, shard: Shard, classes: Iterable[str] | None = None) -> Source:
        """Open a shard as a source of batches."""
        return Source(self._reader(shard), self.features, self.labelled, classes, self.skip)


def detect_reading(manifest: Manifest, features: Features | None = None, **reading: Any) -> Reading:
    """Detect the columns from the beginning of the first file.

    `reading` holds options of :func:`rosenblatt.data.open`.
    """
    file, option = manifest.files[0], reading.get
    first = Range(file, 0, len(file.groups) if file.groups else file.size)
    words = missing_words(option("missing")) if features is None else features.missing_words
    skip, labelled = bool(option("skip_bad_rows")), True
    reader = PartReader((first,), manifest.format, skip, words)
    reader.all_files = manifest.files
    if features is None:
        features = detect_features(
            reader,
            option("label"),
            option("text"),
            option("columns"),
            option("ngrams") or Ngrams(),
            words,
            bool(option("expect_text")),
            decimal=option("decimal"),
            cross=option("cross") or (),
        )
    else:
        labelled = source_for(reader, features, None, skip).labelled
    schema = b""
    if features.origin == "table":
        arrow_schema = null_types_as_strings(reader.head().schema).remove_metadata()
        schema = arrow_schema.serialize().to_pybytes()
    return Reading(manifest.format, features, skip, labelled, schema, first)


class PartReader(Reader):
    """Reads parts of files; `first` is the part with the first rows, if not in the shard."""

    all_files: tuple[File, ...] = ()  # of the data set, for samples

    def __init__(
        self, shard: Shard, format: str, skip: bool, missing: Words, first: Range | None = None
    ) -> None:
        self.parts, self.format, self._skip, self.missing = shard, format, skip, missing
        self.files = list(dict.fromkeys(part.file.path for part in shard))
        dialect = shard[0].file.dialect
        self.header = None if dialect is None else dialect.header
        self._first_part, self._block_bytes = first or shard[0], BLOCK_BYTES

    def has_several_labels(self) -> bool:
        """Whether one of the first rows has several labels, in a format that shows it."""
        if self.kind.several is None:
            return False
        self.multilabel = True
        return b" " in b"".join(self.head()["label"].to_pylist())

    def fingerprint(self) -> dict[str, Any]:
        """The format and the fingerprints of the files."""
        return {"format": self.format, "files": [part.file.identity for part in self.parts]}

    def _open(self, part: Any) -> tuple[Dialect | None, Iterator[Block]]:
        """The dialect of a part, and its blocks without the header."""
        dialect = part.file.dialect
        if dialect is not None and part.start:
            dialect = dialect._replace(start=0)
        path, limits = part.file.path, (part.start, part.end)
        source = ByteSource(path, open_file(path), part=limits)
        if self.format == "jsonl" and part.start == 0 and is_json_array(source.head(LOOK_BYTES)):
            source.close()
            raise DataError(_ARRAY, path=path)
        return dialect, self._blocks(source, dialect)

    def _columnar(self, part: Any, columns: list[str] | None, kind: Format) -> Iterator[Chunk]:
        """The rows of row groups of a Parquet file, or of an Arrow file."""
        path, groups = part.file.path, range(part.start, part.end)
        return read_columnar(path, kind, columns, BATCH_ROWS, open_file, groups)

    def _sampled_files(self) -> list[Sampled]:
        """All files, if they can be sampled."""
        if not self.kind.names_columns:
            return []
        return [Sampled(f.path, f.size, f.dialect, f.compressed) for f in self.all_files]

    def _open_raw(self, path: str) -> pa.NativeFile:
        return open_file(path)


@contextmanager
def file_line_numbers(shard: Shard) -> Iterator[None]:
    """Let a DataError name the line of the file, not of the part."""
    try:
        yield
    except DataError as error:
        part = next((part for part in shard if part.file.path == error.path), None)
        if part is None or error.line is None or not (before := _lines_before(part)):
            raise error from None
        place = str(DataError("", path=error.path, line=error.line, column=error.column))
        message, line = str(error).removeprefix(place), error.line + before
        raise DataError(message, path=error.path, line=line, column=error.column) from None


def _lines_before(part: Range) -> int:
    """The lines of a file before a part."""
    before = 0
    if part.start and part.file.has_lines:
        stream = open_file(part.file.path).get_stream(0, part.start)
        while data := stream.read(BLOCK_BYTES):
            before += data.count(b"\n")
    return before


@dataclass
class ShardRows:
    """The hashed rows of a shard."""

    store: Store  # packed; columns are numbered as they are met
    columns: np.ndarray  # by number
    classes: list[str]  # by the codes of the store
    counts: list[Any]  # see ShardSummary: from `bad` to `bytes`
    digest: str  # a hash of the rows
    # Cached by tasks: the name of a broadcast, and the features and classes in its numbering.
    aligned: tuple[str, Any] = ("", None)

    def __len__(self) -> int:
        return len(self.store)


def shard_name(shard: Shard, reading: Reading) -> str:
    """The name of a shard's folder: a hash of everything its rows depend on."""
    parts = [[part.file.identity, part.start, part.end, part.file.dialect] for part in shard]
    return digest_of(_VERSION, parts, reading.to_json())


def hashed_rows(shard: Shard, reading: Reading, folder: str | None, digest: str = "") -> ShardRows:
    """The hashed rows of a shard: open in this process, read from the disk, or made now.

    Without a `folder` they are kept in one of this process or Dask worker. Rows with another digest
    than the given one are refused: the files have changed.
    """
    path = Path(own_folder() if folder is None else folder) / shard_name(shard, reading)
    for _ in range(2):
        if not path.is_dir():
            _make(shard, reading, path)
        try:
            rows = open_rows(path)
            break
        except (ModelFormatError, OSError):  # damaged: make them again, once
            shutil.rmtree(path, ignore_errors=True)
    else:
        raise DataError("the hashed rows cannot be read back; is the disk full?", path=path.parent)
    if digest and rows.digest != digest:
        open_rows.cache_clear()
        raise DataError("was changed since the run began", path=shard[0].file.path)
    return rows


def own_folder() -> str:
    """The folder for rows of this process: that of the Dask worker it is, or a temporary one."""
    try:
        from distributed import get_worker

        return str(Path(get_worker().local_directory) / "rosenblatt-rows")
    except (ImportError, ValueError):
        return _process_folder()


@cache
def _process_folder() -> str:
    folder, lock = temporary_folder()
    atexit.register(lock.close)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # what is registered last runs first
    return str(folder)


@lru_cache(maxsize=_MAX_OPEN)
def open_rows(folder: Path) -> ShardRows:
    """Open the rows in a folder; raises a ModelFormatError if they are damaged."""
    arrays, about = tensorfile.read(folder / "about")
    with reporting_damage(str(folder)):
        if about["format"] != _FORMAT or about["version"] != _VERSION:
            raise ValueError("another format or version")
        columns, classes = arrays["columns"], [str(name) for name in about["classes"]]
        if columns.dtype != np.uint32 or columns.ndim != 1:
            raise ValueError("columns is not a list of columns")
        store = Store.restored(folder, about["store"], len(columns), max(1, len(classes)))
        return ShardRows(store, columns, classes, list(about["counts"]), str(about["digest"]))


atexit.register(open_rows.cache_clear)  # before modules that closing needs are gone


def _make(shard: Shard, reading: Reading, path: Path) -> None:
    """Read and hash a shard into a folder, which gets its name once it is complete."""
    changes = _last_changes(shard)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=path.parent))
    try:
        try:
            with file_line_numbers(shard):
                _write(shard, reading, unfinished)
        finally:  # what is wrong in a file that changed is not its fault
            _check_unchanged(shard, changes)
        try:
            os.rename(unfinished, path)  # noqa: PTH104 - fails if another was faster
        except OSError:
            if not path.is_dir():
                raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _with_lines_of_files(strays: list[tuple[str, int, str, str]], shard: Shard) -> list[Any]:
    """Stray cells with the lines of the files, not of the parts."""
    paths = {path for path, *_ in strays}
    before = {p.file.path: _lines_before(p) for p in shard if p.file.path in paths}
    return [(path, line + before[path], name, cell) for path, line, name, cell in strays]


def _last_changes(shard: Shard) -> list[int | None]:
    """When the files of a shard were last changed, where their identity does not tell."""
    return [last_change(part.file.path) for part in shard]


def _check_unchanged(shard: Shard, changes: list[int | None]) -> None:
    """Raise a DataError if a file is not the one that was cut, or has changed since."""
    for part, before, now in zip(shard, changes, _last_changes(shard), strict=True):
        if now != before or identity(part.file.path) != part.file.identity:
            raise DataError("was changed while it was read", path=part.file.path)


def _write(shard: Shard, reading: Reading, folder: Path) -> None:
    source, numbering = reading.open(shard), Numbering(1 << reading.features.ngrams.bits)
    store, size = Store(0, folder), 0
    for batch in source.batches():
        if batch.labels is None:
            raise DataError("the file has no labels", path=source.files[0])
        check_values(batch, shard[0].file.path)
        room = store.reserve(len(batch), len(batch.rows.indices))
        rows = numbering.pack(batch.rows, room, reading.features.common_value)
        store.commit(rows, batch.labels, batch.weights)
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
        "counts": [
            source.bad,
            dict(source.missing),
            dict(source.strays),
            _with_lines_of_files(source.named_strays, shard),
            size,
        ],
        "digest": digest,
    }
    store.close()
    tensorfile.write(folder / "about", {"columns": columns}, about)
