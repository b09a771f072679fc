"""Learners of the family: any member's rule, for two classes or many, on rows of every layout."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from rosenblatt.kernels import family, learn
from rosenblatt.kernels.family_cells import BIAS, BIAS_SUM, CLOCK, PADDING, SCALES
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.family_parts import FamilyPart
from rosenblatt.learners.linear import ONE_RATE
from rosenblatt.learners.parts import tally_of
from rosenblatt.learners.problems import Problems, groups_of, rows_of_pairs, weight_where
from rosenblatt.learners.protocol import Array, Limits, Tally
from rosenblatt.learners.weights import State, Weights


class Family:
    """A member of the family with its weights written down.

    One against the rest and one against one are problems of two classes, each with a walk of its
    own; jointly there is one walk for all classes.

    Parameters
    ----------
    rule : named tuple
        The member and its parameters, see :mod:`rosenblatt.rules`.
    n_classes, n_features, multiclass, padding, averaging, rates, dtype, dense, threads
        As for :class:`rosenblatt.learners.linear.Linear`. Where a member keeps variances, the
        rates are what they begin with; members with rates of their own do without.

    Examples
    --------
    >>> from rosenblatt.learners.examples import examples_of
    >>> from rosenblatt.rules.second_order import Arow
    >>> examples = examples_of(np.array([[2.0, 1.0], [-1.0, 1.0]]), np.array([1, 0]))
    >>> learner = Family(Arow(1.0), 2, 2, dense=True)
    >>> learner.walk(examples, np.arange(2, dtype=np.uint64)).updates
    2
    >>> learner.weights().weights.round(3)
    array([[ 0.422, -0.13 ]])
    """

    batch = False

    def __init__(
        self,
        rule: Any,
        n_classes: int,
        n_features: int,
        *,
        multiclass: str = "ovr",
        padding: float = 1.0,
        averaging: bool = False,
        rates: Array = ONE_RATE,
        dtype: Any = np.float64,
        dense: bool = False,
        threads: int = 1,
    ) -> None:
        self.rule, self.n_features, self.multiclass = rule, n_features, multiclass
        self.padding, self.averaging, self.threads = padding, averaging, threads
        self.rates, self.dtype, self.dense = rates, np.dtype(dtype), dense
        self.restart(n_classes)

    def restart(self, n_classes: int) -> None:
        """Forget all weights, to tell so many classes apart from now on."""
        self.n_classes = n_classes
        self.problems = Problems(n_classes, self.multiclass)
        self.joint = self.problems.joint
        if n_classes <= 2 or self.multiclass == "ovo" or self.joint:
            groups = groups_of(n_classes, self.multiclass, 1)
        else:
            groups = [((family.REST, c), 1) for c in range(n_classes)]
        self.parts = [self._new_part(*group) for group in groups]
        self.before: Weights | None = None

    def _new_part(self, classes: tuple[int, int], problems: int) -> FamilyPart:
        return FamilyPart(self.rule, classes, problems, self)

    def walk(
        self,
        examples: Examples,
        order: Array,
        etas: Array = np.ones(1),  # noqa: B008 - never written to
        limits: Limits = Limits(),  # noqa: B008 - immutable
        foresee: bool = False,
    ) -> Tally:
        """Visit the rows in this order and learn from each.

        Limits are looked at where one walk is all there is. One against one makes no predictions
        on the way without `foresee`.
        """
        own = [(order, etas)] * len(self.parts)
        if self._is_pairwise and not foresee:
            pairs = (part.classes for part in self.parts)
            own = rows_of_pairs(pairs, examples.codes, order, etas)
        alone = len(self.parts) == 1
        tallies = [tally_of(p.classes, limits if alone else Limits()) for p in self.parts]
        seen = [self.room_for(len(o)) for o, _ in own]
        calls = [
            part.arguments(examples, o, e, tally, s)
            for part, (o, e), tally, s in zip(self.parts, own, tallies, seen, strict=True)
        ]
        if self.threads == 1 or alone:
            for part, call in zip(self.parts, calls, strict=True):
                part.kernel(*call)
        else:
            kernel = self.parts[0].kernel
            with ThreadPoolExecutor(self.threads) as pool:
                list(pool.map(lambda call: kernel(*call), calls))
        return self._told(examples, order, seen, tallies, foresee)

    def room_for(self, visits: int) -> Array:
        """Room for the scores of a walk of one part."""
        return np.empty((visits, self.n_classes if self.joint else 2), self.dtype)

    def scores_in(self, seen: list[Array]) -> Array:
        """The scores (rows, problems) that the walks of all parts have left there."""
        return seen[0] if self.joint else np.stack([part[:, 0] for part in seen], axis=1)

    @property
    def _is_pairwise(self) -> bool:
        return self.multiclass == "ovo" and self.n_classes > 2

    def _told(
        self, examples: Examples, order: Array, seen: list[Array], tallies: list[Array],
        foresee: bool,
    ) -> Tally:  # fmt: skip
        """What came of a walk over all parts."""
        visits = len(order) if len(tallies) > 1 else int(tallies[0][learn.VISITED])
        visited, updates = order[:visits], sum(int(t[learn.UPDATES]) for t in tallies)
        updated = updates if len(tallies) > 1 else int(tallies[0][learn.UPDATED])
        run = 0 if len(tallies) > 1 else int(tallies[0][learn.RUN])
        predictions, mistakes = None, math.nan
        if foresee or not self._is_pairwise:
            predictions = self.problems.decide(self.scores_in([s[:visits] for s in seen]))
            mistakes = int(np.count_nonzero(predictions != examples.codes[visited]))
            if len(tallies) > 1:
                corrected = np.stack([s[:visits, 1] for s in seen], 1) > 0
                updated = int(np.count_nonzero(corrected.any(axis=1)))
        weight = examples.weight_of(visited)
        return Tally(visits, weight, updates, updated, mistakes, run, predictions)

    # Scores and errors

    def scores(self, examples: Examples, order: Array, averaged: bool = False) -> Array:
        """The scores of rows (rows, problems), without learning."""
        return self._scorer(examples, averaged)(order)

    def _scorer(self, examples: Examples, averaged: bool = False) -> Callable[[Array], Array]:
        """What scores rows with the present weights or their average: a walk that never learns."""
        never = np.array([math.nan, math.nan, 0.0])  # no margin compares with NaN
        held = [
            (np.ascontiguousarray(w), b)
            for part in self.parts
            for w, b in zip(*self._present(part, averaged), strict=True)
        ]

        def scores(order: Array) -> Array:
            out = np.empty((len(order), len(held)), self.dtype)
            for c, (w, bias) in enumerate(held):
                seen, book = np.empty((len(order), 1), self.dtype), np.zeros((4, 1))
                book[learn.BIAS] = bias
                learn.walk_one(
                    *examples.arrays, order, np.zeros(1), w, ONE_RATE, book, never,
                    tally_of((0, 1), Limits()), seen,
                )  # fmt: skip
                out[:, c] = seen[:, 0]
            return out

        return scores

    def error(self, examples: Examples, rows: Array, averaged: bool = False) -> float:
        """The share of the rows, by weight, whose class is predicted wrong."""
        scores = self._scorer(examples, averaged)
        wrong = weight_where(self.problems.is_mistaken, scores, examples, rows)
        return wrong / examples.weight_of(rows)

    def misclassified(self, examples: Examples, rows: Array, enough: float = math.inf) -> float:
        """The weight of the rows on the wrong side; counting may stop beyond `enough`."""
        scores = self._scorer(examples)
        return weight_where(self.problems.is_wrong, scores, examples, rows, enough)

    def is_separating(self, examples: Examples, rows: Array) -> bool:
        """Whether none of the rows would be corrected."""
        twin = self.like(self.n_features, self.dense)
        twin.restore(self.state())
        return twin.walk(examples, rows).updates == 0

    def row_updates(
        self, examples: Examples, order: Array, etas: Array, epochs: int
    ) -> Array | None:
        """What the weights are made of is not told by counts of corrections."""
        return None

    def like(self, n_features: int, dense: bool, averaging: bool | None = None) -> Family:
        """A learner of the same rule that knows nothing yet."""
        averaging = self.averaging if averaging is None else averaging
        return type(self)(
            self.rule, self.n_classes, n_features, multiclass=self.multiclass,
            padding=self.padding, averaging=averaging, rates=self.rates, dtype=self.dtype,
            dense=dense, threads=self.threads,
        )  # fmt: skip

    def change(self, rule: Any, padding: float) -> None:
        """Go on with other parameters of the same member, and another padding."""
        self.rule, self.padding = rule, padding
        for part in self.parts:
            part.rule = rule
            part.book[PADDING] = padding**2

    # Weights

    def _present(self, part: FamilyPart, averaged: bool) -> tuple[Array, Array]:
        """The weights (problems, features) and biases of a part, or their average."""
        if averaged and part.book[CLOCK, 0] > 0:
            return part.mean()
        return part.weights(), part.book[BIAS]

    def weights(self, averaged: bool = False) -> Weights:
        """The present weights, where they lie if possible, or their average."""
        shown = [self._present(part, averaged) for part in self.parts]
        weights = [w for w, _ in shown]
        return Weights(
            weights[0] if len(weights) == 1 else np.concatenate(weights),
            np.concatenate([b for _, b in shown]),
        )

    def snapshot(self, averaged: bool = False) -> Weights:
        """A copy of the present weights, or of their average."""
        weights, bias = self.weights(averaged)
        return Weights(np.array(weights, order="C"), bias.copy())

    def is_at(self, snapshot: Weights) -> bool:
        """Whether all is as at a snapshot: weights alone do not tell."""
        return False

    def mark(self) -> None:
        """Remember the weights; :meth:`measure` tells how far they have moved since."""
        self.before = self.snapshot()

    def unmark(self) -> None:
        """Forget the weights that were remembered, when nothing is measured any more."""
        self.before = None

    def measure(self) -> tuple[float, float]:
        """The length of all weights, and of their change since the last measure or mark."""
        now = self.snapshot()
        then = Weights(np.zeros((len(now.bias), 0)), np.zeros(len(now.bias)))
        if self.before is not None and self.before.bias.shape == now.bias.shape:
            then = self.before
        known, self.before = then.weights.shape[1], now
        norm = change = 0.0
        for c in range(len(now.bias)):
            w = now.weights[c].astype(np.float64)
            norm += float(w @ w) + float(now.bias[c]) ** 2
            w[:known] -= then.weights[c]
            change += float(w @ w) + float(now.bias[c] - then.bias[c]) ** 2
        return math.sqrt(norm), math.sqrt(change)

    def reserve(self, n_features: int) -> None:
        """Make room for more features of sparse rows; new ones weigh nothing."""
        if n_features > self.n_features:
            self.n_features = n_features
            for part in self.parts:
                part.reserve()

    def state(self) -> State:
        """What was learned, as arrays; views where they lie, if possible."""
        parts, weights = self.parts, self.weights()
        sums = [part.sums_shown() for part in parts] if self.averaging else [np.zeros((0, 0))]
        return State(
            weights.weights, weights.bias, np.concatenate(sums),
            np.concatenate([part.book[BIAS_SUM] for part in parts]),
            np.concatenate([np.full(p.problems, p.book[CLOCK, 0]) for p in parts]),
            self.before,
            np.concatenate([part.kept() for part in parts]),
            np.concatenate([part.book for part in parts], axis=1),
        )  # fmt: skip

    def restore(self, state: State) -> None:
        """Take up what a state holds; its arrays are copied."""
        self.n_features, self.before, first = state.weights.shape[1], state.before, 0
        for part in self.parts:
            part.restore(state, slice(first, first + part.problems))
            first += part.problems

    # Averages

    def restart_average(self) -> None:
        """Let the average begin with the next step."""
        for part in self.parts:
            part.sums = part.no_sums()
            part.book[BIAS_SUM] = part.book[CLOCK] = part.book[SCALES] = 0.0

    def idle(self, weight: float) -> None:
        """Let time pass without learning: with one class known there is nothing to learn."""
        for part in self.parts:
            part.book[CLOCK, 0] += weight

    def on_host(self) -> Family:
        """A learner on the processor that goes on from here: this one."""
        return self

    def settle(self) -> None:
        """Averaging sums are always up to date here."""
