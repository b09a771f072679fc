"""An animation shows every step, or evenly many, and is complete or absent."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from rosenblatt import trace
from rosenblatt.viz import animate
from rosenblatt.viz.animation import _frames, _with_lines


def test_a_gif_has_a_frame_for_the_start_and_one_for_each_step(run, tmp_path):
    with Image.open(animate(run, tmp_path / "run.gif", dpi=30)) as film:
        assert film.n_frames == len(run) + 1
    assert [path.name for path in tmp_path.iterdir()] == ["run.gif"]


def test_every_line_of_a_film_is_in_its_frame_and_the_last_frame_rests(tmp_path):
    gate = trace([[0, 0], [0, 1], [1, 0], [1, 1]], [-1, 1, 1, 1])
    within = _with_lines(gate.path, np.array(gate.problem.X, dtype=float))
    for w, b in gate.path:
        if any(w):
            scores = within @ np.array(w, dtype=float) + float(b)
            assert scores.min() <= 1e-9
            assert scores.max() >= -1e-9
    with Image.open(animate(gate, tmp_path / "run.gif", dpi=30)) as film:
        film.seek(film.n_frames - 1)
        assert film.info["duration"] == 2500


def test_a_long_run_is_cut_to_its_updates():
    run = trace([[1], [2], [3], [4]], [-1, -1, 1, 1])
    frames = _frames(run, 10)
    assert len(frames) == 10
    assert frames[0] == 0
    assert frames[-1] == len(run)
    assert frames == sorted(frames)


def test_other_endings_are_refused(run, tmp_path):
    with pytest.raises(ValueError, match=r"must be \.gif"):
        animate(run, tmp_path / "run.avi")


def test_a_notebook_plays_the_animation(tmp_path):
    film = animate(trace([[2, 1], [-1, 1]], [1, -1]), tmp_path / "run.gif", dpi=30)
    assert isinstance(film, Path)
    assert film._repr_html_().startswith('<img alt="run.gif" src="data:image/gif;base64,R0lG')
