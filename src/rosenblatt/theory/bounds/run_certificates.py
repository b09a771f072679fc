"""Certificates of a perceptron run: its mistakes compared with the bounds, and its cycles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from rosenblatt.theory.bounds.geometry import pad as pad_rows
from rosenblatt.theory.bounds.geometry import premultiply, radius
from rosenblatt.theory.bounds.mistake_bounds import general_bound, margin_gap
from rosenblatt.theory.checker import input_data
from rosenblatt.theory.checker.certificate import Certificate
from rosenblatt.theory.checker.fingerprint import fingerprint
from rosenblatt.theory.checker.report import Reported, counted
from rosenblatt.theory.search.certify import build_certificate
from rosenblatt.theory.search.exact_alternatives import minimal_contradiction, stiemke_decision
from rosenblatt.theory.search.exact_numbers import clear_denominators, primitive
from rosenblatt.theory.search.integer_linear_algebra import vanishes
from rosenblatt.theory.search.limits import NO_LIMIT, Clock
from rosenblatt.theory.search.problem import BinaryProblem
from rosenblatt.theory.search.single_column_separators import column_separators

_HEADLINES = {
    "separable": "The weights have every row on its side.",
    "inseparable": "The weights returned to an earlier value: no hyperplane separates the rows.",
    "undecided": "The weights leave rows on the wrong side; certify() decides if others do not.",
}
# A tight bound in doubles may be too small by a few rounding errors.
_ROUNDING = 1.0 + 1e-9


@dataclass(frozen=True)
class Bound:
    """A bound on the updates of a run, and whether it holds."""

    name: str
    value: float
    holds: bool


@dataclass(frozen=True, repr=False)
class RunCertificate(Reported):
    """What a finished run proves, at the cost of a few passes over the rows.

    Attributes
    ----------
    verdict : str
        ``"separable"`` if the final weights put every row strictly on its side (checked exactly),
        ``"inseparable"`` if the run entered a cycle (checked exactly, too); otherwise
        ``"undecided"``: :func:`rosenblatt.certify` decides.
    updates : int
        Mistakes corrected.
    margin_lower, margin_upper : float
        An interval for the largest augmented margin: the margin of the final weights, and
        ``‖w‖/(ηM)`` for a run from zero.
    radius : float
        R, the length of the longest padded row.
    bounds : tuple of Bound
        Every mistake bound that applies to the run.
    """

    verdict: str
    updates: int
    margin_lower: float
    margin_upper: float
    radius: float
    bounds: tuple[Bound, ...]

    @property
    def separable(self) -> bool:
        """True if the final weights separate the classes."""
        return self.verdict == "separable"

    def report(self) -> str:
        """The certificate in plain English."""
        lines = [_HEADLINES[self.verdict], f"Mistakes made: {self.updates:,}."]
        if self.margin_upper < math.inf and self.verdict != "inseparable":
            low = max(0.0, self.margin_lower)
            lines.append(
                f"The largest augmented margin is between {low:.4g} and {self.margin_upper:.4g}."
            )
        lines += [f"{b.name}: at most {b.value:,.6g} mistakes." for b in self.bounds]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<RunCertificate: {self.verdict}, {counted(self.updates, 'update')}>"


def run_certificate(
    X: Any,
    y: Any,
    weights: Any,
    bias: float = 0.0,
    *,
    updates: int,
    eta: float = 1.0,
    threshold: float = 0.0,
    fit_intercept: bool = True,
    padding: float = 1.0,
    row_updates: Any = None,
) -> RunCertificate:
    """Compare a finished run of the online perceptron, started at zero, with the theorems.

    Parameters
    ----------
    X, y
        The training rows and their labels of two classes.
    weights, bias, updates
        The final weights, and M, the number of updates.
    eta, threshold, fit_intercept, padding
        The learning rate η, threshold δ, and padding constant c.
    row_updates : array of int, optional
        The number of updates on each row; adds the bound for rows that are not separable.

    Examples
    --------
    >>> X, y = [[1.0, 0.0], [2.0, 1.0], [-1.0, 0.0], [-2.0, 1.0]], [1, 1, 0, 0]
    >>> print(run_certificate(X, y, [1.0, 0.0], 1.0, updates=1))
    The weights leave rows on the wrong side; certify() decides if others do not.
    Mistakes made: 1.
    The largest augmented margin is between 0 and 1.414.
    >>> run_certificate(X, y, [2.0, 0.0], 0.0, updates=2)
    <RunCertificate: separable, 2 updates>
    """
    w = np.asarray(weights, dtype=np.float64).ravel()
    low, high = margin_gap(
        X, y, w, bias, updates=updates, eta=eta, fit_intercept=fit_intercept, padding=padding
    )
    rows = pad_rows(X, padding) if fit_intercept else X
    full = np.append(w, bias / padding) if fit_intercept else w
    scores, R = np.asarray(premultiply(rows, y) @ full), radius(rows, None)
    bounds_by_name: list[tuple[str, float]] = []
    separates = _separates(X, y, w, bias, fit_intercept)
    if separates:
        value = general_bound(R, full, float(scores.min()), threshold=threshold, eta=eta)
        name = "Novikoff, R²/γ²" if threshold == 0 else "With threshold, (R² + 2δ/η)/γ²"
        bounds_by_name.append((f"{name}, for the margin reached", value))
    size = float(np.linalg.norm(full))
    if row_updates is not None and size > 0:
        value = _hinge_bound(np.asarray(row_updates, dtype=np.float64), scores / size, size / eta)
        bounds_by_name.append(("Hinge losses of the final weights, ‖L‖₁ + ‖w‖/(ηρ)", value))
    bounds = tuple(
        Bound(name, value, updates <= value * _ROUNDING) for name, value in bounds_by_name
    )
    verdict = "separable" if separates else "undecided"
    return RunCertificate(verdict, updates, low, high, R, bounds)


def _separates(X: Any, y: Any, w: Any, bias: float, fit_intercept: bool) -> bool:
    """Whether every row is strictly on its side of the hyperplane, exactly."""
    problem = BinaryProblem.from_data(X, y, fit_intercept)
    exact = clear_denominators([Fraction(float(x)) for x in ([*w, bias] if fit_intercept else w)])
    return any(exact) and bool((problem.exact_signs(exact) > 0).all())


def _hinge_bound(counts: Any, margins: Any, length: float) -> float:
    """``‖L‖₁ + ‖w‖/(ηρ)`` with ρ half the largest margin of any row."""
    rho = max(float(margins.max()), 1e-300) / 2
    return float(counts @ np.maximum(0.0, 1.0 - margins / rho)) + length / rho


def cycle_certificate(
    X: Any, y: Any, row_updates: Any, *, fit_intercept: bool = True, time_limit: float | None = None
) -> Certificate:
    """Turn a cycle of the perceptron into a certificate that no hyperplane separates the rows.

    If the weights after some epochs equal the weights before, the updates in between add up to
    zero: ``Σ k_i·y_i·(x_i, c) = 0`` with k_i the number of times row i was corrected, which is a
    contradiction in the sense of Gordan. It is checked in integers and reduced to a minimal set of
    rows.

    Parameters
    ----------
    X, y
        The rows and the labels of two classes.
    row_updates : array of int of shape (n,)
        The number of updates on each row between the two equal weights. ValueError if they do not
        add up to zero: then the weights were not equal, or were rounded.
    fit_intercept : bool
        Whether the run had an offset.
    time_limit : float, optional
        Seconds to distinguish quasi-separable from inseparable rows.

    Examples
    --------
    >>> cycle_certificate([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], [3, 3, 3, 3]).verdict
    'inseparable'
    """
    problem = BinaryProblem.from_data(X, y, fit_intercept)
    classes, codes = input_data.check_labels(y, problem.n)
    counts = np.asarray(row_updates)
    if counts.shape != (problem.n,) or counts.dtype.kind not in "iu" or (counts < 0).any():
        raise ValueError("row_updates must be one nonnegative integer per row")
    rows = np.flatnonzero(counts)
    matrix, factors = problem.integer_rows(rows)
    ratios = [Fraction(int(k), f) for k, f in zip(counts[rows], factors, strict=True)]
    weights = primitive(clear_denominators(ratios))
    if len(rows) == 0 or not vanishes(matrix, weights):
        raise ValueError("the updates do not add up to zero: this is not a cycle")
    contradiction = minimal_contradiction(problem, rows, weights, NO_LIMIT)
    decision = stiemke_decision(
        problem, Clock(time_limit), contradiction, list(column_separators(problem))
    )
    return build_certificate(
        problem,
        decision,
        np.arange(problem.n),
        np.arange(problem.d),
        fingerprint=fingerprint(problem.values, classes, codes),
        n_rows=problem.n,
        n_columns=problem.d,
        negative=(input_data.label_name(classes[0]),),
        positive=(input_data.label_name(classes[1]),),
    )
