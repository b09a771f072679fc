"""Mistake bounds of the perceptron, each with its theorem.

Notation: rows ``z_i = y_i·(x_i, c)``, ``R = max ‖z_i‖``; update ``w += η·z`` when ``w·z <= δ``; M
the number of updates; γ the augmented margin of a separator of length one.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.theory.bounds.geometry import dataset_margin, premultiply, radius
from rosenblatt.theory.bounds.geometry import pad as pad_rows
from rosenblatt.theory.margin.max_margin import max_margin

Floats = NDArray[np.float64]


def novikoff_bound(radius: float, margin: float) -> float:
    """``M <= R²/γ²``: start at zero, threshold zero, any η, any order of the rows.

    Theorem: H. Block (1962); A. Novikoff (1962), On convergence proofs on perceptrons. Each
    update adds at least γ to ``u·w`` and at most R² to ``‖w‖²``, so ``Mγ <= u·w <= ‖w‖ <= √M·R``.

    Examples
    --------
    >>> novikoff_bound(radius=5.0, margin=0.5)
    100.0
    """
    _positive(margin=margin)
    return (radius / margin) ** 2


def general_bound(
    radius: float,
    separator: Any,
    functional_margin: float,
    *,
    start: Any = None,
    threshold: float = 0.0,
    eta: float = 1.0,
) -> float:
    """The bound for any start, threshold and step size.

    For any separator ŵ (of padded rows) with ``γ̂ = min ŵ·z_i > 0``::

        M <= min over α > (δ + ηR²/2)/γ̂ of ‖w0 - αŵ‖² / (2η(αγ̂ - δ) - η²R²)

    Proof: an update changes ``‖w - αŵ‖²`` by ``2η·w·z - 2ηα·ŵ·z + η²‖z‖²``, at most
    ``2ηδ - 2ηαγ̂ + η²R²``, and no square is negative. With w0 = 0 the minimum is
    ``(R² + 2δ/η)/γ²``; with δ = 0, η = 1 and αγ̂ = R² it is the ``‖w0 - αŵ‖²/R²`` of R. Duda,
    P. Hart, D. Stork (2001), Pattern Classification, section 5.5.2.

    Parameters
    ----------
    radius : float
        R.
    separator : array
        ŵ, of any length; its last entry belongs to the pad.
    functional_margin : float
        γ̂, the smallest ``ŵ·z_i``.
    start : array, optional
        w0 in the same coordinates; by default zero.
    threshold, eta : float
        δ >= 0 and η > 0.

    Examples
    --------
    >>> general_bound(5.0, [1.0, 0.0], 0.5)
    100.0
    >>> general_bound(5.0, [1.0, 0.0], 0.5, threshold=1.0)
    108.0
    >>> general_bound(5.0, [1.0, 0.0], 0.5, start=[12.0, 0.0])
    52.0
    """
    _positive(functional_margin=functional_margin, eta=eta)
    if threshold < 0:
        raise ValueError(f"threshold must not be negative, got {threshold}")
    u = np.asarray(separator, dtype=np.float64).ravel()
    w0 = np.zeros_like(u) if start is None else np.asarray(start, dtype=np.float64).ravel()
    a, b = float(w0 @ w0), float(w0 @ u)
    c = float(u @ u)
    gain = 2.0 * eta * functional_margin
    loss = 2.0 * eta * threshold + (eta * radius) ** 2
    # The derivative by α vanishes where c·g·α² - 2c·l·α + 2b·l - g·a = 0.
    root = math.sqrt(max((c * loss) ** 2 - c * gain * (2.0 * b * loss - gain * a), 0.0))
    alpha = (c * loss + root) / (c * gain)
    fall = gain * alpha - loss
    if fall <= 0:
        return 0.0
    return max(0.0, float(np.sum((w0 - alpha * u) ** 2))) / fall


def mistake_bound(
    X: Any,
    y: Any,
    *,
    weights: Any = None,
    bias: float = 0.0,
    start: Any = None,
    start_bias: float = 0.0,
    threshold: float = 0.0,
    eta: float = 1.0,
    fit_intercept: bool = True,
    padding: float = 1.0,
) -> float:
    """The bound on the updates of a perceptron on separable rows, in any order.

    The formula of :func:`general_bound` applied to the data; infinity if they are not separated.

    Parameters
    ----------
    X, y
        Rows and labels of two classes that a hyperplane separates.
    weights, bias
        A separator; by default the one of largest margin.
    start, start_bias
        The initial weights; by default zero.
    threshold, eta
        The mistake threshold δ and the learning rate η.
    fit_intercept, padding
        Whether rows are padded, and the constant c they are padded with.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> int(mistake_bound(X[:100, 2:], y[:100]))
    410
    >>> mistake_bound([[0.0], [1.0], [2.0]], [0, 1, 0])
    inf
    """
    rows = pad_rows(X, padding) if fit_intercept else X
    if weights is None:
        margin = max_margin(rows, y, fit_intercept=False)
        if margin.lower <= 0:
            return math.inf
        top = max(abs(w) for w in margin.weights)
        separator = np.array([float(w / top) for w in margin.weights])
    else:
        separator = _padded(weights, bias, fit_intercept, padding)
    functional = float((premultiply(rows, y) @ separator).min())
    if functional <= 0:
        return math.inf
    w0 = None if start is None else _padded(start, start_bias, fit_intercept, padding)
    R = radius(rows, None)
    return general_bound(R, separator, functional, start=w0, threshold=threshold, eta=eta)


def padding_bound(radius: float, margin: float, bias: float, padding: float = 1.0) -> float:
    """Novikoff's bound for rows padded with c: ``(R² + c²)(1 + b²/c²)/γ²``.

    Here R is the length of the longest row before padding, γ the geometric margin, ``‖w‖ = 1``.

    Examples
    --------
    >>> padding_bound(4.0, 1.0, bias=1.0, padding=1.0), padding_bound(4.0, 1.0, 1.0, 2.0)
    (34.0, 25.0)
    """
    _positive(margin=margin, padding=abs(padding))
    return (radius**2 + padding**2) * (1.0 + (bias / padding) ** 2) / margin**2


def best_padding(radius: float, bias: float) -> float:
    """The constant that minimizes :func:`padding_bound`: ``c = √(R|b|)``.

    Examples
    --------
    >>> best_padding(radius=4.0, bias=1.0)
    2.0
    """
    return math.sqrt(radius * abs(bias))


class NonseparableBounds(NamedTuple):
    """Bounds on the updates of one pass from zero, for rows that need not be separable.

    ``l2`` and ``l1`` hold before the run, given the losses; ``after`` once it has ended.
    """

    l2: float
    l1: float
    after: float | None


def nonseparable_bounds(
    X: Any,
    y: Any,
    u: Any,
    b: float = 0.0,
    *,
    rho: float = 1.0,
    updated: Any = None,
    final_norm: float | None = None,
    fit_intercept: bool = True,
    padding: float = 1.0,
) -> NonseparableBounds:
    """Mistake bounds against any competitor, separating or not, for one pass from zero, η = 1.

    For a competitor u of length one (with its padded offset) and ρ > 0, let
    ``L_t = max(0, 1 - u·z_t/ρ)`` on the rounds with an update. Then M is at most

    - ``(R/ρ + ‖L‖₂)²`` (Y. Freund, R. Schapire (1999), Large margin classification using the
      perceptron algorithm);
    - ``((a + √(a² + 4‖L‖₁))/2)²`` with a = R/ρ (M. Mohri, A. Rostamizadeh (2013), Perceptron
      mistake bounds);
    - ``‖L‖₁ + ‖w_end‖/ρ``, once the length of the final weights is known.

    Parameters
    ----------
    X, y
        Rows and labels of two classes, in the order shown; one pass.
    u, b
        The competitor; it is scaled to ``‖(u, b/c)‖ = 1``.
    rho : float
        ρ, the target margin.
    updated : array of int, optional
        The rows on which updates were made. By default all rows: the bounds still hold.
    final_norm : float, optional
        ``‖(w, b/c)‖`` at the end of the pass.

    Examples
    --------
    >>> bounds = nonseparable_bounds([[1.0], [2.0], [3.0]], [0, 1, 1], [1.0], -1.5, rho=0.2)
    >>> bounds.after is None, bounds.l2 >= 3, bounds.l1 >= 3
    (True, True, True)
    """
    _positive(rho=rho)
    rows = pad_rows(X, padding) if fit_intercept else X
    competitor = _padded(u, b, fit_intercept, padding)
    Z = premultiply(rows, y)
    scores = np.asarray(Z @ competitor) / float(np.linalg.norm(competitor))
    if updated is not None:
        scores = scores[np.asarray(updated)]
    losses = np.maximum(0.0, 1.0 - scores / rho)
    a, total = radius(rows, None) / rho, float(losses.sum())
    return NonseparableBounds(
        l2=(a + float(np.linalg.norm(losses))) ** 2,
        l1=((a + math.sqrt(a * a + 4.0 * total)) / 2.0) ** 2,
        after=None if final_norm is None else total + final_norm / rho,
    )


def margin_gap(
    X: Any,
    y: Any,
    weights: Any,
    bias: float = 0.0,
    *,
    updates: int,
    eta: float = 1.0,
    fit_intercept: bool = True,
    padding: float = 1.0,
) -> tuple[float, float]:
    """Bounds on the largest margin from any run from zero: ``min z·w/‖w‖ <= γ* <= ‖w‖/(ηM)``.

    The upper bound holds because ``w/(ηM)`` is a convex combination of the rows, and γ* is the
    length of the shortest one.

    Examples
    --------
    >>> low, high = margin_gap([[0.0], [2.0]], [0, 1], [2.0], -1.0, updates=3)
    >>> round(low, 4), round(high, 4)
    (0.4472, 0.7454)
    """
    if updates < 1:
        return -math.inf, math.inf
    constant = padding if fit_intercept else 1.0
    size = float(np.linalg.norm(_padded(weights, bias, fit_intercept, padding)))
    if size == 0.0:
        return -math.inf, 0.0
    low = dataset_margin(X, y, weights, bias, kind="augmented", padding=constant)
    return low, size / (eta * updates)


def _padded(w: Any, b: float, fit_intercept: bool, padding: float) -> Floats:
    w = np.asarray(w, dtype=np.float64).ravel()
    return np.append(w, b / padding) if fit_intercept else w


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not value > 0:
            raise ValueError(f"{name} must be positive, got {value}")
