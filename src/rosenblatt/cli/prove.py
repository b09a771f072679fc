"""`rosenblatt certify` and `verify`: can a hyperplane separate the classes of a file?"""

from __future__ import annotations

import json as json_module
from dataclasses import asdict
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

    Integers are read exactly, decimal fractions as the nearest double; svmlight files may hold
    doubles only. Labels are text: 1, 01 and 1.0 are three classes.

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


def verify(
    certificate: Annotated[Path, typer.Argument(help="Certificate written by rosenblatt certify.")],
    files: Annotated[list[str], typer.Argument(help="The files it is about.")],
    label: Annotated[
        str | None,
        typer.Option(help="Label column, if it is not the one named by the certificate."),
    ] = None,
    format: o.Format = None,
    header: o.Header = None,
    json: o.Json = False,
) -> None:
    """Check every claim of a certificate in exact arithmetic: exit 0 if proven, 1 if not.

    Examples:

      rosenblatt verify flowers.certificate flowers.csv
    """
    from rosenblatt.data import read_arrays
    from rosenblatt.theory import CertificateSet, load_certificate
    from rosenblatt.theory import verify as check

    loaded = load_certificate(certificate)
    parts = list(loaded.values()) if isinstance(loaded, CertificateSet) else [loaded]
    source = parts[0].source
    if source is not None and source.label:
        label = source.label if label is None else label
        # A certificate may say that the first row is data, but not that it is a header: that
        # would hide a row.
        header = False if header is None and not source.header else header
    table = read_arrays(files, label, format=format, header=header)
    result = check(loaded, table.X, table.y)
    if json:
        record = asdict(result) | {"verdict": loaded.verdict}
        typer.echo(json_module.dumps(record))
        raise typer.Exit(0 if result else 1)
    if result:
        say(f"PROVEN: {loaded.verdict}, {loaded.speaks_of}; {result.reason}.")
    elif result.holds:
        say(f"NOT PROVEN for this file: {loaded.verdict}; {result.reason}.", err=True)
    else:
        claimed = all(part.exact and part.verdict != "undecided" for part in parts)
        say(f"{'REFUTED' if claimed else 'NOT PROVEN'}: {result.reason}", err=True)
    raise typer.Exit(0 if result else 1)
