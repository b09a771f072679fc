"""
Incomes and forests, column by column
=====================================

Two well-known tables as sums of curves: who earns more than 50,000 dollars (*adult*, 32,561 rows),
and what kind of forest covers a place (*covtype*, 40,000 rows, four of the seven classes). The
number in a title is the mean size of the part; grey: where the rows are. Incomes rise until the age
of about 50, capital gains decide alone, and spruce, lodgepole and ponderosa pine follow each other
down the mountain. The numbers were made by ``benchmarks/make_shapes.py``, as the data are not in
the repository.
"""

import json
from pathlib import Path

import numpy as np

from rosenblatt.viz import ShapeDisplay
from rosenblatt.viz.shapes import Shape

folder = Path.cwd().resolve()
results = next(
    path / "benchmarks" / "results" / "shapes.json"
    for path in (folder, *folder.parents)
    if (path / "benchmarks" / "results" / "shapes.json").exists()
)
tables = json.loads(results.read_text())


def drawn(name):
    shapes = []
    for shape in tables[name]["shapes"]:
        grids = [g if isinstance(g[0], str) else np.array(g) for g in shape["grids"]]
        shapes.append(Shape(**shape | {"grids": grids, "values": np.array(shape["values"])}))
    return ShapeDisplay(shapes, tables[name]["classes"]).plot()


drawn("adult")

# %%
# Each row is a column of the table, each panel a class.
drawn("covtype")
