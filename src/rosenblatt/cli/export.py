"""`rosenblatt export`: models for other programs, or smaller ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def export(
    model: Annotated[Path, typer.Argument(help="The model file.")],
    out: Annotated[Path, typer.Option(help="A .onnx file, or a .model file without ballast.")],
) -> None:
    """Write a model on numeric columns as ONNX, or any model without what only training needs.

    The ONNX model takes one matrix of floats, a column each, and is checked with onnxruntime.

    Examples:

      rosenblatt export flowers.model --out flowers.onnx

      rosenblatt export reviews.model --out small.model
    """
    from rosenblatt.models import load, save

    loaded = load(model)
    if out.suffix == ".onnx":
        from rosenblatt.jobs.onnx import export_onnx

        export_onnx(loaded, out)
    else:
        save(loaded.sparsified(), out)
    typer.echo(f"{out}: {out.stat().st_size / 1e6:.2f} MB")
