"""The parts of a printed trace: the rows, the run, the end, the proof."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from rosenblatt.counts import counted
from rosenblatt.tracing import words
from rosenblatt.tracing.problem import TraceProblem
from rosenblatt.tracing.proof import widest_separator
from rosenblatt.tracing.run import TraceStep
from rosenblatt.tracing.words import (
    Block,
    Fold,
    Heading,
    Item,
    Line,
    Math,
    Paragraph,
    TraceTable,
    number,
)

if TYPE_CHECKING:
    from rosenblatt.tracing.record import Trace

STYLES = ("steps", "table")
FIRST, LAST = 10, 5
"""Rows of a long table that stay open at its two ends when it is folded."""


def document(trace: Trace, style: str, proof: bool) -> list[Block]:
    """All parts in order; the run as steps with their arithmetic, or as one table."""
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


def contradiction(problem: TraceProblem, shares: dict[int, Fraction]) -> Line:
    """The contradiction as an equation: shares of positive rows left, of negative rows right.

    >>> problem = TraceProblem.of([[0], [1], [2]], [-1, 1, -1])
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


def folded(blocks: Sequence[Block]) -> list[Block]:
    """The same document with the middle of every long table folded away.

    >>> table = TraceTable([["row"]], [[[str(i)]] for i in range(100)], marked=(0, 50, 99))
    >>> first, fold, last = folded([table])
    >>> len(first.rows), fold.summary, last.rows[-1], last.marked
    (10, '85 more rows', [['99']], (4,))
    """
    shown: list[Block] = []
    for block in blocks:
        if isinstance(block, TraceTable) and len(block.rows) > 2 * (FIRST + LAST):
            middle, last = FIRST, len(block.rows) - LAST
            more = counted(last - middle, "more row", "more rows")
            shown += [
                _part(block, 0, middle),
                Fold(more, _part(block, middle, last)),
                _part(block, last, len(block.rows)),
            ]
        else:
            shown.append(block)
    return shown


def _part(table: TraceTable, start: int, end: int) -> TraceTable:
    marked = tuple(i - start for i in table.marked if start <= i < end)
    return TraceTable(table.header, table.rows[start:end], marked)


def _rows(problem: TraceProblem) -> TraceTable:
    wide = len(problem.feature_names) > words.WIDEST
    columns: Sequence[Line] = [[Math("x")]] if wide else [[name] for name in problem.feature_names]
    rows: list[Sequence[Line]] = []
    for name, x, sign in zip(problem.row_names, problem.X, problem.signs, strict=True):
        values = (
            [words.vector(x, problem.feature_names)] if wide
            else [[Math(number(value))] for value in x]
        )  # fmt: skip
        rows.append([[name], [problem.label(sign)], *values])
    return TraceTable([["row"], [Math("y")], *columns], rows)


def _items(problem: TraceProblem, steps: Sequence[TraceStep]) -> Iterator[Block]:
    epoch = 0
    for step in steps:
        if step.epoch != epoch:
            epoch = step.epoch
            yield Heading(f"Epoch {epoch}")
        title, lines = words.title(problem, step), words.arithmetic(problem, step)
        yield Item(step.number, title, lines, step.mistake)


def _steps(problem: TraceProblem, steps: Sequence[TraceStep]) -> TraceTable:
    batch, bias = any(step.row is None for step in steps), problem.padding is not None
    header: list[Line] = [["step"], ["epoch"]]
    header += [] if batch else [["row"], [Math("y")], [Math("s")], ["predicted"]]
    header += [["verdict"], [Math("w")], *([[Math("b")]] if bias else [])]
    rows: list[Sequence[Line]] = []
    for step in steps:
        row: list[Line] = [[str(step.number)], [str(step.epoch)]]
        row += [] if batch else _prediction(problem, step)
        row += [[_verdict(problem, step)], words.vector(step.weights_after, problem.feature_names)]
        row += [[Math(number(step.bias_after))]] if bias else []
        rows.append(row)
    return TraceTable(header, rows, tuple(i for i, step in enumerate(steps) if step.mistake))


def _prediction(problem: TraceProblem, step: TraceStep) -> list[Line]:
    row = step.row or 0
    y, predicted = problem.signs[row], step.prediction or -1
    return [
        [problem.row_names[row]],
        *([Math(v)] for v in (f"{y:+}", number(step.score), f"{predicted:+}")),
    ]


def _verdict(problem: TraceProblem, step: TraceStep) -> str:
    if step.row is None and step.mistake:
        return counted(len(step.mistaken), "update")
    return words.outcome(problem, step)


def _ending(trace: Trace) -> list[Line]:
    updates = counted(trace.n_updates, "update")
    last = words.weights(trace.problem, trace.weights, trace.bias)
    if trace.stop_reason == "separated":
        return [[f"Epoch {trace.n_epochs} passed without a mistake, after {updates} in all."], last]
    if trace.contradiction:
        return [
            [f"After epoch {trace.n_epochs} the weights are back where an earlier epoch ended, "
             "so no line separates these rows: the updates in between add up to zero."],
            contradiction(trace.problem, trace.contradiction),
        ]  # fmt: skip
    epochs = counted(trace.n_epochs, "epoch")
    return [[f"Stopped after the {epochs} allowed, with {updates}."], last]


def _proof(trace: Trace) -> list[Block]:
    if trace.rule is not None:
        return [Paragraph(["The proof is that of the perceptron, not of another rule."])]
    separator = widest_separator(trace.problem)
    if separator is None:
        return [Paragraph(["No line separates the rows, so the number of updates has no bound."])]
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
        plain = trace.problem.threshold == 0 and all(step.eta == 1 for step in trace.steps)
        chain = "kγ ≤ u·w ≤ ‖w‖ ≤ √k·R" if plain else "u·w ≤ ‖w‖"
        line += [f": at most {updates}, because ", Math(chain)]
    return [Paragraph(line), TraceTable([[Math(h)] for h in header], rows)]
