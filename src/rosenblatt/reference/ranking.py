"""PRank, the perceptron of ordered classes, in plain Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rosenblatt.reference.textbook import Order, Vector, _epochs, dot


@dataclass(frozen=True)
class RankStep:
    """One step of PRank: `loss` is the number of thresholds on whose wrong side the score lies."""

    step: int
    epoch: int
    row: int
    x: Vector
    y: int
    score: Any
    prediction: int
    loss: int
    weights_before: Vector
    thresholds_before: Vector
    weights_after: Vector
    thresholds_after: Vector


def prank(
    X: Sequence[Sequence[Any]],
    y: Sequence[int],
    classes: int,
    *,
    order: Order = False,
    max_epochs: int = 1,
    seed: int | None = None,
) -> Iterator[RankStep]:
    """Run PRank (Crammer and Singer 2001), yielding a step per example visited.

    One weight vector w and K - 1 thresholds θ between K classes, 0 to K - 1. The prediction is the
    number of thresholds that are not above the score w·x. With the signs z_j = +1 if y > j, else
    -1, the thresholds that err are those with z_j (w·x - θ_j) <= 0; then w += (Σ z_j) x and
    θ_j -= z_j over these j. The thresholds stay in order.

    If some v and thresholds c with ‖v‖² + ‖c‖² = 1 have z_j (v·x - c_j) >= γ > 0 for all rows and
    thresholds, the losses of all steps sum to at most ((K - 1) R² + 1) / γ², with R the length of
    the longest row: n errors add at least nγ to the product of (w, θ) with (v, c), and at most
    n²R² + n <= n ((K - 1) R² + 1) to the square of the length of (w, θ).

    >>> steps = list(prank([[1], [3], [5]], [0, 1, 2], 3, max_epochs=30))
    >>> steps[-1].weights_after, steps[-1].thresholds_after
    ((2,), (5, 9))
    >>> sum(step.loss for step in steps)
    32
    """
    weights = (0,) * len(X[0])
    thresholds = (0,) * (classes - 1)
    step = 0
    for epoch, visits in enumerate(_epochs(order, len(X), max_epochs, seed), start=1):
        for row in visits:
            step += 1
            x, score = tuple(X[row]), dot(weights, X[row])
            signs = [1 if y[row] > j else -1 for j in range(classes - 1)]
            moves = tuple(
                z if z * (score - threshold) <= 0 else 0
                for z, threshold in zip(signs, thresholds, strict=True)
            )
            after = tuple(w + sum(moves) * value for w, value in zip(weights, x, strict=True))
            moved = tuple(t - move for t, move in zip(thresholds, moves, strict=True))
            prediction = sum(score >= threshold for threshold in thresholds)
            loss = sum(map(abs, moves))
            yield RankStep(
                step, epoch, row, x, y[row], score, prediction, loss, weights, thresholds, after,
                moved,
            )  # fmt: skip
            weights, thresholds = after, moved
