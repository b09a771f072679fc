"""How labels become problems for the kernels: one line, one a class, one a pair, or all jointly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.compiled.jit import REORDER, kernel
from rosenblatt.kernels import walks
from rosenblatt.kernels.rows import Rows

UNLIMITED = np.iinfo(np.int64).max
CHUNK = 4096  # rows scored at a time when errors are counted


class Setting(NamedTuple):
    """What the kernels need to know of the rule, in their order."""

    below: float
    above: float
    padding_squared: float
    averaging: bool
    online: bool


class Route(NamedTuple):
    """Which rows to learn from, how, and when to stop.

    Corrections go into `heaps`, one a part, where these are given, else into the weights.
    """

    order: np.ndarray
    span: tuple[int, int]
    etas: np.ndarray
    setting: Setting
    limits: tuple[int, int] = (UNLIMITED, UNLIMITED)
    run: int = 0
    heaps: Sequence[np.ndarray] | None = None


class Walk(NamedTuple):
    """What came of a walk: where it ended, what it changed, what was predicted on the way."""

    position: int
    updates: int
    mistaken: int
    run: int
    predictions: np.ndarray | None


@dataclass
class Part:
    """The mutable arrays of some problems that one kernel call trains together."""

    W: np.ndarray
    U: np.ndarray
    bias: np.ndarray
    clock: np.ndarray


class Task:
    """Examples with their classes, and the problems that learning them poses.

    Parameters
    ----------
    rows : DenseRows or CsrRows
    codes : array of int
        The class number of each row.
    omega : array of float
        The weight of each row, or a single one for all.
    n_classes : int
    threads : int
        How many shares of the problems may be trained at the same time.
    """

    def __init__(
        self, rows: Rows, codes: np.ndarray, omega: np.ndarray, n_classes: int, threads: int = 1
    ) -> None:
        self.rows, self.codes, self.omega = rows, np.asarray(codes, dtype=np.int32), omega
        self.n_classes, self.threads = n_classes, threads
        self.foresee = False  # whether predictions on the way are wanted even at a cost

    @property
    def shares(self) -> list[slice]:
        """Which problems are trained by one kernel call."""
        return [slice(0, self.n_problems)]

    @property
    def n_problems(self) -> int:
        """How many weight vectors there are."""
        return self.n_classes

    def parts(self, weights: Any, sums: Any, bias: Any, bias_sums: Any, clock: Any) -> list[Part]:
        """Lay the arrays of a state out for the kernels."""
        return [
            Part(
                W=self.rows.lay_out(weights[share]),
                U=self.rows.lay_out(sums[share]) if sums.size else np.zeros((1, 1)),
                bias=np.array([bias[share], bias[share], bias_sums[share]]),
                clock=clock[share][:1].copy(),
            )
            for share in self.shares
        ]

    def walk(self, parts: list[Part], route: Route) -> Walk:
        """Learn from the rows of a route."""
        start, stop = route.span

        def share(index: int) -> tuple[Any, np.ndarray, np.ndarray]:
            part, problems = parts[index], self.shares[index]
            best = np.empty(stop - start, np.int32)
            top = np.empty(stop - start, self.rows.dtype)
            ended = self.kernel(
                self.rows.arrays, self.codes - np.int32(problems.start), self.omega, route.order,
                route.span, route.etas, part.W, route.heaps[index] if route.heaps else part.W,
                part.U, part.bias, part.clock, route.setting, route.limits, route.run, best, top,
            )  # fmt: skip
            return ended, best + np.int32(problems.start), top

        results = _map(share, len(parts), self.threads)
        (position, updates, mistaken, run), best, top = results[0]
        for (_, more, others, _), rival, score in results[1:]:
            updates, mistaken = updates + more, max(mistaken, others)
            ahead = score > top
            best[ahead], top[ahead] = rival[ahead], score[ahead]
        return Walk(position, updates, mistaken, run, best[: position - start])

    @property
    def kernel(self) -> Any:
        """The kernel that trains a share of the problems."""
        raise NotImplementedError

    def decide(self, scores: np.ndarray) -> np.ndarray:
        """The class numbers that (rows, problems) scores stand for."""
        return scores.argmax(axis=1)

    def count_wrong(self, weights: Any, bias: Any, enough: float = np.inf) -> float:
        """The weight of the rows mistaken by these weights; stops counting beyond `enough`."""
        return self._count(weights, bias, self.missed, enough)

    def error(self, weights: Any, bias: Any) -> float:
        """The share of the rows, by weight, whose class is predicted wrong by these weights."""
        total = float(np.broadcast_to(self.omega, self.rows.shape[0]).sum())
        return self._count(weights, bias, lambda s, codes: self.decide(s) != codes) / total

    def missed(self, scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Which rows count as mistaken when weights are compared for the pocket."""
        return self.decide(scores) != codes

    def _count(self, weights: Any, bias: Any, which: Callable, enough: float = np.inf) -> float:
        total, n = 0.0, self.rows.shape[0]
        omega = np.broadcast_to(self.omega, n)
        for start in range(0, n, CHUNK):
            chunk = slice(start, min(start + CHUNK, n))
            scores = self.rows.scores(weights, bias, chunk)
            total += float(omega[chunk][which(scores, self.codes[chunk])].sum())
            if total > enough:
                break
        return total


class Binary(Task):
    """Two classes, one weight vector: class 1 is the positive one."""

    @property
    def n_problems(self) -> int:
        """One weight vector."""
        return 1

    def walk(self, parts: list[Part], route: Route) -> Walk:
        """Learn from the rows of a route."""
        ended, scores = self.scored_walk(parts[0], route)
        done = scores[: ended[0] - route.span[0]]
        position, updates, mistaken, run = ended
        return Walk(position, updates, mistaken, run, (done > 0).astype(np.int32))

    def scored_walk(self, part: Part, route: Route) -> tuple[Any, np.ndarray]:
        """The walk, with the score of each step before learning."""
        scores = np.empty(route.span[1] - route.span[0], self.rows.dtype)
        ended = walks.binary(
            self.rows.arrays, self.signs, self.omega, route.order, route.span, route.etas, part.W,
            route.heaps[0] if route.heaps else part.W, part.U, part.bias, part.clock,
            route.setting, route.limits, route.run, scores,
        )  # fmt: skip
        return ended, scores

    @property
    def signs(self) -> np.ndarray:
        """The labels as -1 and +1."""
        return (2 * self.codes - 1).astype(np.int8)

    def decide(self, scores: np.ndarray) -> np.ndarray:
        """Class 1 if and only if the score is positive."""
        return (scores[:, 0] > 0).astype(np.int64)

    def missed(self, scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """The notes' set X⁻: the rows with ``y·s <= 0``."""
        return (2 * codes - 1) * scores[:, 0] <= 0


class OneVsRest(Task):
    """A weight vector a class, each against all others; the largest score decides."""

    @property
    def kernel(self) -> Any:
        """One against the rest."""
        return walks.ovr

    @property
    def shares(self) -> list[slice]:
        """Classes are independent: each thread takes a run of them."""
        bounds = np.linspace(0, self.n_classes, min(self.threads, self.n_classes) + 1).astype(int)
        return [slice(a, b) for a, b in pairwise(bounds)]


class Joint(Task):
    """A weight vector a class; one update moves the right class up and the best wrong one down."""

    @property
    def kernel(self) -> Any:
        """All classes together."""
        return walks.joint


class OneVsOne(Task):
    """A weight vector a pair of classes, trained on their rows alone; the majority decides."""

    def __init__(
        self, rows: Rows, codes: np.ndarray, omega: np.ndarray, n_classes: int, threads: int = 1
    ) -> None:
        super().__init__(rows, codes, omega, n_classes, threads)
        self.pairs = list(combinations(range(n_classes), 2))

    @property
    def n_problems(self) -> int:
        """One weight vector a pair."""
        return len(self.pairs)

    @property
    def shares(self) -> list[slice]:
        """Every pair by itself."""
        return [slice(i, i + 1) for i in range(self.n_problems)]

    def walk(self, parts: list[Part], route: Route) -> Walk:
        """Learn from the rows of a route, each pair from its own.

        The limits are not looked at on the way. Predictions need the scores of every pair on every
        row, k/2 times the work, and are made only if `foresee` is set.
        """
        visited = route.order[slice(*route.span)]
        rates = route.etas[slice(*route.span)] if route.etas.size > 1 else route.etas
        confidences = np.empty((visited.size if self.foresee else 0, self.n_problems))

        def pair(index: int) -> int:
            part, (negative, positive) = parts[index], self.pairs[index]
            signs = (self.codes == positive).astype(np.int8) - (self.codes == negative)
            own = slice(None) if self.foresee else np.flatnonzero(signs[visited])
            mine, etas = visited[own], rates[own] if rates.size > 1 else rates
            scores = np.empty(mine.size, self.rows.dtype)
            _, updates, _, _ = walks.binary(
                self.rows.arrays, signs, self.omega, mine, (0, mine.size), etas, part.W,
                route.heaps[index] if route.heaps else part.W, part.U, part.bias, part.clock,
                route.setting, (UNLIMITED, UNLIMITED), 0, scores,
            )  # fmt: skip
            if self.foresee:
                confidences[:, index] = scores
            return updates

        updates = sum(_map(pair, self.n_problems, self.threads))
        predictions = self.decide(confidences).astype(np.int32) if self.foresee else None
        return Walk(route.span[1], updates, updates, 0, predictions)

    def decide(self, scores: np.ndarray) -> np.ndarray:
        """The class with the most votes; among equals the one with the largest summed scores."""
        return votes(scores, self.n_classes).argmax(axis=1)


def votes(scores: np.ndarray, n_classes: int) -> np.ndarray:
    """Votes a class from the scores of all pairs, plus under half a vote for how clear they were.

    >>> votes(np.array([[1.0, -2.0, 3.0]]), 3).round(2)
    array([[1.17, 0.78, 1.17]])
    """
    votes = np.zeros((scores.shape[0], n_classes))
    sums = np.zeros_like(votes)
    for column, (negative, positive) in enumerate(combinations(range(n_classes), 2)):
        score = scores[:, column].astype(np.float64)
        votes[:, positive] += score > 0
        votes[:, negative] += score <= 0
        sums[:, positive] += score
        sums[:, negative] -= score
    return votes + sums / (3 * (np.abs(sums) + 1))


TASKS: dict[str, type[Task]] = {"ovr": OneVsRest, "ovo": OneVsOne, "joint": Joint}


def task_of(
    multiclass: str, rows: Rows, codes: np.ndarray, omega: np.ndarray, n_classes: int, threads: int
) -> Task:
    """The task for so many classes; two are always one line."""
    kind = Binary if n_classes <= 2 else TASKS[multiclass]
    return kind(rows, codes, omega, n_classes, threads)


def _map(function: Callable[[int], Any], n: int, threads: int) -> list[Any]:
    if threads <= 1 or n == 1:
        return [function(index) for index in range(n)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, range(n)))


@kernel(fastmath=REORDER)
def norm_and_change(new: np.ndarray, old: np.ndarray) -> tuple[float, float]:
    """The squared length of `new` and of its difference from `old`, which then becomes `new`."""
    norm = change = 0.0
    for j in range(new.size):
        value = np.float64(new[j])
        difference = value - old[j]
        norm += value * value
        change += difference * difference
        old[j] = new[j]
    return norm, change
