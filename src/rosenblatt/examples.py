"""Small data sets for teaching, as plain numbers: one word or measurement per column.

The demo, the traces, the lab and the tests use them. This module imports nothing else of the
package; only iris needs scikit-learn, when it is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

Row = tuple[float, ...]


@dataclass(frozen=True)
class Example:
    """A small data set with names for rows and columns, and the mistake rule of its source.

    Attributes
    ----------
    name, title
        The name to load it by, and a description.
    feature_names, row_names
        One name per column and per row.
    X, y
        The rows, and their labels: -1 or +1; with more than two classes 0, 1, 2, ...
    class_names
        What the labels mean, in order.
    mistake
        The mistake rule of the source, ``"margin"`` or ``"sign"``.
    fit_intercept
        Whether the source trains a bias.

    Examples
    --------
    >>> movies = load("movies")
    >>> movies.feature_names
    ('movie', 'good', 'bad', 'not')
    >>> movies.row_names[2], movies.X[2], movies.y[2]
    ('not good', (0, 1, 0, 1), -1)
    """

    name: str
    title: str
    feature_names: tuple[str, ...]
    row_names: tuple[str, ...]
    X: tuple[Row, ...]
    y: tuple[int, ...]
    class_names: tuple[str, ...] = ("-1", "+1")
    mistake: str = "margin"
    fit_intercept: bool = True


def load(name: str) -> Example:
    """The example of this name, one of :data:`NAMES`.

    Examples
    --------
    >>> load("xor").y
    (-1, 1, 1, -1)
    >>> load("iris").X[0], len(load("iris").X)
    ((1.4, 0.2), 100)
    """
    if name not in _EXAMPLES:
        raise ValueError(f"there is no example {name!r}; choose one of {', '.join(NAMES)}")
    return _EXAMPLES[name]()


def _movies() -> Example:
    return Example(
        name="movies",
        title="three movie reviews over the words movie, good, bad, not",
        feature_names=("movie", "good", "bad", "not"),
        row_names=("movie good", "movie bad", "not good"),
        X=((1, 1, 0, 0), (1, 0, 1, 0), (0, 1, 0, 1)),
        y=(1, -1, -1),
        class_names=("negative", "positive"),
        mistake="sign",
        fit_intercept=False,
    )


def _not_good() -> Example:
    return Example(
        name="not-good",
        title="good, bad, not good, not bad: single words cannot tell them apart",
        feature_names=("good", "bad", "not"),
        row_names=("good", "bad", "not good", "not bad"),
        X=((1, 0, 0), (0, 1, 0), (1, 0, 1), (0, 1, 1)),
        y=(1, -1, -1, 1),
        class_names=("negative", "positive"),
        mistake="sign",
        fit_intercept=False,
    )


def _not_good_bigrams() -> Example:
    return Example(
        name="not-good-bigrams",
        title="good, bad, not good, not bad: with pairs of words they can be told apart",
        feature_names=("good", "bad", "not", "not good", "not bad"),
        row_names=("good", "bad", "not good", "not bad"),
        X=((1, 0, 0, 0, 0), (0, 1, 0, 0, 0), (1, 0, 1, 1, 0), (0, 1, 1, 0, 1)),
        y=(1, -1, -1, 1),
        class_names=("negative", "positive"),
        mistake="sign",
        fit_intercept=False,
    )


def _gate(name: str, title: str, y: tuple[int, int, int, int]) -> Example:
    return Example(
        name=name,
        title=title,
        feature_names=("p", "q"),
        row_names=("neither", "only q", "only p", "both"),
        X=((0, 0), (0, 1), (1, 0), (1, 1)),
        y=y,
        class_names=("false", "true"),
    )


def _triangle() -> Example:
    return Example(
        name="triangle",
        title="three classes at the corners of a triangle",
        feature_names=("across", "up"),
        row_names=("left 1", "left 2", "right 1", "right 2", "top 1", "top 2"),
        X=((0, 0), (1, 0), (4, 0), (4, 1), (2, 3), (2, 4)),
        y=(0, 0, 1, 1, 2, 2),
        class_names=("left", "right", "top"),
    )


def _iris() -> Example:
    from sklearn.datasets import load_iris

    measured, species = load_iris(return_X_y=True)
    rows = [i for i, kind in enumerate(species) if kind in (0, 1)]
    return Example(
        name="iris",
        title="iris setosa and versicolor by petal length and width in centimetres",
        feature_names=("petal length", "petal width"),
        row_names=tuple(f"flower {i + 1}" for i in rows),
        X=tuple((float(measured[i, 2]), float(measured[i, 3])) for i in rows),
        y=tuple(1 if species[i] == 1 else -1 for i in rows),
        class_names=("setosa", "versicolor"),
    )


_EXAMPLES: MappingProxyType[str, Callable[[], Example]] = MappingProxyType(
    {
        "movies": _movies,
        "not-good": _not_good,
        "not-good-bigrams": _not_good_bigrams,
        "and": lambda: _gate("and", "p and q", (-1, -1, -1, 1)),
        "or": lambda: _gate("or", "p or q", (-1, 1, 1, 1)),
        "xor": lambda: _gate("xor", "either p or q: no line separates them", (-1, 1, 1, -1)),
        "iris": _iris,
        "triangle": _triangle,
    }
)

NAMES = tuple(_EXAMPLES)
SEVERAL_CLASSES = ("triangle",)
TWO_CLASSES = tuple(name for name in NAMES if name not in SEVERAL_CLASSES)
