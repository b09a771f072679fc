"""Linear learners: weights in place, laid out for the kernels from the first row to the last."""

from __future__ import annotations

import math
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import numpy as np

from rosenblatt.kernels import learn
from rosenblatt.kernels._memory import zeros
from rosenblatt.learners.averaging import Unsettled
from rosenblatt.learners.batch import walk_batch
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.parts import Part, taller, tally_of
from rosenblatt.learners.problems import Problems, groups_of, rows_of_pairs, weight_where
from rosenblatt.learners.protocol import UNLIMITED, Array, Limits, Tally
from rosenblatt.learners.walks import WALKS, scorer
from rosenblatt.learners.weights import State, Weights

ONE_RATE = np.ones(1, np.float32)
_MOST_READ = 0.4  # of the rows, beyond which a copy in 8 bits is not looked at again
# Classes for each thread to make it worth walking over sparse rows once more: their weights fill a
# cache line. 20 classes are twice as fast with one thread as with two.
_WORTH_A_THREAD = 16
WORTH_STARTING = 1 << 20  # products that take longer than threads to start
_MOST_UNSETTLED = 16 << 20  # bytes of scores kept until the averaging sums are settled


class Linear:
    """Perceptrons with their weights written down.

    The averaging sums are lazy: a walk keeps its scores, and what its visits add to the sums is
    added when the average is wanted, or never, if the average starts anew before. The sums are the
    same to the last bit whenever that happens. Until then the learner holds on to the rows; call
    :meth:`settle` before they change.

    Parameters
    ----------
    n_classes : int
        Two classes have one problem, for class 1.
    n_features : int
        More may be reserved later if rows are sparse.
    multiclass : {"ovr", "ovo", "joint"}
        With three classes or more: one problem per class against the rest, one per pair, or all
        classes jointly.
    thresholds : (float, float)
        The largest margin that is still corrected, for y = -1 and y = +1.
    padding : float
        The padding constant c; 0 for classifiers through the origin.
    averaging : bool
        Whether to keep what the average is made of.
    rates : float32 array
        The learning rate of each feature, the last for all features beyond.
    dtype : dtype
        Of the weights: that of the rows.
    dense : bool
        Whether rows are dense, which decides how weights lie.
    batch : bool
        Correct all mistakes of a walk together, at its end.
    threads : int
        Classes or pairs are spread over them.

    Examples
    --------
    >>> from rosenblatt.learners.examples import examples_of
    >>> examples = examples_of(np.array([[2.0, 1.0], [-1.0, 1.0]]), np.array([1, 0]))
    >>> learner = Linear(2, 2, dense=True)
    >>> learner.walk(examples, np.arange(2, dtype=np.uint64)).updates
    2
    >>> learner.weights().weights, learner.weights().bias
    (array([[3., 0.]]), array([0.]))
    """

    def __init__(
        self,
        n_classes: int,
        n_features: int,
        *,
        multiclass: str = "ovr",
        thresholds: tuple[float, float] = (0.0, 0.0),
        padding: float = 1.0,
        averaging: bool = False,
        rates: Array = ONE_RATE,
        dtype: Any = np.float64,
        dense: bool = False,
        batch: bool = False,
        threads: int = 1,
    ) -> None:
        self.n_features, self.multiclass = n_features, multiclass
        self.thresholds, self.rule = thresholds, np.array([*thresholds, padding * padding])
        self.averaging, self.batch, self.threads = averaging, batch, threads
        self.rates, self.dtype, self.dense = rates, np.dtype(dtype), dense
        self.restart(n_classes)

    def restart(self, n_classes: int) -> None:
        """Forget all weights, to tell so many classes apart from now on."""
        self.n_classes = n_classes
        self.problems = Problems(n_classes, self.multiclass, self.thresholds)
        threads = self.threads
        if not self.dense and self.multiclass != "ovo":
            threads = min(threads, max(1, n_classes // _WORTH_A_THREAD))
        groups = groups_of(n_classes, self.multiclass, threads)
        self.kind = {"ovr": "each", "ovo": "one"}.get(self.multiclass, "joint")
        if n_classes <= 2:
            self.kind = "one"
        self.parts = [self._new_part(*group) for group in groups]
        self._reads_all = False  # whether a copy of the rows in 8 bits told too little
        self._unsettled = Unsettled()
        self._average: tuple[list[Any], Weights] | None = None  # with the clock it is of

    def walk(
        self,
        examples: Examples,
        order: Array,
        etas: Array = np.ones(1),  # noqa: B008 - never written to
        limits: Limits = Limits(),  # noqa: B008 - immutable
        foresee: bool = False,
    ) -> Tally:
        """Visit the rows in this order and learn from each.

        `foresee` asks for the predictions on the way. With one problem per pair they need the
        scores of every pair on every row, k/2 times the work, so that else not even the mistakes
        are counted; limits are not looked at.
        """
        if self.batch:
            return walk_batch(self, examples, order, float(etas[0]))
        kernel, rows = WALKS[self.kind][0], cast(Any, examples.rows)
        own = [(order, etas)] * len(self.parts)
        if self.is_pairwise and not foresee:
            pairs = (part.classes for part in self.parts)
            own = rows_of_pairs(pairs, examples.codes, order, etas)
        screened = None
        if self.kind == "one" and not (foresee or self._reads_all) and examples.screened:
            rows = screened = examples.screened
        seen = [
            np.empty((len(o), part.problems), self.dtype)
            for part, (o, _) in zip(self.parts, own, strict=True)
        ]
        times = [float(part.book[learn.CLOCK, 0]) for part in self.parts]
        if self.is_pairwise:
            limits = Limits()
        elif self.n_classes > 2:  # a look at many classes costs as much as an epoch
            limits = limits._replace(longest=UNLIMITED)
        tallies = [tally_of(part.classes, limits) for part in self.parts]
        calls = [
            (rows, *examples.arrays[1:], o, e, part.W, self.rates, part.book, self.rule, tally, s,
             *part.scratch)
            for part, (o, e), s, tally in zip(self.parts, own, seen, tallies, strict=True)
        ]  # fmt: skip
        numbers = sum(s.size for s in seen) * examples.stored // max(1, len(examples))
        if self.threads == 1 or len(calls) == 1 or numbers < WORTH_STARTING:
            for call in calls:
                kernel(*call)
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                list(pool.map(lambda call: kernel(*call), calls))
        if screened:
            read = sum(int(tally[learn.READ]) for tally in tallies)
            self._reads_all = read > _MOST_READ * sum(len(o) for o, _ in own)
        if self.averaging:
            self._unsettled.add(examples, own, seen, times, tallies)
            if self._unsettled.nbytes > _MOST_UNSETTLED:
                self.settle()
        return self._told(examples, order, seen, tallies, foresee)

    @property
    def is_pairwise(self) -> bool:
        """Whether each problem is of two classes among more."""
        return self.kind == "one" and len(self.parts) > 1

    def _told(
        self, examples: Examples, order: Array, seen: list[Array], tallies: list[Array],
        foresee: bool,
    ) -> Tally:  # fmt: skip
        """What came of a walk over all parts."""
        pairs = self.is_pairwise
        visits = len(order) if pairs else int(tallies[0][learn.VISITED])
        visited, updates = order[:visits], sum(int(t[learn.UPDATES]) for t in tallies)
        predictions, mistakes, updated = None, math.nan, updates
        if len(tallies) == 1:
            mistakes, updated = int(tallies[0][learn.MISTAKES]), int(tallies[0][learn.UPDATED])
        if foresee or (len(tallies) > 1 and not pairs):
            own = [s[:visits, : p.problems] for s, p in zip(seen, self.parts, strict=True)]
            scores, codes = own[0] if len(own) == 1 else np.hstack(own), examples.codes[visited]
            predictions = self.problems.decide(scores)
            mistakes = int(np.count_nonzero(predictions != codes))
            if len(tallies) > 1 and not pairs:
                updated = int(self.problems.is_corrected(scores, codes).sum())
        run = 0 if pairs else int(tallies[0][learn.RUN])
        weight = examples.weight_of(visited)
        return Tally(visits, weight, updates, updated, mistakes, run, predictions)

    # Scores and errors

    def scores(self, examples: Examples, order: Array, averaged: bool = False) -> Array:
        """The scores of rows (rows, problems), without learning."""
        return scorer(self, examples, averaged)(order)

    def error(self, examples: Examples, rows: Array, averaged: bool = False) -> float:
        """The share of the rows, by weight, whose class is predicted wrong."""
        scores = scorer(self, examples, averaged)
        wrong = weight_where(self.problems.is_mistaken, scores, examples, rows)
        return wrong / examples.weight_of(rows)

    def misclassified(self, examples: Examples, rows: Array, enough: float = math.inf) -> float:
        """The weight of the rows on the wrong side; counting may stop beyond `enough`."""
        if len(self.parts) == 1:
            return self.parts[0].missed(examples, rows, enough)
        scores = scorer(self, examples)
        return weight_where(self.problems.is_wrong, scores, examples, rows, enough)

    def is_separating(self, examples: Examples, rows: Array) -> bool:
        """Whether none of the rows would be corrected."""
        scores = scorer(self, examples)
        return weight_where(self.problems.is_corrected, scores, examples, rows, 0.0) == 0.0

    def row_updates(
        self, examples: Examples, order: Array, etas: Array, epochs: int
    ) -> Array | None:
        """How often each row is corrected in the epochs to come (two classes, online)."""
        if self.n_classes > 2 or self.batch:
            return None
        twin = self.like(self.n_features, self.dense, averaging=True)
        twin.restore(self.state())
        counts = np.zeros(len(examples.codes), np.int64)
        for _ in range(epochs):
            twin.walk(examples, order, etas)
            (seen,) = twin._unsettled.pop().seen
            corrected = self.problems.is_corrected(seen[:, :1], examples.codes[order])
            np.add.at(counts, order[corrected], 1)
        return counts

    def like(self, n_features: int, dense: bool, averaging: bool | None = None) -> Linear:
        """A learner of the same rule that knows nothing yet."""
        twin = Linear(
            self.n_classes, n_features, multiclass=self.multiclass, thresholds=self.thresholds,
            averaging=self.averaging if averaging is None else averaging, rates=self.rates,
            dtype=self.dtype, dense=dense, batch=self.batch, threads=self.threads,
        )  # fmt: skip
        twin.rule = self.rule
        return twin

    def change(self, thresholds: tuple[float, float], padding: float) -> None:
        """Go on with other thresholds and another padding, once the average is settled."""
        self.thresholds, self.rule = thresholds, np.array([*thresholds, padding * padding])
        self.problems = Problems(self.n_classes, self.multiclass, thresholds)

    # Weights

    def weights(self, averaged: bool = False) -> Weights:
        """The present weights where they lie, or their average, kept until the next step."""
        if averaged:
            clock = [self.n_features, *(part.book[learn.CLOCK, 0] for part in self.parts)]
            if self._average is None or self._average[0] != clock:
                means, biases = zip(*self.means(), strict=True)
                self._average = clock, Weights(self._shown(means), np.concatenate(biases))
            return self._average[1]
        bias = np.concatenate([part.book[learn.BIAS] for part in self.parts])
        return Weights(self._shown([part.W for part in self.parts]), bias)

    def snapshot(self, averaged: bool = False) -> Weights:
        """A copy of the present weights, or of their average."""
        weights, bias = self.weights(averaged)
        return Weights(np.array(weights, order="C"), bias)

    def is_at(self, snapshot: Weights) -> bool:
        """Whether the present weights equal those of a snapshot."""
        weights, bias = self.weights()
        return np.array_equal(bias, snapshot.bias) and np.array_equal(weights, snapshot.weights)

    def mark(self) -> None:
        """Remember the weights; :meth:`measure` tells how far they have moved since."""
        for part in self.parts:
            part.mark()

    def unmark(self) -> None:
        """Forget the weights that were remembered, when nothing is measured any more."""
        for part in self.parts:
            part.before = part.before_bias = np.empty(0)

    def measure(self) -> tuple[float, float]:
        """The length of all weights, and of their change since the last measure or mark."""
        padding = math.sqrt(self.rule[2])
        squares = [part.measure(self.n_features, padding) for part in self.parts]
        norm, change = np.concatenate(squares).sum(axis=0)
        return math.sqrt(norm), math.sqrt(change)

    def reserve(self, n_features: int) -> None:
        """Make room for more features of sparse rows; new ones weigh nothing."""
        if n_features <= self.n_features:
            return
        for part in self.parts:
            if n_features > len(part.W):
                # Zeros cost memory when touched: ample room saves copying as features turn up.
                part.W = taller(part.W, max(n_features, 2 * len(part.W)))
        self.n_features = n_features

    def state(self) -> State:
        """What was learned, as arrays (problems, features); views where they lie, if possible."""
        self.settle()
        parts = self.parts
        sums = self._shown([part.sums() for part in parts]) if self.averaging else np.zeros((0, 0))
        before = None
        if all(part.before_bias.size for part in parts):
            before = Weights(
                self._shown([part.before for part in parts]),
                np.concatenate([part.before_bias for part in parts]),
            )
        weights, bias = self.weights()
        return State(
            weights, bias, sums,
            np.concatenate([part.book[learn.BIAS_SUM] for part in parts]),
            np.concatenate([np.full(p.problems, p.book[learn.CLOCK, 0]) for p in parts]),
            before,
        )  # fmt: skip

    def restore(self, state: State) -> None:
        """Take up what a state holds; its arrays are copied."""
        self._unsettled.clear()
        self._average = None
        self.n_features, first = state.weights.shape[1], 0
        for part in self.parts:
            part.restore(state, slice(first, first + part.problems), self.averaging)
            first += part.problems

    # Averages

    def restart_average(self) -> None:
        """Let the average begin with the next step."""
        self._unsettled.clear()
        self._average = None
        for part in self.parts:
            part.U = np.empty(0)
            part.book[learn.BIAS_SUM] = 0.0
            part.book[learn.CLOCK] = 0.0

    def idle(self, weight: float) -> None:
        """Let time pass without learning: with one class known there is nothing to learn."""
        for part in self.parts:
            part.book[learn.CLOCK, 0] += weight

    def on_host(self) -> Linear:
        """A learner on the processor that goes on from here: this one."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        self.settle()
        left = ("problems", "_unsettled", "_average")
        state = {name: value for name, value in self.__dict__.items() if name not in left}
        rates = None if self.rates is ONE_RATE else self.rates
        return {**state, "rule": self.rule.tolist(), "dtype": self.dtype.char, "rates": rates}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.rule, self.dtype = np.array(state["rule"]), np.dtype(state["dtype"])
        self.rates = ONE_RATE if state["rates"] is None else state["rates"]
        self.problems = Problems(self.n_classes, self.multiclass, self.thresholds)
        self._unsettled, self._average = Unsettled(), None

    def settle(self) -> None:
        """Bring the averaging sums up to date."""
        self._unsettled.settle(WALKS[self.kind][1], self.parts, self.rates, self.rule)

    def means(self) -> list[tuple[Array, Array]]:
        """The mean of the weights after each step, and of the biases, of each part."""
        self.settle()
        return [part.mean(self.n_features) for part in self.parts]

    def _new_part(self, classes: tuple[int, int], problems: int) -> Part:
        shape: tuple[int, ...] = (self.n_features,)
        if self.kind != "one":
            shape = (problems, *shape) if self.dense else (*shape, problems)
        W, book, moves = zeros(shape, self.dtype), np.zeros((4, problems)), np.empty((3, problems))
        return Part(classes, problems, self.dense, W, np.empty(0), book, moves)

    def _shown(self, arrays: Iterable[Array]) -> Array:
        """The kernels' weights as (problems, features), without the room for more."""
        shown = [p.shown(W, self.n_features) for p, W in zip(self.parts, arrays, strict=True)]
        return shown[0] if len(shown) == 1 else np.concatenate(shown)
