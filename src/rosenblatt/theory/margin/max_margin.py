"""The largest margin, from both sides.

``γ* = min{‖Z'λ‖ : λ >= 0, Σλ = 1}``: the shortest vector in the convex hull of the rows. Every λ is
an upper bound and every separator a lower one. The point is found on a working set of rows
(`min_norm_point`); rows whose margin under its separator is too small are added until the two
bounds meet. Doubles search; both ends of the interval are then computed exactly from the
witnesses and rounded outwards (`rounded_bounds`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ldexp
from typing import Any

import numpy as np
from scipy import linalg

from rosenblatt.theory.checker.report import as_html, counted
from rosenblatt.theory.margin.min_norm_point import shortest
from rosenblatt.theory.margin.rounded_bounds import lower_end, upper_end
from rosenblatt.theory.margin.row_blocks import row_block
from rosenblatt.theory.search.blas_threads import few_threads
from rosenblatt.theory.search.clock import Clock, OutOfTimeError
from rosenblatt.theory.search.exact_numbers import (
    clear_denominators,
    primitive,
    scaled_double,
    whole_numbers,
)
from rosenblatt.theory.search.linear_program import propose
from rosenblatt.theory.search.matrices import Floats, Indices, column_top
from rosenblatt.theory.search.problem import BinaryProblem

# Numbers in the first working set of rows, at most. Sparse rows become a square block: so many.
_BLOCK, _SPARSE_ROWS = 20_000_000, 2000
# Seconds of two least squares on rows, per row squared and column; a sparse block takes a quarter.
_SECONDS = 1e-9

KINDS = ("augmented", "geometric")


@dataclass(frozen=True, repr=False)
class MarginInterval:
    """An interval that holds the largest margin, with a witness for each end.

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
        Both ends are exact statements about their witnesses, rounded outwards. For classes that
        no hyperplane separates, `lower` is not positive and `upper` is near zero.

    Notes
    -----
    The dual problem is the shortest vector in a polytope: B. Mitchell, V. Demyanov, V. Malozemov
    (1974); P. Wolfe (1976), Finding the nearest point in a polytope. Its solution by non-negative
    least squares: C. Lawson, R. Hanson (1974), Solving Least Squares Problems, chapter 23.

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
    problem = BinaryProblem.of(X, y, fit_intercept)
    clock = Clock(time_limit)
    try:
        v = propose(problem, clock).v
    except OutOfTimeError:
        v = problem.combine(1.0 / np.maximum(problem.norms, 1e-300))
    with few_threads(problem.n, problem.width, problem.is_sparse):
        return enclose(problem, kind, problem.exact_weights(v), rtol, clock)


def enclose(
    problem: BinaryProblem, kind: str, start: list[int], rtol: float, clock: Clock
) -> MarginInterval:
    """The interval for a problem; the search starts from exact weights."""
    if not problem.padded:
        kind = "augmented"
    plane = _Plane(problem, kind)
    w, b = plane.doubles(start)
    few = max(64, min(4 * plane.d, max(_BLOCK // plane.d, _SPARSE_ROWS * problem.is_sparse)))
    rows = plane.nearest(w, b, few)
    lower, upper, best, weights = plane.margin(w, b), np.inf, (w, b), np.ones(len(rows))
    best_rows = rows
    for _ in range(200):
        try:
            coefficients, separator = plane.shortest(rows, rtol, clock)
        except OutOfTimeError:
            break
        if kind == "geometric":
            coefficients = _balanced(coefficients, problem.y[rows])
        w, b, low, high = plane.bounds(rows, coefficients)
        if separator is not None and plane.margin(*separator) > low:
            w, b = separator
            low = plane.margin(w, b)
        if low > lower:
            lower, best = low, (w, b)
        support = coefficients > 0
        m = int(np.count_nonzero(support))
        in_time = clock.has(_SECONDS * m * m * min(m, plane.d))
        if in_time and min(high, upper) - lower > rtol * min(high, upper):
            level = plane.level(rows[support])
            low = plane.margin(*level)
            if low > lower:
                lower, best = low, level
            polished = np.zeros(len(rows))
            polished[support] = plane.weigh(rows[support], *level)
            length = plane.bounds(rows, polished)[3] if polished.any() else np.inf
            if length < high:
                high, coefficients = length, polished
        if high < upper:
            upper, best_rows, weights = high, rows, coefficients
        if upper - lower <= rtol * upper or upper <= 1e-12 * plane.radius:
            break
        fresh = np.setdiff1d(plane.nearest(w, b, max(64, few // 2, m)), rows)
        if len(fresh) == 0 or clock.passed:
            break
        rows = np.concatenate([rows[coefficients > 0], fresh])
    return _certified(problem, kind, start, plane.whole(*best), best_rows, weights)


class _Plane:
    """The geometry of one problem in doubles, scaled by one common power of two only."""

    def __init__(self, problem: BinaryProblem, kind: str) -> None:
        self.problem, self.kind = problem, kind
        self.d, self.padded = problem.d, problem.padded
        self.exponent = 0
        if problem.row_exponent is None:
            self.X = problem.approx
        else:
            floor = 0 if problem.padded and kind == "augmented" else -900
            self.exponent, self.X = _common_scale(problem, floor)
        self.pad = ldexp(1.0, -self.exponent) if self.exponent < 1000 else 0.0
        top = float(column_top(self.X).max(initial=0.0))
        self.radius = max(top, self.pad) if self.padded and kind == "augmented" else top

    def doubles(self, exact: list[int]) -> tuple[Floats, float]:
        """Exact weights as (w, b) for the doubles kept here, the largest of w about one."""
        top = max((abs(x).bit_length() for x in exact[: self.d]), default=0)
        w = np.array([scaled_double(x, top) for x in exact[: self.d]])
        try:
            b = scaled_double(exact[self.d], top + self.exponent) if self.padded else 0.0
        except OverflowError:
            b = 0.0
        return w, b

    def whole(self, w: Floats, b: float) -> list[int]:
        """The inverse of `doubles`, exactly, up to a factor."""
        if not self.padded:
            return whole_numbers(w, [0] * self.d)
        return whole_numbers(np.append(w, b), [0] * self.d + [-self.exponent])

    def margins(self, w: Floats, b: float) -> Floats:
        return np.asarray((self.X @ w + b) * self.problem.y)

    def nearest(self, w: Floats, b: float, count: int) -> Indices:
        """The rows of least margin, of both classes."""
        s = self.margins(w, b)
        found = []
        for side in (1, -1):
            rows = np.flatnonzero(self.problem.y == side)
            if len(rows) > count // 2:
                rows = rows[np.argpartition(s[rows], count // 2)[: count // 2]]
            found.append(rows)
        return np.concatenate(found)

    def shortest(
        self, rows: Indices, rtol: float, clock: Clock
    ) -> tuple[Floats, tuple[Floats, float] | None]:
        """λ >= 0 whose combination of these rows is shortest, and the separator found with it."""
        size = len(rows) * self.problem.is_sparse
        clock.allow(_SECONDS * size**2 * min(size, self.d) / 4)
        y, (part, spread, _) = self.problem.y[rows], row_block(self.X[rows])
        free = self.kind == "geometric"
        pad, mean = self.pad, np.zeros(part.shape[1])
        if free:
            mean = part.mean(axis=0)
            part = part - mean
            pad = float(np.abs(part).max(initial=0.0)) or 1.0
        Z = part * y[:, None]
        if self.padded:
            Z = np.hstack([Z, (pad * y)[:, None]])
        found, v = shortest(Z, free, rtol, clock)
        if v is None:
            return found, None
        inner = v[: len(mean)]
        return found, (spread(inner), float(v[-1] * pad - mean @ inner) if self.padded else 0.0)

    def bounds(self, rows: Indices, weights: Floats) -> tuple[Floats, float, float, float]:
        """The hyperplane of a λ, its margin, and the length of its combination."""
        y, part = self.problem.y[rows], self.X[rows]
        pulls = weights * y / max(float(weights.sum()), 1e-300)
        w = np.asarray(part.T @ pulls)
        length = float(np.linalg.norm(w))
        if self.kind == "geometric":
            s = self.margins(w, 0.0)
            plus, minus = s[self.problem.y > 0].min(), s[self.problem.y < 0].min()
            low = float(plus + minus) / 2
            return w, float(minus - plus) / 2, low / max(length, 1e-300), length
        b = float(pulls.sum()) * self.pad * self.pad if self.padded else 0.0
        length = float(np.hypot(length, pulls.sum() * self.pad)) if self.padded else length
        low = float(self.margins(w, b).min())
        return w, b, low / max(length, 1e-300), length

    def level(self, rows: Indices) -> tuple[Floats, float]:
        """The shortest weights under which all these rows have the same margin."""
        y, (part, spread, _) = self.problem.y[rows], row_block(self.X[rows])
        if self.kind == "geometric":
            v = _lstsq(part[1:] - part[0], y[1:] - y[0])
            return spread(v), float(y[0] - part[0] @ v)
        Z = np.hstack([part, np.full((len(rows), int(self.padded)), self.pad)])
        v = _lstsq(Z * y[:, None], np.ones(len(rows)))
        return spread(v[: part.shape[1]]), float(v[-1]) * self.pad if self.padded else 0.0

    def weigh(self, rows: Indices, w: Floats, b: float) -> Floats:
        """λ >= 0 whose combination of these rows is nearest to the weights that level them."""
        y, (part, _, gather) = self.problem.y[rows], row_block(self.X[rows])
        size = float(np.abs(part).max(initial=0.0)) or 1.0
        A, right = (part * y[:, None]).T / size, gather(w) / size
        if self.kind == "geometric":
            A, right = np.vstack([A, y]), np.append(right, 0.0)
        elif self.padded and self.pad > 0:
            A = np.vstack([A, y * self.pad / size])
            right = np.append(right, b / self.pad / size)
        found = np.maximum(_lstsq(A, right), 0.0)
        return _balanced(found, y) if self.kind == "geometric" else found

    def margin(self, w: Floats, b: float) -> float:
        """The least margin of any row under these weights."""
        size = float(np.linalg.norm(w))
        if self.kind == "augmented" and self.padded and self.pad > 0:
            size = float(np.hypot(size, b / self.pad))
        return float(self.margins(w, b).min()) / max(size, 1e-300)


def _lstsq(A: Floats, right: Floats) -> Floats:
    """The shortest least-squares solution."""
    found = linalg.lstsq(A, right, lapack_driver="gelsy", check_finite=False)
    return np.asarray(found[0] if found is not None else np.zeros(A.shape[1]))


def _common_scale(problem: BinaryProblem, floor: int) -> tuple[int, Any]:
    """All values times one power of two that brings the largest to about one.

    The power is at most ``2**-floor``, so that the pad stays representable.
    """
    assert problem.row_exponent is not None
    X = problem.approx.copy()
    if problem.is_sparse:
        data = X.data
        rows = np.repeat(problem.row_exponent, np.diff(X.indptr))
        exponents = rows + problem.column_exponent[X.indices]
    else:
        data = X
        exponents = problem.row_exponent[:, None] + problem.column_exponent
    top = max(floor, int(exponents[data != 0].max(initial=floor)))
    with np.errstate(under="ignore"):
        scaled = np.ldexp(data, np.clip(exponents - top, -3000, 3000).astype(np.int32))
    if problem.is_sparse:
        X.data = scaled
        return top, X
    return top, scaled


def _balanced(weights: Floats, y: Floats) -> Floats:
    """Coefficients scaled so that each class has the sum one."""
    out = weights.copy()
    for side in (1, -1):
        mine = y == side
        total = float(weights[mine].sum())
        out[mine] = weights[mine] / total if total > 0 else 1.0 / max(int(mine.sum()), 1)
    return out


def _certified(
    problem: BinaryProblem,
    kind: str,
    start: list[int],
    found: list[int],
    rows: Indices,
    weights: Floats,
) -> MarginInterval:
    """The interval that the witnesses prove in integers, with the better of two hyperplanes."""
    d = problem.d
    lower, plane = 0.0, [0] * problem.width
    for candidate in (start, found):
        size = sum(x * x for x in (candidate if kind == "augmented" else candidate[:d]))
        end = lower_end(problem, candidate, size) if size else 0.0
        if size and (not any(plane) or end > lower):
            lower, plane = end, candidate
    kept = weights > 0
    order = np.argsort(rows[kept]).tolist()
    rows = rows[kept][order]
    ratios = [Fraction(x) for x in weights[kept][order].tolist()]
    coefficients = primitive(clear_denominators(ratios))
    upper, bias = upper_end(problem, kind, rows, coefficients), (*plane, 0)[d]
    witness = tuple(rows.tolist()), tuple(coefficients)
    return MarginInterval(kind, lower, upper, tuple(plane[:d]), bias, *witness)
