"""`rosenblatt train`: from raw files to a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rosenblatt.cli import options as o
from rosenblatt.cli.options import FEATURES, INPUT, LEARNING, LONG_RUNS, OUTPUT, option


def train(
    files: Annotated[list[str], typer.Argument(help="Files, patterns, or - for standard input.")],
    label: Annotated[
        str | None,
        option(
            INPUT,
            "Label column: its name, or its position from 1 (-1 is the last). Default: label. "
            "A,B,C: columns of 0 and 1, one per label.",
            "--label",
            "-l",
        ),
    ] = None,
    text: o.Text = None,
    column: o.Columns = None,
    out: Annotated[
        Path | None,
        option(OUTPUT, "The model file; by default FILE with the ending .model.", "--out", "-o"),
    ] = None,
    valid: Annotated[
        list[str] | None, option(LEARNING, "Validation files, which decide the number of epochs.")
    ] = None,
    epochs: Annotated[
        int | None,
        option(LEARNING, "Number of epochs; decided by held-out rows unless given.", min=1),
    ] = None,
    averaged: Annotated[
        bool, option(LEARNING, "Average the weights, or take the last.", "--averaged/--last")
    ] = True,
    rule: Annotated[
        str, option(LEARNING, "The learning rule: perceptron, arow, pa1, scw1:C=0.5, ...")
    ] = "perceptron",
    threshold: Annotated[
        float | None,
        option(LEARNING, "Update when the margin is at most this; 2, for tables 4.", min=0.0),
    ] = None,
    multiclass: Annotated[
        str | None,
        option(LEARNING, "ovr: one-vs-rest; joint, for tables: against the best other class."),
    ] = None,
    tune: Annotated[
        str | None,
        option(
            LEARNING, "Choose the settings and train within this time: 60s, 5m.", metavar="TIME"
        ),
    ] = None,
    ngrams: Annotated[
        str | None,
        option(
            FEATURES,
            "N-grams of up to N words, or of N to M; 1-2 by default, 3-5 characters.",
            metavar="N or N-M",
        ),
    ] = None,
    chars: Annotated[
        bool, option(FEATURES, "N-grams of characters within words instead.", "--chars")
    ] = False,
    bits: Annotated[
        int | None, option(FEATURES, "Hash to 2^BITS columns; 22 by default.", min=8, max=26)
    ] = None,
    holdout: Annotated[
        float | None, option(LEARNING, "Fraction of the rows to hold out.", min=0.0, max=0.9)
    ] = None,
    label_separator: Annotated[
        str | None, option(INPUT, "Separator of the labels of a row, if rows have several.")
    ] = None,
    weight: Annotated[
        str | None, option(LEARNING, "Column of sample weights: the copies each row counts for.")
    ] = None,
    class_weight: Annotated[
        str | None, option(LEARNING, "Weights of classes: balanced, or a=2,b=1.")
    ] = None,
    calibrate: Annotated[
        str, option(LEARNING, "Probabilities from held-out rows: sigmoid, isotonic or none.")
    ] = "sigmoid",
    target: Annotated[
        str | None,
        option(
            LEARNING,
            "The goal of the threshold between two classes, on held-out rows: "
            "precision=0.95, recall=0.9 or f1; for the second class, or LABEL:precision=0.95.",
        ),
    ] = None,
    seed: Annotated[
        int, option(LEARNING, "Seed of the row orders and the held-out rows.", min=0)
    ] = 0,
    memory: Annotated[
        int, option(LONG_RUNS, "MB of hashed rows to keep in memory; more go to disk.", min=1)
    ] = 128,
    checkpoint: Annotated[
        Path | None, option(LONG_RUNS, "Folder to save checkpoints of the run in.")
    ] = None,
    every: Annotated[float, option(LONG_RUNS, "Seconds between checkpoints.", min=0.0)] = 60.0,
    every_rows: Annotated[
        int | None, option(LONG_RUNS, "Rows between checkpoints, regardless of time.", min=1)
    ] = None,
    resume: Annotated[
        bool, option(LONG_RUNS, "Continue the run saved in the checkpoint folder.", "--resume")
    ] = False,
    start: Annotated[
        Path | None, option(LONG_RUNS, "Continue training this model file.", "--from")
    ] = None,
    jobs: Annotated[int, option(LONG_RUNS, "Training threads; -1 for all cores.")] = -1,
    workers: o.Workers = None,
    shards: o.Shards = None,
    format: o.Format = None,
    header: o.Header = None,
    missing: o.Missing = None,
    skip_bad_rows: o.SkipBadRows = False,
    dry_run: Annotated[
        bool, option(OUTPUT, "Only print the detected kinds of the columns.", "--dry-run")
    ] = False,
    quiet: o.Quiet = False,
    json: o.Json = False,
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

      rosenblatt train huge.tsv --label 1 --checkpoint run --resume

      rosenblatt train 'part-*.parquet' --label y --workers tcp://scheduler:8786

      zcat big.svm.gz | rosenblatt train - --format svmlight --out big.model
    """
    o.disable_blas_threads()
    from rosenblatt.cli.progress import ProgressPrinter
    from rosenblatt.jobs.options import Reading
    from rosenblatt.jobs.train import train as run
    from rosenblatt.process import Stopped

    model_file = out or Path(o.stem(files[0]) + ".model")
    display = ProgressPrinter(quiet=quiet, json=json)
    reading = o.reading(label, text, column, format, header, skip_bad_rows, missing) | {
        "ngrams": o.ngrams(ngrams, chars),
        "analyzer": "char" if chars else None,
        "bits": bits,
        "label_separator": label_separator,
    }
    if dry_run:
        display.show_columns(Reading(**reading).open(files))
        display.check()
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
    display.check(f"the model is in {model_file}, but ")
