"""`rosenblatt train`: from raw files to a model file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rosenblatt.cli import options as o
from rosenblatt.cli.lines import say
from rosenblatt.jobs.options import FEATURES, LEARNING

if TYPE_CHECKING:
    from rosenblatt.cli.progress import ProgressPrinter
    from rosenblatt.jobs.options import TrainOptions


@o.with_training_options
def train(
    files: Annotated[list[str], typer.Argument(help="Files, patterns, or - for standard input.")],
    *,
    dry_run: Annotated[
        bool, o.option(o.OUTPUT, "Only print the detected kinds of the columns.", "--dry-run")
    ] = False,
    cv: Annotated[
        int | None,
        o.option(
            LEARNING,
            "Cross-validate over this number of folds before training, and print the mean accuracy "
            "and log loss with their standard errors.",
            "--cv",
            min=2,
        ),
    ] = None,
    chars: Annotated[bool, o.option(FEATURES, "The same as --analyzer char.", "--chars")] = False,
    fast: Annotated[
        bool,
        o.option(
            FEATURES,
            "The same as --analyzer word: words alone, five times the speed on short texts.",
            "--fast",
        ),
    ] = False,
    quiet: o.Quiet = False,
    json: o.Json = False,
    **given: Any,
) -> None:
    """Train a linear classifier on files of any size.

    The first epoch reads, hashes and stores the rows while it trains on them; later epochs visit
    them in random order. A held-out tenth decides when to stop; the model is then retrained on all
    rows for the same number of epochs.

    Examples:

      rosenblatt train reviews.csv --label sentiment --out reviews.model

      rosenblatt train reviews.csv --label sentiment --dry-run

      rosenblatt train 'logs/*.jsonl.gz' --label class --text message --epochs 5

      rosenblatt train reviews.csv --label sentiment --rule arow:r=0.5

      rosenblatt train reviews.csv --label sentiment --tune 60s

      rosenblatt train adult.csv --label income --cv 5

      rosenblatt train huge.tsv --label 1 --checkpoint run --resume

      rosenblatt train 'part-*.parquet' --label y --workers tcp://scheduler:8786

      zcat big.svm.gz | rosenblatt train - --format svmlight --out big.model
    """
    o.disable_blas_threads()
    given["out"] = out = given["out"] or Path(o.stem(files[0]) + ".model")
    if chars or fast:
        given["analyzer"] = o.only("analyzer", given["analyzer"], char=chars, word=fast)
    options = o.training_options(given)
    from rosenblatt.cli.progress import ProgressPrinter
    from rosenblatt.jobs.train import train as run
    from rosenblatt.process import Stopped, release_freed_arrays

    release_freed_arrays()
    display = ProgressPrinter(quiet=quiet, json=json)
    if dry_run:
        from rosenblatt.jobs.sources import open_rows

        display.show_columns(open_rows(files, replace(options, valid=None))[0])
        display.check()
        return
    try:
        display.replaces = out.exists()
        with display.warnings():
            if cv is not None:
                _cross_validate(files, options, cv, display)
            model = run(files, options=options, report=display.step, report_trial=display.trial)
    except Stopped as stopped:
        display.close()
        say(f"rosenblatt: {stopped}", err=True)
        raise typer.Exit(128 + stopped.signal) from None
    display.trained(model, out)
    display.check(f"the model is in {out}, but ")


def _cross_validate(
    files: list[str], options: TrainOptions, count: int, display: ProgressPrinter
) -> None:
    """Print what the folds say."""
    from rosenblatt.data.bytes import expand_paths, is_stream
    from rosenblatt.errors import OptionError
    from rosenblatt.jobs.folds import cross_validate

    if any(map(is_stream, expand_paths(files))):
        raise OptionError("--cv reads the rows twice: name files, not pipes or standard input")
    display.folds(cross_validate(files, options, count))
