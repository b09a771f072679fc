"""Certify whether a hyperplane separates two classes."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from rosenblatt.theory.checker.certificate import (
    Certificate,
    CertificateSet,
    CertificateSource,
    Combination,
    Margin,
)
from rosenblatt.theory.checker.fingerprint import fingerprint
from rosenblatt.theory.checker.input_data import check_labels, check_matrix, label_name
from rosenblatt.theory.margin.max_margin import KINDS, MarginInterval, enclose
from rosenblatt.theory.margin.rounded_bounds import radius_end
from rosenblatt.theory.search.blas_threads import few_threads
from rosenblatt.theory.search.clock import Clock
from rosenblatt.theory.search.decision import Decision, combination, renumbered
from rosenblatt.theory.search.decision_ladder import decide, suggest
from rosenblatt.theory.search.matrices import Indices
from rosenblatt.theory.search.problem import BinaryProblem

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
        call = _Call(
            values, classes, codes, mark, _source(X, y),
            fit_intercept, exact, margin_rtol, minimal, Clock(time_limit),
        )  # fmt: skip
        return call.certificates(strategy)


def _source(X: Any, y: Any) -> CertificateSource | None:
    """The column names of a data frame, if X is one whose names are text."""
    names = list(getattr(X, "columns", ()))
    if not names or not all(isinstance(name, str) for name in names):
        return None
    label = getattr(y, "name", None)
    return CertificateSource(label if isinstance(label, str) else "", True, tuple(names))


class _Call(NamedTuple):
    """The checked data and the options that the certificates of one call share."""

    values: Any
    classes: list[Any]
    codes: Indices
    fingerprint: Future[str]
    source: CertificateSource | None
    fit_intercept: bool
    exact: bool
    margin_rtol: float | None
    minimal: bool | None
    clock: Clock

    def certificates(self, strategy: str) -> Certificate | CertificateSet:
        """One certificate for two classes; for more, one per class or per pair."""
        if strategy not in STRATEGIES:
            raise ValueError(f"strategy must be one of {STRATEGIES}, got {strategy!r}")
        classes, every = self.classes, range(len(self.classes))
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
        side = np.zeros(len(self.classes))
        side[positive], side[negative] = 1.0, -1.0
        y = side[self.codes]
        rows = np.flatnonzero(y)
        values = self.values if len(rows) == len(y) else self.values[rows]
        columns = _filled_columns(values)
        values = values if columns is None else values[:, columns]
        problem = BinaryProblem(values, y[rows], self.fit_intercept)
        with few_threads(problem.n, problem.width, problem.is_sparse):
            if self.exact:
                decision = decide(problem, self.clock, self.minimal)
            else:
                decision = suggest(problem, self.clock)
            intervals = _margins(problem, decision, self.margin_rtol, self.clock)
        certificate = assemble(
            problem,
            decision,
            rows,
            intervals,
            fingerprint=self.fingerprint.result(),
            source=self.source,
            n_rows=self.values.shape[0],
            exact=self.exact,
            negative=tuple(label_name(self.classes[k]) for k in negative),
            positive=tuple(label_name(self.classes[k]) for k in positive),
        )
        if columns is None:
            return certificate
        return _widened(certificate, columns.tolist(), self.values.shape[1])


def _filled_columns(values: Any) -> Indices | None:
    """The columns of a sparse table that hold something, where these are not all.

    An empty one has no part in any decision, and hashed text has millions of them.
    """
    if not sparse.issparse(values):
        return None
    filled = np.unique(values.indices)
    return filled if 0 < len(filled) < values.shape[1] else None


def _widened(c: Certificate, places: list[int], width: int) -> Certificate:
    """A certificate about some columns of the data as one about all of them."""

    def spread(weights: Sequence[int]) -> tuple[int, ...]:
        whole = [0] * width
        for place, weight in zip(places, weights, strict=True):
            whole[place] = weight
        return tuple(whole)

    def wide(margin: Margin | None) -> Margin | None:
        return None if margin is None else replace(margin, weights=spread(margin.weights))

    places_and_pad = [*places, width]
    return replace(
        c,
        n_columns=width,
        weights=None if c.weights is None else spread(c.weights),
        augmented=wide(c.augmented),
        geometric=wide(c.geometric),
        columns=tuple(replace(rule, column=places[rule.column]) for rule in c.columns),
        replaced=tuple(
            replace(
                r,
                column=places_and_pad[r.column],
                columns=tuple(places_and_pad[j] for j in r.columns),
            )
            for r in c.replaced
        ),
    )


def _margins(
    problem: BinaryProblem, decision: Decision, rtol: float | None, clock: Clock
) -> list[MarginInterval]:
    """The augmented and the geometric margin of separable rows, if asked for and in time.

    Empty if they are beyond the range of doubles.
    """
    if decision.verdict != "separable" or decision.weights is None or rtol is None or clock.passed:
        return []
    try:
        # Without an offset the two are the same.
        kinds = KINDS if problem.padded else KINDS[:1] * 2
        return [enclose(problem, kind, list(decision.weights), rtol, clock) for kind in kinds]
    except OverflowError:
        return []


def assemble(
    problem: BinaryProblem,
    decision: Decision,
    rows: Indices,
    intervals: Sequence[MarginInterval] = (),
    **data: Any,
) -> Certificate:
    """A decision about a problem, which has these `rows` of the data, as a certificate."""

    def in_data(found: Combination | None) -> Combination | None:
        return None if found is None else renumbered(found, rows)

    margins = [
        Margin(
            m.lower, m.upper, m.weights, m.bias,
            renumbered(combination(problem, np.array(m.rows), m.coefficients), rows),
        )
        for m in intervals
    ]  # fmt: skip
    d, padded, v = problem.d, problem.padded, decision.weights
    try:
        radius = radius_end(problem)
    except OverflowError:
        radius = None
    bound = None
    if margins and margins[0].lower > 0 and radius is not None:
        bound = int(Fraction(radius) ** 2 / Fraction(margins[0].lower) ** 2)
    augmented, geometric = margins or (None, None)
    return Certificate(
        verdict=decision.verdict,
        n_columns=d,
        fit_intercept=padded,
        weights=None if v is None else tuple(v[:d]),
        bias=0 if v is None or not padded else v[d],
        contradiction=in_data(decision.contradiction),
        spanning=in_data(decision.spanning),
        balance=in_data(decision.balance),
        replaced=tuple(b.replacement() for b in decision.null_vectors),
        columns=tuple(c.rule() for c in decision.columns),
        radius=radius,
        augmented=augmented,
        geometric=geometric,
        mistake_bound=bound,
        **data,
    )
