"""What every estimator does before and after a run: check, draw an order, say what came of it."""

from __future__ import annotations

import signal
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

from rosenblatt.estimators import _device
from rosenblatt.learners.examples import ONE, Examples, check_sparse, distinct
from rosenblatt.rules import gradient
from rosenblatt.training import History, Progress

POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
_COUNT = Interval(Integral, 1, None, closed="left")
AUTO = StrOptions({"auto"})

# What parameters may be, by name; an estimator where one means something else says so itself.
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
    "device": [StrOptions(_device.DEVICES)],
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
    """Give the estimator back as it was if the block fails or is interrupted."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back until the block is done, where the system can."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def seed_of(random_state: Any, random: np.random.RandomState) -> int:
    """The seed of the orders: the number that was given, or one that is drawn."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(random.randint(2**31))


def check_weights(sample_weight: Any, n: int) -> np.ndarray:
    """One non-negative finite weight per row, or a single one for all."""
    if sample_weight is None:
        return ONE
    weights = np.asarray(sample_weight, dtype=np.float64)
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


def class_factors(class_weight: Any, classes: np.ndarray, y: Any = None) -> np.ndarray:
    """The weights of classes, relative to the largest, so that none is above 1.

    A row of a larger weight is corrected only until it is past the threshold, which would leave
    little of the difference between the classes. Without `y`, classes may have yet to come up.
    """
    if class_weight == "balanced":
        by_class, present = np.zeros(len(classes)), np.isin(classes, y)
        by_class[present] = compute_class_weight("balanced", classes=classes[present], y=y)
        return by_class / by_class.max()
    largest = max([1.0, *map(float, class_weight.values())])
    if y is None:
        return np.array([float(class_weight.get(c, 1.0)) for c in classes.tolist()]) / largest
    return compute_class_weight(class_weight, classes=classes, y=y) / largest


def weighted_by_class(
    weights: np.ndarray, class_weight: Any, classes: np.ndarray, codes: np.ndarray
) -> np.ndarray:
    """The weights of rows times those of their classes, which may be given for some only."""
    if class_weight is None:
        return weights
    return np.broadcast_to(weights, codes.shape) * class_factors(class_weight, classes)[codes]


def initial_weights(
    name: str, given: Any, shape: tuple[int, ...], dtype: Any, n_problems: int
) -> np.ndarray:
    """The weights or biases to start at, as (problems, ...), checked."""
    if given is None:
        return np.zeros(shape, dtype)
    check_sparse(given)
    array = np.asarray(given.toarray() if hasattr(given, "toarray") else given, dtype=dtype)
    if array.shape != shape and (n_problems > 1 or array.size != np.prod(shape)):
        raise ValueError(f"{name} has shape {array.shape}; these data need {shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinity.")
    return array.reshape(shape).copy()


def order_of(
    shuffle: Any, examples: Examples, keys: np.ndarray | None = None
) -> tuple[np.ndarray, str, np.ndarray]:
    """The rows to visit, how to draw an epoch from them, and the weights that go with it.

    `keys` tell rows apart, if they are known already.
    """
    n, omega = len(examples), examples.omega
    if shuffle is True:
        order, omega = distinct(_device.hosted(examples), keys)
        return order, "permutation", omega
    chosen = np.arange(n) if isinstance(shuffle, bool | str) else np.asarray(shuffle)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or chosen.size == 0:
        raise ValueError(
            "shuffle must be True, False, 'after_first', 'random' or an array of row numbers."
        )
    if chosen.min() < 0 or chosen.max() >= n:
        raise ValueError(f"shuffle holds row numbers outside 0 .. {n - 1}.")
    chosen = chosen.astype(np.uint64)
    if omega.size > 1:
        chosen = chosen[omega[chosen] > 0]
    return chosen, shuffle if isinstance(shuffle, str) else "fixed", omega


def check_named(classes: Any, known: np.ndarray) -> None:
    """Only the first call to partial_fit may name classes that are not known yet."""
    if classes is not None and not np.isin(classes, known).all():
        raise ValueError(
            f"classes={np.asarray(classes)} is not what the first call to partial_fit "
            f"said: {known}. Leave it out; new labels are accepted as they come."
        )


def describe_run(model: Any, progress: Progress) -> None:
    """The attributes that tell of a run."""
    model.history_ = History(progress.history, progress.row_updates)
    model.stop_reason_ = progress.stop_reason
    model.n_iter_, model.n_updates_ = progress.epoch, progress.updates
    model.t_ = round(progress.steps)
    model.converged_ = progress.stop_reason == "separated"


def warn_of_budget(model: Any) -> None:
    """Say that a fit was ended by the budget, unless no other end was asked for."""
    if model.stop_reason_ == "budget" and model.tol is not None and model.n_iter_ == model.max_iter:
        warnings.warn(
            f"The {model.max_iter} epochs of max_iter ended the fit before a stopping rule did; "
            "allow more, or set tol=None to ask for just these.",
            ConvergenceWarning,
            stacklevel=3,
        )
