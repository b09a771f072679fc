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
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rosenblatt.learners.examples import Examples, distinct
from rosenblatt.learners.problems import decided
from rosenblatt.training import Epoch, History, Plan, Progress
from rosenblatt.training.defaults import patience_of, tol_of

MOST_RECENT = 10_000  # scores that a calibration is fitted to
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
    "feature_rates": [StrOptions({"idf"}), "array-like", None],
    "shuffle": ["boolean", StrOptions({"random", "after_first"}), "array-like"],
    "max_iter": [_COUNT],
    "max_updates": [_COUNT, None],
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
    "calibrate": [StrOptions({"sigmoid", "isotonic"}), None],
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
            "predict_proba needs scores of held-out rows: set calibrate='sigmoid' or 'isotonic'."
        )
    return True


class Classifier(ClassifierMixin, BaseEstimator):
    """The base of all classifiers; a subclass scores checked rows (`_scores_of`)."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CONSTRAINTS
    _recent: tuple[np.ndarray, np.ndarray] | None  # scores of rows not learned from, and the truth
    _calibration: Any  # fitted to these, when first asked for

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
        """The probability of each class, calibrated on the scores of held-out rows.

        These are the rows that `fit` held out (`X_val`, or `validation_fraction` of the rows), and
        after them the rows given to `partial_fit`, scored before they were learned from; the
        10,000 most recent are used.

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
        >>> model = Perceptron(calibrate="sigmoid", keep="average", random_state=0).fit(X, y)
        >>> model.predict_proba(X[:3]).argmax(axis=1).tolist(), y[:3].tolist()
        ([0, 0, 0], [0, 0, 0])
        """
        check_is_fitted(self)
        return self.calibration_.probabilities(self.decision_function(X))

    @property
    def calibration_(self):
        """The map from scores to probabilities, if `calibrate` is set and rows were held out."""
        if getattr(self, "_recent", None) is None:
            raise AttributeError(
                "There are no scores of held-out rows to calibrate on: give partial_fit more rows, "
                "whose scores are taken before it learns from them (a new class begins anew), or "
                "use fit."
            )
        from rosenblatt.models.calibration import FEWEST_ROWS, Calibration

        scores, truth = self._recent
        if self._calibration is None:
            n_classes = len(self.classes_)
            self._calibration = Calibration.fit(scores, truth, n_classes, self.calibrate)
        if self._calibration is None:
            raise ValueError(
                f"Probabilities need {FEWEST_ROWS} held-out rows of two classes at least, found "
                f"{len(truth)}. Give more rows, or X_val and y_val."
            )
        return self._calibration

    def _calibrate_on(self, scores, codes, *, reset: bool) -> None:
        """Calibrate on scores of rows not learned from, with earlier ones unless `reset`."""
        before = None if reset else getattr(self, "_recent", None)
        if before is not None:
            scores, codes = np.concatenate([before[0], scores]), np.concatenate([before[1], codes])
        self._recent = (
            np.array(scores[-MOST_RECENT:], np.float64),
            codes[-MOST_RECENT:].astype(np.int64),
        )
        self._calibration = None

    def _scores_before(self, X: Any) -> np.ndarray | None:
        """The scores of rows before they are learned from; None if nothing is calibrated."""
        if self.calibrate is None or len(getattr(self, "classes_", ())) < 2:
            return None
        return self.decision_function(X)

    def _calibrate_online(self, scores_before: np.ndarray | None, known: int, truth: Any) -> None:
        """Calibrate on the scores of rows before they were learned from, by `known` classes.

        `truth` is called for their class numbers. Scores without a column for a new class say
        nothing about the model that has it: they are forgotten.
        """
        if scores_before is None:
            return
        if known != len(self.classes_):
            self._recent = self._calibration = None
            return
        self._calibrate_on(scores_before, truth(), reset=False)

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
        if self.mistake == "sign" and self.threshold not in (0, "auto"):
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
        if X_val is not None or not (self.early_stopping or self.calibrate is not None):
            return None, omega
        out = targets.held_out(self.validation_fraction, random)
        remaining = np.array(np.broadcast_to(omega, targets.codes.shape))
        remaining[out] = 0.0
        return out, remaining

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
        raise ValueError(
            "shuffle must be True, False, 'after_first', 'random' or an array of row numbers."
        )
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
