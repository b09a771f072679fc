"""Lower and upper bounds of the largest margin.

``γ* = min{‖Z'λ‖ : λ >= 0, Σλ = 1}``: the smallest norm in the convex hull of the rows. Every λ
gives an upper bound and every separator a lower bound. The point of smallest norm is found on a
working set of rows (`min_norm_point`), to which the rows of lowest margin are added until the
bounds meet. This search is in doubles; both bounds are then computed exactly from their witnesses
and rounded outwards (`rounded_bounds`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ldexp
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from rosenblatt.theory.checker.report import as_html, counted
from rosenblatt.theory.margin.min_norm_point import min_norm_point
from rosenblatt.theory.margin.rounded_bounds import margin_lower_bound, margin_upper_bound
from rosenblatt.theory.search.exact_numbers import (
    clear_denominators,
    primitive,
    proportional_integers,
    scaled_double,
)
from rosenblatt.theory.search.limits import Clock, OutOfTimeError, limit_blas_threads
from rosenblatt.theory.search.linear_program import lp_proposal
from rosenblatt.theory.search.matrices import Floats, Indices, append_column, column_max_abs
from rosenblatt.theory.search.problem import BinaryProblem

# The most entries of the first working set if dense, and its rows if sparse.
_BLOCK, _SPARSE_ROWS = 20_000_000, 2000
# Seconds per row squared and column of a least-squares problem; a quarter of it if sparse.
_SECONDS = 1e-9
# From this many sparse rows on, if fewer than their columns, the block is a Cholesky factor.
_MANY_ROWS = 128

Hyperplane = tuple[Floats, float]

KINDS = ("augmented", "geometric")


@dataclass(frozen=True, repr=False)
class MarginInterval:
    """An interval that contains the largest margin, with a witness for each end.

    Attributes
    ----------
    kind
        ``"augmented"``: ``min y·(w·x + b)/‖(w, b)‖``, the margin of mistake bounds.
        ``"geometric"``: ``min y·(w·x + b)/‖w‖``, the distance to the hyperplane.
    lower, upper
        The interval. `lower` is the margin of the hyperplane ``weights, bias`` (not positive if
        it does not separate), `upper` that of the convex combination of the support rows.
    weights, bias
        The witness of `lower`, in integers.
    rows, coefficients
        The witness of `upper`: the support rows and their positive integer coefficients.
    """

    kind: str
    lower: float
    upper: float
    weights: tuple[int, ...]
    bias: int
    rows: tuple[int, ...]
    coefficients: tuple[int, ...]

    @property
    def gap(self) -> float:
        """The width of the interval, relative to its upper end."""
        return (self.upper - self.lower) / self.upper if self.upper > 0 else 0.0

    def __repr__(self) -> str:
        return f"<MarginInterval: {self.kind}, {self.lower:.6g} to {self.upper:.6g}>"

    def __str__(self) -> str:
        rows = counted(len(self.rows), "row")
        return (
            f"The largest {self.kind} margin is between {self.lower:.6g} and {self.upper:.6g}.\n"
            f"The upper end is proven by a combination of {rows}, the lower by a hyperplane."
        )

    def _repr_html_(self) -> str:
        return as_html(str(self))


def max_margin(
    X: Any,
    y: Any,
    *,
    kind: str = "augmented",
    fit_intercept: bool = True,
    rtol: float = 1e-6,
    time_limit: float | None = None,
) -> MarginInterval:
    """Enclose the largest margin of any linear separator of two classes.

    Parameters
    ----------
    X, y
        Rows (dense or sparse) and labels of two classes.
    kind : {"augmented", "geometric"}
        Which margin; see :class:`MarginInterval`. Without an offset they are equal.
    fit_intercept : bool
        Whether hyperplanes may miss the origin.
    rtol : float
        The width of the interval, relative to its upper end, at which the search stops.
    time_limit : float, optional
        Seconds after which the current interval is returned.

    Returns
    -------
    MarginInterval
        Both ends are computed exactly from their witnesses and rounded outwards. For inseparable
        classes, `lower` is not positive and `upper` is near zero.

    Notes
    -----
    The dual problem is the point of smallest norm in a polytope: B. Mitchell, V. Demyanov,
    V. Malozemov (1974); P. Wolfe (1976), Finding the nearest point in a polytope. Its solution by
    nonnegative least squares: C. Lawson, R. Hanson (1974), Solving Least Squares Problems,
    chapter 23.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[0.0], [4.0]]), [0, 1]
    >>> m = max_margin(X, y, kind="geometric")
    >>> round(m.lower, 6), round(m.upper, 6), m.rows
    (2.0, 2.0, (0, 1))
    >>> round(max_margin(X, y).upper, 4)
    0.8944
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {KINDS}, got {kind!r}")
    if not rtol > 0:
        raise ValueError(f"rtol must be positive, got {rtol}")
    problem = BinaryProblem.from_data(X, y, fit_intercept)
    clock = Clock(time_limit)
    try:
        v = lp_proposal(problem, clock).v
    except OutOfTimeError:
        v = problem.combine(1.0 / np.maximum(problem.norms, 1e-300))
    with limit_blas_threads(problem.n, problem.width, problem.is_sparse):
        return enclose(problem, kind, problem.exact_weights(v), rtol, clock)


def enclose(
    problem: BinaryProblem, kind: str, start: list[int], rtol: float, clock: Clock
) -> MarginInterval:
    """The interval for a problem; the search starts from the exact weights `start`."""
    if not problem.padded:
        kind = "augmented"
    geometry = _Geometry(problem, kind)
    best, d = geometry.from_exact(start), geometry.X.shape[1]
    lower = geometry.margin(*best)
    initial_size = max(64, min(4 * d, max(_BLOCK // d, _SPARSE_ROWS * problem.is_sparse)))
    rows = geometry.lowest_margin_rows(*best, initial_size)
    upper = np.inf
    best_rows, weights = rows, np.ones(len(rows))
    for _ in range(200):
        try:
            coefficients, separator = geometry.min_norm_point(rows, rtol, clock)
        except OutOfTimeError:
            break
        hyperplane, length = geometry.combine(rows, coefficients)
        margin = geometry.margin(*hyperplane)
        if separator is not None and geometry.margin(*separator) > margin:
            hyperplane, margin = separator, geometry.margin(*separator)
        if margin > lower:
            lower, best = margin, hyperplane
        if length < upper:
            upper = length
            best_rows, weights = rows, coefficients
        support = rows[coefficients > 0]
        m = len(support)
        if upper - lower > rtol * upper and clock.has_time_for(_SECONDS * m * m * min(m, d)):
            equal_margin = geometry.equal_margin_hyperplane(support)
            margin = geometry.margin(*equal_margin)
            if margin > lower:
                lower, best = margin, equal_margin
        if upper - lower <= rtol * upper or upper <= 1e-12 * geometry.radius:
            break
        fresh = np.setdiff1d(
            geometry.lowest_margin_rows(*hyperplane, max(64, initial_size // 2, m)), rows
        )
        if len(fresh) == 0 or clock.expired:
            break
        rows = np.concatenate([support, fresh])
    return _certified_interval(problem, kind, start, geometry.to_exact(*best), best_rows, weights)


class _Geometry:
    """Rows and hyperplanes (w, b) in doubles, scaled by a common power of two.

    For the augmented margin the pad is a column of the rows and b is zero; for the geometric margin
    b is the offset, which is not part of the norm (`free_offset`).
    """

    def __init__(self, problem: BinaryProblem, kind: str) -> None:
        self.y, self.is_sparse = problem.y, problem.is_sparse
        self.free_offset = kind == "geometric"
        with_pad = problem.padded and not self.free_offset
        self.exponent, self.X = 0, problem.approx
        if problem.row_exponent is not None:
            self.exponent, self.X = _common_scale(problem, 0 if with_pad else -900)
        if with_pad:
            pad = ldexp(1.0, -self.exponent) if self.exponent < 1000 else 0.0
            self.X = append_column(self.X, np.full(problem.n, pad))
        self.radius = float(column_max_abs(self.X).max(initial=0.0))

    def from_exact(self, exact: list[int]) -> Hyperplane:
        """Exact weights as (w, b), scaled to a largest weight of about one."""
        inner = exact[: self.X.shape[1]]
        top = max((abs(x).bit_length() for x in inner), default=0)
        w = np.array([scaled_double(x, top) for x in inner])
        try:
            b = scaled_double(exact[-1], top + self.exponent) if self.free_offset else 0.0
        except OverflowError:
            b = 0.0
        return w, b

    def to_exact(self, w: Floats, b: float) -> list[int]:
        """(w, b) as exact weights, up to a positive factor."""
        if not self.free_offset:
            return proportional_integers(w, [0] * len(w))
        return proportional_integers(np.append(w, b), [0] * len(w) + [-self.exponent])

    def scores(self, w: Floats, b: float) -> Floats:
        """``y·(w·x + b)`` of every row."""
        return np.asarray((self.X @ w + b) * self.y)

    def margin(self, w: Floats, b: float) -> float:
        """The smallest margin of any row."""
        return float(self.scores(w, b).min()) / max(float(np.linalg.norm(w)), 1e-300)

    def lowest_margin_rows(self, w: Floats, b: float, count: int) -> Indices:
        """The rows of smallest margin, up to count/2 per class."""
        s = self.scores(w, b)
        lowest = []
        for side in (1, -1):
            rows = np.flatnonzero(self.y == side)
            if len(rows) > count // 2:
                rows = rows[np.argpartition(s[rows], count // 2)[: count // 2]]
            lowest.append(rows)
        return np.concatenate(lowest)

    def min_norm_point(
        self, rows: Indices, rtol: float, clock: Clock
    ) -> tuple[Floats, Hyperplane | None]:
        """λ >= 0 that minimises ‖Z'λ‖/Σλ over these rows, and the separator or None."""
        size = len(rows) * self.is_sparse
        clock.require(_SECONDS * size**2 * min(size, self.X.shape[1]) / 4)
        y, (part, expand) = self.y[rows], _row_block(self.X[rows])
        if not self.free_offset:
            weights, v = min_norm_point(part * y[:, None], False, rtol, clock)
            return weights, None if v is None else (expand(v), 0.0)
        mean = part.mean(axis=0)
        part = part - mean
        pad = float(np.abs(part).max(initial=0.0)) or 1.0
        Z = append_column(part, np.full(len(rows), pad)) * y[:, None]
        weights, v = min_norm_point(Z, True, rtol, clock)
        weights = _normalise_per_class(weights, y)
        return weights, None if v is None else (expand(v[:-1]), float(v[-1] * pad - mean @ v[:-1]))

    def combine(self, rows: Indices, weights: Floats) -> tuple[Hyperplane, float]:
        """The hyperplane ``w = Z'λ/Σλ`` of dual weights λ, with the best offset, and its norm."""
        signed_weights = weights * self.y[rows] / max(float(weights.sum()), 1e-300)
        w = np.asarray(self.X[rows].T @ signed_weights)
        b = 0.0
        if self.free_offset:
            s = self.scores(w, 0.0)
            b = float(s[self.y < 0].min() - s[self.y > 0].min()) / 2
        return (w, b), float(np.linalg.norm(w))

    def equal_margin_hyperplane(self, rows: Indices) -> Hyperplane:
        """The hyperplane of smallest norm that gives all these rows the score one."""
        y, (part, expand) = self.y[rows], _row_block(self.X[rows])
        if not self.free_offset:
            return expand(_lstsq(part * y[:, None], np.ones(len(rows)))), 0.0
        v = _lstsq(part[1:] - part[0], y[1:] - y[0])
        return expand(v), float(y[0] - part[0] @ v)


def _lstsq(A: Floats, right: Floats) -> Floats:
    """The least-squares solution of smallest norm."""
    solution = linalg.lstsq(A, right, lapack_driver="gelsy", check_finite=False)
    return np.asarray(solution[0] if solution is not None else np.zeros(A.shape[1]))


def _common_scale(problem: BinaryProblem, floor: int) -> tuple[int, Any]:
    """The exponent, at least `floor`, and the values times ``2**-exponent``, at most about one."""
    assert problem.row_exponent is not None
    X = problem.approx.copy()
    if problem.is_sparse:
        rows = np.repeat(problem.row_exponent, np.diff(X.indptr))
        data, exponents = X.data, rows + problem.column_exponent[X.indices]
    else:
        data, exponents = X, problem.row_exponent[:, None] + problem.column_exponent
    top = int(exponents[data != 0].max(initial=floor))
    with np.errstate(under="ignore"):
        data[...] = np.ldexp(data, np.clip(exponents - top, -3000, 3000).astype(np.int32))
    return top, X


def _normalise_per_class(weights: Floats, y: Floats) -> Floats:
    """Coefficients scaled to sum to one in each class."""
    out = weights.copy()
    for side in (1, -1):
        mine = y == side
        total = float(weights[mine].sum())
        out[mine] = weights[mine] / total if total > 0 else 1.0 / max(int(mine.sum()), 1)
    return out


def _certified_interval(
    problem: BinaryProblem,
    kind: str,
    start: list[int],
    proposed: list[int],
    rows: Indices,
    weights: Floats,
) -> MarginInterval:
    """The interval computed exactly from its witnesses; the better of two hyperplanes is kept."""
    d = problem.d
    lower, plane = 0.0, [0] * problem.width
    for candidate in (start, proposed):
        size = sum(x * x for x in (candidate if kind == "augmented" else candidate[:d]))
        end = margin_lower_bound(problem, candidate, size) if size else 0.0
        if size and (not any(plane) or end > lower):
            lower, plane = end, candidate
    support = weights > 0
    order = np.argsort(rows[support]).tolist()
    rows = rows[support][order]
    ratios = [Fraction(x) for x in weights[support][order].tolist()]
    coefficients = primitive(clear_denominators(ratios))
    upper, bias = margin_upper_bound(problem, kind, rows, coefficients), (*plane, 0)[d]
    witness = tuple(rows.tolist()), tuple(coefficients)
    return MarginInterval(kind, lower, upper, tuple(plane[:d]), bias, *witness)


class _RowBlock(NamedTuple):
    """The block, and a function from weights of its columns to weights of the original columns."""

    values: Floats
    expand: Callable[[Floats], Floats]


def _row_block(part: Any) -> _RowBlock:
    """Dense rows unchanged; sparse rows without empty columns, or as a Cholesky factor."""
    if not sparse.issparse(part):
        return _RowBlock(part, lambda v: v)
    columns, width = np.unique(part.indices), part.shape[1]
    if len(columns) > part.shape[0] >= _MANY_ROWS:
        return _cholesky_block(part)

    def expand(v: Floats) -> Floats:
        w = np.zeros(width)
        w[columns] = v
        return w

    return _RowBlock(part[:, columns].toarray(), expand)


def _cholesky_block(part: Any) -> _RowBlock:
    """The Cholesky factor L of ``part·part'``: a block with as many columns as rows.

    ``part = LQ'`` with orthonormal columns of Q, which is never formed: only matrices of rows times
    rows are dense.
    """
    K = (part @ part.T).toarray()
    # Equal rows make K singular; this ridge is smaller than the rounding error of K.
    K[np.diag_indices_from(K)] += 4e-16 * len(K) * K.diagonal().max()
    L = linalg.cholesky(K, lower=True, check_finite=False)

    def expand(v: Floats) -> Floats:
        return np.asarray(part.T @ linalg.solve_triangular(L, v, lower=True, trans="T"))

    return _RowBlock(L, expand)
