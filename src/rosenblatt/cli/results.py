"""What `rosenblatt evaluate` and `rosenblatt inspect` print: tables, or JSON on request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rosenblatt.cli.lines import WIDTH, epoch_line, extent, percent, say
from rosenblatt.counts import counted
from rosenblatt.errors import listed

if TYPE_CHECKING:
    from rosenblatt.estimators.evaluation import Evaluation, LabelEvaluation
    from rosenblatt.models.model import Model

_MOST_COLUMNS = 20  # that are named


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
    """Print how well several labels per row are predicted."""
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
    """What was left out, and whether the model knows the rows."""
    if result.bad:
        typer.echo(f"left out   {counted(result.bad, 'bad row')}")
    if result.trained_on:
        typer.echo(f"note       the model was trained on {listed(result.trained_on, 3)}:")
        typer.echo("           on new rows it errs more often")


def _show_classes(result: Evaluation | LabelEvaluation) -> int:
    """A line per class; how wide its name may be."""
    width = max(10, *(len(name) for name in result.classes))
    typer.echo(f"\n{'class':<{width}} {'precision':>10} {'recall':>10} {'F1':>10} {'rows':>10}")
    for name, row in result.by_class().items():
        cells = "".join(f" {percent(row[key]):>10}" for key in ("precision", "recall", "f1"))
        typer.echo(f"{name:<{width}}{cells} {row['rows']:>10,}")
    return width


def show_model(model: Model, path: Path, top: int, as_json: bool) -> None:
    """Print what a model is, its history, and the strongest features of each class."""
    if as_json:
        typer.echo(json.dumps(_described(model)))
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
    """The columns a model reads, and how they become features."""
    f = model.features
    if f.origin != "table":
        return [f"features as they stand in {f.origin} files"]
    lines = [f"label {f.label}; columns {_kinds(f.columns)}"]
    kinds = {column.kind for column in f.columns}
    if "text" in kinds:
        units = "characters" if f.ngrams.chars else "words"
        lines.append(
            f"n-grams of {f.ngrams.low} to {f.ngrams.high} {units}, hashed to 2^{f.ngrams.bits}"
        )
    elif "category" in kinds:
        lines.append(f"categories hashed to 2^{f.ngrams.bits} columns")
    return lines


def _kinds(columns: Any) -> str:
    """The names and kinds of columns, the first of many.

    >>> from rosenblatt.data import Column
    >>> _kinds([Column("age", "number"), Column("job", "category")])
    'age (number), job (category)'
    """
    more = ["..."] if len(columns) > _MOST_COLUMNS else []
    return ", ".join([*(f"{c.name} ({c.kind})" for c in columns[:_MOST_COLUMNS]), *more])


def _trained_on(model: Model) -> str:
    files = model.fingerprint.get("files", [])
    return ", ".join(str(file.get("name")) for file in files[:5]) or "unknown files"


def _described(model: Model) -> dict[str, Any]:
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
