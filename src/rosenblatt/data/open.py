"""The only way to read files: any format as batches of sparse rows with their labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from rosenblatt.data.arrow_tables import (
    is_table_in_memory,
    require_columns,
    to_arrow_table,
)
from rosenblatt.data.bytes import BLOCK_BYTES, expand_paths
from rosenblatt.data.cells import (
    MISSING_WORDS,
    can_be_strings,
    label_strings,
    plain_strings,
    string_buffers,
)
from rosenblatt.data.columns import Column, guess_columns, name_suggests, seldom_repeats
from rosenblatt.data.features import Features
from rosenblatt.data.formats import check_format
from rosenblatt.data.labels import (
    SEPARATOR,
    indicator_columns,
    joined_label,
    refuse_amounts,
    sorted_labels,
)
from rosenblatt.data.readers import Reader, TableReader
from rosenblatt.data.samples import joined
from rosenblatt.data.source import Source
from rosenblatt.data.sparse_lines import is_cross
from rosenblatt.errors import DataError, OptionError, listed, shown
from rosenblatt.kernels.text import Ngrams

_NO_TEXT = (
    "n-grams were asked for (--ngrams or --chars; ngrams= or analyzer=), but no column is text; "
    "name the one that is with --text COLUMN (text=...)"
)
_VW_NGRAMS = "n-grams of Vowpal Wabbit lines are of 1 to N features: --ngrams N (ngrams=N)"


def open(
    paths: Any,
    label: str | int | Iterable[str] | None = None,
    text: str | Iterable[str] | None = None,
    columns: Iterable[str] | Mapping[str, str] | None = None,
    format: str | None = None,
    *,
    ngrams: Ngrams | Callable[[float, float], Ngrams] | None = None,
    features: Features | None = None,
    classes: Iterable[str] | None = None,
    header: bool | None = None,
    missing: Iterable[str] | None = None,
    expect_text: bool = False,
    skip_bad_rows: bool = False,
    block_bytes: int = BLOCK_BYTES,
    live: bool = False,
    label_separator: str | None = None,
    decimal: str | None = None,
    cross: Iterable[str] = (),
) -> Source:
    """Open one or several files of one format, or a table in memory, as a source of batches.

    Parameters
    ----------
    paths : str, path, several of them, or a table
        Files, patterns such as ``"logs/*.csv.gz"``, or ``"-"`` for standard input. gzip, zstd,
        bz2, lz4 and xz are recognised by their content. A table is a pandas or polars data frame,
        a pyarrow table or a dict of columns.
    label : str, int or several, optional
        The label column: its name, or its number counted from 1, negative from the end. By default
        the column named ``label``. Several columns, as a list or joined by commas, are indicators:
        1 in rows that have the label of that name, else 0.
    text : str or several, optional
        Columns of text. If given, and `columns` is not, they are the only features.
    columns : names, or mapping of name to kind, optional
        Names restrict the features to these columns. A mapping gives their kinds: ``"text"``,
        ``"category"``, ``"number"``, ``"date"`` or ``"ignore"``; other kinds are detected. Forms
        follow a colon: ``"number:comma"`` (1.234,5); ``"date:dayfirst"``, ``"date:monthfirst"``,
        ``"date:yearfirst"``, ``"date:seconds"`` or ``"date:milliseconds"``; with ``":age"`` a date
        is also a number, its age.
    format : str, optional
        One of csv, tsv, jsonl, parquet, arrow, svmlight, fasttext, vw or text (every line is a
        row and has no label); detected by default. In fastText lines labels begin with
        ``__label__``; with ``"fasttext:#"`` they begin with ``#``.
    ngrams : Ngrams, optional
        How text is hashed, and to how many columns; or a function that tells it from the mean
        length of texts in bytes and the number of classes.
    features, classes : optional
        Features and classes of a model, to read further files for it; a label that is not one of
        `classes` is then an error.
    header : bool, optional
        Whether the first row of CSV and TSV is a header; detected by default.
    missing : words, optional
        Cells that are missing values of numbers, categories and dates, besides empty ones; by
        default ``?`` and the words of pandas, such as ``NA``, ``n/a``, ``nan``, ``null`` and
        ``None``. A label is missing only if its cell is empty.
    expect_text : bool
        Whether there must be text: if none is detected, the most likely column of strings is
        text, and it is an error if there is none.
    skip_bad_rows : bool
        Skip and count rows that cannot be read instead of raising.
    block_bytes : int
        Bytes of a text file per batch.
    live : bool
        Whether lines of standard input are read as they arrive.
    label_separator : str, optional
        The separator of labels if a row may have several. For fastText it is detected from the
        first lines.
    decimal : str, optional
        The sign before the decimals of numbers that are text in files: a comma, or a point.
    cross : pairs of letters
        In Vowpal Wabbit files, the features of a namespace that begins with the first letter times
        those of one with the second are features too; a colon stands for any namespace.

    Returns
    -------
    Source

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "reviews.csv"
    >>> _ = path.write_text('stars,review\\n5,"good, not bad"\\n1,not good at all\\n')
    >>> source = open(path, label="stars")
    >>> [(len(batch), batch.labels.tolist(), batch.rows.indptr.tolist()) for batch in source]
    [(2, [1, 0], [0, 5, 12])]
    >>> source.classes, [(column.name, column.kind) for column in source.features.columns]
    (['1', '5'], [('review', 'text')])
    """
    words = missing_words(missing) if features is None else features.missing_words
    names = names_in_options(label, text, columns, features)
    reader = reader_of(paths, format, header, skip_bad_rows, block_bytes, names, words, live)
    if features is not None:
        names = [c.name for c in features.columns]
        reader.prefer_plain_text(names, features.is_one_text, format, live)
        return source_for(reader, features, classes, skip_bad_rows)
    hashing = ngrams or Ngrams()
    features = detect_features(
        reader, label, text, columns, hashing, words, expect_text, label_separator, decimal, cross
    )
    return Source(reader, features, True, classes, skip_bad_rows)


def source_for(
    reader: Reader, features: Features, classes: Iterable[str] | None, skip: bool
) -> Source:
    """A source of the rows of a reader with known features, which have to fit."""
    reader.multilabel = features.multilabel
    return Source(reader, features, fit_features(reader, features), classes, skip)


def _separator(reader: Reader, separator: str | None) -> str | None:
    """The separator of labels, or None if a row has one label."""
    if separator is None:
        return " " if reader.has_several_labels() else None
    if reader.kind.has_features or not separator:
        what = f"{reader.format} rows have one label" if separator else "it is empty"
        raise OptionError(f"the label separator has no effect: {what}")
    if reader.kind.separator not in (None, separator):
        mark = reader.kind.separator
        what = f"labels of {reader.kind.files} are separated by {mark!r}"
        raise OptionError(f"{what}: label_separator={mark!r}")
    return separator


def reader_of(
    paths: Any,
    format: str | None,
    header: bool | None,
    skip: bool,
    block_bytes: int = BLOCK_BYTES,
    mentioned: Iterable[str] = (),
    missing: tuple[str, ...] = MISSING_WORDS,
    live: bool = False,
    name: str | None = None,
) -> Reader:
    """The reader for files, a table in memory, or an open file called `name` in messages."""
    if is_table_in_memory(paths):
        return TableReader(to_arrow_table(paths))
    check_format(format)
    if name is not None and hasattr(paths, "read"):
        return Reader([name], format, header, skip, block_bytes, paths)
    files = expand_paths(paths)
    for path in files:
        if Path(path).is_dir():
            raise DataError("is a folder: name the files to read, such as '*.csv'", path=path)
    return Reader(
        files,
        format,
        header,
        skip,
        block_bytes,
        mentioned=list(mentioned),
        missing=missing,
        live=live,
    )


def names_in_options(label: Any, text: Any, columns: Any, features: Features | None) -> list[str]:
    """The column names in the options of :func:`open`; they help to detect a header."""
    texts = [text] if isinstance(text, str) else text or ()
    known = () if features is None else (features.label, *(c.name for c in features.columns))
    labels = [name for name in (joined_label(label), *known[:1]) if isinstance(name, str)]
    parts = [part.strip() for name in labels for part in name.split(SEPARATOR)]
    named = [*labels, *parts, *texts, *(columns or ()), *known[1:]]
    return [name for name in named if isinstance(name, str)]


def detect_features(
    reader: Reader,
    label: str | int | Iterable[str] | None,
    text: str | Iterable[str] | None,
    columns: Iterable[str] | Mapping[str, str] | None,
    ngrams: Ngrams | Callable[[float, float], Ngrams],
    missing: tuple[str, ...] = MISSING_WORDS,
    expect_text: bool = False,
    label_separator: str | None = None,
    decimal: str | None = None,
    cross: Iterable[str] = (),
) -> Features:
    """Detect labels from the first rows, and the kinds of columns from rows all over the files."""
    separator = _separator(reader, label_separator)
    reader.multilabel = separator is not None
    if reader.kind.has_features:
        return _features_of_lines(reader.kind.origin, ngrams, expect_text, tuple(cross or ()))
    head, path = reader.head(), reader.files[0]
    name = joined_label_name(joined_label(label), head.column_names, path)
    indicators = indicator_columns(name, head.column_names)
    kinds = _chosen_kinds(text, columns, indicators or (name,), head, path)
    kinds = {**reader.kind.kinds, **kinds, **dict.fromkeys(indicators, "ignore")}
    sample = joined(reader.sample(), head)
    if not indicators and separator is None:
        labels = label_strings(sample[name]).drop_null()
        refuse_amounts(sorted_labels(labels.unique().to_pylist()), len(labels), path, name)
    features = guess_columns(sample, name, kinds, missing, decimal or ".")
    if not features:
        nested = [name for name in head.column_names if not can_be_strings(head[name].type)]
        what = f": values of objects and lists, as in {listed(nested)}, need columns of their own"
        raise DataError("no column is left to learn from" + what * bool(nested), path=path)
    if expect_text and not any(c.kind == "text" for c in features):
        features = _with_text(head, features, kinds, missing)
    _check_scales(features, path)
    if indicators and separator is not None:
        raise OptionError("a label separator has no effect on indicator columns of labels")
    separator = SEPARATOR if indicators else separator
    if callable(ngrams):
        multilabel = bool(indicators) or separator is not None
        classes = math.inf if multilabel else len(set(sample[name].to_pylist()))
        ngrams = ngrams(_mean_length(sample, features), classes)
    return Features("table", features, name, ngrams, missing, separator)


def _features_of_lines(
    origin: str,
    ngrams: Ngrams | Callable[[float, float], Ngrams],
    are_asked: bool,
    crosses: tuple[str, ...],
) -> Features:
    """The features of svmlight or Vowpal Wabbit files; n-grams only where they are asked for."""
    ngrams = ngrams(math.inf, 2) if callable(ngrams) else ngrams
    high = ngrams.high if are_asked else 1
    if are_asked and (origin != "vw" or ngrams.low > 1 or ngrams.analyzer == "char"):
        raise OptionError(_NO_TEXT if origin != "vw" else _VW_NGRAMS)
    for pair in crosses:
        if not is_cross(pair):
            what = f"{shown(pair)} is not the first letters of two namespaces"
            raise OptionError(f"{what}: --cross ab (cross=['ab'])")
    return Features(origin, (), None, ngrams._replace(low=1, high=high), crosses=crosses)


def _mean_length(sample: Mapping[str, pa.ChunkedArray], columns: tuple[Column, ...]) -> float:
    """The mean bytes of a cell in the column of text where that is largest."""
    texts = [plain_strings(sample[column.name]) for column in columns if column.kind == "text"]
    offsets = [string_buffers(strings)[0] for strings in texts if len(strings)]
    return max((float(at[-1] - at[0]) / (len(at) - 1) for at in offsets), default=math.inf)


def _chosen_kinds(
    text: str | Iterable[str] | None,
    columns: Iterable[str] | Mapping[str, str] | None,
    labels: tuple[str, ...],
    head: pa.Table,
    path: str,
) -> dict[str, str]:
    """The kinds of columns by the options `text` and `columns`, checked."""
    texts = [text] if isinstance(text, str) else list(text or ())
    kinds = {str(n): kind for n, kind in columns.items()} if isinstance(columns, Mapping) else {}
    others = [] if columns is None or isinstance(columns, Mapping) else list(columns)
    require_columns([*others, *texts, *kinds], head.column_names, path)
    for label in labels:
        if label in texts or label in kinds:
            raise OptionError(f"{label!r} is the label: it cannot be a feature as well")
    kinds |= dict.fromkeys(texts, "text")
    used = [name for name, kind in kinds.items() if kind != "ignore"]
    _require_cells([*labels, *others, *used], head, path)
    if isinstance(columns, Mapping) or (columns is None and not texts):
        return kinds
    chosen = {*others, *texts}
    return kinds | {name: "ignore" for name in head.column_names if name not in chosen}


def _check_scales(columns: tuple[Column, ...], path: str) -> None:
    """Raise DataError if the mean or scale of a column overflows."""
    for column in columns:
        if not (math.isfinite(column.mean) and math.isfinite(column.scale)):
            raise DataError(
                "its numbers are too large to be scaled; correct them, or leave the column out "
                f"(--column {column.name}=ignore)",
                path=path,
                column=column.name,
            )


def _with_text(
    head: pa.Table, columns: tuple[Column, ...], kinds: Mapping[str, str], missing: tuple[str, ...]
) -> tuple[Column, ...]:
    """The columns with the most likely string columns as text, by name, by values, or if alone."""
    strings = [c.name for c in columns if c.kind == "category" and c.name not in kinds]
    for likely in (
        [name for name in strings if name_suggests(name)],
        [name for name in strings if seldom_repeats(head[name], missing)],
        strings if len(strings) == 1 else [],
    ):
        if likely:
            return tuple(Column(c.name, "text") if c.name in likely else c for c in columns)
    raise OptionError(_NO_TEXT)


def missing_words(words: Iterable[str] | None) -> tuple[str, ...]:
    """The words for missing values: those given, else the defaults; always the empty string."""
    if words is None:
        return MISSING_WORDS
    listed_words = [words] if isinstance(words, str) else words
    return tuple(dict.fromkeys(["", *(str(word).strip() for word in listed_words)]))


def fit_features(reader: Reader, features: Features) -> bool:
    """Check that files have the columns of a model; return whether they have the label."""
    origin = reader.kind.origin
    if origin != features.origin:
        message = f"the model was trained on {features.origin} data, this is {reader.format}"
        raise DataError(message, path=reader.files[0])
    if origin != "table":
        return True
    names = reader.head().column_names
    require_columns([c.name for c in features.columns], names, reader.files[0])
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
        message += "; name it with --label; if this is not a table, say what it is with --format, "
        message += "such as fasttext, or fasttext:# for labels that begin with #"
        raise DataError(message, path=path)
    if isinstance(label, str) and label in names:
        return label
    try:
        place = int(label)
    except ValueError:
        require_columns([str(label)], names, path)
        raise
    if place == 0:
        message = "the label cannot be column 0: columns are counted from 1, and from -1 backwards"
        raise DataError(message, path=path)
    if abs(place) > len(names):
        require_columns([str(label)], names, path)
    return names[place - 1 if place > 0 else place]


def _require_cells(names: Iterable[str], head: pa.Table, path: str) -> None:
    for name in names:
        kind = head[name].type
        if not can_be_strings(kind):
            message = f"expected strings, numbers or dates, found {kind}: put what is in it into "
            raise DataError(message + "columns of their own first", path=path, column=name)
