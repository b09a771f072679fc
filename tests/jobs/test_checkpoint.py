"""Interrupted anywhere and resumed, a run ends in the same model, bit for bit."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from rosenblatt import data
from rosenblatt.data import write_cache
from rosenblatt.data.files import fingerprint
from rosenblatt.errors import ModelFormatError
from rosenblatt.jobs.checkpoint import Checkpoint
from rosenblatt.jobs.train import Settings, Trainer
from rosenblatt.models import load, save

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
    Settings(epochs=3),
    Settings(max_epochs=4, memory=1 << 16),
    Settings(epochs=2, averaged=False, memory=1 << 16),
    Settings(max_epochs=4),
]


def trainer(path, settings, folder=None, **options):
    source = data.open(path, text="text", block_bytes=BLOCK)
    return Trainer(source, settings, folder=folder, **options)


def file_of(model, folder):
    save(model, folder / "model")
    return (folder / "model").read_bytes()


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_run_stopped_after_any_step_resumes_to_the_same_file(reviews, settings, tmp_path):
    expected = file_of(trainer(reviews, settings).run(), tmp_path)
    total = sum(1 for _ in trainer(reviews, settings).steps())
    for stop in random.Random(1).sample(range(total), min(6, total)):
        checkpoint = Checkpoint(tmp_path / f"run{stop}")
        first = trainer(reviews, settings, checkpoint.row_folder)
        for step, _ in enumerate(first.steps()):
            if step == stop // 2:
                checkpoint.save(first)
            if step == stop:
                break
        second = trainer(reviews, settings, tmp_path / "other")
        assert checkpoint.resume(second)
        assert file_of(second.run(), tmp_path) == expected


def test_rows_on_disk_give_the_same_model_as_rows_in_memory(reviews, tmp_path):
    for settings in SETTINGS:
        in_memory = trainer(reviews, settings).run()
        on_disk = trainer(reviews, settings, tmp_path / "rows").run()
        assert file_of(in_memory, tmp_path) == file_of(on_disk, tmp_path)


def test_resuming_with_other_settings_or_files_is_refused(reviews, tmp_path):
    checkpoint = Checkpoint(tmp_path / "run")
    checkpoint.folder.mkdir()
    checkpoint.save(trainer(reviews, Settings(epochs=3), checkpoint.row_folder))
    with pytest.raises(ModelFormatError, match="seed differ"):
        checkpoint.resume(trainer(reviews, Settings(epochs=3, seed=1)))
    other = tmp_path / "other.csv"
    other.write_text(reviews.read_text().replace("w1 ", "w2 "))
    with pytest.raises(ModelFormatError, match="other files"):
        checkpoint.resume(trainer(other, Settings(epochs=3)))


@pytest.mark.parametrize("is_cached", [False, True])
def test_resuming_on_a_large_file_that_was_written_again_is_refused(tmp_path, is_cached):
    path = tmp_path / "a.csv"
    path.write_text("label,text\n" + "".join(f"{'ab'[i % 2]},w{i} w\n" for i in range(500_000)))
    found = fingerprint(str(path))
    used = path
    if is_cached:
        used = tmp_path / "a.cache"
        write_cache(data.open(path, text="text"), used)
    checkpoint = Checkpoint(tmp_path / "run")
    checkpoint.folder.mkdir()
    checkpoint.save(Trainer(data.open(used), Settings(epochs=3), folder=checkpoint.row_folder))
    assert checkpoint.resume(Trainer(data.open(used), Settings(epochs=3)))
    time.sleep(0.01)
    with path.open("r+b") as file:
        # Between the first two samples.
        file.seek((1 << 16) + 1000)
        file.write(b"z")
    assert fingerprint(str(path)) == found
    if is_cached:
        assert checkpoint.resume(Trainer(data.open(used), Settings(epochs=3)))
        shutil.rmtree(used)
        write_cache(data.open(path, text="text"), used)
    with pytest.raises(ModelFormatError, match="was written again since"):
        checkpoint.resume(Trainer(data.open(used), Settings(epochs=3)))


def test_without_a_checkpoint_there_is_nothing_to_resume(reviews, tmp_path):
    assert not Checkpoint(tmp_path).resume(trainer(reviews, Settings()))


PROGRAM = """
import sys
from pathlib import Path
from rosenblatt import data
from rosenblatt.jobs.checkpoint import Checkpoint
from rosenblatt.jobs.train import Settings, Trainer
from rosenblatt.models import save

path, folder, out = sys.argv[1:]
checkpoint = Checkpoint(Path(folder), rows=300)
checkpoint.folder.mkdir(exist_ok=True)
source = data.open(path, text="text", block_bytes=1 << 13)
settings = Settings(max_epochs=6, memory=1 << 16)
rows = None if checkpoint.file.exists() else checkpoint.row_folder
trainer = Trainer(source, settings, folder=rows, report=checkpoint.step)
checkpoint.resume(trainer)
print("ready", flush=True)
save(trainer.run(), out)
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
    expected = trainer(reviews, Settings(max_epochs=6, memory=1 << 16)).run()
    done = seed = 0
    while done < kills:
        folder = tmp_path / str(seed)
        folder.mkdir()
        more, model = killed_runs(reviews, folder, kills - done, seed)
        done, seed = done + more, seed + 1
        assert file_of(model, tmp_path) == file_of(expected, tmp_path)


def test_a_full_disk_leaves_the_last_checkpoint_whole(reviews, tmp_path):
    checkpoint = Checkpoint(tmp_path / "run")
    run = trainer(reviews, Settings(epochs=2), checkpoint.row_folder)
    steps = run.steps()
    next(steps)
    checkpoint.save(run)
    saved = checkpoint.file.read_bytes()
    next(steps)

    class Full(dict):
        def items(self):
            raise OSError(28, "No space left on device")

    run.learner.arrays = lambda: Full(W=1)
    with pytest.raises(OSError, match="No space"):
        checkpoint.save(run)
    assert checkpoint.file.read_bytes() == saved
    assert [p.name for p in Path(checkpoint.folder).iterdir() if p.name.startswith(".")] == []
