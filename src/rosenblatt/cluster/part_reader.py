"""A shard as a source of batches: the one reader of the package, over parts of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from rosenblatt.cluster.manifest import Manifest, Range, Shard
from rosenblatt.cluster.stores import open_file
from rosenblatt.data import Features, Source
from rosenblatt.data.arrow_tables import Chunk, read_columnar, without_nulls
from rosenblatt.data.bytes import BLOCK_BYTES, Block, ByteSource
from rosenblatt.data.cells import Words
from rosenblatt.data.csv_tables import Dialect
from rosenblatt.data.readers import BATCH_ROWS, Reader
from rosenblatt.data.schema import check_scales, detect_features, fit_features, missing_words
from rosenblatt.errors import DataError
from rosenblatt.kernels.text import Ngrams


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


def detect_reading(
    manifest: Manifest,
    *,
    label: str | int | Iterable[str] | None = None,
    text: Any = None,
    columns: Any = None,
    ngrams: Ngrams | None = None,
    missing: Iterable[str] | None = None,
    expect_text: bool = False,
    features: Features | None = None,
    skip: bool = False,
) -> Reading:
    """Detect from the beginning of the first file what the columns are, as :func:`open` does."""
    file = manifest.files[0]
    first = Range(file, 0, len(file.groups) if file.groups else file.size)
    words = missing_words(missing) if features is None else features.missing_words
    reader = PartReader((first,), manifest.format, skip, words)
    labelled = True
    if features is None:
        chosen = ngrams or Ngrams()
        reader.several = True  # lines of several labels are told from others below
        features = detect_features(reader, label, text, columns, chosen, words, expect_text)
        check_scales(features, file.path)
        if manifest.format == "fasttext" and b" " in b"".join(reader.head()["label"].to_pylist()):
            features = replace(features, separator=" ")
    else:
        labelled = fit_features(reader, features)
    schema = b""
    if features.origin == "table":
        found = without_nulls(reader.head().schema).remove_metadata()
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
        self._head = self._begun = None

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
