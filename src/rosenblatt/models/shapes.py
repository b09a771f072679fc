"""What each column, and each pair of columns, contributes to the scores of rows of a table."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rosenblatt.learners.problems import Problems

Array = npt.NDArray[Any]


class Contributions(NamedTuple):
    """The parts of scores that columns and pairs make; with the bias they add up to the scores.

    Attributes
    ----------
    names : list of str
        Columns, and pairs such as ``age × job``.
    values : array (rows, names, problems)
        Of votes of pairs, one for each class: the mean over its pairs.
    """

    names: list[str]
    values: Array

    @property
    def importance(self) -> dict[str, float]:
        """The mean size of each one's contribution, less its own mean, the largest first.

        >>> Contributions(["a", "b"], np.array([[[1.0], [2.0]], [[1.0], [4.0]]])).importance
        {'b': 1.0, 'a': 0.0}
        """
        sizes = np.abs(self.values - self.values.mean(axis=0)).mean(axis=(0, 2))
        order = np.argsort(-sizes, kind="stable").tolist()
        return {self.names[i]: float(sizes[i]) for i in order}


def contributions(model: Any, X: Any) -> Contributions:
    """The contributions to the scores of rows, for a model of a table without text.

    >>> from rosenblatt import train
    >>> frame = {"label": ["a", "b"] * 50, "x": [1.0, 2.0] * 50, "y": [3.0, 5.0, 4.0, 2.0] * 25}
    >>> model = train(frame)
    >>> parts = contributions(model, frame)
    >>> sums = parts.values.sum(axis=(1, 2)) + model.bias[0]
    >>> parts.names, bool(np.allclose(sums, model.decision_function(frame), atol=1e-5))
    (['x', 'y'], True)
    """
    if not model.features.is_plain_table or (model.head is not None and not model.by_pairs):
        raise ValueError("contributions of columns are those of tables without text")
    names, rows, owners = model.features.owned(model.table(X))
    places = model.places_of(rows.indices)
    is_known = places >= 0
    n, matrix = len(rows.indptr) - 1, model.weights
    if model.by_pairs:
        signs = Problems(len(model.classes), "ovo").signs.T
        matrix = matrix @ (signs / np.float32(len(model.classes) - 1))
    problems = matrix.shape[1]
    lengths = np.diff(rows.indptr).astype(np.int64)
    cells = (np.repeat(np.arange(n), lengths) * len(names) + owners)[is_known]
    values = np.empty((n * len(names), problems))
    for problem in range(problems):
        weights = matrix[places[is_known], problem].astype(np.float64)
        values[:, problem] = np.bincount(cells, rows.values[is_known] * weights, len(values))
    return Contributions(names, values.reshape(n, len(names), problems))
