"""The file formats: how each is recognised, and how its bytes become rows.

A format is one record of :data:`FORMATS`; whatever reads files, whole or in shards, goes by it. To
add a format, add its record, and the function that parses its blocks or opens its files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from rosenblatt.data.arrow_tables import (
    Chunk,
    arrow_batches,
    arrow_parts,
    null_types_as_strings,
    parquet_batches,
    parquet_parts,
    require_columns,
)
from rosenblatt.data.bytes import Block
from rosenblatt.data.cells import MISSING_WORDS, Words
from rosenblatt.data.sparse_lines import (
    LABEL_PREFIX,
    Lines,
    read_fasttext,
    read_sparse,
    read_text,
)
from rosenblatt.data.text_tables import Dialect, parse_csv, parse_json
from rosenblatt.errors import OptionError
from rosenblatt.kernels.crosses import NO_PRODUCTS, Products

_COMPRESSED = {".gz", ".zst", ".zstd", ".bz2", ".lz4", ".xz"}
_HEAD_BYTES, _HEAD_LINES = 1 << 14, 20
_SVMLIGHT = re.compile(rb"[-+]?[0-9.]+(e[-+]?\d+)?([ \t]+(qid:\d+|\d+:[-+0-9.eE]+))+[ \t]*(#.*)?$")
_VW = re.compile(rb"[^|]{0,100}\|[^|\s]*(:[-+0-9.eE]+)?[ \t]")
_OF_TABLES = ("label", "text", "columns", "missing", "decimal", "analyzer")


class Parsing(NamedTuple):
    """What the parser of a block goes by."""

    columns: list[str] | None = None  # to be returned; None for all
    skip: bool = False  # whether bad rows are left out rather than raised
    numbers: Collection[str] = ()  # the columns that hold numbers
    missing: Words = MISSING_WORDS
    dialect: Dialect | None = None  # of the file, if its format has delimiters
    schema: pa.Schema | None = None  # as in the first rows; None before these are read
    bits: int = 31  # rows of features have 2**bits columns
    products: Products = NO_PRODUCTS  # of the features of Vowpal Wabbit lines
    multilabel: bool = False
    text_column: str = "text"  # the name of the column for lines of plain text


@dataclass(frozen=True)
class Format:
    """A file format: either `parse` makes chunks of blocks of lines, or `batches` reads a file."""

    name: str
    parse: Callable[[Block, Parsing], Chunk | Lines] | None = None
    # Record batches of an open file, given columns, rows per batch and a range of parts, or None.
    batches: Callable[..., Iterator[pa.RecordBatch]] | None = None
    # The bytes of each part of an open file that can be read alone, and the names of its columns.
    parts: Callable[[Any], tuple[tuple[int, ...], tuple[str, ...]]] | None = None
    # A file is recognised by a suffix, else by its first bytes, else if all its first lines fit,
    # or half of them surely.
    suffixes: tuple[str, ...] = ()
    starts: re.Pattern[bytes] | None = None
    fits: Callable[[bytes], Any] | None = None
    surely: Callable[[bytes], Any] | None = None
    delimiters: tuple[str, ...] = ()  # what may separate the values of a line, to be detected
    has_features: bool = False  # rows hold features by name or number, not cells of columns
    names_columns: bool = True
    blank_rows: bool = False  # whether a blank line is a row
    can_be_cut: bool = True  # into shards
    skips_unlabelled: bool = False  # whether rows without a label are no error, but not learned
    kinds: Mapping[str, str] = field(default_factory=dict)  # of columns that are known
    separator: str | None = None  # of the labels of a row that has several
    several: Callable[[bytes], Any] | None = None  # whether rows in the first bytes have several
    printed: str = "text"  # the format of predictions on standard output

    @property
    def files(self) -> str:
        """Its files, in messages."""
        if self.name == "table":
            return "tables in memory"
        return f"{self.name} files" + ", which are not tables" * self.has_features

    @property
    def origin(self) -> str:
        """The ``origin`` of features from its rows."""
        return self.name if self.has_features else "table"

    def without_effect(self) -> set[str]:
        """The options of reading that have no effect on its files."""
        by_kind = (() if self.delimiters else ("header",)) + _OF_TABLES * self.has_features
        by_kind += ("cross",) * (self.name != "vw") + ("ngrams",) * (self.name == "svmlight")
        by_kind += ("format", "skip_bad_rows") * (self.name == "table")
        return set(by_kind)


def _delimited(block: Block, how: Parsing) -> Chunk:
    assert how.dialect is not None, "the dialect is detected when a file is opened"
    columns = list(how.dialect.names) if how.columns is None else how.columns
    require_columns(columns, how.dialect.names, block.path)
    return parse_csv(block, how.dialect, columns, how.skip, how.numbers, how.missing)


def _json(block: Block, how: Parsing) -> Chunk:
    if how.schema is None:
        return parse_json(block, None, how.skip)
    schema = null_types_as_strings(how.schema)
    if how.columns is not None:
        schema = pa.schema([schema.field(name) for name in how.columns])
    return parse_json(block, schema, how.skip)


def _fasttext(prefix: bytes) -> Format:
    """The format of fastText lines whose labels begin with a prefix."""
    word = re.escape(prefix) + rb"[^\s,;|\"]+"
    return Format(
        "fasttext",
        lambda block, how: read_fasttext(block, how.skip, how.multilabel, prefix),
        suffixes=(".ft", ".fasttext"),
        fits=lambda line: line.startswith(prefix),
        surely=re.compile(rb"%s |.* %s\s*$" % (word, word)).match,
        names_columns=False,
        kinds={"text": "text"},
        separator=" ",
        several=re.compile(rb"(?m)(^|[ \t])%s[^\n]*[ \t]%s" % (word, word)).search,
        skips_unlabelled=True,
    )


# In the order in which they are tried on the first lines of a file.
_FORMATS = (
    Format(
        "csv",
        _delimited,
        suffixes=(".csv",),
        delimiters=(",", "\t", ";", "|"),
        printed="csv",
    ),
    Format(
        "jsonl",
        _json,
        suffixes=(".jsonl", ".ndjson", ".json"),
        starts=re.compile(rb"\s*\[\s*\{"),
        fits=lambda line: line.lstrip().startswith(b"{"),
        printed="jsonl",
    ),
    Format(
        "parquet",
        batches=parquet_batches,
        parts=parquet_parts,
        suffixes=(".parquet", ".pq"),
        starts=re.compile(rb"PAR1"),
        printed="jsonl",
    ),
    Format(
        "arrow",
        batches=arrow_batches,
        parts=arrow_parts,
        suffixes=(".arrow", ".feather", ".ipc"),
        starts=re.compile(rb"ARROW1|\xff\xff\xff\xff"),
        printed="jsonl",
    ),
    _fasttext(LABEL_PREFIX),
    Format(
        "svmlight",
        lambda block, how: read_sparse(block, "svmlight", how.bits, how.skip),
        suffixes=(".svm", ".libsvm", ".svmlight"),
        fits=lambda line: _SVMLIGHT.match(line.strip()),
        has_features=True,
        names_columns=False,
    ),
    Format(
        "vw",
        lambda block, how: read_sparse(block, "vw", how.bits, how.skip, how.products),
        suffixes=(".vw",),
        fits=_VW.match,
        has_features=True,
        names_columns=False,
    ),
    Format(
        "tsv",
        _delimited,
        suffixes=(".tsv", ".tab"),
        fits=lambda line: b"\t" in line,
        delimiters=("\t",),
        printed="tsv",
    ),
    Format(
        "text",
        lambda block, how: read_text(block, how.text_column),
        names_columns=False,
        blank_rows=True,
        can_be_cut=False,
    ),
    Format("table", can_be_cut=False),
)


class _Formats(dict[str, Format]):
    """Formats by name; ``fasttext:#`` is fastText with labels that begin with ``#``."""

    def __missing__(self, name: str) -> Format:
        base, _, prefix = name.partition(":")
        if base != "fasttext" or not prefix or prefix != "".join(prefix.split()):
            raise KeyError(name)
        return _fasttext(prefix.encode())


FORMATS = _Formats({format.name: format for format in _FORMATS})


def check_format(name: str | None) -> None:
    """Raise OptionError for an unknown format.

    >>> check_format("fasttext:#")
    """
    known = [format for format in FORMATS if format != "table"]
    try:
        is_known = name is None or bool(FORMATS[name])
    except KeyError:
        is_known = False
    if not is_known or name == "table":
        raise OptionError(f"{name!r} is not a format; the formats are {', '.join(known)}")


def named_format(path: str) -> str | None:
    """The format by the suffix of a file name, or None.

    >>> named_format("a.tsv.gz"), named_format("a.gz")
    ('tsv', None)
    """
    for suffix in map(str.lower, reversed(Path(path).suffixes)):
        for format in FORMATS.values():
            if suffix in format.suffixes:
                return format.name
        if suffix not in _COMPRESSED:
            break
    return None


def detect_format(path: str, look: Callable[[int], bytes]) -> str:
    """The format of a file by its name, else by its first lines.

    `look` returns a given number of first bytes, decompressed.
    """
    named = named_format(path)
    if named is not None:
        return named
    head = look(_HEAD_BYTES)
    lines = [line for line in head.split(b"\n")[:_HEAD_LINES] if line.strip()]
    if len(lines) > 1 and len(head) == _HEAD_BYTES:
        lines.pop()
    for format in FORMATS.values():
        if format.starts is not None and format.starts.match(head):
            return format.name
        if format.fits is not None and lines and all(map(format.fits, lines)):
            return format.name
        sure = sum(bool(format.surely(line)) for line in lines) if format.surely else 0
        if 2 * sure >= len(lines) > 0:
            return format.name
    return "csv"


def refuse_unused_options(format: str, options: Mapping[str, Any]) -> None:
    """Raise OptionError for options that have no effect on files of a format.

    An ``"opened"`` source takes none.
    """
    if format == "opened":
        without_effect, what = set(options), "a source that is open already"
    else:
        without_effect, what = FORMATS[format].without_effect(), FORMATS[format].files
    for name, value in options.items():
        is_given = bool(value) if name == "skip_bad_rows" else value is not None
        if is_given and name in without_effect:
            option = {"columns": "--column", "analyzer": "--chars"}.get(
                name, "--" + name.replace("_", "-")
            )
            raise OptionError(f"{option} has no effect on {what}")
