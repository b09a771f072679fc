"""The ladder of methods, from the cheapest to exact simplex: proposals in doubles, exact verdicts.

1. A single column that separates the classes (`single_column_separators`); if one separates weakly,
   only the rows on its threshold remain to be decided.
2. Descent on a growing working set (`working_set_search`), which finds a separator, a balance
   (`approximate_gordan`), or neither.
3. Linearly dependent columns are removed (`column_dependencies`), and the ladder starts again.
4. Exact methods (`exact_alternatives`): least squares or a linear program proposes contradicting
   rows, integers confirm them, and otherwise exact simplex decides.

``docs/theory/map.md`` shows the same as a diagram.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from rosenblatt.theory.search.approximate_gordan import integer_weights
from rosenblatt.theory.search.column_dependencies import NullVector, ReducedProblem
from rosenblatt.theory.search.decision import Decision, Proposal, combination, renumbered
from rosenblatt.theory.search.exact_alternatives import gordan_alternative, stiemke_decision
from rosenblatt.theory.search.exact_numbers import primitive
from rosenblatt.theory.search.limits import Clock, OutOfTimeError, TooSlowError
from rosenblatt.theory.search.matrices import Indices
from rosenblatt.theory.search.problem import BinaryProblem
from rosenblatt.theory.search.single_column_separators import ColumnSeparator, column_separators
from rosenblatt.theory.search.working_set_search import descent_proposal


def decide(
    problem: BinaryProblem, clock: Clock, minimal: bool | None = True, check_weak: bool = True
) -> Decision:
    """Decide a binary problem exactly; ``"undecided"`` if the time limit is reached.

    Unless `minimal`, a balance may replace a minimal contradiction; if None, only where a minimal
    contradiction is slow to find. Unless `check_weak`, quasi-separable is not distinguished from
    inseparable: after a contradiction the verdict may be ``"undecided"`` as well.
    """
    columns = list(column_separators(problem))
    strict = tuple(c for c in columns if c.strict)
    if strict:
        v = strict[0].exact_weights(problem.width, problem.padded)
        return Decision("separable", tuple(v), columns=strict)
    try:
        decision = _decide_by_thresholds(problem, clock, columns, minimal) if columns else None
        if decision is not None:
            return decision
        if minimal is None:
            with suppress(TooSlowError):
                proposal = descent_proposal(problem, clock)
                decision = _decide_reduced(problem, clock, proposal, minimal, check_weak)
                return decision or _decide_exactly(
                    problem, clock.without_slow_steps(), proposal, columns, check_weak
                )
        proposal = descent_proposal(problem, clock, thorough=not minimal)
        decision = _decide_reduced(problem, clock, proposal, minimal, check_weak)
        if decision is None and not minimal:
            decision = _decide_by_balance(problem, proposal)
        if decision is None and problem.rounded and not proposal.separates:
            # Exact methods would decide about the rounded values, not about the exact ones.
            raise TooSlowError
        return decision or _decide_exactly(problem, clock, proposal, columns, check_weak)
    except OutOfTimeError:
        return Decision("undecided")


def _decide_by_thresholds(
    problem: BinaryProblem, clock: Clock, columns: list[ColumnSeparator], minimal: bool | None
) -> Decision | None:
    """Decide by exact methods if they are fast, or else by the rows on the thresholds of `columns`.

    The columns are weak separators; so is v, the sum of their hyperplanes. If some u separates the
    rows on the hyperplane v, then ``m·v + u`` separates all rows for large m. And a contradiction
    of those rows is one of all rows. The columns are constant on those rows, and removed.
    """
    proposal = descent_proposal(problem, clock, dependencies=False)
    with suppress(TooSlowError):
        return _decide_exactly(
            problem, clock.without_slow_steps(), proposal, columns, check_weak=False
        )
    hyperplanes = [c.exact_weights(problem.width, problem.padded) for c in columns]
    v = primitive([sum(x) for x in zip(*hyperplanes, strict=True)])
    rows = np.flatnonzero(problem.exact_signs(v) == 0)
    sides = set(problem.y[rows].tolist())
    if len(sides) == 2 and len(columns) < problem.d:
        part = problem.subset(rows)
        constant = [
            NullVector(c.column, tuple(h)) for c, h in zip(columns, hyperplanes, strict=True)
        ]
        reduced = ReducedProblem(part, constant, {})
        inner = decide(reduced.problem, clock, minimal or None, check_weak=False)
        return _extend_to_all_rows(problem, v, rows, _in_original_columns(inner, reduced))
    if len(sides) == 2 or (sides and not problem.padded):
        return None
    offset = [0] * (problem.width - 1) + [int(sum(sides))]
    return Decision("separable", tuple(_lexicographic_sum(problem, v, offset) if sides else v))


def _extend_to_all_rows(
    problem: BinaryProblem, v: list[int], rows: Indices, inner: Decision
) -> Decision:
    """Extend a decision about the rows on the hyperplane of a weak separator v to all rows."""
    if inner.weights is not None and inner.verdict == "separable":
        return Decision("separable", tuple(_lexicographic_sum(problem, v, inner.weights)))
    weak = Decision("quasi-separable", tuple(v))
    if inner.contradiction is not None:
        return replace(weak, contradiction=renumbered(inner.contradiction, rows))
    if inner.balance is not None:
        balance = renumbered(inner.balance, rows)
        return replace(weak, balance=balance, null_vectors=inner.null_vectors)
    return Decision("undecided")


def _lexicographic_sum(problem: BinaryProblem, v: Sequence[int], u: Sequence[int]) -> list[int]:
    """A multiple of v plus u that separates all rows; u separates those on the hyperplane v."""
    bits = 1
    while True:
        combined = [(x << bits) + z for x, z in zip(v, u, strict=True)]
        if (problem.exact_signs(combined) > 0).all():
            return primitive(combined)
        bits *= 2


def _decide_exactly(
    problem: BinaryProblem,
    clock: Clock,
    proposal: Proposal,
    columns: list[ColumnSeparator],
    check_weak: bool,
) -> Decision:
    """Decide by the exact alternatives of Gordan and, if needed, Stiemke."""
    answer = gordan_alternative(problem, clock, proposal)
    if isinstance(answer, list):
        return Decision("separable", tuple(answer))
    if columns or check_weak:
        return stiemke_decision(problem, clock, answer, columns)
    return Decision("undecided", contradiction=answer)


def _decide_by_balance(problem: BinaryProblem, proposal: Proposal) -> Decision | None:
    """Decide by the balance of a proposal, or None if it has none."""
    if proposal.separates or not (proposal.balanced or proposal.weak_separator is not None):
        return None
    balance = combination(problem, proposal.rows, integer_weights(proposal.weights))
    if proposal.balanced:
        return Decision("inseparable", balance=balance)
    vectors = proposal.null_vectors
    return Decision(
        "quasi-separable", proposal.weak_separator, balance=balance, null_vectors=vectors
    )


def _decide_reduced(
    problem: BinaryProblem, clock: Clock, proposal: Proposal, minimal: bool | None, check_weak: bool
) -> Decision | None:
    """Decide the reduced problem of a proposal, or None if there is none or it does not decide."""
    reduced = proposal.reduced
    if reduced is None or (reduced.rounded and minimal):
        return None
    with suppress(TooSlowError):
        inner = decide(reduced.problem, clock, False if reduced.rounded else minimal, check_weak)
        decision = _in_original_columns(inner, reduced)
        if not reduced.rounded or _holds_unrounded(problem, inner, reduced, decision.weights):
            return decision
    return None


def _in_original_columns(decision: Decision, reduced: ReducedProblem) -> Decision:
    """A decision about the reduced problem, expressed in the original columns."""
    weights = (
        None if decision.weights is None else tuple(reduced.in_original_columns(decision.weights))
    )
    vectors = [
        NullVector(reduced.columns[b.dependent_column], tuple(reduced.expand(b.vector)))
        for b in decision.null_vectors
    ]
    if decision.balance is not None:
        vectors = [*(b for b in reduced.vectors if not b.is_unit), *vectors]
    # Single-column separators of the reduced problem use residuals, not columns of the data:
    # `decide` has ruled those out before.
    return replace(decision, weights=weights, null_vectors=tuple(vectors), columns=())


def _holds_unrounded(
    problem: BinaryProblem,
    decision: Decision,
    reduced: ReducedProblem,
    weights: tuple[int, ...] | None,
) -> bool:
    """Whether a decision about rounded residuals holds for the exact ones.

    A balance tolerates rounding; everything else is checked again.
    """
    if decision.verdict == "separable" and weights is not None:
        return bool((problem.exact_signs(weights) > 0).all())
    if decision.balance is None:
        return decision.verdict == "undecided" and decision.contradiction is None
    rows = np.array(decision.balance.rows, dtype=np.intp)
    return (weights is None or problem.is_weak_separator(weights)) and not any(
        problem.exact_row_signs(reduced.in_original_columns(b.vector), rows).any()
        for b in decision.null_vectors
    )
