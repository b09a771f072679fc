"""A learner of rows that have several labels: a problem of its own for each label."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from rosenblatt.learners.examples import Examples
from rosenblatt.learners.linear import Linear
from rosenblatt.learners.protocol import Array, Limits, Tally
from rosenblatt.learners.weights import State, Weights

_MOST_UNSETTLED = 16 << 20  # bytes of scores kept until the averaging sums are settled


class LabelLearner:
    """A perceptron for each label, which tells the rows that have it from those that do not.

    The class numbers of examples are numbers of sets of labels.

    Parameters
    ----------
    n_classes : int
        The number of labels.
    n_features : int
    membership : callable
        Gives the labels of each set that there is by now, a bool array (sets, labels).
    threads : int
        The labels are spread over them.
    **options
        Of :class:`~rosenblatt.learners.linear.Linear`.

    Examples
    --------
    >>> from rosenblatt.learners.examples import examples_of
    >>> examples = examples_of(np.eye(2), np.array([0, 1]))
    >>> sets = np.array([[True, True, False], [False, True, False]])
    >>> learner = LabelLearner(3, 2, lambda: sets, dense=True, dtype=np.float64)
    >>> learner.walk(examples, np.arange(2, dtype=np.uint64)).updates
    4
    >>> (learner.scores(examples, np.arange(2, dtype=np.uint64)) > 0).tolist() == sets.tolist()
    True
    """

    batch = False

    def __init__(
        self, n_classes: int, n_features: int, membership: Callable[[], Array], threads: int = 1,
        **options: Any,
    ) -> None:  # fmt: skip
        self._membership, self._threads, self._options = membership, threads, options
        self._n_features = n_features
        self.restart(n_classes)

    def restart(self, n_classes: int) -> None:
        """Forget all weights, to learn so many labels from now on."""
        self.n_classes, self._pending = n_classes, 0
        self._each = [Linear(2, self._n_features, **self._options) for _ in range(n_classes)]

    @property
    def n_features(self) -> int:
        """How many features there are weights for."""
        return self._each[0].n_features

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
        self._options["rates"] = rates
        for learner in self._each:
            learner.rates = rates

    def walk(
        self,
        examples: Examples,
        order: Array,
        etas: Array = np.ones(1),  # noqa: B008 - never written to
        limits: Limits = Limits(),  # noqa: B008 - immutable
    ) -> Tally:
        """Visit the rows in this order, for each label, and learn from each.

        A mistake is a row whose set of labels is not predicted; updated rows count per label.
        """
        truth = self._membership()[examples.codes[order]]

        def one(label: int) -> Tally:
            codes = np.empty(len(examples), np.int32)
            codes[order] = truth[:, label]
            own = examples.relabelled(codes, examples.omega)
            return self._each[label].walk(own, order, etas, foresee=True)

        tallies = self._for_all(one)
        wrong = np.zeros(len(order), dtype=bool)
        for label, tally in enumerate(tallies):
            wrong |= tally.predictions != truth[:, label]
        self._pending += len(order) * self.n_classes * 4
        if self._pending > _MOST_UNSETTLED:
            self.settle()
        updates, updated = (sum(int(t[at]) for t in tallies) for at in (2, 3))
        return Tally(
            len(order), examples.weight_of(order), updates, updated, int(wrong.sum()), 0, None
        )  # fmt: skip

    def _for_all(self, work: Callable[[int], Any]) -> list[Any]:
        if self._threads == 1:
            return [work(label) for label in range(self.n_classes)]
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(work, range(self.n_classes)))

    def scores(self, examples: Examples, order: Array, averaged: bool = False) -> Array:
        """The scores of rows (rows, labels), without learning."""
        plain = examples.relabelled(np.zeros(len(examples), np.int32), examples.omega)
        return np.hstack(self._for_all(lambda c: self._each[c].scores(plain, order, averaged)))

    def error(self, examples: Examples, rows: Array, averaged: bool = False) -> float:
        """One minus the F1 of all labels of all rows together (micro F1)."""
        truth = self._membership()[examples.codes[rows]]
        said = self.scores(examples, rows, averaged) > 0
        hits, total = int((said & truth).sum()), int(said.sum()) + int(truth.sum())
        return 1.0 - 2.0 * hits / max(1, total)

    def is_separating(self, examples: Examples, rows: Array) -> bool:
        """Whether no label of the rows would be corrected."""
        truth = self._membership()[examples.codes]
        parts = (examples.relabelled(truth[:, c].astype(np.int32), examples.omega)
                 for c in range(self.n_classes))  # fmt: skip
        return all(
            learner.is_separating(part, rows)
            for learner, part in zip(self._each, parts, strict=True)
        )

    def like(
        self, n_features: int, dense: bool, averaging: bool | None = None
    ) -> LabelLearner:  # fmt: skip
        """A learner of the same rule that knows nothing yet."""
        options = self._options | {"dense": dense}
        if averaging is not None:
            options["averaging"] = averaging
        return LabelLearner(self.n_classes, n_features, self._membership, self._threads, **options)

    def weights(self, averaged: bool = False) -> Weights:
        """The present weights, or their average."""
        found = [learner.weights(averaged) for learner in self._each]
        return Weights(
            np.concatenate([w.weights for w in found]), np.concatenate([w.bias for w in found])
        )

    def snapshot(self, averaged: bool = False) -> Weights:
        """A copy of the present weights, or of their average."""
        return self.weights(averaged)

    def is_at(self, snapshot: Weights) -> bool:
        """Whether the present weights equal those of a snapshot."""
        weights, bias = self.weights()
        return np.array_equal(bias, snapshot.bias) and np.array_equal(weights, snapshot.weights)

    def state(self) -> State:
        """What was learned, as arrays (labels, features)."""
        self._pending = 0
        states = [learner.state() for learner in self._each]
        before = None
        if all(state.before is not None for state in states):
            befores = [state.before for state in states if state.before is not None]
            before = Weights(
                np.concatenate([w.weights for w in befores]),
                np.concatenate([w.bias for w in befores]),
            )

        def joined(name: str) -> Array:
            return np.concatenate([getattr(state, name) for state in states])

        return State(
            joined("weights"), joined("bias"), joined("sums"), joined("bias_sums"),
            joined("clock"), before,
        )  # fmt: skip

    def restore(self, state: State) -> None:
        """Take up what a state holds; its arrays are copied."""
        for c, learner in enumerate(self._each):
            own = slice(c, c + 1)
            before = None
            if state.before is not None:
                before = Weights(state.before.weights[own], state.before.bias[own])
            sums = state.sums[own] if state.sums.size else state.sums
            bias, bias_sums, clock = state.bias[own], state.bias_sums[own], state.clock[own]
            learner.restore(State(state.weights[own], bias, sums, bias_sums, clock, before))

    def measure(self) -> tuple[float, float]:
        """The length of all weights, and of their change since the last measure or mark."""
        squares = np.array([learner.measure() for learner in self._each]) ** 2
        norm, change = np.sqrt(squares.sum(axis=0))
        return float(norm), float(change)

    def mark(self) -> None:
        """Remember the weights; :meth:`measure` tells how far they have moved since."""
        for learner in self._each:
            learner.mark()

    def reserve(self, n_features: int) -> None:
        """Make room for more features."""
        self._n_features = max(self._n_features, n_features)
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
