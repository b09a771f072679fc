"""`rosenblatt train`: from raw files to a model file."""

from __future__ import annotations

from pathlib import Path

import typer

from rosenblatt.cli import options as o
from rosenblatt.cli import train_options as t


def train(
    files: t.Files,
    label: t.Label = None,
    text: o.Text = None,
    column: o.Columns = None,
    out: t.Out = None,
    valid: t.Valid = None,
    epochs: t.Epochs = None,
    averaged: t.Averaged = True,
    rule: t.Rule = "perceptron",
    threshold: t.Threshold = None,
    multiclass: t.Multiclass = None,
    tune: t.Tune = None,
    ngrams: t.Ngrams = None,
    chars: t.Chars = False,
    bits: t.Bits = None,
    holdout: t.Holdout = None,
    label_separator: t.LabelSeparator = None,
    weight: t.Weight = None,
    class_weight: t.ClassWeight = None,
    calibrate: t.Calibrate = "sigmoid",
    target: t.Target = None,
    seed: t.Seed = 0,
    memory: t.Memory = 128,
    checkpoint: t.Checkpoint = None,
    every: t.Every = 60.0,
    every_rows: t.EveryRows = None,
    resume: t.Resume = False,
    start: t.Start = None,
    jobs: t.Jobs = -1,
    workers: o.Workers = None,
    shards: o.Shards = None,
    format: o.Format = None,
    header: o.Header = None,
    missing: o.Missing = None,
    skip_bad_rows: o.SkipBadRows = False,
    dry_run: t.DryRun = False,
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
    from rosenblatt.cli.progress import ProgressPrinter
    from rosenblatt.estimators._interrupts import Stopped
    from rosenblatt.estimators.file_options import Reading
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
        display.say_what_was_understood(Reading(**reading).open(files))
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
