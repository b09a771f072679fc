"""The lift of a table: knots of its numbers and pairs of its columns, fitted to a sample."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rosenblatt.kernels.lift import KNOT, STRIDE_BITS, Plan, hashed_part, lift_rows
from rosenblatt.kernels.text import Rows, named_seed

Array = npt.NDArray[Any]
Scale = tuple[float, ...]
MOST_PAIRS = 300  # of columns; of more, those that help most on the sample
_MANY_ROWS = (4_000, 12_000)  # in the sample, for knots and bins that are finer, twice
_KNOTS, _DEPTH = 16, 3  # the number of intervals, and the depth of bins, for few rows
_MOST_KNOTS, _MOST_DEPTH = 257, 5
_LARGEST = float(np.finfo(np.float64).max)
_PRIOR = 5.0  # rows that a bin is shrunk by when pairs are compared
_SWEEPS = 3
_MOST_COMPARED = 64  # columns, those that help most alone


@dataclass(frozen=True)
class LiftedColumn:
    """A column with its knots and the edges of its bins; a category has none.

    ``edges`` are those of the ``2**depth`` leaves of a tree of bins, depth by depth of about equal
    numbers of rows; an edge that no number reaches fills the place of one that there is not.

    >>> LiftedColumn.of_numbers("x", np.array([0.0, 0, 0, 1, 2, 3]), 4, 1)
    LiftedColumn(name='x', knots=(0.0, 1.0, 2.0, 3.0), edges=(0.5,))
    """

    name: str
    knots: Scale = ()
    edges: Scale = ()

    @classmethod
    def of_numbers(cls, name: str, numbers: Array, intervals: int, depth: int) -> LiftedColumn:
        """The knots and edges of a sample of numbers, of which none is missing."""
        values, counts = np.unique(numbers, return_counts=True)
        knots = values[_starts(counts, intervals)]
        if len(values) < 2:
            return cls(name)
        if len(values) == 2:
            depth = 1
        # The last interval ends at the largest value.
        ends = () if len(knots) == len(values) else (float(values[-1]),)
        edges = _tree(values, np.cumsum(counts), 0, len(values), depth)
        return cls(name, (*knots.tolist(), *ends), tuple(edges))

    @property
    def is_number(self) -> bool:
        """Whether it holds numbers that are not all equal."""
        return bool(self.edges)

    @property
    def depth(self) -> int:
        """The number of resolutions in which it is paired; 1 for categories."""
        return (len(self.edges) + 1).bit_length() - 1 if self.edges else 1

    @property
    def resolutions(self) -> list[Scale]:
        """The knots, and those of each coarser resolution; none for two values or fewer."""
        if len(self.knots) < 3:
            return []
        layers, stride = [self.knots], 1 << STRIDE_BITS
        while (len(self.knots) - 1) // stride > 2:
            layer = self.knots[:-1:stride]
            layers.append((*layer, self.knots[-1]))
            stride <<= STRIDE_BITS
        return layers

    def bin_name(self, x: float, level: int) -> str:
        """The bin of a number at a depth from 0, such as ``age 25..40``."""
        if math.isnan(x):
            return f"{self.name}=?"
        level = min(level, self.depth - 1)
        step = 1 << (self.depth - 1 - level)
        edges = self.edges[step - 1 :: step]
        code = int(np.searchsorted(edges, x, side="right"))
        low = f"{edges[code - 1]:.6g}" if code else ""
        high = f"{edges[code]:.6g}" if code < len(edges) and edges[code] < _LARGEST else ""
        return f"{self.name} {low}..{high}"


class Lifted(NamedTuple):
    """Sparse rows, and the number of the owner of each entry if it was asked for."""

    rows: Rows
    owners: Array


@dataclass(frozen=True)
class TableLift:
    """What is added to the straight entries of a table; a model stores it.

    The straight entries, the knots and the pairs are three blocks of about equal mean square
    length, together of length 1.

    Attributes
    ----------
    columns : tuple of LiftedColumn
        The numbers that vary, and the categories.
    pairs : tuple of pairs of int
        The columns that are crossed, by their places in `columns`.

    Examples
    --------
    >>> numbers = {"a": np.arange(9.0), "b": np.arange(9.0) % 3}
    >>> lift = TableLift.fit(numbers)
    >>> lift.pairs, lift.entries, [len(c.knots) for c in lift.columns]
    (((0, 1),), 3, [9, 3])
    """

    columns: tuple[LiftedColumn, ...]
    pairs: tuple[tuple[int, int], ...] = ()

    @classmethod
    def fit(
        cls, numbers: Mapping[str, Array], names: Sequence[str] = (), *, pairs: bool = True
    ) -> TableLift:
        """The lift for a sample of numbers by column; missing ones are NaN.

        `names` are those of all columns, in order: the others hold categories.
        """
        rows = max((len(x) for x in numbers.values()), default=0)
        finer = sum(rows >= many for many in _MANY_ROWS)
        intervals, depth = _KNOTS << (STRIDE_BITS * finer), _DEPTH + finer
        columns = []
        for name in names or numbers:
            if name not in numbers:
                columns.append(LiftedColumn(name))
                continue
            x = numbers[name]
            column = LiftedColumn.of_numbers(name, x[np.isfinite(x)], intervals, depth)
            columns += [column] if column.is_number else []
        crossed = tuple(combinations(range(len(columns)), 2)) if pairs else ()
        return cls(tuple(columns), crossed)

    @cached_property
    def entries(self) -> int:
        """How many entries of a row are of pairs."""
        depths = [column.depth for column in self.columns]
        return sum(max(depths[a], depths[b]) for a, b in self.pairs)

    @cached_property
    def units(self) -> Array:
        """What the entries of straight columns, of knots and of pairs are multiplied by."""
        # Two shares f and 1 - f of a number have a mean squared length of about 2/3.
        near = sum(len(column.resolutions) for column in self.columns) * 2 / 3
        blocks = 1 + (near > 0) + (self.entries > 0)
        sizes = np.array([1.0, max(near, 1.0), max(self.entries, 1)])
        return (1.0 / np.sqrt(blocks * sizes)).astype(np.float32)

    @property
    def common(self) -> float:
        """The value that most entries have; 0 without pairs."""
        return float(self.units[2]) if self.entries else 0.0

    def of_pairs(self, pairs: Sequence[tuple[int, int]]) -> TableLift:
        """The same lift with other pairs."""
        return TableLift(self.columns, tuple(pairs))

    def rows(
        self,
        straight: Array,
        values: Array,
        numbers: Mapping[str, Array],
        places: Mapping[str, tuple[int, int]],
        bits: int,
        owners: bool = False,
    ) -> Lifted:
        """Rows of the straight entries (rows, m) and what is added to them.

        `places` are, by column, its first straight entry and the hashed column of a missing value.
        """
        plan, names = self._plan(places), [c.name for c in self.columns if c.is_number]
        read = np.array([numbers[name] for name in names], np.float64)
        (n, m), d = straight.shape, len(self.columns)
        near = 2 * sum(len(column.resolutions) for column in self.columns)
        most = n * (m + near + self.entries)
        columns, out = np.empty(most, np.uint32), np.empty(most, np.float32)
        by = np.empty(most if owners else 0, np.int32)
        indptr = np.zeros(n + 1, np.uint64)
        scratch = np.empty((max(1, d), max(plan.depths, default=1)), np.uint64)
        end = lift_rows(
            plan,
            straight,
            values,
            read.reshape(len(names), n),
            np.uint64((1 << bits) - 1),
            self.units,
            scratch,
            indptr,
            columns,
            out,
            by,
        )
        return Lifted(Rows(indptr, columns[:end], out[:end]), by[:end])

    def _plan(self, places: Mapping[str, tuple[int, int]]) -> Plan:
        scales = [column for column in self.columns if column.is_number]
        numbered = {column.name: i for i, column in enumerate(scales)}
        sources = [numbered.get(c.name, -1 - places[c.name][0]) for c in self.columns]
        knots = [column.knots if column.resolutions else () for column in scales]
        edges = [column.edges for column in scales]
        return Plan(
            np.array([named_seed(column.name) for column in self.columns], np.uint64),
            np.array(sources, np.int64),
            np.array([places[column.name][1] for column in self.columns], np.uint32),
            *_flat(knots),
            *_flat(edges),
            np.array([column.depth for column in self.columns], np.int64),
            np.array(self.pairs, np.int64).reshape(-1, 2),
        )

    def knot_names(self, bits: int) -> dict[int, str]:
        """The names of the hashed columns of knots."""
        names: dict[int, str] = {}
        mask = np.uint64((1 << bits) - 1)
        for column in self.columns:
            seeds = np.array([named_seed(column.name)])  # of an array, products may overflow
            for resolution, knots in enumerate(column.resolutions):
                hashes = (
                    hashed_part(seeds, KNOT + resolution, np.arange(len(knots), dtype=np.uint64))
                    & mask
                )
                named = [f"{column.name}~{knot:.6g}" + "'" * resolution for knot in knots]
                names |= dict(zip(hashes.tolist(), named, strict=True))
        return names

    def pair_name(self, entry: int, cells: Mapping[str, Any], numbers: Mapping[str, float]) -> str:
        """The name of an entry of pairs in a row, such as ``age 25..40 × job=tech``."""
        for pair in self.pairs:
            one, other = (self.columns[c] for c in pair)
            depth = max(one.depth, other.depth)
            if entry < depth:
                break
            entry -= depth
        bins = [
            column.bin_name(numbers[column.name], entry)
            if column.is_number
            else f"{column.name}={cells[column.name]}"
            for column in (one, other)
        ]
        return " × ".join(bins)

    def owner(self, number: int) -> str:
        """The name of a column, or of a pair ``a × b``: those come after the columns."""
        if number < len(self.columns):
            return self.columns[number].name
        return " × ".join(self.columns[c].name for c in self.pairs[number - len(self.columns)])

    def to_json(self) -> dict[str, Any]:
        """The lift as JSON data."""
        return asdict(self)

    @classmethod
    def from_json(cls, plain: Any) -> TableLift:
        """The lift from :meth:`to_json`; anything else raises ValueError.

        >>> lift = TableLift.fit({"a": np.arange(9.0)}, ["a", "b"])
        >>> TableLift.from_json(lift.to_json()) == lift
        True
        """
        try:
            columns = tuple(
                LiftedColumn(str(c["name"]), _scale(c["knots"]), _scale(c["edges"]))
                for c in plain["columns"]
            )
            pairs = tuple((a, b) for a, b in plain["pairs"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"the lift cannot be read: {error!r}") from None
        for column in columns:
            leaves = len(column.edges) + 1
            if leaves & (leaves - 1) or leaves > 1 << _MOST_DEPTH:
                raise ValueError(f"{column.name} has {leaves} bins")
            if any(b <= a for a, b in pairwise(column.knots)) or len(column.knots) > _MOST_KNOTS:
                raise ValueError(f"the knots of {column.name} do not increase, or are too many")
            if any(b < a for a, b in pairwise(column.edges)):
                raise ValueError(f"the edges of {column.name} do not increase")
        sound = all(type(a) is type(b) is int and 0 <= a < b < len(columns) for a, b in pairs)
        if not sound or len(pairs) > MOST_PAIRS:
            raise ValueError("the pairs are not pairs of columns")
        return cls(columns, pairs)


def best_pairs(codes: Array, targets: Array, most: int = MOST_PAIRS) -> list[tuple[int, int]]:
    """The pairs of columns that explain most of what the columns alone leave, on a sample.

    Parameters
    ----------
    codes : int array (columns, rows)
        The bin of each row in each column.
    targets : float array (rows, classes)
        1 for the class of a row, else 0.
    most : int
        The number of pairs.

    Notes
    -----
    An additive model of the columns is fitted by cyclic means (backfitting). The gain of a pair is
    the sum of squares that the means of its cells would take from the residuals, each mean shrunk
    as if by five more rows. (FAST: Y. Lou, R. Caruana, J. Gehrke, G. Hooker (2013).)

    Examples
    --------
    >>> x = np.array([0, 0, 1, 1] * 9), np.array([0, 1, 0, 1] * 9), np.arange(36) % 3
    >>> best_pairs(np.array(x), np.eye(2)[x[0] ^ x[1]], most=1)
    [(0, 1)]
    """
    residuals = targets - targets.mean(axis=0)
    sizes = codes.max(axis=1) + 1
    alone = [_gain(code, size, residuals) for code, size in zip(codes, sizes, strict=True)]
    for _ in range(_SWEEPS):
        for code, size in zip(codes, sizes, strict=True):
            residuals = residuals - _means(code, size, residuals)[code]
    columns = sorted(np.argsort(-np.array(alone), kind="stable")[:_MOST_COMPARED].tolist())
    pairs = list(combinations(columns, 2))
    gains = [
        _gain(codes[a] * sizes[b] + codes[b], int(sizes[a] * sizes[b]), residuals) for a, b in pairs
    ]
    best = np.argsort(-np.array(gains), kind="stable")[:most]
    return [pairs[i] for i in sorted(best.tolist())]


def _sums(code: Array, size: int, residuals: Array) -> tuple[Array, Array]:
    counts = np.bincount(code, minlength=size) + _PRIOR
    return counts, np.stack([np.bincount(code, r, size) for r in residuals.T], axis=1)


def _means(code: Array, size: int, residuals: Array) -> Array:
    counts, sums = _sums(code, size, residuals)
    return np.asarray(sums / counts[:, None])


def _gain(code: Array, size: int, residuals: Array) -> float:
    counts, sums = _sums(code, size, residuals)
    return float((sums**2 / counts[:, None]).sum())


def _scale(numbers: Any) -> Scale:
    scale = tuple(float(x) for x in numbers)
    if not all(math.isfinite(x) for x in scale):
        raise ValueError("a scale is not finite")
    return scale


def _flat(scales: Sequence[Scale]) -> tuple[Array, Array]:
    ends = np.cumsum([0, *(len(scale) for scale in scales)])
    return np.array([x for scale in scales for x in scale], np.float64), ends.astype(np.int64)


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


def _tree(values: Array, cumulated: Array, start: int, end: int, depth: int) -> list[float]:
    """The edges of ``2**depth`` bins of the values from `start` to `end`."""
    if depth == 0:
        return []
    before = int(cumulated[start - 1]) if start else 0
    cut = _cut(cumulated, start, (before + int(cumulated[end - 1])) / 2)
    if cut >= end:  # a single value, or a most frequent last one: cut before the last
        cut = max(end - 1, start + 1)
    if cut >= end:  # everything is to the left of an edge that no number of this bin reaches
        above = _LARGEST if end == len(values) else _between(values, end)
        return [above] * ((1 << depth) - 1)
    left = _tree(values, cumulated, start, cut, depth - 1)
    return [*left, _between(values, cut), *_tree(values, cumulated, cut, end, depth - 1)]


def _between(values: Array, i: int) -> float:
    return float(values[i - 1] / 2 + values[i] / 2)
