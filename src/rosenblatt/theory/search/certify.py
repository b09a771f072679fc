"""Certify whether a hyperplane separates two classes."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from rosenblatt.theory.checker.certificate import (
    Certificate,
    CertificateSet,
    CertificateSource,
    ColumnRule,
    Combination,
    Margin,
    Replacement,
)
from rosenblatt.theory.checker.fingerprint import fingerprint
from rosenblatt.theory.checker.input_data import check_labels, check_matrix, label_name
from rosenblatt.theory.margin.max_margin import MarginInterval, enclose
from rosenblatt.theory.margin.rounded_bounds import radius_end
from rosenblatt.theory.search.blas_threads import few_threads
from rosenblatt.theory.search.clock import Clock, OutOfTimeError
from rosenblatt.theory.search.decision import Contradiction, Decision
from rosenblatt.theory.search.decision_ladder import decide, suggest
from rosenblatt.theory.search.exact_table import ExactTable
from rosenblatt.theory.search.matrices import Indices
from rosenblatt.theory.search.problem import BinaryProblem
from rosenblatt.theory.search.rounded_dependencies import NullVector

STRATEGIES = ("ovr", "ovo")
# A minimal set has up to two rows more than there are columns; longer lists are not readable.
READABLE_COLUMNS = 65


def certify(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool = True,
    exact: bool = True,
    time_limit: float | None = None,
    strategy: str = "ovr",
    margin_rtol: float | None = 1e-6,
    minimal: bool | None = None,
) -> Certificate | CertificateSet:
    """Decide whether a hyperplane separates the classes, and prove it.

    Either some v has ``Zv > 0`` for the rows ``z_i = y_i·(x_i, 1)``, or some λ >= 0, not zero, has
    ``Z'λ = 0`` (P. Gordan, 1873); v or λ is the proof. Floating point, on a growing working set of
    rows, proposes one; integers confirm it, or an exact simplex method finds it.

    Parameters
    ----------
    X, y
        Rows, dense, sparse or a data frame, of floats, integers of any size, booleans, or objects
        such as fractions (no value is rounded), and labels of two or more classes.
    fit_intercept : bool
        Whether hyperplanes may miss the origin.
    exact : bool
        False skips the exact confirmation: faster on hard problems, but nothing is proven.
    time_limit : float, optional
        Seconds after which the verdict is ``"undecided"``, with what is known by then.
    strategy : {"ovr", "ovo"}
        For more than two classes (which give a CertificateSet): one certificate per class against
        the rest, or one per pair.
    margin_rtol : float or None
        Precision of the margin intervals of separable data; None leaves them out.
    minimal : bool, optional
        The proof that nothing separates: True, a minimal set of rows that contradict each other;
        False, a balance of more rows, found much faster if there are many columns, unless there is
        none or a small set is found at once. By default minimal for up to 64 columns, unless hard.

    Examples
    --------
    >>> print(certify([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]))
    INSEPARABLE: no hyperplane has class 0 on one side and class 1 on the other.
    Data: 4 rows, numbered from 0, and 2 columns.
    These 4 rows contradict each other: 0, 1, 2 and 3.
    1/4·row 0 + 1/4·row 3 (class 0) = 1/4·row 1 + 1/4·row 2 (class 1): the same point twice.
    Without any one of them, a hyperplane separates the others.
    The classes overlap: even a hyperplane that may touch rows cannot separate them.
    """
    values = check_matrix(X)
    classes, codes = check_labels(y, values.shape[0])
    if minimal is None and values.shape[1] + int(fit_intercept) > READABLE_COLUMNS:
        minimal = False
    # Doubles only propose: where they overflow, integers decide.
    with ThreadPoolExecutor(1) as beside, np.errstate(all="ignore"):
        mark = beside.submit(fingerprint, values, classes, codes)
        data = _Data(values, classes, codes, mark, _source(X, y))
        call = _Call(data, fit_intercept, exact, margin_rtol, minimal, Clock(time_limit))
        return call.certificates(strategy)


def _source(X: Any, y: Any) -> CertificateSource | None:
    """The column names of a data frame, if X is one whose names are text."""
    names = list(getattr(X, "columns", ()))
    if not names or not all(isinstance(name, str) for name in names):
        return None
    label = getattr(y, "name", None)
    return CertificateSource(label if isinstance(label, str) else "", True, tuple(names))


class _Data(NamedTuple):
    """The checked input of a call."""

    values: Any
    classes: list[Any]
    codes: Indices
    fingerprint: Future[str]
    source: CertificateSource | None


class _Call(NamedTuple):
    """The data and the options that the certificates of one call share."""

    data: _Data
    fit_intercept: bool
    exact: bool
    margin_rtol: float | None
    minimal: bool | None
    clock: Clock

    def certificates(self, strategy: str) -> Certificate | CertificateSet:
        """One certificate for two classes; for more, one per class or per pair."""
        if strategy not in STRATEGIES:
            raise ValueError(f"strategy must be one of {STRATEGIES}, got {strategy!r}")
        classes, every = self.data.classes, range(len(self.data.classes))
        if len(classes) == 2:
            return self.certificate([0], [1])
        if strategy == "ovo":
            pairs = combinations(every, 2)
            return CertificateSet(
                {(classes[a], classes[b]): self.certificate([a], [b]) for a, b in pairs}
            )
        return CertificateSet(
            {classes[k]: self.certificate([j for j in every if j != k], [k]) for k in every}
        )

    def certificate(self, negative: list[int], positive: list[int]) -> Certificate:
        """The certificate of some classes against others."""
        data, clock = self.data, self.clock
        side = np.zeros(len(data.classes))
        side[positive], side[negative] = 1.0, -1.0
        y = side[data.codes]
        rows = np.flatnonzero(y)
        values = data.values if len(rows) == len(y) else data.values[rows]
        columns = _filled_columns(values)
        values = values if columns is None else values[:, columns]
        problem = BinaryProblem(ExactTable(values, self.fit_intercept), y[rows])
        with few_threads(problem.n, problem.width, problem.table.is_sparse):
            if self.exact:
                decision = decide(problem, clock, self.minimal)
            else:
                decision = suggest(problem, clock)
            intervals = margins(problem, decision, self.margin_rtol, clock)
        return assemble(
            problem,
            decision,
            rows,
            intervals,
            columns,
            n_columns=data.values.shape[1],
            fingerprint=data.fingerprint.result(),
            source=data.source,
            n_rows=data.values.shape[0],
            exact=self.exact,
            negative=tuple(label_name(data.classes[k]) for k in negative),
            positive=tuple(label_name(data.classes[k]) for k in positive),
        )


def margins(
    problem: BinaryProblem, decision: Decision, rtol: float | None, clock: Clock
) -> tuple[MarginInterval, MarginInterval] | None:
    """The augmented and the geometric margin of separable rows, if asked for and in time.

    None if they are beyond the range of doubles.
    """
    if decision.verdict != "separable" or decision.weights is None or rtol is None:
        return None
    try:
        clock.left()
    except OutOfTimeError:
        return None
    start = list(decision.weights)
    try:
        augmented = enclose(problem, "augmented", start, rtol, clock)
        if not problem.table.padded:
            return augmented, augmented
        return augmented, enclose(problem, "geometric", start, rtol, clock)
    except OverflowError:
        return None


def _filled_columns(values: Any) -> Indices | None:
    """The columns of a sparse table that hold something, where these are not all.

    An empty one has no part in any decision, and hashed text has millions of them.
    """
    if not sparse.issparse(values):
        return None
    filled = np.unique(values.indices)
    return filled if 0 < len(filled) < values.shape[1] else None


def _replacement(b: NullVector, places: Sequence[int]) -> Replacement:
    columns = [j for j, x in enumerate(b.vector) if x]
    weights = tuple(b.vector[j] for j in columns)
    return Replacement(places[b.lead], tuple(places[j] for j in columns), weights)


def assemble(
    problem: BinaryProblem,
    decision: Decision,
    rows: Indices,
    intervals: tuple[MarginInterval, MarginInterval] | None,
    columns: Indices | None,
    **data: Any,
) -> Certificate:
    """A decision about some rows and columns as a certificate about the data."""
    # The pad has a place behind the columns.
    inner = range(data["n_columns"]) if columns is None else columns.tolist()
    places = [*inner, data["n_columns"]]

    def spread(weights: Sequence[int]) -> tuple[int, ...]:
        if columns is None:
            return tuple(weights)
        whole = [0] * data["n_columns"]
        for place, weight in zip(inner, weights, strict=True):
            whole[place] = weight
        return tuple(whole)

    def combination(found: Contradiction | MarginInterval | None) -> Combination | None:
        if found is None:
            return None
        listed = np.array(found.rows, dtype=np.intp)
        signs = problem.y[listed].astype(np.int64)
        return Combination(tuple(rows[listed].tolist()), tuple(signs.tolist()), found.coefficients)

    def margin(found: MarginInterval) -> Margin:
        support = combination(found)
        assert support is not None
        return Margin(found.lower, found.upper, spread(found.weights), found.bias, support)

    d, padded = problem.table.d, problem.table.padded
    v = decision.weights
    try:
        radius = radius_end(problem)
    except OverflowError:
        radius = None
    augmented = margin(intervals[0]) if intervals else None
    bound = None
    if augmented is not None and augmented.lower > 0 and radius is not None:
        bound = int(Fraction(radius) ** 2 / Fraction(augmented.lower) ** 2)
    return Certificate(
        verdict=decision.verdict,
        fit_intercept=padded,
        weights=None if v is None else spread(v[:d]),
        bias=0 if v is None or not padded else v[d],
        contradiction=combination(decision.contradiction),
        spanning=combination(decision.spanning),
        balance=combination(decision.balance),
        replaced=tuple(_replacement(b, places) for b in decision.null_vectors),
        columns=tuple(
            ColumnRule(places[c.column], c.direction, c.threshold) for c in decision.columns
        ),
        radius=radius,
        augmented=augmented,
        geometric=margin(intervals[1]) if intervals else None,
        mistake_bound=bound,
        **data,
    )  # fmt: skip
