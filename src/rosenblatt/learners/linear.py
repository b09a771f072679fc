"""Linear learners: weights in the layout of the kernels, updated in place."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np

from rosenblatt.kernels import learn
from rosenblatt.learners import MANY_CLASSES, Spec
from rosenblatt.learners.cell_part import CellPart
from rosenblatt.learners.examples import ONE, Examples
from rosenblatt.learners.pairs import PairPart, PairWeights
from rosenblatt.learners.parts import LazyPart, Visits, counts_of
from rosenblatt.learners.problems import CountedByScores, Problems, differ, groups_of, rows_of_pairs
from rosenblatt.learners.protocol import NO_LIMITS, UNLIMITED, Array, Limits, Tally
from rosenblatt.learners.weights import State, Weights

_MOST_READ = 0.4  # of the rows; beyond this share, 8-bit copies are not used again
# Classes per thread from which several threads walk over sparse rows: their weights fill a cache
# line. With 20 classes one thread is twice as fast as two.
_WORTH_A_THREAD = 16
WORTH_STARTING = 1 << 20  # products that take longer than starting threads


class Linear(CountedByScores):
    """Linear classifiers of any rule, with explicit weights.

    What is kept per feature is the business of the parts (:mod:`rosenblatt.learners.parts`).

    One against the rest and one against one are binary problems; with a rule other than the
    perceptron's each has a walk of its own. Classes that learn jointly share one walk.

    Parameters
    ----------
    spec, n_classes, n_features
        As for :func:`rosenblatt.learners.make`, which makes them.

    Examples
    --------
    >>> from rosenblatt.learners import Spec, make
    >>> from rosenblatt.learners.examples import examples_of
    >>> examples = examples_of(np.array([[2.0, 1.0], [-1.0, 1.0]]), np.array([1, 0]))
    >>> learner = make(Spec(dense=True), 2, 2)
    >>> learner.walk(examples, np.arange(2, dtype=np.uint64)).updates
    2
    >>> learner.weights().weights, learner.weights().bias
    (array([[3., 0.]]), array([0.]))
    """

    def __init__(self, spec: Spec, n_classes: int, n_features: int) -> None:
        self.spec = spec
        self.n_classes = n_classes
        self.n_features = n_features
        self.dtype = np.dtype(spec.dtype)
        self.is_perceptron = spec.is_perceptron
        self.restart(n_classes)

    @property
    def batch(self) -> bool:
        """Whether a walk corrects all mistakes together at its end, so that it cannot be split."""
        return self.spec.batch

    @property
    def averaging(self) -> bool:
        """Whether averaging sums are kept."""
        return self.spec.averaging

    def change(self, **changes: Any) -> None:
        """Continue with other fields of the spec: numbers of the same rule, padding, rates ..."""
        self.spec = replace(self.spec, **changes)
        self.problems = Problems(self.n_classes, self.spec.multiclass, self.spec.thresholds)
        for part in self.parts:
            part.change(self.spec)

    def restart(self, n_classes: int) -> None:
        """Reset all weights, for this number of classes."""
        spec = self.spec
        self.n_classes = n_classes
        self.problems = Problems(n_classes, spec.multiclass, spec.thresholds)
        self.is_pairwise = spec.multiclass == "ovo" and n_classes > 2
        self.kind = "one"
        if n_classes > 2 and spec.multiclass in ("ovr", "joint"):
            self.kind = "joint" if self.problems.joint else "each"
        self.by_pairs = self.kind != "one" and spec.by_pairs and n_classes >= MANY_CLASSES
        self.by_pairs &= self.is_perceptron
        groups = self._groups()
        kind = "one" if self.kind == "each" and not self.is_perceptron else self.kind
        new_part: Any = LazyPart if self.is_perceptron else CellPart
        new_part = PairPart if self.by_pairs else new_part
        self.parts: list[Any] = [
            new_part(spec, kind, classes, problems, self.n_features, len(groups) == 1)
            for classes, problems in groups
        ]
        # Whether 8-bit copies of the rows are of no use.
        self._reads_all = spec.multiclass == "labels" or not self.is_perceptron
        self._average: tuple[list[Any], Weights] | None = None  # cached, with its clock

    def _groups(self) -> list[tuple[tuple[int, int], int]]:
        """The classes and the number of problems of each part."""
        if self.kind == "each" and not self.is_perceptron:
            return [((learn.REST, c), 1) for c in range(self.n_classes)]
        threads = self.spec.threads if self.is_perceptron and not self.by_pairs else 1
        if not self.spec.dense:
            threads = min(threads, max(1, self.n_classes // _WORTH_A_THREAD))
        return groups_of(self.n_classes, self.spec.multiclass, threads)

    def walk(
        self,
        examples: Examples,
        order: Array,
        etas: Array = ONE,
        limits: Limits = NO_LIMITS,
        predict_first: bool = False,
    ) -> Tally:
        """Visit the rows in this order and learn from each.

        `predict_first` returns the predictions before learning. With one problem per pair these
        need the scores of every pair on every row, k/2 times the work; without them mistakes are
        not counted then. Limits apply if the walk is a single kernel call. In multilabel problems a
        mistake is a wrong set of labels, and updated rows count per label.
        """
        predict_first |= self.batch
        visits = self._visits(examples, order, etas, predict_first)
        screened = None
        if self.kind == "one" and not (predict_first or self._reads_all) and examples.screened:
            screened = replace(examples, rows=cast(Any, examples.screened))
        times = [part.clock for part in self.parts]
        seen, tallies, calls = self._calls(visits, limits, screened)
        if len(calls) == 1 or self.spec.threads == 1 or _size(examples, seen) < WORTH_STARTING:
            for kernel, arguments in calls:
                kernel(*arguments)
        else:
            with ThreadPoolExecutor(self.spec.threads) as pool:
                list(pool.map(lambda call: call[0](*call[1]), calls))
        if screened:
            read = sum(int(counts[learn.READ]) for counts in tallies)
            self._reads_all = read > _MOST_READ * sum(len(order) for _, order, _ in visits)
        if self.batch:
            return self._corrected_together(examples, order, float(etas[0]), seen, times)
        return self._tally(examples, order, seen, tallies, predict_first)

    def _calls(
        self, visits: list[Visits], limits: Limits = NO_LIMITS, screened: Examples | None = None
    ) -> tuple[list[Array], list[Array], list[tuple[Any, Any]]]:
        """The scores and the counts that the kernel calls of all parts fill, and these calls."""
        if len(self.parts) > 1:
            limits = NO_LIMITS
        elif self.is_perceptron and self.kind != "one":
            limits = limits._replace(longest=UNLIMITED)  # a look at many classes costs as an epoch
        seen, tallies, calls = [], [], []
        for part, (examples, order, etas) in zip(self.parts, visits, strict=True):
            scores, counts = part.score_buffer(len(order)), counts_of(limits.run)
            visit = (screened or examples, order, etas)
            calls.append((part.kernel, part.arguments(visit, limits, counts, scores)))
            seen.append(scores)
            tallies.append(counts)
        return seen, tallies, calls

    def _visits(
        self, examples: Examples, order: Array, etas: Array, predict_first: bool
    ) -> list[Visits]:
        """The examples, the order and the rates of each part."""
        if self.spec.multiclass == "labels":
            truth = examples.truth_of(np.arange(len(examples))).astype(np.int32)
            return [
                (examples.relabelled(np.ascontiguousarray(codes), examples.omega), order, etas)
                for codes in truth.T
            ]
        if self.is_pairwise and not predict_first:
            pairs = (part.classes for part in self.parts)
            return [(examples, *own) for own in rows_of_pairs(pairs, examples.codes, order, etas)]
        return [(examples, order, etas)] * len(self.parts)

    def _tally(
        self,
        examples: Examples,
        order: Array,
        seen: list[Array],
        tallies: list[Array],
        predict_first: bool,
    ) -> Tally:
        """The result of a walk over all parts."""
        alone, first = len(tallies) == 1, tallies[0]
        visits = int(first[learn.VISITED]) if alone else len(order)
        visited, updates = order[:visits], sum(int(t[learn.UPDATES]) for t in tallies)
        updated = updates if self.is_pairwise else sum(int(t[learn.UPDATED]) for t in tallies)
        predictions, mistakes = None, int(first[learn.MISTAKES]) if alone else math.nan
        if predict_first or not (self.is_pairwise or (alone and self.is_perceptron)):
            scores, truth = self.scores_in([s[:visits] for s in seen]), examples.truth_of(visited)
            predictions = self.problems.decide(scores)
            mistakes = int(np.count_nonzero(differ(predictions, truth)))
            if not alone and self.spec.multiclass in ("ovr", "joint"):
                if self.is_perceptron:
                    rows = self.problems.is_corrected(scores, truth)
                else:
                    rows = np.logical_or.reduce([s[:, 1] > 0 for s in seen])
                updated = int(np.count_nonzero(rows))
        run = int(first[learn.RUN]) if alone else 0
        weight = examples.weight_of(visited)
        return Tally(visits, weight, updates, updated, mistakes, run, predictions)

    def _corrected_together(
        self, examples: Examples, order: Array, eta: float, seen: list[Array], times: list[float]
    ) -> Tally:
        """Correct all mistakes of a walk that only scored: one iteration of the batch rule."""
        scores, truth = self.scores_in(seen), examples.truth_of(order)
        weight, first = examples.weights_of(order), 0
        directions = self.problems.directions(scores, truth)
        coefficients = directions * weight[:, None]
        for part, clock in zip(self.parts, times, strict=True):
            mine = np.ascontiguousarray(coefficients[:, first : first + part.problems])
            visited = weight[np.isin(truth, part.classes)] if self.is_pairwise else weight
            part.correct(examples, order, mine, eta, clock)
            part.clock = clock + visited.sum()
            first += part.problems
        updates = self.problems.updates_of(directions, weight)
        by_row = coefficients if self.spec.multiclass == "labels" else coefficients.any(axis=1)
        updated = updates if self.is_pairwise else int(np.count_nonzero(by_row))
        predictions, total = self.problems.decide(scores), float(weight.sum())
        mistakes = int(np.count_nonzero(differ(predictions, truth)))
        return Tally(len(order), total, updates, updated, mistakes, 0, predictions)

    def scores_in(self, seen: list[Array]) -> Array:
        """The scores (rows, problems) in the buffers of all parts."""
        return _joined([p.scores(s) for p, s in zip(self.parts, seen, strict=True)], axis=1)

    # Scores and errors

    def scores(self, examples: Examples, order: Array, averaged: bool = False) -> Array:
        """The scores (rows, problems) of some rows."""
        return self._scorer(examples, averaged)(order)

    def _scorer(self, examples: Examples, averaged: bool = False) -> Callable[[Array], Array]:
        """A function that scores rows by the current weights or their average."""
        layers = [layer for part in self.parts for layer in part.scorers(averaged)]
        return lambda order: _joined([layer(examples, order) for layer in layers], axis=1)

    def misclassified(self, examples: Examples, rows: Array, enough: float = math.inf) -> float:
        """The weight of the rows on the wrong side; counting may stop beyond `enough`."""
        if self.is_perceptron and self.kind == "one" and len(self.parts) == 1:
            return self.parts[0].misclassified(examples, rows, enough)
        return super().misclassified(examples, rows, enough)

    def is_separating(self, examples: Examples, rows: Array) -> bool:
        """Whether none of the rows would be corrected."""
        if self.is_perceptron:
            return super().is_separating(examples, rows)
        twin = self.untrained(self.n_features, self.spec.dense)
        twin.restore(self.state())
        return twin.walk(examples, rows).updates == 0

    def row_updates(
        self, examples: Examples, order: Array, etas: Array, epochs: int
    ) -> Array | None:
        """How often each row is corrected in the next epochs (two classes, online perceptron).

        Of other rules counts do not determine the weights.
        """
        if self.n_classes > 2 or self.spec.multiclass == "labels" or self.batch:
            return None
        if not self.is_perceptron:
            return None
        twin = self.untrained(self.n_features, self.spec.dense, averaging=False)
        twin.restore(self.state())
        counts = np.zeros(len(examples.codes), np.int64)
        for _ in range(epochs):
            seen, _, [(kernel, arguments)] = twin._calls([(examples, order, etas)])
            kernel(*arguments)
            corrected = self.problems.is_corrected(seen[0], examples.codes[order])
            np.add.at(counts, order[corrected], 1)
        return counts

    def untrained(self, n_features: int, dense: bool, **changes: Any) -> Self:
        """A learner of the same spec, but for changes of its fields, and zero weights."""
        spec = replace(self.spec, dense=dense, **changes)
        return type(self)(spec, self.n_classes, n_features)

    # Weights

    def weights(self, averaged: bool = False) -> Weights:
        """The current weights, as a view if possible, or their cached average."""
        clock = [self.n_features, *(part.clock for part in self.parts)]
        if averaged and self._average is not None and self._average[0] == clock:
            return self._average[1]
        shown, biases = zip(*(part.present(averaged) for part in self.parts), strict=True)
        joined = Weights(_joined(shown), np.concatenate(biases))
        if averaged:
            self._average = clock, joined
        return joined

    def snapshot(self, averaged: bool = False) -> Weights:
        """A copy of the current weights, or of their average, in the layout of the learner."""
        weights, bias = self.weights(averaged)
        if averaged and self.is_perceptron:  # a new array: handed over, not copied
            self._average = self.parts[0].mean = None
            return Weights(weights, bias)
        is_new = isinstance(weights, PairWeights)
        return Weights(weights if is_new else weights.copy(order="K"), bias.copy())

    def is_at(self, snapshot: Weights) -> bool:
        """Whether the current weights equal those of a snapshot; False if there is more state."""
        if not self.is_perceptron:
            return False
        weights, bias = self.weights()
        return np.array_equal(bias, snapshot.bias) and np.array_equal(weights, snapshot.weights)

    def mark(self) -> None:
        """Store the weights, for :meth:`measure`."""
        for part in self.parts:
            part.mark()

    def unmark(self) -> None:
        """Drop the stored weights, when nothing is measured any more."""
        for part in self.parts:
            part.unmark()

    def measure(self) -> tuple[float, float]:
        """The length of all weights, and of their change since the last measure or mark."""
        squares = [part.measure() for part in self.parts]
        norm, change = np.concatenate(squares).sum(axis=0)
        return math.sqrt(norm), math.sqrt(change)

    def reserve(self, n_features: int) -> None:
        """Add features of sparse rows, with zero weights."""
        if n_features > self.n_features:
            self.n_features = n_features
            for part in self.parts:
                part.reserve(n_features)

    def state(self) -> State:
        """The state as arrays (problems, features), views if possible."""
        parts, before = self.parts, None
        weights, bias = (parts[0].all_pairs(), parts[0].bias) if self.by_pairs else self.weights()
        sums = np.zeros((0, 0))
        if self.spec.averaging:
            sums = _joined([part.sums_by_problem() for part in parts])
        if all(part.before_bias.size for part in parts):
            before = Weights(
                _joined([part.by_problem(part.before) for part in parts]),
                np.concatenate([part.before_bias for part in parts]),
            )
        with_cells = any(part.needs_cells for part in parts)
        cells, books = zip(*(part.own_state(with_cells) for part in parts), strict=True)
        return State(
            weights,
            bias,
            sums,
            np.concatenate([part.book[learn.BIAS_SUM] for part in parts]),
            np.concatenate([np.full(part.problems, part.clock) for part in parts]),
            before,
            np.concatenate(cells),
            np.concatenate(books, axis=1),
        )

    def restore(self, state: State) -> None:
        """Continue from a state; its arrays are copied."""
        self._average = None
        if isinstance(state.weights, PairWeights) and not self.by_pairs:
            weights = np.asarray(state.weights).T
            sums = np.zeros(weights.shape) if self.spec.averaging else np.zeros((0, 0))
            state = replace(state, weights=weights, sums=sums)
        self.n_features, first = state.n_features, 0
        for part in self.parts:
            part.restore(state, slice(first, first + part.problems))
            first += part.problems

    # Averages

    def restart_average(self) -> None:
        """Start the average at the next step."""
        self._average = None
        for part in self.parts:
            part.restart_average()

    def rescale(self, ratio: Array, moved: Array) -> None:
        """Continue on rows whose dense columns are moved down, and then multiplied by a ratio.

        The weights become what the same updates by rows of that scale would have made: exactly
        for perceptrons and other rules that keep weights alone, about that for others.
        """
        for part in self.parts:
            part.rescale(ratio, moved)
        self._average = None

    def idle(self, weight: float) -> None:
        """Advance the clock without learning, while only one class is known."""
        for part in self.parts:
            part.clock += weight

    def on_host(self) -> Self:
        """This learner: it is not on a GPU."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        # Without the cache of signs.
        problems = Problems(self.n_classes, self.spec.multiclass, self.spec.thresholds)
        return {**self.__dict__, "_average": None, "problems": problems}


def _size(examples: Examples, seen: list[Array]) -> int:
    """About how many products the scores of a walk take."""
    return sum(scores.size for scores in seen) * examples.stored // max(1, len(examples))


def _joined(arrays: Sequence[Array], axis: int = 0) -> Array:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis)
