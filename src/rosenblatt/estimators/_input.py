"""Checks that every estimator makes before it learns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.class_weight import compute_class_weight

ONE = np.ones(1)
FLOATS = [np.float64, np.float32]


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


def check_weights(sample_weight: Any, n: int) -> np.ndarray:
    """One non-negative finite weight a row, or a single one for all."""
    if sample_weight is None:
        return ONE
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}; give one weight a row: shape ({n},)."
        )
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        raise ValueError(
            f"sample_weight[{bad[0]}] is {weights[bad[0]]}; weights must be finite and not "
            "negative (a weight of 0 leaves the row out)."
        )
    return weights


def example_weights(
    sample_weight: Any, class_weight: Any, classes: np.ndarray, codes: np.ndarray
) -> np.ndarray:
    """The weight of each row by itself and by its class; a single one where all are 1."""
    weights = check_weights(sample_weight, len(codes))
    if class_weight is not None:
        if isinstance(class_weight, dict) and any(not v >= 0 for v in class_weight.values()):
            raise ValueError(f"class_weight must not be negative, got {class_weight}.")
        counted = codes if weights.size == 1 else codes[weights > 0]
        by_class = _class_weights(class_weight, classes, classes[counted])
        weights = np.broadcast_to(weights, codes.shape) * by_class[codes]
    present = np.unique(codes[np.broadcast_to(weights, codes.shape) > 0])
    if present.size == 0:
        raise ValueError("All weights are zero; give at least two classes a positive weight.")
    if present.size == 1:
        only = classes.tolist()[present[0]]
        raise ValueError(
            f"All examples of positive weight are of one class, {only!r}; a classifier needs at "
            "least 2 classes."
        )
    return ONE if np.all(weights == 1.0) else np.ascontiguousarray(weights)


def _class_weights(class_weight: Any, classes: np.ndarray, y: np.ndarray) -> np.ndarray:
    if class_weight != "balanced":
        return compute_class_weight(class_weight, classes=classes, y=y)
    by_class = np.zeros(len(classes))
    present = np.isin(classes, y)
    by_class[present] = compute_class_weight("balanced", classes=classes[present], y=y)
    return by_class


def initial_weights(
    name: str, given: Any, shape: tuple[int, ...], dtype: np.dtype, n_problems: int
) -> np.ndarray:
    """The weights or biases to start at, as (problems, ...), checked."""
    if given is None:
        return np.zeros(shape, dtype)
    array = np.asarray(given, dtype=dtype)
    if array.shape != shape and (n_problems > 1 or array.size != np.prod(shape)):
        raise ValueError(f"{name} has shape {array.shape}; these data need {shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinity.")
    return array.reshape(shape).copy()


def check_options(estimator: Any) -> None:
    """What scikit-learn's constraints cannot say: options that contradict each other."""
    if estimator.mistake == "sign" and estimator.threshold != 0:
        raise ValueError(
            f"threshold={estimator.threshold} has no meaning with mistake='sign', which asks only "
            "for the predicted sign. Use mistake='margin', or threshold=0."
        )
    if not all(callable(callback) for callback in callbacks_of(estimator)):
        raise TypeError(f"callbacks must be callables, got {estimator.callbacks!r}.")


def callbacks_of(estimator: Any) -> tuple[Callable, ...]:
    """The callbacks of an estimator, which may have been given as one, several or none."""
    given = estimator.callbacks if estimator.callbacks is not None else ()
    return (given,) if callable(given) else tuple(given)
