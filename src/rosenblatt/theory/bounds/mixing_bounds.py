"""Bounds on the updates of parameter mixing: shards train apart and are averaged after each epoch.

Notation as in :mod:`rosenblatt.theory.bounds.mistake_bounds`. Shard i makes ``k_ie`` updates in
epoch e, starting at the mixed weights ``w_e``; the next ones are ``w_(e+1) = Σ_i μ_i w_ie`` with
``μ_i >= 0``, ``Σ μ_i = 1``. ``docs/theory/mixing.md`` has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class MixingBound(NamedTuple):
    """Bounds of a run with parameter mixing.

    Attributes
    ----------
    mixed : float
        The bound on ``Σ_e Σ_i μ_i k_ie``, the updates of each shard times its share.
    total : float
        The bound on ``Σ_e Σ_i k_ie``, all updates.
    """

    mixed: float
    total: float


def mixing_bound(
    radius: float,
    margin: float,
    shares: int | Sequence[float],
    *,
    threshold: float = 0.0,
    eta: float = 1.0,
) -> MixingBound:
    """``Σ_e Σ_i μ_i k_ie <= (R² + 2δ/η)/γ²``: separable rows, start at zero.

    With S equal shares that is at most ``S·(R² + 2δ/η)/γ²`` updates in all: S times the bound of
    one perceptron, on S shards trained in parallel.

    Theorem: R. McDonald, K. Hall, G. Mann (2010), Distributed training strategies for the
    structured perceptron, theorem 3, for δ = 0.

    Parameters
    ----------
    radius, margin : float
        R, the length of the longest row, and γ, the margin of a separator of length one.
    shares : int or sequence of float
        The number S of equal shares, or the shares μ_i.
    threshold, eta : float
        δ >= 0 and η > 0.

    Examples
    --------
    >>> mixing_bound(radius=5.0, margin=0.5, shares=4)
    MixingBound(mixed=100.0, total=400.0)
    >>> mixing_bound(radius=5.0, margin=0.5, shares=[0.5, 0.25, 0.25])
    MixingBound(mixed=100.0, total=400.0)
    """
    if not margin > 0 or not eta > 0 or not threshold >= 0:
        raise ValueError("margin and eta must be positive, and threshold not negative.")
    mixed = (radius**2 + 2 * threshold / eta) / margin**2
    return MixingBound(mixed, mixed / least_share(shares))


def mixing_loss_bound(
    radius: float,
    length: float,
    losses: float,
    shares: int | Sequence[float],
    *,
    epochs: int,
    threshold: float = 0.0,
    eta: float = 1.0,
) -> MixingBound:
    """The bound for any rows, from the hinge losses of any competitor v.

    With ``L = Σ_i μ_i Σ_(z in shard i) max(0, 1 - v·z)`` and E epochs, for every
    ``t > D/2``, ``D = R² + 2δ/η``::

        Σ_e Σ_i μ_i k_ie <= (t²‖v‖² + 2tEL) / (2t - D)

    with the minimum at ``t = (D + √(D² + 4DEL/‖v‖²))/2``. Without losses it is `mixing_bound` with
    the margin ``1/‖v‖``.

    Parameters
    ----------
    radius : float
        R.
    length, losses : float
        ‖v‖ and L.
    shares : int or sequence of float
        The number S of equal shares, or the shares μ_i.
    epochs : int
        E.
    threshold, eta : float
        δ >= 0 and η > 0.

    Examples
    --------
    >>> mixing_loss_bound(5.0, 2.0, 0.0, 4, epochs=10)
    MixingBound(mixed=100.0, total=400.0)
    >>> round(mixing_loss_bound(5.0, 2.0, 3.0, 4, epochs=10).mixed, 1)
    154.2
    """
    if not length > 0 or not eta > 0 or not threshold >= 0 or not losses >= 0:
        raise ValueError("length and eta must be positive, threshold and losses not negative.")
    D, A, B = radius**2 + 2 * threshold / eta, length**2, 2.0 * epochs * losses
    t = (D + math.sqrt(D * D + 2 * B * D / A)) / 2
    mixed = (A * t * t + B * t) / (2 * t - D)
    return MixingBound(mixed, mixed / least_share(shares))


def least_share(shares: int | Sequence[float]) -> float:
    """The smallest share: of S equal shares, or of the shares given.

    >>> least_share(4), least_share([0.75, 0.25])
    (0.25, 0.25)
    """
    if isinstance(shares, int):
        if shares < 1:
            raise ValueError(f"there is at least one shard, got {shares}.")
        return 1.0 / shares
    if not shares or min(shares) <= 0 or abs(math.fsum(shares) - 1.0) > 1e-6:
        raise ValueError("shares must be positive and add up to 1.")
    return min(shares)
