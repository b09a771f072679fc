"""A column of a lift: its knots, and the parts of them that pairs are made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from rosenblatt.kernels.lift import KNOT, STRIDE_BITS, hashed_part, is_in_bins, stride_of
from rosenblatt.kernels.text import named_seed

Array = npt.NDArray[Any]
_USUAL = 0.75  # the share of a value that pairs leave out
_MOST_KNOTS, _MOST_LEVELS = 258, 7


@dataclass(frozen=True)
class LiftedColumn:
    """A column with its knots; a category has none.

    Attributes
    ----------
    name : str
    knots : tuple of float
        At quantiles of the sample; a frequent value is a knot of its own.
    levels : int
        The number of levels of intervals at which it is paired.
    has_more : bool
        Whether the sample has other values than the knots.
    usual : float, str or None
        The value of most rows, which pairs leave out.
    curve : tuple of int or None
        Which knots the curve has where they are fewer, after
        :func:`rosenblatt.models.merge.merged`; empty for no curve. None: those of all resolutions.

    Examples
    --------
    >>> LiftedColumn.of_numbers("x", np.array([0.0, 0, 0, 1, 2, 3]), 4, 1).knots
    (0.0, 1.0, 2.0, 3.0)
    """

    name: str
    knots: tuple[float, ...] = ()
    levels: int = 1
    has_more: bool = False
    usual: float | str | None = None
    curve: tuple[int, ...] | None = None

    @classmethod
    def of_numbers(cls, name: str, numbers: Array, intervals: int, levels: int) -> LiftedColumn:
        """The knots for a sample of numbers; missing ones are NaN."""
        values, counts = np.unique(numbers[np.isfinite(numbers)], return_counts=True)
        if len(values) < 2:
            return cls(name)
        starts = _starts(counts, intervals)
        has_more = len(starts) < len(values)
        # The last interval ends at the largest value.
        if starts[-1] < len(values) - 1:
            starts = np.append(starts, len(values) - 1)
        if not has_more:
            bits = (len(values) - 2).bit_length()
            levels = min(levels, max(1, bits + (bits > 2)))
        usual = float(values[counts.argmax()]) if counts.max() > _USUAL * len(numbers) else None
        return cls(name, tuple(values[starts].tolist()), levels, has_more, usual)

    @classmethod
    def of_categories(cls, name: str, codes: Array, levels: Sequence[str]) -> LiftedColumn:
        """A category of these numbers of levels."""
        counts = np.bincount(codes[codes >= 0], minlength=1)
        most = int(counts.argmax())
        return cls(name, usual=levels[most] if counts[most] > _USUAL * len(codes) else None)

    @property
    def is_number(self) -> bool:
        """Whether it holds numbers that are not all equal."""
        return len(self.knots) > 1

    @property
    def resolutions(self) -> list[tuple[float, ...]]:
        """The knots, and those of each coarser resolution; none for two values or fewer."""
        if self.curve is not None:
            return [tuple(self.knots[at] for at in self.curve)] if self.curve else []
        if len(self.knots) < 3:
            return []
        layers, stride = [self.knots], 1 << STRIDE_BITS
        while (len(self.knots) - 1) // stride > 2:
            layers.append(self._every(stride))
            stride <<= STRIDE_BITS
        return layers

    def level(self, number: int) -> tuple[float, ...]:
        """The knots of a level of pairs."""
        return self._every(int(stride_of(len(self.knots) - 1, number)))

    def bins(self, x: Array) -> Array:
        """The intervals of numbers, about 8; a missing one has a bin of its own."""
        knots = np.array(self.level(min(3, self.levels - 1)))
        inner = knots[1:-1] if self.has_more else (knots[1:] + knots[:-1]) / 2
        codes = np.searchsorted(inner, x, side="right")
        codes[np.isnan(x)] = len(knots)
        return codes

    def parts(self, level: int) -> tuple[Array, list[str]]:
        """The hashes and names of the parts of a number at a level."""
        knots = self.level(level)
        seeds = np.array([named_seed(self.name)])  # of an array, products may overflow
        hashes = hashed_part(seeds, level + 1, np.arange(len(knots), dtype=np.uint64))
        names = [f"{self.name}~{knot:.6g}" + "'" * (self.levels - 1 - level) for knot in knots]
        if is_in_bins(level, self.levels, self.has_more):
            names = [f"{self.name} {low:.6g}..{high:.6g}" for low, high in pairwise(knots)] + names[
                -1:
            ]
        return hashes, names

    def knot_hashes(self, resolution: int, bits: int) -> Array:
        """The hashed columns of the knots of a resolution."""
        seeds = np.array([named_seed(self.name)])  # of an array, products may overflow
        numbers = np.arange(len(self.resolutions[resolution]), dtype=np.uint64)
        hashes = hashed_part(seeds, KNOT + resolution, numbers) & np.uint64((1 << bits) - 1)
        return np.asarray(hashes.astype(np.uint32))

    @classmethod
    def from_json(cls, plain: Any) -> LiftedColumn:
        """The column from a dict of its fields; what makes no sense raises an error."""
        knots, curve = finite(plain["knots"]), plain["curve"]
        curve = None if curve is None else tuple(curve)
        column = cls(
            plain["name"], knots, plain["levels"], plain["has_more"], plain["usual"], curve
        )
        if any(b <= a for a, b in pairwise(knots)) or len(knots) > _MOST_KNOTS:
            raise ValueError(f"the knots of {column.name} do not increase, or are too many")
        usual = type(column.usual) is (float if column.is_number else str) or column.usual is None
        is_sound = type(column.name) is str and type(column.levels) is int and usual
        places = curve or (0, 1)
        is_curve = column.is_number or curve is None
        is_curve &= all(type(at) is int and 0 <= at < max(2, len(knots)) for at in places)
        is_curve &= len(places) > 1 and all(a < b for a, b in pairwise(places))
        if not is_sound or not is_curve or type(column.has_more) is not bool:
            raise ValueError(f"the column {column.name} makes no sense")
        if not 1 <= column.levels <= _MOST_LEVELS:
            raise ValueError(f"the column {column.name} makes no sense")
        return column

    def _every(self, stride: int) -> tuple[float, ...]:
        return (*self.knots[:-1:stride], self.knots[-1])


def _starts(counts: Array, intervals: int) -> Array:
    """The first distinct value of each interval, of about equal numbers of rows.

    A frequent value has an interval of its own, and the others share what is left.

    >>> _starts(np.array([90, 1, 1, 1, 1, 1, 1]), 4).tolist()
    [0, 1, 3, 5]
    """
    if len(counts) <= intervals:
        return np.arange(len(counts))
    cumulated, starts = np.cumsum(counts), [0]
    for left in range(intervals, 1, -1):
        at = starts[-1]
        before = int(cumulated[at - 1]) if at else 0
        end = _cut(cumulated, at, before + (int(cumulated[-1]) - before) / left)
        if end >= len(counts):
            break
        starts.append(end)
    return np.array(starts)


def _cut(cumulated: Array, start: int, target: float) -> int:
    """The end of the values from `start` on that come closest to a cumulated count; not empty."""
    end = int(np.searchsorted(cumulated, target))
    after = cumulated[min(end, len(cumulated) - 1)]
    return end if end > start and target - cumulated[end - 1] <= after - target else end + 1


def finite(numbers: Any) -> tuple[float, ...]:
    """The numbers, or a ValueError if one of them is not finite."""
    floats = tuple(float(x) for x in numbers)
    if not all(math.isfinite(x) for x in floats):
        raise ValueError("a number is not finite")
    return floats
