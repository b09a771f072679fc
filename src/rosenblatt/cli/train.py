"""`rosenblatt train`: from raw files to a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rosenblatt.cli import options as o

Files = Annotated[list[str], typer.Argument(help="Files, patterns, or - for standard input.")]


def train(
    files: Files,
    label: o.Label = None,
    text: o.Text = None,
    column: o.Columns = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="The model file; by default FILE with the ending .model.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = None,
    valid: Annotated[
        list[str] | None,
        typer.Option(help="Files that decide the number of epochs.", rich_help_panel=o.LEARNING),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1, help="How many; by default a held-out tenth decides.", rich_help_panel=o.LEARNING
        ),
    ] = None,
    averaged: Annotated[
        bool,
        typer.Option(
            "--averaged/--last",
            help="Average the weights, or take the last.",
            rich_help_panel=o.LEARNING,
        ),
    ] = True,
    rule: Annotated[
        str,
        typer.Option(
            help="What learns: perceptron, arow, pa1, scw1:C=0.5 and so on.",
            rich_help_panel=o.LEARNING,
        ),
    ] = "perceptron",
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="Correct a row when its margin is at most this; 2, tables 4.",
            rich_help_panel=o.LEARNING,
        ),
    ] = None,
    multiclass: Annotated[
        str | None,
        typer.Option(
            help="ovr: each class against the rest; joint (tables): the best other.",
            rich_help_panel=o.LEARNING,
        ),
    ] = None,
    tune: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Choose settings and train in this time: 60s, 5m.",
            rich_help_panel=o.LEARNING,
        ),
    ] = None,
    ngrams: Annotated[
        str | None,
        typer.Option(
            metavar="N or N-M",
            help="N-grams of up to N words, or of N to M; 1-2 by default, 3-5 characters.",
            rich_help_panel=o.FEATURES,
        ),
    ] = None,
    chars: Annotated[
        bool,
        typer.Option(
            "--chars",
            help="N-grams of characters within words instead.",
            rich_help_panel=o.FEATURES,
        ),
    ] = False,
    bits: Annotated[
        int | None,
        typer.Option(
            min=8, max=30, help="Hash to 2^BITS columns; 22 by default.", rich_help_panel=o.FEATURES
        ),
    ] = None,
    holdout: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=0.9, help="Share of rows to hold out.", rich_help_panel=o.LEARNING
        ),
    ] = None,
    label_separator: Annotated[
        str | None,
        typer.Option(help="What separates labels, where a row may have several."),
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option(
            help="A column: how many copies each row stands for.", rich_help_panel=o.LEARNING
        ),
    ] = None,
    class_weight: Annotated[
        str | None,
        typer.Option(help="Weights of classes: balanced, or a=2,b=1.", rich_help_panel=o.LEARNING),
    ] = None,
    calibrate: Annotated[
        str,
        typer.Option(
            help="Probabilities from held-out rows: sigmoid, isotonic or none.",
            rich_help_panel=o.LEARNING,
        ),
    ] = "sigmoid",
    target: Annotated[
        str | None,
        typer.Option(
            help="What the threshold between two classes is to reach on held-out rows: "
            "precision=0.95, recall=0.9 or f1; for the second class, or LABEL:precision=0.95.",
            rich_help_panel=o.LEARNING,
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(min=0, help="Decides orders and held-out rows.", rich_help_panel=o.LEARNING),
    ] = 0,
    memory: Annotated[
        int,
        typer.Option(
            min=1,
            help="MB of hashed rows to keep in memory; more go to disk.",
            rich_help_panel=o.LONG_RUNS,
        ),
    ] = 128,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="A folder to save the run in while it goes on.", rich_help_panel=o.LONG_RUNS
        ),
    ] = None,
    every: Annotated[
        float,
        typer.Option(min=0.0, help="Seconds between two checkpoints.", rich_help_panel=o.LONG_RUNS),
    ] = 60.0,
    every_rows: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Rows between two checkpoints, whatever the time.",
            rich_help_panel=o.LONG_RUNS,
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on with the run saved in the checkpoint folder.",
            rich_help_panel=o.LONG_RUNS,
        ),
    ] = False,
    start: Annotated[
        Path | None,
        typer.Option("--from", help="A model file to go on from.", rich_help_panel=o.LONG_RUNS),
    ] = None,
    jobs: Annotated[
        int, typer.Option(help="Threads that learn; -1 is all cores.", rich_help_panel=o.LONG_RUNS)
    ] = -1,
    workers: o.Workers = None,
    shards: o.Shards = None,
    format: o.Format = None,
    header: o.Header = None,
    missing: o.Missing = None,
    skip_bad_rows: o.SkipBadRows = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Only say what the columns are taken for.", rich_help_panel=o.OUTPUT
        ),
    ] = False,
    quiet: o.Quiet = False,
    json: o.Json = False,
) -> None:
    """Train a linear classifier on files of any size.

    The first pass over the files hashes them, learns already, and keeps the rows; later epochs
    visit these in random order. A held-out tenth decides when to stop; the model is then trained
    on all rows for as long.

    Examples:

      rosenblatt train reviews.csv --label sentiment --out reviews.model

      rosenblatt train reviews.csv --label sentiment --dry-run

      rosenblatt train 'logs/*.jsonl.gz' --label class --text message --epochs 5

      rosenblatt train reviews.csv --label sentiment --rule arow:r=0.5

      rosenblatt train reviews.csv --label sentiment --tune 60s

      rosenblatt train huge.tsv --label 1 --checkpoint run --resume

      rosenblatt train 'part-*.parquet' --label y --workers tcp://scheduler:8786

      zcat big.svm.gz | rosenblatt train - --format svmlight --out big.model
    """
    from rosenblatt.cli.startup import skip_blas

    skip_blas()
    from rosenblatt.cli.display import ProgressPrinter
    from rosenblatt.estimators.files import Stopped, open_for_training
    from rosenblatt.estimators.files import train as run

    model_file = out or Path(o.stem(files[0]) + ".model")
    display = ProgressPrinter(quiet=quiet, json=json)
    reading = o.reading(label, text, column, format, header, skip_bad_rows, missing) | {
        "ngrams": o.ngrams(ngrams, chars),
        "analyzer": "char" if chars else None,
        "bits": bits,
        "label_separator": label_separator,
    }
    if dry_run:
        display.say_what_was_understood(open_for_training(files, **reading))
        return
    try:
        with display.warnings():
            model = run(
                files,
                **reading,
                valid=valid,
                epochs=epochs,
                average=averaged,
                rule=rule,
                multiclass=multiclass,
                tune=tune,
                threshold=threshold,
                holdout=holdout,
                seed=seed,
                weight=weight,
                class_weight=o.class_weights(class_weight),
                calibrate=None if calibrate == "none" else calibrate,
                target=target,
                memory=memory << 20,
                checkpoint=checkpoint,
                checkpoint_seconds=every,
                checkpoint_rows=every_rows,
                resume=resume,
                start=start,
                out=model_file,
                n_jobs=jobs,
                workers=workers,
                shards=shards,
                report=display.step,
                report_trial=display.trial,
            )
    except Stopped as stopped:
        display.close()
        typer.echo(f"rosenblatt: {stopped}", err=True)
        raise typer.Exit(128 + stopped.signal) from None
    display.trained(model, model_file)
