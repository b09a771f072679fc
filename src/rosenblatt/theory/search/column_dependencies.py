"""Directions that rows cannot see, or hardly: vectors orthogonal to all of them, or nearly.

Columns that are combinations of others (one-hot columns, which add up to the offset's; copies;
totals) give such vectors for all rows of the data, and no balance can be found until one column of
each is left out. If the combinations hold but for roundings (one-hot columns that were scaled),
these roundings take the place of that column, exactly. And if some rows are in balance but for a
few vectors that they are blind to, one of these may have all other rows on one side: then the data
are quasi-separable.

Doubles propose the vectors; whole numbers decide what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.optimize import linprog

from rosenblatt.theory.search.approximate_gordan import MOST_COLUMNS
from rosenblatt.theory.search.clock import ENDLESS, Clock
from rosenblatt.theory.search.exact_table import Table, clear_denominators
from rosenblatt.theory.search.integer_linear_algebra import null_space
from rosenblatt.theory.search.matrices import Floats, Indices, equilibrate, gram, scale_columns
from rosenblatt.theory.search.problem import Problem, primitive

# The largest denominator of a coefficient, and how closely a double must meet it.
_DENOMINATOR, _PRECISION = 1000, 1e-7
# What is left of a column, squared, is taken for roundings if it is less than this share of it.
_RANK = 1e-11
# Numbers that are multiplied exactly for one vector, at most.
_EXACT = 20_000_000
# Seconds for one of them, about.
_SECONDS = 3e-7
# Rows that show which columns may be combinations of others, at least.
_SAMPLE = 2048
# Columns that are tied together, at most, if their coefficients are long.
_TIED = 64
# Whole numbers of more bits are not held by doubles below one, whatever they look like.
_RANGE = 1000
# A column of roundings is good enough if so much of it is not made of others; tries to get there.
_CLEAR, _REFINEMENTS = 0.01, 5


@dataclass(frozen=True)
class Blind:
    """A vector that rows are orthogonal to, or nearly; it is not zero at the column `lead`."""

    lead: int
    vector: tuple[int, ...]


class _Columns:
    """The columns that some rows have: which of them are independent, as far as doubles tell.

    The offset always is.
    """

    def __init__(self, problem: Problem, rows: Indices) -> None:
        Z, self.columns, self.scale, rows_scale = equilibrate(problem.block(rows))
        if problem.table.padded:
            # The longest column is the first pivot.
            first = np.where(self.columns == problem.table.d, 2.0**20, 1.0)
            Z, self.scale = scale_columns(Z, first), self.scale * first
        H = gram(Z)
        floor = _RANK * float(np.median(H.diagonal()))
        factor, pivots, rank, _ = linalg.lapack.dpstrf(H, tol=floor)
        self.basis, self.rest = pivots[:rank] - 1, pivots[rank:] - 1
        self.factor, self.others = factor[:rank, :rank], factor[:rank, rank:]
        self.Z, self.rows, self.pull = Z, rows, problem.y[rows] * rows_scale

    def shares(self) -> Floats:
        """What each other column is made of: one column of coefficients for each."""
        found = linalg.solve_triangular(self.factor, self.others)
        return np.asarray(found * (self.scale[self.basis][:, None] / self.scale[self.rest]))

    def fit(self, column: Floats) -> tuple[Floats, float]:
        """The combination of independent columns nearest to another, and the share it leaves."""
        wanted, part = column[self.rows] * self.pull, self.Z[:, self.basis]
        inner = linalg.cho_solve((self.factor, False), np.asarray(part.T @ wanted))
        left = float(np.linalg.norm(wanted - part @ inner))
        return inner * self.scale[self.basis], left / max(float(np.linalg.norm(wanted)), 1e-300)


def _null_vectors(problem: Problem, some: _Columns) -> list[Blind]:
    """Vectors that span what the rows are orthogonal to, as far as doubles can tell.

    The lead of one is zero in all others, and never the offset.
    """
    missing = np.setdiff1d(np.flatnonzero(problem.table.column_top), some.columns)
    found = [_vector(int(j), {}, problem.width) for j in missing]
    shares = some.shares()
    for k, c in enumerate(some.columns[some.rest].tolist()):
        coefficients = _coefficients(shares[:, k], some.columns[some.basis])
        found.append(_vector(c, coefficients, problem.width))
    return found


def _coefficients(shares: Floats, columns: Indices) -> dict[int, Fraction]:
    """Simple fractions if all shares are near to such; the doubles themselves otherwise."""
    kept = np.flatnonzero(np.abs(shares) > _PRECISION)
    simple = {}
    for k in kept.tolist():
        share = Fraction(float(shares[k])).limit_denominator(_DENOMINATOR)
        if abs(float(share) - shares[k]) > _PRECISION * max(1.0, abs(shares[k])):
            return {int(columns[j]): Fraction(float(x)) for j, x in enumerate(shares) if x}
        simple[int(columns[k])] = share
    return simple


def _vector(lead: int, shares: dict[int, Fraction], width: int) -> Blind:
    """One at the lead, minus the shares elsewhere, times a whole number."""
    vector = [-shares.get(j, Fraction(0)) for j in range(width)]
    vector[lead] = Fraction(1)
    return Blind(lead, tuple(primitive(clear_denominators(vector))))


def blind_to(problem: Problem, rows: Indices) -> list[Blind]:
    """Vectors that span what these rows are orthogonal to, exactly; none where that is not sure."""
    if not _tractable(problem, rows):
        return []
    found = _null_vectors(problem, _Columns(problem, rows))
    exact = all(not problem.signs(b.vector, rows).any() for b in found)
    return found if exact else []


def _tractable(problem: Problem, rows: Indices) -> bool:
    known = problem.width <= MOST_COLUMNS and problem.table.row_exponent is None
    return known and bool(problem.norms[rows].any())


class Seen(NamedTuple):
    """What rows see of a vector: ``column * 2**exponent``, `exact` or to the nearest doubles."""

    column: Floats
    exponent: int
    exact: bool


class Replaced:
    """A problem whose leads are replaced by what the rows see of the vectors.

    A column that no row sees any more is left out. `rounded` says whether others are the nearest
    doubles only.
    """

    def __init__(self, problem: Problem, blind: Sequence[Blind], seen: dict[int, Seen]) -> None:
        self.blind, self.width, self.seen = tuple(blind), problem.width, seen
        held = problem.table.values.dtype.kind == "f" or problem.table.integral
        self.rounded = bool(seen) and not (held and all(s.exact for s in seen.values()))
        d, padded = problem.table.d, problem.table.padded
        kept = np.setdiff1d(np.arange(d), [b.lead for b in blind])
        values: Any = problem.table.values[:, kept]
        if seen:
            both = [values.astype(np.float64), np.column_stack([s.column for s in seen.values()])]
            thin = sparse.issparse(values)
            values = sparse.csr_array(sparse.hstack(both)) if thin else np.hstack(both)
        self.columns = [*kept.tolist(), *seen, *([d] if padded else [])]
        self.problem = Problem(Table(values, padded), problem.y, rounded=self.rounded)

    def spread(self, vector: Sequence[int]) -> list[int]:
        """A vector of the columns that are left, as one of all columns after the replacement."""
        exponents = {j: s.exponent for j, s in self.seen.items()}
        top = max([0, *exponents.values()])
        full = [0] * self.width
        for j, x in zip(self.columns, vector, strict=True):
            full[j] = x << (top - exponents.get(j, 0))
        return full

    def original(self, vector: Sequence[int]) -> list[int]:
        """A vector of the columns that are left, as one of the columns as they were."""
        full = self.spread(vector)
        shares = [full[b.lead] for b in self.blind]
        for b in self.blind:
            full[b.lead] = 0
        for b, share in zip(self.blind, shares, strict=True):
            full = [x + share * n for x, n in zip(full, b.vector, strict=True)]
        return primitive(full)


def replaced(problem: Problem, clock: Clock = ENDLESS) -> Replaced | None:
    """The problem without columns that are combinations of others, if there are any."""
    rows = np.arange(0, problem.n, max(1, problem.n // max(4 * problem.width, _SAMPLE)))
    if problem.rounded or not _tractable(problem, rows):
        return None
    some = _Columns(problem, rows)
    blind: list[Blind] = []
    seen: dict[int, Seen] = {}
    for b in _null_vectors(problem, some):
        if not _nearly_blind(problem, b):
            continue
        if not _vanishes(problem, b):
            work = problem.n * sum(x != 0 for x in b.vector)
            if work > _EXACT:
                return None
            clock.allow(_SECONDS * work)
            b, left_of_it = _refined(problem, b, some)
            if left_of_it.column.any():
                seen[b.lead] = left_of_it
        blind.append(b)
    left = problem.table.d - len(blind) + len(seen)
    return Replaced(problem, blind, seen) if blind and left else None


def _nearly_blind(problem: Problem, b: Blind) -> bool:
    """Whether all rows see next to nothing of a vector, in doubles; some did."""
    largest = max(map(abs, b.vector))
    vector = np.array([x / largest for x in b.vector])
    terms = np.abs(vector[: problem.table.d]) * problem.table.column_top
    return float(np.abs(problem.scores(vector)).max()) <= _PRECISION * float(terms.max())


def _vanishes(problem: Problem, b: Blind) -> bool:
    """Whether doubles are enough to see that no row sees a vector: sums of counts, and copies."""
    if problem.doubles_are_exact(b.vector):
        return not problem.scores(np.array(b.vector, dtype=float)).any()
    terms = [(j, x) for j, x in enumerate(b.vector) if x]
    if len(terms) != 2 or terms[1][0] == problem.table.d or problem.table.values.dtype.kind != "f":
        return False
    if any(abs(x) & (abs(x) - 1) for _, x in terms):
        return False
    # Powers of two round nothing.
    one, other = (problem.table.values[:, [j]] * float(x) for j, x in terms)
    return bool(((one + other) != 0).sum() == 0)


def _refined(problem: Problem, b: Blind, some: _Columns) -> tuple[Blind, Seen]:
    """The vector, so changed that little of what rows see of it is made of other columns.

    And what they see.
    """
    basis = some.columns[some.basis].tolist()
    for left_to_try in reversed(range(_REFINEMENTS)):
        products, exponent = problem.exact_products(b.vector)
        seen = _seen(products, exponent)
        if not seen.column.any() or left_to_try == 0:
            break
        first = left_to_try == _REFINEMENTS - 1
        exact = _exact_tie(problem, b, some.rows) if first else None
        if exact is not None:
            b = exact
            continue
        shares, left = some.fit(seen.column)
        if left > _CLEAR or problem.n * len(basis) > _EXACT:
            break
        unit = Fraction(2) ** seen.exponent
        change = {j: Fraction(float(x)) * unit for j, x in zip(basis, shares, strict=True)}
        vector = [x - change.get(j, Fraction(0)) for j, x in enumerate(b.vector)]
        b = Blind(b.lead, tuple(primitive(clear_denominators(vector))))
    return b, seen


def _seen(products: list[int], exponent: int) -> Seen:
    """Whole numbers times a power of two as doubles below one."""
    bits = max(map(abs, products)).bit_length()
    exact = bits < _RANGE and all((x // (x & -x)).bit_length() <= 53 for x in products if x)
    return Seen(np.array([x / (1 << bits) for x in products]), exponent + bits, exact)


def _exact_tie(problem: Problem, b: Blind, rows: Indices) -> Blind | None:
    """The vector of whole numbers, however long, that the vector is near to, if there is one."""
    d, padded = problem.table.d, problem.table.padded
    largest = max(map(abs, b.vector))
    sizes = np.array([abs(x) / largest for x in b.vector[:d]]) * problem.table.column_top
    inner = np.flatnonzero(sizes > _PRECISION * sizes.max())
    # Where columns are centred, the offset has a share of mere roundings.
    columns = np.append(inner, d) if padded else inner
    if len(columns) > _TIED:
        return None
    part = problem.table.values[rows][:, inner]
    part = part.toarray() if sparse.issparse(part) else part
    distinct = np.unique(part, axis=0, return_index=True)[1]
    some = problem.integers(rows[np.sort(distinct)[: 4 * _TIED]], columns)
    normals = null_space(some, len(columns))
    if len(normals) != 1:
        return None
    vector = [0] * problem.width
    for j, x in zip(columns.tolist(), normals[0], strict=True):
        vector[j] = x
    return Blind(b.lead, tuple(vector)) if vector[b.lead] else None


def weak_separator(problem: Problem, blind: Sequence[Blind]) -> list[int] | None:
    """A combination of the vectors that has no row on the wrong side, and not all rows on it."""
    for b in blind:
        for sign in (1, -1):
            v = [sign * x for x in b.vector]
            if is_weak(problem, v):
                return v
    if len(blind) < 2:
        return None
    scores = np.column_stack([problem.scores(np.array(b.vector, dtype=float)) for b in blind])
    seen = scores[np.abs(scores).max(axis=1) > 0]
    solved: Any = linprog(
        -seen.sum(axis=0), A_ub=-seen, b_ub=np.zeros(len(seen)), bounds=[(-1.0, 1.0)] * len(blind)
    )
    if solved.x is None:
        return None
    shares = [Fraction(float(x)).limit_denominator(_DENOMINATOR) for x in solved.x]
    v = clear_denominators(
        [
            sum((s * x for s, x in zip(shares, row, strict=True)), Fraction(0))
            for row in zip(*(b.vector for b in blind), strict=True)
        ]
    )
    return primitive(v) if is_weak(problem, v) else None


def is_weak(problem: Problem, v: Sequence[int]) -> bool:
    """Whether no row is on the wrong side of v, and some row is not on it, exactly."""
    signs = problem.exact_signs(v)
    return bool((signs >= 0).all() and (signs > 0).any())
