"""Every scene loads, runs, and is what its task says."""

import re
from pathlib import Path

import pytest

from rosenblatt.lab.scenes import SCENES, load_scene
from rosenblatt.lab.session import Session
from rosenblatt.lab.view import frame_for, view

CHAPTERS = Path(__file__).parents[2] / "docs" / "course"


def session_of(name):
    session = Session()
    session.load_scene(name)
    return session


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_runs_to_its_end_and_can_be_drawn(name):
    session = session_of(name)
    session.finish()
    assert session.ended
    shown = view(session, frame_for(session))
    assert (shown["loaded"], shown["task"]) == (f"scene {name}", load_scene(name).task)


def test_the_scenes_show_what_they_are_about():
    assert session_of("offset").certificate.verdict == "inseparable"
    turned_on = session_of("offset")
    turned_on.configure(bias=True)
    assert turned_on.certificate.verdict == "separable"
    pocket = session_of("pocket")
    pocket.finish()
    assert pocket.run.stop_reason == "cycle"
    assert pocket.run.at(pocket.position) == ((0, 0), 0)
    assert session_of("average").certificate.verdict == "inseparable"
    ends = set()
    for seed in range(8):
        orders = session_of("two-orders")
        orders.configure(seed=seed)
        orders.finish()
        ends.add(orders.weights)
    assert len(ends) > 1


def test_an_unknown_scene_is_refused_with_those_that_exist():
    with pytest.raises(ValueError, match="no scene 'x'; choose one of two-orders, pocket"):
        load_scene("x")


def test_every_scene_of_the_course_exists():
    text = "".join(path.read_text("utf-8") for path in CHAPTERS.glob("*.md"))
    named = set(re.findall(r"lab --scene ([\w-]+)", text)) - {"NAME"}
    linked = set(re.findall(r"7673/#scene=([\w-]+)", text))
    assert named >= linked
    assert linked
    assert named <= set(SCENES)
