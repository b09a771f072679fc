"""`rosenblatt predict`: predicted labels and scores for the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rosenblatt.cli import options as o
from rosenblatt.counts import counted


def predict(
    model: Annotated[Path, typer.Argument(help="The model file.")],
    files: Annotated[list[str], typer.Argument(help="Files to predict; they need no labels.")],
    out: Annotated[Path, typer.Option(help="Output file: .csv, .tsv, .jsonl, .parquet or .arrow.")],
    format: o.Format = None,
    header: o.Header = None,
    skip_bad_rows: o.SkipBadRows = False,
    quiet: o.Quiet = False,
) -> None:
    """Write the rows of a file, in order, with the columns `predicted` and `score` added.

    Examples:

      rosenblatt predict reviews.model new.csv --out predicted.csv

      rosenblatt predict reviews.model 'new/*.parquet' --out predicted.parquet
    """
    from rosenblatt.cli.startup import skip_blas

    skip_blas()
    from rosenblatt import data
    from rosenblatt.jobs.predict import predict as run
    from rosenblatt.models import load

    loaded = load(model)
    source = data.open(
        files, format=format, header=header, skip_bad_rows=skip_bad_rows, features=loaded.features
    )
    source.labelled = False
    rows = run(loaded, source, out)
    if not quiet:
        left = f", {counted(source.bad, 'bad row')} skipped" if source.bad else ""
        typer.echo(f"{out}: {counted(rows, 'row')}{left}")
