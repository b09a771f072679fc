"""The other members of the family in plain Python, step by step."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.reference.textbook import Order, Rate, Vector, _epochs, _rate, dot, sign
from rosenblatt.rules.registry import rule_of
from rosenblatt.rules.storage import Cell, Storage


@dataclass(frozen=True)
class FamilyStep:
    """One step of a member of the family.

    `square` is ``‖(x,c)‖²``, or the variance of the padded example for members with variances;
    `tau` is 0 without an update. `variances_after` are those of the weights and, last, of the bias;
    empty for members without variances.
    """

    step: int
    epoch: int
    row: int
    x: Vector
    y: int
    score: float
    prediction: int
    mistake: bool
    square: float
    tau: float
    beta: float
    weights_before: Vector
    bias_before: float
    weights_after: Vector
    bias_after: float
    variances_before: Vector
    variances_after: Vector


def family(
    X: Sequence[Sequence[Any]],
    y: Sequence[int],
    rule: Any,
    *,
    eta: Rate = 1.0,
    padding: float | None = 1.0,
    order: Order = False,
    sample_weight: Sequence[float] | None = None,
    max_epochs: int = 1,
    seed: int | None = None,
) -> Iterator[FamilyStep]:
    """Run a member of the family, yielding a step per example visited.

    The weights are those of the padded example (x, c) in one list. Penalties are applied to every
    weight at every step, as defined; the engine applies them lazily.

    Parameters
    ----------
    X, y
        Rows of numbers and their labels, -1 or +1.
    rule
        The member and its parameters, such as ``rosenblatt.rules.second_order.Arow(r=1.0)``.
    eta
        Learning rate of members that have one: a number, or a function of the visit number.
    padding, order, seed
        As for :func:`online`.
    sample_weight
        The weight of each row.
    max_epochs
        The maximum number of epochs: the run ends after an epoch without an update.

    Examples
    --------
    >>> from rosenblatt.rules.second_order import Arow
    >>> steps = list(family([[2, 1], [-1, 1]], [1, -1], Arow(r=1.0)))
    >>> [round(w, 3) for w in steps[-1].weights_after], round(steps[-1].variances_after[0], 3)
    ([0.422, -0.13], 0.37)
    """
    c = 0.0 if padding is None else float(padding)
    rows = [[float(value) for value in row] for row in X]
    record, d, t = rule_of(type(rule)), len(rows[0]), 0
    storage = record.storage
    begin = np.zeros(storage.depth)
    if storage.start is not None:
        storage.start(begin, 1.0)
    cells = [tuple(begin.tolist())] * (d + 1)
    visit, time = 0, 0.0
    for epoch, visits in enumerate(_epochs(order, len(rows), max_epochs, seed), start=1):
        corrected = 0
        for row in visits:
            weight = 1.0 if sample_weight is None else float(sample_weight[row])
            if weight == 0.0:
                continue
            t += 1
            visit += 1
            time += weight
            x, rate = [*rows[row], c], _rate(eta, visit)
            before, spread = _columns(storage, cells)
            score = dot(before, x)
            margin = y[row] * score
            square = dot([xj * xj for xj in x], spread or [1.0] * (d + 1))
            answer = record.step(rule, margin, square, weight, rate)
            tau, beta = answer if storage.has_variances else (answer, 0.0)
            if tau != 0.0:
                corrected += 1
                pairs = zip(cells, x, strict=True)
                cells = [storage.define(rule, cell, xj, tau * y[row], beta) for cell, xj in pairs]
            cells = _penalized(rule, cells, rate * weight, time)
            w, sigma = _columns(storage, cells)
            yield FamilyStep(
                t,
                epoch,
                row,
                tuple(x[:d]),
                y[row],
                score,
                sign(score),
                sign(score) != y[row],
                square,
                tau,
                beta,
                before[:d],
                before[d] * c,
                w[:d],
                w[d] * c,
                spread,
                sigma,
            )
        if corrected == 0:
            return


def _columns(storage: Storage, cells: Sequence[Cell]) -> tuple[Vector, Vector]:
    """The weights, and the variances if there are any."""
    weights, *others = zip(*cells, strict=True)
    return weights, others[0] if storage.has_variances else ()


def _penalized(rule: Any, cells: Sequence[Cell], rate: float, time: float) -> list[Cell]:
    """The cells after the penalties of a step; the last one, the padding's, has none."""
    record = rule_of(type(rule))
    *features, padding = cells
    weigh = record.storage.weigh
    if weigh is not None:
        penalty = record.penalty(rule, time)
        ends = [(weigh(rule, cell, penalty), *cell[1:]) for cell in features]
        return [*ends, (weigh(rule, padding, 0.0), *padding[1:])]
    if record.decays:
        factor = max(0.0, 1.0 - rate * rule.l2)
        return [*((cell[0] * factor, *cell[1:]) for cell in features), padding]
    return list(cells)


def family_average(
    steps: Sequence[FamilyStep], sample_weight: Sequence[float] | None = None
) -> tuple[Vector, float]:
    """The mean of the weights and of the bias after each step, by the weights of the rows.

    Examples
    --------
    >>> from rosenblatt.rules.passive_aggressive import passive_aggressive
    >>> steps = list(family([[2, 1], [-1, 1]], [1, -1], passive_aggressive()))
    >>> [round(w, 3) for w in family_average(steps)[0]]
    [0.5, 0.0]
    """
    shares = [1.0 if sample_weight is None else float(sample_weight[s.row]) for s in steps]
    total = math.fsum(shares)
    columns = zip(*([*s.weights_after, s.bias_after] for s in steps), strict=True)
    *weights, bias = (
        math.fsum(share * value for share, value in zip(shares, column, strict=True)) / total
        for column in columns
    )
    return tuple(weights), bias
