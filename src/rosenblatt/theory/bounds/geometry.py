"""Padding, premultiplication and margins: the matrix form ``Zv > 0`` of a binary problem.

There are two margins. The *geometric* one, ``min y·(w·x + b)/‖w‖``, is the distance to
the hyperplane. The *augmented* one, ``min y·(w·x + b)/‖(w, b/c)‖``, is the same for the padded rows
(x, c) and a hyperplane through the origin: it is the one in mistake bounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rosenblatt.theory.checker.input_data import binary_signs, checked_csr

Floats = NDArray[np.float64]


def pad(X: Any, constant: float = 1.0) -> Any:
    """Append a constant to every row.

    Rows that a hyperplane with an offset separates are, once padded, separated by one through the
    origin: ``w·x + b = (w, b/c)·(x, c)``.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Rows.
    constant : float
        The constant c, not zero.

    Examples
    --------
    >>> pad([[2.0, 3.0]]).tolist()
    [[2.0, 3.0, 1.0]]
    """
    if constant == 0:
        raise ValueError("the padding constant must not be zero")
    if sparse.issparse(X):
        column = sparse.csr_array(np.full((X.shape[0], 1), constant))
        return sparse.hstack([checked_csr(X), column], format="csr")
    X = np.asarray(X)
    return np.hstack([X, np.full((X.shape[0], 1), constant, dtype=np.result_type(X, constant))])


def premultiply(X: Any, y: Any) -> Any:
    """Multiply the rows of the negative class by -1: ``z_i = y_i·x_i``.

    A hyperplane through the origin separates the classes if and only if some v has ``Zv > 0``.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Rows, padded if the hyperplane may have an offset.
    y : array of shape (n,)
        Labels of two classes; the second in sorted order is the positive one.

    Examples
    --------
    >>> premultiply(pad([[2.0], [1.0]]), ["yes", "no"]).tolist()
    [[2.0, 1.0], [-1.0, -1.0]]
    """
    if sparse.issparse(X):
        return sparse.csr_array(sparse.diags_array(binary_signs(y, X.shape[0])) @ checked_csr(X))
    X = np.asarray(X)
    return X * binary_signs(y, X.shape[0])[:, None]


def point_margins(X: Any, y: Any, w: Any, b: float = 0.0) -> Floats:
    """The signed distance of each row to the hyperplane ``w·x + b = 0``: ``y·(w·x + b)/‖w‖``.

    Positive where the row is on the right side.

    Examples
    --------
    >>> point_margins([[3.0, 4.0], [0.0, 0.0]], [1, 0], [3.0, 4.0], -5.0).tolist()
    [4.0, 1.0]
    """
    w = np.asarray(w, dtype=np.float64).ravel()
    size = float(np.linalg.norm(w))
    if size == 0:
        raise ValueError("w is zero: there is no hyperplane")
    return _scores(X, y, w, b) / size


def dataset_margin(
    X: Any, y: Any, w: Any, b: float = 0.0, *, kind: str = "geometric", padding: float = 1.0
) -> float:
    """The smallest margin of any row; positive if and only if the hyperplane separates the classes.

    Parameters
    ----------
    X, y
        Rows and labels of two classes.
    w, b
        The hyperplane; leave b at 0 for one through the origin.
    kind : {"geometric", "augmented"}
        Divide by ‖w‖, or by ‖(w, b/c)‖.
    padding : float
        The constant c of the augmented margin.

    Examples
    --------
    >>> X, y = [[0.0], [4.0]], [0, 1]
    >>> dataset_margin(X, y, [1.0], -2.0)
    2.0
    >>> round(dataset_margin(X, y, [1.0], -2.0, kind="augmented"), 4)
    0.8944
    """
    if kind not in ("geometric", "augmented"):
        raise ValueError(f"kind must be 'geometric' or 'augmented', got {kind!r}")
    w = np.asarray(w, dtype=np.float64).ravel()
    size = float(np.linalg.norm(np.append(w, b / padding) if kind == "augmented" else w))
    if size == 0:
        raise ValueError("the weights are zero: there is no hyperplane")
    return float(_scores(X, y, w, b).min()) / size


def radius(X: Any, padding: float | None = 1.0) -> float:
    """R, the length of the longest row (x, c), or of the longest x if `padding` is None.

    Examples
    --------
    >>> radius([[3.0, 4.0]], padding=None), round(radius([[3.0, 4.0]]), 3)
    (5.0, 5.099)
    """
    if sparse.issparse(X):
        rows = checked_csr(X)
        squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    else:
        X = np.asarray(X, dtype=np.float64)
        squares = np.einsum("ij,ij->i", X, X)
    return float(np.sqrt(squares.max() + (padding**2 if padding is not None else 0.0)))


def _scores(X: Any, y: Any, w: Floats, b: float) -> Floats:
    X = checked_csr(X) if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    return np.asarray((X @ w + b) * binary_signs(y, X.shape[0]))
