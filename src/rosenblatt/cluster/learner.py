"""A learner whose walk is an epoch on all shards."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from rosenblatt.cluster.engines import Broadcast, Engine, Task
from rosenblatt.cluster.mixing import Delta
from rosenblatt.cluster.tasks import (
    COUNTS,
    Leaf,
    epoch_sum,
    errors,
    fresh_state,
    held_out_scores,
)
from rosenblatt.learners.protocol import Array, Limits, Tally
from rosenblatt.learners.weights import State, Weights


class Shards:
    """All shards as the data of a run (:class:`rosenblatt.training.order.Data`).

    The shares of the leaves add up to 1; `visits` is the number of rows that an epoch visits.
    """

    repeats, visits_all = False, True

    def __init__(self, leaves: Sequence[Leaf], visits: int) -> None:
        self.leaves, self.visits = leaves, visits
        self.epoch = 0

    def parts(self, epoch: int, position: int = 0) -> Iterator[tuple[Shards, Array]]:
        """The shards, and an order of which only the length is used."""
        self.epoch = epoch
        yield self, np.broadcast_to(np.uint64(0), (self.visits,))


class MixedLearner:
    """Weights that workers train on shards and that are mixed after each epoch.

    `common` holds what all tasks of the run need: columns, rates, classes, settings.
    """

    batch = True
    averaging = False  # there are no averaging sums for a run on one machine to go on from

    def __init__(self, engine: Engine, common: Broadcast, weights: Array, bias: Array) -> None:
        self.engine, self.common = engine, common
        self.averages = bool(common.about["options"]["average"])
        self.W, self.bias = weights, bias
        self.restart_average()
        self._shared_common: Any = None
        self._before: Weights | None = None

    def walk(
        self, examples: Shards, order: Array, etas: Array, limits: Limits = Limits()  # noqa: B008
    ) -> Tally:  # fmt: skip
        """Run one epoch on every shard and mix the weights."""
        with self.tasks(epoch_sum, examples.leaves, self.weights(), examples.epoch) as tasks:
            delta = self.engine.reduce(tasks, Delta.__add__)
        self._mix(delta)
        found = dict(zip(COUNTS, delta.counts.tolist(), strict=True))
        return Tally(
            int(found["visits"]), found["weight"], int(found["updates"]),
            int(found["updated_rows"]), found["mistakes"], 0, None,
        )  # fmt: skip

    @contextmanager
    def tasks(
        self, function: Any, leaves: Sequence[Leaf], weights: Weights, *arguments: Any
    ) -> Iterator[list[Task]]:
        """Broadcast weights until the block ends; the tasks that call a function at them."""
        W = np.ascontiguousarray(weights.weights.T)
        broadcast = Broadcast({"weights": W, "bias": np.asarray(weights.bias)}, {})
        if self._shared_common is None:
            self._shared_common = self.engine.share(self.common)
        shared = self.engine.share(broadcast)
        constant = (self._shared_common, shared, self.engine.row_cache, *arguments)
        try:
            # A block of shards is a subtree of the tree of sums.
            yield [
                Task(function, (block, *constant), block[0].shard[0])
                for block in self.engine.blocks(leaves)
            ]
        finally:
            self.engine.release(shared)

    def _mix(self, delta: Delta) -> None:
        """Add a delta to the weights, rounding once, and the epoch to the average."""
        problems = self.W.shape[1]
        index = slice(None) if delta.index is None else delta.index
        before = self.W[index].astype(np.float64)
        if self.averages:
            self._sum += self.W
            self._sum[index] += delta.values[:, problems:]
            self._bias_sum += self.bias + delta.bias[problems:]
            self._epochs += 1
        W = self.W.copy()
        W[index] = before + delta.values[:, :problems]
        W += 0.0  # no negative zeros: whether there are any depends on how deltas were sent
        self.W, self.bias = W, self.bias + delta.bias[:problems]

    def mark(self) -> None:
        """Remember the weights."""
        self._before = Weights(self.W, self.bias)

    def measure(self) -> tuple[float, float]:
        """The norm of all weights, and of their change since the last measure or mark."""
        then = self._before or Weights(np.zeros_like(self.W), np.zeros_like(self.bias))
        squares = [
            float(np.einsum("ij,ij", W, W, dtype=np.float64)) + float(bias @ bias)
            for W, bias in (
                (self.W, self.bias),
                (self.W - then.weights, self.bias - then.bias),
            )
        ]
        self.mark()
        return math.sqrt(squares[0]), math.sqrt(squares[1])

    def weights(self, averaged: bool = False) -> Weights:
        """The weights (problems, features) and biases, or their average over epochs."""
        if not averaged or not self._epochs:
            return Weights(self.W.T, self.bias)
        mean = (self._sum / self._epochs).astype(self.W.dtype)
        return Weights(mean.T, self._bias_sum / self._epochs)

    snapshot = weights  # arrays are replaced, never changed

    def restart_average(self) -> None:
        """Start the average with the next epoch."""
        self._epochs = 0
        self._sum = np.zeros(self.W.shape) if self.averages else np.zeros((0, 0))
        self._bias_sum = np.zeros(len(self.bias))

    def error_on(self, leaves: Sequence[Leaf], averaged: bool, whole: bool = False) -> float:
        """The share of wrong predictions on held-out rows of shards, or on all rows."""
        with self.tasks(errors, leaves, self.weights(averaged), whole) as tasks:
            wrong, weight = self.engine.reduce(tasks, np.add)
        return float(wrong / weight) if weight > 0 else math.nan

    def scores_on(
        self, leaves: Sequence[Leaf], weights: Weights, whole: bool = False
    ) -> list[Array]:
        """The scores by `weights`, class codes and weights of held-out rows, or of all rows."""
        with self.tasks(held_out_scores, leaves, weights, whole) as tasks:
            parts = list(self.engine.stream(tasks))
        return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.common.about["classes"])

    def state(self) -> State:
        """The last weights, for a run that starts from the model."""
        return fresh_state(self.W, self.bias)

    def arrays(self) -> dict[str, Array]:
        """The state of training, for :meth:`restore`."""
        return {
            "weights": self.W, "bias": self.bias, "sum": self._sum, "bias_sum": self._bias_sum,
            "epochs": np.array([self._epochs]),
        }  # fmt: skip

    def restore(self, state: dict[str, Array]) -> None:
        """Restore what :meth:`arrays` returned; raises a ValueError if it does not fit."""
        for name, array in self.arrays().items():
            found = state[name]
            if found.shape != array.shape or found.dtype != array.dtype:
                raise ValueError(f"{name} is {found.dtype}{found.shape}, not {array.shape}")
            if not np.isfinite(found).all():
                raise ValueError(f"{name} holds numbers that are not finite")
        self.W, self.bias = state["weights"], state["bias"]
        self._sum, self._bias_sum = state["sum"].copy(), state["bias_sum"].copy()
        self._epochs = int(state["epochs"][0])
        self.mark()


def with_shares(leaves: Sequence[Leaf], weights: Sequence[float]) -> list[Leaf]:
    """The leaves with shares in the mixed weights in proportion to some weights."""
    total = math.fsum(weights)
    return [leaf._replace(share=w / total) for leaf, w in zip(leaves, weights, strict=True)]
