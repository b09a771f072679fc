"""Schema detection: which column is the label, and what the others are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rosenblatt.data.column_kinds import guess_columns
from rosenblatt.data.features import Features
from rosenblatt.data.readers import SPARSE, Reader
from rosenblatt.errors import DataError, listed, shown
from rosenblatt.kernels.text import Ngrams


def detect_features(
    reader: Reader,
    label: str | int | None,
    text: str | Iterable[str] | None,
    columns: Iterable[str] | Mapping[str, str] | None,
    ngrams: Ngrams,
) -> Features:
    """Detect from the beginning of the first file what the columns are."""
    if reader.format in SPARSE:
        return Features(reader.format, (), None, ngrams)
    head = reader.head()
    path, names = reader.files[0], head.column_names
    name = label_name(label, names, path)
    texts = [text] if isinstance(text, str) else list(text or ())
    kinds = (
        {str(key): kind for key, kind in columns.items()} if isinstance(columns, Mapping) else {}
    )
    only = texts or None
    if columns is not None:
        only = None if isinstance(columns, Mapping) else [*columns, *texts]
    _must_have([*(only or ()), *texts, *kinds], names, path)
    if reader.format == "fasttext":
        kinds = {"text": "text"} | kinds
    kinds |= dict.fromkeys(texts, "text")
    if only is not None:
        chosen = set(only)
        kinds |= {key: "ignore" for key in names if key not in chosen}
    found = guess_columns(head, name, kinds)
    if not found:
        raise DataError("no column is left to learn from", path=path)
    return Features("table", found, name, ngrams)


def fit_features(reader: Reader, features: Features) -> bool:
    """Whether files that must fit a model's features have the label, too."""
    origin = reader.format if reader.format in SPARSE else "table"
    if origin != features.origin:
        message = f"the model was trained on {features.origin} data, this is {reader.format}"
        raise DataError(message, path=reader.files[0])
    if origin != "table":
        return True
    names = reader.head().column_names
    _must_have([c.name for c in features.columns], names, reader.files[0])
    return features.label in names


def label_name(label: str | int | None, names: list[str], path: str) -> str:
    """The label's column: given by name, or by place from 1, negative from the end.

    >>> label_name("kind", ["a", "kind"], "a.csv"), label_name("-1", ["a", "kind"], "a.csv")
    ('kind', 'kind')
    >>> label_name(None, ["a", "kind"], "a.csv")
    Traceback (most recent call last):
    ...
    rosenblatt.errors.DataError: a.csv: which column is the label? The columns are a, kind
    """
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
        _must_have([str(label)], names, path)
        raise
    if place == 0:
        message = "the label cannot be column 0: columns are counted from 1, and from -1 backwards"
        raise DataError(message, path=path)
    if abs(place) > len(names):
        _must_have([str(label)], names, path)
    return names[place - 1 if place > 0 else place]


def _must_have(wanted: list[str], names: list[str], path: str) -> None:
    known = set(names)
    for name in wanted:
        if name not in known:
            message = f"there is no column {shown(name)}; the columns are {listed(names)}"
            raise DataError(message, path=path)
