"""The base of all classifiers: parameters, predictions, probabilities, orders, stopping rules."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rosenblatt.estimators._unseen import Fitted, Unseen
from rosenblatt.learners.examples import Examples, distinct
from rosenblatt.learners.problems import decided, differ
from rosenblatt.training import Epoch, History, Plan, Progress
from rosenblatt.training.defaults import (
    are_in_units,
    calibrates_in_training,
    patience_of,
    tol_of,
)

_ENOUGH_HELD_OUT = 50  # rows to calibrate on; where there are fewer, fit cross-fits
_SCORED = 1 << 13  # rows at a time
_SIMPLE = {bool, int, float, str, type(None)}
_valid_settings: set[Any] = set()  # settings of parameters that passed all checks

POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
_COUNT = Interval(Integral, 1, None, closed="left")
AUTO = StrOptions({"auto"})

# Allowed values of all parameters; an estimator overrides those that mean something else there.
CONSTRAINTS: dict[str, list[Any]] = {
    "eta0": [POSITIVE],
    "learning_rate": [StrOptions({"constant", "inverse", "sqrt"}), callable],
    "threshold": [NOT_NEGATIVE, AUTO],
    "mistake": [StrOptions({"margin", "sign"})],
    "update": [StrOptions({"online", "batch"})],
    "keep": [StrOptions({"last", "average", "late_average", "best"})],
    "multiclass": [StrOptions({"auto", "ovr", "ovo", "joint"})],
    "fit_intercept": ["boolean"],
    "intercept_scaling": [POSITIVE],
    "scale": [AUTO, None],
    "feature_rates": [StrOptions({"idf"}), None],
    "shuffle": ["boolean", StrOptions({"after_first"}), "array-like"],
    "max_iter": [_COUNT],
    "tol": [NOT_NEGATIVE, None],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_iter_no_change": [_COUNT],
    "class_weight": [StrOptions({"balanced"}), dict, None],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
    "warm_start": ["boolean"],
    "verbose": ["verbose"],
    "callbacks": [callable, list, tuple, None],
    "calibrate": [StrOptions({"auto", "sigmoid", "isotonic"}), None],
}
WITH_AUTO = CONSTRAINTS | {  # of the linear estimators
    name: [*CONSTRAINTS[name], AUTO] for name in ("intercept_scaling", "tol", "n_iter_no_change")
}


def learns_online(estimator: Any) -> bool:
    """Whether there is a `partial_fit`: not for options that need all examples at once."""
    need_all = {
        "keep": "best",
        "update": "batch",
        "class_weight": "balanced",
        "feature_rates": "idf",
        "kernel": "precomputed",
    }
    for name, value in need_all.items():
        option = getattr(estimator, name, None)
        if isinstance(option, str) and option == value:
            raise AttributeError(
                f"{name}={value!r} looks at all examples together, but partial_fit sees them one "
                f"by one. Use fit, or another {name}."
            )
    return True


def _has_probabilities(estimator: Any) -> bool:
    if estimator.calibrate is None:
        raise AttributeError(
            "There are no probabilities with calibrate=None: set calibrate='auto', 'sigmoid' or "
            "'isotonic'."
        )
    return True


class Classifier(ClassifierMixin, BaseEstimator):
    """The base of all classifiers; a subclass scores checked rows (`_scores_of`)."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CONSTRAINTS
    _unseen: Unseen | None = None  # scores of rows not learned from, to calibrate on

    def decision_function(self, X):
        """The scores of each row: ``w·x + b``, with the weights that `keep` chooses.

        For ``multiclass="ovo"`` votes, plus a tie-break in (-1/3, 1/3). For ``keep="vote"`` votes
        from -1 (all against) to +1, or with ``multiclass="joint"`` each class's share of them.

        Parameters
        ----------
        X : array, sparse matrix or data frame (n, d); (n, n_fit) if precomputed

        Returns
        -------
        scores : array (n,) for two classes, else (n, n_classes)
            One column per label, where rows have several.
        """
        check_is_fitted(self)
        return self._scores_of(self._checked_rows(X))

    def predict(self, X):
        """The class of each row, or which labels it has.

        Parameters
        ----------
        X : array, sparse matrix or data frame (n, d); (n, n_fit) if precomputed

        Returns
        -------
        labels : array (n,), or indicator matrix (n, labels) of int
        """
        check_is_fitted(self)
        scores = self._scores_of(self._checked_rows(X))
        if getattr(self, "multiclass_", None) == "labels":
            return decided(scores, multilabel=True).astype(np.int64)
        return self.classes_[decided(scores)]

    def score(self, X, y, sample_weight=None) -> float:
        """The weighted share of rows whose label, or whole set of labels, is predicted right."""
        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))

    @available_if(_has_probabilities)
    def predict_proba(self, X):
        """The probability of each class, calibrated on the scores of rows not learned from.

        With ``calibrate="auto"``, the first call makes these scores from the rows that `fit` was
        given: copies of the model are fitted to four fifths of them and score the others (of more
        than 5,000 rows, one copy scores a fifth of them, or 10,000). Where `fit` held rows out
        (`X_val`, `early_stopping`), those are scored instead. With ``calibrate="sigmoid"`` or
        ``"isotonic"``, `partial_fit` scores its rows before it learns from them. The 10,000 most
        recent scores are used.

        With ``calibrate="auto"`` the most probable class is the one that `predict` returns, but
        of two classes with `class_weight`, which moves predictions and not probabilities.

        Parameters
        ----------
        X : array, sparse matrix or data frame (n, d)

        Returns
        -------
        probabilities : array (n, n_classes)
            Where rows have several labels, each has a probability of its own.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from rosenblatt import Perceptron
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
        >>> model = Perceptron(random_state=0).fit(X, y)
        >>> model.predict_proba(X[:3])[:, 0].round(2).tolist(), y[:3].tolist()
        ([1.0, 1.0, 1.0], [0, 0, 0])
        """
        check_is_fitted(self)
        return self.calibration_.probabilities(self.decision_function(X))

    @property
    def calibration_(self):
        """The map from scores to probabilities, if `calibrate` is set."""
        check_is_fitted(self)
        return (self._unseen or Unseen()).calibration(self)

    def __getstate__(self):
        """Without the rows of a fit: their scores are made before."""
        if self._unseen is not None:
            self._unseen.settle(self)
        return super().__getstate__()

    def _holds_out(self, n: int) -> bool:
        """Whether a fit holds rows out of n to calibrate on."""
        held_out = self.validation_fraction * n
        return calibrates_in_training(self.calibrate) and held_out >= _ENOUGH_HELD_OUT

    def _host_clone(self) -> Any:
        """An estimator with the same parameters that learns on the processor."""
        return clone(self)

    def _scores_before(self, X: Any) -> tuple[np.ndarray, np.ndarray] | None:
        """The rows and their scores before they are learned from; None if nothing is calibrated.

        Nor with ``calibrate="auto"``: scoring takes longer than learning.
        """
        if not calibrates_in_training(self.calibrate) or len(getattr(self, "classes_", ())) < 2:
            return None
        return np.arange(X.shape[0] if hasattr(X, "shape") else len(X)), self.decision_function(X)

    def _calibrate_online(
        self, scored: tuple[np.ndarray, np.ndarray] | None, known: int, truth: Any
    ) -> None:
        """Calibrate on the scores of rows before they were learned from, by `known` classes.

        `truth` is called for their class numbers. Scores without a column for a new class say
        nothing about the model that has it: they are forgotten.
        """
        if known != len(self.classes_):
            self._unseen = None
        elif scored is not None:
            rows, scores = scored
            self._unseen = (self._unseen or Unseen()).followed_by(scores, truth()[rows])

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """The parameters; cached per class, as scikit-learn inspects the constructor each time."""
        return super()._get_param_names()

    def _check_parameters(self) -> None:
        """Check the parameters; settings that passed before are cached."""
        values = [getattr(self, name) for name in self._get_param_names()]
        kinds = [type(value) for value in values]
        key = (type(self), *values, *kinds) if _SIMPLE.issuperset(kinds) else None
        if key is not None and key in _valid_settings:
            return
        self._validate_params()
        self._check_options()
        if key is not None:
            if len(_valid_settings) > 10_000:
                _valid_settings.clear()
            _valid_settings.add(key)

    def _check_options(self) -> None:
        """Refuse options that contradict each other."""
        if self.mistake == "sign" and self.threshold != 0 and not are_in_units(self.threshold):
            raise ValueError(
                f"threshold={self.threshold} has no meaning with mistake='sign', which asks only "
                "for the predicted sign. Use mistake='margin', or threshold=0."
            )
        if not all(callable(callback) for callback in self._callbacks()):
            raise TypeError(f"callbacks must be callables, got {self.callbacks!r}.")

    def _callbacks(self) -> tuple[Any, ...]:
        if self.callbacks is None:
            return ()
        return (self.callbacks,) if callable(self.callbacks) else tuple(self.callbacks)

    def _held_out(self, targets, omega, X_val, y_val, random) -> tuple[Any, np.ndarray]:
        """The rows to hold out, or None, and the weights of all rows with theirs set to zero."""
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val belong together: give both or neither.")
        if X_val is not None or not (self.early_stopping or self._holds_out(len(targets.codes))):
            return None, omega
        out = targets.held_out(self.validation_fraction, random)
        remaining = np.array(np.broadcast_to(omega, targets.codes.shape))
        remaining[out] = 0.0
        return out, remaining

    def _remember(
        self, held_out: tuple[Any, np.ndarray] | None, fitted: Fitted, n_weights: int
    ) -> None:
        """Remember what to calibrate on after a fit: held-out rows (X, truth), or those learned."""
        if self.calibrate is None:
            self._unseen = None
        elif held_out is not None:
            self._unseen = Unseen(self._scores_of(held_out[0]), held_out[1])
        else:
            self._unseen = Unseen.after_fit(self, fitted, n_weights)

    def _plan(self, validate: Any = None, **chosen: Any) -> Plan:
        """The plan of a run."""
        return Plan.of(
            self,
            max_epochs=self.max_iter,
            tol=tol_of(self.tol, self.early_stopping),
            patience=patience_of(self.n_iter_no_change, self.early_stopping),
            validate=validate,
            callbacks=self._callbacks(),
            **{"keep": "last"} | chosen,
        )


@contextmanager
def untouched_on_failure(estimator: BaseEstimator) -> Iterator[None]:
    """Restore the attributes of the estimator if the block fails or is interrupted."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def seed_of(random_state: Any, random: np.random.RandomState) -> int:
    """The seed of the orders: `random_state` if it is an integer, else one that is drawn."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(random.randint(2**31))


def is_permuted(shuffle: Any) -> bool:
    """Whether `shuffle` is True, a Python or a NumPy one: each epoch has a new permutation."""
    return isinstance(shuffle, bool | np.bool_) and bool(shuffle)


def order_of(
    shuffle: Any, examples: Examples, keys: np.ndarray | None = None
) -> tuple[np.ndarray, str, np.ndarray]:
    """The rows to visit, how an epoch's order is drawn (`Drawn.draw`), and the weights of all rows.

    `keys` are hashes of the rows, if known, by which equal rows are merged.
    """
    n, omega = len(examples), examples.omega
    if is_permuted(shuffle):
        rows, omega = distinct(examples, keys)
        return rows, "permutation", omega
    is_named = isinstance(shuffle, bool | np.bool_ | str)
    rows = np.arange(n) if is_named else np.asarray(shuffle)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or rows.size == 0:
        raise ValueError("shuffle must be True, False, 'after_first' or an array of row numbers.")
    if rows.min() < 0 or rows.max() >= n:
        raise ValueError(f"shuffle holds row numbers outside 0 .. {n - 1}.")
    rows = rows.astype(np.uint64)
    if omega.size > 1:
        rows = rows[omega[rows] > 0]
    return rows, shuffle if isinstance(shuffle, str) else "fixed", omega


def describe_run(model: Any, progress: Progress) -> None:
    """Set the attributes about a run: history_, stop_reason_ and so on."""
    model.history_ = History(progress.history, progress.row_updates)
    model.stop_reason_ = progress.stop_reason
    model.n_iter_, model.n_updates_ = progress.epoch, progress.updates
    model.t_ = round(progress.steps)
    model.converged_ = progress.stop_reason == "separated"


def confirm_separation(model: Any, progress: Progress, fitted: Fitted, rows: np.ndarray) -> None:
    """Call a run "stable", not "separated", if the weights to predict with err on a visited row.

    The epoch without a mistake is one of the last weights: an average may err, and so may weights
    that were scaled back.
    """
    if progress.stop_reason != "separated":
        return
    multilabel = fitted.targets.sets is not None
    for start in range(0, len(rows), _SCORED):
        chunk = rows[start : start + _SCORED]
        predictions = decided(model._scores_of(fitted.X[chunk]), multilabel=multilabel)
        if differ(predictions, fitted.targets.truth(chunk)).any():
            progress.stop_reason = "stable"
            return


def warn_of_budget(model: Any) -> None:
    """Warn if max_iter ended a fit, unless tol=None asked for just that."""
    if model.stop_reason_ == "budget" and model.tol is not None and model.n_iter_ == model.max_iter:
        warnings.warn(
            f"The {model.max_iter} epochs of max_iter ended the fit before a stopping rule did; "
            "allow more, or set tol=None to ask for just these.",
            ConvergenceWarning,
            stacklevel=3,
        )


@contextmanager
def progress_bar(
    name: str, epochs: int, verbose: int
) -> Iterator[tuple[Callable[[Epoch], None], ...]]:
    """Show a progress bar if `verbose`; the callbacks that a run must call to move it."""
    if not verbose:
        yield ()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("epochs"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[status]}"),
    )
    with Progress(*columns) as bar:
        task = bar.add_task(name, total=epochs, status="")

        def show(epoch: Epoch) -> None:
            status = f"{epoch.updates:,} updates"
            if not math.isnan(epoch.validation_error):
                status += f", validation error {epoch.validation_error:.2%}"
            bar.update(task, completed=epoch.epoch, status=status)

        yield (show,)
        bar.update(task, total=bar.tasks[0].completed)
