"""The running average and the pocket of a run.

The *average* after step t is the mean of the weights after each of the steps 1 .. t. The *pocket*
holds the weights with the fewest mistaken rows so far, the first of equals, and that number, E. A
row counts as mistaken by the rule of the run with threshold 0. (S. Gallant, 1990, Perceptron-based
learning algorithms. His ratchet samples rows; here all rows are counted.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from rosenblatt.reference import Vector
from rosenblatt.tracing.problem import TraceProblem
from rosenblatt.tracing.run import TraceStep


@dataclass(frozen=True, slots=True)
class PocketState:
    """The pocket after a step.

    Attributes
    ----------
    errors
        E, the number of rows mistaken by the weights in the pocket.
    step
        The step that produced these weights; 0 is the start.
    weights, bias
        The weights in the pocket.
    """

    errors: int
    step: int
    weights: Vector
    bias: Any


class RunningAverage:
    """The mean of the weights so far, after any step that was taken.

    Examples
    --------
    >>> from rosenblatt import trace
    >>> run = trace([[2, 1], [-1, 1]], [1, -1])
    >>> average = RunningAverage(run.steps)
    >>> average.after(1), average.after(4)
    (((2, 1), 1), ((Fraction(11, 4), Fraction(1, 4)), Fraction(1, 4)))
    """

    def __init__(self, steps: Sequence[TraceStep]) -> None:
        self._steps = steps
        self._sums: list[tuple[Any, ...]] = []

    def after(self, position: int) -> tuple[Vector, Any]:
        """The averaged weights and bias after `position` steps, at least 1."""
        while len(self._sums) < position:
            step = self._steps[len(self._sums)]
            now = (*step.weights_after, step.bias_after)
            before = self._sums[-1] if self._sums else (0,) * len(now)
            self._sums.append(tuple(a + b for a, b in zip(before, now, strict=True)))
        *weights, bias = (_mean(total, position) for total in self._sums[position - 1])
        return tuple(weights), bias


class Pocket:
    """The weights with the fewest mistaken rows so far, after any step that was taken.

    Examples
    --------
    >>> from rosenblatt import teaching_sets, trace
    >>> xor = teaching_sets.load("xor")
    >>> run = trace(xor.X, xor.y)
    >>> pocket = Pocket(run.problem, run.path[0], run.steps)
    >>> [pocket.after(position).errors for position in range(5)]
    [4, 2, 2, 2, 2]
    """

    def __init__(
        self, problem: TraceProblem, start: tuple[Vector, Any], steps: Sequence[TraceStep]
    ) -> None:
        self._problem, self._steps = problem, steps
        fractions = any(isinstance(value, Fraction) for row in problem.X for value in row)
        self._rows = np.array(problem.X, dtype=object if fractions else float)
        self._signs = np.array(problem.signs)
        self._states = [PocketState(self._errors(*start), 0, *start)]

    def after(self, position: int) -> PocketState:
        """The pocket after `position` steps; 0 is the start."""
        while len(self._states) <= position:
            best, step = self._states[-1], self._steps[len(self._states) - 1]
            if step.mistake:
                errors = self._errors(step.weights_after, step.bias_after)
                if errors < best.errors:
                    best = PocketState(errors, step.number, step.weights_after, step.bias_after)
            self._states.append(best)
        return self._states[position]

    def _errors(self, weights: Vector, bias: Any) -> int:
        scores = self._rows @ np.array(weights, dtype=self._rows.dtype) + bias
        if self._problem.mistake == "sign":
            return int(np.sum((scores > 0) != (self._signs > 0)))
        return int(np.sum(self._signs * scores <= 0))


def _mean(total: Any, count: int) -> Any:
    """`total` / `count`, exact for integers and fractions."""
    if not isinstance(total, int | Fraction):
        return total / count
    mean = Fraction(total, count)
    return int(mean) if mean.denominator == 1 else mean
