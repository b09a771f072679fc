"""``rosenblatt certify``: can a hyperplane separate the classes of a file? With proof."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated

import typer

from rosenblatt.cli import options as o
from rosenblatt.cli.lines import say


def certify(
    files: Annotated[list[str], typer.Argument(help="Files of numbers with labels.")],
    label: o.Label = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the certificate here, as JSON.")
    ] = None,
    format: o.Format = None,
    header: o.Header = None,
    intercept: Annotated[bool, typer.Option(help="Whether hyperplanes have an intercept.")] = True,
    strategy: Annotated[
        str, typer.Option(help="Several classes: one-vs-rest (ovr) or one-vs-one (ovo).")
    ] = "ovr",
    time_limit: Annotated[float | None, typer.Option(help="Time limit in seconds.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the certificate as JSON.")] = False,
) -> None:
    """Decide whether a hyperplane separates the classes, and prove it.

    Integers are read exactly, decimal fractions as the nearest double. Labels are text: 1, 01 and
    1.0 are three classes.

    Examples:

      rosenblatt certify flowers.csv --label species --out flowers.certificate

      rosenblatt certify digits.csv --label y --strategy ovo
    """
    from rosenblatt.atomic_files import check_output
    from rosenblatt.data import read_arrays
    from rosenblatt.data.bytes import expand_paths
    from rosenblatt.theory import CertificateSource
    from rosenblatt.theory import certify as decide

    if out is not None:
        check_output(out, expand_paths(files), "certificate")
    table = read_arrays(files, label, format=format, header=header)
    certificate = decide(
        table.X, table.y, fit_intercept=intercept, strategy=strategy, time_limit=time_limit
    ).with_source(CertificateSource(table.label, table.header, table.columns))
    if json:
        typer.echo(json_module.dumps(certificate.to_dict()))
    else:
        say(certificate.report())
    if out is not None:
        certificate.save(out)
        if not json:
            command = f"rosenblatt verify {out} {' '.join(files)}"
            say(f"Certificate written to {out}; check it with: {command}")
