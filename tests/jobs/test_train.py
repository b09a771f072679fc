"""Training from a source: what it promises about order, classes, memory and going on."""

from __future__ import annotations

import numpy as np
import pytest

from rosenblatt import data, reference
from rosenblatt.data import Features
from rosenblatt.errors import DataError
from rosenblatt.jobs.train import Settings, Trainer
from rosenblatt.kernels.text import Ngrams
from rosenblatt.models import Model


def svmlight(folder, rows, labels, name="a.svm"):
    lines = [
        " ".join([str(y), *(f"{j}:{v}" for j, v in enumerate(x) if v)])
        for x, y in zip(rows, labels, strict=True)
    ]
    (folder / name).write_text("\n".join(lines) + "\n")
    return folder / name


@pytest.fixture
def integers():
    generator = np.random.default_rng(3)
    X = generator.integers(-3, 4, (60, 5))
    y = np.where(X @ [2, -1, 1, 0, 1] + generator.integers(-2, 3, 60) > 0, 1, -1)
    return X, y


@pytest.mark.parametrize("averaged", [False, True])
def test_one_pass_takes_the_steps_of_the_reference(integers, averaged, tmp_path):
    X, y = integers
    steps = list(reference.online(X.tolist(), y.tolist(), threshold=1, padding=2, max_epochs=1))
    settings = Settings(epochs=1, threshold=1.0, padding=2.0, averaged=averaged)
    model = Trainer(data.open(svmlight(tmp_path, X, y)), settings).run()
    found = np.zeros(5)
    found[model.columns] = model.weights[:, 0]
    if averaged:
        expected = np.mean([step.weights_after for step in steps], axis=0)
        bias = np.mean([step.bias_after for step in steps])
    else:
        expected, bias = steps[-1].weights_after, steps[-1].bias_after
    assert found == pytest.approx(expected, rel=1e-6)
    assert model.bias[0] == pytest.approx(bias, rel=1e-6)
    assert model.history[0]["mistakes"] == sum(step.mistake for step in steps)


def test_a_class_that_turns_up_late_gives_the_model_of_classes_known_from_the_start(tmp_path):
    generator = np.random.default_rng(1)
    X = generator.integers(-3, 4, (200, 6))
    y = np.concatenate([generator.integers(0, 2, 150), generator.integers(0, 4, 50)])
    path = svmlight(tmp_path, X, y)
    late = Trainer(data.open(path, block_bytes=256), Settings(epochs=3))
    found = late.run()
    assert late.progress.restarts > 1
    source = data.open(path, block_bytes=256, classes=["0", "1", "2", "3"])
    expected = Trainer(source, Settings(epochs=3)).run()
    assert np.array_equal(found.weights, expected.weights)
    assert found.classes == expected.classes


def test_a_file_sorted_by_class_is_learned_all_the_same(tmp_path):
    X = np.eye(30, dtype=int)[np.repeat(np.arange(30), 10)]
    path = svmlight(tmp_path, X, np.repeat(np.arange(30), 10))
    model = Trainer(data.open(path, block_bytes=64), Settings(epochs=4)).run()
    assert len(model.classes) == 30
    correct = [
        (model.decide(model.scores(b.rows)) == b.labels).mean()
        for b in data.open(path, features=model.features, classes=model.classes)
    ]
    assert np.mean(correct) > 0.9


def test_block_size_does_not_change_what_one_pass_learns(integers, tmp_path):
    path = svmlight(tmp_path, *integers)
    models = [
        Trainer(data.open(path, block_bytes=size), Settings(epochs=1)).run()
        for size in (64, 1 << 20)
    ]
    assert np.array_equal(models[0].weights, models[1].weights)


def test_held_out_rows_decide_and_are_then_learned_from(tmp_path):
    generator = np.random.default_rng(0)
    X = generator.integers(0, 2, (600, 12))
    y = np.where(X[:, 0] + X[:, 1] + 0.4 * generator.normal(size=600) > 1, 1, -1)
    trainer = Trainer(data.open(svmlight(tmp_path, X, y)), Settings(max_epochs=8))
    model = trainer.run()
    errors = [epoch["validation_error"] for epoch in model.history]
    assert trainer.progress.refit_epochs == 1 + int(np.argmin(errors))
    assert 30 < trainer._held_count() < 90
    small = Settings(max_epochs=8, memory=8)
    streamed = Trainer(data.open(svmlight(tmp_path, X, y)), small)
    streamed.run()
    assert streamed.progress.refit_epochs == 0
    assert streamed.best is not None


def test_a_validation_file_takes_the_place_of_held_out_rows(integers, tmp_path):
    X, y = integers
    train, valid = svmlight(tmp_path, X, y), svmlight(tmp_path, X[:20], y[:20], "v.svm")
    trainer = Trainer(data.open(train), Settings(), valid=data.open(valid))
    model = trainer.run()
    assert trainer._held_count() == 0
    assert all("validation_error" in epoch for epoch in model.history)


def test_training_goes_on_from_a_model(integers, tmp_path):
    X, y = integers
    first = Trainer(data.open(svmlight(tmp_path, X, y)), Settings(epochs=1)).run()
    path = svmlight(tmp_path, X, y, "again.svm")
    source = data.open(path, features=first.features, classes=first.classes)
    on = Trainer(source, Settings(epochs=1), start=first).run()
    twice = svmlight(tmp_path, np.vstack([X, X]), np.append(y, y), "twice.svm")
    whole = Trainer(data.open(twice), Settings(epochs=1)).run()
    order, other = np.argsort(on.columns), np.argsort(whole.columns)
    assert on.weights[order] == pytest.approx(whole.weights[other], rel=1e-6)


@pytest.mark.parametrize(
    ("content", "message"),
    [("1 1:1\n1 2:1\n", "all rows have the label '1'"), ("| a\n", "the label is missing")],
)
def test_data_that_cannot_be_learned_from_are_refused(content, message, tmp_path):
    path = tmp_path / ("a.svm" if ":" in content else "a.vw")
    path.write_text(content)
    with pytest.raises(DataError, match=message):
        Trainer(data.open(path), Settings(epochs=1)).run()


def test_the_same_run_gives_the_same_model_whatever_the_threads_do(integers, tmp_path):
    path = svmlight(tmp_path, *integers)
    models = [Trainer(data.open(path, block_bytes=99), Settings(epochs=3)).run() for _ in range(3)]
    assert all(np.array_equal(models[0].weights, model.weights) for model in models)


def test_importances_are_copies(tmp_path):
    (tmp_path / "a.vw").write_text("1 3 | a b\n-1 2 | b c\n1 1 | a c\n")
    (tmp_path / "b.vw").write_text("1 | a b\n" * 3 + "-1 | b c\n" * 2 + "1 | a c\n")
    one, other = (
        Trainer(data.open(tmp_path / name), Settings(epochs=1, averaged=False)).run()
        for name in ("a.vw", "b.vw")
    )
    assert np.array_equal(one.weights, other.weights)


def test_words_are_those_that_speak_for_a_class(tmp_path):
    texts = ["pos,good fun really" + " x" * (i % 5) for i in range(9)]
    texts += ["neg,bad dull really" + " x" * (i % 5) for i in range(9)]
    (tmp_path / "a.csv").write_text("label,text\n" + "\n".join(texts) + "\n")
    model = Trainer(data.open(tmp_path / "a.csv", text="text"), Settings(epochs=3)).run()
    assert {"good", "fun"} <= {word for word, _ in model.words["pos"]}
    assert {"bad", "dull"} <= {word for word, _ in model.words["neg"]}
    assert isinstance(model, Model)
    assert isinstance(model.features, Features)


def test_features_of_vowpal_wabbit_files_have_their_names(tmp_path):
    (tmp_path / "a.vw").write_text("1 |w good film:2 |t été\n-1 |w bad film |t hiver\n" * 30)
    model = Trainer(data.open(tmp_path / "a.vw"), Settings(epochs=2)).run()
    assert {name for name, _ in model.words["1"]} >= {"w^good", "t^été"}
    assert {name for name, _ in model.words["-1"]} >= {"w^bad", "t^hiver"}


def test_features_of_characters_have_their_characters(tmp_path):
    (tmp_path / "a.csv").write_text("label,text\n" + "pos,Good one\nneg,bad one\n" * 30)
    source = data.open(tmp_path / "a.csv", text="text", ngrams=Ngrams(3, 4, chars=True))
    model = Trainer(source, Settings(epochs=2)).run()
    assert {name for name, _ in model.words["pos"]} >= {"_goo", "ood_"}
    assert {name for name, _ in model.words["neg"]} >= {"_bad", "bad_"}


@pytest.mark.parametrize(
    ("content", "skip", "message"),
    [
        ("1 1:1\n1 2:1\n", False, "all rows have the label '1'"),
        ("x\ny\n", True, "2 bad rows left out and none kept"),
        ("\n", False, "there are no rows"),
    ],
)
def test_what_was_found_instead_of_two_classes_is_said(tmp_path, content, skip, message):
    (tmp_path / "a.svm").write_text(content)
    source = data.open(tmp_path / "a.svm", skip_bad_rows=skip)
    with pytest.raises(DataError, match=f"two classes at least are needed, but {message}"):
        Trainer(source, Settings()).run()
