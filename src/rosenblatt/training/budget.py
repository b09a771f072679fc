"""The dual form on a budget: no problem keeps more than so many support rows.

When a mistake finds the budget full, one of three things happens.

``random``
    A support row drawn at random makes room. G. Cavallanti, N. Cesa-Bianchi, C. Gentile (2007),
    Tracking the best hyperplane with a simple budget perceptron, Machine Learning 69.
``oldest``
    All coefficients shrink by the least that keeps the damage of past removals in check, then the
    oldest support row makes room: the self-tuned Forgetron. O. Dekel, S. Shalev-Shwartz, Y. Singer
    (2008), The Forgetron: a kernel-based perceptron on a budget, SIAM Journal on Computing 37.
    The kernel is divided by the largest ``K(x, x)`` of a mistaken row so far, since the books of
    the Forgetron are kept for ``K(x, x) <= 1``.
``project``
    The support rows stay; the new example is replaced by its projection on their span. F. Orabona,
    J. Keshet, B. Caputo (2009), Bounded kernel-based online learning, JMLR 10.

What each guarantees for one pass is computed by ``rosenblatt.theory.bounds.budgets`` and proven
in ``docs/theory/budgets.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from rosenblatt import rules
from rosenblatt.kernels.tasks import Walk
from rosenblatt.training.dual import DualTask, DualWork
from rosenblatt.training.log import DualState, Log
from rosenblatt.training.plan import Plan
from rosenblatt.training.state import Array

POLICIES = ("random", "oldest", "project")
BEARABLE = 15.0 / 32.0  # of what each mistake gains, as much may be lost by removals


@dataclass
class Memory:
    """What one problem remembers: its support rows, oldest first, and their coefficients."""

    rows: list[int] = field(default_factory=list)
    taus: list[float] = field(default_factory=list)
    damage: float = 0.0
    longest: float = 0.0
    mistakes: int = 0
    factor: Any = None

    def put(self, row: int, tau: float) -> None:
        """Add to the coefficient of a row, which may be there already."""
        if row in self.rows:
            self.taus[self.rows.index(row)] += tau
        else:
            self.rows.append(row)
            self.taus.append(tau)

    def drop(self, place: int) -> None:
        """Forget one support row."""
        del self.rows[place], self.taus[place]


class BudgetWork(DualWork):
    """A run under way on a budget: one step at a time, in blocks of Gram entries."""

    def __init__(
        self, state: DualState, dual: DualTask, plan: Plan, size: int, policy: str
    ) -> None:
        super().__init__(state, dual, plan)
        self.size = size
        self.answer: Callable[[Memory, int, float], None] = {
            "random": self._replace_random,
            "oldest": self._shrink_and_replace_oldest,
            "project": self._project,
        }[policy]
        bits = np.random.PCG64()
        bits.state = state.removals or dict(np.random.PCG64(0).state)  # type: ignore[assignment]
        self.bits, self.generator = bits, np.random.Generator(bits)
        self.memories = []
        for p in range(state.n_problems):
            own = state.log[state.log.problems == p]
            self.memories.append(
                Memory(
                    own.rows.tolist(), own.taus.tolist(), float(state.damage[p]),
                    float(state.longest[p]), int(state.mistakes[p]),
                )
            )  # fmt: skip
        self.behind = True
        self.start_memories = self._remembered()

    def _settle(self) -> None:
        self.pending, self.n_pending = [], 0

    def _walk(self, steps: int) -> None:
        stop = min(
            self.position + self.gram.block_rows, self.order.size, self.position + steps
        )  # fmt: skip
        rows = self.order[self.position : stop].astype(np.int64)
        held = np.unique(np.concatenate([m.rows for m in self.memories] + [rows]).astype(np.int64))
        K = self.gram.block(held, rows).astype(np.float64)
        S = np.array([self._scores(memory, held, K) for memory in self.memories])
        below, above, *_ = self.plan.setting
        omega = np.broadcast_to(self.task.omega, self.task.rows.shape[0])[rows]
        signs = self.dual.signs[self.task.codes[rows]]
        updates = mistaken = i = 0
        for i, row in enumerate(rows.tolist()):
            limits = np.where(signs[i] > 0, above, below)
            wrong = np.flatnonzero((signs[i] != 0) & (signs[i] * S[:, i] <= limits))
            if wrong.size and self._used_up(updates):
                break
            for p in wrong.tolist():
                sign, own = float(signs[i, p]), float(K[np.searchsorted(held, row), i])
                tau = rules.step(sign * S[p, i], float(limits[p]), 1.0, float(omega[i]), own)
                memory = self.memories[p]
                memory.mistakes += max(1, math.ceil(tau))
                memory.longest = max(memory.longest, own)
                self._learn(memory, row, sign * tau)
                S[p, i + 1 :] = self._scores(memory, held, K[:, i + 1 :])
                updates += max(1, math.ceil(tau))
            self.clock += omega[i] * (signs[i] != 0)
            mistaken += wrong.size > 0
        else:
            i = rows.size
        self._check_finite(S)
        self._book(
            Walk(self.position + i, updates, mistaken, 0, self.task.decide(S[:, :i].T))
        )  # fmt: skip
        self.logs = [self._remembered()]

    def _used_up(self, updates: int) -> bool:
        limit = self.plan.max_updates
        return limit is not None and self.updates + updates >= limit

    @staticmethod
    def _scores(memory: Memory, held: Array, K: Array) -> Array:
        """The scores of the rows K stands for, by what a problem remembers."""
        places = np.searchsorted(held, np.array(memory.rows, np.int64))
        return np.asarray(np.array(memory.taus) @ K[places])

    def _learn(self, memory: Memory, row: int, tau: float) -> None:
        """Add an example where there is room, or as the policy says."""
        if len(memory.rows) < self.size or row in memory.rows:
            memory.put(row, tau)
            memory.factor = None
        else:
            self.answer(memory, row, tau)

    def _replace_random(self, memory: Memory, row: int, tau: float) -> None:
        memory.drop(int(self.generator.integers(len(memory.rows))))
        memory.put(row, tau)

    def _shrink_and_replace_oldest(self, memory: Memory, row: int, tau: float) -> None:
        """The self-tuned Forgetron; its letters are σ, μ and φ, its Q is the damage."""
        memory.put(row, tau)
        oldest = memory.rows[0]
        entries = self.gram.block(np.array(memory.rows), np.array([oldest]))[:, 0]
        sigma, label = abs(memory.taus[0]), math.copysign(1.0, memory.taus[0])
        mu = label * float(np.array(memory.taus) @ entries) / (memory.longest or 1.0)
        spare = BEARABLE * memory.mistakes - memory.damage
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
        """The Cholesky factor of the Gram matrix of the rows kept.

        Equal rows make it singular, and rounded entries a little worse than that: a ridge, as
        small as they allow, makes up for it.
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

    def _remembered(self) -> Log:
        """The support rows of all problems as a log, oldest first."""
        counts = [len(memory.rows) for memory in self.memories]
        return Log(
            np.repeat(np.arange(len(counts)), counts),
            np.array([row for memory in self.memories for row in memory.rows], np.int64),
            np.array([tau for memory in self.memories for tau in memory.taus], np.float64),
            np.zeros(sum(counts)),
        )

    def _norm_and_change(self) -> tuple[float, float]:
        now, start = self._remembered(), self.start_memories
        minus = replace(start, taus=-start.taus)
        self.start_memories = now
        self.squares[0] = self._squares(now)
        change = self._squares(Log.joined([now, minus])).sum()
        return math.sqrt(max(0.0, self.squares[0].sum())), math.sqrt(max(0.0, float(change)))

    def _squares(self, log: Log) -> Array:
        """The squared length of each problem's weights."""
        out = np.zeros(self.clock.size)
        for p in range(out.size):
            own = log[log.problems == p]
            rows, places = np.unique(own.rows, return_inverse=True)
            taus = np.bincount(places, weights=own.taus, minlength=rows.size)
            if rows.size:
                out[p] = taus @ self.gram.block(rows, rows).astype(np.float64) @ taus
        return out

    def _goes_in_circles(self, norm: float) -> bool:
        return False

    def dual_state(self) -> DualState:
        """The run as a value."""
        return replace(
            super().dual_state(),
            mistakes=np.array([memory.mistakes for memory in self.memories], np.int64),
            damage=np.array([memory.damage for memory in self.memories]),
            longest=np.array([memory.longest for memory in self.memories]),
            removals=dict(self.bits.state),
        )


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
