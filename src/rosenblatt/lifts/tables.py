"""The lift of a table: knots of its numbers and pairs of its columns, fitted to a sample."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rosenblatt.kernels.lift import (
    STRIDE_BITS,
    TRIPLE_LEVELS,
    Plan,
    hashed_pair,
    hashed_part,
    lift_rows,
)
from rosenblatt.kernels.text import Rows, column, named_seed
from rosenblatt.lifts.best_pairs import MOST_TRIPLES, best_pairs, best_triples, frequent
from rosenblatt.lifts.columns import LiftedColumn, finite

Array = npt.NDArray[Any]
Places = Mapping[str, tuple[int, int]]
# Of pairs in a row, about; of more pairs, those that help most on the sample.
_MOST_ENTRIES = (1200.0, 1200.0, 400.0)  # for few, many and very many rows
MOST_PAIRS = 300
_MANY_ROWS = (4_000, 12_000)  # in the sample, for knots and levels that are finer, twice
_INTERVALS, _LEVELS = 16, 5  # for few rows
_OF_KNOTS = 0.5  # the root mean square length of the knots beside pairs, of which the others have 1
_MOST_ROWS = 8_192  # of the sample, to compare pairs on


class Lifted(NamedTuple):
    """Sparse rows, and the number of the owner of each entry if it was asked for."""

    rows: Rows
    owners: Array


@dataclass(frozen=True)
class TableLift:
    """What is added to the straight entries of a table; a model stores it.

    Attributes
    ----------
    columns : tuple of LiftedColumn
        The numbers that vary, and the categories.
    pairs : tuple of pairs of int
        The columns that are crossed, by their places in `columns`.
    triples : tuple of three int
        The columns that matter only three together, as far as the sample tells.
    units : three floats
        What the straight entries, those of knots and those of pairs are multiplied by: the blocks
        have equal lengths (root mean square), or knots half of it beside pairs; together 1.

    Examples
    --------
    >>> numbers = {"a": np.arange(9.0), "b": np.arange(9.0) % 3}
    >>> lift = TableLift.fit(numbers, {})
    >>> lift.pairs, [len(c.knots) for c in lift.columns]
    (((0, 1),), [9, 3])
    """

    columns: tuple[LiftedColumn, ...]
    pairs: tuple[tuple[int, int], ...] = ()
    triples: tuple[tuple[int, int, int], ...] = ()
    units: tuple[float, ...] = (1.0, 1.0, 1.0)

    @classmethod
    def fit(
        cls,
        numbers: Mapping[str, Array],
        categories: Mapping[str, tuple[Array, Sequence[str]]],
        names: Sequence[str] = (),
        labels: Array | None = None,
        *,
        pairs: bool = True,
        alone: Collection[str] = (),
    ) -> TableLift:
        """The lift for a sample.

        Parameters
        ----------
        numbers : dict of float arrays
            Missing ones are NaN.
        categories : dict of (int array, list of str)
            The codes of rows, -1 for a missing value, and the level of each code.
        names : sequence of str
            All columns, in order.
        labels : int array, optional
            The class of each row, by which pairs are chosen if they are too many.
        pairs : bool
            Whether columns are crossed.
        alone : collection of str
            The columns that are in no pair.
        """
        rows = max((len(x) for x in numbers.values()), default=0)
        finer = sum(rows >= many for many in _MANY_ROWS)
        intervals, levels = _INTERVALS << (STRIDE_BITS * finer), _LEVELS + finer
        columns: list[LiftedColumn] = []
        for name in names or [*numbers, *categories]:
            if name in categories:
                columns.append(LiftedColumn.of_categories(name, *categories[name]))
                continue
            lifted = LiftedColumn.of_numbers(name, numbers[name], intervals, levels)
            columns += [lifted] if lifted.is_number else []
        lift = cls(tuple(columns))
        if not pairs:
            return lift
        others = [i for i, c in enumerate(columns) if c.name not in alone]
        crossed = list(combinations(others, 2))
        costs = lift._costs(crossed, numbers, categories)
        if costs.sum() > _MOST_ENTRIES[finer] or len(crossed) > MOST_PAIRS:
            codes = [
                column.bins(numbers[column.name])
                if column.is_number
                else frequent(categories[column.name][0])
                for column in columns
            ]
            classes = np.zeros(len(codes[0]), np.int64) if labels is None else labels
            some = slice(_MOST_ROWS)
            targets = np.eye(int(classes.max()) + 1)[classes[some]]
            best = best_pairs(np.array([code[some] for code in codes]), targets, MOST_PAIRS)
            crossed = [pair for pair in best if {*pair} <= {*others}]
            costs = lift._costs(crossed, numbers, categories)
            crossed = crossed[: int(np.searchsorted(np.cumsum(costs), _MOST_ENTRIES[finer]))]
        triples: list[tuple[int, int, int]] = []
        if labels is not None:
            sides = [lift._side(i, numbers, categories) for i in others]
            chosen = best_triples(np.array(sides), labels[:_MOST_ROWS])
            triples = [(others[a], others[b], others[c]) for a, b, c in chosen]
        return replace(lift, pairs=tuple(sorted(crossed[:MOST_PAIRS])), triples=tuple(triples))

    def _side(self, number: int, numbers: Any, categories: Any) -> Array:
        """On which side of its middle a number is, or whether a category is the usual one."""
        c = self.columns[number]
        if not c.is_number:
            return (frequent(categories[c.name][0][:_MOST_ROWS]) == 0).astype(np.float32)
        knots = c.level(0)
        middle = knots[len(knots) // 2] if len(knots) > 2 else (knots[0] + knots[-1]) / 2
        return (numbers[c.name][:_MOST_ROWS] >= middle).astype(np.float32)

    def _costs(self, pairs: Sequence[tuple[int, int]], numbers: Any, categories: Any) -> Array:
        """About how many entries of a row each pair makes."""
        parts = []
        for c in self.columns:
            if c.is_number:
                x = numbers[c.name]
                parts.append(2.0 * (1.0 if c.usual is None else 1.0 - np.mean(x == c.usual)))
            else:
                codes, levels = categories[c.name]
                is_usual = codes == (levels.index(c.usual) if c.usual in levels else -2)
                parts.append(1.0 - float(np.mean(is_usual)))
        levels = [c.levels for c in self.columns]
        return np.array([max(levels[a], levels[b]) * parts[a] * parts[b] for a, b in pairs])

    def balanced(self, straight: Array, values: Array, numbers: Any, places: Any) -> TableLift:
        """The lift with units by these rows, for :meth:`rows`."""
        plain = replace(self, units=(1.0, 1.0, 1.0))
        (_, _, entries), owners = plain.rows(straight, values, numbers, places, 22, owners=True)
        m, squares = straight.shape[1], entries.astype(np.float64) ** 2
        blocks = np.digitize(owners, (m, m + len(self.columns)))
        lengths = np.sqrt(np.bincount(blocks, squares, minlength=3) / len(straight))
        shares = np.array([1.0, _OF_KNOTS if self.pairs else 1.0, 1.0]) * (lengths > 0)
        units = shares / np.maximum(lengths, 1e-30) / math.sqrt(max(1.0, float(shares @ shares)))
        return replace(self, units=tuple(units.astype(np.float32).tolist()))

    @property
    def common(self) -> float:
        """The value that many entries have; 0 without pairs."""
        return self.units[2] if self.pairs else 0.0

    def rows(
        self,
        straight: Array,
        values: Array,
        numbers: Mapping[str, Array],
        places: Places,
        bits: int,
        owners: bool = False,
    ) -> Lifted:
        """Rows of the straight entries (rows, m) and what is added to them.

        `places` are, by column, its first straight entry and the hashed column of a missing value.
        """
        plan = self._plan(places, bits)
        names = [c.name for c in self.columns if c.is_number]
        read = np.array([numbers[name] for name in names], np.float64)
        (n, m), d = straight.shape, len(self.columns)
        near = 2 * sum(len(c.resolutions) for c in self.columns)
        levels = [c.levels for c in self.columns]
        sides = [1 + c.is_number for c in self.columns]
        crossed = sum(max(levels[a], levels[b]) * sides[a] * sides[b] for a, b in self.pairs)
        most = n * (m + near + crossed + 8 * TRIPLE_LEVELS * len(self.triples))
        columns, out = np.empty(most, np.uint32), np.empty(most, np.float32)
        by = np.empty(most if owners else 0, np.int32)
        indptr = np.zeros(n + 1, np.uint64)
        shape = (max(1, d), max(levels, default=1), 2)
        end = lift_rows(
            plan,
            straight,
            values,
            read.reshape(len(names), n),
            np.uint64((1 << bits) - 1),
            np.array(self.units, np.float32),
            np.zeros(shape, np.uint64),
            np.empty(shape, np.float64),
            indptr,
            columns,
            out,
            by,
        )
        return Lifted(Rows(indptr, columns[:end], out[:end]), by[:end])

    def _plan(self, places: Places, bits: int) -> Plan:
        scales = [c for c in self.columns if c.is_number]
        numbered = {c.name: i for i, c in enumerate(scales)}
        knots = [x for c in scales for x in c.knots]
        curves = [next(iter(c.resolutions), ()) for c in scales]
        usual = [
            column([f"{c.name}={c.usual}"], bits) if isinstance(c.usual, str) else c.usual
            for c in self.columns
        ]
        return Plan(
            np.array([named_seed(c.name) for c in self.columns], np.uint64),
            np.array(
                [numbered.get(c.name, -1 - places[c.name][0]) for c in self.columns], np.int64
            ),
            np.array([places[c.name][1] for c in self.columns], np.uint32),
            np.array([np.nan if x is None else x for x in usual], np.float64),
            np.array([c.levels for c in self.columns], np.int64),
            np.array([c.has_more for c in self.columns], bool),
            np.array(knots, np.float64),
            np.cumsum([0, *(len(c.knots) for c in scales)]).astype(np.int64),
            np.array([len(c.resolutions) for c in self.columns], np.int64),
            np.array([x for curve in curves for x in curve], np.float64),
            np.cumsum([0, *map(len, curves)]).astype(np.int64),
            np.array(self.pairs, np.int64).reshape(-1, 2),
            np.array(self.triples, np.int64).reshape(-1, 3),
        )

    def knot_names(self, bits: int) -> dict[int, str]:
        """The names of the hashed columns of knots."""
        names: dict[int, str] = {}
        for c in self.columns:
            for resolution, knots in enumerate(c.resolutions):
                named = [f"{c.name}~{knot:.6g}" + "'" * resolution for knot in knots]
                names |= dict(zip(c.knot_hashes(resolution, bits).tolist(), named, strict=True))
        return names

    def pair_names(
        self, levels: Mapping[str, Mapping[str, int]], bits: int, sought: Array
    ) -> dict[int, str]:
        """The names of those of the sought hashed columns that are of pairs.

        `levels` are the straight hashed columns of the levels of each category, by their names, and
        those of missing values.
        """
        parts, names = [], dict[int, str]()
        for c in self.columns:
            seeds = np.array([named_seed(c.name)])
            codes = np.array([*levels[c.name].values()], np.uint64)
            codes, coded = hashed_part(seeds, 0, codes), [f"{c.name}={x}" for x in levels[c.name]]
            near = [c.parts(level) for level in range(c.levels if c.is_number else 0)]
            joined = [(np.append(h, codes), [*n, *coded]) for h, n in near]
            parts.append(joined or [(codes, coded)])
        for hashes, layers in self._hashed(parts, bits):
            for place in np.argwhere(np.isin(hashes, sought)).tolist():
                named = [spelled[at] for (_, spelled), at in zip(layers, place, strict=True)]
                names[int(hashes[tuple(place)])] = " × ".join(named)
        return names

    def hashes_of_pairs(self, bits: int) -> list[int]:
        """The hashed columns of all pairs of numbers, and triples of them."""
        parts = [[c.parts(level) for level in range(c.is_number * c.levels)] for c in self.columns]
        return [at for hashes, _ in self._hashed(parts, bits) for at in hashes.ravel().tolist()]

    def _hashed(self, parts: Sequence[Any], bits: int) -> Iterator[tuple[Array, list[Any]]]:
        """The hashed columns of pairs and triples at each level, and the parts that they are of.

        `parts` are the hashes and names of each column's parts at its levels; a pair or triple with
        a column without parts is left out.
        """
        for crossed in (*self.pairs, *self.triples):
            levels = max(len(parts[c]) for c in crossed)
            for level in range(levels if len(crossed) == 2 else min(levels, TRIPLE_LEVELS)):
                if not all(parts[c] for c in crossed):
                    continue
                layers = [parts[c][min(level, len(parts[c]) - 1)] for c in crossed]
                hashes = layers[0][0]
                for part, _ in layers[1:]:
                    hashes = hashed_pair(hashes[..., None], part)
                yield hashes & np.uint64((1 << bits) - 1), layers

    def owner(self, number: int) -> str:
        """The name of a column, a pair ``a × b`` or a triple, which are numbered in that order."""
        if number < len(self.columns):
            return self.columns[number].name
        crossed = [*self.pairs, *self.triples][number - len(self.columns)]
        return " × ".join(self.columns[c].name for c in crossed)

    @property
    def owners(self) -> list[str]:
        """The names of all columns, pairs and triples."""
        return [
            self.owner(i) for i in range(sum(map(len, (self.columns, self.pairs, self.triples))))
        ]

    def to_json(self) -> dict[str, Any]:
        """The lift as JSON data."""
        return asdict(self)

    @classmethod
    def from_json(cls, plain: Any) -> TableLift:
        """The lift from :meth:`to_json`; anything else raises ValueError.

        >>> lift = TableLift.fit({"a": np.arange(9.0)}, {"b": (np.zeros(9, int), ["x"])})
        >>> TableLift.from_json(lift.to_json()) == lift
        True
        """
        try:
            columns = tuple(LiftedColumn.from_json(c) for c in plain["columns"])
            pairs, units = tuple((a, b) for a, b in plain["pairs"]), finite(plain["units"])
            triples = tuple((a, b, c) for a, b, c in plain["triples"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"the lift cannot be read: {error!r}") from None
        d = len(columns)
        for crossed, most in ((pairs, MOST_PAIRS), (triples, MOST_TRIPLES)):
            whole = all(type(c) is int for numbers in crossed for c in numbers)
            if not whole or len(crossed) > most:
                raise ValueError("the pairs or triples are not numbers of columns, or too many")
            for numbers in crossed:
                low, high = min(numbers), max(numbers)
                if low < 0 or high >= d or list(numbers) != sorted({*numbers}):
                    raise ValueError("the pairs or triples are not those of columns")
        if len(units) != 3 or min(units) < 0:
            raise ValueError("there are three units, none below zero")
        return cls(columns, pairs, triples, units)
