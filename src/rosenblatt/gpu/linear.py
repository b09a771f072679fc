"""The linear learner on the GPU: it takes the steps of the learner on the CPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from rosenblatt.gpu.blocks import Blocks
from rosenblatt.gpu.device import translated_errors
from rosenblatt.gpu.problem_table import ModelSettings
from rosenblatt.learners import Spec, make
from rosenblatt.learners.examples import ONE, Examples, examples_of
from rosenblatt.learners.linear import Linear
from rosenblatt.learners.parts import ONE_RATE
from rosenblatt.learners.problems import CountedByScores, Problems
from rosenblatt.learners.protocol import Array, Limits, Tally
from rosenblatt.learners.weights import State, Weights

_SCORED = 4096  # rows scored at a time when errors are counted


class DeviceLinear(CountedByScores):
    """Perceptrons with their weights on the GPU.

    Limits on the longest run of correct predictions are ignored, as problems walk through a block
    in parallel: the pocket (``keep="best"``) compares weights at the ends of epochs only.
    Parameters are those of :class:`rosenblatt.learners.linear.Linear` for dense rows.
    """

    dense = True

    def __init__(
        self, device: Any, n_classes: int, n_features: int, *, multiclass: str = "ovr",
        thresholds: tuple[float, float] = (0.0, 0.0), padding: float = 1.0,
        averaging: bool = False, rates: Array = ONE_RATE, dtype: Any = np.float32,
        batch: bool = False, block_rows: int | None = None,
    ) -> None:  # fmt: skip
        settings = ModelSettings(thresholds, padding, averaging)
        with translated_errors():
            blocks = Blocks(
                device, [settings], n_classes, n_features, multiclass=multiclass, dtype=dtype,
                rates=rates, block_rows=block_rows,
            )  # fmt: skip
        self._attach(blocks, 0, rates, batch)

    def _attach(self, blocks: Blocks, number: int, rates: Array, batch: bool) -> None:
        """Use the weights of model `number` of some blocks."""
        settings = blocks.models[number]
        self.blocks, self.device, self.batch, self.rates = blocks, blocks.device, batch, rates
        self.averaging, self.padding = settings.averaging, settings.padding
        self.thresholds = settings.thresholds
        self.problems = Problems(blocks.n_classes, blocks.multiclass, settings.thresholds)
        self.own = slice(number * blocks.per_model, (number + 1) * blocks.per_model)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the weights."""
        return self.blocks.dtype

    def walk(
        self, examples: Examples, order: Array, etas: Array = ONE,
        limits: Limits = Limits(),  # noqa: B008 - immutable
    ) -> Tally:  # fmt: skip
        """Visit the rows in this order and learn from each."""
        with translated_errors():
            if self.batch:
                return self._walk_batch(examples, order, float(etas[0]))
            (tally,) = self.blocks.walk(examples, order, etas, limits)
            return tally

    def _walk_batch(self, examples: Examples, order: Array, eta: float) -> Tally:
        """One iteration of the batch rule: sum the corrections of all rows, then apply them."""
        xp, blocks, problems = self.device.xp, self.blocks, self.problems
        weights = examples.weights_of(order)
        updates = updated = mistakes = 0
        with self.device.main:
            total = xp.zeros_like(blocks.W)
            bias_total = xp.zeros(blocks.n)
            for at, X, S, codes in self._score_chunks(examples, order, blocks.W, blocks.bias):
                weight = xp.asarray(weights[at : at + S.shape[1]])
                signs = problems.directions(S.T, codes)
                T = xp.ascontiguousarray((signs * weight[:, None]).T)
                rated = X if blocks.rates is None else X * self._all_rates().astype(X.dtype)
                total += T.astype(X.dtype) @ rated
                bias_total += T.sum(axis=1)
                updates += problems.updates_of(signs, weight)
                updated += int((signs != 0).any(axis=1).sum())
                mistakes += int(problems.is_mistaken(S.T, codes).sum())
            change = eta * self.padding**2 * bias_total
            blocks.W += blocks.dtype.type(eta) * total
            blocks.bias += change
            if self.averaging:
                blocks.U += blocks.clock[:, None] * eta * total.astype(np.float64)
                blocks.bias_sums += blocks.clock * change
            blocks.clock += xp.asarray(self._weight_of_problems(examples.codes[order], weights))
        updated = updates if blocks.is_pairwise else updated
        return Tally(len(order), float(weights.sum()), updates, updated, mistakes, 0, None)

    def _all_rates(self) -> Any:
        rates = np.full(self.blocks.n_features, self.rates[-1], np.float32)
        rates[: self.rates.size] = self.rates[: self.blocks.n_features]
        return self.device.xp.asarray(rates)

    def _weight_of_problems(self, codes: Array, weights: Array) -> Array:
        """The weight of the rows that each problem learns from."""
        by_class = np.bincount(codes, weights=weights, minlength=self.problems.n_classes)
        return by_class @ (self.problems.signs != 0)

    def _score_chunks(
        self, examples: Examples, order: Array, W: Any, bias: Any
    ) -> Iterator[tuple[int, Any, Any, Any]]:
        """Per chunk: its first visit, the rows, their scores (problems, rows) and classes."""
        xp = self.device.xp
        rows, codes = self.blocks.on_device(examples)
        offset = bias.astype(self.dtype)[:, None]
        for chunk in rows.chunks(order):
            for start in range(0, chunk.visits, _SCORED):
                at, n = chunk.first + start, min(_SCORED, chunk.visits - start)
                here = xp.asarray(order[at : at + n].astype(np.int32))
                X = chunk.X[start : start + n] if chunk.in_order else chunk.X[here]
                S = xp.empty((len(W), n), self.dtype)
                self.device.product(W, X, S)
                S += offset
                yield at, X, S, codes[here]

    def scores(self, examples: Examples, order: Array, averaged: bool = False) -> Array:
        """The scores of rows (rows, problems), without learning."""
        with translated_errors(), self.device.main:
            scored = self._score_chunks(examples, order, *self._present(averaged))
            return np.concatenate([self.device.host(S).T for _, _, S, _ in scored])

    def _weight_where(
        self, test: Callable[..., Any], examples: Examples, rows: Array, enough: float = math.inf,
        averaged: bool = False,
    ) -> float:  # fmt: skip
        total, weights = 0.0, examples.weights_of(rows)
        with translated_errors(), self.device.main:
            for at, _, S, codes in self._score_chunks(examples, rows, *self._present(averaged)):
                passed = self.device.host(test(S.T, codes))
                total += float(weights[at : at + len(passed)][passed].sum())
                if total > enough:
                    break
        return total

    def row_updates(
        self, examples: Examples, order: Array, etas: Array, epochs: int
    ) -> Array | None:
        """How often each row would be corrected in the next epochs (two classes, online)."""
        X = self.device.host(examples.rows.X)  # type: ignore[union-attr]
        here = examples_of(X, examples.codes, examples.omega)
        return self.on_host().row_updates(here, order, etas, epochs)

    def _present(self, averaged: bool = False) -> tuple[Any, Any]:
        """The weights and biases on the GPU, or their average."""
        blocks, own = self.blocks, self.own
        if not averaged:
            return blocks.W[own], blocks.bias[own]
        xp = self.device.xp
        steps = xp.maximum(blocks.clock[own], 1e-300)
        W = (blocks.W[own] - blocks.U[own] / steps[:, None]).astype(self.dtype)
        return W, blocks.bias[own] - blocks.bias_sums[own] / steps

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
        blocks, own, host = self.blocks, self.own, self.device.host
        weights, bias = self.weights()
        with translated_errors(), self.device.main:
            before = blocks.before and Weights(*(host(part[own]) for part in blocks.before))
            return State(
                weights, bias,
                host(blocks.U[own]) if self.averaging else np.zeros((0, 0)),
                host(blocks.bias_sums[own]), host(blocks.clock[own]), before,
            )  # fmt: skip

    def restore(self, state: State) -> None:
        """Set the state of training; its arrays are copied."""
        xp, blocks, own = self.device.xp, self.blocks, self.own
        with translated_errors(), self.device.main:
            blocks.W[own] = xp.asarray(state.weights)
            blocks.bias[own] = xp.asarray(state.bias)
            blocks.bias_sums[own] = xp.asarray(state.bias_sums)
            blocks.clock[own] = xp.asarray(state.clock)
            if self.averaging:
                blocks.U[own] = xp.asarray(state.sums) if state.sums.size else 0.0
            if state.before is not None:
                blocks.mark()
                for part, value in zip(blocks.before, state.before, strict=True):
                    part[own] = xp.asarray(value)

    def restart_average(self) -> None:
        """Start the average with the next step."""
        blocks, own = self.blocks, self.own
        with translated_errors(), self.device.main:
            blocks.clock[own] = 0.0
            blocks.bias_sums[own] = 0.0
            if self.averaging:
                blocks.U[own] = 0.0

    def settle(self) -> None:
        """Nothing to do: averaging sums are not lazy here."""

    def on_host(self) -> Linear:
        """A learner on the CPU in the same state."""
        spec = Spec(
            multiclass=self.blocks.multiclass,
            thresholds=self.thresholds,
            padding=self.padding,
            averaging=self.averaging,
            rates=self.rates,
            dtype=self.dtype,
            dense=True,
            batch=self.batch,
        )
        twin: Linear = make(spec, self.problems.n_classes, self.blocks.n_features)
        twin.restore(self.state())
        return twin
