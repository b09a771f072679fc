"""The batch rule: correct all mistakes of a walk together, at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rosenblatt.kernels import learn
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.problems import Problems
from rosenblatt.learners.protocol import Array, Tally

if TYPE_CHECKING:
    from rosenblatt.learners.linear import Linear


def corrections(
    problems: Problems, scores: Array, codes: Array, weight: Array
) -> tuple[Array, int]:
    """What each row adds to each problem (rows, problems), for a rate of one, and the updates.

    >>> coefficients, updates = corrections(
    ...     Problems(2), np.array([[0.5], [0.5]]), np.array([0, 1]), np.ones(2)
    ... )
    >>> coefficients.tolist(), updates
    ([[-1.0], [0.0]], 1)
    """
    if problems.joint:
        here, rivals = np.arange(len(codes)), problems.rivals(scores, codes)
        wrong = problems.is_corrected(scores, codes)
        out = np.zeros(scores.shape)
        out[here[wrong], codes[wrong]] = weight[wrong]
        out[here[wrong], rivals[wrong]] = -weight[wrong]
        return out, int(np.count_nonzero(wrong))
    signs, (below, above) = problems.signs[codes], problems.thresholds
    wrong = (signs != 0) & (signs * scores <= np.where(signs > 0, above, below))
    copies = np.maximum(1, np.ceil(weight)).astype(np.int64)
    return wrong * signs * weight[:, None], int((wrong * copies[:, None]).sum())


def walk_batch(learner: Linear, examples: Examples, order: Array, eta: float) -> Tally:
    """One iteration of a linear learner: add up the corrections of all rows, then make them."""
    scores, codes = learner.scores(examples, order), examples.codes[order]
    weight, first, pairs = examples.weights_of(order), 0, learner.is_pairwise
    coefficients, updates = corrections(learner.problems, scores, codes, weight)
    for part in learner.parts:
        mine = np.ascontiguousarray(coefficients[:, first : first + part.problems])
        own = weight[np.isin(codes, part.classes)] if pairs else weight
        part.correct(examples, order, mine, eta, learner.rates, learner.rule, learner.averaging)
        part.book[learn.CLOCK, 0] += own.sum()
        first += part.problems
    predictions = learner.problems.decide(scores)
    updated = updates if pairs else int(np.count_nonzero(coefficients.any(axis=1)))
    mistakes, total = int(np.count_nonzero(predictions != codes)), float(weight.sum())
    return Tally(len(order), total, updates, updated, mistakes, 0, predictions)
