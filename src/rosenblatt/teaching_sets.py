"""Small data sets for teaching: one word or measurement per column.

This module imports nothing else of the package; only iris needs scikit-learn, when it is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass

Row = tuple[float, ...]


@dataclass(frozen=True)
class Example:
    """A small data set with names of rows and columns, and the mistake rule of its source.

    Attributes
    ----------
    name, title
        The name to load it by, and a description.
    feature_names, row_names
        One name per column and per row.
    X, y
        The rows, and their labels: -1 or +1; with more than two classes 0, 1, 2, ...
    class_names
        The meaning of the labels, in sorted order.
    mistake
        The mistake rule of the source, ``"margin"`` or ``"sign"``.
    fit_intercept
        Whether the source learns a bias.

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
    """The example with this name, one of :data:`NAMES`.

    Examples
    --------
    >>> load("xor").y
    (-1, 1, 1, -1)
    >>> load("iris").X[0], len(load("iris").X)
    ((1.4, 0.2), 100)
    """
    if name not in NAMES:
        raise ValueError(f"there is no example {name!r}; choose one of {', '.join(NAMES)}")
    return _iris() if name == "iris" else _EXAMPLES[name]


def _reviews(
    name: str,
    title: str,
    words: tuple[str, ...],
    texts: tuple[str, ...],
    X: tuple[Row, ...],
    y: tuple[int, ...],
) -> Example:
    """Reviews as bags of words; as in the notes, with the sign rule and no bias."""
    return Example(name, title, words, texts, X, y, ("negative", "positive"), "sign", False)


def _gate(name: str, title: str, y: tuple[int, int, int, int]) -> Example:
    names, rows = ("neither", "only q", "only p", "both"), ((0, 0), (0, 1), (1, 0), (1, 1))
    return Example(name, title, ("p", "q"), names, rows, y, ("false", "true"))


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


_WRITTEN = (
    _reviews(
        "movies",
        "three movie reviews over the words movie, good, bad, not",
        ("movie", "good", "bad", "not"),
        ("movie good", "movie bad", "not good"),
        ((1, 1, 0, 0), (1, 0, 1, 0), (0, 1, 0, 1)),
        (1, -1, -1),
    ),
    _reviews(
        "not-good",
        "good, bad, not good, not bad: single words cannot tell them apart",
        ("good", "bad", "not"),
        ("good", "bad", "not good", "not bad"),
        ((1, 0, 0), (0, 1, 0), (1, 0, 1), (0, 1, 1)),
        (1, -1, -1, 1),
    ),
    _reviews(
        "not-good-bigrams",
        "good, bad, not good, not bad: with pairs of words they can be told apart",
        ("good", "bad", "not", "not good", "not bad"),
        ("good", "bad", "not good", "not bad"),
        ((1, 0, 0, 0, 0), (0, 1, 0, 0, 0), (1, 0, 1, 1, 0), (0, 1, 1, 0, 1)),
        (1, -1, -1, 1),
    ),
    _gate("and", "p and q", (-1, -1, -1, 1)),
    _gate("or", "p or q", (-1, 1, 1, 1)),
    _gate("xor", "either p or q: no line separates them", (-1, 1, 1, -1)),
    Example(
        name="triangle",
        title="three classes at the corners of a triangle",
        feature_names=("across", "up"),
        row_names=("left 1", "left 2", "right 1", "right 2", "top 1", "top 2"),
        X=((0, 0), (1, 0), (4, 0), (4, 1), (2, 3), (2, 4)),
        y=(0, 0, 1, 1, 2, 2),
        class_names=("left", "right", "top"),
    ),
)
_EXAMPLES = {example.name: example for example in _WRITTEN}

NAMES = ("movies", "not-good", "not-good-bigrams", "and", "or", "xor", "iris", "triangle")
SEVERAL_CLASSES = ("triangle",)
TWO_CLASSES = tuple(name for name in NAMES if name not in SEVERAL_CLASSES)
