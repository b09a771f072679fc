"""A learner whose walk is an epoch on all shards: the loop of any other run drives it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from rosenblatt.cluster.engines import Call, Engine, Parcel
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
from rosenblatt.training.mixing import Moves


class Shards:
    """What a run visits: all shards at once (:class:`rosenblatt.training.order.Data`).

    The shares of the leaves add up to 1; `visits` are the rows that an epoch visits.
    """

    repeats, visits_all = False, True

    def __init__(self, leaves: Sequence[Leaf], visits: int) -> None:
        self.leaves, self.visits = leaves, visits
        self.epoch = 0

    def parts(self, epoch: int, position: int = 0) -> Iterator[tuple[Shards, Array]]:
        """The shards, and an order that only has a length."""
        self.epoch = epoch
        yield self, np.broadcast_to(np.uint64(0), (self.visits,))


class MixedLearner:
    """Weights that an engine's workers train on shards, and that are mixed after each epoch.

    `common` is what all tasks of the run need: columns, rates, classes, settings. `mixed_updates`
    is Σ over epochs and shards of μ_i k_i, which the mistake bound speaks of.
    """

    batch = True
    add = staticmethod(Moves.__add__)  # of what tasks tell
    averaging = False  # no sums over steps that a run on one machine could go on with

    def __init__(self, engine: Engine, common: Parcel, weights: Array, bias: Array) -> None:
        self.engine, self.common = engine, common
        self.averages = bool(common.about["average"])
        self.W, self.bias = weights, bias
        self.restart_average()
        self.mixed_updates = 0.0
        self._common: Any = None
        self._before: Weights | None = None

    # What the loop asks for

    def walk(
        self, examples: Shards, order: Array, etas: Array, limits: Limits = Limits()  # noqa: B008
    ) -> Tally:  # fmt: skip
        """One epoch on every shard, mixed."""
        with self.tasks(epoch_sum, examples.leaves, self.weights(), examples.epoch) as calls:
            moves = self.engine.total(calls, self.add)
        self._mix(moves)
        found = dict(zip(COUNTS, moves.counts.tolist(), strict=True))
        self.mixed_updates += found["mixed_updates"]
        return Tally(
            int(found["visits"]), found["weight"], int(found["updates"]),
            int(found["updated_rows"]), found["mistakes"], 0, None,
        )  # fmt: skip

    @contextmanager
    def tasks(
        self, function: Any, leaves: Sequence[Leaf], shown: Weights, *given: Any
    ) -> Iterator[list[Call]]:
        """The tasks of a function at some weights, which the workers have meanwhile."""
        W = np.ascontiguousarray(shown.weights.T)
        parcel = Parcel.of({"weights": W, "bias": np.asarray(shown.bias)}, {})
        shared = self.engine.share(parcel)
        if self._common is None:
            self._common = self.engine.share(self.common)
        try:
            yield self._calls(function, leaves, parcel.name, shared, *given)
        finally:
            self.engine.drop(shared)

    def _calls(
        self, function: Any, leaves: Sequence[Leaf], name: str, shared: Any, *given: Any
    ) -> list[Call]:
        """A task for each block of shards, which is a subtree of the tree that adds up."""
        return [
            Call.of(
                function,
                (block, self._common, shared, self.engine.row_cache, *given),
                (self.common.name, name, [leaf[1:] for leaf in block], given),
                [leaf.shard for leaf in block],
            )
            for block in self.engine.blocks(leaves)
        ]

    def _mix(self, moves: Moves) -> None:
        """Move the weights, rounding once, and add the epoch to the average."""
        problems = self.W.shape[1]
        index = slice(None) if moves.index is None else moves.index
        before = self.W[index].astype(np.float64)
        if self.averages:
            self._sum += self.W
            self._sum[index] += moves.values[:, problems:]
            self._bias_sum += self.bias + moves.bias[problems:]
            self._epochs += 1
        W = self.W.copy()
        W[index] = before + moves.values[:, :problems]
        W += 0.0  # no negative zeros: whether there are any depends on how moves travelled
        self.W, self.bias = W, self.bias + moves.bias[:problems]

    def mark(self) -> None:
        """Remember the weights."""
        self._before = Weights(self.W, self.bias)

    def measure(self) -> tuple[float, float]:
        """The length of all weights, and of their change since the last measure or mark."""
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
        """The weights (problems, features) and biases, or their average over late epochs."""
        if not averaged or not self._epochs:
            return Weights(self.W.T, self.bias)
        mean = (self._sum / self._epochs).astype(self.W.dtype)
        return Weights(mean.T, self._bias_sum / self._epochs)

    snapshot = weights  # arrays are replaced, never changed

    def restart_average(self) -> None:
        """Let the average begin with the next epoch."""
        self._epochs = 0
        self._sum = np.zeros(self.W.shape) if self.averages else np.zeros((0, 0))
        self._bias_sum = np.zeros(len(self.bias))

    def error_on(self, leaves: Sequence[Leaf], averaged: bool, whole: bool = False) -> float:
        """The share of wrong predictions on rows held out of shards, or on all their rows."""
        with self.tasks(errors, leaves, self.weights(averaged), whole) as calls:
            wrong, weight = self.engine.total(calls, np.add)
        return float(wrong / weight) if weight > 0 else math.nan

    def scores_on(self, leaves: Sequence[Leaf], shown: Weights, whole: bool = False) -> list[Array]:
        """Scores by some weights, class numbers and weights of rows, in their order."""
        with self.tasks(held_out_scores, leaves, shown, whole) as calls:
            parts = self.engine.each(calls)
        return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]

    # What is saved

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.common.about["classes"])

    def state(self) -> State:
        """The last weights, for a run that goes on from the model."""
        return fresh_state(self.W, self.bias)

    def arrays(self) -> dict[str, Array]:
        """All that it has learned, as arrays, for :meth:`restore`."""
        return {
            "weights": self.W, "bias": self.bias, "sum": self._sum, "bias_sum": self._bias_sum,
            "numbers": np.array([self._epochs, self.mixed_updates]),
        }  # fmt: skip

    def restore(self, state: dict[str, Array]) -> None:
        """Take up what :meth:`arrays` told; what does not fit is a ValueError."""
        for name, array in self.arrays().items():
            found = state[name]
            if found.shape != array.shape or found.dtype != array.dtype:
                raise ValueError(f"{name} is {found.dtype}{found.shape}, not {array.shape}")
            if not np.isfinite(found).all():
                raise ValueError(f"{name} holds what is not finite")
        self.W, self.bias = state["weights"], state["bias"]
        self._sum, self._bias_sum = state["sum"].copy(), state["bias_sum"].copy()
        self._epochs, self.mixed_updates = int(state["numbers"][0]), float(state["numbers"][1])
        self.mark()


def shared_out(leaves: Sequence[Leaf], weights: Sequence[float]) -> list[Leaf]:
    """Shards with their shares in the mixed weights: by the weight of the rows that they visit."""
    total = math.fsum(weights)
    return [leaf._replace(share=w / total) for leaf, w in zip(leaves, weights, strict=True)]
