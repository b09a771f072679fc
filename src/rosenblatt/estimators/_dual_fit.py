"""What a kernel perceptron learns from: an order of rows, held-out rows, the support so far."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from rosenblatt.estimators._checks import held_out_rows, validation_codes, weighted_by_class
from rosenblatt.estimators._classes import arrivals


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
        held = validation_codes(y_val, model.classes_)
        return HeldOut(X_val, held, np.ones(len(y_val))), omega
    if not model.early_stopping:
        return None, omega
    out = held_out_rows(model, codes, len(model.classes_), random)
    weights = np.broadcast_to(omega, codes.shape)
    remaining = np.array(weights)
    remaining[out] = 0.0
    return HeldOut(X[out], codes[out], weights[out]), remaining


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
            yield part, known, codes, weighted_by_class(some, class_weight, known, codes)
