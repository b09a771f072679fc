"""`rosenblatt evaluate`: the accuracy of a model on a file with labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rosenblatt.cli import options as o
from rosenblatt.errors import OptionError


def evaluate(
    model: o.ModelFile,
    files: Annotated[list[str], typer.Argument(help="Files with labels.")],
    plot: Annotated[
        Path | None,
        typer.Option(help="Save ROC, precision-recall and reliability curves as a picture."),
    ] = None,
    workers: o.Workers = None,
    shards: o.Shards = None,
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
    """
    o.disable_blas_threads()
    from rosenblatt.atomic_files import check_output
    from rosenblatt.cli.results import show_evaluation, show_label_evaluation
    from rosenblatt.jobs.evaluate import evaluate as evaluate_model
    from rosenblatt.jobs.evaluate import evaluate_labels
    from rosenblatt.models.model_file import read_model

    o.model_first(model, files)
    if plot is not None:
        check_output(plot, [model, *files], "plot")
    reading = {"format": format, "header": header, "skip_bad_rows": skip_bad_rows}
    loaded = read_model(model)
    on_shards = workers is not None or shards is not None
    if loaded.multilabel:
        if on_shards or plot is not None:
            option = "--plot" if plot is not None else "--workers"
            raise OptionError(f"{option} is for models of one label per row")
        labels = evaluate_labels(loaded, o.labelled_rows(loaded, files, **reading))
        show_label_evaluation(labels, json)
        return
    if on_shards:
        from rosenblatt.cluster.scoring import Scoring, evaluate_on_shards

        scoring = Scoring(model, files, o.required_workers(workers, shards), reading, shards)
        result = evaluate_on_shards(scoring, keep_scores=plot is not None)
    else:
        source = o.labelled_rows(loaded, files, **reading)
        result = evaluate_model(loaded, source, keep_scores=plot is not None)
    show_evaluation(result, json)
    if plot is not None:
        from rosenblatt.viz.evaluation import draw_evaluation

        draw_evaluation(result, plot)
