"""A look at the beginning of files: which columns they have, and what these are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rosenblatt.data.features import Features
from rosenblatt.data.kinds import guess_columns
from rosenblatt.data.readers import SPARSE, Reader
from rosenblatt.errors import DataError
from rosenblatt.kernels.text import Ngrams


def look(
    reader: Reader,
    label: str | int | None,
    text: str | Iterable[str] | None,
    columns: Iterable[str] | Mapping[str, str] | None,
    ngrams: Ngrams,
) -> Features:
    """Find out from the beginning of the first file what the columns are."""
    if reader.format in SPARSE:
        return Features(reader.format, (), None, ngrams)
    head = reader.head()
    path, names = reader.files[0], head.column_names
    name = _label_name(label, names, path)
    texts = [text] if isinstance(text, str) else list(text or ())
    kinds = (
        {str(key): kind for key, kind in columns.items()} if isinstance(columns, Mapping) else {}
    )
    only = texts or None
    if columns is not None:
        only = None if isinstance(columns, Mapping) else [*columns, *texts]
    for key in [*(only or ()), *texts, *kinds]:
        _must_have(key, names, path)
    kinds |= dict.fromkeys(texts, "text")
    if only is not None:
        kinds |= {key: "ignore" for key in names if key not in only}
    found = guess_columns(head, name, kinds)
    if not found:
        raise DataError("no column is left to learn from", path=path)
    return Features("table", found, name, ngrams)


def fitted(reader: Reader, features: Features) -> tuple[Features, bool]:
    """A model's specification for these files, and whether they have the label."""
    origin = reader.format if reader.format in SPARSE else "table"
    if origin != features.origin:
        message = f"the model was trained on {features.origin} data, this is {reader.format}"
        raise DataError(message, path=reader.files[0])
    if origin != "table":
        return features, True
    names = reader.head().column_names
    for c in features.columns:
        _must_have(c.name, names, reader.files[0])
    return features, features.label in names


def _label_name(label: str | int | None, names: list[str], path: str) -> str:
    if label is None and "label" in names:
        return "label"
    if label is None:
        message = f"which column is the label? The columns are {', '.join(names)}"
        raise DataError(message, path=path)
    if str(label) not in names:
        try:
            place = int(label)
            return names[place - 1 if place > 0 else place]
        except (ValueError, IndexError):
            _must_have(str(label), names, path)
    return str(label)


def _must_have(name: str, names: list[str], path: str) -> None:
    if name not in names:
        message = f"there is no column {name!r}; the columns are {', '.join(names)}"
        raise DataError(message, path=path)
