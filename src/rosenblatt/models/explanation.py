"""Explanations: the contributions of features to the scores of a row."""

from __future__ import annotations

import html
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rosenblatt.errors import OptionError, listed
from rosenblatt.kernels.fasttext import merged
from rosenblatt.learners.problems import decided
from rosenblatt.models.rows import one_row

if TYPE_CHECKING:
    from rosenblatt.models.model import Model

_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """The contribution of each feature of a row to its scores; with the biases they sum to them.

    Attributes
    ----------
    classes : tuple of str
        With two classes, positive contributions are for the second; with ordered ones for higher
        classes.
    features : list of str or int
        The name of each feature of the row, or its hashed column if the name is unknown.
    contributions : array (features, problems)
        Value times weight; one problem for two classes, else one per class.
    bias : array (problems,)
    threshold : float, or one per label
        The score above which the second of two classes, or one of several labels, is predicted.
    multilabel : bool
        Whether a row may have several labels, or none.
    cuts : tuple of float
        The thresholds between ordered classes, which have one problem; else empty.
    elected : str
        The predicted class if pairs of classes voted; else empty. The score of another class is
        then that of it against the predicted one; the score of the predicted class is that of it
        against the next best of those that it beats.

    Examples
    --------
    >>> Explanation(("no", "yes"), ["good", 7], np.array([[2.0], [-0.5]]), np.array([0.25]))
    <Explanation: 'yes', score +1.75 = good +2.00, 7 -0.50, bias +0.25>
    """

    classes: tuple[str, ...]
    features: list[str | int]
    contributions: npt.NDArray[Any]
    bias: npt.NDArray[Any]
    threshold: Any = 0.0
    multilabel: bool = False
    cuts: tuple[float, ...] = ()
    elected: str = ""

    @property
    def scores(self) -> npt.NDArray[Any]:
        """The scores, one per problem."""
        return np.asarray(self.contributions.sum(axis=0) + self.bias)

    @property
    def labels(self) -> tuple[str, ...]:
        """The predicted label, or all of them if a row may have several."""
        if self.elected:
            return (self.elected,)
        if self.cuts:
            return (self.classes[int(np.searchsorted(self.cuts, self.scores[0]))],)
        [decision] = decided(self.scores[None, :], self.threshold, self.multilabel)
        if self.multilabel:
            return tuple(self.classes[i] for i in np.flatnonzero(decision))
        return (self.classes[decision],)

    @property
    def predicted(self) -> str:
        """The predicted labels, separated by commas; ``"no label"`` if there is none."""
        return ", ".join(self.labels) or "no label"

    @property
    def explained(self) -> str:
        """The class that is explained by default: the highest, or that of the largest score."""
        return (
            self.elected or self.classes[-1 if len(self.bias) == 1 else int(self.scores.argmax())]
        )

    def top(
        self, count: int | None = None, label: str | None = None
    ) -> list[tuple[str | int, float]]:
        """Features by their contribution to the score of a class, strongest first.

        By default of the class with the largest score; of two classes always of the second.
        """
        values = self.contributions[:, self._problem(label)]
        order = np.argsort(-np.abs(values), kind="stable")[:count]
        return [(self.features[i], float(values[i])) for i in order if values[i] != 0]

    def sum_of(
        self, count: int, label: str | None = None
    ) -> tuple[list[tuple[str | int, float]], float, float, float]:
        """The strongest features, the sum of all others, the bias, and the score, their total.

        >>> Explanation(("n", "y"), ["a", "b"], np.array([[2.0], [0.5]]), np.array([1.0])).sum_of(1)
        ([('a', 2.0)], 0.5, 1.0, 3.5)
        """
        problem = self._problem(label)
        top, bias = self.top(count, label), float(self.bias[problem])
        score = float(self.scores[problem])
        return top, score - bias - sum(value for _, value in top), bias, score

    def to_json(self) -> dict[str, Any]:
        """The explanation as plain data; per feature one contribution, or one per class."""
        two = len(self.bias) == 1
        return {
            "predicted": list(self.labels) if self.multilabel else self.predicted,
            "classes": list(self.classes),
            "scores": self.scores.tolist(),
            "bias": self.bias.tolist(),
            "features": [
                {"feature": name, "contributions": row.tolist()[0] if two else row.tolist()}
                for name, row in zip(self.features, self.contributions, strict=True)
            ],
        }

    def _problem(self, label: str | None) -> int:
        if label is not None and label not in self.classes:
            raise OptionError(f"{label!r} is not a class of the model: {listed(self.classes)}")
        return 0 if len(self.bias) == 1 else self.classes.index(label or self.explained)

    def __repr__(self) -> str:
        top, _, bias, score = self.sum_of(_SHOWN)
        parts = [f"{name} {value:+.2f}" for name, value in top]
        more = ["..."] if len(self.top()) > _SHOWN else []
        listed = ", ".join([*parts, *more, f"bias {bias:+.2f}"])
        return f"<Explanation: {self.predicted!r}, score {score:+.2f} = {listed}>"

    def _repr_html_(self) -> str:
        top, _, bias, score = self.sum_of(20)
        rows = "".join(
            f"<tr><td>{html.escape(str(name))}</td><td>{value:+.3f}</td></tr>"
            for name, value in [*top, ("bias", bias)]
        )
        head = "<tr><th>feature</th><th>contribution</th></tr>"
        return (
            f"<p>{html.escape(self.predicted)}, score {score:+.3f}</p><table>{head}{rows}</table>"
        )


def explained(model: Model, row: Any) -> Explanation:
    """The explanation of one row; see :meth:`rosenblatt.Model.explain`."""
    rows, table = one_row(model, row)
    rows = rows if model.features.fasttext is None else merged(rows)
    names = model.features.names(table, rows.indices.tolist(), whole=True)
    places = model.places_of(rows.indices)
    weights = np.zeros((len(places), model.weights.shape[1]))
    weights[places >= 0] = model.weights[places[places >= 0]]
    bias, cuts, elected = model.bias, np.empty(0), ""
    if model.is_ordered:
        bias, cuts = np.diff(bias)[:1], bias[1] - bias[0] - np.diff(bias)
    elif model.by_pairs:
        ranked = model.ranked(model.scores(rows))[0].tolist()
        elected = model.classes[ranked[0]]
        sides = _against(ranked, bias + rows.values @ weights)
        weights, bias = weights @ sides, bias @ sides
    elif model.head is not None:  # by the slopes of the scores, and what is left in the bias
        weights = weights @ model.head.slopes(model.sums(rows)[0])
        bias = model.scores(rows)[0] - rows.values @ weights
    named = [names.get(column, column) for column in rows.indices.tolist()]
    contributions = rows.values[:, None] * weights
    if model.features.lift is not None:
        owners = model.features.owners(table)
        named = [owner or name for owner, name in zip(owners, named, strict=True)]
    # What a lift makes of a column, or of two, and a word and pieces of it count together.
    place = {name: i for i, name in enumerate(dict.fromkeys(named))}
    sums = np.zeros((len(place), len(bias)))
    np.add.at(sums, np.array([place[name] for name in named], np.intp), contributions)
    return Explanation(
        model.classes,
        list(place),
        sums,
        bias,
        model.threshold,
        model.multilabel,
        tuple(cuts.tolist()),
        elected,
    )


def _against(ranked: list[int], scores: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The signs (pairs, classes) by which each class is set against the first of a ranking.

    The first itself is set against the next of those that it beats.

    >>> _against([2, 0, 1], np.array([0.0, 1.0, 1.0])).T.tolist()
    [[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]
    """
    first = ranked[0]
    numbers = {pair: i for i, pair in enumerate(combinations(range(len(ranked)), 2))}
    signs = np.zeros((len(numbers), len(ranked)))
    beaten = -1
    for c in ranked[1:]:
        pair, sign = numbers[min(c, first), max(c, first)], 1.0 if c > first else -1.0
        signs[pair, c] = sign
        if beaten < 0 and sign * scores[pair] <= 0:
            beaten = c
            signs[pair, first] = -sign
    return signs
