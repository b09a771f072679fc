"""Sentences and formulas for a step, and the blocks of a document.

A *line* is a list of strings, in which formulas are of the type :class:`Math`: every output format
typesets them its own way. A *document* is a list of blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rosenblatt.errors import counted
from rosenblatt.reference import Vector
from rosenblatt.rules.passive_aggressive import Pa
from rosenblatt.rules.second_order import Arow
from rosenblatt.tracing.problem import TraceProblem
from rosenblatt.tracing.run import TraceStep

WIDEST = 8
"""Longer vectors are written as their nonzero entries by name."""


class Math(str):
    """A piece of a line that is a formula, in Unicode."""

    __slots__ = ()


Line = Sequence[str]


@dataclass(frozen=True)
class Heading:
    """The title of a section."""

    text: str


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of one line."""

    line: Line


@dataclass(frozen=True)
class Item:
    """A numbered step: a title, and the lines of its arithmetic."""

    number: int
    title: Line
    lines: Sequence[Line]
    mistake: bool


@dataclass(frozen=True)
class TraceTable:
    """A table with one heading per column; the marked rows are those with an update.

    HTML hides a table with a summary behind it until it is opened.
    """

    header: Sequence[Line]
    rows: Sequence[Sequence[Line]]
    marked: tuple[int, ...] = ()
    summary: str = ""

    @property
    def has_words(self) -> list[bool]:
        """Whether each column holds words, which begin at its left; numbers end at its right."""
        return [
            any(
                not isinstance(piece, Math) and any(map(str.isalpha, piece))
                for row in self.rows
                for piece in row[j]
            )
            for j in range(len(self.header))
        ]


Block = Heading | Paragraph | Item | TraceTable


def number(value: Any) -> str:
    """A number with up to six significant digits; zero has no sign.

    >>> number(2.0), number(-0.0), number(0.1 + 0.2), number(Fraction(1, 4))
    ('2', '0', '0.3', '1/4')
    """
    if isinstance(value, int) or (isinstance(value, Fraction) and value.denominator < 10_000):
        return str(value)
    value = float(value)
    return f"{value:.6g}" if value else "0"


def line(*pieces: str | Line) -> Line:
    """Join pieces and lines into one line, merging adjacent formulas.

    >>> line(Math("w = "), vector((1, 0), "ab"), " at last")
    ['w = [1, 0]', ' at last']
    """
    flat = (part for piece in pieces for part in ([piece] if isinstance(piece, str) else piece))
    joined: list[str] = []
    for part in flat:
        if joined and isinstance(part, Math) and isinstance(joined[-1], Math):
            joined[-1] = Math(joined[-1] + part)
        else:
            joined.append(part)
    return joined


def vector(values: Vector, names: Sequence[str]) -> Line:
    """A vector in full, or, if it is long, its nonzero entries by name.

    >>> vector((1, 0, -1), "abc")
    ['[1, 0, -1]']
    >>> vector((3,) + (0,) * 8 + (2,), "abcdefghij")
    ['[a: 3, j: 2]']
    """
    if len(values) <= WIDEST:
        return [Math(f"[{', '.join(number(value) for value in values)}]")]
    named = [f"{n}: {number(v)}" for n, v in zip(names, values, strict=True) if v]
    return [f"[{', '.join(named)}]" if named else Math("0")]


def products(w: Vector, x: Vector, bias: Any | None) -> str:
    """The score as a sum of products; for a long row, only the nonzero ones.

    >>> products((0, 1, -1, 0), (0, 1, 0, 1), None)
    '0·0 + 1·1 - 1·0 + 0·1'
    >>> products((0.5,), (3,), -2)
    '0.5·3 - 2'
    """
    pairs = list(zip(w, x, strict=True))
    if len(pairs) > WIDEST:
        pairs = [(wj, value) for wj, value in pairs if value]
    terms = [(wj, f"·{_factor(value)}") for wj, value in pairs]
    if bias is not None:
        terms.append((bias, ""))
    signed = "".join(
        f" {'-' if coefficient < 0 else '+'} {number(abs(coefficient))}{factor}"
        for coefficient, factor in terms
    )
    first = "-" if signed.startswith(" - ") else ""
    return f"{first}{signed[3:]}" or "0"


def _factor(value: Any) -> str:
    return f"({number(value)})" if value < 0 else number(value)


def arithmetic(problem: TraceProblem, step: TraceStep) -> list[Line]:
    """The lines of a step: weights, score, verdict and update."""
    before = weights(problem, step.weights_before, step.bias_before)
    if step.row is None:
        return [before, *_batch_lines(problem, step)]
    if step.rule is not None:
        return [before, [Math(_score(problem, step))], *_family_lines(problem, step)]
    return [before, [Math(_score(problem, step))], verdict(problem, step), update(problem, step)]


def title(problem: TraceProblem, step: TraceStep) -> Line:
    """The row of a step, its values and its label."""
    if step.row is None:
        return [f"all {len(problem.X)} rows at once"]
    x = vector(problem.X[step.row], problem.feature_names)
    y, space, name = problem.label(problem.signs[step.row]).partition(" ")
    row = f"{problem.row_names[step.row]}: "
    return line(row, Math("x = "), x, ", ", Math(f"y = {y}"), *filter(None, [space + name]))


def verdict(problem: TraceProblem, step: TraceStep) -> Line:
    """Whether the row is mistaken, and the comparison that decides it."""
    y, s = problem.signs[step.row or 0], number(step.score)
    if problem.mistake == "sign":
        holds = "holds" if step.score > 0 else "does not hold"
        predicted = problem.label(step.prediction or -1)
        then = f", but y is {problem.label(y)}: a mistake" if step.mistake else ": right"
        return [Math(f"{s} > 0"), f" {holds}, so the prediction is {predicted}{then}"]
    margin, delta = number(y * step.score), number(problem.threshold)
    relation = "≤" if step.mistake else ">"
    product = f"y·s = {'+1' if y > 0 else '-1'}·{_factor(step.score)} = {margin}"
    says = {
        "mistake": ": a mistake",
        "update": ": right, but not by more than the threshold",
        "right": ": right",
    }
    return [Math(f"{product} {relation} {delta}"), says[outcome(problem, step)]]


def outcome(problem: TraceProblem, step: TraceStep) -> str:
    """``"mistake"``, ``"right"``, or ``"update"``: right, but within the threshold."""
    if not step.mistake:
        return "right"
    close = bool(problem.threshold) and step.row is not None
    return "update" if close and step.prediction == problem.signs[step.row or 0] else "mistake"


def update(problem: TraceProblem, step: TraceStep) -> Line:
    """The update on a mistaken row, or a line saying that the weights do not change."""
    before = vector(step.weights_before, problem.feature_names)
    if not step.mistake:
        return line(Math("w = "), before, " does not change")
    row = step.mistaken[0]
    x = vector(problem.X[row], problem.feature_names)
    sign = "+" if problem.signs[row] > 0 else "-"
    rate = "" if step.eta == 1 else f"{number(step.eta)}·"
    after = vector(step.weights_after, problem.feature_names)
    pieces = [Math(f"w ← w {sign} {rate}x = "), before, Math(f" {sign} {rate}"), x, Math(" = ")]
    if problem.padding is None:
        return line(*pieces, after)
    change = number(step.eta * problem.padding**2)
    b0, b1 = number(step.bias_before), number(step.bias_after)
    return line(*pieces, after, ", ", Math(f"b ← b {sign} {change} = {b0} {sign} {change} = {b1}"))


def weights(problem: TraceProblem, w: Vector, b: Any) -> Line:
    """The weights, and the bias if there is one."""
    written = line(Math("w = "), vector(w, problem.feature_names))
    return written if problem.padding is None else line(written, ", ", Math(f"b = {number(b)}"))


def _score(problem: TraceProblem, step: TraceStep) -> str:
    bias = None if problem.padding is None else step.bias_before
    left = "w·x" if bias is None else "w·x + b"
    total = products(step.weights_before, problem.X[step.row or 0], bias)
    return f"s = {left} = {total} = {number(step.score)}"


def _batch_lines(problem: TraceProblem, step: TraceStep) -> list[Line]:
    if not step.mistake:
        return [["no row needs an update"]]
    names = ", ".join(problem.row_names[row] for row in step.mistaken[:WIDEST])
    more = len(step.mistaken) - WIDEST
    names += f" and {more} more" if more > 0 else ""
    rate = "" if step.eta == 1 else f"{number(step.eta)}·"
    after = vector(step.weights_after, problem.feature_names)
    updated = line(Math(f"w ← w + {rate}Σ y·x = "), after)
    if problem.padding is not None:
        updated = line(updated, ", ", Math(f"b ← {number(step.bias_after)}"))
    return [[f"{counted(len(step.mistaken), 'mistaken row')}: {names}"], updated]


def _family_lines(problem: TraceProblem, step: TraceStep) -> list[Line]:
    """The lines of a step after its score: the loss, the coefficient, the new weights."""
    y, names = problem.signs[step.row or 0], problem.feature_names
    margin = y * step.score
    loss = max(0.0, 1.0 - margin)
    said = ": a mistake" if step.prediction != y else ": right, but not by 1" if loss else ": right"
    inside = f"max(0, 1 - {_factor(margin)})"
    lines: list[Line] = [line(Math(f"ℓ = max(0, 1 - y·s) = {inside} = {number(loss)}"), said)]
    if not step.mistake:
        return [*lines, line(Math("w = "), vector(step.weights_before, names), " does not change")]
    if isinstance(step.rule, Arow):
        variance = f"v = Σ σ·x² = {number(step.square)}, β = 1/(v + r) = {number(step.beta)}"
        lines.append([Math(f"{variance}, α = ℓ·β = {number(step.tau)}")])
        pull = "α·y·σ·x"
    else:
        lines.append([Math(f"τ = {_tau(step.rule, step)} = {number(step.tau)}")])
        pull = "τ·y·x"
    bias = [", ", Math(f"b ← {number(step.bias_after)}")] if step.bias_after else []
    lines.append(line(Math(f"w ← w + {pull} = "), vector(step.weights_after, names), *bias))
    if step.variances_after:
        shown = step.variances_after[: len(names)]
        lines.append(line(Math("σ ← σ - β·(σ·x)² = "), vector(shown, names)))
    return lines


def _tau(rule: Pa, step: TraceStep) -> str:
    """The formula for τ with the squared length of the padded row filled in."""
    square = f"‖(x,c)‖² = ℓ/{number(step.square)}"
    if rule.slack > 0:
        return f"ℓ/(‖(x,c)‖² + 1/(2C)) = ℓ/({number(step.square)} + {number(rule.slack)})"
    return f"ℓ/{square}" if rule.largest == float("inf") else f"min(C, ℓ/{square})"
