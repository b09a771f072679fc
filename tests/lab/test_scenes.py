"""Every scene loads, runs, and is what its task says."""

import re
from pathlib import Path

import pytest

from rosenblatt.lab.plane import frame_for
from rosenblatt.lab.recordings import record
from rosenblatt.lab.scenes import SCENES, load_scene
from rosenblatt.lab.session import Session
from rosenblatt.lab.view import view

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
    with pytest.raises(ValueError, match="no scene 'x'; choose one of two-orders, one-vs-all"):
        load_scene("x")


def test_every_chapter_has_two_scenes_that_exist():
    named = set()
    for path in CHAPTERS.glob("[1-5]*.md"):
        here = re.findall(r"^```\{scene\} ([\w-]+)$", path.read_text("utf-8"), re.MULTILINE)
        assert len(here) >= 2, path
        named |= set(here)
    assert named == set(SCENES)


@pytest.mark.parametrize("name", SCENES)
def test_an_exercise_is_not_solved_at_first_and_a_variant_solves_it(name):
    assert session_of(name).is_solved is False
    solved = []
    for _, change in load_scene(name).variants:
        session = session_of(name)
        change(session)
        session.finish()
        solved.append(session.is_solved)
    assert any(solved)


@pytest.mark.parametrize("name", ["two-orders", "average", "movies"])
def test_a_recording_holds_the_views_of_the_run(name):
    for variant, (title, change) in zip(
        record(name)["variants"], load_scene(name).variants, strict=True
    ):
        session = session_of(name)
        change(session)
        assert variant["name"] == title
        for step in variant["steps"]:
            shown = {**variant["first"], **step}
            if shown["position"] > session.position:
                session.step(shown["position"] - session.position)
            now = view(session, frame_for(session, with_line=True))
            assert {key: now[key] for key in shown} == shown
        assert session.ended
