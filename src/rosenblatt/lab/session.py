"""A session of the lab: data, settings, and a run that steps forward and back. No browser here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import cached_property
from time import monotonic
from typing import Any

import numpy as np

from rosenblatt.errors import counted
from rosenblatt.lab.lifts import FeatureMap
from rosenblatt.lab.scenes import Scene, load_scene
from rosenblatt.lab.state import ORDERS, Data, LabSettings, decode, encode
from rosenblatt.reference import Vector
from rosenblatt.theory import Certificate, certify
from rosenblatt.tracing import Trace, TraceProblem, TraceRun, TraceStep
from rosenblatt.tracing.pocket import Pocket, RunningAverage
from rosenblatt.tracing.run import rule_of

SECONDS_TO_DECIDE = 2.0
SECONDS_PER_MOVE = 0.025  # for the steps repeated while a point is dragged
STEPS_AT_ONCE = 200_000
MOST_UNDONE = 100
END = STEPS_AT_ONCE  # where a run that was at its end goes again
# What was changed; points, settings, example, scene and the settings of the second run before.
_Undoable = tuple[str, Data, LabSettings, str, Scene | None, LabSettings | None]


class Session:
    """The state behind the page: rows, settings, a run and the position in it.

    A method that cannot make its change raises a ValueError with a plain sentence and leaves the
    session as it was.

    Parameters
    ----------
    data, settings
        What to start with; by default the example "or" and the default settings.

    Changes of points and settings keep the run: it is repeated to the same step, or to the end if
    it was there or while `live` is on. `beside` is a second run on the same points with settings of
    its own, which follows each move.

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
        self.scene: Scene | None = None
        self.live = False
        self.beside: Session | None = None
        self._goal = 0
        self._undo_stack: list[_Undoable] = []
        self._begin()

    def __repr__(self) -> str:
        points = counted(len(self.data.X), "point")
        ended = self.run.stop_reason if self.run and self.has_ended else "not ended"
        return f"<Session: {self.data.title}; {points}, step {self.position}, {ended}>"

    def _begin(self) -> None:
        """Restart the run and drop everything computed from the old data."""
        for name in ("lift", "problem", "run", "certificate", "_average", "_pocket"):
            self.__dict__.pop(name, None)
        self.position = 0

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """A change of points or settings that is taken back if the run cannot begin with it."""
        before = dict(vars(self))
        try:
            yield
        except ValueError:
            vars(self).clear()
            vars(self).update(before)
            raise

    def _rerun(self, seconds: float | None = None) -> None:
        """Restart the run after a change, and go to where it was; not further than time allows."""
        self._begin()
        self._advance(END if self.live else self._goal, seconds)
        if self.beside is not None:
            self.beside.data, self.beside._goal = self.data, END if self.live else self._goal
            self.beside._rerun(seconds)

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

    def add(self, point: Any, sign: int, label: int | None = None, stroke: int = 0) -> None:
        """Add a point: its sign or, of several classes, its class; `stroke` is that of a brush."""
        change = f"spray {stroke}" if stroke else "add"
        self._replace_data(self.data.with_point([float(v) for v in point], sign, label), change)

    def move(self, row: int, point: Any, live: bool = False) -> None:
        """Move a point; `live` while it is being dragged."""
        moved = self.data.moved(row, [float(v) for v in point])
        self._replace_data(moved, f"move {row}", SECONDS_PER_MOVE if live else None)

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
        settings = replace(LabSettings(), mistake=source.mistake, bias=source.fit_intercept)
        self._load(Data.example(name), settings, name)

    def load_cloud(self, name: str, noise: float, seed: int) -> None:
        """Load a cloud of points, drawn anew for each seed."""
        self._load(Data.cloud(name, noise, seed), self.settings, f"cloud {name}")

    def load_scene(self, name: str) -> None:
        """Load a scene: its points, and all of its settings."""
        scene = load_scene(name)
        self._load(scene.data, scene.settings, f"scene {name}", scene)

    def load_csv(self, text: str, title: str = "your file") -> None:
        """Load the rows of an uploaded file."""
        self._load(Data.csv(text, title), self.settings, "")

    def _load(
        self, data: Data, settings: LabSettings, loaded: str, scene: Scene | None = None
    ) -> None:
        """Replace the points. Only points of one's own can be brought back, not an example."""
        with self._all_or_nothing():
            if self.loaded:
                self._undo_stack = []
            else:
                self._remember("load")
            self.data, self.settings, self.loaded, self.scene = data, settings, loaded, scene
            self._goal = 0
            self._rerun()

    def undo(self) -> None:
        """Take back the last change of the points or the settings."""
        if not self._undo_stack:
            raise ValueError("there is nothing to undo")
        *self._undo_stack, last = self._undo_stack
        _, self.data, self.settings, self.loaded, self.scene, beside = last
        if self.beside is not None and beside is not None:
            self.beside.settings = beside
        self._rerun()

    def _replace_data(self, data: Data, change: str, seconds: float | None = None) -> None:
        with self._all_or_nothing():
            self._remember(change)
            self.data, self.loaded = data, ""
            self._rerun(seconds)

    def _remember(self, change: str) -> None:
        """Save the state for undo; one drag or one stroke of the brush counts as one change."""
        last = self._undo_stack[-1][0] if self._undo_stack else ""
        if change == last and change.startswith(("move", "spray")):
            return
        beside = self.beside.settings if self.beside else None
        now = (change, self.data, self.settings, self.loaded, self.scene, beside)
        self._undo_stack = [*self._undo_stack[1 - MOST_UNDONE :], now]

    def configure(self, **changes: Any) -> None:
        """Change settings and repeat the run; changing only `keep` leaves the run as it is."""
        settings = LabSettings.of({**asdict(self.settings), **changes})
        with self._all_or_nothing():
            self._remember("configure")
            self.settings = settings
            if set(changes) != {"keep"}:
                self._rerun()

    def configure_beside(self, **changes: Any) -> None:
        """Change the settings of the run beside this one."""
        if self.beside is None:
            raise ValueError("there is no second run")
        settings = LabSettings.of({**asdict(self.beside.settings), **changes})
        with self._all_or_nothing(), self.beside._all_or_nothing():
            self._remember("configure")
            self.beside.settings = settings
            self.beside._rerun()

    def compare(self, on: bool) -> None:
        """Begin or end a second run on the same points, with the same settings at first."""
        self.beside = None
        if on:
            self.beside = Session(self.data, self.settings)
            self.beside._advance(self.position)

    def set_live(self, on: bool) -> None:
        """Whether every change runs to the end."""
        self.live = bool(on)
        if self.live:
            self.finish()

    # Moving through the run

    def step(self, count: int = 1) -> None:
        """Go forward by `count` steps, or to the end of the run."""
        self._advance(count)
        self._stay(count)

    def next_mistake(self) -> None:
        """Go forward to the next update, or to the end of the run."""
        begin = self.position
        while self.position - begin < STEPS_AT_ONCE:
            before = self.position
            self._advance(1)
            if self.position == before or (self.current and self.current.mistake):
                break
        if self.position == begin and self.beside is not None:
            self.beside.next_mistake()
        else:
            self._stay(self.position - begin)

    def end_of_epoch(self) -> None:
        """Go forward to the last step of an epoch, or to the end of the run."""
        n, begin = len(self.data.X), self.position
        batch = self.settings.update == "batch" and self.settings.rule == "perceptron"
        self.step(1 if batch or not n else n - begin % n)

    def back(self) -> None:
        """Go back one step."""
        self.position = max(0, self.position - 1)
        self._stay(-1)

    def restart(self) -> None:
        """Go back to before the first step."""
        self.position = 0
        self._stay(-END)

    def finish(self) -> None:
        """Go to the end of the run."""
        self.step(END)

    def _advance(self, count: int, seconds: float | None = None) -> None:
        """Go forward by `count` steps; not much longer than some seconds."""
        if self.run is None:
            return
        until = None if seconds is None else monotonic() + seconds
        for _ in range(min(count, STEPS_AT_ONCE)):
            if self.position == len(self.run.steps) and self.run.advance() is None:
                return
            self.position += 1
            if until is not None and monotonic() > until:
                return

    def _stay(self, moved: int) -> None:
        """After a move on purpose: changes lead here again, and the second run follows."""
        self._goal = END if self.position and self.has_ended else self.position
        if self.beside is not None and moved > 0:
            self.beside._advance(moved)
        elif self.beside is not None:
            self.beside.position = max(0, self.beside.position + moved)

    @property
    def has_ended(self) -> bool:
        """Whether the last step of the run is on screen."""
        run = self.run
        return run is None or (run.stop_reason is not None and self.position == len(run.steps))

    @property
    def ended(self) -> bool:
        """Whether that is so, and for the run beside it too."""
        return self.has_ended and (self.beside is None or self.beside.has_ended)

    @property
    def is_solved(self) -> bool | None:
        """Whether the exercise of the scene is done; None without a scene."""
        return None if self.scene is None else self.scene.goal(self)

    @property
    def mistakes_by_epoch(self) -> list[int]:
        """The updates in each epoch so far."""
        counts: list[int] = []
        for step in self.run.steps[: self.position] if self.run else ():
            counts += [0] * (step.epoch - len(counts))
            counts[-1] += step.mistake
        return counts

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

    def trace(self) -> Trace:
        """The whole run as a :class:`~rosenblatt.tracing.Trace`."""
        if self.problem is None:
            raise ValueError("there are no points yet")
        return Trace(self._run(self.problem))

    # Sharing

    def link(self) -> str:
        """The session as text that fits in a URL."""
        beside = self.beside.settings if self.beside else None
        return encode(self.data, self.settings, self.position, beside)

    def restore(self, link: str) -> None:
        """Load the session of a link."""
        data, settings, position, beside = decode(link)
        restored = Session(data, settings)
        restored.live = self.live
        if beside is not None:
            restored.beside = Session(data, beside)
        restored.step(position)
        if not self.loaded:
            self._remember("load")
            restored._undo_stack = self._undo_stack
        vars(self).clear()
        vars(self).update(vars(restored))
