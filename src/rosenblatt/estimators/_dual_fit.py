"""What a kernel perceptron learns from: an order of rows, held-out rows, the support so far."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import validate_data

from rosenblatt.estimators._classes import arrivals
from rosenblatt.learners.examples import Examples, distinct


class HeldOut(NamedTuple):
    """Rows to validate on, with their class numbers and weights."""

    X: Any
    codes: np.ndarray
    weights: np.ndarray


def hold_out(
    model: Any, X: Any, codes: np.ndarray, omega: np.ndarray, X_val: Any, y_val: Any, random: Any
) -> tuple[HeldOut | None, np.ndarray]:
    """The rows to validate on, given or drawn, and the weights with the latter set to zero."""
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val belong together: give both or neither.")
    if X_val is not None:
        X_val, y_val = validate_data(
            model, X_val, y_val, accept_sparse="csr", dtype=X.dtype, order="C", reset=False
        )
        unknown = np.setdiff1d(y_val, model.classes_)
        if unknown.size:
            raise ValueError(f"y_val holds labels that y does not: {unknown[:5]}.")
        return HeldOut(X_val, np.searchsorted(model.classes_, y_val), np.ones(len(y_val))), omega
    if not model.early_stopping:
        return None, omega
    seed, fraction, n_classes = (
        random.randint(2**31),
        model.validation_fraction,
        len(model.classes_),
    )
    if fraction * len(codes) < n_classes:
        raise ValueError(
            f"early_stopping would hold out {fraction:.0%} of {len(codes)} rows, fewer than the "
            f"{n_classes} classes. Give X_val and y_val, or a larger validation_fraction."
        )
    _, out = train_test_split(
        np.arange(len(codes)), test_size=fraction, stratify=codes, random_state=seed
    )
    weights = np.broadcast_to(omega, codes.shape)
    remaining = np.array(weights)
    remaining[out] = 0.0
    return HeldOut(X[out], codes[out], weights[out]), remaining


def order_of(shuffle: Any, examples: Examples) -> tuple[np.ndarray, str, np.ndarray]:
    """The rows to visit, how an epoch is drawn from them, and the weights that go with it."""
    if shuffle is True:
        rows, omega = distinct(examples)
        return rows, "permutation", omega
    n, omega = len(examples), examples.omega
    chosen = np.arange(n) if isinstance(shuffle, bool | str) else np.asarray(shuffle)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or chosen.size == 0:
        raise ValueError(
            "shuffle must be True, False, 'random', 'after_first' or an array of row numbers."
        )
    if chosen.min() < 0 or chosen.max() >= n:
        raise ValueError(f"shuffle holds row numbers outside 0 .. {n - 1}.")
    chosen = chosen.astype(np.uint64)
    if omega.size > 1:
        chosen = chosen[omega[chosen] > 0]
    return chosen, shuffle if isinstance(shuffle, str) else "fixed", omega


def after_support(
    support: Any, X: Any, codes: np.ndarray, omega: np.ndarray
) -> tuple[Any, np.ndarray, np.ndarray]:
    """The support rows so far, which weigh nothing, and then the rows at hand."""
    n = support.shape[0]
    if n == 0:
        return X, codes, omega
    if sparse.issparse(X) or sparse.issparse(support):
        rows = sparse.vstack([support, X], format="csr", dtype=X.dtype)
    else:
        rows = np.concatenate([support, X])
    weights = np.concatenate([np.zeros(n), np.broadcast_to(omega, codes.shape)])
    return rows, np.concatenate([np.zeros(n, codes.dtype), codes]), weights


def pieces(
    y: np.ndarray, weights: np.ndarray, classes: np.ndarray, class_weight: Any
) -> Iterator[tuple[slice, np.ndarray, np.ndarray, np.ndarray]]:
    """Parts of y between which a label comes up: the rows, the classes known, codes and weights.

    >>> y = np.array(["b", "a", "b"])
    >>> [(part.start, codes.tolist()) for part, _, codes, _ in pieces(y, np.ones(1), y[:0], None)]
    [(0, [0]), (1, [0, 1])]
    """
    found = arrivals(y, classes)
    ends = [*(row for row, _ in found[1:]), len(y)]
    for (start, known), end in zip(found, ends, strict=True):
        if start < end:
            part = slice(start, end)
            codes, some = np.searchsorted(known, y[part]), weights
            if weights.size > 1:
                some = weights[part]
            if class_weight is not None:
                factors = [float(class_weight.get(label, 1.0)) for label in known.tolist()]
                some = np.broadcast_to(some, codes.shape) * np.array(factors)[codes]
            yield part, known, codes, some
