"""What a fit needs before it starts: held-out rows, an order, weights to start at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import validate_data

from rosenblatt.estimators._input import ONE, initial_weights
from rosenblatt.kernels.rows import distinct, rows_of
from rosenblatt.kernels.tasks import Task
from rosenblatt.training import State

if TYPE_CHECKING:
    pass


def hold_out(model, X, codes, omega, X_val, y_val, random) -> tuple[Task | None, np.ndarray]:
    """The validation task, and the weights with the held-out rows set to zero."""
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val belong together: give both or neither.")
    if X_val is not None:
        X_val, y_val = validate_data(
            model, X_val, y_val, accept_sparse="csr", dtype=X.dtype, order="C", reset=False
        )
        unknown = np.setdiff1d(y_val, model.classes_)
        if unknown.size:
            raise ValueError(f"y_val holds labels that y does not: {unknown[:5]}.")
        held = np.searchsorted(model.classes_, y_val)
        return model._task(rows_of(X_val), held, ONE, len(model.classes_)), omega
    if not model.early_stopping:
        return None, omega
    seed = int(random.randint(2**31))
    if model.validation_fraction * len(codes) < len(model.classes_):
        raise ValueError(
            f"early_stopping would hold out {model.validation_fraction:.0%} of {len(codes)} "
            f"rows, fewer than the {len(model.classes_)} classes. Give X_val and y_val, or a "
            "larger validation_fraction."
        )
    _, out = train_test_split(
        np.arange(len(codes)), test_size=model.validation_fraction, stratify=codes,
        random_state=seed,
    )  # fmt: skip
    remaining = np.array(np.broadcast_to(omega, codes.shape))
    weights = ONE if omega.size == 1 else np.ascontiguousarray(omega[out])
    remaining[out] = 0.0
    return model._task(rows_of(X[out]), codes[out], weights, len(model.classes_)), remaining


def order_of(model, rows, codes, omega) -> tuple[np.ndarray, str, np.ndarray]:
    """The rows to visit, how to draw an epoch from them, and the weights that go with it."""
    n = rows.shape[0]
    if model.shuffle is True:
        order, omega = distinct(rows, codes, omega)
        return order, "permutation", omega
    chosen = np.arange(n) if isinstance(model.shuffle, bool | str) else np.asarray(model.shuffle)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or chosen.size == 0:
        raise ValueError("shuffle must be True, False, 'random' or an array of row numbers.")
    if chosen.min() < 0 or chosen.max() >= n:
        raise ValueError(f"shuffle holds row numbers outside 0 .. {n - 1}.")
    chosen = chosen.astype(np.uint64)
    if omega.size > 1:
        chosen = chosen[omega[chosen] > 0]
    return chosen, "random" if isinstance(model.shuffle, str) else "fixed", omega


def starting_state(model, start, task, seed) -> State:
    weights, bias = start
    if not model.fit_intercept and bias is not None and np.any(bias):
        raise ValueError("intercept_init needs fit_intercept=True.")
    if hasattr(weights, "toarray"):
        weights = weights.toarray()
    shape, n = (task.n_problems, task.rows.shape[1]), task.n_problems
    return State.start(
        initial_weights("coef_init", weights, shape, task.rows.dtype, n),
        initial_weights("intercept_init", bias, shape[:1], np.dtype(np.float64), n),
        averaging=model._averages(),
        seed=seed,
    )
