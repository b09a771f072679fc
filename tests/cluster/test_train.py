"""Training on shards: the model depends on the shards, and on nothing else."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rosenblatt import load, train
from rosenblatt.cluster.rows import ShardWarning
from rosenblatt.data import open as open_data
from rosenblatt.errors import DataError, ModelFormatError, OptionError
from rosenblatt.jobs.evaluate import evaluate
from rosenblatt.process import Stopped

from .reviews import same_bits, write_reviews

pytestmark = pytest.mark.filterwarnings("ignore:the .* shards have:UserWarning")


@pytest.fixture(scope="module")
def expected(reviews):
    """The model of seven shards."""
    with ThreadPoolExecutor(1) as pool:
        return train(reviews, label="sentiment", max_epochs=4, workers=pool, shards=7)


@pytest.mark.parametrize("average", [False, True])
def test_one_shard_gives_the_model_of_a_run_without_workers(reviews, threads, average, tmp_path):
    valid = write_reviews(tmp_path / "valid.csv", 150, seed=1)
    options = {"label": "sentiment", "max_epochs": 5, "average": average, "valid": valid}
    serial = train(reviews, **options)
    model = train(reviews, **options, workers=threads, shards=1)
    assert model.history == serial.history
    assert model.bias == pytest.approx(serial.bias, rel=1e-12)
    if average:  # epochs are averaged one by one
        places = {c: i for i, c in enumerate(serial.columns.tolist())}
        own = serial.weights[[places[c] for c in model.columns.tolist()]]
        assert np.abs(model.weights - own).max() < 1e-6
    else:
        assert np.array_equal(model.columns, serial.columns)
        assert np.array_equal(model.weights, serial.weights)


def test_the_model_is_the_same_for_any_number_and_kind_of_workers(reviews, threads, expected):
    options = {"label": "sentiment", "max_epochs": 4, "shards": 7}
    assert len(expected.fingerprint["shards"]) == 7
    assert same_bits(train(reviews, **options, workers=threads), expected)
    assert same_bits(train(reviews, **options, workers=2), expected)


def test_rows_beyond_the_memory_are_visited_all_the_same(reviews, threads):
    options = {"label": "sentiment", "workers": threads, "shards": 3}
    one, whole = (train(reviews, **options, epochs=1, memory=size) for size in (1, 1 << 29))
    assert np.array_equal(one.weights, whole.weights)  # in the order of the files
    later = train(reviews, **options, epochs=4, memory=1)
    assert later.history[0] == whole.history[0]
    assert later.history[-1]["mistakes"] < later.history[0]["mistakes"] / 2


def test_the_model_of_16_shards_is_nearly_as_good_as_that_of_one(tmp_path, threads):
    path = write_reviews(tmp_path / "many.csv", 4000)
    test = write_reviews(tmp_path / "test.csv", 1000, seed=1)
    serial = train(path, label="sentiment", valid=test)
    mixed = train(path, label="sentiment", valid=test, workers=threads, shards=16)
    errors = [min(e["validation_error"] for e in m.history) for m in (serial, mixed)]
    assert errors[1] < errors[0] + 0.02


def write_table(path, rows, seed=0):
    """Overlapping clusters of three classes: a table that cannot be separated."""
    centres = np.random.default_rng(7).normal(size=(3, 8))
    generator = np.random.default_rng(seed)
    y = generator.integers(0, 3, rows)
    X = centres[y] + generator.normal(size=(rows, 8)) * np.geomspace(1.0, 3.0, 8)
    names = ",".join(["label", *(f"c{j}" for j in range(8))])
    np.savetxt(path, np.column_stack([y, X]), "%.5g", ",", header=names, comments="")
    return path


def test_a_table_on_16_shards_has_the_epochs_and_the_threshold_that_it_needs(tmp_path, threads):
    path, test = write_table(tmp_path / "a.csv", 6000), write_table(tmp_path / "b.csv", 4000, 1)
    serial = train(path, lift="none")
    mixed = train(path, lift="none", workers=threads, shards=16)
    source = [open_data(test, features=m.features, classes=m.classes) for m in (serial, mixed)]
    accuracy = [evaluate(m, s).accuracy for m, s in zip((serial, mixed), source, strict=True)]
    assert accuracy[1] > accuracy[0] - 0.01
    assert mixed.parameters["threshold"] == 1.0
    assert len(mixed.history) == 64
    short = train(path, workers=threads, shards=16, max_epochs=2, threshold=3.0)
    assert (len(short.history), short.parameters["threshold"]) == (2, 3.0)


def test_several_classes_are_learned_whichever_shard_they_are_in(tmp_path, threads):
    lines = [f"{label} {label}:1 {10 + i % 7}:0.5" for label in (1, 2, 3, 4) for i in range(60)]
    path = tmp_path / "sorted.svm"
    path.write_text("\n".join(lines) + "\n")
    model = train(path, epochs=10, workers=threads, shards=6)
    assert model.classes == ("1", "2", "3", "4")
    rows = [{int(label): 1.0} for label in model.classes]
    assert [model.explain(row).predicted for row in rows] == list(model.classes)


def test_a_run_that_is_stopped_after_an_epoch_ends_in_the_same_model(
    reviews, threads, expected, tmp_path
):
    def stop(run):
        if len(run.history) == 2 and run.done:
            raise KeyboardInterrupt

    options = {"label": "sentiment", "max_epochs": 4, "shards": 7, "checkpoint": tmp_path / "run"}
    with pytest.raises(KeyboardInterrupt):
        train(reviews, **options, workers=threads, report=stop)
    with pytest.raises(DataError, match="--resume"):
        train(reviews, **options, workers=threads)
    with pytest.raises(ModelFormatError, match="other files, or on other shards"):
        train(reviews, **(options | {"shards": 3}), workers=threads, resume=True)
    with pytest.raises(ModelFormatError, match="max_epochs differ"):
        train(reviews, **(options | {"max_epochs": 9}), workers=threads, resume=True)
    with ThreadPoolExecutor(1) as pool:
        model = train(reviews, **options, workers=pool, resume=True)
    assert same_bits(model, expected)
    assert list((tmp_path / "run").iterdir()) == []


def test_a_run_that_is_stopped_in_its_refit_ends_in_the_same_model(reviews, threads, tmp_path):
    options = {"label": "sentiment", "max_epochs": 4, "holdout": 0.2, "shards": 3}
    whole = train(reviews, **options, workers=threads)
    phases = []

    def stop(run):
        phases.append(run.phase)
        if run.phase == "refit" and run.progress.epoch == 2:
            raise KeyboardInterrupt

    run = {"checkpoint": tmp_path / "run", "workers": threads}
    with pytest.raises(KeyboardInterrupt):
        train(reviews, **options, **run, report=stop)
    assert phases[-1] == "refit"
    assert same_bits(train(reviews, **options, **run, resume=True), whole)


def test_ctrl_c_in_the_middle_of_an_epoch_says_how_to_go_on(reviews, expected, tmp_path):
    asked = []

    def press(run):
        if len(run.history) == 1 and run.done and not asked:
            asked.append(os.kill(os.getpid(), signal.SIGINT))

    options = {"label": "sentiment", "max_epochs": 4, "shards": 7, "checkpoint": tmp_path / "run"}
    with pytest.raises(Stopped, match="--resume"):
        train(reviews, **options, workers=1, report=press)
    assert (tmp_path / "run" / "shards").is_dir()
    assert same_bits(train(reviews, **options, workers=1, resume=True), expected)


def test_ctrl_c_without_a_checkpoint_saves_the_model(reviews, threads, tmp_path):
    asked = []

    def press(run):
        if len(run.history) == 2 and not asked:
            asked.append(os.kill(os.getpid(), signal.SIGINT))

    with pytest.raises(Stopped, match="--from"):
        train(
            reviews, label="sentiment", epochs=9, shards=3, workers=threads, report=press,
            out=tmp_path / "a.model",
        )  # fmt: skip
    assert len(load(tmp_path / "a.model").history) == 2


def test_a_damaged_checkpoint_is_refused(reviews, threads, tmp_path):
    def stop(run):
        if len(run.history) == 1 and run.done:
            raise KeyboardInterrupt

    options = {"label": "sentiment", "shards": 3, "checkpoint": tmp_path, "workers": threads}
    with pytest.raises(KeyboardInterrupt):
        train(reviews, **options, report=stop)
    whole = (tmp_path / "checkpoint").read_bytes()
    (tmp_path / "checkpoint").write_bytes(whole[:-9] + b"x" * 9)
    with pytest.raises(ModelFormatError, match="checksum"):
        train(reviews, **options, resume=True)


def test_a_run_goes_on_from_a_model_and_back(reviews, threads):
    first = train(reviews, label="sentiment", epochs=2, workers=threads, shards=3)
    second = train(reviews, start=first, epochs=2, workers=threads, shards=3)
    third = train(reviews, start=second, epochs=1)
    assert second.history[0]["mistakes"] < first.history[0]["mistakes"]
    assert third.history[0]["mistakes"] < first.history[0]["mistakes"]
    with pytest.raises(OptionError, match="fixes bits"):
        train(reviews, start=first, bits=12, workers=threads)


def test_small_shards_are_warned_of(reviews, threads):
    with pytest.warns(ShardWarning, match="below 10,000 rows per shard"):
        train(reviews, label="sentiment", epochs=1, workers=threads, shards=2)


def test_workers_that_die_are_replaced(reviews, expected):
    killed = []

    def kill(run):
        if run.history and not killed:
            killed.extend(run.rows.engine.executor.pids)
            for process in killed:
                os.kill(process, signal.SIGKILL)

    options = {"label": "sentiment", "max_epochs": 4, "shards": 7}
    assert same_bits(train(reviews, **options, workers=2, report=kill), expected)
    assert killed


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {"a.csv": "label,x\na,1\n", "b.csv": "label,y\nb,2\n"},
            "there is no column 'x'; the columns",
        ),
        ({"a.csv": "label,x\na,1\n"}, "all rows have the label 'a', in all shards"),
        ({"a.csv": "label,x\n"}, "the file has no rows"),
        ({}, "there is no such file"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing_behind(content, message, tmp_path, threads):
    for name, text in content.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=message):
        train(str(tmp_path / "*.csv"), workers=threads, shards=2, out=tmp_path / "a.model")
    assert {path.name for path in tmp_path.iterdir()} == set(content)


class Replacing(ThreadPoolExecutor):
    """Replaces a file when it is asked for the third task of the first pass."""

    def __init__(self, path):
        super().__init__(1)
        self.path, self.passes = path, 0

    def submit(self, function, environment, task, *arguments):
        self.passes += task.__name__ == "summarize"
        if self.passes == 3:
            other = self.path.with_suffix(".new")
            other.write_text("sentiment,review\na,b,c,d\n" * 5000)
            other.replace(self.path)
        return super().submit(function, environment, task, *arguments)


def test_a_file_that_is_replaced_during_a_run_is_named(tmp_path):
    path = write_reviews(tmp_path / "a.csv", 3000)
    with (
        Replacing(path) as pool,
        pytest.raises(DataError, match=r"a\.csv: was changed while it was read"),
    ):
        train(path, label="sentiment", workers=pool, shards=8, out=tmp_path / "a.model")
    assert [left.name for left in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize(
    ("workers", "message"),
    [
        (0, "at least 1"),
        ("many", "neither a number of processes nor the address"),
        (True, "a number of processes or the address"),
        (3.5, "not float"),
    ],
)
def test_what_is_not_a_worker_is_refused(reviews, workers, message):
    with pytest.raises(OptionError, match=message):
        train(reviews, label="sentiment", workers=workers)


def test_what_cannot_be_cut_is_refused(reviews, threads):
    with pytest.raises(OptionError, match="a table in memory without workers"):
        train({"label": ["a", "b"], "x": [1, 2]}, workers=threads)
    with pytest.raises(DataError, match="standard input"):
        train("-", workers=threads)
    with pytest.raises(OptionError, match="shards are for workers"):
        train(reviews, label="sentiment", shards=3)


@pytest.mark.parametrize(
    "option",
    [{"rule": "arow"}, {"rule": "pa1:C=0.1"}, {"class_weight": "balanced"}, {"weight": "review"}],
)
def test_what_learns_in_another_way_is_refused_with_workers(reviews, threads, option, tmp_path):
    with pytest.raises(OptionError, match=f"{next(iter(option))} is not supported with workers"):
        train(reviews, label="sentiment", workers=threads, out=tmp_path / "a.model", **option)
    assert list(tmp_path.iterdir()) == []
