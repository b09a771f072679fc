"""The learner in the dual form on the GPU: Gram entries, blocks of scores, a log of updates."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import proxy

import numpy as np

from rosenblatt.gpu.blocks import problem_table
from rosenblatt.gpu.device import NO_POINTER, translated_errors
from rosenblatt.learners import Spec
from rosenblatt.learners.dual import Logged, check_finite
from rosenblatt.learners.examples import ONE, Examples
from rosenblatt.learners.log import DualState, Log, Moment
from rosenblatt.learners.problems import Problems
from rosenblatt.learners.protocol import Array, Limits, Tally
from rosenblatt.rules.perceptron import Thresholds

VOTE_MEGABYTES = 6144  # of memory for kernel entries when all weights vote
_SHARE_OF_MEMORY = 0.7  # of the free GPU memory that Gram entries may take
_CHUNK_BYTES = 1 << 30  # of Gram entries computed at a time
EXACT_TF32, EXACT_FLOAT32 = 2048.0, 2.0**24  # the largest integers that both types hold exactly


class DeviceGram:
    """Gram entries between the rows of one matrix, on the GPU.

    A Gram matrix that fits into the free memory is computed once. Else Gram rows are computed when
    they are needed, and cached until `megabytes`, or a share of the free memory, are used up.

    `kernel` returns the kernel as a function of two matrices on the GPU, given the function that
    multiplies them; it is None if X holds the entries themselves.
    """

    def __init__(
        self, device: Any, kernel: Callable[[Any], Any] | None, X: Any, block_rows: int = 1024,
        megabytes: float | None = None,
    ) -> None:  # fmt: skip
        self.device = device
        self.n = X.shape[0]
        self.block_rows = block_rows
        self._host_X = X
        with device.main:
            self.X = device.xp.ascontiguousarray(device.xp.asarray(X))
            self._tf32 = kernel is not None and self._is_exact_in_tf32()
        # Not a method of this object: a cycle would keep its memory until garbage is collected.
        self.kernel = None if kernel is None else kernel(partial(_product, device, self._tf32))
        free = _SHARE_OF_MEMORY * device.free_bytes() if megabytes is None else megabytes * 2**20
        width = self.n * self.X.itemsize
        self.is_whole = kernel is None or self.n * width <= free
        capacity = self.n if self.is_whole else max(0, int(free // width) - block_rows)
        self.slots = np.full(self.n, -1, np.int32)
        self.cached, self.capacity = 0, capacity
        with device.main:
            if kernel is None:
                self.K = self.X
            else:
                spare = 0 if self.is_whole else block_rows  # for rows that are not cached
                self.K = device.xp.empty((capacity + spare, self.n), self.X.dtype)
            if self.is_whole:
                self._compute_all()

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the entries."""
        return np.dtype(self.X.dtype)

    def _is_exact_in_tf32(self) -> bool:
        """Whether products on tensor cores are exact: X holds small integers."""
        xp, X = self.device.xp, self.X
        if X.dtype != np.float32 or not bool((xp.abs(X) <= EXACT_TF32).all()):
            return False
        return bool((xp.rint(X) == X).all()) and float((X * X).sum(axis=1).max()) <= EXACT_FLOAT32

    def _compute_all(self) -> None:
        if self.kernel is not None:
            chunk = max(1, _CHUNK_BYTES // max(1, self.n * self.X.itemsize))
            for start in range(0, self.n, chunk):  # half of the symmetric matrix
                rows, end = slice(start, start + chunk), start + chunk
                self.K[rows, start:] = self.kernel(self.X[rows], self.X[start:])
                self.K[end:, rows] = self.K[rows, end:].T
        self.slots[:] = np.arange(self.n)

    def block(self, rows: Any) -> Any:
        """The entries between some rows."""
        X = self.X[rows]
        return self.device.xp.ascontiguousarray(self.kernel(X, X))  # type: ignore[misc]

    def cached_rows(self, rows: Array) -> Array:
        """The indices in ``K`` of the Gram rows of at most a block of rows, computed if missing."""
        missing = rows[self.slots[rows] < 0]
        cached = missing[: self.capacity - self.cached]
        if cached.size:
            places = np.arange(self.cached, self.cached + cached.size)
            self.K[self.cached : self.cached + cached.size] = self._entries(cached)
            self.slots[cached] = places
            self.cached += cached.size
        places, uncached = self.slots[rows].copy(), missing[cached.size :]
        if uncached.size:
            end = self.capacity + uncached.size
            self.K[self.capacity : end] = self._entries(uncached)
            places[places < 0] = np.arange(self.capacity, end)
        return places

    def _entries(self, rows: Array) -> Any:
        return self.kernel(self.X[rows], self.X)  # type: ignore[misc]

    def take(self, X: Any) -> Any:
        """Other rows, on the GPU."""
        return self.device.xp.asarray(X)

    def host_rows(self, rows: Array) -> Any:
        """Some rows of the matrix, in host memory."""
        return self._host_X[rows]

    def combined(self, rows: Array, coefficients: Array) -> Any:
        """``coefficients @ K(rows, all)`` in double precision."""
        xp, out = self.device.xp, self.device.xp.zeros((len(coefficients), self.n))
        for start in range(0, rows.size, self.block_rows):
            block = slice(start, start + self.block_rows)
            numbers = rows[block]
            K = self.K[xp.asarray(numbers)] if self.is_whole else self._entries(numbers)
            out += xp.asarray(coefficients[:, block]) @ K.astype(np.float64)
        return out


def _product(device: Any, tf32: bool, A: Any, B: Any) -> Any:
    """``A·B'``, on tensor cores where that is exact."""
    out = device.xp.empty((A.shape[0], B.shape[0]), A.dtype)
    A, B = map(device.xp.ascontiguousarray, (A, B))
    device.product(A, B, out, tf32=tf32 and A.dtype == np.float32)
    return out


class DeviceDual(Logged):
    """Perceptrons in the feature space of a kernel, on the GPU.

    The scores of all rows are kept in double precision. A walk goes through a block of rows with
    their Gram matrix, then adds its corrections to the scores of all rows. The `examples` of a walk
    are the rows of `gram`.
    """

    def __init__(
        self, problems: Problems, gram: DeviceGram, state: DualState | None = None
    ) -> None:
        super().__init__(problems, gram, state)
        self.device = gram.device
        n, state = len(problems), self._initial
        rule = Thresholds(*problems.thresholds)
        spec = Spec(rule, problems.multiclass, padding=0.0)
        table = problem_table([spec], problems.n_classes)
        xp = self.device.xp
        with translated_errors(), self.device.main:
            self._table = xp.asarray(table.view(np.uint8))
            self._clock, self._squares = xp.asarray(state.clock), xp.asarray(state.squares)
            self._zeros = xp.zeros(n)
            self._both = xp.zeros((2 * n, gram.n))  # scores, then those at the start of the epoch
            self._scores, self._before = self._both[:n], self._both[n:]
            if len(state.log):
                self._scores += self._scores_of(state.log)
            self._before[...] = self._scores
            if len(state.log) > state.marked:
                self._before[...] = self._scores_of(state.log[: state.marked])
        self._last_walk: DualWalk | None = None

    def _scores_of(self, log: Log) -> Any:
        """The scores of all rows by the sum of the updates in a log."""
        support, placed = log.by_row()
        return self.gram.combined(support, placed.coefficients(len(self.problems), support.size))

    def walk(
        self, examples: Examples, order: Array, etas: Array = ONE,
        limits: Limits = Limits(),  # noqa: B008 - immutable
    ) -> Tally:  # fmt: skip
        """Visit the rows in this order and learn from each, at the rate 1 and without limits."""
        n = len(self.problems)
        with translated_errors(), self.device.main:
            if self._epoch_starts:
                self._before[...] = self._scores
                self._epoch_starts = False
            walk = self._begin(examples, order)
            walk.run()
            counts = self.device.host(walk.counts)
            finite = bool(self.device.host(self.device.xp.isfinite(self._scores).all()))
            check_finite(np.array([0.0 if finite else np.nan]))
            self._logs.append(walk.log())
        return Tally(
            len(order), examples.weight_of(order), int(counts[:n].sum()), int(counts[n + 1]),
            walk.pair_mistakes if walk.is_pairwise else int(counts[n]), 0, None,
        )  # fmt: skip

    def _begin(self, examples: Examples, order: Array) -> DualWalk:
        """A walk in this order; it uses the arrays of the last one if they fit."""
        weights = examples.weights_of(order.astype(np.int64))
        weighted, walk = bool(np.any(weights != 1.0)), self._last_walk
        copies = int(np.ceil(weights).max()) if self.problems.joint and weighted else 1
        if walk is None or not walk.fits(examples, len(order), weighted, copies):
            self._last_walk = walk = DualWalk(self, examples, len(order), weighted, copies)
        walk.begin(order, weights)
        return walk

    def mark(self) -> None:
        """Mark the weights, for :meth:`measure`."""
        super().mark()
        with translated_errors(), self.device.main:
            self._squares[1] = 0.0

    @property
    def clock(self) -> Array:  # type: ignore[override]
        """The weighted steps of each problem."""
        with translated_errors(), self.device.main:
            return self.device.host(self._clock)

    @property
    def squares(self) -> Array:  # type: ignore[override]
        """The squared norm of each weight vector, and of its change in this epoch."""
        with translated_errors(), self.device.main:
            return self.device.host(self._squares)

    def is_at(self, snapshot: Moment) -> bool:
        """Whether the weights equal those of a snapshot: later updates score 0 on all rows."""
        if not np.array_equal(self.squares[0], snapshot.squares):
            return False
        with translated_errors(), self.device.main:
            return not bool(self._scores_of(self.log[snapshot.lines :]).any())

    def scores(self, rows: Array) -> Array:
        """The scores (rows, problems) of some rows by the last weights, in host memory."""
        with translated_errors(), self.device.main:
            return self.device.host(self._scores[:, self.device.xp.asarray(rows, np.int64)]).T

    def _scorer(self, examples: Examples, averaged: bool = False) -> Callable[[Array], Array]:
        return self.scores


class DualWalk:
    """A walk over so many rows and its arrays, which later walks of the same shape use again."""

    def __init__(
        self, learner: DeviceDual, examples: Examples, visits: int, weighted: bool, copies: int
    ) -> None:
        xp = learner.device.xp
        n, size = len(learner.problems), learner.gram.block_rows
        # A proxy: a cycle would keep the memory until garbage is collected.
        self.learner = proxy(learner)
        self.examples = examples
        self.n, self.size = n, size
        self.weighted = weighted
        self.copies = copies
        self.cap = size * copies
        self.is_pairwise = learner.problems.multiclass == "ovo" and learner.problems.n_classes > 2
        self.order, self.codes = xp.empty(visits, np.int32), xp.empty(visits, np.int32)
        self.omega = xp.empty(visits) if weighted else None
        shape = (-(-visits // size), n, self.cap)
        self.count = xp.zeros(shape[:2], np.int32)
        self.place, self.pulls = xp.empty(shape, np.int32), xp.empty(shape)
        self.times = xp.empty(shape)
        self.S = xp.empty((2 * n, size))
        self.G = xp.empty((size, size), learner.gram.dtype)
        self.eta, self.counts = xp.ones(1), xp.zeros(n + 2, np.uint64)
        self.row_updates = xp.zeros((1, size), np.uint32)
        self.scratch = xp.empty((1, 3, max(2, learner.problems.n_classes)))
        self.walks = 0
        self._graph: Any = None

    def fits(self, examples: Examples, visits: int, weighted: bool, copies: int) -> bool:
        """Whether a walk over these examples can use these arrays."""
        same = (len(self.order), self.weighted, self.copies) == (visits, weighted, copies)
        return same and self.examples is examples

    def begin(self, order: Array, weights: Array) -> None:
        """Copy the order, classes and weights of the rows to the GPU, and reset all counts."""
        put, self.rows = self.learner.device.put, order.astype(np.int64)
        put(self.order, order.astype(np.int32))
        put(self.codes, self.examples.codes[self.rows].astype(np.int32))
        if self.omega is not None:
            put(self.omega, np.ascontiguousarray(weights, np.float64))
        self.count[...], self.counts[...], self.row_updates[...] = 0, 0, 0
        self.pair_mistakes = 0

    def run(self) -> None:
        """Learn from all rows.

        From the second time on, a walk that needs no result on the CPU is launched as a graph.
        """
        device, self.walks = self.learner.device, self.walks + 1
        captured = device.captures and self.learner.gram.is_whole and not self.is_pairwise
        if not captured or self.walks == 1:
            self._walk_blocks()
            return
        if self._graph is None:
            self._graph = device.captured(self._walk_blocks)
        self._graph.launch(device.main)

    def _walk_blocks(self) -> None:
        gram, int32 = self.learner.gram, np.int32
        for at in range(0, len(self.rows), self.size):
            n = min(self.size, len(self.rows) - at)
            order = self.order[at : at + n]
            if gram.is_whole:
                self._launch(
                    "gather_gram", (n, 1), (128, 1),
                    (gram.K, np.int64(gram.n), order, order, int32(n), self.G, int32(self.size)),
                )  # fmt: skip
            else:
                self.G[:n, :n] = gram.block(order)
            self._walk(at, n)
            self._finish(at, n)

    def _walk(self, at: int, n: int) -> None:
        learner, int32, size = self.learner, np.int32, np.int32(self.size)
        self._launch(
            "gather_scores", (2 * self.n, 1), (256, 1),
            (learner._both, np.int64(learner.gram.n), self.order[at:], int32(n), self.S, size),
        )  # fmt: skip
        number, omega = at // self.size, NO_POINTER if self.omega is None else self.omega[at:]
        block = (self.G, size, self.S, size, int32(n), learner._table)
        shared = (
            omega, np.int64(len(self.rows) if self.weighted else 0), self.eta, np.int64(1),
            learner._zeros, learner._clock,
        )  # fmt: skip
        lists = (
            self.count[number], self.place[number], self.pulls[number], self.times[number],
            int32(self.cap), self.counts, self.row_updates, size, learner._squares,
            self.S[self.n :],
        )  # fmt: skip
        codes = self.codes[at:]
        if learner.problems.joint:
            threads = max(32, 1 << (n - 1).bit_length())
            classes = int32(learner.problems.n_classes)
            arguments = (*block, classes, codes, *shared, *lists, self.scratch)
            self._launch("walk_joint", (1, 1), (threads, 1), arguments)
            return
        timed = int32(self.weighted or self.is_pairwise)
        self._launch(
            "walk", (self.n, 1), (32, 1),
            (*block, int32(self.n), codes, *shared, timed, *lists, np.float64(0),
             int32(0), *[NO_POINTER] * 4, np.float32(0)),
        )  # fmt: skip

    def _finish(self, at: int, n: int) -> None:
        """Add the corrections of a block to the scores of all rows, and count its mistakes."""
        learner, gram, int32 = self.learner, self.learner.gram, np.int32
        number = at // self.size
        slots = self.order[at : at + n]
        if not gram.is_whole:
            slots = self._slots(at, n)
        if slots is not None:
            self._launch(
                "apply_dual", (-(-gram.n // 512), self.n), (128, 1),
                (gram.K, np.int64(gram.n), slots, int32(gram.n), self.count[number],
                 self.place[number], self.pulls[number], int32(self.cap),
                 learner._scores, np.int64(gram.n)),
            )  # fmt: skip
        if self.is_pairwise:  # mistakes are counted here, by votes
            scores = learner.device.host(self.S[: self.n, :n]).T
            guesses = learner.problems.decide(scores)
            codes = self.examples.codes[self.rows[at : at + n]]
            self.pair_mistakes += int(np.count_nonzero(guesses != codes))
        self._launch(
            "count_mistakes", (-(-n // 32), 1), (32, 8),
            (self.S, int32(self.size), int32(n), int32(self.n), learner._table, self.codes[at:],
             NO_POINTER, np.int64(0), self.row_updates, int32(self.size),
             int32(not self.is_pairwise),
             self.counts[self.n :], self.counts[self.n + 1 :]),
        )  # fmt: skip

    def _slots(self, at: int, n: int) -> Any:
        """The index in the cache of the Gram row of each corrected row of a block, or None."""
        device, xp = self.learner.device, self.learner.device.xp
        corrected = np.flatnonzero(device.host(self.row_updates[0, :n]))
        if corrected.size == 0:
            return None
        slots = np.zeros(n, np.int32)
        slots[corrected] = self.learner.gram.cached_rows(self.rows[at : at + n][corrected])
        return xp.asarray(slots)

    def _launch(self, name: str, grid: Any, threads: Any, arguments: tuple[Any, ...]) -> None:
        types = (np.float64, self.learner.gram.dtype)
        self.learner.device.launch(name, types, self.size, grid, threads, arguments)

    def log(self) -> Log:
        """The updates of the walk, in the order in which they were made."""
        xp, host = self.learner.device.xp, self.learner.device.host
        filled = xp.arange(self.cap)[None, None, :] < self.count[:, :, None]
        blocks, problems, _ = (host(index) for index in xp.nonzero(filled))
        if not blocks.size:
            return Log()
        visits = blocks.astype(np.int64) * self.size + host(self.place[filled])
        pulls, times = host(self.pulls[filled]), host(self.times[filled])
        if self.learner.problems.joint:
            by_time = np.lexsort((pulls < 0, times, visits))
        else:
            by_time = np.lexsort((problems, visits))
        return Log(
            problems.astype(np.int64)[by_time], self.rows[visits[by_time]], pulls[by_time],
            times[by_time],
        )  # fmt: skip


def device_votes(device: Any, K: Any, log: Log, clock: Array) -> Any:
    """The votes of :func:`rosenblatt.learners.log.votes`, for kernel entries on the GPU."""
    xp, problems, rows = device.xp, clock.size, len(K)
    starts = xp.asarray(np.searchsorted(log.problems, np.arange(problems + 1)).astype(np.int64))
    columns = [xp.asarray(c) for c in (log.rows.astype(np.int64), log.taus, log.times, clock)]
    out = xp.empty((rows, problems))
    device.launch(
        "vote", (np.float64, K.dtype), 1024, (-(-rows // 128), problems), (128, 1),
        (xp.ascontiguousarray(K.T), np.int32(rows), starts, *columns, np.int32(problems), out),
    )  # fmt: skip
    return out
