"""``rosenblatt verify``: does a certificate hold for this file?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def verify(
    certificate: Annotated[Path, typer.Argument(help="Certificate written by rosenblatt certify.")],
    data: Annotated[Path, typer.Argument(help="The file it is about.")],
    label: Annotated[
        str | None, typer.Option(help="Column of the labels, if it has another name now.")
    ] = None,
) -> None:
    """Check every claim of a certificate in whole numbers: exit 0 if proven, 1 if refuted."""
    from rosenblatt.cli._table import read_labelled
    from rosenblatt.theory import CertificateSet, load_certificate
    from rosenblatt.theory import verify as check

    loaded = load_certificate(certificate)
    first = next(iter(loaded.values())) if isinstance(loaded, CertificateSet) else loaded
    source = first.source
    if label is None and source is not None:
        label = source.label or None
    table = read_labelled(data, label, header=source is None or source.header)
    result = check(loaded, table.X, table.y)
    if not result:
        typer.echo(f"REFUTED: {result.reason}", err=True)
        raise typer.Exit(1)
    typer.echo(f"PROVEN: {loaded.verdict}; {result.reason}.")
