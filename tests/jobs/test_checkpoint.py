"""Interrupted anywhere and resumed, a run ends in the same model, bit for bit."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from rosenblatt import data, load, train, training
from rosenblatt.data.bytes import fingerprint
from rosenblatt.data.source import StrayCellsWarning
from rosenblatt.errors import DataError, ModelFormatError
from rosenblatt.jobs.checkpoint import Checkpoint
from rosenblatt.jobs.options import TrainOptions
from rosenblatt.jobs.outcome import trained_model
from rosenblatt.jobs.rows import FileRows
from rosenblatt.jobs.run import Run

BLOCK = 1 << 13


@pytest.fixture(scope="module")
def reviews(tmp_path_factory):
    """A file of several blocks, whose third class turns up late."""
    generator = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(400)])
    lines = ["label,text"]
    for row in range(1500):
        label = generator.integers(0, 3 if row > 700 else 2)
        picks = generator.zipf(1.3, 12) % 390 + 3 * label
        lines.append(f"{'abc'[label]},{' '.join(words[picks])}")
    path = tmp_path_factory.mktemp("data") / "reviews.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


SETTINGS = [
    TrainOptions(epochs=3),
    TrainOptions(max_epochs=4, memory=1 << 16),
    TrainOptions(epochs=2, average=False, memory=1 << 16),
    TrainOptions(max_epochs=4),
    TrainOptions(epochs=3, rule="arow"),
    TrainOptions(max_epochs=3, multiclass="ovo"),
]


def new_run(path, settings, folder=None, **options):
    source = data.open(path, text="text", block_bytes=BLOCK)
    run = Run(FileRows(source, settings, folder=folder, **options), settings)
    run.begin()
    return run


def steps(run):
    """Everything that `rosenblatt.train` does between two times that a run can be saved."""
    for part, plan in run.phases():
        for _ in training.run(run.learner, part, plan, run.progress):
            yield


def finished(run):
    for _ in steps(run):
        pass
    return trained_model(run)


def file_of(model, folder):
    model.save(folder / "model")
    return (folder / "model").read_bytes()


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_run_stopped_after_any_step_resumes_to_the_same_file(reviews, settings, tmp_path):
    expected = file_of(finished(new_run(reviews, settings)), tmp_path)
    phases = [run.phase for run in [new_run(reviews, settings)] for _ in steps(run)]
    assert phases.count("reading") > 5
    assert ("refit" in phases) == (settings.epochs is None and settings.memory > 1 << 16)
    # One step of each phase at least, and some more.
    stops = {phases.index(phase) for phase in phases}
    stops |= set(random.Random(1).sample(range(len(phases)), min(6, len(phases))))
    for stop in stops:
        checkpoint = Checkpoint(tmp_path / f"run{stop}")
        first = new_run(reviews, settings, checkpoint.row_cache)
        for step, _ in enumerate(steps(first)):
            if step in (stop // 2, stop):
                checkpoint.save(first)
            if step == stop + 2:  # what comes later is lost
                break
        second = new_run(reviews, settings, tmp_path / "other")
        assert checkpoint.resume(second)
        assert file_of(finished(second), tmp_path) == expected, (stop, phases[stop])


def test_resuming_with_a_validation_file_gives_the_same_file(reviews, tmp_path):
    def begun(folder=None):
        valid = data.open(reviews, text="text")
        return new_run(reviews, TrainOptions(max_epochs=3), folder, valid=valid)

    expected = file_of(finished(begun()), tmp_path)
    total = sum(1 for _ in steps(begun()))
    for stop in (2, total // 2, total - 2):
        checkpoint = Checkpoint(tmp_path / f"run{stop}")
        first = begun(checkpoint.row_cache)
        for step, _ in enumerate(steps(first)):
            if step == stop:
                checkpoint.save(first)
                break
        second = begun()
        assert checkpoint.resume(second)
        assert file_of(finished(second), tmp_path) == expected


def test_threads_give_the_same_file(reviews, tmp_path):
    files = [
        file_of(train(reviews, text="text", epochs=2, n_jobs=n_jobs), tmp_path) for n_jobs in (1, 2)
    ]
    assert files[0] == files[1]


def test_rows_on_disk_give_the_same_model_as_rows_in_memory(reviews, tmp_path):
    for settings in SETTINGS:
        in_memory = finished(new_run(reviews, settings))
        on_disk = finished(new_run(reviews, settings, tmp_path / "rows"))
        assert file_of(in_memory, tmp_path) == file_of(on_disk, tmp_path)


def test_train_resumes_after_a_failure_to_the_same_file(reviews, tmp_path):
    expected = file_of(train(data.open(reviews, text="text", block_bytes=BLOCK)), tmp_path)
    calls = 0

    def fails(run):
        nonlocal calls
        calls += 1
        if calls % 7 == 0:
            raise RuntimeError("lost")

    resume, failures = False, 0
    while True:
        source = data.open(reviews, text="text", block_bytes=BLOCK)
        try:
            model = train(
                source, checkpoint=tmp_path / "run", checkpoint_rows=1, resume=resume, report=fails
            )
        except RuntimeError:
            resume, failures = True, failures + 1
        else:
            break
    assert failures > 1
    assert file_of(model, tmp_path) == expected
    assert list((tmp_path / "run").iterdir()) == []


def test_a_saved_run_is_not_overwritten_unasked(reviews, tmp_path):
    checkpoint = Checkpoint(tmp_path / "run")
    checkpoint.save(new_run(reviews, TrainOptions(), checkpoint.row_cache))
    with pytest.raises(DataError, match="a run is saved here"):
        train(reviews, checkpoint=tmp_path / "run")


def test_resuming_with_other_settings_or_files_is_refused(reviews, tmp_path):
    checkpoint = Checkpoint(tmp_path / "run")
    checkpoint.save(new_run(reviews, TrainOptions(epochs=3), checkpoint.row_cache))
    with pytest.raises(ModelFormatError, match="seed differ"):
        checkpoint.resume(new_run(reviews, TrainOptions(epochs=3, seed=1)))
    other = tmp_path / "other.csv"
    other.write_text(reviews.read_text().replace("w1 ", "w2 "))
    with pytest.raises(ModelFormatError, match="other files"):
        checkpoint.resume(new_run(other, TrainOptions(epochs=3)))


def test_resuming_on_a_large_file_that_was_written_again_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("label,text\n" + "".join(f"{'ab'[i % 2]},w{i} w\n" for i in range(500_000)))
    found = fingerprint(str(path))
    checkpoint = Checkpoint(tmp_path / "run")
    checkpoint.save(new_run(path, TrainOptions(epochs=3), checkpoint.row_cache))
    assert checkpoint.resume(new_run(path, TrainOptions(epochs=3)))
    time.sleep(0.01)
    with path.open("r+b") as file:
        # Between the first two samples.
        file.seek((1 << 16) + 1000)
        file.write(b"z")
    assert fingerprint(str(path)) == found
    with pytest.raises(ModelFormatError, match="was written again since"):
        checkpoint.resume(new_run(path, TrainOptions(epochs=3)))


def test_without_a_checkpoint_there_is_nothing_to_resume(reviews, tmp_path):
    assert not Checkpoint(tmp_path).resume(new_run(reviews, TrainOptions()))


PROGRAM = """
import sys
from pathlib import Path
from rosenblatt import data, train

path, folder, out = sys.argv[1:]
source = data.open(path, text="text", block_bytes=1 << 13)
begun = []

def report(run):
    if not begun:
        begun.append(print("ready", flush=True))

train(source, max_epochs=6, memory=1 << 16, checkpoint=folder, checkpoint_rows=300, resume=True,
      out=out, report=report)
"""


def killed_runs(path, folder, kills, seed):
    """Run the program, kill it at random moments, let it end, and count the kills."""
    out = folder / "killed.model"
    generator, done = random.Random(seed), 0
    command = [sys.executable, "-c", PROGRAM, path, folder / "run", out]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    while not out.exists():
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            if done < kills:
                time.sleep(generator.uniform(0.0, 0.12))
                process.send_signal(signal.SIGKILL)
                done += process.wait() == -signal.SIGKILL
            else:
                assert process.wait() == 0
    return done, load(out)


def test_killed_at_random_moments_it_ends_in_the_same_model(reviews, tmp_path):
    kills = int(os.environ.get("ROSENBLATT_KILLS", "3"))
    expected = finished(new_run(reviews, TrainOptions(max_epochs=6, memory=1 << 16)))
    done = seed = 0
    while done < kills:
        folder = tmp_path / str(seed)
        folder.mkdir()
        more, model = killed_runs(reviews, folder, kills - done, seed)
        done, seed = done + more, seed + 1
        assert file_of(model, tmp_path) == file_of(expected, tmp_path)


def test_a_full_disk_leaves_the_last_checkpoint_whole(reviews, tmp_path, monkeypatch):
    checkpoint = Checkpoint(tmp_path / "run")
    run = new_run(reviews, TrainOptions(epochs=2), checkpoint.row_cache)
    going = steps(run)
    next(going)
    checkpoint.save(run)
    saved = checkpoint.file.read_bytes()
    next(going)

    def is_full(file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rosenblatt.atomic_files.os.fsync", is_full)
    monkeypatch.setattr(run.rows.store, "flush", lambda sync: None)
    with pytest.raises(OSError, match="No space"):
        checkpoint.save(run)
    assert checkpoint.file.read_bytes() == saved
    assert [p.name for p in Path(checkpoint.folder).iterdir() if p.name.startswith(".")] == []


def test_a_resumed_run_keeps_the_names_of_stray_cells(tmp_path):
    rows = [f"{'ab'[i % 2]},{i % 2}" for i in range(3000)]
    rows[5] = "b,many"
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["label,x", *rows]) + "\n")
    runs = []

    def fails(run):
        runs.append(run)
        if len(runs) == 1:
            raise RuntimeError("lost")

    options = {"checkpoint": tmp_path / "run", "checkpoint_rows": 1, "report": fails, "epochs": 3}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StrayCellsWarning)
        with pytest.raises(RuntimeError, match="lost"):
            train(path, **options)
        train(path, resume=True, **options)
    assert runs[-1].source.named_strays == [(str(path), 7, "x", "'many'")]
    assert dict(runs[-1].source.strays) == {"x": 1}
