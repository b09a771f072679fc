"""The data of a trace: rows with names, labels as signs, and the rule for a mistake."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rosenblatt.errors import counted
from rosenblatt.reference import Vector, dot
from rosenblatt.rules import MISTAKE_RULES

_MOST_DENSE = 10_000_000  # values of a sparse matrix converted to dense


@dataclass(frozen=True)
class TraceProblem:
    """A small data set and a mistake rule, checked, as the reference algorithm takes them.

    Attributes
    ----------
    X, signs
        The rows, and -1 or +1 for each.
    feature_names, row_names
        One name per column and per row.
    classes
        The two labels of the input, the one for -1 first.
    padding
        The padding constant c; None without a bias.
    threshold, mistake
        When an example counts as mistaken.

    Examples
    --------
    >>> problem = TraceProblem.of([[2, 1], [-1, 1]], ["yes", "no"])
    >>> problem.signs, problem.classes, problem.padded(1)
    ((1, -1), ('no', 'yes'), (1, -1, -1))
    """

    X: tuple[Vector, ...]
    signs: tuple[int, ...]
    feature_names: tuple[str, ...]
    row_names: tuple[str, ...]
    classes: tuple[Any, Any]
    padding: Any | None
    threshold: Any
    mistake: str

    def __repr__(self) -> str:
        rows, width = counted(len(self.X), "row"), counted(len(self.feature_names), "feature")
        return f"<TraceProblem: {rows} of {width}, classes {self.classes[0]} and {self.classes[1]}>"

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        *,
        feature_names: Sequence[str] | None = None,
        row_names: Sequence[str] | None = None,
        padding: Any | None = 1,
        threshold: Any = 0,
        mistake: str = "margin",
    ) -> TraceProblem:
        """Check the rows and labels of an array, a data frame or nested sequences."""
        feature_names = column_names(X) if feature_names is None else feature_names
        rows, labels = plain_rows(X), plain_values(y)
        if len(rows) != len(labels):
            raise ValueError(f"X has {len(rows)} rows but y has {len(labels)} labels")
        width = len(rows[0])
        names = feature_names or [f"x{j + 1}" for j in range(width)]
        titles = row_names or [f"row {i + 1}" for i in range(len(rows))]
        if len(names) != width or len(titles) != len(rows):
            raise ValueError(
                f"{len(names)} feature names and {len(titles)} row names do not fit "
                f"{len(rows)} rows of {width} features"
            )
        if mistake not in MISTAKE_RULES:
            raise ValueError(f"mistake must be one of {MISTAKE_RULES}, not {mistake!r}")
        if not threshold >= 0:
            raise ValueError(f"threshold must be 0 or more, not {threshold!r}")
        if padding is not None and not padding > 0:
            raise ValueError(f"padding must be positive or None, not {padding!r}")
        classes = _classes(labels)
        signs = tuple(1 if label == classes[1] else -1 for label in labels)
        names, titles = tuple(names), tuple(titles)
        return cls(rows, signs, names, titles, classes, padding, threshold, mistake)

    def padded(self, row: int) -> Vector:
        """The row padded by c and multiplied by its label: ``z = y·(x, c)``."""
        pad = () if self.padding is None else (self.padding,)
        return tuple(self.signs[row] * value for value in (*self.X[row], *pad))

    def padded_weights(self, weights: Vector, bias: Any) -> Vector:
        """The weights in the space of the padded rows: ``(w, b/c)``."""
        if self.padding is None:
            return weights
        return (*weights, bias if self.padding == 1 else bias / self.padding)

    @property
    def sqradius(self) -> Any:
        """R², the square of the length of the longest padded row."""
        return max(dot(z, z) for z in map(self.padded, range(len(self.X))))

    def label(self, sign: int) -> str:
        """The sign as text, with the class name if it is not the sign itself."""
        written = "+1" if sign > 0 else "-1"
        if set(self.classes) == {-1, 1}:
            return written
        return f"{written} ({self.classes[sign > 0]})"


def column_names(X: Any) -> list[str] | None:
    """The names of the columns of a data frame; None for other containers."""
    return [str(name) for name in X.columns] if hasattr(X, "columns") else None


def plain_values(values: Any) -> list[Any]:
    """Python numbers and strings from an array, a series or a sequence."""
    for method in ("tolist", "to_list"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    return [value.item() if hasattr(value, "item") else value for value in values]


def plain_rows(X: Any) -> tuple[Vector, ...]:
    """The rows of an array, a data frame or nested sequences, as Python numbers."""
    if hasattr(X, "toarray"):
        from rosenblatt.theory.checker.input_data import to_dense  # SciPy's import takes 0.1 s

        X = to_dense(X, _MOST_DENSE, "trace")
    elif hasattr(X, "to_numpy"):
        X = X.to_numpy()
    rows = tuple(tuple(plain_values(row)) for row in X)
    if not rows or not rows[0]:
        raise ValueError("a trace needs at least one row and one feature")
    for i, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ValueError(f"row {i} has {len(row)} features where row 0 has {len(rows[0])}")
        for value in row:
            if not _is_finite_number(value):
                raise ValueError(f"row {i} holds {value!r}, which is not a finite number")
    return rows


def _is_finite_number(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except TypeError:
        return False


def _classes(labels: list[Any]) -> tuple[Any, Any]:
    """The two labels, sorted; if all labels are -1 or all are +1, the other one is implied."""
    classes = sorted(set(labels))
    if classes in ([-1], [1]):
        return -1, 1
    if len(classes) != 2:
        more = "; trace_classes (--multiclass) takes several" if len(classes) > 2 else ""
        raise ValueError(f"a trace needs two classes, but y holds {len(classes)}{more}")
    return classes[0], classes[1]
