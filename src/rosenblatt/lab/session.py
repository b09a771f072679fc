"""A session of the lab: data, settings, and a run that steps forward and back. No browser here."""

from __future__ import annotations

from dataclasses import asdict, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from rosenblatt.counts import counted
from rosenblatt.lab.lifts import FeatureMap
from rosenblatt.lab.state import Data, LabSettings, decode, encode
from rosenblatt.reference import Vector
from rosenblatt.theory import Certificate, certify
from rosenblatt.tracing import Proof, Trace, TraceProblem, TraceRun, TraceStep, prove
from rosenblatt.tracing.family_words import rule_of

SECONDS_TO_DECIDE = 2.0
STEPS_AT_ONCE = 200_000


class Session:
    """Everything the page shows, and everything that can be done to it.

    Every method that changes something raises a ValueError with a plain sentence if it cannot,
    and leaves the session as it was.

    Parameters
    ----------
    data, settings
        What to start with; by default the example "or" and the default settings.

    Examples
    --------
    >>> session = Session(Data.example("xor"))
    >>> session.finish()
    >>> session.run.stop_reason, session.certificate.verdict
    ('cycle', 'inseparable')
    >>> session.configure(lift="products")
    >>> session.finish()
    >>> session.run.stop_reason, session.certificate.verdict
    ('separated', 'separable')
    """

    def __init__(self, data: Data | None = None, settings: LabSettings | None = None) -> None:
        self.data = Data.example("or") if data is None else data
        self.settings = settings or LabSettings()
        self._begin()

    def __repr__(self) -> str:
        points = counted(len(self.data.X), "point")
        ended = self.run.stop_reason if self.run and self.ended else "not ended"
        return f"<Session: {self.data.title}; {points}, step {self.position}, {ended}>"

    def _begin(self) -> None:
        """Restart the run and drop everything computed from the old data."""
        for name in ("lift", "problem", "run", "certificate"):
            self.__dict__.pop(name, None)
        self.position = 0
        self._sums: list[tuple[Any, Any]] = []
        self._pockets: list[tuple[int, int]] = []

    @cached_property
    def lift(self) -> FeatureMap:
        """The feature map of the settings, fitted to the rows."""
        s = self.settings
        kind = s.lift if self.data.X else "none"
        return FeatureMap(kind, s.degree, s.gamma).fit(self.data.X, self.data.feature_names)

    @cached_property
    def problem(self) -> TraceProblem | None:
        """The lifted rows and the rule; None without rows."""
        if not self.data.X:
            return None
        s, rows = self.settings, self.data.X
        problem = TraceProblem.of(
            rows if s.lift == "none" else self.lift(rows),
            self.data.signs,
            feature_names=self.lift.names,
            row_names=self.data.row_names or [f"point {i + 1}" for i in range(len(rows))],
            padding=s.padding if s.bias else None,
            threshold=s.threshold if s.rule == "perceptron" else 1.0,
            mistake=s.mistake if s.rule == "perceptron" else "margin",
        )
        named = self.data.class_names != ("-1", "+1")
        return replace(problem, classes=self.data.class_names) if named else problem

    @cached_property
    def run(self) -> TraceRun | None:
        """The run, with the steps taken so far."""
        return None if self.problem is None else self._run(self.problem)

    def _run(self, problem: TraceProblem) -> TraceRun:
        s = self.settings
        order: Any = {"in order": False, "shuffled": True, "random": "random"}[s.order]
        rule = rule_of(s.rule, s.C, s.r)
        return TraceRun(
            problem,
            update=s.update if rule is None else "online",
            eta=s.eta,
            order=order,
            seed=s.seed,
            max_epochs=s.max_epochs,
            rule=rule,
        )

    @cached_property
    def certificate(self) -> Certificate | None:
        """Whether a line separates the lifted rows, with the proof; None for a single class."""
        if self.problem is None or len(set(self.data.signs)) < 2:
            return None
        c = self.problem.padding
        rows = np.array(self.problem.X, dtype=float) / (c or 1.0)
        found = certify(
            rows, self.data.signs, fit_intercept=c is not None, time_limit=SECONDS_TO_DECIDE
        )
        assert isinstance(found, Certificate)
        return found

    # What can be done to the data

    def add(self, point: Any, sign: int) -> None:
        """Add a point."""
        self._replace_data(self.data.with_point([float(v) for v in point], sign))

    def move(self, row: int, point: Any) -> None:
        """Move a point."""
        self._replace_data(self.data.moved(row, [float(v) for v in point]))

    def flip(self, row: int) -> None:
        """Flip the label of a point."""
        self._replace_data(self.data.flipped(row))

    def delete(self, row: int) -> None:
        """Delete a point."""
        self._replace_data(self.data.without(row))

    def clear(self) -> None:
        """Delete all points."""
        self._replace_data(Data())

    def load_example(self, name: str) -> None:
        """Load an example, with the mistake rule and the bias of its source."""
        from rosenblatt import examples

        found = examples.load(name)
        settings = replace(self.settings, mistake=found.mistake, bias=found.fit_intercept)
        self.data, self.settings = Data.example(name), replace(settings, lift="none")
        self._begin()

    def load_csv(self, text: str, title: str = "your file") -> None:
        """Load the rows of an uploaded file."""
        self._replace_data(Data.csv(text, title))

    def _replace_data(self, data: Data) -> None:
        self.data = data
        self._begin()

    def configure(self, **changes: Any) -> None:
        """Change settings and restart the run; changing only `keep` does not restart it."""
        settings = LabSettings.of({**asdict(self.settings), **changes})
        only_kept = set(changes) == {"keep"}
        self.settings = settings
        if not only_kept:
            self._begin()

    # What can be done to the run

    def step(self, count: int = 1) -> None:
        """Go forward by `count` steps, or to the end of the run."""
        if self.run is None:
            return
        for _ in range(min(count, STEPS_AT_ONCE)):
            if self.position == len(self.run.steps) and self.run.advance() is None:
                return
            self.position += 1

    def back(self) -> None:
        """Go back one step."""
        self.position = max(0, self.position - 1)

    def restart(self) -> None:
        """Go back to before the first step."""
        self.position = 0

    def finish(self) -> None:
        """Go to the end of the run."""
        self.step(STEPS_AT_ONCE)

    @property
    def ended(self) -> bool:
        """Whether the last step of the run is on screen."""
        run = self.run
        return run is None or (run.stop_reason is not None and self.position == len(run.steps))

    @property
    def current(self) -> TraceStep | None:
        """The step on screen; None before the first."""
        return self.run.steps[self.position - 1] if self.run and self.position else None

    # The state at this step of the run

    @property
    def weights(self) -> tuple[Vector, Any]:
        """The weights to show, by `keep`: the last, their average, or the best so far."""
        if self.run is None:
            return (0.0,) * len(self.data.feature_names), 0.0
        if not self.position or self.settings.keep == "last":
            return self.run.at(self.position)
        return self._average() if self.settings.keep == "average" else self._best()

    def _average(self) -> tuple[Vector, Any]:
        assert self.run is not None
        while len(self._sums) < self.position:
            w, b = self.run.at(len(self._sums) + 1)
            total, total_bias = self._sums[-1] if self._sums else (0.0, 0.0)
            self._sums.append((total + np.array(w, dtype=float), total_bias + float(b)))
        total, total_bias = self._sums[self.position - 1]
        return tuple((total / self.position).tolist()), total_bias / self.position

    def _best(self) -> tuple[Vector, Any]:
        """The pocket: the first of all weights so far with the fewest errors."""
        assert self.run is not None
        while len(self._pockets) <= self.position:
            at = len(self._pockets)
            before = self._pockets[-1] if at else (len(self.data.X) + 1, 0)
            changed = at == 0 or self.run.steps[at - 1].mistake
            errors = int(self.wrong(*self.run.at(at)).sum()) if changed else before[0]
            self._pockets.append(min(before, (errors, at)))
        return self.run.at(self._pockets[self.position][1])

    def scores(self, w: Vector, b: Any) -> Any:
        """The score of each row."""
        assert self.problem is not None
        return self._matrix @ np.array(w, dtype=float) + float(b)

    @property
    def _matrix(self) -> Any:
        assert self.problem is not None
        return np.array(self.problem.X, dtype=float)

    def wrong(self, w: Vector, b: Any) -> Any:
        """Which rows are on the wrong side."""
        return np.where(self.scores(w, b) > 0, 1, -1) != np.array(self.data.signs)

    @property
    def separator(self) -> Vector | None:
        """The separator of largest margin of the padded rows, in any scale, if there is one."""
        found = self.certificate and self.certificate.augmented
        if not found or self.problem is None:
            return None
        whole = found.weights if self.problem.padding is None else (*found.weights, found.bias)
        largest = max(abs(value) for value in whole)
        return tuple(float(Fraction(value, largest)) for value in whole)

    def proof(self) -> Proof | None:
        """The convergence proof up to the step on screen."""
        if self.separator is None or self.run is None or self.problem is None:
            return None
        if self.run.rule is not None:
            return None
        steps = self.run.steps[: self.position] or self.run.steps[:0]
        return prove(self.problem, steps, self.separator)

    def margin_interval(self) -> tuple[float, float] | None:
        """Lower and upper bounds on the largest margin that follow from the weights on screen."""
        step = self.current
        if step is None or self.problem is None or not step.updates or step.rule is not None:
            return None
        w = np.array(self.problem.padded_weights(step.weights_after, step.bias_after), dtype=float)
        length = float(np.linalg.norm(w))
        if not length:
            return None
        rows = np.array([self.problem.padded(i) for i in range(len(self.problem.X))], dtype=float)
        # From zero, w is η times a sum of rows; divided by their number, a point of their hull.
        return float((rows @ w).min() / length), length / (self.settings.eta * step.updates)

    def trace(self) -> Trace:
        """The whole run as a :class:`~rosenblatt.tracing.Trace`."""
        if self.problem is None:
            raise ValueError("there are no points yet")
        return Trace(self._run(self.problem))

    # Sharing

    def link(self) -> str:
        """The session as text that fits in a URL."""
        return encode(self.data, self.settings, self.position)

    def restore(self, link: str) -> None:
        """Load the session of a link."""
        data, settings, position = decode(link)
        restored = Session(data, settings)
        restored.step(position)
        vars(self).clear()
        vars(self).update(vars(restored))
