"""Newton's method on the squared hinge loss, and what it finds in many columns.

The objective is ``Σ p_j·w_j²/2 + Σ φ(z_i·w)`` with
``φ(s) = max(0, 1 - s)²/2 + (m - 1)·max(0, -s)²/2``: a penalty p, which may be zero, and the squared
hinge loss, in which misclassified rows have m times the curvature. It is piecewise quadratic, and
Newton's method ends after finitely many steps (O. Mangasarian, 2002; S. Keerthi, D. DeCoste, 2005).

`fit` lowers the penalty step by step. If some hyperplane separates the rows, w does so once p is
small compared with its squared margin. If not, the losses ``ξ_i = max(0, 1 - z_i·w)`` satisfy
``Σ ξ_i·z_i = p·w``, nearly zero: these rows contradict each other, and they are thinned out to as
many as the rank, plus one.

`reweighted_newton` continues where a descent is unsure. If only a few of many rows are
misclassified, the few rows close to the hyperplane hold them back: often too few to reach every
column, so that their losses are not near a balance. With m = 32, then 1024, w becomes shorter, and
more rows have a loss. At the minimum the pulls ``-φ'(z_i·w)`` cancel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from rosenblatt.theory.search.matrices import Floats, gram, scale_rows

STEPS = 100
# A separator must clear every row by this much; the scale is that of scores around one.
CLEAR = 1e-3
# The weights of misclassified rows, one after the other; the Newton steps for each.
_EMPHASES = (32.0, 1024.0)
_STEPS = 40
_RIDGE = 1e-13


def pulls(scores: Floats, emphasis: float = 1.0) -> Floats:
    """``-φ'(s)`` of each score; without emphasis, the hinge loss itself."""
    losses = np.maximum(0.0, 1.0 - scores)
    return losses if emphasis == 1.0 else losses + (emphasis - 1.0) * np.maximum(0.0, -scores)


def newton_step(
    Z: Any,
    w: Floats,
    scores: Floats,
    penalty: float | Floats = 0.0,
    emphasis: float = 1.0,
    ridge: float = 0.0,
) -> Floats:
    """The step from w, with scores Zw, to the minimum of the quadratic piece that w is on.

    `penalty` is one number, or one per weight; `emphasis` is m. `ridge` is added to the Hessian,
    relative to its diagonal, where the rows may not determine a step. Fewer rows than columns with
    one common penalty lead to a system of the size of the rows.
    """
    near = scores < 1.0
    part, inner = Z[near], scores[near]
    if emphasis == 1.0 and isinstance(penalty, float) and penalty > 0 and part.shape[0] < len(w):
        K = gram(part.T)
        K[np.diag_indices_from(K)] += penalty
        return np.asarray(part.T @ _solve(K, np.ones(len(K)))) - w
    right = part.T @ pulls(inner, emphasis) - penalty * w
    if emphasis != 1.0:
        part = scale_rows(part, np.sqrt(np.where(inner < 0, emphasis, 1.0)))
    H = gram(part)
    sizes = H.diagonal()
    H[np.diag_indices_from(H)] += penalty + ridge * np.where(sizes > 0, sizes, 1.0)
    return _solve(H, right)


def _solve(H: Floats, right: Floats) -> Floats:
    try:
        factor = linalg.cho_factor(H, check_finite=False)
        return np.asarray(linalg.cho_solve(factor, right, check_finite=False))
    except linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(H, right, rcond=None)[0])


def advance(
    Z: Any,
    w: Floats,
    scores: Floats,
    penalty: float | Floats = 0.0,
    emphasis: float = 1.0,
    ridge: float = 0.0,
) -> tuple[Floats, Floats, float]:
    """Take one Newton step, as far as the objective falls: the new w, its scores, and how far."""
    step = newton_step(Z, w, scores, penalty, emphasis, ridge)
    slopes = np.asarray(Z @ step)

    def derivative(t: float) -> float:
        pulled = float(pulls(scores + t * slopes, emphasis) @ slopes)
        return float((penalty * (w + t * step)) @ step) - pulled

    length = _line_minimum(derivative)
    return w + length * step, scores + length * slopes, length


def _line_minimum(derivative: Callable[[float], float]) -> float:
    """Where in (0, 1] a function with a rising derivative is least, nearly."""
    if derivative(1.0) <= 1e-12 * abs(derivative(0.0)):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if derivative(middle) < 0 else (low, middle)
    return high


class Descent(NamedTuple):
    """How a descent ended.

    `outcome` is ``"separated"``: ``Zw > 0``; ``"balanced"``: the weights are in balance;
    ``"contradicted"``: they are on few rows and Z'λ is almost zero; or ``"unsure"``: they are the
    losses at w.
    """

    outcome: str
    w: Floats
    losses: Floats


def fit(Z: Any, tick: Callable[[], object] = lambda: None) -> Descent:
    """Separate rows of length one, or find rows among them that contradict each other.

    `tick` is called before each step; it may raise to stop.
    """
    w, scores, penalty = np.zeros(Z.shape[1]), np.zeros(Z.shape[0]), 1e-4
    last = np.inf
    for _ in range(STEPS):
        tick()
        w, scores, _ = advance(Z, w, scores, penalty)
        if scores.min() > CLEAR:
            return Descent("separated", w, np.zeros(len(scores)))
        losses = pulls(scores)
        total = float(losses.sum())
        if float(np.linalg.norm(Z.T @ losses)) <= 1e-8 * total:
            found = _thin_out(Z, losses / total)
            if found is None:
                return Descent("unsure", w, losses)
            return Descent("contradicted", w, found)
        value = float(losses @ losses + penalty * (w @ w))
        if value > (1.0 - 1e-4) * last:
            if penalty < 1e-13:
                break
            penalty, value = penalty * 1e-2, np.inf
        last = value
    return Descent("unsure", w, pulls(scores))


def _thin_out(Z: Any, weights: Floats) -> Floats | None:
    """Reduce a combination that almost vanishes to independent rows and one more.

    Each surplus row is expanded in the basis; its weight moves to the basis until it is zero, or
    until the weight of a basic row is: then the two change places.
    """
    rows = np.flatnonzero(weights > 1e-7 * weights.max())
    part = Z[rows].toarray() if sparse.issparse(Z) else Z[rows]
    weight = weights[rows]
    _, R, order = linalg.qr((part * weight[:, None]).T, mode="economic", pivoting=True)
    rank = int(np.sum(np.abs(np.diag(R)) > 1e-10 * abs(R[0, 0])))
    if rank >= len(rows):
        return None
    basis, surplus = order[:rank], order[rank:]
    tableau = linalg.solve_triangular(R[:rank, :rank], R[:rank, rank:]).T
    tableau = tableau * weight[basis] / weight[surplus][:, None]
    basis = _exchange(basis.copy(), surplus, tableau, weight)
    found = np.zeros(len(weights))
    found[rows[basis]] = np.maximum(-tableau[-1], 0.0)
    found[rows[surplus[-1]]] = 1.0
    return found / found.sum()


def _exchange(basis: Any, surplus: Any, tableau: Floats, weight: Floats) -> Any:
    """Exchange steps until one surplus row and its expansion in the basis are left: its basis."""
    for k in range(len(surplus) - 1):
        j, row = surplus[k], tableau[k]
        falling = np.flatnonzero(row < -1e-11)
        limits = -weight[basis[falling]] / row[falling]
        step = min(float(limits.min(initial=np.inf)), float(weight[j]))
        weight[basis] = np.maximum(weight[basis] + step * row, 0.0)
        if step == weight[j]:
            weight[j] = 0.0
            continue
        weight[j] -= step
        out = falling[int(np.argmin(limits))]
        pivot, direction = row[out], row / row[out]
        later = tableau[k + 1 :]
        column = later[:, out].copy()
        later -= np.outer(column, direction)
        later[:, out] = column / pivot
        weight[basis[out]] = 0.0
        basis[out] = j
    return basis


def reweighted_newton(
    Z: Any,
    w: Floats,
    balanced: Callable[[Floats], Floats | None],
    tick: Callable[[], object] = lambda: None,
) -> Descent:
    """Separate rows of length one, or find pulls near which the test `balanced` finds a balance."""
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
