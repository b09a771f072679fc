"""From proposals in doubles to verdicts in whole numbers.

Exploring the rows ends with a separator, with rows in balance, or with neither; then the stages of
exact solving follow (:mod:`rosenblatt.theory.search.exact_alternatives`).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np

from rosenblatt.theory.search.approximate_gordan import whole
from rosenblatt.theory.search.clock import Clock, OutOfTimeError, StuckError
from rosenblatt.theory.search.column_dependencies import Blind, Replaced, is_weak
from rosenblatt.theory.search.exact_alternatives import Contradiction, Decision, separate, settle
from rosenblatt.theory.search.linear_program import Proposal, propose
from rosenblatt.theory.search.problem import Problem
from rosenblatt.theory.search.single_column_separators import LoneColumn, lone_columns
from rosenblatt.theory.search.threshold_reduction import OnThresholds
from rosenblatt.theory.search.working_set_search import explore


def decide(
    problem: Problem, clock: Clock, minimal: bool | None = True, weakly: bool = True
) -> Decision:
    """Decide a binary problem exactly; `undecided` only when the clock runs out.

    Without `minimal`, a balance may take the place of a minimal contradiction; with None, it does
    where a minimal contradiction is hard to find. Unless `weakly`, a contradiction is enough: the
    verdict may be `undecided` then, as nobody has asked for a weak separator.
    """
    columns = list(lone_columns(problem))
    strict = tuple(c for c in columns if c.strict)
    if strict:
        v = strict[0].exact_weights(problem.width, problem.table.padded)
        return Decision("separable", tuple(v), columns=strict)
    try:
        found = _by_thresholds(problem, clock, columns, minimal) if columns else None
        if found is not None:
            return found
        if minimal is None:
            with suppress(StuckError):
                hint = explore(problem, clock)
                found = _by_other_columns(problem, clock, hint, minimal, weakly)
                return found or _by_stages(problem, clock.impatient(), hint, columns, weakly)
        hint = explore(problem, clock, thorough=not minimal)
        found = _by_other_columns(problem, clock, hint, minimal, weakly)
        if found is None and not minimal:
            found = _by_balance(hint)
        if found is None and problem.rounded and not hint.clear:
            # Exact solving would decide about the nearest doubles, not about what they stand for.
            raise StuckError
        return found or _by_stages(problem, clock, hint, columns, weakly)
    except OutOfTimeError:
        return Decision("undecided")


def _by_thresholds(
    problem: Problem, clock: Clock, columns: list[LoneColumn], minimal: bool | None
) -> Decision | None:
    """What a small set of rows decides, or else the rows on the thresholds of weak columns."""
    hint = explore(problem, clock, ties=False)
    with suppress(StuckError):
        return _by_stages(problem, clock.impatient(), hint, columns, weakly=False)
    on = OnThresholds(problem, columns)
    if on.problem is None:
        return on.without_problem()
    return on.lifted(decide(on.problem, clock, minimal or None, weakly=False))


def _by_stages(
    problem: Problem, clock: Clock, hint: Proposal, columns: list[LoneColumn], weakly: bool
) -> Decision:
    answer = separate(problem, clock, hint)
    if isinstance(answer, list):
        return Decision("separable", tuple(answer))
    if columns or weakly:
        return settle(problem, clock, answer, columns)
    return Decision("undecided", contradiction=answer)


def _by_balance(hint: Proposal) -> Decision | None:
    """What rows in balance decide, even if they are blind to some directions."""
    if hint.clear:
        return None
    if hint.balanced:
        return Decision("inseparable", balance=_listed(hint))
    if hint.weak is not None:
        return Decision("quasi-separable", hint.weak, balance=_listed(hint), blind=hint.blind)
    return None


def _by_other_columns(
    problem: Problem, clock: Clock, hint: Proposal, minimal: bool | None, weakly: bool
) -> Decision | None:
    """What is decided without columns that are combinations of others."""
    changed = hint.replaced
    if changed is None or (changed.rounded and minimal):
        return None
    with suppress(StuckError):
        inner = decide(changed.problem, clock, False if changed.rounded else minimal, weakly)
        return _as_before(problem, inner, changed)
    return None


def _listed(hint: Proposal) -> Contradiction:
    order = np.argsort(hint.rows)
    return Contradiction(tuple(hint.rows[order].tolist()), tuple(whole(hint.weights[order])))


def _as_before(problem: Problem, decision: Decision, changed: Replaced) -> Decision | None:
    """A decision about replaced columns as one about the columns as they were, if it is sound."""
    weights = None if decision.weights is None else tuple(changed.original(decision.weights))
    blind = [
        Blind(changed.columns[b.lead], tuple(changed.spread(b.vector))) for b in decision.blind
    ]
    if changed.rounded and not _survives(problem, decision, changed, weights):
        return None
    if decision.balance is not None:
        blind = [*changed.blind, *blind]
    return replace(decision, weights=weights, blind=tuple(blind))


def _survives(
    problem: Problem, decision: Decision, changed: Replaced, weights: tuple[int, ...] | None
) -> bool:
    """Whether a decision about rounded columns holds for what they stand for.

    Balances leave room for roundings; anything else is looked at again.
    """
    if decision.verdict == "separable" and weights is not None:
        return bool((problem.exact_signs(weights) > 0).all())
    if decision.balance is None:
        return decision.verdict == "undecided" and decision.contradiction is None
    rows = np.array(decision.balance.rows, dtype=np.intp)
    return (weights is None or is_weak(problem, weights)) and not any(
        problem.signs(changed.original(b.vector), rows).any() for b in decision.blind
    )


def suggest(problem: Problem, clock: Clock) -> Decision:
    """The verdict that doubles suggest, with nothing proven but what comes for free."""
    columns = tuple(c for c in lone_columns(problem) if c.strict)
    try:
        proposal = explore(problem, clock)
        if not proposal.clear and not proposal.balanced:
            proposal = propose(problem, clock)
    except OutOfTimeError:
        return Decision("undecided")
    if proposal.clear:
        return Decision("separable", tuple(problem.exact_weights(proposal.v)), columns=columns)
    weights = [max(1, round(x * 2**40)) for x in proposal.weights.tolist()]
    order = np.argsort(proposal.rows).tolist()
    found = Contradiction(
        tuple(int(proposal.rows[k]) for k in order), tuple(weights[k] for k in order)
    )
    return Decision("inseparable", contradiction=found)
