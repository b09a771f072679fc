"""The block method: linear models that share a row order, a block of rows at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rosenblatt.gpu.device import NO_POINTER
from rosenblatt.gpu.rows import Chunk, Resident, Streamed, rows_of
from rosenblatt.gpu.table import Settings, screen_error, table_of
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.problems import n_problems
from rosenblatt.learners.protocol import UNLIMITED, Array, Limits, Tally

SLOTS = 3  # blocks whose rows and Gram matrices are made ahead
MANY = 256  # problems that share thread blocks, and are worth a screen by tensor cores
WIDE = 1024  # features from which on products take longer than walks
MOST_CAPTURED = 1024  # blocks of a walk that is launched as one graph
GRAPHS = 4  # walks of different shapes that are remembered as graphs


class Blocks:
    """Linear models on a device, all of the same classes, that visit the same rows in one order.

    Parameters
    ----------
    device : Cuda
    models : list of Settings
    n_classes, n_features, multiclass
        As for :class:`rosenblatt.learners.linear.Linear`.
    dtype : dtype
        Of the weights: that of the rows.
    rates : float32 array
        The learning rate of each feature, the last for all features beyond.
    block_rows : int or None
        Rows of a block; at most 1,024 for ``"joint"``.
    """

    def __init__(
        self, device: Any, models: Sequence[Settings], n_classes: int, n_features: int, *,
        multiclass: str = "ovr", dtype: Any = np.float32, rates: Array | None = None,
        block_rows: int | None = None,
    ) -> None:  # fmt: skip
        self.device, self.models, self.n_classes = device, list(models), n_classes
        self.multiclass, self.n_features, self.dtype = multiclass, n_features, np.dtype(dtype)
        self.is_joint = multiclass == "joint" and n_classes > 2
        self.is_pairwise = multiclass == "ovo" and n_classes > 2
        self.per_model = n_problems(n_classes, multiclass)
        self.host_table = table = table_of(models, n_classes, multiclass, dtype)
        self.n = n = len(table)
        # Gram matrices of larger blocks take longer, walks less.
        self.size = block_rows or (512 if n_features > WIDE and not self.is_joint else 1024)
        # Scores of many problems are made on tensor cores; those near the threshold again.
        self.screens = (
            n >= MANY and n_features > WIDE and self.dtype == np.float32 and not self.is_joint
        )
        xp = device.xp
        with device.main:
            self.table = xp.asarray(table.view(np.uint8))
            self.W = xp.zeros((n, n_features), self.dtype)
            self.averages = any(model.averaging for model in models)
            self.U: Any = xp.zeros((n, n_features)) if self.averages else None
            self.bias, self.bias_sums, self.clock = (xp.zeros(n) for _ in range(3))
            self.before: Any = None  # the weights and biases that were last marked or measured
            squares = table["padding"]  # a bias counts as the weight of the padding, b/c
            self._scale = xp.asarray(np.where(squares > 0, squares, 1.0))
            rates = np.ones(1, np.float32) if rates is None else rates
            self.rates = None if rates.size == 1 and rates[0] == 1 else xp.asarray(rates)
            self.largest_rate = float(np.abs(rates).max())
        self._rows: dict[int, tuple[Any, Any]] = {}
        self._buffers: Any = None
        self._graphs: dict[Any, Any] = {}

    def assign(self, column: str, per_model: Array) -> None:
        """Set a column of the table: the row of weights or of rates of each model, or activity."""
        self.host_table[column] = np.repeat(per_model, self.per_model)
        with self.device.main:
            self.device.put(self.table, self.host_table.view(np.uint8))

    def mark(self) -> None:
        """Remember the weights, in the stream at work."""
        self.before = self.W.copy(), self.bias.copy()

    def measure(self) -> Array:
        """The length of all weights of each model, and of their change since the last such look."""
        now, (W, bias) = (self.W, self.bias), self.before
        squares = [
            (w.astype(np.float64) ** 2).sum(axis=1) + b * b / self._scale
            for w, b in (now, (self.W.astype(np.float64) - W, self.bias - bias))
        ]
        found = self.device.host(self.device.xp.stack(squares)).reshape(2, len(self.models), -1)
        W[...], bias[...] = now
        return np.sqrt(found.sum(axis=2).T)

    # The walk

    def walk(
        self, examples: Examples, order: Array, etas: Array, limits: Limits = Limits(),  # noqa: B008
        omega: Array | None = None,
    ) -> list[Tally]:  # fmt: skip
        """Visit the rows in this order and learn from each; what came of it for each model.

        `etas` is (1,) or (visits,) for all models, or (models, 1 or visits). `omega`, if given, are
        rows of weights (kinds, rows), of which each problem has one (`table`).
        """
        rows, codes = self.on_device(examples)
        buffers = self._allocate(len(order), rows)
        etas = np.atleast_2d(etas)
        with self.device.main:
            weighted = self._bring(examples, order, codes, etas, omega, buffers)
            if self.screens:
                self._measure_weights(NO_POINTER, buffers)
            visits = self._visit(rows, order, etas.shape[1], weighted, limits, buffers)
            counts = self.device.host(buffers.counts)
        return self._tally(examples, order[:visits], counts, omega)

    def _bring(
        self, examples: Examples, order: Array, codes: Any, etas: Array, omega: Array | None,
        buffers: Any,
    ) -> int:  # fmt: skip
        """Have order, classes, weights and rates of the visits on the device; rows of weights."""
        xp, n = self.device.xp, len(order)
        self.device.put(buffers.order[:n], order.astype(np.int32))
        xp.take(codes, buffers.order[:n], out=buffers.codes[:n])
        buffers.counts[...] = 0
        if buffers.etas is None or buffers.etas.shape != etas.shape:
            buffers.etas = xp.empty(etas.shape)
            self._graphs.clear()
        self.device.put(buffers.etas, np.ascontiguousarray(etas, np.float64))
        if omega is None and examples.omega.size == 1 and examples.omega[0] == 1.0:
            return 0
        weights = np.atleast_2d(examples.omega if omega is None else omega)
        weights = np.broadcast_to(weights, (len(weights), len(examples)))
        if buffers.omega is None or buffers.omega.shape != (len(weights), n):
            buffers.omega = xp.empty((len(weights), n))
            self._graphs.clear()
        self.device.put(buffers.omega, np.ascontiguousarray(weights[:, order.astype(np.intp)]))
        return len(weights)

    def _visit(
        self, rows: Resident | Streamed, order: Array, n_etas: int, weighted: int, limits: Limits,
        buffers: Any,
    ) -> int:  # fmt: skip
        """Take the steps; how many rows were visited."""
        n, limited = len(order), limits.updates != UNLIMITED and not self.is_pairwise
        if limited:
            return self._visit_limited(rows, order, n_etas, weighted, limits.updates, buffers)
        if not (self.device.captures and rows.stays and n <= MOST_CAPTURED * self.size):
            for chunk in rows.chunks(order):
                self._walk_chunk(chunk, n_etas, weighted, buffers)
            return n
        (chunk,) = rows.chunks(order)
        key = (int(chunk.X.data.ptr), n, chunk.picked, n_etas, weighted)
        if key in self._graphs and self._graphs[key] is None:  # a second walk: there will be more
            self._graphs[key] = self.device.captured(
                lambda: self._walk_chunk(chunk, n_etas, weighted, buffers)
            )
        if key in self._graphs:
            self._graphs[key].launch(self.device.main)
        else:
            self._graphs = dict(list(self._graphs.items())[-GRAPHS:]) | {key: None}
            self._walk_chunk(chunk, n_etas, weighted, buffers)
        return n

    def _visit_limited(
        self, rows: Any, order: Array, n_etas: int, weighted: int, allowed: int, buffers: Any
    ) -> int:
        """The same until the updates allowed are used up: each block is tried before it counts."""
        made = 0
        for chunk in rows.chunks(order):
            for start in range(0, chunk.visits, self.size):
                n = min(self.size, chunk.visits - start)
                at, counts, clock = chunk.first + start, buffers.counts.copy(), self.clock.copy()
                X, rated = self._prepare(chunk, start, n, 0, buffers)
                self._score(X, n, buffers)
                self._walk_block(X, at, 0, n_etas, weighted, buffers)
                per_row = self.device.host(buffers.row_updates[0, :n]).astype(np.int64)
                before = made + np.cumsum(per_row) - per_row
                over = np.flatnonzero((per_row > 0) & (before >= allowed))
                if over.size:  # from this row on nothing is corrected
                    n = int(over[0])
                    buffers.counts[...], self.clock[...] = counts, clock
                    buffers.row_updates[...] = 0
                    if n == 0:
                        return at
                    self._score(X[:n], n, buffers)
                    self._walk_block(X[:n], at, 0, n_etas, weighted, buffers)
                self._finish_block(at, n, rated, weighted, buffers)
                if over.size:
                    return at + n
                made += int(per_row.sum())
        return len(order)

    def _walk_chunk(self, chunk: Chunk, n_etas: int, weighted: int, buffers: Any) -> None:
        """All blocks of a chunk: rows and Gram matrices ahead of scores, walks and updates."""
        device = self.device
        begun = device.event()
        begun.record(device.main)
        device.ahead.wait_event(begun)
        starts = range(0, chunk.visits, self.size)
        for number, start in enumerate(starts):
            slot, n = number % SLOTS, min(self.size, chunk.visits - start)
            with device.ahead:
                if number >= SLOTS:
                    device.ahead.wait_event(buffers.done[slot])
                X, rated = self._prepare(chunk, start, n, slot, buffers)
                buffers.ready[slot].record(device.ahead)
            device.main.wait_event(buffers.ready[slot])
            self._score(X, n, buffers)
            self._walk_block(X, chunk.first + start, slot, n_etas, weighted, buffers)
            self._finish_block(chunk.first + start, n, rated, weighted, buffers)
            buffers.done[slot].record(device.main)

    def _prepare(
        self, chunk: Chunk, start: int, n: int, slot: int, buffers: Any
    ) -> tuple[Any, Any]:
        """The rows of a block, the same times the rates, and their Gram matrix into its slot."""
        X = chunk.X[start : start + n] if chunk.picked else None
        if X is None or self.rates is not None:
            first, order = chunk.first + start, buffers.order
            source = chunk.X if X is None else X
            picked = order[first : first + n] if X is None else buffers.counting[:n]
            rated = NO_POINTER if self.rates is None else buffers.rated[slot]
            rates = NO_POINTER if self.rates is None else self.rates
            self._launch(
                "gather", (n, 1), (256, 1),
                (source, picked, np.int32(self.n_features), rates,
                 np.int32(0 if self.rates is None else self.rates.size), buffers.X[slot], rated),
            )  # fmt: skip
            X = buffers.X[slot][:n]
        other = X if self.rates is None else buffers.rated[slot][:n]
        self.device.product(other, X, buffers.G[slot][:n, :n])
        return X, other

    def _score(self, X: Any, n: int, buffers: Any) -> None:
        self.device.product(self.W, X, buffers.S[:, :n], tf32=self.screens)
        if self.screens:
            self._launch(
                "lengths_of", (n, 1), (128, 1),
                (X, np.int32(self.n_features), NO_POINTER, buffers.lengths),
            )  # fmt: skip

    def _walk_block(
        self, X: Any, at: int, slot: int, n_etas: int, weighted: int, buffers: Any
    ) -> None:
        """Learn from a block: scores as they were, corrections into the lists."""
        int32, size, n = np.int32, self.size, len(X)
        omega = buffers.omega[:, at:] if weighted else NO_POINTER
        stride = buffers.omega.strides[0] // 8 if weighted else 0
        etas = buffers.etas[:, at:] if n_etas > 1 else buffers.etas
        lates = buffers.lates if self.averages else NO_POINTER
        table, S, G = self.table, buffers.S, buffers.G[slot]
        shared = (
            omega, np.int64(stride), etas, np.int64(n_etas), self.bias, self.clock,
        )  # fmt: skip
        lists = (buffers.count, buffers.place, buffers.pulls, lates, int32(size))
        counted = (buffers.updates, buffers.row_updates, int32(size), NO_POINTER, NO_POINTER)
        block = (G, int32(size), S, int32(size), int32(n), table)
        codes = buffers.codes[at:]
        if self.is_joint:
            threads = max(32, 1 << (n - 1).bit_length())
            self._launch(
                "walk_joint", (len(self.models), 1), (threads, 1),
                (*block, int32(self.n_classes), codes, *shared, *lists, *counted, buffers.moves),
            )  # fmt: skip
            return
        timed = int32(weighted > 0 or self.is_pairwise)
        warps = 4 if self.n >= MANY else 1  # a few problems are spread over the device
        self._launch(
            "walk", (-(-self.n // warps), 1), (32 * warps, 1),
            (*block, int32(self.n), codes, *shared, timed, *lists, *counted,
             *self._doubt(X, buffers)),
        )  # fmt: skip

    def _doubt(self, X: Any, buffers: Any) -> tuple[Any, ...]:
        """How far scores may be off, and what they are made of, for rows to be scored again."""
        if not self.screens:
            return np.float64(0), np.int32(0), *[NO_POINTER] * 4, np.float32(0)
        return (
            np.float64(screen_error(self.n_features)), np.int32(self.n_features), X, self.W,
            buffers.lengths, buffers.norms, np.float32(self.largest_rate),
        )  # fmt: skip

    def _finish_block(self, at: int, n: int, rated: Any, weighted: int, buffers: Any) -> None:
        """Add the corrections of a block to the weights, and count its mistakes."""
        int32, width = np.int32, 4 * 128
        lates = buffers.lates if self.averages else NO_POINTER
        self._launch(
            "apply", (-(-self.n_features // width), self.n), (128, 1),
            (rated, int32(self.n_features), buffers.count, buffers.place, buffers.pulls, lates,
             int32(self.size), self.table, self.W, self.U if self.averages else NO_POINTER,
             self.bias, self.bias_sums),
        )  # fmt: skip
        if self.screens:
            self._measure_weights(buffers.count, buffers)
        self._launch(
            "count_mistakes", (-(-n // 32), len(self.models)), (32, 8),
            (buffers.S, int32(self.size), int32(n), int32(self.per_model), self.table,
             buffers.codes[at:], buffers.omega[:, at:] if weighted else NO_POINTER,
             np.int64(buffers.omega.strides[0] // 8 if weighted else 0), buffers.row_updates,
             int32(self.size), int32(not self.is_pairwise), buffers.mistakes, buffers.updated),
        )  # fmt: skip

    def _measure_weights(self, changed: Any, buffers: Any) -> None:
        """The lengths of all weights, or of those that were corrected."""
        self._launch(
            "lengths_of", (self.n, 1), (128, 1),
            (self.W, np.int32(self.n_features), changed, buffers.norms),
        )  # fmt: skip

    def _launch(self, name: str, grid: Any, threads: Any, arguments: tuple[Any, ...]) -> None:
        types = (self.dtype, self.dtype)
        self.device.launch(name, types, self.size, grid, threads, arguments)

    def _tally(
        self, examples: Examples, visited: Array, counts: Array, omega: Array | None
    ) -> list[Tally]:
        """What came of a walk for each model."""
        m, updates = len(self.models), counts[: self.n].reshape(len(self.models), -1).sum(axis=1)
        mistakes, updated = counts[self.n : self.n + m], counts[self.n + m :]
        pairs, visits, weight = self.is_pairwise, [len(visited)] * m, [0.0] * m
        if omega is None:
            weight = [examples.weight_of(visited)] * m
        else:
            own = omega[:, visited.astype(np.intp)]
            kinds = self.host_table["weights"][:: self.per_model]
            visits = np.count_nonzero(own, axis=1)[kinds].tolist()
            weight = own.sum(axis=1)[kinds].tolist()
        return [
            Tally(
                visits[i], weight[i], int(updates[i]), int(updates[i] if pairs else updated[i]),
                math.nan if pairs else int(mistakes[i]), 0, None,
            )
            for i in range(m)
        ]  # fmt: skip

    # Memory

    def on_device(self, examples: Examples) -> tuple[Resident | Streamed, Any]:
        """The rows of examples and their classes, brought to the device once."""
        X, codes = examples.rows.X, examples.codes  # type: ignore[union-attr]
        if id(X) not in self._rows:
            with self.device.at_work():
                self._rows[id(X)] = (X, rows_of(self.device, examples))
        if id(codes) not in self._rows:
            with self.device.main:
                self._rows[id(codes)] = (codes, self.device.xp.asarray(codes, np.int32))
        return self._rows[id(X)][1], self._rows[id(codes)][1]

    def _allocate(self, visits: int, rows: Resident | Streamed) -> Any:
        """The arrays that blocks are learned in, made once for walks of this length."""
        if self._buffers is None or self._buffers.room < visits:
            self._graphs.clear()
            with self.device.main:
                self._buffers = Buffers(self, visits)
        return self._buffers


class Buffers:
    """The arrays that blocks are learned in; `room` is the longest walk they have room for."""

    omega: Any = None
    etas: Any = None

    def __init__(self, blocks: Blocks, visits: int) -> None:
        xp, n, size, models = blocks.device.xp, blocks.n, blocks.size, len(blocks.models)
        self.room = visits
        shape = (size, blocks.n_features)
        self.X = [xp.empty(shape, blocks.dtype) for _ in range(SLOTS)]
        rated = blocks.rates is not None
        self.rated = [xp.empty(shape, blocks.dtype) for _ in range(SLOTS)] if rated else None
        self.counting = xp.arange(size, dtype=np.int32)
        self.G = [xp.empty((size, size), blocks.dtype) for _ in range(SLOTS)]
        self.S = xp.empty((n, size), blocks.dtype)
        self.ready = [blocks.device.event() for _ in range(SLOTS)]
        self.done = [blocks.device.event() for _ in range(SLOTS)]
        self.order, self.codes = xp.empty(visits, np.int32), xp.empty(visits, np.int32)
        self.count = xp.zeros(n, np.int32)
        self.place = xp.empty((n, size), np.int32)
        self.pulls = xp.empty((n, size))
        self.lates = xp.empty((n, size)) if blocks.averages else None
        self.row_updates = xp.zeros((models, size), np.uint32)
        self.counts = xp.zeros(n + 2 * models, np.uint64)
        self.updates = self.counts[:n]
        self.mistakes, self.updated = self.counts[n : n + models], self.counts[n + models :]
        self.lengths, self.norms = xp.empty(size, np.float32), xp.empty(n, np.float32)
        self.moves = xp.empty((models, 3, blocks.n_classes)) if blocks.is_joint else None
