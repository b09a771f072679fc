"""Checks and steps that all estimators share: parameters, weights, the order, the attributes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.class_weight import compute_class_weight

from rosenblatt.learners.examples import ONE, Examples, check_sparse, distinct
from rosenblatt.rules import gradient
from rosenblatt.training import History, Progress

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
    "penalty": [StrOptions({"l1", "l2", "elasticnet"}), None],
    "alpha": [NOT_NEGATIVE],
    "l1_ratio": [Interval(Real, 0, 1, closed="both")],
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
    "B": [POSITIVE, None],
    "C": [POSITIVE],
    "b": [POSITIVE],
    "r": [POSITIVE],
    "delta": [NOT_NEGATIVE],
    "confidence": [Interval(Real, 0.5, 1, closed="neither")],
    "covariance": [StrOptions({"diagonal", "full"})],
    "whiten": [StrOptions({"mistakes", "all"})],
    "loss": [StrOptions(set(gradient.LOSSES))],
    "method": [StrOptions({"sgd", "adagrad", "ftrl"})],
    "normalize": ["boolean"],
    "aggressive": ["boolean"],
}


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


def check_weights(sample_weight: Any, n: int) -> np.ndarray:
    """One finite weight per row, none negative; ``ONE`` if there are no weights."""
    if sample_weight is None:
        return ONE
    weights = np.require(sample_weight, np.float64, ["ALIGNED"])
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}; give one weight per row: shape ({n},)."
        )
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        raise ValueError(
            f"sample_weight[{bad[0]}] is {weights[bad[0]]}; weights must be finite and not "
            "negative (a weight of 0 leaves the row out)."
        )
    return weights


def weighted_by_class(
    weights: np.ndarray, class_weight: Any, classes: np.ndarray, codes: np.ndarray, y: Any = None
) -> np.ndarray:
    """The weights of rows times those of their classes, relative to the largest of these, or 1.

    A row of a larger weight is corrected only until it is past the threshold, which would leave
    little of the difference between the classes. `y` are all labels; without it, as in online
    learning, some of the classes that `class_weight` names may not be known yet.
    """
    if class_weight is None:
        return weights
    if class_weight == "balanced":
        factors, present = np.zeros(len(classes)), np.isin(classes, y)
        factors[present] = compute_class_weight("balanced", classes=classes[present], y=y)
        largest = factors.max()
    else:
        if any(not weight >= 0 for weight in class_weight.values()):
            raise ValueError(f"class_weight must not be negative, got {class_weight}.")
        largest = max([1.0, *map(float, class_weight.values())])
        if y is None:
            factors = np.array([float(class_weight.get(c, 1.0)) for c in classes.tolist()])
        else:
            factors = compute_class_weight(class_weight, classes=classes, y=y)
    return np.broadcast_to(weights, codes.shape) * (factors / largest)[codes]


def initial_weights(name: str, given: Any, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """A checked copy of the weights (problems, features) or biases (problems,) to start from."""
    if given is None:
        return np.zeros(shape, dtype)
    check_sparse(given)
    array = np.asarray(given.toarray() if hasattr(given, "toarray") else given, dtype=dtype)
    if array.shape != shape and (shape[0] > 1 or array.size != np.prod(shape)):
        raise ValueError(f"{name} has shape {array.shape}; these data need {shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinity.")
    return array.reshape(shape).copy()


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


def check_named(classes: Any, known: np.ndarray) -> None:
    """Refuse `classes` in a later call to partial_fit that were not named in the first one."""
    if classes is not None and not np.isin(classes, known).all():
        raise ValueError(
            f"classes={np.asarray(classes)} is not what the first call to partial_fit "
            f"said: {known}. Leave it out; new labels are accepted as they come."
        )


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
