"""Many classes of text: weights by pairs of n-gram and class, from training to the file."""

import numpy as np
import pytest

from rosenblatt import load, train
from rosenblatt.data.open import open as open_rows
from rosenblatt.jobs.predict import among
from rosenblatt.learners.pairs import PairWeights
from rosenblatt.models.compress import compress
from rosenblatt.process import Stopped

CLASSES = 40


@pytest.fixture(scope="module")
def frame():
    random = np.random.default_rng(0)
    labels = [f"language{c:02}" for c in random.integers(0, CLASSES, 1200)]
    alphabet = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = {f"language{c:02}": random.choice(alphabet, (12, 5)) for c in range(CLASSES)}
    texts = [
        " ".join("".join(words[name][i]) for i in random.integers(0, 12, 4)) for name in labels
    ]
    return {"label": labels, "text": texts}


@pytest.fixture(scope="module")
def model(frame):
    return train(frame, epochs=3)


def test_the_model_keeps_pairs_and_its_file_gives_the_same_scores(frame, model, tmp_path):
    assert isinstance(model.weights, PairWeights)
    assert model.features.ngrams.bits == 22
    assert model.score(frame["text"], frame["label"]) > 0.99
    model.save(tmp_path / "a.model")
    again = load(tmp_path / "a.model")
    assert isinstance(again.weights, PairWeights)
    texts = frame["text"][:50]
    assert np.array_equal(again.decision_function(texts), model.decision_function(texts))
    matrix = model.decision_function(texts) - model.bias
    rows = model.features.hashed(model.table(texts)).rows
    places = model.places_of(rows.indices)
    for row in range(5):
        at = slice(int(rows.indptr[row]), int(rows.indptr[row + 1]))
        scores = rows.values[at] @ np.asarray(model.weights)[places[at]]
        assert matrix[row] == pytest.approx(scores, abs=1e-4)


def test_words_of_each_class_are_named_and_explained(frame, model):
    name, text = frame["label"][0], frame["text"][0]
    assert len(model.words) == CLASSES
    assert set(text.split()) & {word for word, _ in model.words[name]}
    assert repr(model.explain(text)).startswith(f"<Explanation: '{name}', score +")


def test_smaller_forms_keep_pairs_and_labels_can_be_chosen(frame, model, tmp_path):
    forms = compress(model, size=60_000)
    assert forms[-1].bytes <= 60_000
    small = forms[-1].model
    assert isinstance(small.weights, PairWeights)
    assert small.score(frame["text"], frame["label"]) > 0.9
    small.save(tmp_path / "small.model")
    texts = frame["text"][:20]
    assert (tmp_path / "small.model").stat().st_size <= 60_000
    assert (load(tmp_path / "small.model").predict(texts) == small.predict(texts)).all()
    few = among(model, ("language03", "language20", "language31"))
    scores = model.decision_function(texts)[:, [3, 20, 31]]
    assert np.array_equal(few.decision_function(texts), scores)


def test_resuming_many_classes_after_a_stop_gives_the_same_file(frame, tmp_path):
    options = {"epochs": 4, "holdout": 0.1}
    train(frame, out=tmp_path / "whole.model", **options)
    stops = []

    def stop(run):
        if run.progress.epoch == 2 and not stops:
            stops.append(run.progress.visits)
            raise KeyboardInterrupt

    checkpoint = {"checkpoint": tmp_path / "check", "checkpoint_rows": 1}
    with pytest.raises((KeyboardInterrupt, Stopped)):
        train(frame, out=tmp_path / "b.model", report=stop, **options, **checkpoint)
    train(frame, out=tmp_path / "b.model", resume=True, **options, **checkpoint)
    assert stops
    whole, resumed = (load(tmp_path / f"{name}.model") for name in ("whole", "b"))
    assert np.array_equal(whole.weights.values, resumed.weights.values)
    assert np.array_equal(whole.weights.classes, resumed.weights.classes)
    assert np.array_equal(whole.columns, resumed.columns)
    assert np.array_equal(whole.bias, resumed.bias)


def test_threads_do_not_change_the_file_and_training_goes_on_with_new_classes(frame, tmp_path):
    for jobs in (1, 2):
        train(frame, epochs=2, n_jobs=jobs, out=tmp_path / f"{jobs}.model")
    assert (tmp_path / "1.model").read_bytes() == (tmp_path / "2.model").read_bytes()
    more = {"label": ["new"] * 30 + frame["label"], "text": ["zzzzz qqq"] * 30 + frame["text"]}
    grown = train(more, start=tmp_path / "1.model", epochs=2)
    assert grown.predict(["zzzzz qqq"]).tolist() == ["new"]
    assert len(grown.classes) == CLASSES + 1
    assert grown.score(frame["text"], frame["label"]) > 0.99


def test_more_than_a_thousand_classes_can_be_learned():
    names = [f"c{i}" for i in range(1100)]
    frame = {"label": names * 4, "text": [f"word{i} common" for i in range(1100)] * 4}
    model = train(frame, epochs=3, calibrate=None)
    assert len(model.classes) == 1100
    assert model.score(frame["text"][:1100], names) > 0.95
    assert len(open_rows(frame).classes) == 0
