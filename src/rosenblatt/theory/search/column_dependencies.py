"""Linear dependencies among columns, exact or up to rounding: null vectors of the rows.

A column that is a linear combination of others (one-hot columns, which sum to the column of ones;
copies; totals) gives a null vector of all rows. No balance exists until one column of each
dependency is removed. If a dependency holds only up to rounding (one-hot columns that were
standardised), its residuals replace that column: exact methods would treat the residuals as one
more dimension and take minutes. And if some rows are a balance except for their null space, a
vector of this space may have all other rows on one side: then the data are quasi-separable.

Doubles propose null vectors; integers verify them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.optimize import linprog

from rosenblatt.theory.search.approximate_gordan import MAX_COLUMNS
from rosenblatt.theory.search.exact_numbers import clear_denominators, primitive
from rosenblatt.theory.search.integer_linear_algebra import null_space
from rosenblatt.theory.search.limits import NO_LIMIT, Clock
from rosenblatt.theory.search.matrices import (
    CHUNK,
    Floats,
    Indices,
    equilibrate,
    gram,
    scale_columns,
)
from rosenblatt.theory.search.problem import BinaryProblem

# The largest denominator of a rational coefficient, and how closely a double must match it.
_DENOMINATOR, _PRECISION = 1000, 1e-7
# A column whose squared distance from the span of the others is a smaller fraction of its squared
# norm counts as dependent.
_RANK = 1e-11
# Seconds per exact multiplication, approximately, and the largest number of them per null vector.
_SECONDS, _MAX_PRODUCTS = 3e-7, 20_000_000
# The smallest sample of rows in which dependent columns are searched for.
_SAMPLE = 2048
# The most columns of a dependency whose coefficients are computed exactly.
_MAX_DEPENDENT = 64
# Dividing integers of more bits by a power of two may underflow.
_MAX_BITS = 1000


@dataclass(frozen=True)
class NullVector:
    """A vector orthogonal to some rows, exactly or nearly; nonzero at `dependent_column`."""

    dependent_column: int
    vector: tuple[int, ...]

    @property
    def is_unit(self) -> bool:
        """Whether the dependent column itself is zero; certificates do not list such columns."""
        return sum(x != 0 for x in self.vector) == 1


class Residual(NamedTuple):
    """The products ``column * 2**exponent`` of all rows with a vector, `exact` or rounded."""

    column: Floats
    exponent: int
    exact: bool


def _null_vectors(problem: BinaryProblem, rows: Indices) -> list[NullVector]:
    """A basis of the numerical null space of the rows, by pivoted Cholesky factorisation.

    The dependent column of one vector is zero in all others; the offset is never dependent.
    """
    Z, columns, scale, _ = equilibrate(problem.block(rows))
    if problem.padded:
        # Make the column of ones the longest: then it is the first pivot, in the basis.
        first = np.where(columns == problem.d, 2.0**20, 1.0)
        Z, scale = scale_columns(Z, first), scale * first
    H = gram(Z)
    floor = _RANK * float(np.median(H.diagonal()))
    factor, pivots, rank, _ = linalg.lapack.dpstrf(H, tol=floor)
    basis, dependent = pivots[:rank] - 1, pivots[rank:] - 1
    shares = linalg.solve_triangular(factor[:rank, :rank], factor[:rank, rank:])
    shares = shares * (scale[basis][:, None] / scale[dependent])
    zero_columns = np.setdiff1d(np.flatnonzero(problem.column_max_abs), columns)
    vectors = [_null_vector(int(j), {}, problem.width) for j in zero_columns]
    for k, dependent_column in enumerate(columns[dependent].tolist()):
        coefficients = _rational_coefficients(shares[:, k], columns[basis])
        vectors.append(_null_vector(dependent_column, coefficients, problem.width))
    return vectors


def _rational_coefficients(shares: Floats, columns: Indices) -> dict[int, Fraction]:
    """The shares of the columns: all as simple fractions if possible, or as doubles."""
    nonzero = np.flatnonzero(np.abs(shares) > _PRECISION)
    simple = {}
    for k in nonzero.tolist():
        share = Fraction(float(shares[k])).limit_denominator(_DENOMINATOR)
        if abs(float(share) - shares[k]) > _PRECISION * max(1.0, abs(shares[k])):
            return {int(columns[j]): Fraction(float(x)) for j, x in enumerate(shares) if x}
        simple[int(columns[k])] = share
    return simple


def _null_vector(dependent_column: int, shares: dict[int, Fraction], width: int) -> NullVector:
    """The null vector: 1 at the dependent column, minus the shares elsewhere, as integers."""
    vector = [-shares.get(j, Fraction(0)) for j in range(width)]
    vector[dependent_column] = Fraction(1)
    return NullVector(dependent_column, tuple(primitive(clear_denominators(vector))))


def exact_null_space(problem: BinaryProblem, rows: Indices) -> list[NullVector]:
    """A basis of the null space of these rows, or empty if one of its vectors is not exact."""
    if not _tractable(problem, rows):
        return []
    vectors = _null_vectors(problem, rows)
    exact = all(not problem.exact_row_signs(b.vector, rows).any() for b in vectors)
    return vectors if exact else []


def _tractable(problem: BinaryProblem, rows: Indices) -> bool:
    """Whether the Gram matrix of the rows fits in memory, and they are neither scaled nor zero."""
    has_gram = problem.width <= MAX_COLUMNS and problem.row_exponent is None
    return has_gram and bool(problem.norms[rows].any())


class ReducedProblem:
    """A problem whose dependent columns are replaced by the residuals of their null vectors.

    A column whose residual is zero is removed. `rounded` says whether some residuals are rounded to
    doubles; then a decision about this problem must be verified for the exact values.
    """

    def __init__(
        self, problem: BinaryProblem, vectors: Sequence[NullVector], residuals: dict[int, Residual]
    ) -> None:
        self.vectors, self.residuals = tuple(vectors), residuals
        self.width = problem.width
        held = problem.values.dtype.kind == "f" or problem.integral
        self.rounded = bool(residuals) and not (held and all(r.exact for r in residuals.values()))
        d, padded = problem.d, problem.padded
        others = np.setdiff1d(np.arange(d), [b.dependent_column for b in vectors])
        values: Any = problem.values[:, others]
        if residuals:
            new = np.column_stack([r.column for r in residuals.values()])
            both = [values.astype(np.float64), new]
            is_sparse = problem.is_sparse
            values = sparse.csr_array(sparse.hstack(both)) if is_sparse else np.hstack(both)
        self.columns = [*others.tolist(), *residuals, *([d] if padded else [])]
        self.problem = BinaryProblem(values, problem.y, padded, self.rounded)

    def expand(self, vector: Sequence[int]) -> list[int]:
        """A vector over the columns of the reduced problem, with zeros at the removed columns."""
        exponents = {j: r.exponent for j, r in self.residuals.items()}
        top = max([0, *exponents.values()])
        full = [0] * self.width
        for j, x in zip(self.columns, vector, strict=True):
            full[j] = x << (top - exponents.get(j, 0))
        return full

    def in_original_columns(self, vector: Sequence[int]) -> list[int]:
        """A vector over the columns of the reduced problem, expressed in the original columns."""
        full = self.expand(vector)
        shares = [full[b.dependent_column] for b in self.vectors]
        for b in self.vectors:
            full[b.dependent_column] = 0
        for b, share in zip(self.vectors, shares, strict=True):
            full = [x + share * n for x, n in zip(full, b.vector, strict=True)]
        return primitive(full)


def reduce_columns(problem: BinaryProblem, clock: Clock = NO_LIMIT) -> ReducedProblem | None:
    """The problem without linearly dependent columns, or None if there are none."""
    rows = np.arange(0, problem.n, max(1, problem.n // max(4 * problem.width, _SAMPLE)))
    if problem.rounded or not _tractable(problem, rows):
        return None
    vectors: list[NullVector] = []
    residuals: dict[int, Residual] = {}
    for b in _null_vectors(problem, rows):
        if not _nearly_vanishes(problem, b):
            continue
        if not _vanishes(problem, b):
            products = problem.n * sum(x != 0 for x in b.vector)
            if products > _MAX_PRODUCTS:
                return None
            clock.require(_SECONDS * products)
            residual = _residual(problem, b)
            exact = _exact_dependency(problem, b, rows) if residual.column.any() else None
            if exact is not None:
                b, residual = exact, _residual(problem, exact)
            if residual.column.any():
                residuals[b.dependent_column] = residual
        vectors.append(b)
    left = problem.d - len(vectors) + len(residuals)
    return ReducedProblem(problem, vectors, residuals) if vectors and left else None


def _nearly_vanishes(problem: BinaryProblem, b: NullVector) -> bool:
    """Whether all rows, not only the sample, are orthogonal to a vector up to rounding."""
    largest = max(map(abs, b.vector))
    vector = np.array([x / largest for x in b.vector])
    terms = np.abs(vector[: problem.d]) * problem.column_max_abs
    return float(np.abs(problem.scores(vector)).max()) <= _PRECISION * float(terms.max())


def _vanishes(problem: BinaryProblem, b: NullVector) -> bool:
    """Whether doubles prove all rows orthogonal to a vector: sums of integers, and copies."""
    if problem.doubles_are_exact(b.vector):
        return not problem.scores(np.array(b.vector, dtype=float)).any()
    terms = [(j, x) for j, x in enumerate(b.vector) if x]
    if len(terms) != 2 or terms[1][0] == problem.d or problem.values.dtype.kind != "f":
        return False
    if any(abs(x) & (abs(x) - 1) for _, x in terms):
        return False
    # Multiplying by powers of two is exact.
    one, other = (problem.values[:, [j]] * float(x) for j, x in terms)
    return bool(((one + other) != 0).sum() == 0)


def _residual(problem: BinaryProblem, b: NullVector) -> Residual:
    """The products of all rows with a vector, scaled to doubles below one."""
    dots: list[int] = []
    factors: list[int] = []
    for start in range(0, problem.n, CHUNK):
        rows = np.arange(start, min(start + CHUNK, problem.n))
        products_of_chunk = problem.exact_dots(b.vector, rows)
        dots, factors = dots + products_of_chunk[0], factors + products_of_chunk[1]
    # The factors are powers of two.
    top, signs = max(factors), problem.y.astype(int).tolist()
    products = [s * x * (top // f) for s, x, f in zip(signs, dots, factors, strict=True)]
    bits = max(map(abs, products)).bit_length()
    exact = bits < _MAX_BITS and all((x // (x & -x)).bit_length() <= 53 for x in products if x)
    column = np.array([x / (1 << bits) for x in products])
    return Residual(column, bits + 1 - top.bit_length(), exact)


def _exact_dependency(problem: BinaryProblem, b: NullVector, rows: Indices) -> NullVector | None:
    """The exact integer null vector that a vector approximates, or None if there is none."""
    d, padded = problem.d, problem.padded
    largest = max(map(abs, b.vector))
    sizes = np.array([abs(x) / largest for x in b.vector[:d]]) * problem.column_max_abs
    inner = np.flatnonzero(sizes > _PRECISION * sizes.max())
    # In centred columns the coefficient of the offset is only rounding error.
    columns = np.append(inner, d) if padded else inner
    if len(columns) > _MAX_DEPENDENT:
        return None
    part = problem.values[rows][:, inner]
    part = part.toarray() if sparse.issparse(part) else part
    distinct = np.unique(part, axis=0, return_index=True)[1]
    some, _ = problem.integer_rows(rows[np.sort(distinct)[: 4 * _MAX_DEPENDENT]], columns)
    normals = null_space(some, len(columns))
    if len(normals) != 1:
        return None
    vector = [0] * problem.width
    for j, x in zip(columns.tolist(), normals[0], strict=True):
        vector[j] = x
    return NullVector(b.dependent_column, tuple(vector)) if vector[b.dependent_column] else None


def weak_separator(problem: BinaryProblem, vectors: Sequence[NullVector]) -> list[int] | None:
    """A linear combination of null vectors that weakly separates all rows, or None if not found."""
    for b in vectors:
        for sign in (1, -1):
            v = [sign * x for x in b.vector]
            if problem.is_weak_separator(v):
                return v
    if len(vectors) < 2:
        return None
    scores = np.column_stack([problem.scores(np.array(b.vector, dtype=float)) for b in vectors])
    scores = scores[np.abs(scores).max(axis=1) > 0]
    zeros, box = np.zeros(len(scores)), [(-1.0, 1.0)] * len(vectors)
    solved: Any = linprog(-scores.sum(axis=0), A_ub=-scores, b_ub=zeros, bounds=box)
    if solved.x is None:
        return None
    shares = [Fraction(float(x)).limit_denominator(_DENOMINATOR) for x in solved.x]
    v = clear_denominators(
        [
            sum((s * x for s, x in zip(shares, row, strict=True)), Fraction(0))
            for row in zip(*(b.vector for b in vectors), strict=True)
        ]
    )
    return primitive(v) if problem.is_weak_separator(v) else None
