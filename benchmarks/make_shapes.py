"""The curves of models of adult and covtype, as numbers for the gallery.

    python -m benchmarks.make_shapes

The data are not in the repository: this trains on the training rows of adult and on the first
40,000 of covtype, and writes the grids and the values of the most important columns and pairs to
``benchmarks/results/shapes.json``, with quantiles of the columns in place of their cells. Each
build of the pages draws them (``docs/examples/3_lifts/plot_adult_and_covtype.py``).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.tables import adult, covtype
from rosenblatt import train
from rosenblatt.viz import ShapeDisplay

RESULTS = Path(__file__).parent / "results" / "shapes.json"
ADULT = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week",
    "native-country",
]  # fmt: skip
COVTYPE = [
    "elevation", "aspect", "slope", "to-water-across", "to-water-up", "to-road", "shade-9",
    "shade-12", "shade-15", "to-fire",
]  # fmt: skip
COVERS = ["spruce", "lodgepole", "ponderosa", "willow", "aspen", "douglas", "krummholz"]
SHOWN = (0, 1, 2, 6)  # the classes of covtype in the picture
ROWS = 40_000


def frames() -> dict[str, tuple[pa.Table, dict[str, Any]]]:
    """The rows, and the options of training."""
    table = adult()
    named = zip(ADULT, table.columns.values(), strict=True)
    columns = {
        n: pa.array(cells.tolist() if cells.dtype == object else cells) for n, cells in named
    }
    incomes = pa.table(columns | {"label": pa.array(table.labels)})
    table = covtype().rows(np.arange(ROWS))
    kinds = [f"wilderness-{i}" for i in range(1, 5)] + [f"soil-{i}" for i in range(1, 41)]
    named = zip(COVTYPE + kinds, table.columns.values(), strict=True)
    columns = {n: pa.array(cells) for n, cells in named}
    covers = [COVERS[int(float(label)) - 1] for label in table.labels]
    return {
        "adult": (incomes, {"lift": "pairs"}),
        "covtype": (
            pa.table(columns | {"label": pa.array(covers)}),
            {"lift": "pairs", "epochs": 5},
        ),
    }


def plain(shape: Any, classes: list[int]) -> dict[str, Any]:
    """A shape as plain data of few digits."""
    grids, cells = [], []
    for grid, column in zip(shape.grids, shape.cells, strict=True):
        is_number = not isinstance(grid, list)
        grids.append([float(f"{x:.5g}") for x in grid] if is_number else grid)
        steps = np.linspace(0, 1, 201)
        quantiles = np.quantile(column, steps) if is_number else []
        cells.append([float(f"{x:.4g}") for x in quantiles])
    values = shape.values[..., classes].round(3)
    return {
        "name": shape.name, "importance": round(shape.importance, 3), "grids": grids,
        "values": values.tolist(), "cells": cells,
    }  # fmt: skip


def main() -> None:
    """Write the numbers."""
    made = {}
    for name, (table, options) in frames().items():
        model = train(table, label="label", **options)
        two = len(model.classes) == 2
        chosen = [0] if two else [model.classes.index(COVERS[c]) for c in SHOWN]
        display = ShapeDisplay.from_model(model, table, top=6 if two else 3)
        made[name] = {
            "classes": list(model.classes) if two else [model.classes[c] for c in chosen],
            "shapes": [plain(shape, chosen) for shape in display.shapes],
        }
    RESULTS.write_text(json.dumps(made, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
