"""Which rows are held out: by their numbers, near copies of a row and rows of a group together."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rosenblatt.data.store import GrowingArray
from rosenblatt.kernels import near_copies
from rosenblatt.kernels.text import Rows

_MOST_HELD_OUT = 50_000  # by the full share
_PART = 1 << 18  # row numbers that are mixed at a time
_RING = 1 << 18  # rows; a row is compared with half as many before it


class Leaders:
    """The first row of those that are held out together, for each row.

    A row leads itself, unless it is in the group of an earlier row or nearly equals one: a copy of
    a row tells nothing of rows that are new. At most 16 copies are together, so that rows which
    repeat a few texts over and over are learned from, too.

    >>> leaders = Leaders()
    >>> leaders.add(Rows(np.array([0, 3, 4, 7]), np.array([5, 8, 9, 7, 5, 8, 9]), np.ones(7)))
    >>> leaders.of(np.arange(3)).tolist()
    [0, 1, 0]
    """

    def __init__(self) -> None:
        self.count = 0  # rows so far
        self.followers = 0
        self._leaders: GrowingArray | None = None  # None while each row leads itself
        self._groups: dict[Any, int] = {}  # the first row of each
        self._ring = np.empty((0, near_copies.BINS), np.uint16)  # sketches
        self._led = np.empty(0, np.uint64)
        self._places = np.empty(0, np.uint8)
        self._table = np.empty(0, np.uint64)

    def add(self, rows: Rows) -> None:
        """Append rows, led by earlier rows that they nearly equal."""
        if not len(self._ring):
            self._ring = np.empty((_RING, near_copies.BINS), np.uint16)
            self._led = np.empty(_RING, np.uint64)
            self._places = np.zeros(_RING, np.uint8)
            self._table = np.zeros(2 * _RING, np.uint64)
        count, least = len(rows.indptr) - 1, np.empty(near_copies.BINS, np.uint64)
        indptr = rows.indptr.astype(np.uint64)
        for start in range(0, count, _RING // 2):
            part = indptr[start : start + _RING // 2 + 1]
            sketches = np.empty((len(part) - 1, near_copies.BINS), np.uint16)
            near_copies.sketch(part, rows.indices, sketches, least)
            places = np.arange(self.count, self.count + len(sketches)) & (_RING - 1)
            self._ring[places] = sketches
            self._lead(self.count + len(sketches))
            self._append(self._led[places])

    def _lead(self, end: int) -> None:
        ends = np.uint64(self.count), np.uint64(end)
        near_copies.lead(self._ring, *ends, self._table, self._led, self._places)

    def add_groups(self, names: list[Any]) -> None:
        """Append rows, led by the first row of their group."""
        firsts = [self._groups.setdefault(name, self.count + i) for i, name in enumerate(names)]
        self._append(np.array(firsts, np.uint64))

    def _append(self, leaders: np.ndarray) -> None:
        numbers = np.arange(self.count, self.count + len(leaders), dtype=np.uint64)
        self.followers += int(np.count_nonzero(leaders != numbers))
        if self._leaders is None and self.followers:
            self._leaders = GrowingArray(np.arange(self.count, dtype=np.uint64))
        if self._leaders is not None:
            self._leaders.extend(leaders)
        self.count += len(leaders)

    def of(self, rows: np.ndarray) -> np.ndarray:
        """The leaders of some rows."""
        rows = rows.astype(np.uint64)
        return rows if self._leaders is None else self._leaders.array[rows.astype(np.int64)]

    def state(self) -> tuple[dict[str, np.ndarray], list[Any]]:
        """The arrays to continue with, for a checkpoint, and the groups in their order."""
        numbers = np.arange(self.count, dtype=np.uint64)
        followers = np.flatnonzero(self.of(numbers) != numbers).astype(np.uint64)
        size = min(self.count, len(self._ring))
        arrays = {
            "followers": followers,
            "leaders": self.of(followers),
            "ring": self._ring[:size],
            "places": self._places[:size],
        }
        return {f"held.{name}": array for name, array in arrays.items()}, list(self._groups.items())

    @classmethod
    def restored(cls, count: int, arrays: dict[str, np.ndarray], groups: list[Any]) -> Leaders:
        """The leaders of a :meth:`state`."""
        leaders, everything = cls(), np.arange(count, dtype=np.uint64)
        followers = arrays["held.followers"]
        if np.any(arrays["held.leaders"] >= followers) or np.any(followers >= count):
            raise ValueError("a row is led by one that is not before it")
        everything[followers.astype(np.int64)] = arrays["held.leaders"]
        leaders._append(everything)
        leaders._groups = {str(name): int(first) for name, first in groups}
        if len(arrays["held.ring"]):  # the table is that of the last rows, in their order
            leaders.add(Rows(np.zeros(1, np.uint64), np.empty(0, np.uint32), np.empty(0)))
            leaders._ring[: len(arrays["held.ring"])] = arrays["held.ring"]
            leaders.count = max(0, count - _RING)
            leaders._lead(count)
            leaders.count = count
            last = np.arange(max(0, count - _RING), count)
            leaders._led[last & (_RING - 1)] = everything[last]
            leaders._places[: len(arrays["held.places"])] = arrays["held.places"]
        return leaders


def is_held_out(rows: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Which rows of these numbers are held out; depends on number and seed alone.

    They are the `share` of the rows, until 50,000 are held out; of as many further rows half that
    share, and half of that again whenever the rows have doubled: the newest rows are among them.
    Different seeds give independent masks: the seed is mixed before it is added to a row number.

    >>> held = is_held_out(np.arange(10_000), share=0.1, seed=0)
    >>> int(held.sum()), bool((held[50:70] == is_held_out(np.arange(50, 70), 0.1, 0)).all())
    (1019, True)
    >>> span = np.arange(1 << 19)
    >>> [int(is_held_out(at + span, 0.1, 0).sum()) for at in (0, 1 << 19, 1 << 20, 1 << 22)]
    [51411, 24600, 13162, 3303]
    """
    held = np.zeros(len(rows), dtype=bool)
    if share <= 0:
        return held
    offset, limit = _mixed(np.array([seed], np.uint64)), math.ceil(_MOST_HELD_OUT / share)
    # In parts, as the numbers of many rows take memory.
    for low in range(0, len(rows), _PART):
        numbers = rows[low : low + _PART].astype(np.uint64)
        halvings = np.frexp((numbers // np.uint64(limit)).astype(np.float64))[1]
        most = (np.ldexp(share, -halvings) * 2.0**64).astype(np.uint64)
        held[low : low + _PART] = _mixed((numbers + offset) * np.uint64(0x9E3779B97F4A7C15)) < most
    return held


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Numbers whose bits each depend on all bits of the given ones; 0 stays 0."""
    mixed = (numbers ^ (numbers >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    return mixed ^ (mixed >> np.uint64(33))
