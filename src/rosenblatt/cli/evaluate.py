"""`rosenblatt evaluate`: the accuracy of a model on a file with labels."""

from __future__ import annotations

import json as json_module
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rosenblatt.cli import options as o
from rosenblatt.cli.lines import WIDTH, Styled, bar, percent, say, width
from rosenblatt.errors import OptionError, counted, listed, visible
from rosenblatt.jobs.option_values import class_order

if TYPE_CHECKING:
    from rosenblatt.jobs.evaluate import Evaluation, LabelEvaluation

_MOST_MISTAKES = 5  # listed where there is no room for the confusion matrix
_LONGEST_NAME = 40


def evaluate(
    model: o.ModelFile,
    files: Annotated[list[str], typer.Argument(help="Files with labels.")],
    plot: Annotated[
        Path | None,
        typer.Option(help="Save ROC, precision-recall and reliability curves as a picture."),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option("--label", "-l", help="The label column, if not named as in training."),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(min=1, help="Also precision and recall of the K best labels (P@K, R@K)."),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="Also the figures of each group, by the cells of a column.")
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(help="Also the figures of ordered classes: low,medium,high, or numbers."),
    ] = None,
    format: o.Format = None,
    header: o.Header = None,
    skip_bad_rows: o.SkipBadRows = False,
    json: o.Json = False,
) -> None:
    """Measure accuracy (with a 95 % interval), precision, recall, F1 and the confusion matrix.

    Also the area under the ROC curve, and how well probabilities are calibrated, if there are any.
    Where a row may have several labels: precision and recall of the first 1, 3 and 5 labels (P@K,
    R@K), micro and macro F1.

    Examples:

      rosenblatt evaluate reviews.model test.csv

      rosenblatt evaluate reviews.model test.csv --json --plot curves.png

      rosenblatt evaluate quality.model labelled.parquet --by source
    """
    o.disable_blas_threads()
    from rosenblatt.atomic_files import check_output
    from rosenblatt.jobs.evaluate import evaluate as evaluate_model
    from rosenblatt.jobs.evaluate import evaluate_labels
    from rosenblatt.models.model_file import read_model

    o.model_first(model, files)
    if plot is not None:
        check_output(plot, [model, *files], "plot")
    reading = {"format": format, "header": header, "skip_bad_rows": skip_bad_rows}
    loaded = read_model(model)
    if label is not None:
        loaded = replace(loaded, features=replace(loaded.features, label=label))
    if loaded.multilabel:
        if by is not None or plot is not None:
            option = "--plot" if plot is not None else "--by"
            raise OptionError(f"{option} is for models of one label per row")
        labels = evaluate_labels(loaded, o.labelled_rows(loaded, files, **reading), top)
        _show_label_evaluation(labels, json)
        return
    source = o.labelled_rows(loaded, files, **reading)
    result = evaluate_model(loaded, source, keep_scores=plot is not None, top=top, by=by)
    _show_evaluation(result, json, order)
    if plot is not None:
        from rosenblatt.viz.evaluation import draw_evaluation

        draw_evaluation(result, plot)
        say(f"picture    {plot}", err=json)


def _show_evaluation(result: Evaluation, as_json: bool, order: str | None = None) -> None:
    """Print accuracy with its interval, each class, and the confusion matrix."""
    given = None if order in (None, "numbers") else class_order(str(order))
    figures = result.ordered(given) if order is not None or result.is_ordered else None
    if as_json:
        ordered = {} if figures is None else {"ordered": figures}
        typer.echo(json_module.dumps(result.to_json() | ordered))
        return
    low, high = result.interval()
    interval = f"  (95 % interval {percent(low)} to {percent(high)}, "
    say(["accuracy   ", _strong(result.accuracy), interval, f"{counted(result.rows, 'row')})"])
    area = "" if result.roc_auc is None else f"   ROC-AUC {result.roc_auc:.4f}"
    say(["macro F1   ", _strong(result.macro_f1), area])
    if result.reliability is not None:
        brier, error = result.reliability.brier, result.reliability.error
        say(f"calibrated Brier score {brier:.4f}   calibration error {percent(error)}")
    _show_ranks(result)
    if figures is not None:
        rho, kappa = figures["spearman"], figures["quadratic_kappa"]
        say(f"ordered    Spearman {rho:.4f}   quadratic kappa {kappa:.4f}")
        say(f"           mean absolute error {figures['mean_absolute_error']:.4f} classes")
        above = (f"{visible(name)}: {percent(f1)}" for name, f1 in figures["f1_above"].items())
        say(f"F1 above   {', '.join(above)}")
    if result.unlabelled:
        say(f"left out   {counted(result.unlabelled, 'row')} without a label")
    _show_notes(result)
    _show_groups(result)
    _show_classes(result)
    _show_confusion(result)


def _strong(share: float) -> Styled:
    return Styled(percent(share), "strong")


def _short(name: str) -> str:
    """The name of a class or group as tables show it."""
    name = visible(name)
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _show_confusion(result: Evaluation) -> None:
    """Print how often each class was predicted as each; right and wrong in two colours.

    Where there is no room for so many classes, the most frequent mistakes are listed.
    """
    heading, names = r"actual \ predicted", [_short(name) for name in result.classes]
    columns = max(len(heading), *map(len, names))
    largest = max(count for counts in result.confusion for count in counts)
    least = max(len(f"{largest:,}"), 4)
    while least < 10 and len({name[:least] for name in names}) < len(names):
        least += 1
    room = width() if sys.stdout.isatty() else WIDTH
    size = min(10, (room - columns) // len(names) - 1)
    if size < least:
        _show_mistakes(result, names)
        return
    heads = "".join(f" {name[:size]:>{size}}" for name in names)
    say("", f"{heading:<{columns}}{heads}", wrap=False)
    for i, (name, counts) in enumerate(zip(names, result.confusion, strict=True)):
        cells = [
            Styled(f" {count:>{size},}", "good" if i == j else "bad") if count else f" {0:>{size}}"
            for j, count in enumerate(counts)
        ]
        say([f"{name:<{columns}}", *cells], wrap=False)


def _show_mistakes(result: Evaluation, names: list[str]) -> None:
    """Print the pairs of classes that are mistaken for each other most often."""
    pairs = [
        (count, i, j)
        for i, counts in enumerate(result.confusion)
        for j, count in enumerate(counts)
        if i != j and count
    ]
    if pairs:
        say("", "most frequent mistakes (all of them: --json, --plot FILE)")
    for count, i, j in sorted(pairs, key=lambda pair: (-pair[0], *pair[1:]))[:_MOST_MISTAKES]:
        say(f"{count:>10,}  {names[i]} predicted as {names[j]}")


def _show_groups(result: Evaluation) -> None:
    """Print a line per group, the worst first."""
    if result.groups:
        names = [_short(name) for name in result.groups]
        columns = max(10, *map(len, names))
        say("", f"{'group':<{columns}} {'accuracy':>10} {'macro F1':>10} {'rows':>10}")
        for name, group in zip(names, result.groups.values(), strict=True):
            cells = f"{percent(group.accuracy):>10} {percent(group.macro_f1):>10}"
            blocks = bar(group.accuracy, "good")
            say([f"{name:<{columns}} {cells} {group.rows:>10,}", "  " * bool(blocks), blocks])


def _show_label_evaluation(result: LabelEvaluation, as_json: bool) -> None:
    """Print the measures of a model with several labels per row."""
    if as_json:
        typer.echo(json_module.dumps(result.to_json()))
        return
    say(f"rows       {result.rows:,}")
    say(f"micro F1   {percent(result.micro_f1)}   macro F1 {percent(result.macro_f1)}")
    _show_ranks(result)
    _show_notes(result)
    _show_classes(result)


def _show_ranks(result: Evaluation | LabelEvaluation) -> None:
    """Print precision and recall of the K best labels."""
    for rank, (precision, recall) in result.at_rank.items():
        say(f"{f'P@{rank}':<10} {percent(precision)}   R@{rank} {percent(recall)}")


def _show_notes(result: Evaluation | LabelEvaluation) -> None:
    """Print what is odd: skipped rows, rows of training, and classes that are never predicted."""
    if result.bad:
        say(f"left out   {counted(result.bad, 'bad row')}")
    if never := result.never_predicted:
        by_class = result.by_class()
        rows = counted(sum(int(by_class[name]["rows"]) for name in never), "row")
        say(f"note       never predicted: {listed(never, 5)} ({rows}); train with")
        say("           --class-weight balanced or --tune-for macro-f1, or on more such rows")
    if result.trained_on:
        say(f"note       the model was trained on {listed(result.trained_on, 3)}:")
        say("           on new rows it errs more often")


def _show_classes(result: Evaluation | LabelEvaluation) -> None:
    """Print a line per class, with a bar of its F1 on a terminal."""
    columns = max(10, *(len(_short(name)) for name in result.classes))
    say("", f"{'class':<{columns}} {'precision':>10} {'recall':>10} {'F1':>10} {'rows':>10}")
    for name, row in result.by_class().items():
        cells = "".join(f" {percent(row[key]):>10}" for key in ("precision", "recall", "f1"))
        blocks = bar(row["f1"], "good", min(20, max(width() - columns - 46, 5)))
        say([f"{_short(name):<{columns}}{cells} {row['rows']:>10,}", "  " * bool(blocks), blocks])
