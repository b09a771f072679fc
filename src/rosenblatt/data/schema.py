"""Schema detection: the label column, and the kinds of the others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from rosenblatt.data.cells import MISSING_WORDS, can_be_strings
from rosenblatt.data.column_kinds import Column, guess_columns, name_suggests, seldom_repeats
from rosenblatt.data.features import Features
from rosenblatt.data.labels import SEPARATOR, indicator_columns, joined_label
from rosenblatt.data.readers import SPARSE, Reader
from rosenblatt.errors import DataError, OptionError, listed, shown
from rosenblatt.kernels.text import Ngrams

_ON_COMMAND_LINE = {"columns": "--column", "analyzer": "--chars"}
_NO_TEXT = (
    "n-grams were asked for (--ngrams or --chars; ngrams= or analyzer=), but no column is text; "
    "name the one that is with --text COLUMN (text=...)"
)


def detect_features(
    reader: Reader,
    label: str | int | Iterable[str] | None,
    text: str | Iterable[str] | None,
    columns: Iterable[str] | Mapping[str, str] | None,
    ngrams: Ngrams,
    missing: tuple[str, ...] = MISSING_WORDS,
    expect_text: bool = False,
) -> Features:
    """Detect label and kinds of columns from the first rows."""
    if reader.format in SPARSE:
        if expect_text:
            raise OptionError(_NO_TEXT)
        return Features(reader.format, (), None, ngrams)
    head = reader.head()
    path, names = reader.files[0], head.column_names
    name = joined_label_name(joined_label(label), names, path)
    parts = indicator_columns(name, names)
    texts = [text] if isinstance(text, str) else list(text or ())
    kinds = (
        {str(key): kind for key, kind in columns.items()} if isinstance(columns, Mapping) else {}
    )
    only = texts or None
    if columns is not None:
        only = None if isinstance(columns, Mapping) else [*columns, *texts]
    _require_columns([*(only or ()), *texts, *kinds], names, path)
    for one in parts or (name,):
        if one in texts or one in kinds:
            raise OptionError(f"{one!r} is the label: it cannot be a feature as well")
    features = {*(only or ()), *(key for key, kind in kinds.items() if kind != "ignore")}
    _require_cells([*(parts or (name,)), *features], head, path)
    if reader.format == "fasttext":
        kinds = {"text": "text"} | kinds
    kinds |= dict.fromkeys(texts, "text")
    if only is not None:
        chosen = set(only)
        kinds |= {key: "ignore" for key in names if key not in chosen}
    kinds |= dict.fromkeys(parts, "ignore")
    found = guess_columns(head, name, kinds, missing)
    if not found:
        raise DataError("no column is left to learn from", path=path)
    if expect_text and not any(c.kind == "text" for c in found):
        found = _with_text(head, found, kinds, missing)
    return Features("table", found, name, ngrams, missing, SEPARATOR if parts else None)


def check_scales(features: Features, path: str | None) -> None:
    """Raise DataError if the mean or scale of a column overflows."""
    for column in features.columns:
        if not (math.isfinite(column.mean) and math.isfinite(column.scale)):
            raise DataError(
                "its numbers are too large to be scaled; correct them, or leave the column out "
                f"(--column {column.name}=ignore)",
                path=path,
                column=column.name,
            )


def _with_text(
    head: pa.Table, found: tuple[Column, ...], kinds: Mapping[str, str], missing: tuple[str, ...]
) -> tuple[Column, ...]:
    """The columns with the most likely string columns as text, by name, by values, or if alone."""
    strings = [c.name for c in found if c.kind == "category" and c.name not in kinds]
    for likely in (
        [name for name in strings if name_suggests(name)],
        [name for name in strings if seldom_repeats(head[name], missing)],
        strings if len(strings) == 1 else [],
    ):
        if likely:
            return tuple(Column(c.name, "text") if c.name in likely else c for c in found)
    raise OptionError(_NO_TEXT)


def missing_words(given: Iterable[str] | None) -> tuple[str, ...]:
    """The words for missing values: those given, else the defaults; always the empty string."""
    if given is None:
        return MISSING_WORDS
    words = [given] if isinstance(given, str) else given
    return tuple(dict.fromkeys(["", *(str(word).strip() for word in words)]))


def refuse_unused_options(format: str, given: Mapping[str, Any]) -> None:
    """Raise OptionError for given options that have no effect on files of a format."""
    what = {
        "svmlight": "svmlight files, which are not tables",
        "vw": "vw files, which are not tables",
        "table": "tables in memory",
        "folder": "folders of text files, in which names are labels",
        "opened": "a source that is open already",
    }.get(format, f"{format} files")
    unused = set() if format in ("csv", "tsv") else {"header"}
    if format == "table":
        unused |= {"format", "skip_bad_rows"}
    if format == "folder":
        unused |= {"label", "text", "columns", "missing"}
    if format in SPARSE:
        unused |= {"label", "text", "columns", "missing", "ngrams", "analyzer"}
    for name, value in given.items():
        is_given = bool(value) if name == "skip_bad_rows" else value is not None
        if is_given and (name in unused or format == "opened"):
            option = _ON_COMMAND_LINE.get(name, "--" + name.replace("_", "-"))
            raise OptionError(f"{option} has no effect on {what}")


def fit_features(reader: Reader, features: Features) -> bool:
    """Check that files have the columns of a model; return whether they have the label."""
    origin = reader.format if reader.format in SPARSE else "table"
    if origin != features.origin:
        message = f"the model was trained on {features.origin} data, this is {reader.format}"
        raise DataError(message, path=reader.files[0])
    if origin != "table":
        return True
    names = reader.head().column_names
    _require_columns([c.name for c in features.columns], names, reader.files[0])
    labels = indicator_columns(features.label, names)
    labels = labels or tuple(name for name in names if name == features.label)
    _require_cells([*labels, *(c.name for c in features.columns)], reader.head(), reader.files[0])
    return bool(labels)


def joined_label_name(label: str | int | None, names: list[str], path: str) -> str:
    """The name of the label column, or the names of indicator columns joined by commas."""
    if not isinstance(label, str) or label in names or SEPARATOR not in label:
        return label_name(label, names, path)
    parts = [label_name(part.strip(), names, path) for part in label.split(SEPARATOR)]
    for part in parts:
        if parts.count(part) > 1 or SEPARATOR in part:
            why = "twice" if parts.count(part) > 1 else "but its name has a comma: rename it"
            raise OptionError(f"the column {shown(part)} is given as a label, {why}")
    return SEPARATOR.join(parts)


def label_name(label: str | int | None, names: list[str], path: str) -> str:
    """The name of the label column, given by name or by number from 1, negative from the end."""
    if label is None:
        if "label" in names:
            return "label"
        message = f"which column is the label? The columns are {listed(names)}"
        raise DataError(message, path=path)
    if isinstance(label, str) and label in names:
        return label
    try:
        place = int(label)
    except ValueError:
        _require_columns([str(label)], names, path)
        raise
    if place == 0:
        message = "the label cannot be column 0: columns are counted from 1, and from -1 backwards"
        raise DataError(message, path=path)
    if abs(place) > len(names):
        _require_columns([str(label)], names, path)
    return names[place - 1 if place > 0 else place]


def _require_cells(wanted: Iterable[str], head: pa.Table, path: str) -> None:
    for name in wanted:
        kind = head[name].type
        if not can_be_strings(kind):
            message = f"expected strings, numbers or dates, found {kind}: put what is in it into "
            raise DataError(message + "columns of their own first", path=path, column=name)


def _require_columns(wanted: list[str], names: list[str], path: str) -> None:
    known = set(names)
    for name in wanted:
        if name not in known:
            message = f"there is no column {shown(name)}; the columns are {listed(names)}"
            raise DataError(message, path=path)
