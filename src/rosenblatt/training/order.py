"""The rows of each epoch in the order of visits: a function of seed and epoch alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from rosenblatt.learners.protocol import Array


class Data(Protocol):
    """The source of rows of a run."""

    def parts(self, epoch: int, position: int) -> Iterator[tuple[Any, Any]]:
        """Examples and the order of visits, part by part, after `position` visits.

        An empty order reports other progress, such as a block read from a file. An order is an
        array of row numbers, or a range of visits where only workers know the rows.
        """

    @property
    def repeats(self) -> bool:
        """Whether every epoch visits the same rows in the same order."""

    @property
    def visits_all(self) -> bool:
        """Whether every epoch visits every row of positive weight."""

    def everything(self) -> tuple[Any, Array]:
        """The examples, and all rows of positive weight."""


def shuffled(rows: Array, seed: int, epoch: int) -> Array:
    """A permutation of rows that depends on the seed and the epoch alone.

    >>> shuffled(np.arange(4), seed=0, epoch=2).tolist() == shuffled(np.arange(4), 0, 2).tolist()
    True
    """
    return rows[np.random.default_rng([seed, epoch]).permutation(len(rows))]


@dataclass(frozen=True)
class Drawn:
    """Rows in memory.

    Parameters
    ----------
    examples : object
        What the learner walks over.
    rows : array of uint64
        The rows to visit.
    draw : {"fixed", "permutation", "after_first"}
        In this order; in a new permutation per epoch; or in this order in the first epoch, as a
        file is read, and permuted after it.
    seed : int
        Determines all orders.
    """

    examples: Any
    rows: Array
    draw: str = "fixed"
    seed: int = 0

    def order(self, epoch: int) -> Array:
        """The rows of an epoch, counted from 1, in their order."""
        if self.draw == "fixed" or (self.draw == "after_first" and epoch == 1):
            return self.rows
        return shuffled(self.rows, self.seed, epoch)

    def parts(self, epoch: int, position: int = 0) -> Iterator[tuple[Any, Array]]:
        """The examples and the rest of the order of an epoch."""
        rows = self.order(epoch)[position:]
        if rows.size:
            yield self.examples, rows

    @property
    def repeats(self) -> bool:
        """Whether every epoch visits the same rows in the same order."""
        return self.draw == "fixed"

    @cached_property
    def visits_all(self) -> bool:
        """Whether every epoch visits every row of positive weight."""
        return bool(np.unique(self.rows).size == self.everything()[1].size)

    def everything(self) -> tuple[Any, Array]:
        """The examples, and all rows of positive weight."""
        n, omega = len(self.examples), self.examples.omega
        rows = np.arange(n, dtype=np.uint64)
        return self.examples, rows[omega > 0] if omega.size > 1 else rows
