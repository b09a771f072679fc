"""Charts of the tables on a page: what is drawn is what stands there.

A line ``<!-- chart: CAPTION; COLUMN / COLUMN; least by row -->`` above a table draws these columns
and sets the best values in bold. ``by row`` compares the columns in each row, in one panel; ``by
column`` compares the rows in each column, in a panel each. ``most`` instead of ``least`` says that
more is better.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

_CHART = re.compile(
    r"^<!-- chart: (?P<caption>[^;]+); (?P<columns>[^;]+); "
    r"(?P<best>least|most) by (?P<way>row|column) -->\n\n?(?P<table>(?:^\|.*\n)+)",
    re.MULTILINE,
)
_NUMBER = re.compile(r"^[-+]?[\d,]*\.?\d+")
_COLOURS = ("#8A8A8A", "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9")
_WIDEST = 40  # characters of a line of a label
_PANELS = 3  # side by side


class _Figure(float):
    """A number, and how the table writes it."""

    text: str

    @classmethod
    def of(cls, cell: str) -> _Figure | None:
        number = None if cell.endswith("?") else _NUMBER.match(cell.lstrip("*"))
        if number is None:
            return None
        figure = cls(number[0].replace(",", ""))
        figure.text = number[0]
        return figure


def with_charts(page: str, folder: Path, name: str, link: str) -> str:
    """The page with a chart above each marked table, and the best values of it in bold."""
    count = 0

    def complete(match: re.Match[str]) -> str:
        nonlocal count
        count += 1
        head, *rows = [_cells(line) for line in match["table"].splitlines() if not _is_rule(line)]
        chosen = [head.index(column.strip()) for column in match["columns"].split(" / ")]
        values = [[_Figure.of(row[j]) for j in chosen] for row in rows]
        best = _best(values, match["best"] == "least", match["way"] == "row")
        file = f"{name}-{count}.png"
        folder.mkdir(parents=True, exist_ok=True)
        draw = _draw_rows if match["way"] == "row" else _draw_columns
        drawn = [i for i, row in enumerate(values) if any(value is not None for value in row)]
        labels = _labels(rows, chosen)
        draw(
            [labels[i] for i in drawn], [head[j] for j in chosen], [values[i] for i in drawn],
            {(drawn.index(i), j) for i, j in best}, folder / file,
        )  # fmt: skip
        for i, j in best:
            rows[i][chosen[j]] = f"**{rows[i][chosen[j]]}**"
        table = [head, ["---"] * len(head), *rows]
        caption = match["caption"]
        picture = f"![{caption}]({link}/{file})\n\n*{caption}*\n\n"
        return picture + "".join(f"| {' | '.join(row)} |\n" for row in table)

    return _CHART.sub(complete, page)


def _is_rule(line: str) -> bool:
    return set(line) <= set("|-: ")


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _labels(rows: list[list[str]], chosen: list[int]) -> list[str]:
    """What stands left of the numbers; an empty cell repeats the one above it."""
    width, above = min(chosen), [""] * min(chosen)
    labels = []
    for row in rows:
        above = words = [cell or above[j] for j, cell in enumerate(row[:width])]
        numbers = {word for word in words[1:] if re.fullmatch(r"[\d.,]*( [a-z].*)?", word)}
        label = re.sub(r"[`*]|\$[^$]*\$", "", ", ".join(w for w in words if w not in numbers))
        labels.append("\n".join(textwrap.wrap(label, _WIDEST)[:2]))
    return labels


def _best(values: list[list[Any]], least: bool, by_row: bool) -> set[tuple[int, int]]:
    """The places of the best values."""
    groups = [[(i, j) for j in range(len(row))] for i, row in enumerate(values)]
    if not by_row:
        groups = [list(column) for column in zip(*groups, strict=True)]
    best = set()
    for group in groups:
        filled = [(i, j) for i, j in group if values[i][j] is not None]
        if len(filled) > 1:
            top = (min if least else max)(values[i][j] for i, j in filled)
            best |= {(i, j) for i, j in filled if values[i][j] == top}
    return best


def _is_wide(values: list[list[Any]]) -> bool:
    filled = [value for row in values for value in row if value]
    return bool(filled) and min(filled) > 0 and max(filled) > 40 * min(filled)


def _draw_rows(
    labels: list[str], columns: list[str], values: list[list[Any]], best: Any, file: Path
) -> None:
    """One panel: a group of bars for each row, a colour for each column."""
    from matplotlib import pyplot as plt

    step = len(columns) + 0.7
    figure, ax = plt.subplots(figsize=(8, 0.9 + 0.2 * step * len(labels)), layout="constrained")
    for j, column in enumerate(columns):
        at = [i * step + j for i in range(len(labels))]
        ax.barh(
            at, [row[j] or 0 for row in values], color=_COLOURS[j], height=0.9, label=_plain(column)
        )
        for place, (i, row) in zip(at, enumerate(values), strict=True):
            if row[j] is not None:
                _note(ax, row[j], place, (i, j) in best)
    _finish(ax, values, [i * step + (len(columns) - 1) / 2 for i in range(len(labels))], labels)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(columns), frameon=False)
    _save(figure, file)


def _draw_columns(
    labels: list[str], columns: list[str], values: list[list[Any]], best: Any, file: Path
) -> None:
    """A panel for each column, a bar for each row; the best one in colour."""
    from matplotlib import pyplot as plt

    across = min(len(columns), _PANELS)
    down = -(-len(columns) // across)
    lines = sum(label.count("\n") + 1 for label in labels)
    figure, axes = plt.subplots(
        down, across, figsize=(3 + 2.2 * across, down * (0.8 + 0.24 * lines)),
        layout="constrained", sharey=True, squeeze=False,
    )  # fmt: skip
    for ax in axes.flat[len(columns) :]:
        ax.set_axis_off()
    for j, (ax, column) in enumerate(zip(axes.flat, columns, strict=False)):
        for i, row in enumerate(values):
            if row[j] is not None:
                ax.barh(i, row[j], color=_COLOURS[(i, j) in best], height=0.75)
                _note(ax, row[j], i, (i, j) in best)
        ax.set_title(_plain(column), fontsize="medium")
        _finish(ax, [[row[j]] for row in values], list(range(len(labels))), labels)
    _save(figure, file)


def _note(ax: Any, value: _Figure, place: float, is_best: bool) -> None:
    weight = "bold" if is_best else "normal"
    ax.annotate(
        value.text, (value, place), (3, 0), textcoords="offset points",
        va="center", fontsize=8, weight=weight,
    )  # fmt: skip


def _finish(ax: Any, values: list[list[Any]], places: list[float], labels: list[str]) -> None:
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(left=False)
    ax.set_yticks(places, labels)
    ax.invert_yaxis() if not ax.yaxis_inverted() else None
    if _is_wide(values):
        ax.set_xscale("log")
        low, high = ax.get_xlim()
        ax.set_xlim(low, high * 3)
    else:
        ax.margins(x=0.16)


def _plain(text: str) -> str:
    return re.sub(r"[`*]", "", text)


def _save(figure: Any, file: Path) -> None:
    from matplotlib import pyplot as plt

    figure.savefig(file, dpi=144)
    plt.close(figure)
