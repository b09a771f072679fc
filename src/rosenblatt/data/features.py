"""Hashed sparse rows from the columns of a table, by a specification that a model stores."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from rosenblatt.data.cells import (
    DATE_FORMS,
    DATE_PARTS,
    MISSING_WORDS,
    NUMBER_FORMS,
    Words,
    days_of,
    make_strings,
    numbers_of_columns,
    part_of,
    plain_strings,
    string_buffers,
    trimmed_strings,
)
from rosenblatt.data.columns import KINDS, Column
from rosenblatt.data.sparse_lines import is_cross, vw_names
from rosenblatt.errors import OptionError
from rosenblatt.kernels.crosses import Products
from rosenblatt.kernels.fasttext import FastText
from rosenblatt.kernels.packing import MOST_BITS
from rosenblatt.kernels.spelling import spell
from rosenblatt.kernels.text import (
    ANALYZERS,
    SEED,
    WEIGHTINGS,
    Ngrams,
    Rows,
    column,
    hash_chunks,
    hash_values,
    named_seed,
)
from rosenblatt.lifts.tables import Lifted, TableLift

ORIGINS = ("table", "svmlight", "vw")
_ROWS_AT_ONCE = 2048  # put beside each other, so that their places stay in the processor's cache
_NO_ROWS = Rows(np.zeros(1, np.uint64), np.empty(0, np.uint32), np.empty(0, np.float32))
_NO_CELLS = np.empty(0, dtype=np.int64)
# Truth values are categories in text; Arrow, pandas and R spell them in three ways.
_TRUTHS = {"True": "true", "TRUE": "true", "False": "false", "FALSE": "false"}


class Hashed(NamedTuple):
    """Sparse rows; by column how many values are missing, and the rows of cells of another kind.

    Cells that are no numbers, or no dates, in a column of such count as missing.
    """

    rows: Rows
    missing: dict[str, int]
    strays: dict[str, np.ndarray]


class _Straight(NamedTuple):
    """The entries of cells, and what a lift is made of (:meth:`TableLift.rows`)."""

    indices: np.ndarray  # (rows, entries)
    values: np.ndarray
    numbers: dict[str, np.ndarray]
    places: dict[str, tuple[int, int]]
    missing: dict[str, int]
    strays: dict[str, np.ndarray]


@dataclass(frozen=True)
class Features:
    """How rows become features: all that is needed to hash other files in the same way.

    Attributes
    ----------
    origin : {"table", "svmlight", "vw"}
        Tables are hashed by `columns`; files of the other two formats hold features already.
    columns : tuple of Column
        The columns of a table that are features.
    label : str or None
        The label column, or the names of indicator columns joined by commas.
    separator : str or None
        The separator of labels if a row may have several.
    ngrams : Ngrams
        How text is hashed; its `bits` apply to all columns, its `high` to Vowpal Wabbit lines.
    missing_words : tuple of str
        Cells that are missing values in columns of numbers, categories and dates.
    crosses : tuple of str
        Pairs of first letters of Vowpal Wabbit namespaces whose features are multiplied.
    fasttext : FastText, optional
        For the only column, a text: how fastText makes features of it, instead of `ngrams`.
    lift : TableLift or None
        What numbers and categories become besides; None for nothing.

    Notes
    -----
    Text becomes a row of norm 1. Numbers, categories and dates together are scaled by 1/√(number of
    entries), so that their norm is about 1. A date has four entries, the categories ``name:month``,
    ``name:day``, ``name:weekday`` and ``name:hour``, and its age as a number where that is asked
    for. A missing value becomes the feature ``name=?``.

    Examples
    --------
    >>> columns = Column("age", "number", 40.0, 10.0), Column("job", "category")
    >>> features = Features(columns=columns)
    >>> rows = features.rows(pa.table({"age": [50.0, 30.0], "job": ["tech", "sales"]}))
    >>> rows.values.round(3).tolist()
    [0.7070000171661377, 0.7070000171661377, -0.7070000171661377, 0.7070000171661377]
    """

    origin: str = "table"
    columns: tuple[Column, ...] = ()
    label: str | None = None
    ngrams: Ngrams = field(default_factory=Ngrams)
    missing_words: Words = MISSING_WORDS
    separator: str | None = None
    crosses: tuple[str, ...] = ()
    fasttext: FastText | None = None
    lift: TableLift | None = None

    def __post_init__(self) -> None:
        if self.ngrams.bits > MOST_BITS:
            raise OptionError(
                f"rows are hashed to 2^{MOST_BITS} columns at most, not to 2^{self.ngrams.bits}: "
                f"say --bits {MOST_BITS} (bits={MOST_BITS}) or fewer; few features will collide"
            )

    @property
    def products(self) -> Products:
        """The products of features of Vowpal Wabbit lines that are features too."""
        return Products(self.ngrams.high, self.crosses)

    @property
    def is_text(self) -> bool:
        """Whether all columns are text."""
        return self.origin == "table" and all(c.kind == "text" for c in self.columns)

    @property
    def need_rates(self) -> bool:
        """Whether features learn at rates of their own: words, and features in any unit."""
        return self.is_text or self.origin != "table"

    @property
    def is_plain_table(self) -> bool:
        """Whether it is a table without text columns."""
        return self.origin == "table" and not self._of("text")

    @property
    def is_one_text(self) -> bool:
        """Whether the only column is text."""
        return self.is_text and len(self.columns) == 1

    @property
    def multilabel(self) -> bool:
        """Whether a row may have several labels, or none."""
        return self.separator is not None

    @property
    def common_value(self) -> float:
        """The value that most entries of a row have, if that is known; else 0."""
        return 0.0 if self.lift is None else self.lift.common

    def rows(self, table: pa.Table) -> Rows:
        """The sparse rows of a table."""
        return self.hashed(table).rows

    def hashed(self, table: pa.Table) -> Hashed:
        """The sparse rows of a table, what is missing, and which cells could not be read."""
        texts = self._of("text")
        if self.fasttext is not None:
            return Hashed(self.fasttext.rows(_strings(table[texts[0].name])), {}, {})
        parts = [hash_chunks(_strings(table[c.name]), self.ngrams, self._seed(c)) for c in texts]
        cells = Hashed(_NO_ROWS, {}, {})
        if len(texts) < len(self.columns):
            cells = self._cells(table)
            parts.append(cells.rows)
        return cells._replace(rows=_side_by_side(parts, table.num_rows))

    def owners(self, table: pa.Table) -> list[str]:
        """The column, or the pair of columns, of each lifted entry of a row; empty for others.

        >>> lift = TableLift.fit({"x": np.arange(9.0)}, {"job": (np.arange(9) % 2, ["a", "b"])})
        >>> columns = Column("x", "number"), Column("job", "category")
        >>> Features(columns=columns, lift=lift).owners(pa.table({"x": [1.5], "job": ["a"]}))
        ['', '', 'x', 'x', 'x × job', 'x × job', 'x × job', 'x × job', 'x × job', 'x × job']
        """
        count = len(self.hashed(table).rows.indices)
        if self.lift is None:
            return [""] * count
        names, _, numbers = self.owned(table)
        straight = len([c for c in self.columns if c.kind != "text" for _ in c.entries])
        lifted = [names[number] for number in numbers.tolist()[straight:]]
        return [""] * (count - len(lifted)) + lifted

    def owned(self, table: pa.Table) -> tuple[list[str], Rows, np.ndarray]:
        """Names of columns and of pairs, the rows without text, and the name of each entry."""
        straight = self._straight(table)
        names = [c.name for c in self.columns if c.kind != "text" for _ in c.entries]
        if self.lift is None:
            rows, owners = self._cells(table).rows, np.tile(np.arange(len(names)), table.num_rows)
        else:
            rows, owners = self._lifted(straight, owners=True)
            names += self.lift.owners
        numbers = {name: i for i, name in enumerate(dict.fromkeys(names))}
        return list(numbers), rows, np.array([numbers[name] for name in names], np.int64)[owners]

    def names(
        self,
        table: pa.Table | None,
        wanted: Iterable[int],
        whole: bool = False,
        pieces: bool = True,
    ) -> dict[int, str]:
        """Names of hashed columns, as far as they occur in the table.

        With `whole`, the characters of a word are named like the word. Without `pieces`, those
        beside words have no names.

        >>> features = Features(columns=(Column("job", "category"),))
        >>> features.names(pa.table({"job": ["tech"]}), [column(["job=tech"], 22)])
        {1062021: 'job=tech'}
        """
        # Not `np.unique`, which takes seven milliseconds to import masked arrays.
        sought = np.array(sorted(set(wanted)), dtype=np.int64)
        if self.origin == "svmlight":
            return {int(at): str(at) for at in sought}
        if table is None:
            return {}
        if self.fasttext is not None:
            strings = plain_strings(table[self.columns[0].name]).to_pylist()
            return self.fasttext.names(strings, sought)
        names: dict[int, str] = {}
        bits = self.ngrams.bits
        if self.origin == "vw":
            lines = table["lines"].chunk(0).buffers()[2]
            names = vw_names(lines, sought, bits, self.products)
        for c in self.columns:
            if c.kind == "text":
                buffers = string_buffers(plain_strings(table[c.name]))
                ngrams = spell(*buffers, self.ngrams, sought, self._seed(c), whole, pieces)
                lead = f"{c.name}: " if len(self.columns) > 1 else ""
                names |= {at: lead + words for at, words in ngrams.items()}
            elif c.kind == "category":
                values = self._categories(table, c).unique().to_pylist()
                spelled = string_buffers(self._spelled(values))
                hashed = hash_values(*spelled, bits, named_seed(c.name))
                pairs = zip(hashed.tolist(), values, strict=True)
                names |= {at: f"{c.name}={value or '?'}" for at, value in pairs}
            elif c.is_scaled:
                names[self._places[0][c.name]] = c.name
                names[self._places[1][c.name]] = f"{c.name}=?"
            if c.kind == "date":
                for part in set(c.parts) & DATE_PARTS.keys():
                    at = _part_columns(c, part, bits).tolist()
                    named = [f"{c.name}:{part}={value}" for value in DATE_PARTS[part]]
                    names |= dict(zip(at, named, strict=True))
        if self.lift is not None:
            names |= self.lift.knot_names(bits) | self._pair_names(table, sought)
        return {int(at): names[int(at)] for at in sought if int(at) in names}

    def to_json(self) -> dict[str, Any]:
        """The specification as JSON data."""
        plain = asdict(replace(self, fasttext=None, columns=()))
        plain |= {"columns": [vars(c) for c in self.columns], "ngrams": self.ngrams._asdict()}
        del plain["fasttext"]  # so that older releases read other models
        return plain if self.fasttext is None else plain | {"fasttext": self.fasttext.to_json()}

    @classmethod
    def from_json(cls, plain: Any) -> Features:
        """The specification from :meth:`to_json`; anything else raises ValueError.

        >>> Features.from_json(Features().to_json()) == Features()
        True
        """
        try:
            features = cls(
                plain["origin"],
                tuple(_column_from(entry) for entry in plain["columns"]),
                plain["label"],
                Ngrams(**plain["ngrams"]),
                tuple(plain["missing_words"]),
                plain["separator"],
                tuple(plain["crosses"]),
                lift=None if plain["lift"] is None else TableLift.from_json(plain["lift"]),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"the feature specification cannot be read: {error!r}") from None
        n = features.ngrams
        sound = (
            features.origin in ORIGINS
            and (features.label is None or isinstance(features.label, str))
            and all(isinstance(word, str) for word in features.missing_words)
            and (
                features.separator is None
                or (isinstance(features.separator, str) and features.separator)
            )
            and all(type(x) is int for x in (n.low, n.high, n.bits))
            and isinstance(n.analyzer, str)
            and n.analyzer in ANALYZERS
            and type(n.unit) is bool
            and all(is_cross(pair) for pair in features.crosses)
            and 1 <= n.low <= n.high <= 100
            and n.bits >= 1
            and n.weighting in WEIGHTINGS
            and ("fasttext" not in plain or features.is_one_text)
        )
        if not sound:
            raise ValueError(f"the feature specification makes no sense: {plain!r:.200}")
        kinds = {c.name: c.kind for c in features.columns}
        for c in features.lift.columns if features.lift else ():
            if kinds.get(c.name) != ("number" if c.is_number else "category"):
                raise ValueError(f"the lift does not fit the column {c.name!r}")
        return features

    def _of(self, kind: str) -> list[Column]:
        return [c for c in self.columns if c.kind == kind]

    def _seed(self, c: Column) -> np.uint64:
        """The hash seed; the name of a single text column does not matter."""
        return named_seed(c.name) if len(self._of("text")) > 1 else SEED

    def _categories(self, table: pa.Table, c: Column) -> pa.Array:
        return trimmed_strings(table[c.name], self.missing_words)

    def _spelled(self, names: list[str | None]) -> pa.Array:
        """Categories as they are hashed; a missing one is ``?``."""
        return make_strings([_TRUTHS.get(name, name) if name else "?" for name in names])

    def _cells(self, table: pa.Table) -> Hashed:
        """Numbers, categories and dates: one entry per row and column, some for a date, lifted."""
        straight = self._straight(table)
        if self.lift is not None:
            return Hashed(self._lifted(straight).rows, straight.missing, straight.strays)
        n, m = straight.indices.shape
        indptr = np.arange(0, n * m + 1, m, dtype=np.uint64)
        rows = Rows(indptr, straight.indices.ravel(), straight.values.ravel())
        return Hashed(rows, straight.missing, straight.strays)

    def _lifted(self, straight: _Straight, owners: bool = False) -> Lifted:
        assert self.lift is not None
        indices, values, numbers, places = straight[:4]
        return self.lift.rows(indices, values, numbers, places, self.ngrams.bits, owners)

    def with_lift(self, lift: TableLift, sample: pa.Table) -> Features:
        """These features with a lift whose blocks have equal lengths on a sample."""
        straight = self._straight(sample)
        return replace(self, lift=lift.balanced(*straight[:4]))

    def levels(self, table: pa.Table, c: Column) -> tuple[np.ndarray, list[str]]:
        """The codes of the categories of a column, -1 for a missing one, and their names."""
        coded = self._categories(table, c).dictionary_encode()
        if isinstance(coded, pa.ChunkedArray):
            coded = coded.combine_chunks()
        names = self._spelled(coded.dictionary.to_pylist()).to_pylist()
        return np.asarray(coded.indices.fill_null(-1)), names

    def _pair_names(self, table: pa.Table, sought: np.ndarray) -> dict[int, str]:
        """The names of the hashed pairs, with the categories that occur in a table."""
        assert self.lift is not None
        if not self.lift.pairs:
            return {}
        levels: dict[str, dict[str, int]] = {}
        for c in self.columns:
            named = self.levels(table, c)[1] if c.kind == "category" else []
            columns = [column([f"{c.name}={x}"], self.ngrams.bits) for x in [*named, "?"]]
            levels[c.name] = dict(zip([*named, "?"], columns, strict=True))
        return self.lift.pair_names(levels, self.ngrams.bits, sought)

    @cached_property
    def _places(self) -> tuple[dict[str, int], dict[str, int]]:
        """The hashed columns of the numbers of each column, and of what is missing there."""
        names = [c.name for c in self.columns if c.kind != "text"]

        def hashed(end: str) -> dict[str, int]:
            spelled = string_buffers(make_strings([name + end for name in names]))
            return dict(zip(names, hash_values(*spelled, self.ngrams.bits).tolist(), strict=True))

        return hashed("="), hashed("=?")

    @np.errstate(over="ignore")  # training refuses what becomes infinite
    def _straight(self, table: pa.Table) -> _Straight:
        """One entry per row and column, some for a date, and the numbers as they stand."""
        columns = [c for c in self.columns if c.kind != "text"]
        n, bits, words = table.num_rows, self.ngrams.bits, self.missing_words
        missing: dict[str, int] = {}
        strays: dict[str, np.ndarray] = {}
        numbers: dict[str, np.ndarray] = {}
        places: dict[str, tuple[int, int]] = {}
        m = sum(len(c.entries) for c in columns)
        unit = 1.0 / math.sqrt(m)
        indices = np.empty((n, m), dtype=np.uint32)
        values = np.full((n, m), unit, dtype=np.float32)
        j = 0
        at_name, at_missing = self._places
        plain = numbers_of_columns(table, [c.name for c in columns if c.is_plain], words)
        for c in columns:
            places[c.name] = j, at_missing[c.name]
            if c.kind == "category":
                strings = self._categories(table, c)
                absent = strings.null_count
                coded = strings.dictionary_encode(null_encoding="encode")
                known = self._spelled(coded.dictionary.to_pylist())
                hashed = hash_values(*string_buffers(known), bits, named_seed(c.name))
                indices[:, j] = hashed[np.from_dlpack(coded.indices)]
                j += 1
            else:
                if c.name in plain:
                    read, bad = plain[c.name], _NO_CELLS
                else:
                    read, bad = c.numbers(table[c.name], words)
                is_absent = np.isnan(read)
                empty = int(np.count_nonzero(is_absent))
                absent = empty - len(bad)
                if len(bad):
                    strays[c.name] = bad
                if c.kind == "number":
                    numbers[c.name] = read
                first = j
                for part in c.entries:
                    if part == "age":
                        days = days_of(read) if c.kind == "date" else read
                        indices[:, j] = at_name[c.name]
                        values[:, j] = (days - c.mean) * (unit / c.scale)
                    else:
                        indices[:, j] = _part_columns(c, part, bits)[part_of(read, part)]
                    if empty:
                        values[is_absent, j] = 0.0
                    j += 1
                if empty:
                    indices[is_absent, first] = places[c.name][1]
                    values[is_absent, first] = unit
            if absent:
                missing[c.name] = absent
        return _Straight(indices, values, numbers, places, missing, strays)


def _part_columns(c: Column, part: str, bits: int) -> np.ndarray:
    """The hashed columns of the months, weekdays or hours of a date."""
    names = [f"{c.name}:{part}={value}" for value in DATE_PARTS[part]]
    return np.array([column([name], bits) for name in names], dtype=np.uint32)


def _strings(values: pa.ChunkedArray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Offsets and bytes of strings, chunk by chunk, without copying."""
    if not pa.types.is_string(values.type):
        return [string_buffers(plain_strings(values))]
    return [string_buffers(chunk) for chunk in values.chunks]


def _column_from(entry: Any) -> Column:
    lists = {name: tuple(entry.get(name, ())) for name in ("parts", "limits")}
    column = Column(**{**entry, **lists})
    numbers = (column.mean, column.scale, *column.limits)
    if not (
        isinstance(column.name, str)
        and column.kind in KINDS
        and all(isinstance(x, int | float) and math.isfinite(x) for x in numbers)
        and column.scale > 0
        and column.form in ("", *NUMBER_FORMS, *DATE_FORMS)
        and set(column.parts) <= {"age", *DATE_PARTS}
        and len(column.limits) in (0, 2)
        and column.limits == tuple(sorted(column.limits))
    ):
        raise TypeError(f"not a column: {entry!r:.200}")
    return column


def _side_by_side(parts: list[Rows], n: int) -> Rows:
    """Rows concatenated from the same rows of each part."""
    if len(parts) == 1:
        return parts[0]
    indptr = sum((part.indptr for part in parts), np.zeros(n + 1, np.uint64))
    indices = np.empty(int(indptr[-1]), dtype=np.uint32)
    values = np.empty(int(indptr[-1]), dtype=np.float32)
    starts = indptr[:-1].copy()
    for part in parts:
        lengths, shifts = np.diff(part.indptr).astype(np.int64), starts - part.indptr[:-1]
        for low in range(0, n, _ROWS_AT_ONCE):
            some = slice(low, low + _ROWS_AT_ONCE)
            first, end = int(part.indptr[low]), int(part.indptr[min(low + _ROWS_AT_ONCE, n)])
            at = np.repeat(shifts[some], lengths[some]) + np.arange(first, end, dtype=np.uint64)
            indices[at], values[at] = part.indices[first:end], part.values[first:end]
        starts += lengths.astype(np.uint64)
    return Rows(indptr, indices, values)
