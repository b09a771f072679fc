"""A learner of rows that have several labels: a problem of its own for each label."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from rosenblatt.learners.examples import Examples
from rosenblatt.learners.family import Family
from rosenblatt.learners.linear import Linear
from rosenblatt.learners.problems import weight_where
from rosenblatt.learners.protocol import Array, Limits, Tally
from rosenblatt.learners.weights import State, Weights

_MOST_UNSETTLED = 16 << 20  # bytes of scores kept until the averaging sums are settled


class LabelLearner:
    """A learner of two classes for each label: the rows that have it, and those that do not.

    The class numbers of examples are numbers of their sets of labels
    (:attr:`~rosenblatt.learners.examples.Examples.sets`).

    Parameters
    ----------
    one : Linear or Family
        A learner of two classes, with one thread, that knows nothing yet: each label gets one of
        the same rule.
    n_classes : int
        The number of labels.
    threads : int
        The labels are spread over them.

    Examples
    --------
    >>> from rosenblatt.learners.examples import examples_of
    >>> sets = np.array([[True, True, False], [False, True, False]])
    >>> examples, order = examples_of(np.eye(2), [0, 1], sets=sets), np.arange(2, dtype=np.uint64)
    >>> learner = LabelLearner(Linear(2, 2, dense=True), 3)
    >>> learner.walk(examples, order).updates
    4
    >>> (learner.scores(examples, order) > 0).tolist() == sets.tolist()
    True
    """

    def __init__(self, one: Linear | Family, n_classes: int, threads: int = 1) -> None:
        self.threads, self._each = threads, [one]
        self.restart(n_classes)

    def restart(self, n_classes: int) -> None:
        """Forget all weights, to learn so many labels from now on."""
        one = self._each[0]
        self.n_classes, self._pending = n_classes, 0
        self._each = [one.like(one.n_features, one.dense) for _ in range(n_classes)]

    @property
    def batch(self) -> bool:
        """Whether a walk corrects all its mistakes together at its end."""
        return self._each[0].batch

    @property
    def n_features(self) -> int:
        """How many features there are weights for."""
        return self._each[0].n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the weights."""
        return self._each[0].dtype

    @property
    def dense(self) -> bool:
        """Whether rows are dense."""
        return self._each[0].dense

    @property
    def averaging(self) -> bool:
        """Whether averages are kept."""
        return self._each[0].averaging

    @property
    def rates(self) -> Array:
        """The learning rates of features."""
        return self._each[0].rates

    @rates.setter
    def rates(self, rates: Array) -> None:
        for learner in self._each:
            learner.rates = rates

    def walk(
        self,
        examples: Examples,
        order: Array,
        etas: Array = np.ones(1),  # noqa: B008 - never written to
        limits: Limits = Limits(),  # noqa: B008 - immutable
        foresee: bool = False,
    ) -> Tally:
        """Visit the rows in this order, for each label, and learn from each.

        A mistake is a row whose set of labels is not predicted; updated rows count per label. The
        predictions are (rows, labels). Limits are not looked at.
        """
        truth = _truth(examples, order)

        def one(label: int) -> Tally:
            codes = np.empty(len(examples), np.int32)
            codes[order] = truth[:, label]
            own = examples.relabelled(codes, examples.omega)
            return self._each[label].walk(own, order, etas, foresee=True)

        tallies = self._for_all(one)
        said = np.stack([tally.predictions > 0 for tally in tallies], axis=1)
        self._pending += said.size * 4
        if self._pending > _MOST_UNSETTLED:
            self.settle()
        updates, updated = (sum(int(t[at]) for t in tallies) for at in (2, 3))
        mistakes, weight = int((said != truth).any(axis=1).sum()), examples.weight_of(order)
        predictions = said if foresee else None
        return Tally(len(order), weight, updates, updated, mistakes, 0, predictions)

    def _for_all(self, work: Callable[[int], Any]) -> list[Any]:
        if self.threads == 1:
            return [work(label) for label in range(self.n_classes)]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(work, range(self.n_classes)))

    # Scores and errors

    def scores(self, examples: Examples, order: Array, averaged: bool = False) -> Array:
        """The scores of rows (rows, labels), without learning."""
        plain = examples.relabelled(np.zeros(len(examples), np.int32), examples.omega)
        return np.hstack(self._for_all(lambda c: self._each[c].scores(plain, order, averaged)))

    def error(self, examples: Examples, rows: Array, averaged: bool = False) -> float:
        """One minus the F1 of all labels of all rows together, by weight (micro F1)."""
        truth, weights = _truth(examples, rows), examples.weights_of(rows)
        said = self.scores(examples, rows, averaged) > 0
        hits, total = weights @ (said & truth), weights @ (said.astype(np.int8) + truth)
        return 1.0 - 2.0 * float(hits.sum()) / max(1e-300, float(total.sum()))

    def misclassified(self, examples: Examples, rows: Array, enough: float = math.inf) -> float:
        """The weight of the rows with a label on the wrong side, beyond `enough` not all."""
        assert examples.sets is not None
        signs = np.where(examples.sets, 1, -1)

        def is_wrong(scores: Array, codes: Array) -> Array:
            return np.asarray((signs[codes] * scores <= 0).any(axis=1))

        def scored(chunk: Array) -> Array:
            return self.scores(examples, chunk)

        return weight_where(is_wrong, scored, examples, rows, enough)

    def is_separating(self, examples: Examples, rows: Array) -> bool:
        """Whether no label of the rows would be corrected."""
        truth = _truth(examples, np.arange(len(examples)))
        return all(
            learner.is_separating(
                examples.relabelled(truth[:, label].astype(np.int32), examples.omega), rows
            )
            for label, learner in enumerate(self._each)
        )

    def row_updates(
        self, examples: Examples, order: Array, etas: Array, epochs: int
    ) -> Array | None:
        """Corrections of a row are told for two classes only."""
        return None

    def like(self, n_features: int, dense: bool, averaging: bool | None = None) -> LabelLearner:
        """A learner of the same rule that knows nothing yet."""
        one = self._each[0].like(n_features, dense, averaging)
        return LabelLearner(one, self.n_classes, self.threads)

    def change(self, *rule: Any) -> None:
        """Go on by another rule, as the learners of single labels take it."""
        for learner in self._each:
            learner.change(*rule)

    # Weights

    def weights(self, averaged: bool = False) -> Weights:
        """The present weights, or their average."""
        return _joined([learner.weights(averaged) for learner in self._each])

    def snapshot(self, averaged: bool = False) -> Weights:
        """A copy of the present weights, or of their average."""
        return self.weights(averaged)

    def is_at(self, snapshot: Weights) -> bool:
        """Whether all is as at a snapshot."""
        return all(
            learner.is_at(Weights(snapshot.weights[c : c + 1], snapshot.bias[c : c + 1]))
            for c, learner in enumerate(self._each)
        )

    def state(self) -> State:
        """What was learned, as arrays (labels, features)."""
        self._pending = 0
        states = [learner.state() for learner in self._each]
        befores = [state.before for state in states if state.before is not None]

        def joined(name: str, axis: int = 0) -> Array:
            return np.concatenate([getattr(state, name) for state in states], axis)

        return State(
            joined("weights"), joined("bias"), joined("sums"), joined("bias_sums"),
            joined("clock"), _joined(befores) if len(befores) == len(states) else None,
            joined("cells"), joined("book", 1),
        )  # fmt: skip

    def restore(self, state: State) -> None:
        """Take up what a state holds; its arrays are copied."""
        for c, learner in enumerate(self._each):
            own, before = slice(c, c + 1), None
            if state.before is not None:
                before = Weights(state.before.weights[own], state.before.bias[own])
            learner.restore(
                State(
                    state.weights[own], state.bias[own],
                    state.sums[own] if state.sums.size else state.sums,
                    state.bias_sums[own], state.clock[own], before,
                    state.cells[own], state.book[:, own],
                )
            )  # fmt: skip

    def mark(self) -> None:
        """Remember the weights; :meth:`measure` tells how far they have moved since."""
        for learner in self._each:
            learner.mark()

    def unmark(self) -> None:
        """Forget the weights that were remembered, when nothing is measured any more."""
        for learner in self._each:
            learner.unmark()

    def measure(self) -> tuple[float, float]:
        """The length of all weights, and of their change since the last measure or mark."""
        squares = np.array([learner.measure() for learner in self._each]) ** 2
        norm, change = np.sqrt(squares.sum(axis=0))
        return float(norm), float(change)

    def reserve(self, n_features: int) -> None:
        """Make room for more features."""
        for learner in self._each:
            learner.reserve(n_features)

    def settle(self) -> None:
        """Bring the averaging sums up to date."""
        self._pending = 0
        self._for_all(lambda c: self._each[c].settle())

    def restart_average(self) -> None:
        """Let the average begin with the next step."""
        self._pending = 0
        for learner in self._each:
            learner.restart_average()

    def on_host(self) -> LabelLearner:
        """A learner on the processor that goes on from here: this one."""
        return self


def _truth(examples: Examples, rows: Array) -> Array:
    """Which labels some rows have, (rows, labels)."""
    assert examples.sets is not None, "rows of several labels have sets of them"
    return np.asarray(examples.sets[examples.codes[rows]])


def _joined(found: list[Weights]) -> Weights:
    """The weights of single problems together."""
    return Weights(
        np.concatenate([one.weights for one in found]), np.concatenate([one.bias for one in found])
    )
