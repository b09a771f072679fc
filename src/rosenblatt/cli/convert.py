"""`rosenblatt convert`: tables from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rosenblatt.cli import options as o
from rosenblatt.errors import counted


def convert(
    files: Annotated[list[str], typer.Argument(help="The files of a table.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="A .parquet, .arrow, .csv, .tsv, .jsonl, .svm, .vw, .ft file, or a .cache folder.",
        ),
    ],
    label: o.Label = None,
    text: o.Text = None,
    column: o.Columns = None,
    ngrams: Annotated[
        int | None, typer.Option(min=1, max=20, help="Longest n-gram of words in a cache; 2.")
    ] = None,
    bits: Annotated[
        int | None, typer.Option(min=8, max=30, help="Hash to 2^BITS columns in a cache; 22.")
    ] = None,
    format: o.Format = None,
    header: o.Header = None,
    missing: o.Missing = None,
    skip_bad_rows: o.SkipBadRows = False,
    quiet: o.Quiet = False,
) -> None:
    """Convert tables to another format, or hash them once for many training runs.

    Parquet and Arrow files are smaller than CSV and faster to train from. Files for svmlight
    (.svm), Vowpal Wabbit (.vw) and fastText (.ft) begin each line with the label. A .cache folder
    holds hashed rows that train and evaluate read like a file.

    Examples:

      rosenblatt convert reviews.csv.gz --out reviews.parquet

      rosenblatt convert 'logs/*.jsonl' --out logs.arrow --skip-bad-rows

      rosenblatt convert reviews.csv --label sentiment --out reviews.ft

      rosenblatt convert reviews.csv --label sentiment --out reviews.cache
    """
    from rosenblatt.data.convert import convert as run
    from rosenblatt.kernels.text import Ngrams

    reading = o.reading(label, text, column, format, header, skip_bad_rows, missing)
    is_default = ngrams is None and bits is None
    spec = None if is_default else Ngrams(1, ngrams or 2, bits=bits or 22)
    rows, bad = run(files, out, ngrams=spec, **reading)
    if not quiet:
        left = f", {counted(bad, 'bad row')} skipped" if bad else ""
        typer.echo(f"{out}: {counted(rows, 'row')}{left}")
