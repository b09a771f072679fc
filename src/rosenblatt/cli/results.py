"""What `train`, `evaluate` and `inspect` print about columns, evaluations and models."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rosenblatt.cli.lines import WIDTH, epoch_line, extent, percent, say
from rosenblatt.errors import counted, listed

if TYPE_CHECKING:
    from rosenblatt.data import Source
    from rosenblatt.data.columns import ColumnReport
    from rosenblatt.jobs.evaluate import Evaluation, LabelEvaluation
    from rosenblatt.kernels.text import Ngrams
    from rosenblatt.models.model import Model

_MOST_COLUMNS = 20  # listed by name
_LONGEST_NAME = 18


def column_lines(source: Source, reports: list[ColumnReport]) -> list[str]:
    """One line per column with its remark below, and how text is hashed.

    Of more than 20 columns, only the first and those with a remark are listed.
    """
    shown = [r for place, r in enumerate(reports) if place <= _MOST_COLUMNS or r.remark]
    width = min(_LONGEST_NAME, max((len(r.name) for r in shown), default=0))
    lines = [line for report in shown for line in _column(report, width)]
    columns = source.features.columns
    if len(columns) > _MOST_COLUMNS:
        lines.append(f"in all     {counted(len(columns), 'column')}")
    if any(c.kind == "text" for c in columns):
        lines.append(f"n-grams    {_ngram_range(source.features.ngrams)} columns")
    elif source.features.origin != "table":
        lines.append(f"features   as they stand in {source.features.origin} files")
    return lines


def _column(report: ColumnReport, width: int) -> list[str]:
    """The line of a column, and the lines of its remark.

    >>> from rosenblatt.data.columns import ColumnReport
    >>> _column(ColumnReport("age", "number", 99, 60, 3, "39", "17 to 90", "odd"), width=4)
    ['number     age   17 to 90, 3 missing, as 39', '           note: odd']
    """
    name = report.name if len(report.name) <= width else report.name[: width - 3] + "..."
    parts = []
    if report.kind == "label":
        parts.append(f"{counted(report.values, 'value')}: {report.about}")
    elif report.about:
        parts.append(report.about)
    elif report.kind in ("text", "category"):
        parts.append(f"{report.values:,} different in {report.rows:,}")
    if report.missing:
        parts.append(f"{report.missing:,} missing")
    if report.example and report.kind != "label":
        quoted = report.example if report.kind in ("number", "date") else f'"{report.example}"'
        parts.append("as " + " ".join(quoted.split()))
    line = f"{report.kind:<10} {name:<{width}}  {', '.join(parts)}".rstrip()
    cut = line if len(line) <= WIDTH else line[: WIDTH - 3] + "..."
    note = f"note: {report.remark}" if report.remark else ""
    return [cut, *textwrap.wrap(note, WIDTH, initial_indent=" " * 11, subsequent_indent=" " * 11)]


def _ngram_range(n: Ngrams) -> str:
    return f"of {n.low} to {n.high} {'characters' if n.chars else 'words'}, hashed to 2^{n.bits}"


def show_evaluation(result: Evaluation, as_json: bool) -> None:
    """Print accuracy with its interval, each class, and the confusion matrix."""
    if as_json:
        typer.echo(json.dumps(result.to_json()))
        return
    low, high = result.interval()
    typer.echo(
        f"accuracy   {percent(result.accuracy)}  "
        f"(95 % interval {percent(low)} to {percent(high)}, {counted(result.rows, 'row')})"
    )
    area = "" if result.roc_auc is None else f"   ROC-AUC {result.roc_auc:.4f}"
    typer.echo(f"macro F1   {percent(result.macro_f1)}{area}")
    if result.reliability is not None:
        brier, error = result.reliability.brier, result.reliability.error
        typer.echo(f"calibrated Brier score {brier:.4f}   calibration error {percent(error)}")
    _show_notes(result)
    width = _show_classes(result)
    if max(width, 18) + 11 * len(result.classes) > WIDTH:
        typer.echo("\nThe confusion matrix is too wide for a terminal: use --json or --plot FILE.")
    else:
        heading = r"actual \ predicted"
        width = max(width, len(heading))
        names = "".join(f" {name[:10]:>10}" for name in result.classes)
        typer.echo(f"\n{heading:<{width}}{names}")
        for name, counts in zip(result.classes, result.confusion, strict=True):
            typer.echo(f"{name:<{width}}" + "".join(f" {count:>10,}" for count in counts))


def show_label_evaluation(result: LabelEvaluation, as_json: bool) -> None:
    """Print the measures of a model with several labels per row."""
    if as_json:
        typer.echo(json.dumps(result.to_json()))
        return
    typer.echo(f"rows       {result.rows:,}")
    typer.echo(f"micro F1   {percent(result.micro_f1)}   macro F1 {percent(result.macro_f1)}")
    for rank, (precision, recall) in result.at_rank.items():
        typer.echo(f"{f'P@{rank}':<10} {percent(precision)}   R@{rank} {percent(recall)}")
    _show_notes(result)
    _show_classes(result)


def _show_notes(result: Evaluation | LabelEvaluation) -> None:
    """Print how many rows were skipped, and whether the model was trained on these rows."""
    if result.bad:
        typer.echo(f"left out   {counted(result.bad, 'bad row')}")
    if result.trained_on:
        typer.echo(f"note       the model was trained on {listed(result.trained_on, 3)}:")
        typer.echo("           on new rows it errs more often")


def _show_classes(result: Evaluation | LabelEvaluation) -> int:
    """Print a line per class; returns the width of the column of names."""
    width = max(10, *(len(name) for name in result.classes))
    typer.echo(f"\n{'class':<{width}} {'precision':>10} {'recall':>10} {'F1':>10} {'rows':>10}")
    for name, row in result.by_class().items():
        cells = "".join(f" {percent(row[key]):>10}" for key in ("precision", "recall", "f1"))
        typer.echo(f"{name:<{width}}{cells} {row['rows']:>10,}")
    return width


def show_model(model: Model, path: Path, top: int, as_json: bool) -> None:
    """Print the columns of a model, its history, and the strongest features of each class."""
    if as_json:
        typer.echo(json.dumps(_model_record(model)))
        return
    typer.echo(f"{path}: {extent(model)}")
    say(f"trained by rosenblatt {model.package} on {_trained_on(model)}")
    for line in _feature_lines(model):
        say(line)
    for epoch in model.history:
        typer.echo(epoch_line(epoch["epoch"], epoch.get("updates", 0), epoch))
    for name in model.classes:
        pairs = model.words.get(name, [])[:top]
        if pairs:
            typer.echo(f"\nstrongest features for {name}:")
        for word, weight in pairs:
            typer.echo(f"  {weight:>+9.3f}  {word}")


def _feature_lines(model: Model) -> list[str]:
    """Lines on the columns of a model, and how they are hashed."""
    f = model.features
    if f.origin != "table":
        return [f"features as they stand in {f.origin} files"]
    lines = [f"label {f.label}; columns {_kinds(f.columns)}"]
    kinds = {column.kind for column in f.columns}
    if "text" in kinds:
        lines.append(f"n-grams {_ngram_range(f.ngrams)}")
    elif "category" in kinds:
        lines.append(f"categories hashed to 2^{f.ngrams.bits} columns")
    return lines


def _kinds(columns: Any) -> str:
    """Names and kinds such as "age (number), job (category)", at most 20 of them."""
    more = ["..."] if len(columns) > _MOST_COLUMNS else []
    return ", ".join([*(f"{c.name} ({c.kind})" for c in columns[:_MOST_COLUMNS]), *more])


def _trained_on(model: Model) -> str:
    files = model.fingerprint.get("files", [])
    return ", ".join(str(file.get("name")) for file in files[:5]) or "unknown files"


def _model_record(model: Model) -> dict[str, Any]:
    return {
        "classes": list(model.classes),
        "n_features": len(model.columns),
        "features": model.features.to_json(),
        "parameters": model.parameters,
        "history": model.history,
        "fingerprint": model.fingerprint,
        "words": model.words,
        "package": model.package,
    }
