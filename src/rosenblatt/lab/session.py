"""A session of the lab: data, settings, and a run that steps forward and back. No browser here."""

from __future__ import annotations

from dataclasses import asdict, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from rosenblatt.errors import counted
from rosenblatt.lab.lifts import FeatureMap
from rosenblatt.lab.state import ORDERS, Data, LabSettings, decode, encode
from rosenblatt.reference import Vector
from rosenblatt.theory import Certificate, certify
from rosenblatt.tracing import (
    Pocket,
    Proof,
    RunningAverage,
    Trace,
    TraceProblem,
    TraceRun,
    TraceStep,
    prove,
)
from rosenblatt.tracing.run import rule_of

SECONDS_TO_DECIDE = 2.0
STEPS_AT_ONCE = 200_000
MOST_UNDONE = 100


class Session:
    """The state behind the page: rows, settings, a run and the position in it.

    A method that cannot make its change raises a ValueError with a plain sentence and leaves the
    session as it was.

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
        self.loaded = "or" if data is None else ""
        self.task = ""
        self._undo_stack: list[tuple[str, Data, LabSettings, str, str]] = []
        self._begin()

    def __repr__(self) -> str:
        points = counted(len(self.data.X), "point")
        ended = self.run.stop_reason if self.run and self.ended else "not ended"
        return f"<Session: {self.data.title}; {points}, step {self.position}, {ended}>"

    def _begin(self) -> None:
        """Restart the run and drop everything computed from the old data."""
        for name in ("lift", "problem", "run", "certificate", "_average", "_pocket"):
            self.__dict__.pop(name, None)
        self.position = 0

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
        minus, plus = self.data.class_names[:2]
        named = (minus, plus) != ("-1", "+1")
        return replace(problem, classes=(minus, plus)) if named else problem

    @cached_property
    def run(self) -> TraceRun | None:
        """The run, with the steps taken so far."""
        return None if self.problem is None else self._run(self.problem)

    def _run(self, problem: TraceProblem) -> TraceRun:
        s = self.settings
        options: dict[str, Any] = {
            "order": ORDERS[s.order],
            "seed": s.seed,
            "max_epochs": s.max_epochs,
        }
        if s.rule != "perceptron":
            return TraceRun(problem, rule=rule_of(s.rule, s.C, s.r), **options)
        weights, bias = self._start(problem)
        return TraceRun(problem, update=s.update, eta=s.eta, weights=weights, bias=bias, **options)

    def _start(self, problem: TraceProblem) -> tuple[Vector, Any]:
        """Weights and bias to start from; missing numbers are zero."""
        width, start = len(problem.feature_names), self.settings.start
        most = width + (problem.padding is not None)
        if len(start) > most:
            bias = " and a bias" if problem.padding is not None else " without a bias"
            raise ValueError(
                f"the start has {len(start)} numbers for {counted(width, 'feature')}{bias}"
            )
        # Integers keep the weights of integer rows exact.
        whole = tuple(int(v) if float(v).is_integer() else v for v in start)
        padded = whole + (0,) * (width + 1 - len(whole))
        return padded[:width], padded[width]

    @cached_property
    def _average(self) -> RunningAverage:
        assert self.run is not None
        return RunningAverage(self.run.steps)

    @cached_property
    def _pocket(self) -> Pocket:
        assert self.run is not None
        return Pocket(self.run.problem, self.run.start, self.run.steps)

    @cached_property
    def certificate(self) -> Certificate | None:
        """Whether a line separates the lifted rows, with the proof; None for a single class."""
        if self.problem is None or len(set(self.data.signs)) < 2:
            return None
        c = self.problem.padding
        rows = np.array(self.problem.X, dtype=float) / (c or 1.0)
        certificate = certify(
            rows, self.data.signs, fit_intercept=c is not None, time_limit=SECONDS_TO_DECIDE
        )
        assert isinstance(certificate, Certificate)
        return certificate

    # Changing the data

    def add(self, point: Any, sign: int) -> None:
        """Add a point."""
        self._replace_data(self.data.with_point([float(v) for v in point], sign), "add")

    def move(self, row: int, point: Any) -> None:
        """Move a point."""
        self._replace_data(self.data.moved(row, [float(v) for v in point]), f"move {row}")

    def flip(self, row: int) -> None:
        """Flip the label of a point."""
        self._replace_data(self.data.flipped(row), "flip")

    def delete(self, row: int) -> None:
        """Delete a point."""
        self._replace_data(self.data.without(row), "delete")

    def clear(self) -> None:
        """Delete all points."""
        self._replace_data(Data(), "clear")

    def choose_class(self, target: int) -> None:
        """With several classes, choose the one that counts as +1."""
        self._replace_data(self.data.with_target(target), "choose")

    def load_example(self, name: str) -> None:
        """Load an example, with the mistake rule and the bias of its source."""
        from rosenblatt import teaching_sets

        source = teaching_sets.load(name)
        self._remember("load")
        settings = replace(
            self.settings, mistake=source.mistake, bias=source.fit_intercept, start=()
        )
        self.data, self.settings = Data.example(name), replace(settings, lift="none")
        self.loaded, self.task = name, ""
        self._begin()

    def load_scene(self, name: str) -> None:
        """Load a scene: its points, and all of its settings."""
        from rosenblatt.lab.scenes import load_scene

        scene = load_scene(name)
        self._remember("load")
        self.data, self.settings = scene.data, scene.settings
        self.loaded, self.task = f"scene {name}", scene.task
        self._begin()

    def load_csv(self, text: str, title: str = "your file") -> None:
        """Load the rows of an uploaded file."""
        self._replace_data(Data.csv(text, title), "load")

    def undo(self) -> None:
        """Take back the last change of the points or the settings."""
        if not self._undo_stack:
            raise ValueError("there is nothing to undo")
        *self._undo_stack, (_, self.data, self.settings, self.loaded, self.task) = self._undo_stack
        self._begin()

    def _replace_data(self, data: Data, change: str) -> None:
        self._remember(change)
        self.data, self.loaded = data, ""
        if change == "load":
            self.task = ""
        self._begin()

    def _remember(self, change: str) -> None:
        """Save the state for undo; the moves of one drag count as one change."""
        if change.startswith("move") and self._undo_stack and self._undo_stack[-1][0] == change:
            return
        now = (change, self.data, self.settings, self.loaded, self.task)
        self._undo_stack = [*self._undo_stack[1 - MOST_UNDONE :], now]

    def configure(self, **changes: Any) -> None:
        """Change settings and restart the run; changing only `keep` does not restart it."""
        settings = LabSettings.of({**asdict(self.settings), **changes})
        self._remember("configure")
        self.settings = settings
        if set(changes) != {"keep"}:
            self._begin()

    # Moving through the run

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

    # Weights, scores and proofs at the step on screen

    @property
    def weights(self) -> tuple[Vector, Any]:
        """The weights to show, by `keep`: the last, their average, or the best so far."""
        if self.run is None:
            return (0.0,) * len(self.data.feature_names), 0.0
        if not self.position or self.settings.keep == "last":
            return self.run.at(self.position)
        if self.settings.keep == "average":
            return self._average.after(self.position)
        state = self._pocket.after(self.position)
        return state.weights, state.bias

    def scores(self, w: Vector, b: Any) -> Any:
        """The score of each row."""
        assert self.problem is not None
        return np.array(self.problem.X, dtype=float) @ np.array(w, dtype=float) + float(b)

    def wrong(self, w: Vector, b: Any) -> Any:
        """Which rows are on the wrong side."""
        return np.where(self.scores(w, b) > 0, 1, -1) != np.array(self.data.signs)

    @property
    def separator(self) -> Vector | None:
        """The separator of largest margin of the padded rows, in any scale, if there is one."""
        margin = self.certificate and self.certificate.augmented
        if not margin or self.problem is None:
            return None
        bias = () if self.problem.padding is None else (margin.bias,)
        whole = (*margin.weights, *bias)
        largest = max(abs(value) for value in whole)
        return tuple(float(Fraction(value, largest)) for value in whole)

    def proof(self, position: int | None = None) -> Proof | None:
        """The convergence proof up to a step, by default the one on screen."""
        if self.separator is None or self.run is None or self.problem is None or self.run.rule:
            return None
        start = self.problem.padded_weights(*self.run.start)
        steps = self.run.steps[: self.position if position is None else position]
        return prove(self.problem, steps, self.separator, start, self.settings.eta)

    def margin_interval(self) -> tuple[float, float] | None:
        """Lower and upper bounds on the largest margin that follow from the weights on screen."""
        step = self.current
        if step is None or self.problem is None or not step.updates:
            return None
        if step.rule is not None or any(self.settings.start):
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
        self._remember("load")
        restored._undo_stack = self._undo_stack
        vars(self).clear()
        vars(self).update(vars(restored))
