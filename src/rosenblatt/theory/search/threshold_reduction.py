"""Columns that separate the classes weakly alone: only the rows on their thresholds remain.

Let v be the sum of the hyperplanes of such columns: no row is on its wrong side. If some u
separates the rows that lie on v, then ``m·v + u`` separates all rows for m large enough. And if
those rows contradict each other, so do all. On them the columns are constant and can be left out,
which leaves a smaller problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rosenblatt.theory.search.decision import Decision, renumbered
from rosenblatt.theory.search.exact_numbers import primitive
from rosenblatt.theory.search.problem import BinaryProblem
from rosenblatt.theory.search.rounded_dependencies import NullVector
from rosenblatt.theory.search.single_column_separators import ColumnSeparator


class ThresholdReduction:
    """The rows on the thresholds of weak columns, as a problem without these columns.

    `problem` is None if no column or only one class is left.
    """

    def __init__(self, whole: BinaryProblem, columns: Sequence[ColumnSeparator]) -> None:
        d, padded = whole.d, whole.padded
        self.whole, self.columns = whole, {c.column: c for c in columns}
        self.hyperplanes = {
            j: c.exact_weights(whole.width, padded) for j, c in self.columns.items()
        }
        self.v = primitive([sum(x) for x in zip(*self.hyperplanes.values(), strict=True)])
        self.rows = np.flatnonzero(whole.exact_signs(self.v) == 0)
        self.kept = np.setdiff1d(np.arange(d), list(self.columns))
        self.problem: BinaryProblem | None = None
        y = whole.y[self.rows]
        if len(self.kept) and len(set(y.tolist())) == 2:
            part = whole.values[self.rows][:, self.kept]
            self.problem = BinaryProblem(part, y, padded, whole.rounded)

    def without_problem(self) -> Decision | None:
        """The decision if at most one class is left, where it is easy."""
        sides = set(self.whole.y[self.rows].tolist())
        if len(sides) == 2 or (sides and not self.whole.padded):
            return None
        offset = [0] * (self.whole.width - 1) + [int(sum(sides))]
        return Decision("separable", tuple(self._beyond(offset) if sides else self.v))

    def lifted(self, inner: Decision) -> Decision:
        """What a decision about the rows on the thresholds means for all rows."""
        if inner.weights is not None and inner.verdict == "separable":
            return Decision("separable", tuple(self._beyond(self._spread(inner.weights))))
        weak = Decision("quasi-separable", tuple(self.v))
        if inner.contradiction is not None:
            return replace(weak, contradiction=renumbered(inner.contradiction, self.rows))
        if inner.balance is not None:
            balance, vectors = renumbered(inner.balance, self.rows), self._null_vectors(inner)
            return replace(weak, balance=balance, null_vectors=vectors)
        return Decision("undecided")

    def _spread(self, vector: Sequence[int]) -> list[int]:
        full = [0] * self.whole.width
        for j, x in zip([*self.kept.tolist(), self.whole.d], vector, strict=False):
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

    def _null_vectors(self, inner: Decision) -> tuple[NullVector, ...]:
        """The null vectors of a balance among all columns, with those of the columns left out.

        Zero columns need no entry; the checker adds them.
        """
        constant = [
            NullVector(j, tuple(self.hyperplanes[j]))
            for j, c in self.columns.items()
            if c.threshold
        ]
        places = [*self.kept.tolist(), self.whole.d]
        rest = [
            NullVector(places[b.lead], tuple(self._spread(b.vector))) for b in inner.null_vectors
        ]
        return (*constant, *rest)
