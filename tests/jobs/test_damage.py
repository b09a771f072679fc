"""Whatever happens to a saved run, it goes on to the same model or is refused by name."""

from __future__ import annotations

import shutil
import threading

import numpy as np
import pytest

from rosenblatt import data, train, training
from rosenblatt.data.store import DTYPES
from rosenblatt.errors import DataError, ModelFormatError
from rosenblatt.jobs.checkpoint import Checkpoint
from rosenblatt.jobs.options import TrainOptions
from rosenblatt.jobs.outcome import trained_model
from rosenblatt.jobs.rows import FileRows
from rosenblatt.jobs.run import Run
from rosenblatt.models import tensorfile

SETTINGS = TrainOptions(rates="none", max_epochs=3, memory=1 << 12)


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    """Rows with weights, and with entries in all parts of a packed row."""
    generator = np.random.default_rng(0)
    lines = []
    for _ in range(900):
        columns = np.unique(generator.integers(1, 1_000_000, 200))
        entries = " ".join(f"{c}:{1 + (c % 5 == 0)}" for c in columns)
        lines.append(f"{generator.integers(0, 3)} {entries}")
    path = tmp_path_factory.mktemp("data") / "a.svm"
    path.write_text("\n".join(lines) + "\n")
    return path


def new_run(path, folder=None):
    rows = FileRows(data.open(path, block_bytes=1 << 14), SETTINGS, folder=folder)
    return Run(rows, SETTINGS)


def finished(run, folder):
    for part, plan in run.phases():
        for _ in training.run(run.learner, part, plan, run.progress):
            pass
    trained_model(run).save(folder / "model")
    run.rows.close()
    return (folder / "model").read_bytes()


@pytest.fixture(scope="module", params=["reading", "epochs"])
def saved(request, numbers, tmp_path_factory):
    """A run that was stopped, and how it ends."""
    folder = tmp_path_factory.mktemp("saved")
    checkpoint = Checkpoint(folder / "run")
    run = new_run(numbers, checkpoint.row_cache)
    for part, plan in run.phases():
        for _ in training.run(run.learner, part, plan, run.progress):
            if run.phase == request.param and len(run.rows.store) > 450:
                break
        break
    checkpoint.save(run)
    run.rows.close()
    assert all((checkpoint.row_cache / name).stat().st_size for name in DTYPES)
    return folder / "run", finished(new_run(numbers), folder)


def resumed(numbers, folder, tmp_path):
    run = new_run(numbers)
    try:
        assert Checkpoint(folder).resume(run)
        return finished(run, tmp_path)
    finally:
        run.rows.close()


def copied(saved, tmp_path):
    shutil.copytree(saved[0], tmp_path / "run")
    return tmp_path / "run"


def test_what_came_after_the_checkpoint_is_cut_off(numbers, saved, tmp_path):
    folder = copied(saved, tmp_path)
    for name in DTYPES:
        with (folder / "rows" / name).open("ab") as file:
            file.write(b"later" * 7)
    assert resumed(numbers, folder, tmp_path) == saved[1]


@pytest.mark.parametrize("name", DTYPES)
def test_row_files_that_are_missing_cut_or_flipped_are_refused(numbers, saved, tmp_path, name):
    folder = copied(saved, tmp_path)
    path = folder / "rows" / name
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0x10
    for damaged in (whole[: len(whole) // 2], whole[:-1], b"", bytes(flipped), None):
        path.unlink(missing_ok=True)
        if damaged is not None:
            path.write_bytes(damaged)
        size = path.stat().st_size if damaged is not None else None
        with pytest.raises(ModelFormatError, match=rf"rows/{name} is damaged.*train again"):
            resumed(numbers, folder, tmp_path)
        assert size is None or path.stat().st_size == size


def test_a_checkpoint_with_any_bit_flipped_or_cut_is_refused_or_the_same(numbers, saved, tmp_path):
    folder = copied(saved, tmp_path)
    file = folder / "checkpoint"
    whole = file.read_bytes()
    generator, refused = np.random.default_rng(1), 0
    header = int.from_bytes(whole[:8], "little")
    places = [*generator.integers(0, 8 + header, 40), *generator.integers(0, len(whole), 40)]
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(generator.integers(0, 8))
        file.write_bytes(damaged)
        try:
            assert resumed(numbers, folder, tmp_path) == saved[1]
        except ModelFormatError:
            refused += 1
    assert refused > 70
    for cut in (0, 7, header, len(whole) - 1):
        file.write_bytes(whole[:cut])
        with pytest.raises(ModelFormatError, match="checkpoint"):
            resumed(numbers, folder, tmp_path)


def _set(name, change):
    def damage(arrays, about):
        arrays[name] = change(arrays[name].copy())

    return damage


def _say(name, value):
    def damage(arrays, about):
        about[name] = value

    return damage


def _first(value):
    def change(array):
        array.flat[0] = value
        return array

    return change


HOSTILE = {
    "a column beyond": _set("columns", _first(1 << 31)),
    "a column twice": _set("columns", lambda a: np.append(a[:-1], a[0])),
    "fewer columns than places": _set("columns", lambda a: a[:5]),
    "columns of floats": _set("columns", lambda a: a.astype(np.float32)),
    "weights of too many features": _set("learner.weights", lambda a: np.tile(a, (1, 2))),
    "weights of too few problems": _set("learner.weights", lambda a: a[:1]),
    "infinite weights": _set("learner.weights", _first(np.inf)),
    "a short bias": _set("learner.bias", lambda a: a[:1]),
    "short sums": _set("learner.sums", lambda a: a[:, :3]),
    "fewer classes than codes": _say("classes", ["0"]),
    "too many classes": _say("n_classes", 2**70),
    "no runs": _say("runs", []),
    "no store": _say("store", {}),
    "blocks that fall": _say("store", {"blocks": [0, 5, 3], "ends": [1, 1, 1], "memory": 1}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_checkpoint_that_does_not_fit_together_is_refused(numbers, saved, tmp_path, name):
    folder = copied(saved, tmp_path)
    arrays, about = tensorfile.read(folder / "checkpoint")
    HOSTILE[name](arrays, about)
    tensorfile.write(folder / "checkpoint", arrays, about)
    with pytest.raises(ModelFormatError, match="damaged"):
        resumed(numbers, folder, tmp_path)


def test_a_checkpoint_folder_has_one_run_at_a_time(numbers, tmp_path):
    inside, leave = threading.Event(), threading.Event()

    def wait(run):
        inside.set()
        leave.wait(60)

    first = threading.Thread(
        target=train, args=(numbers,),
        kwargs={"epochs": 1, "checkpoint": tmp_path / "run", "report": wait},
    )  # fmt: skip
    first.start()
    assert inside.wait(60)
    try:
        for resume in (False, True):
            with pytest.raises(DataError, match="another run uses this checkpoint folder"):
                train(numbers, epochs=1, checkpoint=tmp_path / "run", resume=resume)
    finally:
        leave.set()
        first.join()
    train(numbers, epochs=1, checkpoint=tmp_path / "run")
    assert list((tmp_path / "run").iterdir()) == []
