"""`rosenblatt certify` and `verify`: can a hyperplane separate the classes of a file?"""

from __future__ import annotations

import json as json_module
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rosenblatt.cli import options as o
from rosenblatt.cli.lines import Styled, say
from rosenblatt.errors import DataError, OptionError, listed, shown


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

    Integers and decimals are the numbers that stand in the file; those of svmlight files are the
    nearest doubles. Labels are text: 1, 01 and 1.0 are three classes.

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
    table = read_arrays(files, label, format=format, header=header, exact=True)
    numbers = "decimals" if table.label else "doubles"  # svmlight has no label column
    certificate = decide(
        table.X, table.y, fit_intercept=intercept, strategy=strategy, time_limit=time_limit
    ).with_source(CertificateSource(table.label, table.header, table.columns, numbers))
    if json:
        typer.echo(json_module.dumps(certificate.to_dict()))
    else:
        verdict, colon, about = certificate.report().partition(":")
        first, *lines = f"{colon}{about}".split("\n")
        say([Styled(verdict, "strong"), first], *lines)
    if out is not None:
        certificate.save(out)
        if not json:
            command = ["rosenblatt", "verify", str(out), *files]
            command += ["--label", table.label] if table.label else []
            say(f"Certificate written to {out}; check it with: {shlex.join(command)}")


def verify(
    certificate: Annotated[Path, typer.Argument(help="Certificate written by rosenblatt certify.")],
    files: Annotated[list[str], typer.Argument(help="The files it is about.")],
    label: Annotated[
        str | None,
        typer.Option(help="The label column that the proof must be about."),
    ] = None,
    format: o.Format = None,
    header: o.Header = None,
    plain: Annotated[
        bool,
        typer.Option(
            "--plain",
            help="Check the verdict by the 200 lines that define it: slow, one CSV or TSV file.",
        ),
    ] = False,
    json: o.Json = False,
) -> None:
    """Check every claim of a certificate in exact arithmetic: exit 0 if proven, 1 if not.

    Examples:

      rosenblatt verify flowers.certificate flowers.csv --label species

      rosenblatt verify flowers.certificate flowers.csv --plain
    """
    if plain:
        _verify_plainly(certificate, files, label, header, json)
    from rosenblatt.data import read_arrays
    from rosenblatt.theory import CertificateSet, load_certificate
    from rosenblatt.theory import verify as check
    from rosenblatt.theory.checker.report import OF_NUMBERS

    loaded = load_certificate(certificate)
    parts = list(loaded.values()) if isinstance(loaded, CertificateSet) else [loaded]
    source = parts[0].source
    named = "" if source is None else source.label
    if source is not None and named:
        # A certificate may say that the first row is data, but not that it is a header: that
        # would hide a row.
        header = False if header is None and not source.header else header
    exact = source is None or source.numbers != "doubles"
    table = read_arrays(files, label or named or None, format=format, header=header, exact=exact)
    if named and table.label not in (named, ""):
        message = f"the certificate is about the label column {shown(named)}"
        raise DataError(f"{message}, not about {shown(table.label)}", path=certificate)
    if source is not None and table.header and source.columns != table.columns:
        message = f"the certificate names the columns {listed(source.columns)}"
        raise DataError(f"{message}, not {listed(table.columns)} as the file", path=certificate)
    result = check(loaded, table.X, table.y)
    column = f"label column {table.label}" if table.label else "labels at the start of lines"
    about = f"{' '.join(files)}, {column}"
    numbers = "decimals" if exact and table.label else "doubles"
    if json:
        answer = asdict(result) | {"verdict": loaded.verdict, "label": table.label}
        answer |= {"numbers": numbers, "speaks_of": loaded.speaks_of}
        typer.echo(json_module.dumps(answer))
    elif result:
        proven = f": {loaded.verdict}, {loaded.speaks_of}; {result.reason}."
        say([Styled("PROVEN", "good"), proven])
        say(f"Of {about}. {OF_NUMBERS[numbers]}")
    elif result.holds:
        say(f"NOT PROVEN for this file: {loaded.verdict}; {result.reason}.", err=True)
    else:
        claimed = all(part.exact and part.verdict != "undecided" for part in parts)
        say(f"{'REFUTED' if claimed else 'NOT PROVEN'}: {result.reason}", err=True)
        if claimed:
            say(f"Asked about {about}.", err=True)
    raise typer.Exit(0 if result else 1)


def _verify_plainly(
    certificate: Path, files: list[str], label: str | None, header: bool | None, json: bool
) -> None:
    """Say whether a certificate is proven by the checker that is the definition, and exit."""
    from rosenblatt.theory.plain_check import NotProvenError, prove

    if len(files) > 1:
        raise OptionError("--plain checks a proof about one file; leave --plain out for several")
    try:
        proven, answer = True, prove(str(certificate), files[0], label, header=header)
    except NotProvenError as error:
        proven, answer = False, str(error)
    if json:
        typer.echo(json_module.dumps({"proven": proven, "reason": answer}))
    else:
        told = f"{'PROVEN for' if proven else 'NOT PROVEN:'} {answer}"  # names in it are escaped
        say(*told.splitlines(), err=not proven)
    raise typer.Exit(0 if proven else 1)
