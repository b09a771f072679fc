"""``rosenblatt certify``: can a hyperplane separate the classes of a file? With proof."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def certify(
    data: Annotated[
        Path, typer.Argument(help="CSV, TSV or svmlight file of numbers, plain or compressed.")
    ],
    label: Annotated[
        str | None,
        typer.Option(
            help="Column of the labels (its number, from 0, without a header); else the last."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the certificate here, as JSON.")] = None,
    header: Annotated[bool, typer.Option(help="Whether the first line names the columns.")] = True,
    intercept: Annotated[
        bool, typer.Option(help="Whether hyperplanes may miss the origin.")
    ] = True,
    strategy: Annotated[
        str, typer.Option(help="Several classes: each against the rest (ovr) or in pairs (ovo).")
    ] = "ovr",
    time_limit: Annotated[float | None, typer.Option(help="Seconds to try.")] = None,
) -> None:
    """Decide whether a hyperplane separates the classes, and prove it.

    Whole numbers count exactly as they stand, decimal fractions as the nearest double.
    """
    from rosenblatt.cli._table import read_labelled
    from rosenblatt.theory import CertificateSource
    from rosenblatt.theory import certify as decide

    table = read_labelled(data, label, header)
    certificate = decide(
        table.X, table.y, fit_intercept=intercept, strategy=strategy, time_limit=time_limit
    ).with_source(CertificateSource(table.label, header, table.columns))
    typer.echo(certificate.report())
    if out is not None:
        certificate.save(out)
        typer.echo(f"Certificate written to {out}; check it with: rosenblatt verify {out} {data}")
