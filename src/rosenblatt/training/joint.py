"""All classes jointly in the dual form: one mistake moves the right class up, its rival down.

K. Crammer, Y. Singer (2003), Ultraconservative online algorithms for multiclass problems, JMLR 3,
with one rival; the same steps as :class:`rosenblatt.Perceptron` takes in the space of the kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.kernels import gram as kernels
from rosenblatt.training.dual import DualWork
from rosenblatt.training.log import Log
from rosenblatt.training.state import Array


class JointWork(DualWork):
    """A run under way in the dual form, all classes together."""

    def _learn_block(self, G: Array, S: Array, rows: Array, omega: Array) -> tuple[Any, ...]:
        codes = self.task.codes[rows].astype(np.int64)
        walked, lines = 0, 2 * S.size
        while walked == 0:
            places, found = np.empty((lines, 2), np.int64), np.empty((lines, 2))
            walked, written, updates, mistaken = kernels.walk_joint(
                G, S, np.ascontiguousarray(self.start_scores[:, rows]), codes, omega,
                self.plan.setting[:2], self.allowed, self.clock, self.squares, found, places,
                np.empty(len(S)),
            )  # fmt: skip
            if self.allowed <= 0:
                break
            lines *= 8  # the first row alone needs more
        return walked, updates, mistaken, places[:written], found[:written]

    def _mistakes_of(self, log: Log) -> Array:
        return log.raised().updates(self.clock.size)

    def _nothing_mistaken(self, chosen: Array) -> bool:
        if np.unique(self.order).size == chosen.sum():
            return True
        others = self._scores_of_all()[:, chosen]
        labels, here = self.task.codes[chosen], np.arange(others.shape[1])
        own = others[labels, here]
        others[labels, here] = -np.inf
        rivals = others.argmax(axis=0)
        below, above, *_ = self.plan.setting
        limits = np.where(labels > rivals, above, below)
        return not np.any(own - others[rivals, here] <= limits)
