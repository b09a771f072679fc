"""Dependencies among columns that hold up to rounding: null vectors with small residuals.

One-hot columns that were standardised still add up to a constant, except for the last digits. Exact
solving would find these digits to be a direction of their own, at a cost of minutes. Instead the
null vector is adjusted until its residual, the product with every row, is not explained by other
columns any more; the residual then replaces a column of the problem. If the residual is rounded to
doubles, a decision about the changed problem is confirmed for the exact values before it counts
(`survives`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from rosenblatt.theory.checker.certificate import Replacement
from rosenblatt.theory.search.exact_numbers import clear_denominators, primitive
from rosenblatt.theory.search.integer_linear_algebra import null_space
from rosenblatt.theory.search.matrices import CHUNK, Floats, Indices
from rosenblatt.theory.search.problem import BinaryProblem

if TYPE_CHECKING:
    from rosenblatt.theory.search.column_dependencies import ColumnBasis, Reduced
    from rosenblatt.theory.search.decision import Decision

# Exact multiplications for one vector, at most.
EXACT_WORK = 20_000_000
# The share of the largest term below which a term of a vector is taken for rounding.
_PRECISION = 1e-7
# Columns of one dependency, at most, if its exact coefficients are looked for.
_TIED = 64
# Integers of more bits have no reliable image among doubles below one.
_RANGE = 1000
# A residual is good enough if this share of it is independent of other columns; adjustments tried.
CLEAR, REFINEMENTS = 0.01, 5


@dataclass(frozen=True)
class NullVector:
    """A vector that rows are orthogonal to, or nearly; it is not zero at the column `lead`."""

    lead: int
    vector: tuple[int, ...]

    def replacement(self) -> Replacement:
        """The column `lead` replaced by the combination of columns that the vector is."""
        columns = tuple(j for j, x in enumerate(self.vector) if x)
        return Replacement(self.lead, columns, tuple(self.vector[j] for j in columns))


class Residual(NamedTuple):
    """The products of rows with a vector: ``column * 2**exponent``, `exact` or rounded."""

    column: Floats
    exponent: int
    exact: bool


def refine(
    problem: BinaryProblem,
    b: NullVector,
    some: ColumnBasis,
    tries: int = REFINEMENTS,
    clear: float = CLEAR,
) -> tuple[NullVector, Residual]:
    """Adjust a vector until its residual is nearly independent of a basis of the columns.

    Returns the vector and its residual.
    """
    basis = some.columns[some.basis].tolist()
    for left_to_try in reversed(range(tries)):
        found = _residual(problem, b)
        if not found.column.any() or left_to_try == 0:
            break
        exact = _exact_dependency(problem, b, some.rows) if left_to_try == tries - 1 else None
        if exact is not None:
            b = exact
            continue
        shares, left = some.fit(found.column)
        if left > clear or problem.n * len(basis) > EXACT_WORK:
            break
        unit = Fraction(2) ** found.exponent
        change = {j: Fraction(float(x)) * unit for j, x in zip(basis, shares, strict=True)}
        vector = [x - change.get(j, Fraction(0)) for j, x in enumerate(b.vector)]
        b = NullVector(b.lead, tuple(primitive(clear_denominators(vector))))
    return b, found


def _residual(problem: BinaryProblem, b: NullVector) -> Residual:
    """The products of all rows with a vector, as doubles below one."""
    dots: list[int] = []
    factors: list[int] = []
    for start in range(0, problem.n, CHUNK):
        rows = np.arange(start, min(start + CHUNK, problem.n))
        found = problem.exact_dots(b.vector, rows)
        dots, factors = dots + found[0], factors + found[1]
    # The factors are powers of two.
    top, signs = max(factors), problem.y.astype(int).tolist()
    products = [s * x * (top // f) for s, x, f in zip(signs, dots, factors, strict=True)]
    bits = max(map(abs, products)).bit_length()
    exact = bits < _RANGE and all((x // (x & -x)).bit_length() <= 53 for x in products if x)
    column = np.array([x / (1 << bits) for x in products])
    return Residual(column, bits + 1 - top.bit_length(), exact)


def _exact_dependency(problem: BinaryProblem, b: NullVector, rows: Indices) -> NullVector | None:
    """The integer vector, however long, that the vector approximates, if there is one."""
    d, padded = problem.d, problem.padded
    largest = max(map(abs, b.vector))
    sizes = np.array([abs(x) / largest for x in b.vector[:d]]) * problem.column_top
    inner = np.flatnonzero(sizes > _PRECISION * sizes.max())
    # In centred columns the share of the offset is rounding only.
    columns = np.append(inner, d) if padded else inner
    if len(columns) > _TIED:
        return None
    part = problem.values[rows][:, inner]
    part = part.toarray() if sparse.issparse(part) else part
    distinct = np.unique(part, axis=0, return_index=True)[1]
    some, _ = problem.integers(rows[np.sort(distinct)[: 4 * _TIED]], columns)
    normals = null_space(some, len(columns))
    if len(normals) != 1:
        return None
    vector = [0] * problem.width
    for j, x in zip(columns.tolist(), normals[0], strict=True):
        vector[j] = x
    return NullVector(b.lead, tuple(vector)) if vector[b.lead] else None


def survives(
    problem: BinaryProblem, decision: Decision, changed: Reduced, weights: tuple[int, ...] | None
) -> bool:
    """Whether a decision about rounded columns holds for the exact ones.

    A balance leaves room for rounding; everything else is checked again.
    """
    if decision.verdict == "separable" and weights is not None:
        return bool((problem.exact_signs(weights) > 0).all())
    if decision.balance is None:
        return decision.verdict == "undecided" and decision.contradiction is None
    rows = np.array(decision.balance.rows, dtype=np.intp)
    return (weights is None or problem.is_weak_separator(weights)) and not any(
        problem.signs(changed.original(b.vector), rows).any() for b in decision.null_vectors
    )
