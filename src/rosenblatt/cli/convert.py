"""`rosenblatt convert`: tables from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rosenblatt.cli import options as o


def convert(
    files: Annotated[list[str], typer.Argument(help="Files of a table.")],
    out: Annotated[Path, typer.Option(help="A .parquet, .arrow, .csv, .tsv or .jsonl file.")],
    format: o.Format = None,
    header: o.Header = None,
    skip_bad_rows: o.SkipBadRows = False,
    quiet: o.Quiet = False,
) -> None:
    """Write tables in another format, numbers as numbers.

    Parquet and Arrow files are smaller than CSV and quicker to train from.

    Examples:

      rosenblatt convert reviews.csv.gz --out reviews.parquet

      rosenblatt convert 'logs/*.jsonl' --out logs.arrow --skip-bad-rows
    """
    from rosenblatt.jobs.convert import convert as run

    rows, bad = run(files, out, format=format, header=header, skip_bad_rows=skip_bad_rows)
    if not quiet:
        left = f", {bad:,} bad rows left out" if bad else ""
        typer.echo(f"{out}: {rows:,} rows{left}")
