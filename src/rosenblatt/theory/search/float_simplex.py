"""The simplex method in doubles: a basis from which the exact method has few steps left.

The same problem as in `exact_simplex`, with an explicit inverse and tolerances.
The result is a guess only; on degenerate problems it may be wrong.
"""

from __future__ import annotations

import numpy as np

from rosenblatt.theory.search.matrices import Floats, Indices

# The tolerance for zero, and the smallest pivot.
_ZERO, _PIVOT = 1e-10, 1e-7
# Pivots per row of the basis, at most; pivots after which the inverse is computed again.
_PIVOTS, _AGAIN = 40, 50


def likely_basis(strict: Floats, held: Floats) -> list[int | None]:
    """For each row of the basis the column in it, or None if it still has its artificial one.

    There is a column for each row of `strict`, and two for each row of `held`: itself and its
    opposite, numbered one after the other behind the others. The rows are padded already: the last
    number is one for strict rows and zero for held rows.

    Examples
    --------
    >>> likely_basis(np.array([[1.0, 1.0], [-1.0, 1.0]]), np.empty((0, 2)))
    [0, 1]
    """
    A = np.vstack([strict, np.stack([held, -held], axis=1).reshape(-1, strict.shape[1])])
    scale = np.abs(A).max(axis=0)
    A = A / np.where(scale > 0, scale, 1.0)
    lengths = np.linalg.norm(A, axis=1)
    lengths[lengths == 0] = 1.0
    size = A.shape[1]
    inverse, labels = np.eye(size), np.full(size, -1)
    for count in range(_PIVOTS * size):
        if count % _AGAIN == 0:
            inverse = _inverse(A, labels)
        prices = inverse[labels < 0].sum(axis=0)
        if prices[-1] < _ZERO:
            break
        gains = (A @ prices) / lengths
        gains[labels[labels >= 0]] = 0.0
        entering = int(gains.argmax())
        if gains[entering] < _ZERO:
            break
        direction = inverse @ A[entering]
        rising = np.flatnonzero(direction > _PIVOT * np.abs(direction).max())
        if len(rising) == 0:
            break
        ratios = np.maximum(inverse[rising, -1], 0.0) / direction[rising]
        first = rising[ratios <= ratios.min() + _ZERO]
        leaving = int(first[direction[first].argmax()])
        row = inverse[leaving] / direction[leaving]
        inverse -= np.outer(direction, row)
        inverse[leaving] = row
        labels[leaving] = entering
    return [None if j < 0 else j for j in labels.tolist()]


def _inverse(A: Floats, labels: Indices) -> Floats:
    basis = np.eye(len(labels))
    used = np.flatnonzero(labels >= 0)
    basis[:, used] = A[labels[used]].T
    return np.asarray(np.linalg.inv(basis), dtype=np.float64)
