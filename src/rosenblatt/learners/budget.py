"""The dual form on a budget: a bounded number of support rows per problem.

An update on a full budget follows one of three policies.

``random``
    A random support row is removed. G. Cavallanti, N. Cesa-Bianchi, C. Gentile (2007),
    Tracking the best hyperplane with a simple budget perceptron, Machine Learning 69.
``oldest``
    All coefficients shrink as little as the bound on the damage of removals allows, then the
    oldest support row is removed: the self-tuned Forgetron. O. Dekel, S. Shalev-Shwartz, Y. Singer
    (2008), The Forgetron: a kernel-based perceptron on a budget, SIAM Journal on Computing 37.
    The kernel is divided by the largest ``K(x, x)`` of a corrected row so far, since the Forgetron
    is defined for ``K(x, x) <= 1``.
``project``
    The support rows stay; the new example is replaced by its projection on their span. F. Orabona,
    J. Keshet, B. Caputo (2009), Bounded kernel-based online learning, JMLR 10.

What each guarantees for one pass is computed by :mod:`rosenblatt.theory.budgets` and proven in
``docs/theory/budgets.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from rosenblatt import rules
from rosenblatt.learners.dual import check_finite, tally
from rosenblatt.learners.examples import ONE, Examples
from rosenblatt.learners.gram_blocks import GramBlocks
from rosenblatt.learners.log import DualState, Log
from rosenblatt.learners.problems import CountedByScores, Problems
from rosenblatt.learners.protocol import NO_LIMITS, Array, Limits, Tally

POLICIES = ("random", "oldest", "project")
BEARABLE = 15.0 / 32.0  # the share of the gain of updates that removals may cost


@dataclass
class Memory:
    """The support rows of one problem, oldest first, and their coefficients."""

    rows: list[int] = field(default_factory=list)
    taus: list[float] = field(default_factory=list)
    damage: float = 0.0
    longest: float = 0.0
    updates: int = 0
    factor: Any = None

    def put(self, row: int, tau: float) -> None:
        """Add to the coefficient of a row, which may be a support row already."""
        if row in self.rows:
            self.taus[self.rows.index(row)] += tau
        else:
            self.rows.append(row)
            self.taus.append(tau)

    def drop(self, place: int) -> None:
        """Remove one support row."""
        del self.rows[place], self.taus[place]


class Budget(CountedByScores):
    """Perceptrons in the feature space of a kernel with a bounded number of support rows.

    Parameters
    ----------
    problems : Problems
        The binary problems of the classes; joint learning is not supported.
    gram : GramBlocks
        The Gram entries of the rows.
    size : int
        The largest number of support rows per problem.
    policy : {"random", "oldest", "project"}
        What happens when that number is reached.
    state : DualState or None
        Where to continue from.

    Examples
    --------
    >>> from rosenblatt.learners.examples import examples_of
    >>> examples = examples_of(np.eye(3), np.array([1, 1, 0]))
    >>> learner = Budget(Problems(2), GramBlocks(lambda A, B: A @ B.T, np.eye(3)), 2, "oldest")
    >>> learner.walk(examples, np.arange(3, dtype=np.uint64)).updates
    3
    >>> learner.state().log.rows
    array([1, 2])
    """

    batch = False

    def __init__(
        self,
        problems: Problems,
        gram: GramBlocks,
        size: int,
        policy: str,
        state: DualState | None = None,
    ) -> None:
        self.problems, self.gram, self.size = problems, gram, size
        self._answer: Callable[[Budget, Memory, int, float], None] = {
            "random": Budget._replace_random,
            "oldest": Budget._shrink_and_replace_oldest,
            "project": Budget._project,
        }[policy]
        self._initial = state = DualState.zero(len(problems), 0) if state is None else state
        bits = np.random.PCG64()
        bits.state = state.removals or dict(np.random.PCG64(0).state)  # type: ignore[assignment]
        self._bits, self._generator = bits, np.random.Generator(bits)
        self.clock, self.squares = state.clock.copy(), state.squares.copy()
        self.memories = []
        for p in range(len(problems)):
            own = state.log[state.log.problems == p]
            self.memories.append(
                Memory(
                    own.rows.tolist(), own.taus.tolist(), float(state.damage[p]),
                    float(state.longest[p]), int(state.updates[p]),
                )
            )  # fmt: skip
        self._before = self.log

    def walk(
        self,
        examples: Examples,
        order: Array,
        etas: Array = ONE,
        limits: Limits = NO_LIMITS,
    ) -> Tally:
        """Visit the rows in this order and learn from each; the learning rate is 1."""
        at = updates = corrected = 0
        predictions, stopped = [], False
        while at < len(order) and not stopped:
            rows = order[at : at + self.gram.block_rows].astype(np.int64)
            held = np.unique(np.concatenate([*(m.rows for m in self.memories), rows])).astype(int)
            K = self.gram.block(held, rows).astype(np.float64)
            S = np.array([self._scores(memory, held, K) for memory in self.memories])
            omega, signs = examples.weights_of(rows), self.problems.signs[examples.codes[rows]]
            visits = len(rows)
            for i, row in enumerate(rows.tolist()):
                thresholds = np.where(signs[i] > 0, *self.problems.thresholds[::-1])
                wrong = np.flatnonzero((signs[i] != 0) & (signs[i] * S[:, i] <= thresholds))
                stopped = wrong.size > 0 and updates >= limits.updates
                if stopped:
                    visits = i
                    break
                for p in wrong.tolist():
                    sign, own = float(signs[i, p]), float(K[np.searchsorted(held, row), i])
                    tau = rules.step(sign * S[p, i], float(thresholds[p]), 1.0, omega[i], own)
                    updates += self._learn(self.memories[p], row, sign * tau, own)
                    S[p, i + 1 :] = self._scores(self.memories[p], held, K[:, i + 1 :])
                self.clock += omega[i] * (signs[i] != 0)
                corrected += wrong.size > 0
            check_finite(S)
            predictions.append(self.problems.decide(S[:, :visits].T))
            at += visits
        return tally(examples, order[:at], updates, corrected, predictions)

    @staticmethod
    def _scores(memory: Memory, held: Array, K: Array) -> Array:
        """The scores of the columns of K by the support rows of a problem."""
        places = np.searchsorted(held, np.array(memory.rows, np.int64))
        return np.asarray(np.array(memory.taus) @ K[places])

    def _learn(self, memory: Memory, row: int, tau: float, own: float) -> int:
        """Add a row, by the policy if the budget is full; returns the number of updates."""
        copies = max(1, math.ceil(abs(tau)))
        memory.updates += copies
        memory.longest = max(memory.longest, own)
        if len(memory.rows) < self.size or row in memory.rows:
            memory.put(row, tau)
            memory.factor = None
        else:
            self._answer(self, memory, row, tau)
        return copies

    def _replace_random(self, memory: Memory, row: int, tau: float) -> None:
        memory.drop(int(self._generator.integers(len(memory.rows))))
        memory.put(row, tau)

    def _shrink_and_replace_oldest(self, memory: Memory, row: int, tau: float) -> None:
        """The self-tuned Forgetron; its letters are σ, μ and φ, its Q is the damage."""
        memory.put(row, tau)
        oldest = memory.rows[0]
        entries = self.gram.block(np.array(memory.rows), np.array([oldest]))[:, 0]
        sigma, label = abs(memory.taus[0]), math.copysign(1.0, memory.taus[0])
        mu = label * float(np.array(memory.taus) @ entries) / (memory.longest or 1.0)
        spare = BEARABLE * memory.updates - memory.damage
        phi = shrinking(sigma, mu, spare)
        memory.damage += phi * sigma * (phi * sigma + 2.0 - 2.0 * phi * mu)
        memory.taus = [phi * t for t in memory.taus]
        memory.drop(0)

    def _project(self, memory: Memory, row: int, tau: float) -> None:
        rows = np.array(memory.rows)
        if memory.factor is None:
            memory.factor = self._factor(rows)
        k = self.gram.block(rows, np.array([row]))[:, 0].astype(np.float64)
        shares = tau * cho_solve(memory.factor, k)
        memory.taus = (np.array(memory.taus) + shares).tolist()

    def _factor(self, rows: Array) -> Any:
        """The Cholesky factor of the Gram matrix of the support rows.

        Equal rows make it singular, and rounding indefinite: a small ridge is added.
        """
        G = self.gram.block(rows, rows)
        ridge = max(1e-10, 4.0 * len(rows) * float(np.finfo(G.dtype).eps))
        G = G.astype(np.float64)
        try:
            return cho_factor(G + ridge * np.trace(G) / len(rows) * np.eye(len(rows)))
        except np.linalg.LinAlgError:
            raise ValueError(
                "forget='project' needs a kernel that is an inner product, but the Gram matrix of "
                "the support rows is not positive semidefinite. Use another kernel or forget."
            ) from None

    @property
    def log(self) -> Log:
        """The support rows of all problems, oldest first."""
        counts = [len(memory.rows) for memory in self.memories]
        return Log(
            np.repeat(np.arange(len(counts)), counts),
            np.array([row for memory in self.memories for row in memory.rows], np.int64),
            np.array([tau for memory in self.memories for tau in memory.taus], np.float64),
            np.zeros(sum(counts)),
        )

    def idle(self, weight: float) -> None:
        """Advance the clock without learning, while only one class is known."""
        self.clock += weight

    def mark(self) -> None:
        """Store the weights, for :meth:`measure`."""
        self._before = self.log

    def measure(self) -> tuple[float, float]:
        """The norms of all weights, and of their change since the last measure or mark."""
        now, minus = self.log, replace(self._before, taus=-self._before.taus)
        self.squares = np.array([self._squares(now), self._squares(Log.joined([now, minus]))])
        self.mark()
        norm, change = np.sqrt(np.maximum(self.squares.sum(axis=1), 0.0)).tolist()
        return norm, change

    def _squares(self, log: Log) -> Array:
        """The squared norm of the weights of each problem."""
        out = np.zeros(self.clock.size)
        for p in range(out.size):
            own = log[log.problems == p]
            rows, places = np.unique(own.rows, return_inverse=True)
            taus = np.bincount(places, weights=own.taus, minlength=rows.size)
            if rows.size:
                out[p] = taus @ self.gram.block(rows, rows).astype(np.float64) @ taus
        return out

    def snapshot(self, averaged: bool = False) -> None:
        """None: removed support rows cannot be restored."""

    def is_at(self, snapshot: Any) -> bool:
        """False: removals depend on more than the weights, so equal weights are not a cycle."""
        return False

    def scores(self, rows: Array) -> Array:
        """The scores (rows, problems) of some rows."""
        support, log = self.log.by_row()
        coefficients = log.coefficients(len(self.problems), support.size)
        return (coefficients @ self.gram.block(support, rows).astype(np.float64)).T

    def _scorer(self, examples: Examples, averaged: bool = False) -> Callable[[Array], Array]:
        return self.scores

    def restart_average(self) -> None:
        """Not supported: an average needs all updates of the run."""
        raise NotImplementedError("a learner on a budget has no average")

    def state(self) -> DualState:
        """The state, from which a new learner can continue."""
        log = self.log
        return replace(
            self._initial, log=log, clock=self.clock.copy(), squares=self.squares, marked=len(log),
            updates=np.array([memory.updates for memory in self.memories], np.int64),
            damage=np.array([memory.damage for memory in self.memories]),
            longest=np.array([memory.longest for memory in self.memories]),
            removals=dict(self._bits.state), kept=None,
        )  # fmt: skip


def shrinking(sigma: float, mu: float, spare: float) -> float:
    """The largest φ <= 1 with ``(σφ)² + 2σφ - 2σφ·φμ <= spare`` (Dekel et al., section 5).

    Examples
    --------
    >>> shrinking(1.0, 0.5, spare=0.5), shrinking(1.0, 2.0, spare=0.5)
    (0.25, 1.0)
    """
    a, b, c = sigma * sigma - 2.0 * sigma * mu, 2.0 * sigma, -spare
    if a + b + c <= 0.0:
        return 1.0
    if a == 0.0:
        return min(1.0, -c / b)
    root = math.sqrt(max(0.0, b * b - 4.0 * a * c))
    return min(1.0, (-b + root) / (2.0 * a))
