"""A run of the reference algorithm, one step at a time, and why it stopped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from rosenblatt import reference
from rosenblatt.errors import counted
from rosenblatt.reference import Order, Rate, Vector
from rosenblatt.rules.passive_aggressive import passive_aggressive
from rosenblatt.rules.second_order import Arow
from rosenblatt.tracing.problem import TraceProblem

RULES = ("perceptron", "pa", "pa1", "pa2", "arow")


def rule_of(name: str, C: float, r: float) -> Any:
    """The rule with this name and its parameter; None for the perceptron.

    >>> rule_of("pa2", C=0.5, r=1.0)
    Pa(largest=inf, slack=1.0)
    """
    if name not in RULES:
        raise ValueError(f"rule must be one of {RULES}, not {name!r}")
    if not C > 0 or not r > 0:
        raise ValueError(f"C and r must be positive, not {C!r} and {r!r}")
    if name == "perceptron":
        return None
    if name == "arow":
        return Arow(float(r))
    return passive_aggressive(float(C), {"pa": "", "pa1": "I", "pa2": "II"}[name])


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step of a run: one row looked at, or, with batch updates, all rows.

    Attributes
    ----------
    number, epoch
        The count of steps and of epochs, from 1.
    row
        The row looked at; None with batch updates.
    mistaken
        The rows that this step corrects.
    score, prediction
        The score and the predicted sign of the row; None with batch updates.
    eta
        The learning rate of this step.
    weights_before, bias_before, weights_after, bias_after
        Weights and bias before and after the step.
    updates
        k, the number of updates so far, including this step.
    rule, tau, beta, square
        For other members of the family: the rule, the coefficients τ and β of its update, and the
        squared length or the variance of the padded row. None and zeros for the perceptron.
    variances_after
        The variances of the weights and, last, of the bias, for members that have them.
    """

    number: int
    epoch: int
    mistaken: tuple[int, ...]
    updates: int
    weights_before: Vector
    bias_before: Any
    weights_after: Vector
    bias_after: Any
    row: int | None = None
    score: Any = None
    prediction: int | None = None
    eta: Any = 1
    rule: Any = None
    tau: float = 0.0
    beta: float = 0.0
    square: float = 0.0
    variances_after: Vector = ()

    @property
    def mistake(self) -> bool:
        """Whether this step made an update."""
        return bool(self.mistaken)


class TraceRun:
    """A run that advances one step at a time.

    Parameters
    ----------
    problem : TraceProblem
        The rows and the rule.
    update : {"online", "batch"}
        One row per step, or all mistaken rows at once.
    eta, order, weights, bias, max_epochs, seed
        As for :func:`rosenblatt.reference.online`.
    rule : named tuple or None
        Another member of the family, see :mod:`rosenblatt.rules`; it starts from zero and updates
        online.

    Attributes
    ----------
    steps : list of TraceStep
        The steps taken so far.
    stop_reason : str or None
        ``separated``: an epoch without an update. ``cycle``: the weights at two epoch ends are
        equal, a proof that no line separates the rows. ``budget``: all epochs used. None while
        the run can go on.
    contradiction : dict of int to Fraction, or None
        After a cycle: the sum of the learning rates of the updates on each row during the cycle.
        The padded rows ``y·(x, c)`` times these numbers add up to exactly zero.

    Examples
    --------
    >>> run = TraceRun(TraceProblem.of([[2, 1], [-1, 1]], [1, -1]))
    >>> run.advance().weights_after
    (2, 1)
    >>> run.finish()
    >>> len(run.steps), run.stop_reason
    (4, 'separated')
    """

    def __init__(
        self,
        problem: TraceProblem,
        *,
        update: str = "online",
        eta: Rate = 1,
        order: Order = False,
        weights: Vector | None = None,
        bias: Any = 0,
        max_epochs: int = 100,
        seed: int | None = None,
        rule: Any = None,
    ) -> None:
        if rule is not None and (update != "online" or weights is not None or bias):
            raise ValueError("other rules than the perceptron's learn online, and start from zero")
        if update not in ("online", "batch"):
            raise ValueError(f"update must be 'online' or 'batch', not {update!r}")
        self.problem = problem
        self.update, self.rule = update, rule
        self.start = (tuple(weights or (0,) * len(problem.X[0])), bias)
        self.steps: list[TraceStep] = []
        self.stop_reason: str | None = None
        self.contradiction: dict[int, Fraction] | None = None
        self._epoch_start = 0
        self._epoch_ends = {self.start: 0}
        self._records = self._reference(eta, order, max_epochs, seed)
        self._ahead = next(self._records, None)

    def __repr__(self) -> str:
        reason = self.stop_reason or "not ended"
        return f"<TraceRun: {counted(len(self.steps), 'step')}, {reason}>"

    def advance(self) -> TraceStep | None:
        """Take one more step; None when the run has ended."""
        record = self._ahead
        if record is None or self.stop_reason is not None:
            return None
        self._ahead = next(self._records, None)
        step = _step(record, self.steps[-1] if self.steps else None, self.rule)
        self.steps.append(step)
        if self._ahead is None or self._ahead.epoch != step.epoch:
            self._close_epoch()
        return step

    def finish(self) -> None:
        """Take all remaining steps."""
        while self.advance() is not None:
            pass

    def at(self, position: int) -> tuple[Vector, Any]:
        """Weights and bias after `position` steps, which must have been taken."""
        if position == 0:
            return self.start
        return self.steps[position - 1].weights_after, self.steps[position - 1].bias_after

    def _reference(
        self, eta: Rate, order: Order, max_epochs: int, seed: int | None
    ) -> Iterator[reference.Step | reference.BatchStep | reference.FamilyStep]:
        (weights, bias), problem = self.start, self.problem
        if self.rule is not None:
            epochs: dict[str, Any] = {"order": order, "max_epochs": max_epochs, "seed": seed}
            rows = problem.X, problem.signs
            return reference.family(*rows, self.rule, padding=problem.padding, **epochs)
        rule = {name: getattr(problem, name) for name in ("threshold", "mistake", "padding")}
        rule |= {"weights": weights, "bias": bias, "eta": eta, "max_epochs": max_epochs}
        if self.update == "batch":
            return reference.batch(problem.X, problem.signs, **rule)
        return reference.online(problem.X, problem.signs, order=order, seed=seed, **rule)

    def _close_epoch(self) -> None:
        epoch = self.steps[self._epoch_start :]
        self._epoch_start = len(self.steps)
        seen = {step.row for step in epoch}
        if not any(step.mistake for step in epoch):
            everything = seen == {None} or len(seen) == len(self.problem.X)
            self.stop_reason = "separated" if everything else self.stop_reason
        elif self.rule is None:
            self._detect_cycle()
        if self.stop_reason is None and self._ahead is None:
            self.stop_reason = "budget"

    def _detect_cycle(self) -> None:
        """Stop the run if the weights equal those at an earlier epoch end, checked exactly."""
        before = self._epoch_ends.setdefault(self.at(len(self.steps)), len(self.steps))
        if before == len(self.steps):
            return
        added: defaultdict[int, Fraction] = defaultdict(Fraction)
        for step in self.steps[before:]:
            for row in step.mistaken:
                added[row] += Fraction(step.eta)
        columns = zip(*(map(Fraction, self.problem.padded(row)) for row in added), strict=True)
        if all(reference.dot(added.values(), column) == 0 for column in columns):
            self.stop_reason = "cycle"
            self.contradiction = dict(sorted(added.items()))


def _step(record: Any, previous: TraceStep | None, rule: Any) -> TraceStep:
    """A step of the reference as the step of a trace after `previous`."""
    if isinstance(record, reference.BatchStep):
        mistaken = record.mistaken
    else:
        updated = record.tau != 0 if rule is not None else record.mistake
        mistaken = (record.row,) if updated else ()
    number, updates = (previous.number, previous.updates) if previous else (0, 0)
    fields = {name: getattr(record, name) for name in _SAME if hasattr(record, name)}
    updates += len(mistaken)
    return TraceStep(number=number + 1, mistaken=mistaken, updates=updates, rule=rule, **fields)


_SAME = {f.name for f in fields(TraceStep)} - {"number", "mistaken", "updates", "rule"}
"""Fields of a step that records of the reference have under the same names, or lack."""
