"""`rosenblatt export`: models for other programs, or for prediction only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rosenblatt.cli import options as o
from rosenblatt.cli.lines import readable_size
from rosenblatt.errors import OptionError


def export(
    model: o.ModelFile,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="An .onnx file, or an inference-only .model file.")
    ],
) -> None:
    """Write a model of numeric columns as ONNX, or any model for inference only.

    The ONNX model takes one matrix of floats with a column per feature, and is checked with
    onnxruntime. An inference-only model drops the state that further training needs.

    Examples:

      rosenblatt export flowers.model --out flowers.onnx

      rosenblatt export reviews.model --out small.model
    """
    from rosenblatt.atomic_files import check_output
    from rosenblatt.models.model_file import read_model

    if out.suffix not in (".onnx", ".model"):
        raise OptionError(f"{out}: a model is exported to a .onnx or a .model file")
    check_output(out, [model], "model")
    loaded = read_model(model)
    if out.suffix == ".onnx":
        from rosenblatt.models.onnx import export_onnx

        export_onnx(loaded, out)
    else:
        loaded.sparsified().save(out)
    typer.echo(f"{out}: {readable_size(out.stat().st_size)}")
