"""The block method: linear models that share a row order, a block of rows at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from rosenblatt.gpu.device import NO_POINTER, Chunk, Resident, Streamed, device_rows
from rosenblatt.learners import Spec
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.problems import n_problems
from rosenblatt.learners.protocol import Array, Tally

SLOTS = 3  # blocks whose rows and Gram matrices are computed ahead
MANY = 256  # problems, from which on several share a thread block and scores may be screened
WIDE = 1024  # features, beyond which products take longer than walks
MAX_CAPTURED = 1024  # blocks of a walk that is launched as one CUDA graph
MAX_GRAPHS = 4  # cached graphs, one per shape of a walk

PROBLEM = np.dtype(
    [
        ("below", "f8"), ("above", "f8"), ("padding", "f8"), ("negative", "i4"), ("positive", "i4"),
        ("weights", "i4"), ("rates", "i4"), ("model", "i4"), ("active", "i4"),
    ]
)  # fmt: skip
"""struct Problem of kernels.cu."""


def problem_table(specs: Sequence[Spec], n_classes: int) -> np.ndarray[Any, np.dtype[Any]]:
    """The problems of some models, one model after the other.

    >>> problem_table([Spec(multiclass="ovo")], 3)[["negative", "positive"]].tolist()
    [(0, 1), (0, 2), (1, 2)]
    """
    multiclass, dtype = specs[0].multiclass, specs[0].dtype
    per_model = n_problems(n_classes, multiclass)
    table = np.zeros(len(specs) * per_model, PROBLEM)
    if n_classes <= 2:
        sides = [(0, 1)]
    elif multiclass == "ovo":
        sides = list(combinations(range(n_classes), 2))
    else:
        sides = [(-1, c) for c in range(n_classes)]
    for number, spec in enumerate(specs):
        rows = table[number * per_model : (number + 1) * per_model]
        rows["below"], rows["above"] = (rounded_down(t, dtype) for t in spec.rule)
        rows["padding"] = spec.padding * spec.padding
        rows["negative"], rows["positive"] = zip(*sides, strict=True)
        rows["model"], rows["active"] = number, 1
    return table


def rounded_down(number: float, dtype: Any) -> float:
    """The largest number of a type that is not above a number; no score lies between the two.

    >>> rounded_down(-5e-324, np.float32) < 0 < 0.1 - rounded_down(0.1, np.float32)
    True
    """
    kind = np.dtype(dtype).type
    rounded = kind(number)
    if float(rounded) > number:
        rounded = np.nextafter(rounded, kind(-np.inf))
    return float(rounded)


def screen_error(features: int) -> float:
    """A bound on the error of a score computed on tensor cores, relative to ``‖w‖·‖x‖``.

    Entries are truncated to 10 bits: the relative error of each is below 2⁻¹⁰, that of each product
    below ``2⁻⁹ + 2⁻²⁰``; by the Cauchy-Schwarz inequality the error of their sum is at most that
    share of ``‖w‖·‖x‖``. Summing n numbers, truncated to 23 bits at every step, adds less than
    ``n·2⁻²²`` of the sum of their absolute values. The score in single precision, which replaces it
    near the threshold, has half of the latter error itself.

    >>> round(screen_error(2048), 5)
    0.00269
    """
    return 2.0**-9 + 2.0**-20 + 1.5 * features * 2.0**-22


class Blocks:
    """Linear models on the GPU, of the same classes, that visit the same rows in the same order.

    `specs` say what each model is; they may differ in thresholds, padding and averaging. A block
    has `block_rows` rows, at most 1,024 for ``multiclass="joint"``.
    """

    def __init__(
        self,
        device: Any,
        specs: Sequence[Spec],
        n_classes: int,
        n_features: int,
        block_rows: int | None = None,
    ) -> None:
        self.device = device
        self.specs = list(specs)
        self.n_classes = n_classes
        multiclass, rates = specs[0].multiclass, specs[0].rates
        self.n_features, self.dtype = n_features, np.dtype(specs[0].dtype)
        self.is_joint = multiclass == "joint" and n_classes > 2
        self.is_pairwise = multiclass == "ovo" and n_classes > 2
        self.per_model = n_problems(n_classes, multiclass)
        self.host_table = table = problem_table(specs, n_classes)
        self.n = n = len(table)
        # Larger blocks take more time for Gram matrices and less for walks.
        self.size = block_rows or (512 if n_features > WIDE and not self.is_joint else 1024)
        # Whether scores are computed on tensor cores, and again where they are near the threshold.
        self.screens = (
            n >= MANY and n_features > WIDE and self.dtype == np.float32 and not self.is_joint
        )
        xp = device.xp
        with device.main:
            self.table = xp.asarray(table.view(np.uint8))
            self.W = xp.zeros((n, n_features), self.dtype)
            self.averages = any(spec.averaging for spec in specs)
            self.U: Any = xp.zeros((n, n_features)) if self.averages else None
            self.bias, self.bias_sums, self.clock = (xp.zeros(n) for _ in range(3))
            self.before: Any = None  # the weights and biases at the last mark or measure
            squares = table["padding"]  # a bias counts as the weight of the padding, b/c
            self._scale = xp.asarray(np.where(squares > 0, squares, 1.0))
            self.rates = None if rates.size == 1 and rates[0] == 1 else xp.asarray(rates)
            self.largest_rate = float(np.abs(rates).max())
        self._cached_rows: dict[int, tuple[Any, Any]] = {}
        self._buffers: Any = None
        self._graphs: dict[Any, Any] = {}

    def assign(self, column: str, per_model: Array) -> None:
        """Set a column of the problem table, given one value per model."""
        self.host_table[column] = np.repeat(per_model, self.per_model)
        with self.device.main:
            self.device.put(self.table, self.host_table.view(np.uint8))

    def mark(self) -> None:
        """Copy the weights, for :meth:`measure`, in the current stream."""
        self.before = self.W.copy(), self.bias.copy()

    def measure(self) -> Array:
        """Per model, the norm of all weights and of their change since the last mark or measure."""
        now, (W, bias) = (self.W, self.bias), self.before
        squares = [
            (w.astype(np.float64) ** 2).sum(axis=1) + b * b / self._scale
            for w, b in (now, (self.W.astype(np.float64) - W, self.bias - bias))
        ]
        per_problem = self.device.host(self.device.xp.stack(squares))
        per_model = per_problem.reshape(2, len(self.specs), -1).sum(axis=2)
        W[...], bias[...] = now
        return np.sqrt(per_model.T)

    # The walk

    def walk(
        self, examples: Examples, order: Array, etas: Array, omega: Array | None = None
    ) -> list[Tally]:
        """Visit the rows in this order and learn from each; returns the tally of each model.

        `etas` is (1,) or (visits,) for all models, or (models, 1 or visits). `omega`, if given, is
        (weightings, rows); the problem table says which of them weights the rows of a problem.
        """
        rows, codes = self.on_device(examples)
        with self.device.main:
            self._load(examples, order, codes, np.atleast_2d(etas), omega)
            if self.screens:
                self._measure_weights(NO_POINTER)
            self._visit(rows, order)
            counts = self.device.host(self._buffers.counts)
        return self._tally(examples, order, counts, omega)

    def _load(
        self, examples: Examples, order: Array, codes: Any, etas: Array, omega: Array | None
    ) -> None:
        """Copy the order, classes, learning rates and weights of the visits into the buffers."""
        xp, n = self.device.xp, len(order)
        if self._buffers is None or self._buffers.room < n:
            self._graphs.clear()
            self._buffers = Buffers(self, n)
        buffers = self._buffers
        self.device.put(buffers.order[:n], order.astype(np.int32))
        xp.take(codes, buffers.order[:n], out=buffers.codes[:n])
        buffers.counts[...] = 0
        if buffers.etas is None or buffers.etas.shape != etas.shape:
            buffers.etas = xp.empty(etas.shape)
            self._graphs.clear()
        self.device.put(buffers.etas, np.ascontiguousarray(etas, np.float64))
        if omega is None and examples.omega.size == 1 and examples.omega[0] == 1.0:
            buffers.omega = None
            return
        weights = np.atleast_2d(examples.omega if omega is None else omega)
        weights = np.broadcast_to(weights, (len(weights), len(examples)))
        if buffers.omega is None or buffers.omega.shape != (len(weights), n):
            buffers.omega = xp.empty((len(weights), n))
            self._graphs.clear()
        self.device.put(buffers.omega, np.ascontiguousarray(weights[:, order.astype(np.intp)]))

    def _visit(self, rows: Resident | Streamed, order: Array) -> None:
        """Learn from all rows.

        The second walk of a shape is captured as a CUDA graph, which later ones launch.
        """
        n = len(order)
        if not (self.device.captures and rows.is_resident and n <= MAX_CAPTURED * self.size):
            for chunk in rows.chunks(order):
                self._walk_chunk(chunk)
            return
        (chunk,) = rows.chunks(order)
        key = (int(chunk.X.data.ptr), n, chunk.in_order, self._buffers.omega is None)
        if key in self._graphs and self._graphs[key] is None:
            self._graphs[key] = self.device.captured(lambda: self._walk_chunk(chunk))
        if key in self._graphs:
            self._graphs[key].launch(self.device.main)
        else:
            self._graphs = dict(list(self._graphs.items())[-MAX_GRAPHS:]) | {key: None}
            self._walk_chunk(chunk)

    def _walk_chunk(self, chunk: Chunk) -> None:
        """All blocks of a chunk: rows and Gram matrices ahead of scores, walks and updates."""
        device, buffers = self.device, self._buffers
        begun = device.event()
        begun.record(device.main)
        device.ahead.wait_event(begun)
        for number, start in enumerate(range(0, chunk.visits, self.size)):
            slot, n = number % SLOTS, min(self.size, chunk.visits - start)
            with device.ahead:
                if number >= SLOTS:
                    device.ahead.wait_event(buffers.done[slot])
                X, rated = self._prepare(chunk, start, n, slot)
                buffers.ready[slot].record(device.ahead)
            device.main.wait_event(buffers.ready[slot])
            self._walk_block(X, chunk.first + start, slot)
            self._finish_block(chunk.first + start, n, rated)
            buffers.done[slot].record(device.main)

    def _prepare(self, chunk: Chunk, start: int, n: int, slot: int) -> tuple[Any, Any]:
        """The rows of a block, and the same times the rates; their Gram matrix into its slot."""
        buffers, X = self._buffers, chunk.X[start : start + n] if chunk.in_order else None
        if X is None or self.rates is not None:
            first = chunk.first + start
            source = chunk.X if X is None else X
            which = buffers.order[first : first + n] if X is None else buffers.counting[:n]
            rated = NO_POINTER if self.rates is None else buffers.rated[slot]
            rates = NO_POINTER if self.rates is None else self.rates
            self._launch(
                "gather", (n, 1), (256, 1),
                (source, which, np.int32(self.n_features), rates,
                 np.int32(0 if self.rates is None else self.rates.size), buffers.X[slot], rated),
            )  # fmt: skip
            X = buffers.X[slot][:n]
        rated = X if self.rates is None else buffers.rated[slot][:n]
        self.device.product(rated, X, buffers.G[slot][:n, :n])
        return X, rated

    def _walk_block(self, X: Any, at: int, slot: int) -> None:
        """Score a block and walk through it; corrections go into the lists of the buffers."""
        int32, size, n, buffers = np.int32, self.size, len(X), self._buffers
        self.device.product(self.W, X, buffers.S[:, :n], tf32=self.screens)
        if self.screens:
            arguments = (X, int32(self.n_features), NO_POINTER, buffers.lengths)
            self._launch("row_norms", (n, 1), (128, 1), arguments)
        n_etas = buffers.etas.shape[1]
        etas = buffers.etas[:, at:] if n_etas > 1 else buffers.etas
        lates = buffers.lates if self.averages else NO_POINTER
        shared = (*self._weights_at(at), etas, np.int64(n_etas), self.bias, self.clock)
        lists = (buffers.count, buffers.place, buffers.pulls, lates, int32(size))
        counted = (buffers.updates, buffers.row_updates, int32(size), NO_POINTER, NO_POINTER)
        block = (buffers.G[slot], int32(size), buffers.S, int32(size), int32(n), self.table)
        codes = buffers.codes[at:]
        if self.is_joint:
            threads = max(32, 1 << (n - 1).bit_length())
            self._launch(
                "walk_joint", (len(self.specs), 1), (threads, 1),
                (*block, int32(self.n_classes), codes, *shared, *lists, *counted, buffers.scratch),
            )  # fmt: skip
            return
        timed = int32(buffers.omega is not None or self.is_pairwise)
        warps = 4 if self.n >= MANY else 1  # few problems are spread over the device
        self._launch(
            "walk", (-(-self.n // warps), 1), (32 * warps, 1),
            (*block, int32(self.n), codes, *shared, timed, *lists, *counted, *self._screen(X)),
        )  # fmt: skip

    def _weights_at(self, at: int) -> tuple[Any, Any]:
        """The weights of the rows from a visit on, and the length of a row of this matrix."""
        omega = self._buffers.omega
        if omega is None:
            return NO_POINTER, np.int64(0)
        return omega[:, at:], np.int64(omega.strides[0] // 8)

    def _screen(self, X: Any) -> tuple[Any, ...]:
        """The error of screened scores, and what is needed to score rows again."""
        if not self.screens:
            return np.float64(0), np.int32(0), *[NO_POINTER] * 4, np.float32(0)
        return (
            np.float64(screen_error(self.n_features)), np.int32(self.n_features), X, self.W,
            self._buffers.lengths, self._buffers.norms, np.float32(self.largest_rate),
        )  # fmt: skip

    def _finish_block(self, at: int, n: int, rated: Any) -> None:
        """Add the corrections of a block to the weights, and count its mistakes."""
        int32, width, buffers = np.int32, 4 * 128, self._buffers
        lates = buffers.lates if self.averages else NO_POINTER
        self._launch(
            "apply", (-(-self.n_features // width), self.n), (128, 1),
            (rated, int32(self.n_features), buffers.count, buffers.place, buffers.pulls, lates,
             int32(self.size), self.table, self.W, self.U if self.averages else NO_POINTER,
             self.bias, self.bias_sums),
        )  # fmt: skip
        if self.screens:
            self._measure_weights(buffers.count)
        self._launch(
            "count_mistakes", (-(-n // 32), len(self.specs)), (32, 8),
            (buffers.S, int32(self.size), int32(n), int32(self.per_model), self.table,
             buffers.codes[at:], *self._weights_at(at), buffers.row_updates, int32(self.size),
             int32(not self.is_pairwise), buffers.mistakes, buffers.updated),
        )  # fmt: skip

    def _measure_weights(self, changed: Any) -> None:
        """Compute the norms of the weight vectors whose count in `changed` is not 0, or of all."""
        self._launch(
            "row_norms", (self.n, 1), (128, 1),
            (self.W, np.int32(self.n_features), changed, self._buffers.norms),
        )  # fmt: skip

    def _launch(self, name: str, grid: Any, threads: Any, arguments: tuple[Any, ...]) -> None:
        types = (self.dtype, self.dtype)
        self.device.launch(name, types, self.size, grid, threads, arguments)

    def _tally(
        self, examples: Examples, visited: Array, counts: Array, omega: Array | None
    ) -> list[Tally]:
        """The tally of a walk for each model."""
        m, updates = len(self.specs), counts[: self.n].reshape(len(self.specs), -1).sum(axis=1)
        mistakes, updated = counts[self.n : self.n + m], counts[self.n + m :]
        pairs = self.is_pairwise
        if omega is None:
            visits, weight = [len(visited)] * m, [examples.weight_of(visited)] * m
        else:
            of_visits = omega[:, visited.astype(np.intp)]
            weightings = self.host_table["weights"][:: self.per_model]
            visits = np.count_nonzero(of_visits, axis=1)[weightings].tolist()
            weight = of_visits.sum(axis=1)[weightings].tolist()
        return [
            Tally(
                visits[i], weight[i], int(updates[i]), int(updates[i] if pairs else updated[i]),
                math.nan if pairs else int(mistakes[i]), 0, None,
            )
            for i in range(m)
        ]  # fmt: skip

    def use_rows(self, examples: Examples, X: Any) -> None:
        """Take the rows of these examples from X, which lies on the device."""
        host = examples.rows.X  # type: ignore[union-attr]
        self._cached_rows[id(host)] = (
            host,
            Resident(self.device, X.astype(host.dtype, copy=False)),
        )

    def on_device(self, examples: Examples) -> tuple[Resident | Streamed, Any]:
        """The rows and classes of examples on the GPU; cached."""
        X, codes = examples.rows.X, examples.codes  # type: ignore[union-attr]
        if id(X) not in self._cached_rows:
            with self.device.after_caller():
                self._cached_rows[id(X)] = (X, device_rows(self.device, examples))
        if id(codes) not in self._cached_rows:
            with self.device.main:
                self._cached_rows[id(codes)] = (codes, self.device.xp.asarray(codes, np.int32))
        return self._cached_rows[id(X)][1], self._cached_rows[id(codes)][1]


class Buffers:
    """The arrays that walks of up to `room` visits work in."""

    omega: Any = None  # the weights of the visits; None if all are 1
    etas: Any = None

    def __init__(self, blocks: Blocks, room: int) -> None:
        xp = blocks.device.xp
        n, size, models = blocks.n, blocks.size, len(blocks.specs)
        self.room, shape = room, (size, blocks.n_features)
        self.X = [xp.empty(shape, blocks.dtype) for _ in range(SLOTS)]
        rated = blocks.rates is not None
        self.rated = [xp.empty(shape, blocks.dtype) for _ in range(SLOTS)] if rated else None
        self.counting = xp.arange(size, dtype=np.int32)
        self.G = [xp.empty((size, size), blocks.dtype) for _ in range(SLOTS)]
        self.S = xp.empty((n, size), blocks.dtype)
        self.ready = [blocks.device.event() for _ in range(SLOTS)]
        self.done = [blocks.device.event() for _ in range(SLOTS)]
        self.order, self.codes = xp.empty(room, np.int32), xp.empty(room, np.int32)
        self.count = xp.zeros(n, np.int32)
        self.place = xp.empty((n, size), np.int32)
        self.pulls = xp.empty((n, size))
        self.lates = xp.empty((n, size)) if blocks.averages else None
        self.row_updates = xp.zeros((models, size), np.uint32)
        self.counts = xp.zeros(n + 2 * models, np.uint64)
        self.updates = self.counts[:n]
        self.mistakes, self.updated = self.counts[n : n + models], self.counts[n + models :]
        self.lengths, self.norms = xp.empty(size, np.float32), xp.empty(n, np.float32)
        self.scratch = xp.empty((models, 3, blocks.n_classes)) if blocks.is_joint else None
