"""`rosenblatt compress`: a small model for prediction."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rosenblatt.cli import options as o
from rosenblatt.cli.lines import percent, readable_size
from rosenblatt.errors import counted

if TYPE_CHECKING:
    from rosenblatt.models.compress import Compressed


def compress(
    model: o.ModelFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="The small model file.")],
    size: Annotated[
        str | None, typer.Option(help="The most the file may take, such as 2MB or 300kB.")
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(help="Accuracy on --valid that may be lost, in points, such as 0.1%."),
    ] = None,
    valid: Annotated[
        list[str] | None, typer.Option(help="Files with labels to measure the accuracy on.")
    ] = None,
    format: o.Format = None,
    header: o.Header = None,
    skip_bad_rows: o.SkipBadRows = False,
    quiet: o.Quiet = False,
    json: o.Json = False,
) -> None:
    """Make a model small: it predicts like any model, but cannot be trained further.

    What only training needs is dropped, weights are rounded to float16 or int8, and those that
    change the scores least are left out, until the size or the loss asked for is reached. Without
    --size and --loss, weights become int8 and none is left out.

    Examples:

      rosenblatt compress reviews.model --out small.model --size 2MB

      rosenblatt compress reviews.model -o small.model --loss 0.1% --valid valid.csv
    """
    from rosenblatt.atomic_files import check_output
    from rosenblatt.models.compress import compress as run
    from rosenblatt.models.compress import parse_share, parse_size
    from rosenblatt.models.model_file import read_model

    most = None if size is None else parse_size(size)
    may_lose = None if loss is None else parse_share(loss)
    check_output(out, [model, *(valid or ())], "model")
    loaded = read_model(model)
    reading = {"format": format, "header": header, "skip_bad_rows": skip_bad_rows}
    rows = o.labelled_rows(loaded, valid, **reading) if valid else None
    forms = run(loaded, size=most, loss=may_lose, rows=rows)
    forms[-1].model.save(out)
    if json:
        records = [_size_record(form) for form in forms]
        typer.echo(json_module.dumps({"model": str(out), "forms": records}))
    elif not quiet:
        for line in _table(forms, out):
            typer.echo(line)


def _size_record(form: Compressed) -> dict[str, Any]:
    accuracy = form.accuracy if form.accuracy == form.accuracy else None
    return {
        "bytes": form.bytes,
        "accuracy": accuracy,
        "precision": form.model.precision,
        "features": len(form.model.columns),
        "weights": form.weights,
    }


def _table(forms: list[Compressed], out: Path) -> list[str]:
    lines = [f"{'size':>10}  {'accuracy':>9}  weights"]
    for form in forms:
        state = ", with what only training needs" if form.model.state else ""
        lines.append(
            f"{readable_size(form.bytes):>10}  {percent(form.accuracy):>9}  "
            f"{counted(form.weights, 'weight')} in {form.model.precision}{state}"
        )
    last = forms[-1]
    kept = counted(len(last.model.columns), "feature")
    return [*lines, f"{out}: {readable_size(out.stat().st_size)}, {kept}"]
