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
from rosenblatt.theory.margin.max_margin import KINDS, MarginInterval, enclose
from rosenblatt.theory.margin.rounded_bounds import radius_upper_bound
from rosenblatt.theory.search.column_dependencies import NullVector
from rosenblatt.theory.search.decision import Decision, combination, renumbered
from rosenblatt.theory.search.decision_ladder import decide
from rosenblatt.theory.search.limits import Clock, limit_blas_threads
from rosenblatt.theory.search.matrices import Indices
from rosenblatt.theory.search.problem import BinaryProblem

STRATEGIES = ("ovr", "ovo")
# A minimal contradiction has up to one row more than weights; more are not readable.
READABLE_COLUMNS = 65


def certify(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool = True,
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
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy must be one of {STRATEGIES}, got {strategy!r}")
    values = check_matrix(X)
    classes, codes = check_labels(y, values.shape[0])
    if minimal is None and values.shape[1] + int(fit_intercept) > READABLE_COLUMNS:
        minimal = False
    every = range(len(classes))
    # Doubles only propose, so overflow is harmless: integers decide.
    with ThreadPoolExecutor(1) as pool, np.errstate(all="ignore"):
        digest = pool.submit(fingerprint, values, classes, codes)
        call = _Call(
            values,
            classes,
            codes,
            digest,
            _source(X, y),
            fit_intercept,
            margin_rtol,
            minimal,
            Clock(time_limit),
        )
        if len(classes) == 2:
            return call.certificate([0], [1])
        if strategy == "ovo":
            pairs = combinations(every, 2)
            return CertificateSet(
                {(classes[a], classes[b]): call.certificate([a], [b]) for a, b in pairs}
            )
        return CertificateSet(
            {classes[k]: call.certificate([j for j in every if j != k], [k]) for k in every}
        )


def _source(X: Any, y: Any) -> CertificateSource | None:
    """The column names of a data frame, or None if X is not one or has names that are not text."""
    names = list(getattr(X, "columns", ()))
    if not names or not all(isinstance(name, str) for name in names):
        return None
    label = getattr(y, "name", None)
    return CertificateSource(label if isinstance(label, str) else "", True, tuple(names))


class _Call(NamedTuple):
    """The checked data and the options of one call, shared by its certificates."""

    values: Any
    classes: list[Any]
    codes: Indices
    fingerprint: Future[str]
    source: CertificateSource | None
    fit_intercept: bool
    margin_rtol: float | None
    minimal: bool | None
    clock: Clock

    def certificate(self, negative: list[int], positive: list[int]) -> Certificate:
        """The certificate of the positive against the negative classes, given by their codes."""
        side = np.zeros(len(self.classes))
        side[positive], side[negative] = 1.0, -1.0
        y = side[self.codes]
        rows = np.flatnonzero(y)
        values = self.values if len(rows) == len(y) else self.values[rows]
        columns = _nonempty_columns(values)
        values = values if len(columns) == values.shape[1] else values[:, columns]
        problem = BinaryProblem(values, y[rows], self.fit_intercept)
        with limit_blas_threads(problem.n, problem.width, problem.is_sparse):
            decision = decide(problem, self.clock, self.minimal)
            intervals = _margins(problem, decision, self.margin_rtol, self.clock)
        return build_certificate(
            problem,
            decision,
            rows,
            columns,
            intervals,
            n_rows=self.values.shape[0],
            n_columns=self.values.shape[1],
            fingerprint=self.fingerprint.result(),
            source=self.source,
            negative=tuple(label_name(self.classes[k]) for k in negative),
            positive=tuple(label_name(self.classes[k]) for k in positive),
        )


def _nonempty_columns(values: Any) -> Indices:
    """The columns with stored entries if the values are sparse (all if there are none), or all.

    Empty columns do not change the decision, and hashed text has millions of them.
    """
    filled = np.unique(values.indices) if sparse.issparse(values) else np.empty(0, dtype=np.intp)
    return filled if len(filled) else np.arange(values.shape[1])


def _margins(
    problem: BinaryProblem, decision: Decision, rtol: float | None, clock: Clock
) -> list[MarginInterval]:
    """The augmented and the geometric margin of separable data.

    Empty if `rtol` is None, if the time limit has passed, or if they overflow.
    """
    if decision.verdict != "separable" or decision.weights is None or rtol is None or clock.expired:
        return []
    try:
        # Without an offset the two margins are equal.
        kinds = KINDS if problem.padded else KINDS[:1] * 2
        return [enclose(problem, kind, list(decision.weights), rtol, clock) for kind in kinds]
    except OverflowError:
        return []


def build_certificate(
    problem: BinaryProblem,
    decision: Decision,
    rows: Indices,
    columns: Indices,
    intervals: Sequence[MarginInterval] = (),
    **data: Any,
) -> Certificate:
    """The certificate of a decision about a problem.

    `rows` and `columns` are the indices of the problem's rows and columns in the data; `data` holds
    the fields of the certificate that describe the data.
    """
    d, padded = problem.d, problem.padded
    v = decision.weights
    # The column of ones follows all columns of the data.
    data_columns = [*columns.tolist(), data["n_columns"]]

    def in_data_rows(part: Combination | None) -> Combination | None:
        return None if part is None else renumbered(part, rows)

    def all_columns(weights: Sequence[int]) -> tuple[int, ...]:
        full = [0] * (data_columns[-1] + 1)
        for j, weight in zip(data_columns, weights, strict=False):
            full[j] = weight
        return tuple(full[:-1])

    def replacement(b: NullVector) -> Replacement:
        used = [j for j, x in enumerate(b.vector) if x]
        weights = tuple(b.vector[j] for j in used)
        return Replacement(
            data_columns[b.dependent_column], tuple(data_columns[j] for j in used), weights
        )

    margins = []
    for m in intervals:
        support = combination(problem, np.array(m.rows), m.coefficients)
        weights = all_columns(m.weights)
        margins.append(Margin(m.lower, m.upper, weights, m.bias, renumbered(support, rows)))
    try:
        radius = radius_upper_bound(problem)
    except OverflowError:
        radius = None
    bound = None
    if margins and margins[0].lower > 0 and radius is not None:
        bound = int(Fraction(radius) ** 2 / Fraction(margins[0].lower) ** 2)
    augmented, geometric = margins or (None, None)
    return Certificate(
        verdict=decision.verdict,
        exact=True,
        fit_intercept=padded,
        weights=None if v is None else all_columns(v[:d]),
        bias=0 if v is None or not padded else v[d],
        contradiction=in_data_rows(decision.contradiction),
        spanning=in_data_rows(decision.spanning),
        balance=in_data_rows(decision.balance),
        replaced=tuple(map(replacement, decision.null_vectors)),
        columns=tuple(
            ColumnRule(data_columns[c.column], c.direction, c.threshold) for c in decision.columns
        ),
        radius=radius,
        augmented=augmented,
        geometric=geometric,
        mistake_bound=bound,
        **data,
    )
