"""Linear learners on the GPU, alone or in a group: they take the steps of those on the CPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rosenblatt.gpu.blocks import Blocks
from rosenblatt.gpu.device import current_device, translated_errors
from rosenblatt.learners import Spec, make
from rosenblatt.learners.examples import ONE, Examples
from rosenblatt.learners.problems import CountedByScores, Problems
from rosenblatt.learners.protocol import Array, Limits, Tally
from rosenblatt.learners.weights import State, Weights

_SCORED = 4096  # rows scored at a time when errors are counted


class DeviceLinear(CountedByScores):
    """Perceptrons with their weights on the GPU, the current one by default.

    Problems walk through a block in parallel: limits are ignored, and the pocket (``keep="best"``)
    compares weights at the ends of epochs only. Rows are dense. The other parameters are those of
    :func:`rosenblatt.learners.make`.
    """

    dense, batch = True, False

    def __init__(
        self,
        spec: Spec,
        n_classes: int,
        n_features: int,
        device: Any = None,
        block_rows: int | None = None,
    ) -> None:
        with translated_errors():
            device = current_device() if device is None else device
            self._attach(Blocks(device, [spec], n_classes, n_features, block_rows), 0)

    def _attach(self, blocks: Blocks, number: int) -> None:
        """Use the weights of model `number` of some blocks."""
        self.blocks, self.device = blocks, blocks.device
        self.spec = spec = blocks.specs[number]
        self.averaging = spec.averaging
        self.problems = Problems(blocks.n_classes, spec.multiclass, spec.thresholds)
        self.span = slice(number * blocks.per_model, (number + 1) * blocks.per_model)

    def use_rows(self, examples: Examples, X: Any) -> None:
        """Take the rows of these examples from X, the same rows on the device."""
        with translated_errors(), self.device.after_caller():
            self.blocks.use_rows(examples, self.device.xp.from_dlpack(X))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the weights."""
        return self.blocks.dtype

    def walk(
        self, examples: Examples, order: Array, etas: Array = ONE,
        limits: Limits = Limits(),  # noqa: B008 - immutable
    ) -> Tally:  # fmt: skip
        """Visit the rows in this order and learn from each; there are no limits."""
        with translated_errors():
            (tally,) = self.blocks.walk(examples, order, etas)
            return tally

    def _score_chunks(
        self, examples: Examples, order: Array, W: Any, bias: Any
    ) -> Iterator[tuple[int, Any, Any]]:
        """Per chunk: its first visit, the scores (problems, rows) and the classes of its rows."""
        xp = self.device.xp
        rows, codes = self.blocks.on_device(examples)
        offset = bias.astype(self.dtype)[:, None]
        for chunk in rows.chunks(order):
            for start in range(0, chunk.visits, _SCORED):
                at, n = chunk.first + start, min(_SCORED, chunk.visits - start)
                numbers = xp.asarray(order[at : at + n].astype(np.int32))
                X = chunk.X[start : start + n] if chunk.in_order else chunk.X[numbers]
                S = xp.empty((len(W), n), self.dtype)
                self.device.product(W, X, S)
                S += offset
                yield at, S, codes[numbers]

    def scores(self, examples: Examples, order: Array, averaged: bool = False) -> Array:
        """The scores of rows (rows, problems), without learning."""
        with translated_errors(), self.device.main:
            scored = self._score_chunks(examples, order, *self._present(averaged))
            return np.concatenate([self.device.host(S).T for _, S, _ in scored])

    def _weight_where(
        self, test: Callable[..., Any], examples: Examples, rows: Array, enough: float = math.inf,
        averaged: bool = False,
    ) -> float:  # fmt: skip
        total, weights = 0.0, examples.weights_of(rows)
        with translated_errors(), self.device.main:
            for at, S, codes in self._score_chunks(examples, rows, *self._present(averaged)):
                passed = self.device.host(test(S.T, codes))
                total += float(weights[at : at + len(passed)][passed].sum())
                if total > enough:
                    break
        return total

    def row_updates(
        self, examples: Examples, order: Array, etas: Array, epochs: int
    ) -> Array | None:
        """How often each row would be corrected in the next epochs (two classes, online)."""
        return self.on_host().row_updates(examples, order, etas, epochs)

    def _present(self, averaged: bool = False) -> tuple[Any, Any]:
        """The weights and biases on the GPU, or their average."""
        blocks, span = self.blocks, self.span
        if not averaged:
            return blocks.W[span], blocks.bias[span]
        xp = self.device.xp
        steps = xp.maximum(blocks.clock[span], 1e-300)
        W = (blocks.W[span] - blocks.U[span] / steps[:, None]).astype(self.dtype)
        return W, blocks.bias[span] - blocks.bias_sums[span] / steps

    def weights(self, averaged: bool = False) -> Weights:
        """A copy of the weights, or of their average, in host memory."""
        with translated_errors(), self.device.main:
            W, bias = self._present(averaged)
            return Weights(self.device.host(W), self.device.host(bias))

    snapshot = weights

    def is_at(self, snapshot: Weights) -> bool:
        """Whether the weights equal those of a snapshot."""
        weights, bias = self.weights()
        return np.array_equal(bias, snapshot.bias) and np.array_equal(weights, snapshot.weights)

    def mark(self) -> None:
        """Copy the weights, for :meth:`measure`."""
        with translated_errors(), self.device.main:
            self.blocks.mark()

    def measure(self) -> tuple[float, float]:
        """The norm of all weights, and of their change since the last measure or mark."""
        with translated_errors(), self.device.main:
            ((norm, change),) = self.blocks.measure().tolist()
        return norm, change

    def state(self) -> State:
        """The state of training, as arrays (problems, features) in host memory."""
        blocks, span = self.blocks, self.span
        host = self.device.host
        weights, bias = self.weights()
        with translated_errors(), self.device.main:
            before = blocks.before and Weights(*(host(array[span]) for array in blocks.before))
            return State(
                weights, bias,
                host(blocks.U[span]) if self.averaging else np.zeros((0, 0)),
                host(blocks.bias_sums[span]), host(blocks.clock[span]), before,
            )  # fmt: skip

    def restore(self, state: State) -> None:
        """Set the state of training; its arrays are copied."""
        xp = self.device.xp
        blocks, span = self.blocks, self.span
        with translated_errors(), self.device.main:
            blocks.W[span] = xp.asarray(state.weights)
            blocks.bias[span] = xp.asarray(state.bias)
            blocks.bias_sums[span] = xp.asarray(state.bias_sums)
            blocks.clock[span] = xp.asarray(state.clock)
            if self.averaging:
                blocks.U[span] = xp.asarray(state.sums) if state.sums.size else 0.0
            if state.before is not None:
                blocks.mark()
                for array, values in zip(blocks.before, state.before, strict=True):
                    array[span] = xp.asarray(values)

    def restart_average(self) -> None:
        """Start the average with the next step."""
        blocks, span = self.blocks, self.span
        with translated_errors(), self.device.main:
            blocks.clock[span] = 0.0
            blocks.bias_sums[span] = 0.0
            if self.averaging:
                blocks.U[span] = 0.0

    def on_host(self) -> Any:
        """A learner on the CPU in the same state."""
        twin = make(replace(self.spec, device="cpu"), self.blocks.n_classes, self.blocks.n_features)
        twin.restore(self.state())
        return twin


class GroupMember(DeviceLinear):
    """A model that is trained in a group, which sets its tally and norms after each walk.

    It has no reference to the group: a cycle would keep the arrays until garbage is collected.
    """

    tally: Tally
    norms: tuple[float, float]

    def __init__(self, blocks: Blocks, number: int) -> None:
        self._attach(blocks, number)

    def walk(self, examples: Any, order: Array, etas: Any = None, limits: Any = Limits()) -> Tally:  # noqa: B008
        """The tally of the group's last walk for this model."""
        assert self.tally.visits == len(order)
        return self.tally

    def mark(self) -> None:
        """Done by the group for all members."""

    def measure(self) -> tuple[float, float]:
        """The norm of all weights, and of their change in the group's last walk."""
        return self.norms


class ModelGroup:
    """Linear models of the same classes and rows, on the GPU.

    `weightings` holds for each model the row of `omega` with its row weights. `specs` may differ
    in thresholds, padding and averaging.
    """

    def __init__(
        self, specs: Sequence[Spec], weightings: Array, n_classes: int, n_features: int
    ) -> None:
        with translated_errors():
            self.blocks = Blocks(current_device(), specs, n_classes, n_features)
            self.blocks.assign("weights", np.asarray(weightings))
            self.blocks.assign("rates", np.arange(len(specs)))
            with self.blocks.device.main:
                self.blocks.mark()
        self.members = [GroupMember(self.blocks, number) for number in range(len(specs))]
        self._active = np.ones(len(specs), bool)

    def walk(
        self, examples: Examples, order: Array, etas: Array, omega: Array, active: Array
    ) -> None:
        """Visit the rows in this order with all active models.

        `etas` is (models, 1 or visits), `omega` (weightings, rows).
        """
        with translated_errors():
            if not np.array_equal(active, self._active):
                self.blocks.assign("active", active.astype(np.int32))
                self._active = active.copy()
            tallies = self.blocks.walk(examples, order, etas, omega=omega)
            with self.blocks.device.main:
                norms = self.blocks.measure().tolist()
            for member, tally, (norm, change) in zip(self.members, tallies, norms, strict=True):
                member.tally, member.norms = tally, (norm, change)
