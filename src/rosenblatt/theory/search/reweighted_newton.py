"""Newton steps for rows that a descent leaves undecided: misclassified rows get a larger weight.

If only a few of many rows are misclassified, the few rows close to the hyperplane hold them back:
often too few to reach every column, so that their losses are not near a balance. So the squared
hinge loss of misclassified rows is weighted 32 times, then 1024 times: w becomes shorter, and more
rows have a loss. At the minimum the pulls ``λ_i = -φ'(z_i·w)`` cancel as the losses of
:mod:`rosenblatt.theory.search.descent` do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rosenblatt.theory.search.descent import CLEAR
from rosenblatt.theory.search.matrices import Floats
from rosenblatt.theory.search.squared_hinge_newton import Descent, advance, pulls

# The weights of misclassified rows, one after the other, and the Newton steps for each.
_EMPHASES = (32.0, 1024.0)
_STEPS = 40
_RIDGE = 1e-13


def reweighted_newton(
    Z: Any,
    w: Floats,
    balanced: Callable[[Floats], Floats | None],
    tick: Callable[[], object] = lambda: None,
) -> Descent:
    """Separate rows of length one, or find pulls near which the test `balanced` finds a balance.

    Examples
    --------
    >>> square = np.array([[0.6, 0.8], [0.8, -0.6], [-0.6, -0.8]])
    >>> reweighted_newton(square, np.zeros(2), lambda pulls: pulls).outcome
    'balanced'
    """
    scores = np.asarray(Z @ w)
    for emphasis in _EMPHASES:
        for _ in range(_STEPS):
            tick()
            before = _pieces(scores)
            w, scores, length = advance(Z, w, scores, emphasis=emphasis, ridge=_RIDGE)
            reached = pulls(scores, emphasis)
            if scores.min() > CLEAR:
                return Descent("separated", w, reached)
            found = balanced(reached)
            if found is not None:
                return Descent("balanced", w, found)
            if length == 1.0 and np.array_equal(_pieces(scores), before):
                break
    return Descent("unsure", w, reached)


def _pieces(scores: Floats) -> Any:
    """The piece of φ that each score is on; a full Newton step within one piece is the last."""
    return (scores < 1.0).astype(np.int8) + (scores < 0.0)
