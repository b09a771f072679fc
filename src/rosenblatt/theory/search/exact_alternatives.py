"""The exact alternatives of Gordan and Stiemke, proposed in doubles and confirmed in integers.

*Gordan*: a separator, or a contradiction, reduced to a minimal set of rows. *Stiemke*, after a
contradiction: any v with Zv >= 0 is orthogonal to the contradicting rows, hence to their span.
Either some v orthogonal to the span is a weak separator (quasi-separable), or further
contradictions widen the span until it contains every row (inseparable: Zv >= 0 implies Zv = 0).
"""

from __future__ import annotations

from fractions import Fraction
from operator import mul

import numpy as np
from numpy.typing import NDArray

from rosenblatt.theory.checker.certificate import Combination
from rosenblatt.theory.search.decision import Decision, Proposal, combination
from rosenblatt.theory.search.exact_numbers import clear_denominators, primitive
from rosenblatt.theory.search.exact_simplex import decide_by_simplex
from rosenblatt.theory.search.integer_linear_algebra import (
    minimal_combination,
    null_space,
    orthogonal_vector,
    positive_combination,
)
from rosenblatt.theory.search.limits import Clock, OutOfTimeError
from rosenblatt.theory.search.linear_program import lp_proposal
from rosenblatt.theory.search.matrices import Floats, Indices
from rosenblatt.theory.search.problem import BinaryProblem
from rosenblatt.theory.search.single_column_separators import ColumnSeparator
from rosenblatt.theory.search.working_set_search import descent_proposal, nnls_contradiction


def stiemke_decision(
    problem: BinaryProblem,
    clock: Clock,
    contradiction: Combination,
    columns: list[ColumnSeparator],
) -> Decision:
    """Decide between quasi-separable and inseparable, given a contradiction.

    `columns` are the single-column separators, all of them weak.
    """
    if columns:
        v = columns[0].exact_weights(problem.width, problem.padded)
        return Decision("quasi-separable", tuple(v), contradiction)
    try:
        answer = _stiemke_alternative(problem, clock, contradiction)
    except OutOfTimeError:
        return Decision("undecided", contradiction=contradiction)
    if isinstance(answer, list):
        return Decision("quasi-separable", tuple(answer), contradiction)
    return Decision("inseparable", None, contradiction, answer)


def gordan_alternative(
    problem: BinaryProblem, clock: Clock, proposal: Proposal | None = None
) -> list[int] | Combination:
    """Exact weights of a separator, or a minimal contradiction.

    `proposal` is the result of `descent_proposal`, if it is known.
    """
    zero = np.flatnonzero(problem.norms == 0)[:1]
    if len(zero):
        return combination(problem, zero, [1])
    proposal = descent_proposal(problem, clock) if proposal is None else proposal
    if proposal.separates:
        return short_separator(problem, proposal.v)
    nnls = nnls_contradiction(problem, proposal)
    contradiction = (
        None if nnls is None else _confirm_contradiction(problem, nnls.rows, nnls.weights, clock)
    )
    if contradiction is not None:
        return contradiction
    for newton_first in (True, False):
        proposal = lp_proposal(problem, clock, newton_first=newton_first)
        if proposal.separates:
            return short_separator(problem, proposal.v)
        contradiction = _confirm_contradiction(problem, proposal.rows, proposal.weights, clock)
        if contradiction is not None:
            return contradiction
    if any(v := problem.exact_weights(proposal.v)) and (problem.exact_signs(v) > 0).all():
        return v
    answer = decide_by_simplex(problem, clock, proposal.rows)
    if answer.v is not None:
        return primitive(answer.v)
    rows = np.array(answer.rows, dtype=np.intp)
    return minimal_contradiction(problem, rows, answer.coefficients, clock)


def _confirm_contradiction(
    problem: BinaryProblem, rows: Indices, weights: Floats, clock: Clock
) -> Combination | None:
    """A minimal contradiction of the proposed rows, or None if exact arithmetic finds none."""
    if len(rows) == 0 or weights.max() <= 0:
        return None
    for threshold in (1e-9, 1e-6, 1e-4):
        heavy = weights > threshold * weights.max()
        part = rows[heavy]
        matrix, _ = problem.integer_rows(part, problem.nonzero_columns(part))
        coefficients = positive_combination(matrix, weights[heavy].tolist(), clock)
        if coefficients is not None:
            return minimal_contradiction(problem, part, coefficients, clock)
    return None


def minimal_contradiction(
    problem: BinaryProblem, rows: Indices, coefficients: list[int], clock: Clock
) -> Combination:
    """A contradiction reduced to rows no proper subset of which contradicts itself."""
    matrix, factors = problem.integer_rows(rows, problem.nonzero_columns(rows))
    places, weights = minimal_combination(matrix, coefficients, clock)
    # Coefficients of the original rows, not of their integer multiples.
    original = [w * factors[k] for k, w in zip(places, weights, strict=True)]
    return combination(problem, rows[places], original)


def short_separator(problem: BinaryProblem, v: Floats) -> list[int]:
    """Weights of few digits that separate every row, near a v known to separate."""
    rows = problem.lowest_score_rows(problem.scores(v), 64, np.ones(problem.n, dtype=bool))
    for bits in (1, 2, 3, 4, 6, 8, 11, 15, 20, 26, 32, 40):
        rounded = np.ldexp(np.rint(np.ldexp(v, bits)), -bits)
        exact = problem.exact_weights(rounded)
        if not any(exact) or min(problem.exact_dots(exact, rows)[0]) <= 0:
            continue
        if (problem.exact_signs(exact) > 0).all():
            return exact
    return problem.exact_weights(v)


def _stiemke_alternative(
    problem: BinaryProblem, clock: Clock, contradiction: Combination
) -> list[int] | Combination:
    """A weak separator, or a contradiction whose rows span all rows."""
    rows = np.array(contradiction.rows, dtype=np.intp)
    factors = problem.integer_rows(rows)[1]
    weights = clear_denominators(list(map(Fraction, contradiction.coefficients, factors)))
    while True:
        clock.seconds_left()
        outside = _outside_span(problem, rows, clock)
        if not outside.any():
            original = list(map(mul, weights, problem.integer_rows(rows)[1]))
            return combination(problem, rows, original)
        answer = _widen_span(problem, clock, rows, weights, outside)
        if isinstance(answer, list):
            return answer
        rows, weights = answer


def _outside_span(problem: BinaryProblem, rows: Indices, clock: Clock) -> NDArray[np.bool_]:
    """A mask of the rows that are not linear combinations of `rows`, exactly."""
    outside = np.zeros(problem.n, dtype=bool)
    if problem.is_sparse:
        known = problem.nonzero_columns(rows)
        extra = np.setdiff1d(problem.nonzero_columns(np.arange(problem.n)), known)
        beyond = problem.values[:, extra] != 0
        outside |= np.asarray(beyond.sum(axis=1)).ravel() > 0
    else:
        known = np.arange(problem.width)
    for normal in null_space(problem.integer_rows(rows, known)[0], len(known), clock):
        clock.seconds_left()
        full = [0] * problem.width
        for j, x in zip(known.tolist(), normal, strict=True):
            full[j] = x
        outside |= problem.exact_signs(full) != 0
    return outside


def _widen_span(
    problem: BinaryProblem,
    clock: Clock,
    rows: Indices,
    weights: list[int],
    outside: NDArray[np.bool_],
) -> list[int] | tuple[Indices, list[int]]:
    """A weak separator orthogonal to `rows`, or a contradiction of these and further rows."""
    proposal = lp_proposal(problem, clock, rows, outside)
    v = _confirm_weak_separator(problem, rows, proposal, clock)
    if v is not None:
        return v
    wider = np.concatenate([rows, np.setdiff1d(proposal.rows, rows)])
    guess = np.zeros(problem.n)
    guess[proposal.rows] = proposal.weights
    known = np.array([float(Fraction(w, max(weights))) for w in weights])
    for multiple in (1.0, 1e2, 1e4, 1e-2):
        total = guess[wider] / max(guess.max(), 1e-300)
        total[: len(rows)] += multiple * known
        matrix, _ = problem.integer_rows(wider, problem.nonzero_columns(wider))
        wider_weights = positive_combination(matrix, total.tolist(), clock)
        if wider_weights is not None and len(wider) > len(rows):
            return wider, wider_weights
    answer = decide_by_simplex(problem, clock, proposal.rows, rows, outside)
    if answer.v is not None:
        return primitive(answer.v)
    return _add_contradictions(problem, rows, weights, answer.rows, answer.coefficients)


def _confirm_weak_separator(
    problem: BinaryProblem, rows: Indices, proposal: Proposal, clock: Clock
) -> list[int] | None:
    """The proposed v made orthogonal to `rows` exactly, or None if that is not a weak separator."""
    for bits in (4, 10, 20, 40):
        rounded = np.ldexp(np.rint(np.ldexp(proposal.v, bits)), -bits)
        guess = problem.exact_weights(rounded)
        if not any(guess):
            continue
        v = orthogonal_vector(problem.integer_rows(rows)[0], guess, clock)
        if v is not None and any(v) and problem.is_weak_separator(v):
            return v
    return None


def _add_contradictions(
    problem: BinaryProblem,
    rows: Indices,
    weights: list[int],
    further: list[int],
    coefficients: list[int],
) -> tuple[Indices, list[int]]:
    """A contradiction with negative coefficients on `rows`, plus a multiple of that of `rows`."""
    total = dict(zip(further, coefficients, strict=True))
    multiple = 1 + max(
        abs(total.get(i, 0)) // w for i, w in zip(rows.tolist(), weights, strict=True)
    )
    for i, w in zip(rows.tolist(), weights, strict=True):
        total[i] = total.get(i, 0) + multiple * w
    union = np.array(list(total), dtype=np.intp)
    return union, primitive([total[i] for i in union.tolist()])
