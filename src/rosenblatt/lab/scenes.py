"""Scenes: points and settings to start an exercise with, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rosenblatt import teaching_sets
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
    return _SCENES[name]


def _scene(name: str, title: str, points: str, task: str, **settings: Any) -> Scene:
    """A scene of points written as ``x y sign`` and separated by commas."""
    rows = [tuple(map(float, point.split())) for point in points.split(",")]
    X, signs = tuple(row[:2] for row in rows), tuple(int(row[2]) for row in rows)
    return Scene(name, task, Data(("across", "up"), X, signs, title=title), LabSettings(**settings))


def _example_scene(name: str, example: str, task: str, **settings: Any) -> Scene:
    """A scene of an example of :mod:`rosenblatt.teaching_sets`, with the rule of its source."""
    source = teaching_sets.load(example)
    settings = {"mistake": source.mistake, "bias": source.fit_intercept, **settings}
    return Scene(name, task, Data.example(example), LabSettings(**settings))


_SCENES = {
    scene.name: scene
    for scene in (
        _scene(
            "two-orders",
            "six points, many solutions",
            "0 1 -1, 1 0 -1, 1 1 -1, 2 1 1, 1 2 1, 3 2 1",
            "Run to the end, change the seed, and run again: another order, another line.",
            order="shuffled",
        ),
        _example_scene(
            "pocket",
            "xor",
            "Step: all four rows are added at once, and nothing moves. Move a point and step.",
            update="batch",
            keep="best",
        ),
        _example_scene(
            "start",
            "or",
            "The run starts away from zero. Change the start and watch the potential fall.",
            start=(3.0, -2.0, 1.0),
        ),
        _scene(
            "offset",
            "separable, but not through the origin",
            "1 0 -1, 0 1 -1, 2 2 1",
            "No line through the origin separates these points. Switch the bias on.",
            bias=False,
        ),
        _scene(
            "average",
            "two classes that overlap",
            "1 1 -1, 2 1 -1, 1 2.5 -1, 2.5 2 -1, 3 1.5 -1, 2 3.5 -1, 3.5 3 -1, "
            "2 2.5 1, 3 3.5 1, 4 2 1, 4.5 3.5 1, 3.5 4.5 1, 5 2.5 1, 1.5 3 1",
            "Play, then compare the average with the last weights, which are dashed.",
            keep="average",
            max_epochs=30,
        ),
        _example_scene("movies", "movies", "The worked example of the course: nine steps."),
        _example_scene(
            "not-good",
            "not-good",
            "Run to the end and read which rows contradict each other. Then load the bigrams.",
        ),
        _example_scene(
            "lift",
            "xor",
            "XOR, with the product of its features as a third one. Set the lift to none.",
            lift="products",
        ),
        _scene(
            "weight-space",
            "six points through the origin",
            "1 2 1, 2 0.5 1, 3 2.5 1, -1 1 -1, -2 -0.5 -1, -0.5 -2 -1",
            "Two weights in all: each row is a line, each step a move towards the cone.",
            bias=False,
            eta=0.5,
            start=(-4.0, 3.0),
        ),
        _example_scene(
            "one-vs-all",
            "triangle",
            "Three classes: choose which one counts as +1, against all others.",
        ),
    )
}

SCENES = tuple(_SCENES)
