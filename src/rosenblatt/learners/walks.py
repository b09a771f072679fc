"""The walks by the kind of problems, and the one that only scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from rosenblatt.kernels import learn
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.parts import tally_of
from rosenblatt.learners.protocol import Array, Limits

if TYPE_CHECKING:
    from rosenblatt.learners.linear import Linear

WALKS = {
    "one": (learn.walk_one, learn.settle_one),
    "each": (learn.walk_each, learn.settle_each),
    "joint": (learn.walk_joint, learn.settle_joint),
}


def scorer(learner: Linear, examples: Examples, averaged: bool = False) -> Callable[[Array], Array]:
    """What scores rows with the present weights or their average: a walk that never learns."""
    now = [(part.W, part.book[learn.BIAS]) for part in learner.parts]
    weights = learner.means() if averaged else now
    never = np.array([math.nan, math.nan, 0.0])  # no margin compares with NaN

    def scores(order: Array) -> Array:
        out = []
        for part, (W, bias) in zip(learner.parts, weights, strict=True):
            seen = np.empty((len(order), part.problems), learner.dtype)
            book = np.zeros_like(part.book)
            book[learn.BIAS] = bias
            WALKS[learner.kind][0](
                *examples.arrays, order, np.zeros(1), W, learner.rates, book, never,
                tally_of(part.classes, Limits()), seen, *part.scratch,
            )  # fmt: skip
            out.append(seen)
        return out[0] if len(out) == 1 else np.hstack(out)

    return scores
