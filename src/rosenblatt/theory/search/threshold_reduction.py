"""Columns that separate the classes weakly alone: only the rows on their thresholds are open.

Let v be the sum of the hyperplanes of such columns: no row is on its wrong side. If some u
separates the rows that lie on v, then ``m·v + u`` separates all rows, for m large enough. And if
those rows contradict each other, so do all. On them, the columns are constant, and can be left out:
a smaller question is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rosenblatt.theory.search.column_dependencies import Blind
from rosenblatt.theory.search.exact_alternatives import Contradiction, Decision
from rosenblatt.theory.search.exact_table import Table
from rosenblatt.theory.search.problem import Problem, primitive
from rosenblatt.theory.search.single_column_separators import LoneColumn


class OnThresholds:
    """The rows on the thresholds of weak columns, as a problem without these columns.

    `problem` is None if no column or only one class is left.
    """

    def __init__(self, whole: Problem, columns: Sequence[LoneColumn]) -> None:
        d, padded = whole.table.d, whole.table.padded
        self.whole, self.columns = whole, {c.column: c for c in columns}
        self.hyperplanes = {
            j: c.exact_weights(whole.width, padded) for j, c in self.columns.items()
        }
        self.v = primitive([sum(x) for x in zip(*self.hyperplanes.values(), strict=True)])
        self.rows = np.flatnonzero(whole.exact_signs(self.v) == 0)
        self.kept = np.setdiff1d(np.arange(d), list(self.columns))
        self.problem: Problem | None = None
        y = whole.y[self.rows]
        if len(self.kept) and len(set(y.tolist())) == 2:
            part = whole.table.values[self.rows][:, self.kept]
            self.problem = Problem(Table(part, padded), y, rounded=whole.rounded)

    def without_problem(self) -> Decision | None:
        """The decision where rows of one class or none are left, if it is easy."""
        sides = set(self.whole.y[self.rows].tolist())
        if len(sides) == 2 or (sides and not self.whole.table.padded):
            return None
        offset = [0] * (self.whole.width - 1) + [int(sum(sides))]
        return Decision("separable", tuple(self._beyond(offset) if sides else self.v))

    def lifted(self, inner: Decision) -> Decision:
        """What a decision about the rows on the thresholds means for all rows."""
        if inner.weights is not None and inner.verdict == "separable":
            return Decision("separable", tuple(self._beyond(self._spread(inner.weights))))
        contradiction, balance = self._named(inner.contradiction), self._named(inner.balance)
        if contradiction is None and balance is None:
            return Decision("undecided")
        found = Decision("quasi-separable", tuple(self.v), contradiction)
        return (
            found if balance is None else replace(found, balance=balance, blind=self._blind(inner))
        )

    def _spread(self, vector: Sequence[int]) -> list[int]:
        full = [0] * self.whole.width
        for j, x in zip([*self.kept.tolist(), self.whole.table.d], vector, strict=False):
            full[j] = x
        return full

    def _beyond(self, u: list[int]) -> list[int]:
        """A multiple of v plus u that separates all rows, as u separates those on v."""
        bits = 1
        while True:
            found = [(x << bits) + z for x, z in zip(self.v, u, strict=True)]
            if (self.whole.exact_signs(found) > 0).all():
                return primitive(found)
            bits *= 2

    def _named(self, found: Contradiction | None) -> Contradiction | None:
        """The same rows by their numbers among all."""
        if found is None:
            return None
        rows = self.rows[np.array(found.rows, dtype=np.intp)]
        return Contradiction(tuple(rows.tolist()), found.coefficients)

    def _blind(self, inner: Decision) -> tuple[Blind, ...]:
        """What the rows of a balance do not see of the columns that were left out, and the rest.

        That a column of zeros is free goes without saying.
        """
        constant = [
            Blind(j, tuple(self.hyperplanes[j])) for j, c in self.columns.items() if c.threshold
        ]
        places = [*self.kept.tolist(), self.whole.table.d]
        rest = [Blind(places[b.lead], tuple(self._spread(b.vector))) for b in inner.blind]
        return (*constant, *rest)
