"""Explanations: the contributions of features to the scores of a row."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rosenblatt.errors import OptionError, listed
from rosenblatt.learners.problems import decided

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

    @property
    def scores(self) -> npt.NDArray[Any]:
        """The scores, one per problem."""
        return np.asarray(self.contributions.sum(axis=0) + self.bias)

    @property
    def labels(self) -> tuple[str, ...]:
        """The predicted label, or all of them if a row may have several."""
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
        return self.classes[-1 if len(self.bias) == 1 else int(self.scores.argmax())]

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
