"""The learner in the dual form on a device: Gram entries, blocks of scores, a log of updates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import proxy

import numpy as np

from rosenblatt.gpu.device import NO_POINTER, in_plain_words
from rosenblatt.gpu.gram import DeviceGram
from rosenblatt.gpu.table import Settings, table_of
from rosenblatt.learners.dual import Logged, check_finite
from rosenblatt.learners.examples import ONE, Examples
from rosenblatt.learners.log import DualState, Log, Moment
from rosenblatt.learners.problems import Problems
from rosenblatt.learners.protocol import UNLIMITED, Array, Limits, Tally


class DeviceDual(Logged):
    """Perceptrons in the feature space of a kernel, on a device.

    The scores of all rows are kept in double precision. A block of rows is walked through with the
    Gram matrix of its rows; then its corrections are added to the scores of all rows.

    Parameters
    ----------
    problems : Problems
    gram : DeviceGram
        Where the Gram entries of the rows come from. `examples` of a walk are these rows.
    state : DualState or None
        Where to go on from.
    """

    def __init__(
        self, problems: Problems, gram: DeviceGram, state: DualState | None = None
    ) -> None:
        super().__init__(problems, gram, state)
        self.device, n, state = gram.device, len(problems), self._begun
        settings = Settings(problems.thresholds, padding=0.0)
        table = table_of([settings], problems.n_classes, problems.multiclass, np.float64)
        xp = self.device.xp
        with in_plain_words(), self.device.main:
            self._table = xp.asarray(table.view(np.uint8))
            self._clock, self._squares = xp.asarray(state.clock), xp.asarray(state.squares)
            self._zeros = xp.zeros(n)
            self._both = xp.zeros((2 * n, gram.n))  # scores, then those when the epoch began
            self._scores, self._before = self._both[:n], self._both[n:]
            if len(state.log):
                self._scores += self._made_by(state.log)
            self._before[...] = self._scores
            if len(state.log) > state.marked:
                self._before[...] = self._made_by(state.log[: state.marked])
        self._visit: Visit | None = None

    def _made_by(self, log: Log) -> Any:
        """The scores of all rows by the weights that a log adds up to."""
        support, placed = log.by_row()
        return self.gram.added(support, placed.coefficients(len(self.problems), support.size))

    def walk(
        self, examples: Examples, order: Array, etas: Array = ONE,
        limits: Limits = Limits(),  # noqa: B008 - immutable
    ) -> Tally:  # fmt: skip
        """Visit the rows in this order and learn from each; there is only one learning rate, 1."""
        n = len(self.problems)
        with in_plain_words(), self.device.main:
            if self._opens:
                self._before[...] = self._scores
                self._opens = False
            here = self._begin(examples, order)
            visits = here.walk(limits.updates)
            counts = self.device.host(here.counts)
            finite = bool(self.device.host(self.device.xp.isfinite(self._scores).all()))
            check_finite(np.array([0.0 if finite else np.nan]))
            self._logs.append(here.log())
        return Tally(
            visits, examples.weight_of(order[:visits]), int(counts[:n].sum()), int(counts[n + 1]),
            here.pair_mistakes if here.pairs else int(counts[n]), 0, None,
        )  # fmt: skip

    def _begin(self, examples: Examples, order: Array) -> Visit:
        """The arrays of a walk, those of the last one where they fit."""
        weights = examples.weights_of(order.astype(np.int64))
        weighted, last = bool(np.any(weights != 1.0)), self._visit
        copies = int(np.ceil(weights).max()) if self.problems.joint and weighted else 1
        if last is None or not last.fits(examples, len(order), weighted, copies):
            self._visit = last = Visit(self, examples, len(order), weighted, copies)
        last.begin(order, weights)
        return last

    def mark(self) -> None:
        """Remember the weights; :meth:`measure` tells how far they have moved since."""
        super().mark()
        with in_plain_words(), self.device.main:
            self._squares[1] = 0.0

    @property
    def clock(self) -> Array:  # type: ignore[override]
        """The weighted steps of each problem."""
        with in_plain_words(), self.device.main:
            return self.device.host(self._clock)

    @property
    def squares(self) -> Array:  # type: ignore[override]
        """The squared length of each weight vector, and of its change in this epoch."""
        with in_plain_words(), self.device.main:
            return self.device.host(self._squares)

    def is_at(self, snapshot: Moment) -> bool:
        """Whether the weights are those of a snapshot: what was added since scores zero."""
        if not np.array_equal(self.squares[0], snapshot.squares):
            return False
        with in_plain_words(), self.device.main:
            return not bool(self._made_by(self.log[snapshot.lines :]).any())

    def scores(self, rows: Array) -> Array:
        """The scores (rows, problems) of some rows by the last weights."""
        with in_plain_words(), self.device.main:
            return self.device.host(self._scores[:, self.device.xp.asarray(rows, np.int64)]).T

    def _scorer(self, examples: Examples, averaged: bool = False) -> Callable[[Array], Array]:
        return self.scores


class Visit:
    """The arrays of a walk over that many rows; `is_over` once the updates allowed are used up."""

    def __init__(
        self, learner: DeviceDual, examples: Examples, visits: int, weighted: bool, copies: int
    ) -> None:
        xp, n, size = learner.device.xp, len(learner.problems), learner.gram.block_rows
        # A proxy: two objects that hold each other keep their memory until garbage is collected.
        self.learner, self.examples, self.n, self.size = proxy(learner), examples, n, size
        self.weighted, self.copies, self.cap = weighted, copies, size * copies
        self.pairs = learner.problems.multiclass == "ovo" and learner.problems.n_classes > 2
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
        self.moves = xp.empty((1, 3, max(2, learner.problems.n_classes)))
        self.walks = 0
        self._graph: Any = None

    def fits(self, examples: Examples, visits: int, weighted: bool, copies: int) -> bool:
        """Whether a walk over these examples can use these arrays."""
        same = (len(self.order), self.weighted, self.copies) == (visits, weighted, copies)
        return same and self.examples is examples

    def begin(self, order: Array, weights: Array) -> None:
        """Be ready for a walk in this order."""
        put, self.rows = self.learner.device.put, order.astype(np.int64)
        put(self.order, order.astype(np.int32))
        put(self.codes, self.examples.codes[self.rows].astype(np.int32))
        if self.omega is not None:
            put(self.omega, np.ascontiguousarray(weights, np.float64))
        self.count[...], self.counts[...], self.row_updates[...] = 0, 0, 0
        self.made = self.number = self.pair_mistakes = 0
        self.is_over = False

    def walk(self, allowed: int) -> int:
        """Learn from all rows; how many were visited.

        From the second time on, a walk that needs nothing of the processor is launched as a graph.
        """
        device, self.walks = self.learner.device, self.walks + 1
        alone = device.captures and self.learner.gram.is_whole and not self.pairs
        if not alone or allowed != UNLIMITED or self.walks == 1:
            return self._walk_blocks(allowed)
        if self._graph is None:
            self._graph = device.captured(lambda: self._walk_blocks(UNLIMITED))
        self._graph.launch(device.main)
        return len(self.rows)

    def _walk_blocks(self, allowed: int) -> int:
        at = 0
        while at < len(self.rows) and not self.is_over:
            at += self.walk_block(at, min(self.size, len(self.rows) - at), allowed)
        return at

    def walk_block(self, at: int, n: int, allowed: int) -> int:
        """Learn from a block; how many of its rows were visited."""
        learner, gram = self.learner, self.learner.gram
        order, host = self.order[at : at + n], self.learner.device.host
        size, int32 = np.int32(self.size), np.int32
        if gram.is_whole:
            self._launch(
                "gather_gram", (n, 1), (128, 1),
                (gram.K, np.int64(gram.n), order, order, int32(n), self.G, size),
            )  # fmt: skip
        else:
            self.G[:n, :n] = gram.block(order)
        limited = allowed != UNLIMITED
        kept = (
            [a.copy() for a in (self.counts, learner._clock, learner._squares)] if limited else []
        )
        self._walk(at, n)
        if limited:
            per_row = host(self.row_updates[0, :n]).astype(np.int64)
            before = self.made + np.cumsum(per_row) - per_row
            over = np.flatnonzero((per_row > 0) & (before >= allowed))
            if over.size:
                n, self.is_over = int(over[0]), True
                for array, value in zip(
                    (self.counts, learner._clock, learner._squares), kept, strict=True
                ):
                    array[...] = value
                self.row_updates[...] = 0
                self.count[self.number] = 0
                if n == 0:
                    return 0
                self._walk(at, n)
                per_row = per_row[:n]
            self.made += int(per_row.sum())
        self._finish(at, n)
        self.number += 1
        return n

    def _walk(self, at: int, n: int) -> None:
        learner, int32, size = self.learner, np.int32, np.int32(self.size)
        self._launch(
            "gather_scores", (2 * self.n, 1), (256, 1),
            (learner._both, np.int64(learner.gram.n), self.order[at:], int32(n), self.S, size),
        )  # fmt: skip
        number, omega = self.number, NO_POINTER if self.omega is None else self.omega[at:]
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
            arguments = (*block, classes, codes, *shared, *lists, self.moves)
            self._launch("walk_joint", (1, 1), (threads, 1), arguments)
            return
        timed = int32(self.weighted or self.pairs)
        self._launch(
            "walk", (self.n, 1), (32, 1),
            (*block, int32(self.n), codes, *shared, timed, *lists, np.float64(0),
             int32(0), *[NO_POINTER] * 4, np.float32(0)),
        )  # fmt: skip

    def _finish(self, at: int, n: int) -> None:
        """Add the corrections of a block to the scores of all rows, and count its mistakes."""
        learner, gram, int32 = self.learner, self.learner.gram, np.int32
        slots = self.order[at : at + n]
        if not gram.is_whole:
            slots = self._slots(at, n)
        if slots is not None:
            self._launch(
                "apply_dual", (-(-gram.n // 512), self.n), (128, 1),
                (gram.K, np.int64(gram.n), slots, int32(gram.n), self.count[self.number],
                 self.place[self.number], self.pulls[self.number], int32(self.cap),
                 learner._scores, np.int64(gram.n)),
            )  # fmt: skip
        if self.pairs:  # by votes
            scores = learner.device.host(self.S[: self.n, :n]).T
            guesses = learner.problems.decide(scores)
            codes = self.examples.codes[self.rows[at : at + n]]
            self.pair_mistakes += int(np.count_nonzero(guesses != codes))
        self._launch(
            "count_mistakes", (-(-n // 32), 1), (32, 8),
            (self.S, int32(self.size), int32(n), int32(self.n), learner._table, self.codes[at:],
             NO_POINTER, np.int64(0), self.row_updates, int32(self.size),
             int32(not self.pairs),
             self.counts[self.n :], self.counts[self.n + 1 :]),
        )  # fmt: skip

    def _slots(self, at: int, n: int) -> Any:
        """Where the Gram rows of the corrected rows of a block lie; None if there are none."""
        device, xp = self.learner.device, self.learner.device.xp
        corrected = np.flatnonzero(device.host(self.row_updates[0, :n]))
        if corrected.size == 0:
            return None
        slots = np.zeros(n, np.int32)
        slots[corrected] = self.learner.gram.rows_in_cache(self.rows[at : at + n][corrected])
        return xp.asarray(slots)

    def _launch(self, name: str, grid: Any, threads: Any, arguments: tuple[Any, ...]) -> None:
        types = (np.float64, self.learner.gram.dtype)
        self.learner.device.launch(name, types, self.size, grid, threads, arguments)

    def log(self) -> Log:
        """The updates of the walk, in the order they were made."""
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
