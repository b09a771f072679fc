"""Pictures of a model of a table: each column as a curve, each pair of columns as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.models.shapes import contributions
from rosenblatt.viz import style
from rosenblatt.viz.style import FAINT, INK, PALETTE, POSITIVE, Display

_MOST_ROWS = 4000
_POINTS, _CELLS = 200, 40
_MOST_LEVELS = 12
_WIDTH = 3  # panels beside each other, for two classes


class Shape(NamedTuple):
    """The part of the scores that a column or a pair makes, where its columns take `grids`.

    `values` has an axis for each grid, and a last one for the problems; its mean over the rows is
    zero. `cells` are those of the rows, one array for each grid.
    """

    name: str
    importance: float
    grids: list[Any]
    values: Any
    cells: list[Any]


class ShapeDisplay(Display):
    """The score of a table's row as a sum that one can read: curves, bars and heat maps.

    A column of numbers is a curve over the density of the rows, a category bars, a pair of columns
    a heat map. The most important ones come first: those whose part of the score varies most. With
    several classes each row of panels is a column or a pair, and each panel a class.

    Parameters
    ----------
    shapes : sequence of Shape
    classes : sequence of str
        Two classes have one score, positive for the second.

    Examples
    --------
    >>> from rosenblatt import train
    >>> from rosenblatt.viz import ShapeDisplay
    >>> x = np.linspace(-2, 2, 400)
    >>> frame = {"x": x, "z": np.arange(400.0) % 7, "label": np.where(x**2 > 1, "far", "near")}
    >>> display = ShapeDisplay.from_model(train(frame, lift="knots"), frame, top=1)
    >>> display.shapes[0].name, display.axes_.shape
    ('x', (1, 1))
    """

    axes_: Any

    def __init__(self, shapes: Sequence[Shape], classes: Sequence[str]) -> None:
        self.shapes, self.classes = list(shapes), list(classes)

    @classmethod
    def from_model(
        cls, model: Any, X: Any, *, names: Sequence[str] | None = None, top: int = 6
    ) -> ShapeDisplay:
        """Draw a model of :func:`rosenblatt.train` over rows such as those it was trained on.

        Parameters
        ----------
        model : Model
            Of a table without text.
        X : data frame, Arrow table or dict of columns
            By whose rows importance and density are measured; at most 4,000 are taken.
        names : sequence of str
            The columns and pairs to draw, such as ``["age", "age × job"]``.
        top : int
            Unless there are names, how many to draw.
        """
        table = model.table(X)
        step = -(-max(1, table.num_rows) // _MOST_ROWS)
        table = table.take(np.arange(0, table.num_rows, step))
        parts = contributions(model, table)
        sizes = parts.importance
        drawable = [name for name in sizes if name.count(" × ") < 2]
        chosen = drawable[:top] if names is None else list(names)
        for name in chosen:
            if name not in drawable:
                raise ValueError(f"{name!r} is not a column or pair of the model")
        means = dict(zip(parts.names, parts.values.mean(axis=0), strict=True))
        shapes = [_shape(model, table, name, sizes[name], means[name]) for name in chosen]
        return cls(shapes, model.classes).plot()

    def plot(self) -> ShapeDisplay:
        """Draw into a new figure."""
        problems = self.shapes[0].values.shape[-1]
        across = problems if problems > 1 else min(_WIDTH, len(self.shapes))
        down = len(self.shapes) if problems > 1 else -(-len(self.shapes) // across)
        self.figure_, self.axes_ = style.pyplot().subplots(
            down, across, figsize=(3.2 * across, 2.5 * down), layout="constrained", squeeze=False
        )
        panels = [(shape, k) for shape in self.shapes for k in range(problems)]
        for ax in self.axes_.flat[len(panels) :]:
            ax.set_visible(False)
        for ax, (shape, k) in zip(self.axes_.flat, panels, strict=False):
            ax.spines[["top", "right"]].set_visible(False)
            if len(shape.grids) == 1:
                self._draw_curve(ax, shape, k)
            else:
                self._draw_surface(ax, shape, k)
            named = self.classes[k]
            title = f"{shape.name}  {shape.importance:.2g}"
            ax.set_title(f"{title}  {named}" if problems > 1 else title, fontsize=9)
            ax.tick_params(labelsize=7)
        if problems == 1:
            self.figure_.supylabel(f"towards {self.classes[-1]}", fontsize=9)
        self.ax_ = self.axes_.flat[0]
        return self

    def _draw_curve(self, ax: Any, shape: Shape, k: int) -> None:
        grid, cells, values = shape.grids[0], shape.cells[0], shape.values[:, k]
        color = PALETTE[k % len(PALETTE)] if shape.values.shape[-1] > 1 else POSITIVE
        if isinstance(grid, list):
            ax.axvline(0, color=FAINT, linewidth=0.8, zorder=1)
            ax.barh(range(len(grid)), values, color=color, height=0.7)
            ax.set_yticks(range(len(grid)), grid)
            ax.invert_yaxis()
            return
        ax.axhline(0, color=FAINT, linewidth=0.8, zorder=1)
        ax.plot(grid, values, color=color, linewidth=1.6, zorder=3)
        ax.locator_params(axis="x", nbins=5)
        density = ax.twinx()
        density.hist(cells, bins=np.linspace(grid[0], grid[-1], 41), color=FAINT, alpha=0.6)
        density.set_axis_off()
        ax.set_zorder(density.get_zorder() + 1)
        ax.patch.set_visible(False)

    def _draw_surface(self, ax: Any, shape: Shape, k: int) -> None:
        values = shape.values[..., k].T
        most = float(np.abs(values).max()) or 1.0
        edges = [
            np.arange(len(g) + 1) - 0.5 if isinstance(g, list) else _edges(g) for g in shape.grids
        ]
        mesh = ax.pcolormesh(*edges, values, cmap="RdBu", vmin=-most, vmax=most, rasterized=True)
        self.figure_.colorbar(mesh, ax=ax, pad=0.02).ax.tick_params(labelsize=7)
        for grid, setter in zip(shape.grids, (ax.set_xticks, ax.set_yticks), strict=True):
            if isinstance(grid, list):
                setter(range(len(grid)), grid)
        first, second = shape.name.split(" × ", 1)
        ax.set_xlabel(first, fontsize=8, color=INK)
        ax.set_ylabel(second, fontsize=8, color=INK)


def _edges(grid: Any) -> Any:
    """The edges of cells around the points of a grid."""
    half = np.diff(grid) / 2
    return np.concatenate([[grid[0] - half[0]], grid[:-1] + half, [grid[-1] + half[-1]]])


def _shape(model: Any, table: Any, name: str, importance: float, mean: Any) -> Shape:
    """What a column or a pair adds to the scores, wherever its columns are."""
    import pyarrow as pa

    kinds = {c.name: c.kind for c in model.features.columns}
    columns = [name] if name in kinds else _columns_of(model, name)
    points = _POINTS if len(columns) == 1 else _CELLS
    grids, cells = zip(*[_grid(table[c], kinds[c], points) for c in columns], strict=True)
    places = np.meshgrid(*(np.arange(len(grid)) for grid in grids), indexing="ij")
    rows = pa.concat_tables([table.slice(0, 1)] * places[0].size).combine_chunks()
    for column, grid, at in zip(columns, grids, places, strict=True):
        chosen = pa.array([grid[i] for i in at.ravel().tolist()])
        number = rows.column_names.index(column)
        rows = rows.set_column(number, column, chosen)
    parts = contributions(model, rows)
    values = parts.values[:, parts.names.index(name)] - mean
    return Shape(name, importance, list(grids), values.reshape(*places[0].shape, -1), list(cells))


def _columns_of(model: Any, name: str) -> list[str]:
    """The two columns of a pair."""
    lift = model.features.lift
    names = [column.name for column in lift.columns]
    return next([names[a], names[b]] for a, b in lift.pairs if f"{names[a]} × {names[b]}" == name)


def _grid(cells: Any, kind: str, points: int) -> tuple[Any, Any]:
    """The numbers or the most frequent levels of a column, and its cells."""
    import pyarrow.compute as pc

    if kind != "number":
        counts = cells.drop_null().value_counts().to_pylist()
        counts.sort(key=lambda pair: -pair["counts"])
        return [pair["values"] for pair in counts[:_MOST_LEVELS]], cells.to_pylist()
    numbers = pc.cast(cells, "float64").drop_null().to_numpy()
    numbers = numbers[np.isfinite(numbers)]
    low, high = np.quantile(numbers, [0.005, 0.995])
    if low == high:
        low, high = numbers.min(), numbers.max()
    return np.linspace(low, high, points), numbers
