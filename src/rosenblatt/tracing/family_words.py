"""A step of another member of the family in words and sums: passive-aggressive and AROW."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rosenblatt.rules.passive_aggressive import Pa, passive_aggressive
from rosenblatt.rules.second_order import Arow

if TYPE_CHECKING:
    from rosenblatt.tracing.problem import TraceProblem
    from rosenblatt.tracing.run import TraceStep

RULES = ("perceptron", "pa", "pa1", "pa2", "arow")


def rule_of(name: str, C: float, r: float) -> Any:
    """The rule of a name, with the parameter that it has; None for the perceptron.

    >>> rule_of("pa2", C=0.5, r=1.0)
    Pa(largest=inf, slack=1.0)
    """
    if name not in RULES:
        raise ValueError(f"rule must be one of {RULES}, not {name!r}")
    if not C > 0 or not r > 0:
        raise ValueError(f"C and r must be positive, not {C!r} and {r!r}")
    if name == "perceptron":
        return None
    if name == "arow":
        return Arow(float(r))
    return passive_aggressive(float(C), {"pa": "", "pa1": "I", "pa2": "II"}[name])


def answer_lines(problem: TraceProblem, step: TraceStep) -> list[Any]:
    """The lines of a step after its score: the loss, what follows from it, the new weights."""
    from rosenblatt.tracing.words import Math, line, number, vector

    y, names = problem.signs[step.row or 0], problem.feature_names
    margin = y * step.score
    sign = "+1" if y > 0 else "-1"
    loss = max(0.0, 1.0 - margin)
    said = ": a mistake" if step.prediction != y else ": right, but not by 1" if loss else ": right"
    inside = f"max(0, 1 - {sign}·{number(step.score)})"
    lines: list[Any] = [line(Math(f"ℓ = max(0, 1 - y·s) = {inside} = {number(loss)}"), said)]
    if not step.mistake:
        return [*lines, line(Math("w = "), vector(step.weights_before, names), " does not change")]
    if isinstance(step.rule, Arow):
        lines.append(
            [Math(f"v = Σ σ·x² = {number(step.square)}, β = 1/(v + r) = {number(step.beta)}, "
                  f"α = ℓ·β = {number(step.tau)}")]
        )  # fmt: skip
        pull = "α·y·σ·x"
    else:
        lines.append([Math(f"τ = {_tau(step.rule, step)} = {number(step.tau)}")])
        pull = "τ·y·x"
    lines.append(line(Math(f"w ← w + {pull} = "), vector(step.weights_after, names), *_bias(step)))
    if step.variances_after:
        shown = step.variances_after[: len(names)]
        lines.append(line(Math("σ ← σ - β·(σ·x)² = "), vector(shown, names)))
    return lines


def _tau(rule: Pa, step: TraceStep) -> str:
    """How τ is made of the loss and the squared length of the padded row."""
    from rosenblatt.tracing.words import number

    square = f"‖(x,c)‖² = ℓ/{number(step.square)}"
    if rule.slack > 0:
        return f"ℓ/(‖(x,c)‖² + 1/(2C)) = ℓ/({number(step.square)} + {number(rule.slack)})"
    return f"ℓ/{square}" if rule.largest == float("inf") else f"min(C, ℓ/{square})"


def _bias(step: TraceStep) -> list[str]:
    from rosenblatt.tracing.words import Math, number

    return [] if step.bias_after == 0 else [", ", Math(f"b ← {number(step.bias_after)}")]
