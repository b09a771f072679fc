"""Repeated walks over the same arrays, for examples that come one by one."""

from __future__ import annotations

import numpy as np

from rosenblatt.kernels import learn
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.linear import Linear
from rosenblatt.learners.parts import counts_of
from rosenblatt.learners.protocol import NO_LIMITS, Array


class BoundWalk:
    """Repeated walks over the same arrays, whose kernel arguments are converted once.

    Parameters
    ----------
    learner : Linear or Family
    examples, order, etas
        As for :meth:`Linear.walk`; their contents may change between two walks.
    """

    def __init__(self, learner: Linear, examples: Examples, order: Array, etas: Array) -> None:
        self.learner, self._walks, self._settles = learner, [], []
        rooms = [part.score_buffer(len(order)) for part in learner.parts]
        self._counts = [counts_of() for _ in learner.parts]
        self._scores = [part.scores(seen) for part, seen in zip(learner.parts, rooms, strict=True)]
        lazy = learner.averaging and learner.is_perceptron
        for part, seen, counts in zip(learner.parts, rooms, self._counts, strict=True):
            arguments = part.arguments((examples, order, etas), NO_LIMITS, counts, seen)
            self._walks.append(part.kernel.bound(*arguments))
            if lazy:
                arguments = part.settling_arguments((examples, order, etas), seen)
                self._settles.append(part.settling.bound(*arguments))

    def __call__(self) -> Array:
        """Learn; returns the scores (rows, problems) before learning, valid until the next call."""
        if self._settles:
            for part in self.learner.parts:
                part.book[learn.TIME, 0] = part.book[learn.CLOCK, 0]
        for walk in self._walks:
            walk()
        for settle in self._settles:
            settle()
        return self._scores[0] if len(self._scores) == 1 else np.hstack(self._scores)

    @property
    def updates(self) -> int:
        """The number of updates of all walks so far."""
        return sum(int(counts[learn.UPDATES]) for counts in self._counts)
