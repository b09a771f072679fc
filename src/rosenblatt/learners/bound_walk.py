"""A walk over the same arrays again and again, for examples that come one by one."""

from __future__ import annotations

import numpy as np

from rosenblatt.kernels import learn
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.family import Family
from rosenblatt.learners.linear import Linear
from rosenblatt.learners.parts import tally_of
from rosenblatt.learners.protocol import Array, Limits
from rosenblatt.learners.walks import WALKS


class BoundWalk:
    """A walk to be taken again and again over the same arrays, with little overhead.

    Parameters
    ----------
    learner : Linear
    examples, order, etas
        As for :meth:`Linear.walk`; their contents may change between two walks.
    """

    def __init__(self, learner: Linear, examples: Examples, order: Array, etas: Array) -> None:
        self.learner = learner
        self._parts = learner.parts
        walk, settle = WALKS[learner.kind]
        width = sum(part.problems for part in self._parts)
        self._seen = [np.empty((len(order), part.problems), learner.dtype) for part in self._parts]
        self.scores = np.empty((len(order), width), learner.dtype)
        self._tallies = [tally_of(part.classes, Limits()) for part in self._parts]
        self._walks, self._settles = [], []
        for part, seen, tally in zip(self._parts, self._seen, self._tallies, strict=True):
            start, rule = (*examples.arrays, order, etas), (part.book, learner.rule, tally)
            self._walks.append(
                walk.bound(*start, part.W, learner.rates, *rule, seen, *part.scratch)
            )
            if learner.averaging:
                sums = (*start, seen, part.sums(), learner.rates, *rule)
                self._settles.append(settle.bound(*sums, *part.scratch))

    def __call__(self) -> Array:
        """Learn; the scores before it, (rows, problems), good until the next call."""
        if self._settles:
            for part in self._parts:
                part.book[learn.TIME, 0] = part.book[learn.CLOCK, 0]
        for walk in self._walks:
            walk()
        for settle in self._settles:
            settle()
        if len(self._seen) == 1:
            return self._seen[0]
        return np.concatenate(self._seen, axis=1, out=self.scores)

    @property
    def updates(self) -> int:
        """The updates of all walks so far."""
        return sum(int(tally[learn.UPDATES]) for tally in self._tallies)


class FamilyWalk:
    """The same for a member of the family.

    Parameters
    ----------
    learner : Family
    examples, order, etas
        As for :class:`BoundWalk`.
    """

    def __init__(self, learner: Family, examples: Examples, order: Array, etas: Array) -> None:
        self.learner, self._walks = learner, []
        self._seen = [learner.room_for(len(order)) for _ in learner.parts]
        self._tallies = [tally_of(part.classes, Limits()) for part in learner.parts]
        for part, tally, seen in zip(learner.parts, self._tallies, self._seen, strict=True):
            self._walks.append(
                part.kernel.bound(*part.arguments(examples, order, etas, tally, seen))
            )

    def __call__(self) -> Array:
        """Learn; the scores before it, (rows, problems), good until the next call."""
        for walk in self._walks:
            walk()
        return self.learner.scores_in(self._seen)

    @property
    def updates(self) -> int:
        """The updates of all walks so far."""
        return sum(int(tally[learn.UPDATES]) for tally in self._tallies)


def bound_walk(
    learner: Linear | Family, examples: Examples, order: Array, etas: Array
) -> BoundWalk | FamilyWalk:
    """A walk of a learner to be taken again and again over the same arrays."""
    if isinstance(learner, Linear):
        return BoundWalk(learner, examples, order, etas)
    return FamilyWalk(learner, examples, order, etas)
