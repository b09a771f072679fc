"""Labels: their order, and sets of them where a row has several."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def sorted_labels(names: Iterable[str]) -> list[str]:
    """Labels in their order: by number where all are numbers, else as strings.

    >>> sorted_labels(["10", "9", "-1"]), sorted_labels(["10", "9", "x"])
    (['-1', '9', '10'], ['10', '9', 'x'])
    """
    labels = list(names)
    try:
        return sorted(labels, key=float)
    except ValueError:
        return sorted(labels)


def split_labels(cell: str, separator: str) -> list[str]:
    """The labels in a cell.

    >>> split_labels("red; green;;red", ";")
    ['red', 'green']
    """
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
