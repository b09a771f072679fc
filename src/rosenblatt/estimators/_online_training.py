"""Training of linear classifiers row by row: partial_fit."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from rosenblatt import rules
from rosenblatt.estimators import _checks as checks
from rosenblatt.estimators import _device
from rosenblatt.estimators._classifier import learns_online
from rosenblatt.estimators._input import FLOATS, checked_data
from rosenblatt.estimators._targets import (
    Targets,
    arrivals,
    check_count,
    check_label_options,
    check_same_labels,
    grown,
)
from rosenblatt.estimators._units import MeanSquare, multiclass_of, padding_of, threshold_of
from rosenblatt.estimators._weights import LearnedWeights
from rosenblatt.learners.examples import ONE, Examples, examples_of
from rosenblatt.training import Progress


class OnlineTraining(LearnedWeights):
    """partial_fit of a linear classifier, and what ``"auto"`` stands for."""

    # What not all have a parameter for.
    eta0, learning_rate, threshold, mistake, update = 1.0, "constant", 0.0, "margin", "online"
    max_updates = None

    @available_if(learns_online)
    def partial_fit(self, X, y, classes=None, sample_weight=None) -> Self:
        """Learn from the rows once, in the given order.

        Any split of the data into calls gives the same weights, bit for bit, and averages continue
        across calls. The cost of a call is that of its rows, however many features there are. New
        labels may appear in any call; as in online learning, a class is known from its first row
        on, unless `classes` named it in the first call.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`.
        classes : array, default=None
            Labels known in advance; only the first call looks at them. Of an indicator matrix one
            entry per column.

        Returns
        -------
        self : the fitted model

        Examples
        --------
        >>> from rosenblatt import Perceptron
        >>> model = Perceptron.textbook().partial_fit([[2.0, 1.0]], [1], classes=[0, 1])
        >>> model.partial_fit([[-1.0, 1.0], [5.0, 5.0]], [0, 2]).coef_
        array([[-3.,  0.],
               [-2., -5.],
               [ 5.,  5.]])
        """
        self._learn(X, y, classes, sample_weight)
        return self

    def _learn(self, X, y, classes=None, sample_weight=None, predict_first=False) -> np.ndarray:
        """Learn online; with `predict_first`, return the class numbers predicted before each label.

        The number is -1 where no class was known yet.
        """
        with checks.untouched_on_failure(self):
            scores_before = self._scores_before(X)
            examples, y, weights = self._online_examples(X, y, classes, sample_weight)
            several, progress = y.ndim == 2, self._progress
            if several and predict_first:
                raise ValueError(
                    "Predictions before each label are for one label per row, but y is an "
                    "indicator matrix: use partial_fit."
                )
            whole = [(0, len(y), self.classes_)]
            found = whole if several else arrivals(y, self.classes_)
            everything, predicted = found[-1][2], np.full(len(y), -1)
            with checks.uninterrupted():
                for start, end, known in found:
                    before = self.classes_
                    guess = self._guess(examples, start) if predict_first else -1
                    self._learn_classes(examples, known)
                    some, order = self._part(examples, y, weights, start, end)
                    rates = self._learner.rates
                    for stretch, square in self._square.visits(some, order, rates):
                        self._use(square)
                        if len(known) < 2:
                            guesses = self._idle(some, stretch)
                        else:
                            etas = self._plan().etas(progress.visits + 1, stretch.size)
                            tally = self._learner.walk(
                                some, stretch, etas, predict_first=predict_first
                            )
                            self._learner.settle()  # the rows are the caller's, who may change them
                            progress.count(tally)
                            guesses = tally.predictions
                        if predict_first:
                            predicted[stretch] = np.searchsorted(everything, known)[guesses]
                    if len(known) > len(before):  # the first row is the first of its class
                        at = np.searchsorted(everything, before)
                        predicted[start] = at[guess] if len(before) else -1
            self._went_on(progress.visits, progress.steps, 0)
            if scores_before is not None:
                self._add_scores(scores_before, y if several else np.searchsorted(self.classes_, y))
        return predicted

    def _idle(self, examples: Examples, order: np.ndarray) -> int:
        """Let the rows of the only class go by, of which nothing can be learned; its number."""
        weight = examples.weight_of(order)
        self._learner.idle(weight)
        self._progress.steps += weight
        self._progress.visits += order.size
        return 0

    def _online_examples(self, X, y, classes, sample_weight) -> tuple[Any, np.ndarray, np.ndarray]:
        """The rows, labels and weights, checked; a learner for them, if there is none yet."""
        self._check_parameters()
        first = not hasattr(self, "_learner")
        dtype, X = FLOATS if first else self._learner.dtype, _device.rows_to_host(self, X)
        X, y = checked_data(self, X, y, dtype=dtype, reset=first, indices=False, several=True)
        several = y.ndim == 2
        if y.dtype.kind in "fcO":
            check_classification_targets(y)
        if several:
            check_count(classes, y)
        weights = checks.check_weights(sample_weight, len(y))
        examples = examples_of(X, np.zeros(len(y), np.int32))
        if first:
            if several:
                check_label_options(self)
            known = np.unique(y[:0] if classes is None else classes)
            self.classes_ = np.arange(y.shape[1]) if several else known
            self._begin_units(several)
            self._learner = self._new_learner(examples, len(self.classes_))
            self._progress, self._places = Progress(), None
        else:
            check_same_labels(y, self.classes_, self.multiclass_ == "labels")
            if not several:
                checks.check_named(classes, self.classes_)
            self._unpack(examples.is_dense)
        return examples, y, weights

    def _guess(self, examples: Examples, row: int) -> int:
        """The class number predicted for a row by what was learned before it; -1 if nothing was."""
        if len(self.classes_) < 2:
            return len(self.classes_) - 1
        scores = self._learner.scores(examples, np.array([row], np.uint64))
        return int(self._learner.problems.decide(scores)[0])

    def _learn_classes(self, examples: Examples, known: np.ndarray) -> None:
        """Make room for classes that have come up."""
        if len(known) > len(self.classes_):
            state = grown(self._learner.state(), self.classes_, known, self.multiclass_)
            self._learner = self._new_learner(examples, len(known))
            self._learner.restore(state)
            self.classes_ = known

    def _part(self, examples, y, weights, start, end) -> tuple[Examples, np.ndarray]:
        """The examples with the classes known by now, and the rows of a part to visit."""
        codes, omega, sets = np.zeros(len(y), np.int32), weights, None
        if y.ndim == 2:
            _, codes, sets = Targets.of(y)
        else:
            codes[start:end] = np.searchsorted(self.classes_, y[start:end])
            omega = checks.weighted_by_class(weights, self.class_weight, self.classes_, codes)
        order = np.arange(start, end, dtype=np.uint64)
        if omega is not ONE:  # a single row may have no weight, too
            order = order[np.broadcast_to(omega, len(y))[start:end] > 0]
        return examples.relabelled(codes, omega, sets), order

    def _went_on(self, visits: int, steps: float, updates: int) -> None:
        """Tell of what was learned online, which does not end."""
        progress, self._shown = self._progress, None
        progress.visits, progress.steps = visits, steps
        progress.updates += updates
        progress.history, progress.row_updates, progress.stop_reason = [], None, None
        checks.describe_run(self, progress)
        self.n_iter_ = 1

    def _settle_units(self, examples: Examples, rows: float, lengths: Any = None) -> None:
        """Decide by all examples what ``"auto"`` stands for; see :meth:`MeanSquare.of`."""
        n_classes, several = len(self.classes_), examples.sets is not None
        self.multiclass_ = multiclass_of(
            self.multiclass, n_classes, rows, self.n_features_in_, several
        )
        self._square = MeanSquare()
        if self._has_auto():
            self._square = MeanSquare.of(examples, self._rates(examples), lengths)
        self._rule(n_classes)

    def _begin_units(self, several: bool) -> None:
        """Leave it to the rows that come one by one what ``"auto"`` stands for."""
        self.multiclass_ = multiclass_of(self.multiclass, 0, 0.0, self.n_features_in_, several)
        self._square = MeanSquare(rows=0 if self._has_auto() else None)

    def _has_auto(self) -> bool:
        return self.threshold == "auto" or (self.fit_intercept and self.intercept_scaling == "auto")

    def _rule(self, n_classes: int) -> tuple[tuple[float, float], float]:
        """The thresholds and the padding that the parameters ask for, in the present units."""
        eta = float(self._plan().etas(1, 1)[0])
        joint = self.multiclass_ == "joint" and n_classes > 2
        square = self._square.value
        padding = padding_of(self.intercept_scaling, square) if self.fit_intercept else 0.0
        threshold = 0.0
        if self.mistake == "margin":
            threshold = threshold_of(self.threshold, square, padding, eta, joint)
        self.threshold_, self.intercept_scaling_ = threshold, padding
        return rules.thresholds(self.mistake, threshold), padding

    def _use(self, square: MeanSquare) -> None:
        """Go on learning in other units, if they are others."""
        changed, self._square = square.value != self._square.value, square
        if changed:
            (thresholds, padding), rule = self._rule(len(self.classes_)), self._member_rule()
            self._learner.change(thresholds if rule is None else rule, padding)
