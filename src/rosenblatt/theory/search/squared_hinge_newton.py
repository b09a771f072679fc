"""Separators and contradictions of many columns by least squares, much sooner than by simplex.

Minimise ``ε‖w‖²/2 + Σ max(0, 1 - z_i·w)²/2`` by Newton's method on the active rows, the finite
Newton method of O. Mangasarian (2002) and S. Keerthi, D. DeCoste (2005). If some hyperplane
separates the rows, w does so once ε is small against its squared margin. If not, the losses
``ξ_i = max(0, 1 - z_i·w)`` satisfy ``Σ ξ_i·z_i = ε·w``, nearly zero: these rows contradict each
other, and are thinned out to as many as the rank, plus one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from rosenblatt.theory.search.matrices import Floats, gram

STEPS = 100


class Fit(NamedTuple):
    """What least squares make of some rows.

    `outcome` is ``"separated"``: ``Zw > 0``; ``"contradicted"``: the weights λ >= 0 are on few rows
    and Z'λ is almost zero; or ``"unsure"``: the weights are the losses as they stand.
    """

    outcome: str
    w: Floats
    weights: Floats


def fit(Z: Any, tick: Callable[[], object] = lambda: None) -> Fit:
    """Separate rows of length one, or find rows among them that contradict each other.

    `tick` is called before each step; it may raise to end the work.
    """
    w, scores, epsilon = np.zeros(Z.shape[1]), np.zeros(Z.shape[0]), 1e-4
    active = np.ones(Z.shape[0], dtype=bool)
    last = np.inf
    for _ in range(STEPS):
        tick()
        step = _least_squares(Z[active], epsilon) - w
        slopes = np.asarray(Z @ step)
        length = line_search(w, step, scores, slopes, epsilon)
        w, scores = w + length * step, scores + length * slopes
        if scores.min() > 1e-3:
            return Fit("separated", w, np.zeros(len(scores)))
        losses = np.maximum(0.0, 1.0 - scores)
        total = float(losses.sum())
        if float(np.linalg.norm(Z.T @ losses)) <= 1e-8 * total:
            found = _thin_out(Z, losses / total)
            return Fit("unsure", w, losses) if found is None else Fit("contradicted", w, found)
        value = float(losses @ losses + epsilon * (w @ w))
        if value > (1.0 - 1e-4) * last:
            if epsilon < 1e-13:
                break
            epsilon, value = epsilon * 1e-2, np.inf
        last, active = value, scores < 1.0
    return Fit("unsure", w, np.maximum(0.0, 1.0 - scores))


def _least_squares(part: Any, epsilon: float) -> Floats:
    """The w that minimises ``ε‖w‖² + ‖1 - part·w‖²``, by the smaller of the two systems."""
    m, k = part.shape
    ones = np.ones(m)
    tall = m >= k
    H = gram(part if tall else part.T)
    H[np.diag_indices_from(H)] += epsilon
    right = part.T @ ones if tall else ones
    try:
        solved = linalg.cho_solve(linalg.cho_factor(H, check_finite=False), right)
    except linalg.LinAlgError:
        solved = np.linalg.lstsq(np.triu(H) + np.triu(H, 1).T, right, rcond=None)[0]
    return np.asarray(solved if tall else part.T @ solved)


def line_search(
    w: Floats, step: Floats, scores: Floats, slopes: Floats, epsilon: float | Floats
) -> float:
    """Where the objective is least along the step; its derivative rises from piece to piece.

    `epsilon` is one number, or one for each weight.
    """

    def derivative(t: float) -> float:
        losses = np.maximum(0.0, 1.0 - scores - t * slopes)
        return float((epsilon * (w + t * step)) @ step - losses @ slopes)

    return least_along(derivative)


def least_along(derivative: Callable[[float], float]) -> float:
    """Where, from 0 to 1, a function with a rising derivative is least, nearly."""
    if derivative(1.0) <= 1e-12 * abs(derivative(0.0)):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if derivative(middle) < 0 else (low, middle)
    return high


def _thin_out(Z: Any, weights: Floats) -> Floats | None:
    """Move a combination that almost vanishes onto independent rows and one more.

    Each surplus row is written in the basis; its weight goes to the basis until it is zero, or
    until a basic row's is: then the two change places.
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
    return _exchange(rows, basis, surplus, tableau, weight, len(weights))


def _exchange(
    rows: NDArray[np.intp],
    basis: Any,
    surplus: Any,
    tableau: Floats,
    weight: Floats,
    n: int,
) -> Floats:
    """The exchange steps; in the end one surplus row and its expansion in the basis are left."""
    basis = basis.copy()
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
    found = np.zeros(n)
    found[rows[basis]] = np.maximum(-tableau[-1], 0.0)
    found[rows[surplus[-1]]] = 1.0
    return found / found.sum()
