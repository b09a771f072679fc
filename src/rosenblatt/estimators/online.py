"""Online learning: predicting each label before learning it, by arrays and one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse

from rosenblatt.estimators._input import weighted_by_class
from rosenblatt.estimators._partial_fit import describe, learn
from rosenblatt.kernels.column_sums import scale_and_add, scale_rows
from rosenblatt.learners.column_scale import LARGE
from rosenblatt.learners.examples import examples_of
from rosenblatt.learners.parts import BoundWalk
from rosenblatt.training import learning_rate

if TYPE_CHECKING:
    from rosenblatt.estimators.perceptron import Perceptron


@dataclass(frozen=True, repr=False)
class OnlineRun:
    """The model after online learning, and its prediction for each example before learning it."""

    model: Perceptron
    predictions: np.ndarray  # before each label was seen; None if no class was known
    wrong: np.ndarray  # whether the prediction was a mistake

    @property
    def mistakes(self) -> int:
        """How many predictions were wrong."""
        return int(self.wrong.sum())

    @property
    def curve(self) -> np.ndarray:
        """The progressive error: the share of mistakes among the first 1, 2, ... examples."""
        return np.cumsum(self.wrong) / np.arange(1, len(self.wrong) + 1)

    def __repr__(self) -> str:
        share = self.mistakes / max(1, len(self.wrong))
        return f"<OnlineRun of {len(self.wrong)} examples: {self.mistakes} mistakes, {share:.2%}>"


def learn_online(
    model: Perceptron, stream: Any, y: Any = None, *, classes: Any = None
) -> OnlineRun:
    """Predict each example, then see its label, count the mistake, and learn from it.

    The share of wrong predictions on the way is an honest estimate of the error: every prediction
    is made before its label is used (progressive validation). The weights end up as after
    :meth:`Perceptron.partial_fit` on the same examples.

    Parameters
    ----------
    model : Perceptron
        Changed in place; if it is fitted, it continues from its weights.
    stream : array, sparse matrix, data frame, or iterable of pairs
        The examples, with their labels in `y`; or pairs of one example (a vector) and its label,
        or of a batch (a matrix) and its labels, without `y`.
    y : array, default=None
        The labels.
    classes : array, default=None
        Labels known in advance.

    Returns
    -------
    run : OnlineRun

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rosenblatt import Perceptron, learn_online
    >>> X, y = load_iris(return_X_y=True)
    >>> run = learn_online(Perceptron.textbook(), X[:100, 2:], y[:100], classes=[0, 1])
    >>> run.mistakes, float(run.curve[-1])
    (1, 0.01)
    >>> learn_online(Perceptron.textbook(), zip(X[:100, 2:], y[:100]), classes=[0, 1]).mistakes
    1
    """
    pairs = iter(stream) if y is None else iter([(stream, y)])
    first = next(pairs, None)
    if first is None:
        raise ValueError("The stream is empty: there is nothing to learn from.")
    pairs = chain([first], pairs)
    if y is None and not sparse.issparse(first[0]) and np.ndim(first[0]) != 2:
        return _learn_one_by_one(model, pairs, classes)
    model.partial_fit  # noqa: B018  (raises where the parameters do not allow it)
    predictions, wrong = [], []
    for X, truth in pairs:
        codes = learn(model, X, truth, classes, predict_first=True)
        predictions.append(_labels(codes, model.classes_))
        wrong.append(predictions[-1] != np.asarray(truth))
        classes = None
    return OnlineRun(model, np.concatenate(predictions), np.concatenate(wrong).astype(bool))


def _labels(codes: np.ndarray, classes: np.ndarray) -> np.ndarray:
    if (codes >= 0).all():
        return classes[codes]
    labels = np.empty(len(codes), dtype=object)
    labels[codes >= 0] = classes[codes[codes >= 0]]
    return labels


def _learn_one_by_one(model: Perceptron, pairs: Iterator[Any], classes: Any) -> OnlineRun:
    predictions, wrong = [], []
    with OneByOne(model, classes) as learner:
        for x, label in pairs:
            guess = learner.learn(x, label)
            predictions.append(guess)
            wrong.append(guess != label)
    kind = object if predictions[0] is None else None
    return OnlineRun(model, np.array(predictions, dtype=kind), np.array(wrong, dtype=bool))


class OneByOne:
    """Online learning of one example per call, with little overhead.

    A context manager: the attributes of the model are set when it is left.

    Parameters
    ----------
    model : Perceptron
    classes : array, default=None
        Labels known in advance.

    Examples
    --------
    >>> import numpy as np
    >>> from rosenblatt import OneByOne, Perceptron
    >>> model = Perceptron.textbook()
    >>> with OneByOne(model, classes=["no", "yes"]) as learner:
    ...     learner.learn(np.array([2.0, 1.0]), "yes"), learner.learn(np.array([-1.0, 1.0]), "no")
    ('no', 'no')
    >>> model.coef_
    array([[3., 0.]])
    """

    def __init__(self, model: Perceptron, classes: Any = None) -> None:
        self.model, self.classes = model, classes
        self._walk: Any = None

    def __enter__(self) -> Self:
        self.model.partial_fit  # noqa: B018  (raises where the parameters do not allow it)
        self._open()
        return self

    def __exit__(self, *failure: object) -> None:
        self._close()

    def learn(self, x: np.ndarray, label: Any) -> Any:
        """Predict the label of x, then learn the true one.

        Returns the prediction, or None if no class was known yet.
        """
        code = self._codes.get(label)
        if code is None or len(x) != self._width:
            return self._learn_new(x, label)
        row = self._row
        row[:] = x
        if not math.isfinite(row.dot(row)) and not np.isfinite(row).all():
            raise ValueError("The example holds NaN or infinity; remove or impute it.")
        if self._take is not None and not self._take():
            return self._learn_new(x, label)
        if self._rate is not None:
            self._eta[0] = self._rate(self._visits + 1)
        self._visits += 1
        self._code[0], self._weight[0] = code, self._factors[code]
        self._steps += self._factors[code]
        scores = self._walk()
        if self._two:  # as `decide`, which would take two thirds of the time of this call
            return self._names[1 if scores[0, 0] > 0 else 0]
        return self._names[int(self._walk.learner.problems.decide(scores)[0])]

    def _learn_new(self, x: Any, label: Any) -> Any:
        """Learn by `partial_fit`, which checks everything and accepts new labels."""
        self._close()
        model = self.model
        [code] = learn(model, np.asarray(x)[None, :], [label], self.classes, predict_first=True)
        self.classes = None
        self._open()
        return None if code < 0 else model.classes_.tolist()[code]

    def _open(self) -> None:
        """Bind a walk to the arrays of one example, which `learn` fills."""
        self._codes: dict[Any, int] = {}
        self._width, model = -1, self.model
        if not hasattr(model, "_learner") or len(model.classes_) < 2:
            return
        if model.multiclass_ == "labels":
            raise ValueError(
                "OneByOne learns one label per row, but the model has learned from indicator "
                "matrices: use partial_fit."
            )
        if model._square.rows is not None:  # the next row may change what "auto" means
            return
        model._unpack(dense=True)
        learner, self._names = model._learner, model.classes_.tolist()
        self._codes = {name: code for code, name in enumerate(self._names)}
        self._two = len(self._names) == 2
        codes = np.arange(len(self._names))
        weights = weighted_by_class(np.ones(1), model.class_weight, model.classes_, codes)
        self._factors = np.broadcast_to(weights, codes.shape).tolist()
        self._width = learner.n_features
        X = np.zeros((1, self._width), learner.dtype)
        self._row = X[0]
        self._take = self._scaling(X)
        self._weight, self._eta = np.ones(1), np.ones(1)
        examples = examples_of(X, np.zeros(1, np.int32), self._weight)
        self._code = examples.codes
        eta = learning_rate(model.learning_rate, model.eta0)
        self._rate = eta if callable(eta) else None
        self._eta[0] = 0.0 if callable(eta) else eta
        self._visits, self._steps = model._progress.visits, model._progress.steps
        self._walk = BoundWalk(learner, examples, np.zeros(1, np.uint64), self._eta)

    def _scaling(self, X: np.ndarray) -> Callable[[], Any] | None:
        """What scales the example in place before it is learned from; false if it changes how.

        The example then is a row beside X. None if columns are not scaled.
        """
        running, scale = self.model._running, self.model.scale_
        if scale is None:
            return None
        raw, order = np.zeros_like(X), np.zeros(1, np.uint64)
        self._row = raw[0]
        if running is None:
            fixed = scale_rows.bound(raw, scale.centre, scale.factors, X)
            return lambda: fixed() is None
        centre, factors = running.scale.centre, running.scale.factors
        take = scale_and_add.bound(
            raw, order, centre, factors, LARGE, running.first, running.sums, X
        )

        def scale_and_count() -> bool:
            if running.is_due or not take():
                return False
            running.rows += 1
            return True

        return scale_and_count

    def _close(self) -> None:
        """Set the attributes of the model."""
        if self._walk is None:
            return
        progress = self.model._progress
        progress.visits, progress.steps = self._visits, self._steps
        progress.updates += self._walk.updates
        self._walk = None
        describe(self.model)
