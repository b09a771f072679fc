"""One against one in `train`: pairs of classes vote, in every place that a model is used in."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.pipeline import make_pipeline

from rosenblatt import HashedNgrams, Model, Perceptron, load, save, train
from rosenblatt.errors import ModelFormatError, OptionError
from rosenblatt.jobs.predict import among
from rosenblatt.learners.problems import Problems, votes
from rosenblatt.models import tensorfile
from rosenblatt.models.compress import compress
from rosenblatt.models.shapes import contributions


@pytest.fixture(scope="module")
def frame():
    iris = load_iris()
    order = np.random.default_rng(0).permutation(150)
    columns = {f"c{i}": iris.data[order, i].tolist() for i in range(4)}
    return columns | {"label": [str(iris.target_names[t]) for t in iris.target[order]]}


@pytest.fixture(scope="module")
def model(frame):
    return train(frame, multiclass="ovo", max_epochs=6)


def pairs_of(model, frame):
    return model.sums(model._rows(frame))


def test_votes_are_those_of_the_pipeline_with_equal_settings():
    words = np.array([f"w{i}" for i in range(60)])
    generator = np.random.default_rng(1)
    labels = generator.integers(0, 4, 300)
    texts = [" ".join(words[(generator.zipf(1.4, 9) + 7 * c) % 60]) for c in labels]
    y = np.array(["d", "b", "a", "c"])[labels]
    model = train(
        {"text": texts, "label": y.tolist()}, text="text", analyzer="marks", multiclass="ovo",
        epochs=3, rates="none",
    )  # fmt: skip
    estimator = Perceptron(
        threshold=2.0, intercept_scaling=0.1, multiclass="ovo", keep="late_average",
        shuffle="after_first", tol=None, max_iter=3, scale=None, random_state=0,
    )  # fmt: skip
    pipeline = make_pipeline(HashedNgrams(analyzer="marks"), estimator)
    pipeline.fit(texts, y)
    assert model.weights.shape[1] == 6
    assert (model.predict(texts) == pipeline.predict(texts)).all()
    np.testing.assert_allclose(
        model.decision_function(texts), pipeline.decision_function(texts), atol=1e-5
    )


def test_pairs_beat_one_against_the_rest_on_digits():
    digits = load_digits()
    frame = {f"p{i}": digits.data[:, i].tolist() for i in range(64)}
    parts = [{k: v[a:b] for k, v in frame.items()} for a, b in ((0, 900), (900, None))]
    labels = digits.target.astype(str)
    errors = {}
    for multiclass in ("ovr", "ovo"):
        options = {"multiclass": multiclass, "lift": "none", "epochs": 10}
        model = train(parts[0] | {"label": labels[:900].tolist()}, **options)
        errors[multiclass] = 1 - model.score(parts[1], labels[900:])
    assert errors["ovo"] < errors["ovr"] - 0.01


def test_scores_are_votes_and_survive_the_file(model, frame, tmp_path):
    scores = model.decision_function(frame)
    problems = Problems(3, "ovo", (4.0, 4.0))
    assert (scores == votes(pairs_of(model, frame), problems)).all()
    assert model.score(frame, frame["label"]) > 0.95
    model.save(tmp_path / "a.model")
    again = Model.load(tmp_path / "a.model")
    assert (again.decision_function(frame) == scores).all()
    assert (again.predict_proba(frame) == model.predict_proba(frame)).all()
    assert again.predict_proba(frame).sum(axis=1) == pytest.approx(1.0)


def test_classes_in_another_order_give_the_same_votes(frame):
    """Pairs are learned in the order in which classes turn up, and saved in that of names."""
    turned = {name: cells[::-1] for name, cells in frame.items()}
    for rows in (frame, turned):
        model = train(rows, multiclass="ovo", epochs=8)
        assert model.classes == ("setosa", "versicolor", "virginica")
        assert model.score(rows, rows["label"]) > 0.93
        sides = pairs_of(model, rows)
        is_setosa = np.array(rows["label"]) == "setosa"
        assert (sides[is_setosa, :2] < 0).all()
        assert (sides[~is_setosa].max(axis=1) > 0).all()


def test_an_explanation_adds_up_to_the_scores_of_pairs(model, frame):
    for i in range(0, 150, 11):
        row = {name: cells[i] for name, cells in frame.items() if name != "label"}
        explanation, sums = model.explain(row), pairs_of(model, [row])[0]
        predicted = model.predict([row])[0]
        assert explanation.predicted == explanation.explained == predicted
        c = model.classes.index(predicted)
        assert explanation.scores[c] > 0
        for other in set(range(3)) - {c}:
            pair = {(0, 1): 0, (0, 2): 1, (1, 2): 2}[min(c, other), max(c, other)]
            against = sums[pair] if other > c else -sums[pair]
            assert explanation.scores[other] == pytest.approx(against, abs=1e-5)


def test_curves_of_classes_are_the_means_of_their_pairs(model, frame):
    parts = contributions(model, frame)
    sums = pairs_of(model, frame) - model.bias
    by_class = sums @ Problems(3, "ovo").signs.T / 2
    np.testing.assert_allclose(parts.values.sum(axis=1), by_class, atol=1e-4)
    assert set(model.parameters["importance"]) == {"c0", "c1", "c2", "c3"}
    assert all(model.words[name] for name in model.classes)


def test_small_forms_and_a_choice_of_classes_vote_as_well(model, frame):
    small = compress(model)[-1].model
    assert small.precision == "int8"
    assert np.mean(small.predict(frame) == model.predict(frame)) > 0.97
    two = among(model, ("setosa", "virginica"))
    assert set(two.predict(frame)) == {"setosa", "virginica"}


def test_a_run_goes_on_from_votes_also_with_a_class_more(frame, tmp_path):
    first = {name: [] for name in frame}
    for i, label in enumerate(frame["label"]):
        if label != "setosa":
            for name, cells in frame.items():
                first[name].append(cells[i])
    half = train(frame, multiclass="ovo", epochs=2, lift="none")
    half.save(tmp_path / "half.model")
    more = train(frame, start=tmp_path / "half.model", epochs=2)
    assert more.by_pairs
    assert more.score(frame, frame["label"]) > 0.9
    assert (more.state["clock"] > half.state["clock"]).all()
    grown = train(frame, start=train(first, multiclass="ovo", epochs=2, lift="none"), epochs=4)
    assert grown.weights.shape[1] == 3
    assert grown.score(frame, frame["label"]) > 0.9
    with pytest.raises(OptionError, match="pair of classes: drop multiclass"):
        train(frame, start=half, multiclass="joint")
    with pytest.raises(OptionError, match="class: not ovo, but ovr"):
        train(frame, start=train(frame, epochs=1), multiclass="ovo")


def test_threads_and_shards_give_the_same_bits(frame, tmp_path):
    models = [train(frame, multiclass="ovo", epochs=3, n_jobs=n) for n in (1, 3)]
    assert (models[0].weights == models[1].weights).all()
    rows = zip(*frame.values(), strict=True)
    lines = [",".join(frame), *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    options = {"multiclass": "ovo", "lift": "none", "max_epochs": 4, "shards": 2}
    with pytest.warns(UserWarning, match="fewer shards"):
        one, two = (train(tmp_path / "a.csv", workers=n, **options) for n in (1, 2))
    assert (one.weights == two.weights).all()
    assert one.score(frame, frame["label"]) > 0.8
    assert one.calibration is not None
    assert one.calibration.n_classes == 3


def test_an_estimator_whose_pairs_vote_is_a_model_for_the_commands(frame, tmp_path):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(frame).drop(columns="label")
    estimator = Perceptron(multiclass="ovo", random_state=0).fit(X, frame["label"])
    save(estimator, tmp_path / "e.model")
    model = Model.load(tmp_path / "e.model")
    assert (model.predict(X) == load(tmp_path / "e.model").predict(X)).all()
    np.testing.assert_allclose(
        model.decision_function(X), estimator.decision_function(X), atol=1e-4
    )


def test_onnx_counts_the_votes(frame, tmp_path):
    pytest.importorskip("onnxruntime")
    from rosenblatt.models.onnx import export_onnx

    model = train(frame, multiclass="ovo", lift="none", max_epochs=4)
    export_onnx(model, tmp_path / "a.onnx")  # which compares scores, labels and probabilities
    import onnxruntime

    session = onnxruntime.InferenceSession((tmp_path / "a.onnx").read_bytes())
    X = np.column_stack([frame[f"c{i}"] for i in range(4)]).astype(np.float32)
    assert (session.run(["label"], {"X": X})[0] == model.predict(frame)).all()


def test_a_file_of_votes_with_other_numbers_of_pairs_is_refused(model, tmp_path):
    model.save(tmp_path / "a.model")
    arrays, about = tensorfile.read(tmp_path / "a.model")
    assert about["votes"] == 4.0
    for unit in (0.0, None, math.inf):
        tensorfile.write(tmp_path / "b.model", arrays, about | {"votes": unit})
        with pytest.raises(ModelFormatError):
            Model.load(tmp_path / "b.model")
