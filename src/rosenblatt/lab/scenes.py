"""Scenes: points and settings to start an exercise with, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

from rosenblatt.lab.state import Data, LabSettings


@dataclass(frozen=True)
class Scene:
    """Where an exercise starts, and what to do there.

    Examples
    --------
    >>> scene = load_scene("offset")
    >>> scene.settings.bias, scene.task
    (False, 'No line through the origin separates these points. Switch the bias on.')
    """

    name: str
    task: str
    data: Data
    settings: LabSettings


def load_scene(name: str) -> Scene:
    """The scene of this name, one of :data:`SCENES`."""
    if name not in _SCENES:
        raise ValueError(f"there is no scene {name!r}; choose one of {', '.join(SCENES)}")
    task, make = _SCENES[name]
    data, settings = make()
    return Scene(name, task, data, settings)


def _points(points: str, title: str) -> Data:
    """Points written as ``x y sign`` and separated by commas."""
    rows = [tuple(map(float, point.split())) for point in points.split(",")]
    X = tuple((x, y) for x, y, _ in rows)
    return Data(("across", "up"), X, tuple(int(sign) for _, _, sign in rows), title=title)


def _example(name: str, **settings: object) -> tuple[Data, LabSettings]:
    from rosenblatt import examples

    found = examples.load(name)
    rule = {"mistake": found.mistake, "bias": found.fit_intercept, **settings}
    return Data.example(name), LabSettings.of(rule)


def _two_orders() -> tuple[Data, LabSettings]:
    points = "0 1 -1, 1 0 -1, 1 1 -1, 2 1 1, 1 2 1, 3 2 1"
    return _points(points, "six points, many solutions"), LabSettings(order="shuffled")


def _offset() -> tuple[Data, LabSettings]:
    points = "1 0 -1, 0 1 -1, 2 2 1"
    return _points(points, "separable, but not through the origin"), LabSettings(bias=False)


def _weight_space() -> tuple[Data, LabSettings]:
    points = "1 2 1, 2 0.5 1, 3 2.5 1, -1 1 -1, -2 -0.5 -1, -0.5 -2 -1"
    settings = LabSettings(bias=False, eta=0.5, start=(-4.0, 3.0))
    return _points(points, "six points through the origin"), settings


def _overlapping() -> Data:
    points = (
        "1 1 -1, 2 1 -1, 1 2.5 -1, 2.5 2 -1, 3 1.5 -1, 2 3.5 -1, 3.5 3 -1, "
        "2 2.5 1, 3 3.5 1, 4 2 1, 4.5 3.5 1, 3.5 4.5 1, 5 2.5 1, 1.5 3 1"
    )
    return _points(points, "two classes that overlap")


_SCENES: MappingProxyType[str, tuple[str, Callable[[], tuple[Data, LabSettings]]]] = (
    MappingProxyType(
        {
            "two-orders": (
                "Run to the end, change the seed, and run again: another order, another line.",
                _two_orders,
            ),
            "pocket": (
                "Step: all four rows are added at once, and nothing moves. Move a point and step.",
                lambda: _example("xor", update="batch", keep="best"),
            ),
            "start": (
                "The run starts away from zero. Change the start and watch the potential fall.",
                lambda: _example("or", start=(3.0, -2.0, 1.0)),
            ),
            "offset": (
                "No line through the origin separates these points. Switch the bias on.",
                _offset,
            ),
            "average": (
                "Play, then compare the average with the last weights, which are dashed.",
                lambda: (_overlapping(), LabSettings(keep="average", max_epochs=30)),
            ),
            "movies": (
                "The worked example of the course: nine steps.",
                lambda: _example("movies"),
            ),
            "not-good": (
                "Run to the end and read which rows contradict each other. Then load the bigrams.",
                lambda: _example("not-good"),
            ),
            "lift": (
                "XOR, with the product of its features as a third one. Set the lift to none.",
                lambda: _example("xor", lift="products"),
            ),
            "weight-space": (
                "Two weights in all: each row is a line, each step a move towards the cone.",
                _weight_space,
            ),
            "one-vs-all": (
                "Three classes: choose which one counts as +1, against all others.",
                lambda: _example("triangle"),
            ),
        }
    )
)

SCENES = tuple(_SCENES)
