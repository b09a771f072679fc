"""The only way to read files: any format as batches of sparse rows with their labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rosenblatt.data.arrow_tables import is_table_in_memory, to_arrow_table
from rosenblatt.data.bytes import BLOCK_BYTES
from rosenblatt.data.cells import MISSING_WORDS
from rosenblatt.data.features import Features
from rosenblatt.data.files import check_format, expand_paths
from rosenblatt.data.labels import SEPARATOR, joined_label
from rosenblatt.data.readers import SPARSE, Reader
from rosenblatt.data.schema import check_scales, detect_features, fit_features, missing_words
from rosenblatt.data.source import Source
from rosenblatt.data.table_readers import (
    TableReader,
    TextFolderReader,
    is_text_folder,
)
from rosenblatt.errors import DataError, OptionError
from rosenblatt.kernels.text import Ngrams


def open(
    paths: Any,
    label: str | int | Iterable[str] | None = None,
    text: str | Iterable[str] | None = None,
    columns: Iterable[str] | Mapping[str, str] | None = None,
    format: str | None = None,
    *,
    ngrams: Ngrams | None = None,
    features: Features | None = None,
    classes: Iterable[str] | None = None,
    header: bool | None = None,
    missing: Iterable[str] | None = None,
    expect_text: bool = False,
    skip_bad_rows: bool = False,
    block_bytes: int = BLOCK_BYTES,
    live: bool = False,
    label_separator: str | None = None,
) -> Source:
    """Open one or several files of one format, or a table in memory, as a source of batches.

    Parameters
    ----------
    paths : str, path, several of them, or a table
        Files, patterns such as ``"logs/*.csv.gz"``, or ``"-"`` for standard input. gzip, zstd,
        bz2, lz4 and xz are recognised by their content. A folder with a folder of text files per
        class is read as one file. A table is a pandas or polars data frame, a pyarrow table or a
        dict of columns.
    label : str, int or several, optional
        The label column: its name, or its number counted from 1, negative from the end. By default
        the column named ``label``. Several columns, as a list or joined by commas, are indicators:
        1 in rows that have the label of that name, else 0.
    text : str or several, optional
        Columns of text. If given, and `columns` is not, they are the only features.
    columns : names, or mapping of name to kind, optional
        Names restrict the features to these columns. A mapping gives their kinds: ``"text"``,
        ``"category"``, ``"number"``, ``"date"`` or ``"ignore"``; other kinds are detected.
    format : str, optional
        One of csv, tsv, jsonl, parquet, arrow, svmlight, fasttext, vw, folder (of text files
        per class) or text (every line is a row and has no label); detected by default.
    ngrams : Ngrams, optional
        How text is hashed, and to how many columns.
    features, classes : optional
        Features and classes of a model, to read further files for it; a label that is not one of
        `classes` is then an error.
    header : bool, optional
        Whether the first row of CSV and TSV is a header; detected by default.
    missing : words, optional
        Cells that are missing values of numbers, categories and dates, besides empty ones; by
        default ``?``, ``NA``, ``N/A``, ``NaN``, ``nan``, ``null``, ``NULL`` and ``None``. A label
        is missing only if its cell is empty.
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
    >>> source.classes, source.features.columns
    (['1', '5'], (Column(name='review', kind='text', mean=0.0, scale=1.0),))
    """
    words = missing_words(missing) if features is None else features.missing_words
    names = names_in_options(label, text, columns, features)
    reader = reader_of(paths, format, header, skip_bad_rows, block_bytes, names, words, live)
    if features is not None:
        reader.prefer_plain_text([c.name for c in features.columns], features.is_one_text, format)
        reader.multilabel = features.multilabel
        return Source(reader, features, fit_features(reader, features), classes, skip_bad_rows)
    separator = _separator(reader, label_separator)
    reader.multilabel, chosen = separator is not None, ngrams or Ngrams()
    found = detect_features(reader, label, text, columns, chosen, words, expect_text)
    check_scales(found, reader.files[0] if reader.files else None)
    if found.separator is None:
        found = replace(found, separator=separator)
    elif separator is not None:
        raise OptionError("a label separator has no effect on indicator columns of labels")
    return Source(reader, found, True, classes, skip_bad_rows)


def _separator(reader: Reader, given: str | None) -> str | None:
    """The separator of labels, or None if a row has one label."""
    if given is None:
        return " " if reader.has_several_labels() else None
    if reader.format in SPARSE or not given:
        what = f"{reader.format} rows have one label" if given else "it is empty"
        raise OptionError(f"the label separator has no effect: {what}")
    if reader.format == "fasttext" and given != " ":
        raise OptionError("labels of fastText lines are separated by blanks: label_separator=' '")
    return given


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
    is_folder = Path(files[0]).is_dir()
    if format == "folder" or (format is None and is_folder):
        if not is_text_folder(files[0]):
            kind = "folder" if is_folder else "file"
            raise DataError(
                f"is a {kind}, not a folder with a folder of text files per class; "
                "name the files to read, such as '*.csv'",
                path=files[0],
            )
        if len(files) > 1:
            raise DataError("folders of text files are read one at a time", path=files[1])
        return TextFolderReader(files[0], skip)
    return Reader(
        files, format, header, skip, block_bytes, mentioned=list(mentioned), missing=missing,
        live=live,
    )  # fmt: skip


def names_in_options(label: Any, text: Any, columns: Any, features: Features | None) -> list[str]:
    """The column names in the options of :func:`open`; they help to detect a header."""
    texts = [text] if isinstance(text, str) else text or ()
    known = () if features is None else (features.label, *(c.name for c in features.columns))
    labels = [name for name in (joined_label(label), *known[:1]) if isinstance(name, str)]
    parts = [part.strip() for name in labels for part in name.split(SEPARATOR)]
    named = [*labels, *parts, *texts, *(columns or ()), *known[1:]]
    return [name for name in named if isinstance(name, str)]
