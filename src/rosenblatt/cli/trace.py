"""`rosenblatt trace`: a run with its arithmetic spelled out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from rosenblatt.cli import options as o
from rosenblatt.cli.lines import Line, Styled, say

_MOST_CELLS = 200_000
_VERDICTS = {"✗": "bad", "mistake": "bad", "✓": "good", "right": "good"}
_VERDICT = re.compile(r"(✗|✓|\bmistake\b|\bright\b)")

Format = StrEnum("Format", ["text", "markdown", "latex", "html"])
Style = StrEnum("Style", ["steps", "table"])
Update = StrEnum("Update", ["online", "batch"])
Mistake = StrEnum("Mistake", ["margin", "sign"])
Scheme = StrEnum("Scheme", {"one_vs_one": "one-vs-one", "one_vs_all": "one-vs-all"})


def trace(
    file: Annotated[
        str | None, typer.Argument(help="A small file of numbers with labels, such as CSV.")
    ] = None,
    example: o.Example = None,
    label: o.Label = None,
    header: o.Header = None,
    format: Annotated[
        Format, typer.Option(help="The output format; html and latex are whole documents.")
    ] = Format.text,
    style: Annotated[
        Style | None,
        typer.Option(help="Every sum, or one line per step, the default above 40 steps."),
    ] = None,
    proof: Annotated[
        bool, typer.Option("--proof", help="Follow the convergence proof along the run.")
    ] = False,
    average: Annotated[
        bool, typer.Option("--average", help="Show the running average of the weights.")
    ] = False,
    pocket: Annotated[
        bool, typer.Option("--pocket", help="Show the best weights so far and their errors E.")
    ] = False,
    multiclass: Annotated[
        Scheme | None, typer.Option(help="More than two classes: the classifiers and their votes.")
    ] = None,
    weights: Annotated[
        str | None, typer.Option(help="Start from these weights, such as 1,-2,0.5; the bias last.")
    ] = None,
    rule: Annotated[
        str, typer.Option(help="The learning rule: perceptron, pa, pa1, pa2 or arow; pa1:C=0.5.")
    ] = "perceptron",
    update: Annotated[
        Update, typer.Option(help="Update after each row, or once per epoch.")
    ] = Update.online,
    mistake: Annotated[
        Mistake | None,
        typer.Option(help="The mistake rule; by default margin, or that of the example."),
    ] = None,
    threshold: Annotated[float, typer.Option(help="δ: a mistake is y·s <= δ.")] = 0,
    eta: Annotated[float, typer.Option(help="The learning rate η.")] = 1,
    bias: Annotated[
        bool | None, typer.Option("--bias/--no-bias", help="Whether to learn a bias.")
    ] = None,
    padding: Annotated[float, typer.Option(help="The padding constant c.")] = 1,
    max_epochs: Annotated[int, typer.Option(min=1, help="The most epochs.")] = 100,
    seed: Annotated[
        int | None, typer.Option(help="Visit the rows in a new random order each epoch.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The output file.")] = None,
) -> None:
    """Show every step of a run: the score, the verdict, the update, and why it ended.

    Examples:

      rosenblatt trace --example movies

      rosenblatt trace --example xor --average --pocket

      rosenblatt trace --example iris --proof --weights 1,1,0

      rosenblatt trace --example or --rule arow:r=0.5

      rosenblatt trace flowers.csv --label species --multiclass one-vs-one

      rosenblatt trace --example movies --format latex --out movies.tex
    """
    from rosenblatt import tracing
    from rosenblatt.atomic_files import check_output

    if (file is None) == (example is None):
        raise typer.BadParameter("give either a FILE or --example NAME")
    if out is not None:
        check_output(out, [file] if file is not None else [], "trace")
    rows = (
        _example_arguments(example) if example is not None else _file_arguments(file, label, header)
    )
    if rule != "perceptron":
        rows |= _rule_arguments(rule)
        rows.pop("mistake", None)  # the mistake rule of an example is for the perceptron
    if mistake is not None:
        rows["mistake"] = mistake
    if bias is not None:
        rows["fit_intercept"] = bias
    if weights is not None:
        rows |= _start_arguments(weights, len(rows["X"][0]), rows.get("fit_intercept", True))
    rows |= {
        "update": update, "threshold": _exact(threshold), "eta": _exact(eta),
        "intercept_scaling": _exact(padding), "order": seed is not None, "seed": seed,
        "max_epochs": max_epochs,
    }  # fmt: skip
    if multiclass is not None:
        if proof or average or pocket or style:
            raise typer.BadParameter("--multiclass shows the votes, not the steps of each run")
        votes = tracing.trace_classes(**rows, scheme=multiclass)
        _write(getattr(votes, f"to_{format}")(), format, example or file, out)
        return
    names = rows.pop("class_names", None)
    if names is not None and len(names) == 2 and sorted(names) == list(names):
        rows["y"] = [names[label > 0] for label in rows["y"]]
    run = tracing.trace(**rows)
    chosen = style or (Style.steps if len(run) <= 40 else Style.table)
    show = [name for name, wanted in (("average", average), ("pocket", pocket)) if wanted]
    text = getattr(run, f"to_{format}")(chosen, proof=proof, show=show)
    _write(text, format, example or file, out)


def _write(text: str, format: Format, name: str | None, out: Path | None) -> None:
    if format == Format.html:
        from rosenblatt.tracing.render import html_document

        text = html_document(text, f"{name}, step by step")
    if format == Format.latex:
        from rosenblatt.tracing.render import latex_document

        text = latex_document(text)
    if out is None:
        lines = text.split("\n")
        say(*(_styled(lines) if format == Format.text else lines), wrap=False)
        return
    from rosenblatt.atomic_files import atomic_write

    with atomic_write(out, "w") as file:
        file.write(f"{text}\n")


def _styled(lines: list[str]) -> Iterator[Line]:
    """The lines of a trace with headings, mistakes and right answers in styles of their own."""
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if below and set(below) == {"-"}:
            yield Styled(line, "strong")
        elif line and set(line) <= {"-", " "}:
            yield Styled(line, "quiet")
        else:
            pieces = _VERDICT.split(line)
            yield [Styled(p, _VERDICTS[p]) if p in _VERDICTS else p for p in pieces]


def _exact(value: float) -> float:
    """The value as an int if it is whole, so that sums and averages stay exact."""
    return int(value) if value.is_integer() else value


def _rule_arguments(text: str) -> dict[str, Any]:
    """Arguments of `trace` for a rule such as ``pa1:C=0.5``, other than the perceptron."""
    from rosenblatt.rules.registry import parse
    from rosenblatt.tracing.run import RULES

    name = text.partition(":")[0]
    if name not in RULES:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(RULES)}", param_hint="--rule")
    if name == "perceptron":
        raise typer.BadParameter(
            "the perceptron's settings are options, such as --threshold", param_hint="--rule"
        )
    try:
        record, given = parse(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--rule") from None
    values = {key: parameter.default for key, parameter in record.parameters.items()} | given
    return {"rule": name} | {key: values[key] for key in ("C", "r") if key in values}


def _start_arguments(text: str, features: int, has_bias: bool) -> dict[str, Any]:
    """Arguments of `trace` for the start: one weight per feature, and perhaps the bias."""
    numbers = []
    for part in text.split(","):
        try:
            value = float(part)
        except ValueError:
            raise typer.BadParameter(
                f"{part.strip()!r} is not a number", param_hint="--weights"
            ) from None
        numbers.append(_exact(value))
    if len(numbers) not in ((features, features + 1) if has_bias else (features,)):
        raise typer.BadParameter(
            f"{len(numbers)} numbers do not fit {features} features"
            f"{' and a bias' if has_bias else ' without a bias'}",
            param_hint="--weights",
        )
    return {"weights": numbers[:features], "bias": (numbers[features:] or [0])[0]}


def _example_arguments(name: str) -> dict[str, Any]:
    """Arguments of `trace` for an example, with the mistake rule of its source."""
    from rosenblatt import teaching_sets

    example = teaching_sets.load(name)
    names = ("X", "y", "feature_names", "row_names", "mistake", "fit_intercept", "class_names")
    return {name: getattr(example, name) for name in names}


def _file_arguments(file: str | None, label: str | None, header: bool | None) -> dict[str, Any]:
    """Arguments of `trace` for the rows of a file."""
    from scipy.sparse import issparse

    from rosenblatt.data import read_arrays

    table = read_arrays(file, label, header=header, row_names=True, most_cells=_MOST_CELLS)
    X, names = table.X.toarray() if issparse(table.X) else table.X, table.row_names
    return {
        "X": X.tolist(), "y": table.y.tolist(), "feature_names": table.columns, "row_names": names
    }  # fmt: skip
