"""The sections of a printed trace: the rows, the run, the end, the proof."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rosenblatt.errors import counted
from rosenblatt.reference import Vector
from rosenblatt.tracing import words
from rosenblatt.tracing.pocket import PocketState
from rosenblatt.tracing.problem import TraceProblem
from rosenblatt.tracing.proof import widest_separator
from rosenblatt.tracing.run import TraceStep
from rosenblatt.tracing.words import (
    Block,
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

Average = tuple[Vector, Any]
State = tuple[TraceStep, Average | None, PocketState | None]
"""A step, with the average and the pocket after it if they are shown."""

STYLES = ("steps", "table")
KEPT = ("average", "pocket")
FIRST, LAST = 10, 5
"""Rows at the start and at the end of a long table that are not folded away."""


def document(
    trace: Trace, style: str, proof: bool = False, show: Sequence[str] = ()
) -> list[Block]:
    """All sections; the run as steps with their arithmetic, or as one table."""
    if style not in STYLES:
        raise ValueError(f"style must be one of {STYLES}, not {style!r}")
    for name in show:
        if name not in KEPT:
            raise ValueError(f"show takes {' and '.join(KEPT)}, not {name!r}")
    averages = trace.averages if "average" in show else [None] * len(trace)
    pockets = trace.pockets if "pocket" in show else [None] * len(trace)
    states = list(zip(trace.steps, averages, pockets, strict=True))
    blocks: list[Block] = [Heading("The rows"), _rows(trace.problem)]
    if style == "steps":
        blocks += _items(trace.problem, states)
    else:
        blocks += [Heading("The run"), _steps(trace.problem, states, show)]
    blocks += [Heading("The end"), *(Paragraph(line) for line in _ending(trace))]
    for _, average, pocket in states[-1:]:
        blocks += [Paragraph(line) for line in _kept_lines(trace.problem, average, pocket)]
    if proof:
        blocks += [Heading("The proof"), *_proof(trace)]
    return blocks


def contradiction(problem: TraceProblem, shares: dict[int, Fraction]) -> Line:
    """The contradiction as an equation: positive rows on the left, negative rows on the right.

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
    """The document with the middle of every long table folded away.

    >>> table = TraceTable([["row"]], [[[str(i)]] for i in range(100)], marked=(0, 50, 99))
    >>> first, middle, last = folded([table])
    >>> len(first.rows), middle.summary, last.rows[-1], last.marked
    (10, '85 more rows', [['99']], (4,))
    """
    shown: list[Block] = []
    for block in blocks:
        if isinstance(block, TraceTable) and len(block.rows) > 2 * (FIRST + LAST):
            last = len(block.rows) - LAST
            shown += [
                _part(block, 0, FIRST),
                _part(block, FIRST, last, counted(last - FIRST, "more row")),
                _part(block, last, len(block.rows)),
            ]
        else:
            shown.append(block)
    return shown


def _part(table: TraceTable, start: int, end: int, summary: str = "") -> TraceTable:
    marked = tuple(i - start for i in table.marked if start <= i < end)
    return TraceTable(table.header, table.rows[start:end], marked, summary)


def _rows(problem: TraceProblem) -> TraceTable:
    wide = len(problem.feature_names) > words.WIDEST
    columns: Sequence[Line] = [[Math("x")]] if wide else [[name] for name in problem.feature_names]
    rows: list[Sequence[Line]] = []
    for name, x, sign in zip(problem.row_names, problem.X, problem.signs, strict=True):
        values: list[Line] = [[Math(number(value))] for value in x]
        if wide:
            values = [words.vector(x, problem.feature_names)]
        rows.append([[name], [problem.label(sign)], *values])
    return TraceTable([["row"], [Math("y")], *columns], rows)


def _items(problem: TraceProblem, states: Sequence[State]) -> Iterator[Block]:
    epoch = 0
    for step, average, pocket in states:
        if step.epoch != epoch:
            epoch = step.epoch
            yield Heading(f"Epoch {epoch}")
        title, lines = words.title(problem, step), words.arithmetic(problem, step)
        shown = _kept_lines(problem, average, pocket)
        yield Item(step.number, title, [*lines, *shown], step.mistake)


def _kept_lines(
    problem: TraceProblem, average: Average | None, pocket: PocketState | None
) -> Iterator[Line]:
    """The running average and the pocket after a step, as lines."""
    if average is not None:
        yield words.line("average of the weights so far: ", words.weights(problem, *average))
    if pocket is not None:
        weights = words.weights(problem, pocket.weights, pocket.bias)
        where = "the start" if pocket.step == 0 else f"step {pocket.step}"
        yield words.line("pocket: ", Math(f"E = {pocket.errors}"), f", from {where}: ", weights)


def _steps(problem: TraceProblem, states: Sequence[State], show: Sequence[str]) -> TraceTable:
    batch = any(step.row is None for step, _, _ in states)
    names: list[str] = ["step", "epoch"]
    names += [] if batch else ["row", Math("y"), Math("s"), "predicted"]
    names += ["verdict", Math("w"), Math("b")]
    names += ["average w", "average b"] if "average" in show else []
    names += [Math("E"), "pocket w", "pocket b"] if "pocket" in show else []
    if problem.padding is None:
        names = [name for name in names if name.split()[-1] != "b"]
    rows: list[Sequence[Line]] = []
    for step, average, pocket in states:
        row: list[Line] = [[str(step.number)], [str(step.epoch)]]
        row += [] if batch else _prediction(problem, step)
        row.append([_verdict(problem, step)])
        row += _weight_cells(problem, step.weights_after, step.bias_after)
        if average is not None:
            row += _weight_cells(problem, *average)
        if pocket is not None:
            row += [[Math(str(pocket.errors))]]
            row += _weight_cells(problem, pocket.weights, pocket.bias)
        rows.append(row)
    marked = tuple(i for i, (step, _, _) in enumerate(states) if step.mistake)
    return TraceTable([[name] for name in names], rows, marked)


def _weight_cells(problem: TraceProblem, weights: Any, bias: Any) -> list[Line]:
    cells = [words.vector(weights, problem.feature_names)]
    return cells if problem.padding is None else [*cells, [Math(number(bias))]]


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
        cycle = (
            f"After epoch {trace.n_epochs} the weights are back where an earlier epoch ended, "
            "so no line separates these rows: the updates in between add up to zero."
        )
        return [[cycle], contradiction(trace.problem, trace.contradiction)]
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
    from_zero = not any(trace.problem.padded_weights(*trace.path[0]))
    plain = trace.problem.threshold == 0 and all(step.eta == 1 for step in trace.steps)
    if not (from_zero and plain):
        header = ["k", "u·w", "u·w at least", "‖w‖²", "‖w‖² at most", "‖w - αu‖²"]
    columns = ("k", "progress", "progress_floor", "sqnorm", "sqnorm_ceiling", "potential")
    rows = [[[Math(number(getattr(p, name)))] for name in columns] for p in proof.points]
    line: list[str] = [Math(f"γ = {number(proof.margin)}, R = {number(proof.radius)}")]
    if proof.bound is not None:
        updates = counted(int(proof.bound), "update")
        chain = "kγ ≤ u·w ≤ ‖w‖ ≤ √k·R" if plain else "u·w ≤ ‖w‖"
        if not from_zero:
            share = "R²" if plain else "(ηR)²"
            start = number(proof.points[0].potential)
            chain = f"‖w₀ - αu‖² = {start} falls by at least {share} per update"
        line += [f": at most {updates}, because ", Math(chain)]
    return [Paragraph(line), TraceTable([[Math(h)] for h in header], rows)]
