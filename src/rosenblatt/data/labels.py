"""Labels: their order, sets of them where a row has several, and columns of their own.

A label in a column of its own is 1 where a row has it, 0 where it has not. Such columns are read as
one column of labels, named by their names with a comma between each two; its cells hold the labels
of a row, separated by commas.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rosenblatt.data.cells import label_strings

SEPARATOR = ","
_YES, _NO = ("1", "true", "True", "TRUE"), ("0", "false", "False", "FALSE")


def sorted_labels(names: Iterable[str]) -> list[str]:
    """Labels in their order: by number where all are numbers, else as strings."""
    labels = list(names)
    try:
        return sorted(labels, key=float)
    except ValueError:
        return sorted(labels)


def split_labels(cell: str, separator: str) -> list[str]:
    """The labels in a cell."""
    return list(dict.fromkeys(part.strip() for part in cell.split(separator) if part.strip()))


class LabelSets:
    """Sets of class numbers, numbered as they are met: the code of a row with several labels.

    Examples
    --------
    >>> sets = LabelSets()
    >>> sets.number([2, 0]), sets.number([1]), sets.number([0, 2])
    (0, 1, 0)
    >>> sets.matrix(3).tolist()
    [[True, False, True], [False, True, False]]
    """

    def __init__(self, members: Iterable[Iterable[int]] = ()) -> None:
        self.members: list[tuple[int, ...]] = []
        self._numbers: dict[tuple[int, ...], int] = {}
        self._matrix = np.zeros((0, 0), dtype=bool)
        for each in members:
            self.number(each)

    def __len__(self) -> int:
        return len(self.members)

    def number(self, codes: Iterable[int]) -> int:
        """The number of a set."""
        key = tuple(sorted(set(codes)))
        if key not in self._numbers:
            self._numbers[key] = len(self.members)
            self.members.append(key)
        return self._numbers[key]

    def matrix(self, n_classes: int) -> np.ndarray:
        """Which classes are in which set, (sets, classes)."""
        if self._matrix.shape != (len(self.members), n_classes):
            self._matrix = np.zeros((len(self.members), n_classes), dtype=bool)
            for number, codes in enumerate(self.members):
                self._matrix[number, list(codes)] = True
        return self._matrix


def joined_label(label: Any) -> Any:
    """The name of several columns of labels together; a single one as it is."""
    if label is None or isinstance(label, str | int):
        return label
    return SEPARATOR.join(str(name) for name in label)


def indicator_columns(label: str | None, names: Iterable[str]) -> tuple[str, ...]:
    """The columns that a label is made of; none where it is a column itself, or not there."""
    known = set(names)
    parts = () if label is None or label in known else tuple(label.split(SEPARATOR))
    return parts if len(parts) > 1 and known.issuperset(parts) else ()


def label_cells(table: pa.Table, columns: Sequence[str]) -> pa.Array:
    """The labels of each row in one cell; a row without any has a cell of commas alone."""
    cells = [pc.if_else(_are(table[name], _YES), name, "") for name in columns]
    return pc.binary_join_element_wise(*cells, SEPARATOR)


def wrong_rows(column: pa.ChunkedArray) -> list[int]:
    """The rows of a column of labels that hold neither 0 nor 1."""
    fine = _are(column, (*_YES, *_NO)).to_numpy(zero_copy_only=False)
    return np.flatnonzero(~fine).tolist()


def _are(column: pa.ChunkedArray | pa.Array, words: tuple[str, ...]) -> pa.Array:
    """Which cells hold one of some words."""
    return pc.is_in(label_strings(column), value_set=pa.array(words))
