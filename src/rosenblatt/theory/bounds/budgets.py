"""Mistake bounds of kernel perceptrons with a budget of support vectors.

Notation: ``K(x, x) <= R²``; a competitor u in the feature space, of length U, whose hinge losses
``max(0, 1 - y·u(x))`` on the rounds with a mistake add up to L; B the budget. One pass from zero,
threshold zero, all sample weights one. A bound is infinite where its condition fails. The proofs
are in ``docs/theory/budgets.md``. No algorithm with budget B has a bound if ``U·R >= √(B + 1)``.
"""

from __future__ import annotations

import math

DAMAGE = 15.0 / 32.0  # the fraction of each mistake's gain that Forgetron removals may undo


def random_removal_bound(
    budget: int, norm: float, loss: float = 0.0, radius: float = 1.0
) -> float:  # fmt: skip
    """The bound on the expected mistakes if a random row is removed, for ``U·R < √B``.

    ``E[M] <= (S + √(S² - (1 - c²)L²)) / (1 - c²)`` with ``S = L + U²R²`` and ``c² = U²R²/B``: the
    larger root of ``(M - L)² = U²R²(M²/B + 2M)``. L may be the expected loss on mistaken rounds,
    or the loss on all rounds. The algorithm is that of G. Cavallanti, N. Cesa-Bianchi, C. Gentile
    (2007), Tracking the best hyperplane with a simple budget perceptron, Machine Learning 69.

    Parameters
    ----------
    budget : int
        B.
    norm, loss, radius : float
        U, L and R.

    Examples
    --------
    >>> random_removal_bound(budget=100, norm=5.0)
    66.66666666666667
    >>> random_removal_bound(budget=100, norm=10.0)
    inf
    """
    _check(budget, norm, loss, radius)
    square = (norm * radius) ** 2
    rest = 1.0 - square / budget
    if rest <= 0.0:
        return math.inf
    total = loss + square
    return (total + math.sqrt(total * total - rest * loss * loss)) / rest


def forgetron_bound(budget: int, norm: float, loss: float = 0.0, radius: float = 1.0) -> float:
    """The bound of the Forgetron: all coefficients shrink, then the oldest row is removed.

    ``M <= (U²R² + 2L) / (17/32 - s)`` with ``s = U²R²·log(B+1) / (4(B+1))``, for
    ``U·R <= ½√(B+1)·(15/32 - 1/(B+1)) - 1``. That contains the form of O. Dekel, S. Shalev-Shwartz,
    Y. Singer (2008), The Forgetron, SIAM Journal on Computing 37: at most ``2U² + 4L`` mistakes if
    R = 1, ``B >= 83`` and ``U <= ¼√((B+1)/log(B+1))``.

    Parameters
    ----------
    budget : int
        B.
    norm, loss, radius : float
        U, L and R.

    Examples
    --------
    >>> round(forgetron_bound(budget=1000, norm=5.0), 1)
    51.2
    >>> forgetron_bound(budget=1000, norm=10.0)
    inf
    """
    _check(budget, norm, loss, radius)
    length, rows = norm * radius, budget + 1.0
    if length > 0.5 * math.sqrt(rows) * (DAMAGE - 1.0 / rows) - 1.0:
        return math.inf
    left = 1.0 - DAMAGE - length**2 * math.log(rows) / (4.0 * rows)
    return (length**2 + 2.0 * loss) / left if left > 0.0 else math.inf


def projection_bound(
    norm: float, loss: float = 0.0, radius: float = 1.0, error: float = 0.0
) -> float:  # fmt: skip
    """The bound if mistaken rows are projected onto the span of the support vectors.

    ``M <= ((a + √(a² + 4bL)) / 2b)²`` with ``a = U·R`` and ``b = 1 - U·η``, for ``U·η < 1``. η is
    the largest distance of a mistaken row from the span; with η = 0 it is the bound of the
    perceptron. Similar: F. Orabona, J. Keshet, B. Caputo (2009), Bounded kernel-based online
    learning, JMLR 10, who choose η and let B follow.

    Parameters
    ----------
    norm, loss, radius, error : float
        U, L, R and η.

    Examples
    --------
    >>> projection_bound(norm=5.0), projection_bound(norm=5.0, error=0.1)
    (25.0, 100.0)
    """
    _check(1, norm, loss, radius)
    if error < 0:
        raise ValueError(f"error must not be negative, got {error}")
    left, length = 1.0 - norm * error, norm * radius
    if left <= 0.0:
        return math.inf
    return ((length + math.sqrt(length**2 + 4.0 * left * loss)) / (2.0 * left)) ** 2


def _check(budget: int, norm: float, loss: float, radius: float) -> None:
    if budget < 1:
        raise ValueError(f"budget must be at least 1, got {budget}")
    for name, value in (("norm", norm), ("loss", loss), ("radius", radius)):
        if not value >= 0:
            raise ValueError(f"{name} must not be negative, got {value}")
