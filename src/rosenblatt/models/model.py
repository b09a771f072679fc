"""A linear classifier together with its features of raw rows."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from rosenblatt import __version__
from rosenblatt.data.cells import spelled_labels
from rosenblatt.data.features import Features
from rosenblatt.errors import DataError, counted
from rosenblatt.kernels.packing import Numbering
from rosenblatt.kernels.text import Rows
from rosenblatt.learners.pairs import PairWeights
from rosenblatt.learners.problems import decided, differ, own_scores
from rosenblatt.models.calibration import Calibration
from rosenblatt.models.explanation import Explanation, explained
from rosenblatt.models.head import Head
from rosenblatt.models.rows import hashed_rows, table_of

Array = npt.NDArray[Any]
Guess = tuple[str, float]  # a label and its probability


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A linear classifier of raw rows, the result of :func:`rosenblatt.train`.

    Attributes
    ----------
    classes : tuple of str
        The labels, sorted, or in their order. Of two, the second is the positive one.
    features : Features
        How rows become features.
    columns : uint32 array (n,)
        The hashed columns that have weights.
    weights, bias : arrays (n, problems) and (problems,)
        One problem for two classes, one per class for more; or one per pair of classes. The weights
        of many classes of text are a :class:`rosenblatt.learners.pairs.PairWeights`.
    parameters : dict
        The settings of training.
    history : list of dict
        One record per epoch.
    fingerprint : dict
        Names and digests of the training files.
    words : dict
        The strongest features of each class by name, with their weights.
    state : mapping of arrays
        What is needed to continue training: last weights, averaging sums, clock. May be empty.
    package : str
        The version of rosenblatt that trained it.
    precision : {"float32", "float16", "int8"}
        Of the weights in its file; see :meth:`compressed`.
    calibration : Calibration or None
        From scores to probabilities; None if no rows were held out.
    threshold : float, or array (classes,)
        The second of two classes is predicted above this score, or of several labels each one.
    head : Head or None
        From the sums of weights to scores, if these are not the same: votes of pairs of classes, or
        in some models of fastText, whose features have vectors as their weights.

    Examples
    --------
    >>> from rosenblatt.data import Column
    >>> from rosenblatt.kernels.text import column
    >>> features = Features(columns=(Column("text", "text"),), label="label")
    >>> good = np.array([column(["good"], 22)], dtype=np.uint32)
    >>> model = Model(("neg", "pos"), features, good, np.ones((1, 1), np.float32), np.zeros(1))
    >>> model.predict({"text": ["good", "bad"]}).tolist()
    ['pos', 'neg']
    """

    classes: tuple[str, ...]
    features: Features
    columns: Array
    weights: Any
    bias: Array
    parameters: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    fingerprint: dict[str, Any] = field(default_factory=dict)
    words: dict[str, list[tuple[str, float]]] = field(default_factory=dict)
    state: Mapping[str, Array] = field(default_factory=dict)
    package: str = __version__
    precision: str = "float32"
    calibration: Calibration | None = None
    threshold: Any = 0.0
    head: Head | None = None

    @property
    def classes_(self) -> Array:
        """The labels as an array, as scikit-learn's classifiers have them."""
        return np.array(self.classes)

    @cached_property
    def _numbering(self) -> Numbering:
        return Numbering(1 << self.features.ngrams.bits, self.columns)

    def __getstate__(self) -> dict[str, Any]:
        """Without the table of hashed columns, which is large and made when it is needed."""
        return {name: value for name, value in self.__dict__.items() if name != "_numbering"}

    def scores(self, rows: Rows) -> Array:
        """The scores of sparse rows, (rows, problems); DataError if a column is too large."""
        self.check_numbers(0, int(rows.indices.max(initial=0)))
        if self.head is None:
            return self.sums(rows)
        scores = self.head.scores(self.sums(rows))
        return scores + self.bias.astype(np.float32) if self.is_ordered else scores

    def sums(self, rows: Rows) -> Array:
        """The sums of weights of sparse rows, (rows, width): the scores if there is no head."""
        has_bias = self.head is None or self.by_pairs
        bias = self.bias if has_bias else np.zeros(self.weights.shape[1])
        return self._numbering.score(rows, self.weights, bias)

    def decide(self, scores: Array) -> Array:
        """The predicted class numbers from scores; if multilabel, the indicator matrix."""
        return decided(scores, self.threshold, self.multilabel)

    def ranked(self, scores: Array, values: Array | None = None) -> Array:
        """The class numbers of each row, the predicted one first, then by descending values.

        The values of the classes are their scores, if not others, such as probabilities.
        """
        ranked = own_scores(scores).copy() if values is None else values.copy()
        codes = decided(scores, self.threshold)  # comes first, also with a threshold
        ranked[np.arange(len(codes)), codes] = np.inf
        return np.argsort(-ranked, axis=1, kind="stable")

    def check_numbers(self, least: int, most: int) -> None:
        """Raise DataError unless feature numbers are below the size of the model's table."""
        bits = self.features.ngrams.bits
        if least < 0 or most >> bits:
            number = least if least < 0 else most
            raise DataError(
                f"feature number {number} is not one of the 2^{bits} columns of the model, 0 to "
                f"{(1 << bits) - 1}"
            )

    @property
    def is_ordered(self) -> bool:
        """Whether the classes have an order, in which they are listed."""
        return self.head is not None and self.features.fasttext is None and not self.head.pairs

    @property
    def by_pairs(self) -> bool:
        """Whether all pairs of classes vote: there are weights for each pair."""
        return self.head is not None and self.head.pairs > 0

    @property
    def n_scores(self) -> int:
        """The number of scores of a row: one for two classes, else one per class."""
        return len(self.classes) if self.by_pairs else len(self.bias)

    @property
    def multilabel(self) -> bool:
        """Whether a row may have several labels, or none."""
        return self.features.multilabel

    def probabilities(self, scores: Array) -> Array:
        """The probability of each class (rows, classes) from scores.

        Raises
        ------
        ValueError
            If the model is not calibrated.
        """
        if self.calibration is None:
            raise ValueError(
                "the model has no probabilities: no rows, or too few, were held out from training "
                "to calibrate it; train with holdout=0.1 (--holdout 0.1) or valid files (--valid)"
            )
        return self.calibration.probabilities(scores)

    def decision_function(self, X: Any) -> Array:
        """The scores of rows: one per row for two classes, else one per row and class.

        Of ordered classes one per row as well: the larger, the higher its class.

        Parameters
        ----------
        X : data frame, Arrow table, dict of columns, list of records, record, or list of texts
            With the columns that the model was trained on, by name; a record is a dict of one value
            for each. A list of texts is for models of one column of text.

        Raises
        ------
        DataError
            If a cell of a column of numbers or dates is neither.
        """
        scores = self.scores(self._rows(X))
        if self.is_ordered:
            return rank_scores(scores)
        return scores[:, 0] if len(self.bias) == 1 else scores

    @overload
    def predict(self, X: Any) -> Array: ...
    @overload
    def predict(self, X: Any, *, k: int, threshold: float = ...) -> list[list[Guess]]: ...
    @overload
    def predict(self, X: Any, *, k: None = ..., threshold: float) -> list[list[Guess]]: ...
    def predict(self, X: Any, *, k: int | None = None, threshold: float | None = None) -> Any:
        """The predicted labels of rows, which are given as for :meth:`decision_function`.

        An indicator matrix (rows, classes) if a row may have several labels. With `k` or
        `threshold`, for each row a list of pairs of label and probability instead, the best first:
        at most `k` labels, of at least the probability `threshold`.

        Examples
        --------
        >>> from rosenblatt import train
        >>> frame = {"label": ["pos", "neg"] * 200, "text": ["good and fun", "bad and dull"] * 200}
        >>> model = train(frame, text="text", epochs=3)
        >>> model.predict(["good fun", "dull"]).tolist()
        ['pos', 'neg']
        >>> [[(label, round(p, 2)) for label, p in row] for row in model.predict(["good"], k=2)]
        [[('pos', 0.99), ('neg', 0.01)]]
        >>> frame = {"label": ["old", "new"] * 20, "age": [70, 5] * 20, "job": ["none"] * 40}
        >>> model = train(frame, epochs=3)
        >>> model.predict([{"age": 80, "job": "none"}, {"job": "none", "age": 3}]).tolist()
        ['old', 'new']
        >>> model.predict({"age": "many", "job": "none"})
        Traceback (most recent call last):
        rosenblatt.errors.DataError: <table>, line 1, column 'age': expected a number, found 'many'
        """
        scores = self.scores(self._rows(X))
        if k is not None or threshold is not None:
            return self._best(scores, len(self.classes) if k is None else k, threshold or 0.0)
        decisions = self.decide(scores)
        return decisions.astype(np.int64) if self.multilabel else self.classes_[decisions]

    def _best(self, scores: Array, k: int, threshold: float) -> list[list[Guess]]:
        """Per row the `k` best labels with their probabilities, of at least the threshold."""
        probabilities = self.probabilities(scores)
        best = self.ranked(scores, probabilities)[:, :k]
        values = np.take_along_axis(probabilities, best, axis=1).tolist()
        return [
            [(self.classes[c], p) for c, p in zip(*row, strict=True) if p >= threshold]
            for row in zip(best.tolist(), values, strict=True)
        ]

    def predict_proba(self, X: Any) -> Array:
        """The probability of each class (rows, classes), of rows as in :meth:`decision_function`.

        Raises
        ------
        ValueError
            If no rows were held out from training to calibrate the model.

        Examples
        --------
        >>> from rosenblatt import train
        >>> frame = {"label": ["pos", "neg"] * 200, "text": ["good and fun", "bad and dull"] * 200}
        >>> train(frame, text="text", epochs=3).predict_proba(["good fun", "and"]).round(2).tolist()
        [[0.01, 0.99], [0.27, 0.73]]
        """
        return self.probabilities(self.scores(self._rows(X)))

    def score(self, X: Any, y: Any) -> float:
        """The accuracy; labels are spelled as in training, such as ``true`` or ``1`` for 1.0.

        If a row may have several labels, y is an indicator matrix, and all labels of a row must be
        right.

        Examples
        --------
        >>> from rosenblatt import train
        >>> frame = {"label": [1.0, 0.0] * 200, "text": ["good and fun", "bad and dull"] * 200}
        >>> train(frame, label="label").score(frame, frame["label"])
        1.0
        """
        predictions = self.predict(X)
        truth = np.asarray(y) if self.multilabel else spelled_labels(y)
        if truth.shape != predictions.shape:
            raise ValueError(f"expected labels of shape {predictions.shape}, got {truth.shape}")
        return 1.0 - float(np.mean(differ(predictions, truth)))

    def explain(self, row: Any) -> Explanation:
        """The contribution of each feature of one row to its scores.

        Parameters
        ----------
        row : str, dict or table of one row
            A text, for a model of one column of text; or the value of each column by name. For a
            model of svmlight files, the value of each feature by number; for one of Vowpal Wabbit
            files a line such as ``"| good fun"``.

        Examples
        --------
        >>> from rosenblatt import train
        >>> frame = {"label": ["pos", "neg"] * 20, "text": ["good and fun", "bad and dull"] * 20}
        >>> train(frame, text="text", epochs=3).explain("good fun, not bad")
        <Explanation: 'pos', score +0.38 = bad -0.76, good +0.74, fun +0.41, bias -0.01>
        """
        return explained(self, row)

    def table(self, X: Any) -> Any:
        """Rows as an Arrow table with the columns of the model."""
        return table_of(self.features, X)

    def places_of(self, columns: Array) -> Array:
        """The place of each hashed column among the weights; -1 if it has none."""
        return self._numbering.places_of(columns)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file; it appears whole or not at all. :func:`rosenblatt.load` reads it."""
        from rosenblatt.models.model_file import save

        save(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Model:
        """Read a model from its file, or from that of a linear estimator with its columns.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> import pandas as pd
        >>> from rosenblatt import Model, Perceptron, save
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "tiny.model"
        >>> frame = pd.DataFrame({"x": [-1.0, 2.0] * 9})
        >>> save(Perceptron(random_state=0).fit(frame, ["no", "yes"] * 9), path)
        >>> Model.load(path).predict({"x": [-9.0, 9.0]}).tolist()
        ['no', 'yes']
        """
        from rosenblatt.models.model_file import read_model

        return read_model(path)

    def compressed(
        self, *, size: float | None = None, loss: float = 0.0, rows: Any = None
    ) -> Model:
        """A smaller model with nearly the same predictions, without what only training needs.

        Parameters
        ----------
        size : float, optional
            The largest number of bytes of its file.
        loss : float
            The accuracy on `rows` that may be lost, as a share.
        rows : Source, optional
            Rows to measure on, from :func:`rosenblatt.data.open` with the model's features and
            classes. Without `size` and `rows`, weights become int8 and none is pruned.

        Examples
        --------
        >>> from rosenblatt import train
        >>> frame = {"label": ["pos", "neg"] * 20, "text": ["good and fun", "bad and dull"] * 20}
        >>> train(frame, text="text", epochs=3).compressed().precision
        'int8'
        """
        from rosenblatt.models.compress import compress

        may_lose = loss if size is None and rows is not None else None
        return compress(self, size=size, loss=may_lose, rows=rows)[-1].model

    def __repr__(self) -> str:
        more = ", ..." if len(self.classes) > 5 else ""
        return f"<Model of {self._size()}: {', '.join(self.classes[:5])}{more}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>"
            + html.escape(
                ", ".join(f"{word} {weight:+.2f}" for word, weight in self.words[name][:8])
            )
            + "</td></tr>"
            for name in self.classes[:20]
            if self.words.get(name)
        )
        table = f"<table><tr><th>class</th><th>strongest features</th></tr>{rows}</table>"
        return f"<p>Model of {self._size()}</p>" + (table if rows else "")

    def _size(self) -> str:
        classes = counted(len(self.classes), "class", "classes")
        return f"{classes}, {counted(len(self.columns), 'feature')}"

    def _rows(self, X: Any) -> Rows:
        return hashed_rows(self.features, self.table(X))

    def sparsified(self) -> Model:
        """The model without zero weights and without state, which makes its file smaller."""
        if isinstance(self.weights, PairWeights):
            places = np.flatnonzero(self.weights.counts)
            weights: Any = self.weights.take(places)
        else:
            places = np.flatnonzero(self.weights.any(axis=1))
            weights = self.weights[places]
        return replace(self, columns=self.columns[places], weights=weights, state={})


def rank_scores(scores: Array) -> Array:
    """Of the scores of ordered classes, the distance of each row above the lowest threshold."""
    return np.asarray(scores[:, 1] - scores[:, 0])
