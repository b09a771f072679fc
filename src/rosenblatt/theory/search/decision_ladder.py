"""The ladder of tests, from the cheapest to exact simplex: proposals in doubles, exact verdicts.

1. A single column that separates the classes (`single_column_separators`); if one does weakly, only
   the rows on its threshold remain.
2. Descent on a growing working set (`working_set_search`): it ends with a separator, with rows in
   balance (`approximate_gordan`), or with neither.
3. Columns that are combinations of others are left out (`column_dependencies`), and the ladder
   starts again; misclassified rows are weighted more (`squared_hinge_newton`).
4. Exact solving (`exact_alternatives`): least squares or a linear program propose contradicting
   rows, integers confirm them, and exact simplex decides what is left.

``docs/theory/map.md`` shows the same as a diagram.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from rosenblatt.theory.search.approximate_gordan import integer_weights
from rosenblatt.theory.search.clock import Clock, OutOfTimeError, TooSlowError
from rosenblatt.theory.search.column_dependencies import NullVector, Reduced
from rosenblatt.theory.search.decision import Decision, Proposal, combination, renumbered
from rosenblatt.theory.search.exact_alternatives import separate, settle
from rosenblatt.theory.search.exact_numbers import primitive
from rosenblatt.theory.search.linear_program import propose
from rosenblatt.theory.search.matrices import Indices
from rosenblatt.theory.search.problem import BinaryProblem
from rosenblatt.theory.search.single_column_separators import ColumnSeparator, column_separators
from rosenblatt.theory.search.working_set_search import explore


def decide(
    problem: BinaryProblem, clock: Clock, minimal: bool | None = True, weakly: bool = True
) -> Decision:
    """Decide a binary problem exactly; `undecided` only if the time limit is reached.

    Without `minimal`, a balance may replace a minimal contradiction; with None, it does where a
    minimal contradiction is hard to find. Unless `weakly`, a contradiction suffices, and the
    verdict may be `undecided`, as no weak separator was asked for.
    """
    columns = list(column_separators(problem))
    strict = tuple(c for c in columns if c.strict)
    if strict:
        v = strict[0].exact_weights(problem.width, problem.padded)
        return Decision("separable", tuple(v), columns=strict)
    try:
        found = _by_thresholds(problem, clock, columns, minimal) if columns else None
        if found is not None:
            return found
        if minimal is None:
            with suppress(TooSlowError):
                hint = explore(problem, clock)
                found = _by_fewer_columns(problem, clock, hint, minimal, weakly)
                return found or _exactly(problem, clock.impatient(), hint, columns, weakly)
        hint = explore(problem, clock, thorough=not minimal)
        found = _by_fewer_columns(problem, clock, hint, minimal, weakly)
        if found is None and not minimal:
            found = _by_balance(problem, hint)
        if found is None and problem.rounded and not hint.clear:
            # Exact solving would decide about the rounded values, not about the exact ones.
            raise TooSlowError
        return found or _exactly(problem, clock, hint, columns, weakly)
    except OutOfTimeError:
        return Decision("undecided")


def _by_thresholds(
    problem: BinaryProblem, clock: Clock, columns: list[ColumnSeparator], minimal: bool | None
) -> Decision | None:
    """Decide by a small set of rows, or else by the rows on the thresholds of weak columns.

    Let v be the sum of the hyperplanes of these columns: it is a weak separator. If some u
    separates the rows that lie on v, then ``m·v + u`` separates all rows for m large enough. And if
    those rows contradict each other, so do all. The columns are constant there, and left out.
    """
    hint = explore(problem, clock, dependencies=False)
    with suppress(TooSlowError):
        return _exactly(problem, clock.impatient(), hint, columns, weakly=False)
    hyperplanes = [c.exact_weights(problem.width, problem.padded) for c in columns]
    v = primitive([sum(x) for x in zip(*hyperplanes, strict=True)])
    rows = np.flatnonzero(problem.exact_signs(v) == 0)
    sides = set(problem.y[rows].tolist())
    if len(sides) == 2 and len(columns) < problem.d:
        part = problem.part(rows)
        constant = [
            NullVector(c.column, tuple(h)) for c, h in zip(columns, hyperplanes, strict=True)
        ]
        changed = Reduced(part, constant, {})
        inner = decide(changed.problem, clock, minimal or None, weakly=False)
        return _of_all_rows(problem, v, rows, _in_original_columns(inner, changed))
    if len(sides) == 2 or (sides and not problem.padded):
        return None
    offset = [0] * (problem.width - 1) + [int(sum(sides))]
    return Decision("separable", tuple(_lifted(problem, v, offset) if sides else v))


def _of_all_rows(problem: BinaryProblem, v: list[int], rows: Indices, inner: Decision) -> Decision:
    """What a decision about the rows that lie on a weak separator v means for all rows."""
    if inner.weights is not None and inner.verdict == "separable":
        return Decision("separable", tuple(_lifted(problem, v, inner.weights)))
    weak = Decision("quasi-separable", tuple(v))
    if inner.contradiction is not None:
        return replace(weak, contradiction=renumbered(inner.contradiction, rows))
    if inner.balance is not None:
        balance = renumbered(inner.balance, rows)
        return replace(weak, balance=balance, null_vectors=inner.null_vectors)
    return Decision("undecided")


def _lifted(problem: BinaryProblem, v: Sequence[int], u: Sequence[int]) -> list[int]:
    """A multiple of v plus u that separates all rows, as u separates those on v."""
    bits = 1
    while True:
        found = [(x << bits) + z for x, z in zip(v, u, strict=True)]
        if (problem.exact_signs(found) > 0).all():
            return primitive(found)
        bits *= 2


def _exactly(
    problem: BinaryProblem,
    clock: Clock,
    hint: Proposal,
    columns: list[ColumnSeparator],
    weakly: bool,
) -> Decision:
    answer = separate(problem, clock, hint)
    if isinstance(answer, list):
        return Decision("separable", tuple(answer))
    if columns or weakly:
        return settle(problem, clock, answer, columns)
    return Decision("undecided", contradiction=answer)


def _by_balance(problem: BinaryProblem, hint: Proposal) -> Decision | None:
    """Decide by rows in balance, even if they have null vectors."""
    if hint.clear or not (hint.balanced or hint.weak is not None):
        return None
    balance = combination(problem, hint.rows, integer_weights(hint.weights))
    if hint.balanced:
        return Decision("inseparable", balance=balance)
    vectors = hint.null_vectors
    return Decision("quasi-separable", hint.weak, balance=balance, null_vectors=vectors)


def _by_fewer_columns(
    problem: BinaryProblem, clock: Clock, hint: Proposal, minimal: bool | None, weakly: bool
) -> Decision | None:
    """Decide without the columns that are combinations of others."""
    changed = hint.reduced
    if changed is None or (changed.rounded and minimal):
        return None
    with suppress(TooSlowError):
        inner = decide(changed.problem, clock, False if changed.rounded else minimal, weakly)
        found = _in_original_columns(inner, changed)
        if not changed.rounded or _holds_unrounded(problem, inner, changed, found.weights):
            return found
    return None


def _in_original_columns(decision: Decision, changed: Reduced) -> Decision:
    """A decision about the reduced problem as one about the original columns."""
    weights = None if decision.weights is None else tuple(changed.original(decision.weights))
    vectors = [
        NullVector(changed.columns[b.lead], tuple(changed.spread(b.vector)))
        for b in decision.null_vectors
    ]
    if decision.balance is not None:
        vectors = [*(b for b in changed.vectors if not b.is_unit), *vectors]
    # Columns of the reduced problem are not columns of the data, and none of these separates alone:
    # `decide` looked for them first.
    return replace(decision, weights=weights, null_vectors=tuple(vectors), columns=())


def _holds_unrounded(
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


def suggest(problem: BinaryProblem, clock: Clock) -> Decision:
    """The verdict that doubles suggest; only what costs nothing extra is proven."""
    columns = tuple(c for c in column_separators(problem) if c.strict)
    try:
        proposal = explore(problem, clock)
        if not proposal.clear and not proposal.balanced:
            proposal = propose(problem, clock)
    except OutOfTimeError:
        return Decision("undecided")
    if proposal.clear:
        return Decision("separable", tuple(problem.exact_weights(proposal.v)), columns=columns)
    weights = [max(1, round(x * 2**40)) for x in proposal.weights.tolist()]
    return Decision("inseparable", contradiction=combination(problem, proposal.rows, weights))
