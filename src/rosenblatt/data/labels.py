"""Labels: their order, rows with several labels, and indicator columns.

Several labels per row may be given by indicator columns of 0 and 1, one per label. These are read
as one column; its name is theirs joined by commas, and its cells hold the labels of a row joined
by commas.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rosenblatt.data.cells import label_strings
from rosenblatt.errors import DataError

SEPARATOR = ","
_FRACTION = re.compile(r"[-+]?\d*\.\d*[1-9]\d*(e[-+]?\d+)?$", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$", re.IGNORECASE)
_MOST_FRACTIONS = 20  # as grades of half points
_AMOUNTS = (
    "there are {:,} labels such as {}: these are amounts, not classes; for regression take another "
    "program, such as scikit-learn's SGDRegressor, or make ranges of them, as pandas.cut does"
)
_YES, _NO = ("1", "true", "True", "TRUE"), ("0", "false", "False", "FALSE")


def sorted_labels(names: Iterable[str]) -> list[str]:
    """Sorted labels: by number, then by spelling, if all are numbers, else as strings.

    The order of `names` does not matter; ``nan`` is not a number.

    >>> sorted_labels({"10", "9", "9.0"}), sorted_labels(["10", "9", "nan"])
    (['9', '9.0', '10'], ['10', '9', 'nan'])
    """
    labels = sorted(names)
    try:
        numbers = {label: float(label) for label in labels}
    except ValueError:
        return labels
    if any(math.isnan(number) for number in numbers.values()):
        return labels
    return sorted(labels, key=numbers.__getitem__)


def split_labels(cell: str, separator: str) -> list[str]:
    """The distinct labels in a cell."""
    return list(dict.fromkeys(part.strip() for part in cell.split(separator) if part.strip()))


def refuse_amounts(labels: Iterable[str], rows: int, path: str, column: str | None) -> None:
    """Raise a DataError if too many of the labels of some rows are decimal fractions.

    They are names, such as versions, where more than a tenth of the labels are no numbers.

    >>> refuse_amounts(["0.5", "1", "1.5"], 3, "a.csv", "y")
    """
    labels = list(labels)
    fractions = [label for label in labels if _FRACTION.match(label)]
    if len(fractions) <= (_MOST_FRACTIONS if 2 * len(fractions) <= rows else 2):
        return
    if 10 * sum(not _NUMBER.match(label) for label in labels) > len(labels):
        return
    message = _AMOUNTS.format(len(fractions), ", ".join(fractions[:3]))
    raise DataError(message, path=path, column=column)


class LabelSets:
    """Numbers for sets of class codes, in order of appearance, for rows with several labels."""

    def __init__(self, members: Iterable[Iterable[int]] = ()) -> None:
        self.members: list[tuple[int, ...]] = []
        self._numbers: dict[tuple[int, ...], int] = {}
        self._matrix = np.zeros((0, 0), dtype=bool)
        for each in members:
            self.number(each)

    def __len__(self) -> int:
        return len(self.members)

    def number(self, codes: Iterable[int]) -> int:
        """The number of a set, new or known."""
        key = tuple(sorted(set(codes)))
        if key not in self._numbers:
            self._numbers[key] = len(self.members)
            self.members.append(key)
        return self._numbers[key]

    def matrix(self, n_classes: int) -> np.ndarray:
        """Boolean array (sets, classes) of membership."""
        if self._matrix.shape != (len(self.members), n_classes):
            self._matrix = np.zeros((len(self.members), n_classes), dtype=bool)
            for number, codes in enumerate(self.members):
                self._matrix[number, list(codes)] = True
        return self._matrix


def joined_label(label: Any) -> Any:
    """The names of several label columns joined by commas; a single label unchanged."""
    if label is None or isinstance(label, str | int):
        return label
    return SEPARATOR.join(str(name) for name in label)


def indicator_columns(label: str | None, names: Iterable[str]) -> tuple[str, ...]:
    """The indicator columns that a joined label name stands for, or an empty tuple."""
    known = set(names)
    parts = () if label is None or label in known else tuple(label.split(SEPARATOR))
    return parts if len(parts) > 1 and known.issuperset(parts) else ()


def label_cells(table: pa.Table, columns: Sequence[str]) -> pa.Array:
    """The labels of each row joined by commas; commas only if it has none."""
    cells = [pc.if_else(_are(table[name], _YES), name, "") for name in columns]
    return pc.binary_join_element_wise(*cells, SEPARATOR)


def wrong_rows(column: pa.ChunkedArray) -> list[int]:
    """The rows of an indicator column that are neither 0 nor 1."""
    fine = _are(column, (*_YES, *_NO)).to_numpy(zero_copy_only=False)
    return np.flatnonzero(~fine).tolist()


def _are(column: pa.ChunkedArray | pa.Array, words: tuple[str, ...]) -> pa.Array:
    """Whether each cell is one of `words`."""
    return pc.is_in(label_strings(column), value_set=pa.array(words))
