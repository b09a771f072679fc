"""Labels: which rows are on which side, and their names in a certificate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def check_labels(y: Any, n: int) -> tuple[list[Any], NDArray[np.intp]]:
    """The classes in sorted order and the class number of each row."""
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.ravel()
    if labels.ndim != 1:
        raise ValueError(f"y must be one label a row, got an array of shape {labels.shape}")
    if len(labels) != n:
        raise ValueError(f"X has {n} rows but y has {len(labels)} labels")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("y contains NaN or infinity")
    try:
        classes, codes = _classes(labels)
    except TypeError:
        raise ValueError("y mixes labels that cannot be sorted, such as text and numbers") from None
    if len(classes) < 2:
        raise ValueError(f"two classes are needed, found only {classes.tolist()}")
    names = [label_name(c) for c in classes.tolist()]
    if len(set(names)) < len(names):
        raise ValueError("two labels of y are written the same way")
    return classes.tolist(), codes.astype(np.intp)


def _classes(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The different labels, sorted, and the place of each label among them."""
    if labels.dtype.kind in "biuf" and len(labels):
        low, high = labels.min(), labels.max()
        if low < high:
            upper = labels == high
            if np.count_nonzero(upper) + np.count_nonzero(labels == low) == len(labels):
                return np.array([low, high]), upper
    return np.unique(labels, return_inverse=True)


def label_name(label: Any) -> str:
    """A label as text; whole numbers are written without a decimal point.

    >>> label_name(1.0), label_name("spam"), label_name(True)
    ('1', 'spam', '1')
    """
    if isinstance(label, (bool, np.bool_)):
        return str(int(label))
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def binary_signs(y: Any, n: int) -> NDArray[np.float64]:
    """-1 for the first class and +1 for the second of exactly two."""
    classes, codes = check_labels(y, n)
    if len(classes) > 2:
        raise ValueError(f"two classes are needed, found {len(classes)}")
    return np.where(codes == 1, 1.0, -1.0)
