"""Newton's steps for rows that a descent leaves unsure; rows on the wrong side pull harder.

Where a few rows are wrong among many, they are held by the few rows that stand close to the
hyperplane: too few, often, to reach every column, and their losses are no balance. So minimise
``Σ φ(z_i·w)`` with ``φ(s) = max(0, 1 - s)²/2 + (m - 1)·max(0, -s)²/2``: rows on the wrong side pull
m times harder, w grows shorter for it, and more rows come into its reach. At the least value the
pulls ``λ_i = -φ'(z_i·w)`` cancel as the losses of :mod:`rosenblatt.theory.search.descent` do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg

from rosenblatt.theory.search.descent import CLEAR, Descent
from rosenblatt.theory.search.matrices import Floats, gram, scale_rows
from rosenblatt.theory.search.squared_hinge_newton import least_along

# How much harder the rows on the wrong side pull, one after the other, and the steps for each.
_HARDER = (32.0, 1024.0)
_STEPS = 40


def insist(
    Z: Any,
    w: Floats,
    balanced: Callable[[Floats], Floats | None],
    tick: Callable[[], object] = lambda: None,
) -> Descent:
    """Separate rows of length one, or find pulls near which the test `balanced` finds a balance.

    Examples
    --------
    >>> square = np.array([[0.6, 0.8], [0.8, -0.6], [-0.6, -0.8]])
    >>> insist(square, np.zeros(2), lambda pulls: pulls).outcome
    'balanced'
    """
    scores = np.asarray(Z @ w)
    for harder in _HARDER:
        for _ in range(_STEPS):
            tick()
            before, step = _pieces(scores), _newton_step(Z, scores, harder)
            slopes = np.asarray(Z @ step)
            length = _length(scores, slopes, harder)
            w, scores = w + length * step, scores + length * slopes
            if scores.min() > CLEAR:
                return Descent("separated", w, _pulls(scores, harder))
            pulls = _pulls(scores, harder)
            found = balanced(pulls)
            if found is not None:
                return Descent("balanced", w, found)
            if length == 1.0 and np.array_equal(_pieces(scores), before):
                break
    return Descent("unsure", w, pulls)


def _pieces(scores: Floats) -> Any:
    """Which piece of φ each score is on; on one and the same, a whole step of Newton's ends it."""
    return (scores < 1.0).astype(np.int8) + (scores < 0.0)


def _pulls(scores: Floats, harder: float) -> Floats:
    return np.asarray(np.maximum(0.0, 1.0 - scores) + (harder - 1.0) * np.maximum(0.0, -scores))


def _newton_step(Z: Any, scores: Floats, harder: float) -> Floats:
    near = np.flatnonzero(scores < 1.0)
    part, inner = Z[near], scores[near]
    H = gram(scale_rows(part.copy(), np.sqrt(np.where(inner < 0, harder, 1.0))))
    sizes = H.diagonal()
    scale = 1.0 / np.sqrt(np.where(sizes > 0, sizes, 1.0))
    H *= scale
    H *= scale[:, None]
    H[np.diag_indices_from(H)] += 1e-13
    right = part.T @ _pulls(inner, harder)
    try:
        factor = linalg.cho_factor(H, overwrite_a=True, check_finite=False)
        return np.asarray(scale * linalg.cho_solve(factor, scale * right, check_finite=False))
    except linalg.LinAlgError:
        return np.asarray(right)


def _length(scores: Floats, slopes: Floats, harder: float) -> float:
    """How much of a step to take: where the objective is least along it."""
    return least_along(lambda t: -float(_pulls(scores + t * slopes, harder) @ slopes))
