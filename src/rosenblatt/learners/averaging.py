"""Lazy averaging sums: walks are kept until the average is wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from rosenblatt.kernels import learn
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.parts import Part, tally_of
from rosenblatt.learners.protocol import Array, Limits


class Walked(NamedTuple):
    """A walk: for each part its order, its learning rates, its scores and when it began."""

    examples: Examples
    orders: list[Array]
    etas: list[Array]
    seen: list[Array]
    times: list[float]


class Unsettled(list[Walked]):
    """Walks whose visits have not been added to the averaging sums yet."""

    @property
    def nbytes(self) -> int:
        """The bytes of all scores kept."""
        return sum(seen.nbytes for walked in self for seen in walked.seen)

    def add(
        self, examples: Examples, own: list[tuple[Array, Array]], seen: list[Array],
        times: list[float], tallies: list[Array],
    ) -> None:  # fmt: skip
        """Remember a walk; `own` are the order and the rates of each part."""
        ends = [int(tally[learn.VISITED]) for tally in tallies]
        orders = [order[:end] for (order, _), end in zip(own, ends, strict=True)]
        etas = [e if e.size == 1 else e[:end] for (_, e), end in zip(own, ends, strict=True)]
        scores = [s[:end] for s, end in zip(seen, ends, strict=True)]
        self.append(Walked(examples, orders, etas, scores, times))

    def settle(
        self, kernel: Callable[..., Any], parts: list[Part], rates: Array, rule: Array
    ) -> None:
        """Add all visits to the averaging sums of the parts, and forget them."""
        for examples, orders, etas, seen, times in self:
            for i, part in enumerate(parts):
                part.book[learn.TIME, 0] = times[i]
                kernel(
                    *examples.arrays, orders[i], etas[i], seen[i], part.sums(), rates, part.book,
                    rule, tally_of(part.classes, Limits()), *part.scratch,
                )  # fmt: skip
        self.clear()
