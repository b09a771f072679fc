"""Several labels per row, from files to files."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from typer.testing import CliRunner

from rosenblatt import KernelPerceptron, Perceptron, data, load, train
from rosenblatt.cli import app
from rosenblatt.errors import DataError, ModelFormatError, OptionError
from rosenblatt.jobs.evaluate import evaluate_labels

LABELS = ["big", "blue", "green", "red"]


def rows(n, seed):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        has = rng.random(4) < 0.35
        has[rng.integers(4)] = True
        own = [label for label, yes in zip(LABELS, has, strict=True) if yes]
        words = [f"{label}{rng.integers(3)}" for label in own for _ in range(2)]
        words += [f"{LABELS[rng.integers(4)]}{rng.integers(3)}"]
        words += [f"w{w}" for w in rng.integers(30, size=3)]
        yield own, " ".join(words)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("labels")
    for name, n in (("train", 900), ("test", 300)):
        made = list(rows(n, n))
        lines = ["tags,text", *(f"{';'.join(reversed(own))},{text}" for own, text in made)]
        (path / f"{name}.csv").write_text("\n".join(lines) + "\n")
        lines = [" ".join(f"__label__{x}" for x in own) + f" {text}" for own, text in made]
        (path / f"{name}.ft").write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def model(folder):
    return train(folder / "train.csv", label="tags", text="text", label_separator=";")


def run(*arguments, given=None):
    result = CliRunner().invoke(app, [str(a) for a in arguments], input=given)
    assert result.exit_code == 0, result.output
    return result.stdout


def judged(model, path):
    return evaluate_labels(model, data.open(path, features=model.features, classes=model.classes))


def test_a_separator_and_fasttext_lines_give_the_same_model(folder, model):
    other = train(folder / "train.ft")
    assert other.classes == model.classes == tuple(LABELS)
    assert np.array_equal(model.weights, other.weights)
    assert (model.features.separator, other.features.separator) == (";", " ")


def test_measures_are_those_of_scikit_learn(folder, model):
    made = list(rows(300, 300))
    truth = np.array([[label in own for label in LABELS] for own, _ in made])
    texts = [text for _, text in made]
    said, scores = model.predict(texts), model.decision_function(texts)
    result = judged(model, folder / "test.csv")
    assert result.micro_f1 == pytest.approx(f1_score(truth, said, average="micro"))
    assert result.macro_f1 == pytest.approx(f1_score(truth, said, average="macro"))
    best = np.argsort(-scores, axis=1)[:, :3]
    right = np.take_along_axis(truth, best, axis=1)
    assert result.at_rank[1][0] == right[:, 0].mean()
    assert result.at_rank[3] == pytest.approx((right.mean(), right.sum() / truth.sum()))
    assert model.score(texts, truth.astype(int)) == np.mean(np.all(said == truth, axis=1))
    assert result.micro_f1 > 0.85


def test_each_label_has_a_probability_of_its_own(model):
    P = model.predict_proba([text for _, text in rows(300, 300)])
    truth = np.array([[label in own for label in LABELS] for own, _ in rows(300, 300)])
    assert P.shape == (300, 4)
    assert P.sum(axis=1).max() > 1.2
    sure = P > 0.5
    assert abs(P[sure].mean() - truth[sure].mean()) < 0.05


def test_predict_writes_the_labels_of_each_row(folder, model):
    model.save(folder / "a.model")
    found = run("predict", folder / "a.model", folder / "test.csv", "--only", "predicted")
    wanted = [
        ";".join(label for label, yes in zip(LABELS, row, strict=True) if yes)
        for row in model.predict([text for _, text in rows(300, 300)])
    ]
    assert (
        found.splitlines()[1:] == [cell if cell else '""' for cell in wanted]
        or found.splitlines()[1:] == wanted
    )
    kept = run("predict", folder / "a.model", folder / "test.csv", "--only", "predicted",
               "--keep", "a=red")  # fmt: skip
    assert kept.splitlines()[1:] == [cell for cell in wanted if "red" in cell.split(";")]
    top = json.loads(run("predict", folder / "a.model", "-", "--json", "--top", 2, given="red1\n"))
    assert top["predicted"] == "red"


def test_evaluate_prints_and_tells_all_measures(folder, model):
    model.save(folder / "a.model")
    text = run("evaluate", folder / "a.model", folder / "test.csv")
    assert "micro F1" in text
    assert "P@3" in text
    told = json.loads(run("evaluate", folder / "a.model", folder / "test.csv", "--json"))
    assert told["micro_f1"] == judged(model, folder / "test.csv").micro_f1
    assert {"precision_at_1", "recall_at_3", "macro_f1"} <= set(told)


def test_files_keep_what_several_labels_need(folder, model, tmp_path):
    model.save(tmp_path / "a.model")
    other = load(tmp_path / "a.model")
    texts = [text for _, text in rows(20, 1)]
    assert np.array_equal(other.predict(texts), model.predict(texts))
    assert np.array_equal(other.predict_proba(texts), model.predict_proba(texts))
    object.__setattr__(model.features, "separator", "")
    try:
        model.save(tmp_path / "b.model")
        with pytest.raises(ModelFormatError, match="makes no sense"):
            load(tmp_path / "b.model")
    finally:
        object.__setattr__(model.features, "separator", ";")


def test_a_run_resumes_to_the_same_model(folder, tmp_path):
    class StopError(Exception):
        pass

    def stop(run):
        if run.progress.epoch == 1 and run.progress.position > 0:
            raise StopError

    options = {"label": "tags", "text": "text", "label_separator": ";", "epochs": 3}
    whole = train(folder / "train.csv", **options)
    run = {"checkpoint": tmp_path / "run", "checkpoint_rows": 1, **options}
    with pytest.raises(StopError):
        train(folder / "train.csv", report=stop, **run)
    resumed = train(folder / "train.csv", resume=True, **run)
    assert np.array_equal(resumed.weights, whole.weights)


def test_validation_files_may_have_other_sets_of_labels(folder, tmp_path):
    path = tmp_path / "valid.csv"
    path.write_text("tags,text\n" + "big;blue;green;red,big1 blue1 green1 red1\nred,red1\n" * 20)
    options = {"label": "tags", "text": "text", "label_separator": ";"}
    found = train(folder / "train.csv", valid=path, **options)
    assert found.history[-1]["validation_error"] < 0.2
    path.write_text("tags,text\nbig;huge,big1\n")
    with pytest.raises(DataError, match="the label 'huge' is not a class"):
        train(folder / "train.csv", valid=path, **options)


@pytest.mark.parametrize(
    "given",
    [
        {"class_weight": "balanced"}, {"multiclass": "joint"}, {"tune": 5},
        {"workers": 1},
    ],
)  # fmt: skip
def test_what_is_for_one_label_is_refused(folder, given):
    with pytest.raises(OptionError, match="here a row may have several"):
        train(folder / "train.csv", label="tags", text="text", label_separator=";", **given)


def test_workers_refuse_several_labels_that_they_find(folder, model):
    with pytest.raises(OptionError, match="here a row may have several"):
        train(folder / "train.csv", start=model, workers=1)
    with pytest.raises(OptionError, match="here a row may have several; leave workers out"):
        train(folder / "train.ft", workers=1)
    late = folder / "late.ft"
    late.write_text("__label__a one two\n__label__b three\n" * 9000 + "__label__a __label__b x\n")
    with pytest.raises((OptionError, DataError), match=r"several.* workers"):
        train(late, workers=1)


def test_one_label_is_too_few_and_late_ones_are_named(folder, tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("tags,text\n" + "a,one\na,two\n" * 9)
    with pytest.raises(DataError, match="at least two classes are needed, but all rows have"):
        train(path, label="tags", text="text", label_separator=";", epochs=1)
    late = tmp_path / "late.ft"
    late.write_text("__label__a one two\n" * 5000 + "__label__a __label__b x\n")
    with pytest.raises(DataError, match=r"line 5001: .*--label-separator"):
        train(late, epochs=1)
    with pytest.raises(OptionError, match="are separated by ' '"):
        train(folder / "train.ft", label_separator=",")


def indicators():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    return X, (X[:, :3] + 0.3 * rng.normal(size=(300, 3)) > 0).astype(int)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_indicator_matrices_are_learned_through_scikit_learn(layout):
    X, Y = indicators()
    model = OneVsRestClassifier(Perceptron(calibrate="sigmoid", random_state=0)).fit(X, layout(Y))
    said = sparse.csr_array(model.predict(X)).toarray()
    assert f1_score(Y, said, average="micro") > 0.8
    assert model.score(X, Y) == (said == Y).all(axis=1).mean()
    assert model.decision_function(X).shape == model.predict_proba(X).shape == (300, 3)


def test_indicator_matrices_are_learned_online_through_scikit_learn():
    X, Y = indicators()
    whole, parts = (MultiOutputClassifier(Perceptron()) for _ in range(2))
    whole.partial_fit(X, Y, classes=[[0, 1]] * 3)
    for start in range(0, 300, 70):
        parts.partial_fit(X[start : start + 70], Y[start : start + 70], classes=[[0, 1]] * 3)
    for one, other in zip(whole.estimators_, parts.estimators_, strict=True):
        assert np.array_equal(one.coef_, other.coef_)
    assert f1_score(Y, parts.predict(X), average="micro") > 0.8


@pytest.mark.parametrize("call", ["fit", "partial_fit"])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array, np.ndarray.tolist, pd.DataFrame])
def test_a_kernel_estimator_says_what_learns_indicator_matrices(call, layout):
    X, Y = indicators()
    model = KernelPerceptron().fit(X, Y[:, 0])
    before = model.decision_function(X)
    with pytest.raises(
        ValueError, match=r"\(300, 3\).*OneVsRestClassifier\(KernelPerceptron\(\)\)"
    ):
        getattr(model, call)(X, layout(Y))
    assert np.array_equal(model.decision_function(X), before)


@pytest.mark.parametrize(
    "pair",
    [[["a", "b"], ["c"]], [("a", "b"), ("c", "d")], [{"a"}, {"b"}], [[0], [1, 2]]],
)
def test_an_estimator_says_how_lists_of_labels_become_an_indicator_matrix(pair):
    with pytest.raises(ValueError, match="MultiLabelBinarizer"):
        Perceptron().fit(np.eye(4), pair * 2)


@pytest.fixture(scope="module")
def wide(folder):
    """The same rows with a column of 0 and 1 per label."""
    found = {}
    for name in ("train", "test"):
        frame = pd.read_csv(folder / f"{name}.csv")
        for label in LABELS:
            frame[label] = [int(label in tags.split(";")) for tags in frame["tags"]]
        found[name] = frame.drop(columns="tags")
        found[name].to_csv(folder / f"wide_{name}.csv", index=False)
    return found


def test_columns_of_labels_give_the_model_of_a_separator(folder, model, wide, tmp_path):
    of_frame = train(wide["train"], label=LABELS, text="text")
    out = tmp_path / "a.model"
    command = ["train", folder / "wide_train.csv", "--label", ",".join(LABELS), "--text", "text"]
    run(*command, "--out", out, "-q")
    for other in (of_frame, load(out)):
        assert other.classes == model.classes
        assert np.array_equal(other.weights, model.weights)
        assert np.array_equal(other.bias, model.bias)
        assert other.calibration == model.calibration
    lines = run("predict", out, folder / "wide_test.csv", "--only", "predicted").splitlines()
    said = model.predict(wide["test"])
    assert lines[1].strip('"').split(",") == [LABELS[c] for c in np.flatnonzero(said[0])]
    found = json.loads(run("evaluate", out, folder / "wide_test.csv", "--json"))
    assert found["micro_f1"] == pytest.approx(f1_score(wide["test"][LABELS], said, average="micro"))
    assert of_frame.score(wide["test"], wide["test"][LABELS]) == np.mean(
        (said == wide["test"][LABELS]).all(axis=1)
    )
    again = train(wide["train"], label=LABELS, start=of_frame, epochs=1)
    assert again.classes == model.classes


def test_two_labels_are_two_problems(wide, tmp_path):
    found = train(wide["train"], label=["red", "blue"], text="text", out=tmp_path / "a.model")
    assert found.classes == ("blue", "red")
    assert found.weights.shape[1] == len(found.bias) == 2
    other = load(tmp_path / "a.model")
    said = other.predict(wide["test"])
    assert f1_score(wide["test"][["blue", "red"]], said, average="micro") > 0.8
    assert other.decision_function(wide["test"]).shape == (300, 2)
    assert other.predict_proba(wide["test"]).shape == (300, 2)
    four = train(wide["train"], label=LABELS, text="text", epochs=2)
    two = train(wide["train"], label=["red", "blue"], text="text", epochs=2)
    assert np.array_equal(four.predict(wide["test"])[:, [1, 3]], two.predict(wide["test"]))
    explained = two.explain("red1 red2 blue1 blue2")
    assert explained.labels == ("blue", "red")
    assert explained.to_json()["predicted"] == ["blue", "red"]
    assert two.explain("nothing").predicted == "no label"


def test_a_compressed_model_of_several_labels_is_measured_by_all_of_them(folder, model, tmp_path):
    from rosenblatt import save

    save(model, tmp_path / "a.model")
    command = ["compress", tmp_path / "a.model", "--out", tmp_path / "b.model"]
    told = run(*command, "--valid", folder / "test.csv", "--json")
    frame = pd.read_csv(folder / "test.csv")
    truth = [[int(label in tags.split(";")) for label in LABELS] for tags in frame["tags"]]
    assert json.loads(told)["forms"][0]["accuracy"] == pytest.approx(model.score(frame, truth))


def test_several_labels_are_learned_by_any_rule(wide):
    found = train(wide["train"], label=LABELS, text="text", rule="arow")
    said = found.predict(wide["test"])
    assert f1_score(wide["test"][LABELS], said, average="micro") > 0.8


def test_several_labels_are_not_exported_to_onnx(wide, tmp_path):
    from rosenblatt.models.onnx import export_onnx

    frame = {"x": np.linspace(-1, 1, 60), "a": [0] * 30 + [1] * 30, "b": [1, 0] * 30}
    found = train(frame, label=["a", "b"], epochs=2)
    with pytest.raises(ValueError, match="several labels per row cannot be exported"):
        export_onnx(found, tmp_path / "a.onnx")


def test_a_target_gives_each_label_its_threshold(folder, model, tmp_path):
    options = {"label": "tags", "text": "text", "label_separator": ";"}
    cautious = train(folder / "train.csv", target="precision=0.99", **options)
    assert np.array_equal(cautious.weights, model.weights)
    assert (cautious.threshold > 0).sum() >= 3
    plain, careful = judged(model, folder / "test.csv"), judged(cautious, folder / "test.csv")
    assert careful.predicted.sum() < plain.predicted.sum()
    missed = [(e.hits.sum() / e.predicted.sum()) for e in (plain, careful)]
    assert missed[1] > missed[0]
    cautious.save(tmp_path / "a.model")
    again = load(tmp_path / "a.model")
    texts = [text for _, text in rows(50, 1)]
    assert np.array_equal(again.predict(texts), cautious.predict(texts))
    assert again.explain(texts[0]).labels == tuple(
        name for name, yes in zip(LABELS, cautious.predict(texts[:1])[0], strict=True) if yes
    )
    one = train(folder / "train.csv", target="red:precision=0.99", **options)
    assert np.flatnonzero(one.threshold).tolist() == [LABELS.index("red")]
    assert one.threshold[3] == cautious.threshold[3]
