"""Bounds on the number of errors of the best hyperplane.

The exact number is NP-hard to compute. Lower bound: the number of disjoint contradicting sets, as
any hyperplane errs on at least one row of each. Upper bound: the errors of the best one found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.theory.checker.certificate import Combination
from rosenblatt.theory.checker.report import Reported, counted
from rosenblatt.theory.search.decision import renumbered
from rosenblatt.theory.search.exact_alternatives import gordan_alternative
from rosenblatt.theory.search.limits import Clock, OutOfTimeError
from rosenblatt.theory.search.matrices import Indices
from rosenblatt.theory.search.problem import BinaryProblem

# The most mistaken rows to try one by one: each costs a linear program.
_MOST_TRIED = 200
_POCKET_STEPS = 60


@dataclass(frozen=True, repr=False)
class ErrorBracket(Reported):
    """How many rows the best hyperplane gets wrong: at least `lower`, at most `upper`.

    A row on the hyperplane itself counts as wrong.

    Attributes
    ----------
    lower, upper : int
        The bracket.
    sets : tuple of Combination
        The proof of `lower`: disjoint sets of rows that contradict each other.
    weights, bias
        The proof of `upper`: a hyperplane in integers.
    mistaken : tuple of int
        The rows that hyperplane gets wrong.
    """

    lower: int
    upper: int
    sets: tuple[Combination, ...]
    weights: tuple[int, ...]
    bias: int
    mistaken: tuple[int, ...]

    def report(self) -> str:
        """The bracket in one sentence."""
        if self.lower == self.upper:
            return f"The best hyperplane gets exactly {counted(self.lower, 'row')} wrong."
        return f"The best hyperplane gets between {self.lower:,} and {self.upper:,} rows wrong."

    def __repr__(self) -> str:
        return f"<ErrorBracket: {self.lower:,} to {self.upper:,} errors>"


def error_bracket(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool = True,
    n_starts: int = 8,
    time_limit: float | None = None,
    random_state: int = 0,
) -> ErrorBracket:
    """Bracket the number of errors of the best linear classifier.

    Parameters
    ----------
    X, y
        Rows (dense or sparse) and labels of two classes.
    fit_intercept : bool
        Whether hyperplanes may have an offset.
    n_starts : int
        Random starts of the search for a good hyperplane.
    time_limit : float, optional
        Seconds after which the current bracket is returned.
    random_state : int
        Seed of the random starts.

    Notes
    -----
    The search is S. Gallant's pocket algorithm (1990), Perceptron-based learning algorithms, with
    batch updates. The mistaken rows of its best weights are then added one by one to the others
    where the rows stay separable.

    Examples
    --------
    >>> bracket = error_bracket([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    >>> bracket.lower, bracket.upper
    (1, 1)
    """
    problem = BinaryProblem.from_data(X, y, fit_intercept)
    search = _Search(problem, Clock(time_limit))
    try:
        search.remove_contradictions()
        search.readmit_rows()
        search.pocket(n_starts, np.random.default_rng(random_state))
        search.readmit_rows()
        search.contradict_mistaken_rows()
    except OutOfTimeError:
        pass
    d = problem.d
    return ErrorBracket(
        lower=len(search.sets),
        upper=len(search.mistaken),
        sets=tuple(search.sets),
        weights=tuple(search.weights[:d]),
        bias=search.weights[d] if fit_intercept else 0,
        mistaken=tuple(search.mistaken.tolist()),
    )


class _Search:
    """The contradicting sets and the best hyperplane found so far."""

    def __init__(self, problem: BinaryProblem, clock: Clock) -> None:
        self.problem, self.clock = problem, clock
        self.sets: list[Combination] = []
        self.weights = [0] * problem.width
        self.mistaken: Indices = np.arange(problem.n)
        self.lengths = np.maximum(problem.norms, 1e-300)
        v = problem.combine(1.0 / self.lengths)  # nearly the difference of the class means
        self.offer(problem.exact_weights(v / max(float(np.abs(v).max()), 1e-300)))

    @property
    def closed(self) -> bool:
        """Whether the two bounds are equal."""
        return len(self.sets) == len(self.mistaken)

    def offer(self, weights: list[int]) -> None:
        """Keep the hyperplane if it gets fewer rows wrong than the best so far."""
        mistaken = np.flatnonzero(self.problem.exact_signs(weights) <= 0)
        if len(mistaken) < len(self.mistaken):
            self.weights, self.mistaken = weights, mistaken

    def separate(self, rows: Indices) -> list[int] | Combination:
        """Exact weights for some rows, or rows among them that contradict each other."""
        answer = gordan_alternative(self.problem.subset(rows), self.clock)
        return answer if isinstance(answer, list) else renumbered(answer, rows)

    def remove_contradictions(self) -> None:
        """Remove contradicting sets until a hyperplane separates the rest."""
        rows = np.arange(self.problem.n)
        while len(rows):
            answer = self.separate(rows)
            if isinstance(answer, list):
                self.offer(answer)
                return
            self.sets.append(answer)
            rows = np.setdiff1d(rows, answer.rows)

    def contradict_mistaken_rows(self) -> None:
        """Look for sets that each contain one mistaken row of the best hyperplane."""
        if self.closed or len(self.mistaken) > _MOST_TRIED:
            return
        contradictions: list[Combination] = []
        rows = np.setdiff1d(np.arange(self.problem.n), self.mistaken)
        for i in self.mistaken.tolist():
            rows = np.append(rows, i)
            answer = self.separate(rows)
            if not isinstance(answer, list):
                contradictions.append(answer)
                rows = np.setdiff1d(rows, answer.rows)
        if len(contradictions) > len(self.sets):
            self.sets = contradictions

    def readmit_rows(self) -> None:
        """Add mistaken rows to the others, one by one, where the rows stay separable."""
        if len(self.mistaken) > _MOST_TRIED:
            return
        rows = np.setdiff1d(np.arange(self.problem.n), self.mistaken)
        for i in self.mistaken.tolist():
            if self.closed:
                return
            wider = np.append(rows, i)
            answer = self.separate(wider)
            if isinstance(answer, list):
                rows = wider
                self.offer(answer)

    def pocket(self, n_starts: int, generator: np.random.Generator) -> None:
        """Run batch perceptrons from several starts and offer the best weights of each."""
        problem = self.problem
        for start in range(n_starts):
            if self.closed:
                return
            v = np.zeros(problem.width)
            if any(self.weights):
                v = problem.scaled_weights(self.weights)
            if start:
                v = v + generator.normal(size=problem.width) * np.abs(v).max() / 2
            best, fewest = v, problem.n + 1
            for step in range(_POCKET_STEPS):
                self.clock.seconds_left()
                wrong = problem.scores(v) <= 0
                count = int(wrong.sum())
                if count < fewest:
                    best, fewest = v, count
                if count == 0:
                    break
                pull = problem.combine(np.where(wrong, 1.0 / self.lengths, 0.0))
                size = float(np.linalg.norm(pull)) or 1.0
                v = v + pull * (float(np.linalg.norm(v)) or 1.0) / (size * (step + 2))
            self.offer(problem.exact_weights(best))
