"""The parts of a printed trace: the rows, the run, the end, the proof."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from rosenblatt.counts import counted
from rosenblatt.tracing import words
from rosenblatt.tracing.problem import Problem
from rosenblatt.tracing.proof import widest_separator
from rosenblatt.tracing.run import Step
from rosenblatt.tracing.words import Block, Heading, Item, Line, Math, Paragraph, Table, number

if TYPE_CHECKING:
    from rosenblatt.tracing.record import Trace

STYLES = ("steps", "table")


def document(trace: Trace, style: str, proof: bool) -> list[Block]:
    """All the parts, the run as steps with their arithmetic or as one table."""
    if style not in STYLES:
        raise ValueError(f"style must be one of {STYLES}, not {style!r}")
    blocks: list[Block] = [Heading("The rows"), _rows(trace.problem)]
    if style == "steps":
        blocks += _items(trace.problem, trace.steps)
    else:
        blocks += [Heading("The run"), _steps(trace.problem, trace.steps)]
    blocks += [Heading("The end"), *(Paragraph(line) for line in _ending(trace))]
    if proof:
        blocks += [Heading("The proof"), *_proof(trace)]
    return blocks


def contradiction(problem: Problem, shares: dict[int, Fraction]) -> Line:
    """The equation that so much of each row adds up to: positive rows left, negative right.

    >>> problem = Problem.of([[0], [1], [2]], [-1, 1, -1])
    >>> "".join(contradiction(problem, {0: Fraction(1), 1: Fraction(2), 2: Fraction(1)}))
    '2·row 2 = row 1 + row 3'
    """
    sides: dict[int, list[str]] = {1: [], -1: []}
    for row, share in shares.items():
        side = sides[problem.signs[row]]
        side += [" + "] if side else []
        side += [Math(f"{number(share)}·")] if share != 1 else []
        side += [problem.row_names[row]]
    return [*(sides[1] or ["0"]), Math(" = "), *(sides[-1] or ["0"])]


def _rows(problem: Problem) -> Table:
    wide = len(problem.feature_names) > words.WIDEST
    columns: Sequence[Line] = [[Math("x")]] if wide else [[name] for name in problem.feature_names]
    rows: list[Sequence[Line]] = []
    for name, x, sign in zip(problem.row_names, problem.X, problem.signs, strict=True):
        values = (
            [words.vector(x, problem.feature_names)] if wide
            else [[Math(number(value))] for value in x]
        )  # fmt: skip
        rows.append([[name], [problem.label(sign)], *values])
    return Table([["row"], [Math("y")], *columns], rows)


def _items(problem: Problem, steps: Sequence[Step]) -> Iterator[Block]:
    epoch = 0
    for step in steps:
        if step.epoch != epoch:
            epoch = step.epoch
            yield Heading(f"Epoch {epoch}")
        title, lines = words.title(problem, step), words.arithmetic(problem, step)
        yield Item(step.number, title, lines, step.mistake)


def _steps(problem: Problem, steps: Sequence[Step]) -> Table:
    batch, bias = any(step.row is None for step in steps), problem.padding is not None
    header: list[Line] = [["step"], ["epoch"]]
    header += [] if batch else [["row"], [Math("y")], [Math("s")], ["says"]]
    header += [["verdict"], [Math("w")], *([[Math("b")]] if bias else [])]
    rows: list[Sequence[Line]] = []
    for step in steps:
        row: list[Line] = [[str(step.number)], [str(step.epoch)]]
        row += [] if batch else _said(problem, step)
        row += [[_verdict(step)], words.vector(step.weights_after, problem.feature_names)]
        row += [[Math(number(step.bias_after))]] if bias else []
        rows.append(row)
    return Table(header, rows, tuple(i for i, step in enumerate(steps) if step.mistake))


def _said(problem: Problem, step: Step) -> list[Line]:
    row = step.row or 0
    y, said = problem.signs[row], step.prediction or -1
    return [
        [problem.row_names[row]],
        *([Math(v)] for v in (f"{y:+}", number(step.score), f"{said:+}")),
    ]


def _verdict(step: Step) -> str:
    if step.row is None and step.mistake:
        return f"{len(step.mistaken)} mistaken"
    return "mistake" if step.mistake else "right"


def _ending(trace: Trace) -> list[Line]:
    updates = counted(trace.n_updates, "update")
    last = words.weights(trace.problem, trace.weights, trace.bias)
    if trace.stop_reason == "separated":
        return [[f"Epoch {trace.n_epochs} passed without a mistake, after {updates} in all."], last]
    if trace.contradiction:
        return [
            [f"After epoch {trace.n_epochs} the weights are back where an earlier epoch ended, "
             "so no line separates these rows: what was added in between comes to zero."],
            contradiction(trace.problem, trace.contradiction),
        ]  # fmt: skip
    epochs = counted(trace.n_epochs, "epoch")
    return [[f"The budget of {epochs} is used up, after {updates}."], last]


def _proof(trace: Trace) -> list[Block]:
    separator = widest_separator(trace.problem)
    if separator is None:
        return [Paragraph(["No line separates the rows, so nothing bounds the mistakes."])]
    proof = trace.proof(separator)
    header = ["k", "u·w", "kγ", "‖w‖²", "kR²", "‖w - αu‖²"]
    rows = [
        [[Math(number(value))] for value in (
            p.k, p.progress, p.progress_floor, p.sqnorm, p.sqnorm_ceiling, p.potential)]
        for p in proof.points
    ]  # fmt: skip
    line: list[str] = [Math(f"γ = {number(proof.margin)}, R = {number(proof.radius)}")]
    if proof.bound is not None:
        updates = counted(int(proof.bound), "update")
        line += [f": at most {updates}, for ", Math("kγ"), " cannot pass ", Math("‖w‖")]
    return [Paragraph(line), Table([[Math(h)] for h in header], rows)]
