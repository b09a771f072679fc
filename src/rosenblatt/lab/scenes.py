"""Scenes: points and settings to start an exercise with, by name, and the goal of the exercise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rosenblatt import teaching_sets
from rosenblatt.lab.state import Data, LabSettings

if TYPE_CHECKING:
    from rosenblatt.lab.session import Session

Change = Callable[["Session"], None]


@dataclass(frozen=True)
class Scene:
    """Where an exercise starts, what to do there, and when it is done.

    Attributes
    ----------
    name, task : str
    data : Data
    settings : LabSettings
    goal : function of a Session
        Whether its state solves the exercise.
    variants : tuple of (str, function of a Session)
        Changes worth trying: a page without a program behind it offers recordings of these.

    Examples
    --------
    >>> scene = load_scene("offset")
    >>> scene.settings.bias, scene.task
    (False, 'No line through the origin separates these points. Separate them.')
    """

    name: str
    task: str
    data: Data
    settings: LabSettings
    goal: Callable[[Session], bool]
    variants: tuple[tuple[str, Change], ...]


def load_scene(name: str) -> Scene:
    """The scene of this name, one of :data:`SCENES`."""
    if name not in _SCENES:
        raise ValueError(f"there is no scene {name!r}; choose one of {', '.join(SCENES)}")
    return _SCENES[name]


def _points(title: str, points: str) -> Data:
    """Points written as ``x y sign`` and separated by commas."""
    rows = [tuple(map(float, point.split())) for point in points.split(",")]
    X, signs = tuple(row[:2] for row in rows), tuple(int(row[2]) for row in rows)
    return Data(("across", "up"), X, signs, title=title)


def _of_example(name: str, **settings: Any) -> tuple[Data, LabSettings]:
    """An example of :mod:`rosenblatt.teaching_sets`, with the rule of its source."""
    source = teaching_sets.load(name)
    settings = {"mistake": source.mistake, "bias": source.fit_intercept, **settings}
    return Data.example(name), LabSettings(**settings)


def _with(**changes: Any) -> Change:
    return lambda session: session.configure(**changes)


def _to(row: int, x: float, y: float) -> Change:
    return lambda session: session.move(row, (x, y))


def _against_all(k: int) -> Change:
    return lambda session: session.choose_class(k)


def _stopped(reason: str) -> Callable[[Session], bool]:
    """The goal that the run on screen has ended for this reason."""
    return lambda session: _reason(session) == reason


def _reason(session: Session) -> str | None:
    """Why the run ended, if its end is on screen."""
    return session.run.stop_reason if session.run and session.has_ended else None


def _updates(session: Session) -> int:
    return session.current.updates if session.current else 0


def _average_is_better(session: Session) -> bool:
    """Whether at the end the average errs less than the last weights, and is shown."""
    if session.run is None or not session.has_ended or session.settings.keep != "average":
        return False
    last = session.wrong(*session.run.at(session.position)).sum()
    return bool(session.wrong(*session.weights).sum() < last)


def _is_most_against_all(session: Session) -> bool:
    """Whether the second class, which needs the most updates, was run to its end."""
    return _reason(session) == "separated" and session.data.target == 1


_AS_IT_IS = ("as it is", lambda session: None)
_XOR, _XOR_SETTINGS = _of_example("xor", update="batch", keep="best")
_OR, _OR_SETTINGS = _of_example("or", start=(3.0, -2.0, 1.0))

_SCENES = {
    scene.name: scene
    for scene in (
        Scene(
            "two-orders",
            "Another order, another line. Find a seed whose run needs at least 24 updates.",
            _points("six points, many solutions", "0 1 -1, 1 0 -1, 1 1 -1, 2 1 1, 1 2 1, 3 2 1"),
            LabSettings(order="shuffled", seed=1),
            lambda session: _reason(session) == "separated" and _updates(session) >= 24,
            tuple((f"seed {seed}", _with(seed=seed)) for seed in (1, 3, 5, 7, 8, 10)),
        ),
        Scene(
            "one-vs-all",
            "Three classes, each against all others: find the one that needs the most updates, "
            "and run it to its end.",
            *_of_example("triangle"),
            _is_most_against_all,
            tuple(
                (f"class +1: {name}", _against_all(k))
                for k, name in enumerate(teaching_sets.load("triangle").class_names)
            ),
        ),
        Scene(
            "pocket",
            "All four rows are added at once, and nothing moves. Move one point so that the run "
            "ends with a line that separates the points.",
            _XOR,
            _XOR_SETTINGS,
            _stopped("separated"),
            (
                _AS_IT_IS,
                ("the point (1, 1) moved to (1, 0.4)", _to(3, 1, 0.4)),
                ("the point (1, 1) moved to (0.5, -0.5)", _to(3, 0.5, -0.5)),
            ),
        ),
        Scene(
            "lift",
            "XOR, with the product of its features as a third one. Find a lift with which the "
            "run needs fewer than 10 updates.",
            *_of_example("xor", lift="products"),
            lambda session: _reason(session) == "separated" and _updates(session) < 10,
            tuple((f"lift: {lift}", _with(lift=lift)) for lift in ("none", "products", "rbf")),
        ),
        Scene(
            "start",
            "The run starts away from zero. Find a start from which it needs no update at all.",
            _OR,
            _OR_SETTINGS,
            lambda session: _reason(session) == "separated" and _updates(session) == 0,
            tuple(
                (f"start {', '.join(map(str, start))}", _with(start=list(start)))
                for start in ((3, -2, 1), (0, 0, 0), (1, 1, 0), (2, 2, -1))
            ),
        ),
        Scene(
            "weight-space",
            "Two weights in all: each row is a line, each update a move towards the cone. Step "
            "until the weights lie in it.",
            _points(
                "six points through the origin",
                "1 2 1, 2 0.5 1, 3 2.5 1, -1 1 -1, -2 -0.5 -1, -0.5 -2 -1",
            ),
            LabSettings(bias=False, eta=0.5, start=(-4.0, 3.0)),
            lambda session: _updates(session) > 0 and not session.wrong(*session.weights).any(),
            (_AS_IT_IS, ("learning rate 2", _with(eta=2.0))),
        ),
        Scene(
            "offset",
            "No line through the origin separates these points. Separate them.",
            _points("separable, but not through the origin", "1 0 -1, 0 1 -1, 2 2 1"),
            LabSettings(bias=False),
            _stopped("separated"),
            (("without a bias", _with(bias=False)), ("with a bias", _with(bias=True))),
        ),
        Scene(
            "average",
            "Two classes that overlap. Run to the end with weights that make fewer errors than the "
            "last ones, which are dashed.",
            _points(
                "two classes that overlap",
                "1 1 -1, 2 1 -1, 1 2.5 -1, 2.5 2 -1, 3 1.5 -1, 2 3.5 -1, 3.5 3 -1, "
                "2 2.5 1, 3 3.5 1, 4 2 1, 4.5 3.5 1, 3.5 4.5 1, 5 2.5 1, 1.5 3 1",
            ),
            LabSettings(max_epochs=30),
            _average_is_better,
            tuple((f"weights shown: {keep}", _with(keep=keep)) for keep in ("last", "average")),
        ),
        Scene(
            "movies",
            "The worked example of the course: run its nine steps to the end.",
            *_of_example("movies"),
            _stopped("separated"),
            (_AS_IT_IS,),
        ),
        Scene(
            "not-good",
            "No weights are right for all four reviews. Run until the weights of an earlier epoch "
            "come back, and read which rows contradict each other.",
            *_of_example("not-good"),
            _stopped("cycle"),
            (_AS_IT_IS,),
        ),
    )
}

SCENES = tuple(_SCENES)
