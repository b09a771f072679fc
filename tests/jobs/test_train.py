"""Training from files: what it promises about order, classes, memory and going on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline

from rosenblatt import HashedNgrams, Model, data, load, reference, train
from rosenblatt.data import Features
from rosenblatt.errors import DataError, OptionError
from rosenblatt.estimators.family import estimator_of
from rosenblatt.jobs.evaluate import evaluate


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


@pytest.mark.parametrize("average", [False, True])
def test_one_pass_takes_the_steps_of_the_reference(integers, average, tmp_path):
    X, y = integers
    steps = list(reference.online(X.tolist(), y.tolist(), threshold=1, padding=2, max_epochs=1))
    path = svmlight(tmp_path, X, y)
    model = train(path, epochs=1, threshold=1.0, padding=2.0, average=average, rates="none")
    found = np.zeros(5)
    found[model.columns] = model.weights[:, 0]
    if average:
        expected = np.mean([step.weights_after for step in steps], axis=0)
        bias = np.mean([step.bias_after for step in steps])
    else:
        expected, bias = steps[-1].weights_after, steps[-1].bias_after
    assert found == pytest.approx(expected, rel=1e-6)
    assert model.bias[0] == pytest.approx(bias, rel=1e-6)
    assert model.history[0]["updates"] == sum(step.mistake for step in steps)
    assert model.history[0]["mistakes"] == sum(step.prediction != step.y for step in steps)


def test_a_class_that_turns_up_late_gives_the_model_of_classes_known_from_the_start(tmp_path):
    generator = np.random.default_rng(1)
    X = generator.integers(-3, 4, (200, 6))
    y = np.concatenate([generator.integers(0, 2, 150), generator.integers(0, 4, 50)])
    path = svmlight(tmp_path, X, y)
    runs = []
    found = train(data.open(path, block_bytes=256), epochs=3, rates="none", report=runs.append)
    assert runs[-1].rows.restarts > 1
    source = data.open(path, block_bytes=256, classes=["0", "1", "2", "3"])
    expected = train(source, epochs=3, rates="none")
    assert np.array_equal(found.weights, expected.weights)
    assert found.classes == expected.classes
    assert found.history == expected.history


def test_a_file_sorted_by_class_is_learned_all_the_same(tmp_path):
    X = np.eye(30, dtype=int)[np.repeat(np.arange(30), 10)]
    path = svmlight(tmp_path, X, np.repeat(np.arange(30), 10))
    runs = []
    model = train(data.open(path, block_bytes=64), epochs=4, rates="none", report=runs.append)
    assert runs[-1].rows.restarts == 11  # ten while reading, one at the end
    assert len(model.classes) == 30
    correct = [
        (model.decide(model.scores(b.rows)) == b.labels).mean()
        for b in data.open(path, features=model.features, classes=model.classes)
    ]
    assert np.mean(correct) > 0.9


def test_block_size_does_not_change_what_one_pass_learns(integers, tmp_path):
    path = svmlight(tmp_path, *integers)
    models = [train(data.open(path, block_bytes=size), epochs=1) for size in (64, 1 << 20)]
    assert np.array_equal(models[0].weights, models[1].weights)


def test_held_out_rows_decide_and_are_then_learned_from(tmp_path):
    generator = np.random.default_rng(0)
    X = generator.integers(0, 2, (600, 12))
    y = np.where(X[:, 0] + X[:, 1] + 0.4 * generator.normal(size=600) > 1, 1, -1)
    path, runs = svmlight(tmp_path, X, y), []
    model = train(path, max_epochs=8, report=runs.append)
    errors = [epoch["validation_error"] for epoch in model.history]
    assert runs[-1].refit_epochs == 1 + int(np.argmin(errors))
    assert 30 < len(runs[-1].rows.held_out_rows()) < 90
    assert model.history[0]["mistakes"] / model.history[0]["progressive_error"] == pytest.approx(
        600 - len(runs[-1].rows.held_out_rows())
    )
    small = train(path, max_epochs=8, memory=8, report=runs.append)
    assert runs[-1].refit_epochs == 0
    best = 1 + int(np.argmin([epoch["validation_error"] for epoch in small.history]))
    expected = train(path, epochs=best, holdout=0.1, memory=8)
    assert np.array_equal(small.weights, expected.weights[np.isin(expected.columns, small.columns)])


def test_a_validation_file_takes_the_place_of_held_out_rows(integers, tmp_path):
    X, y = integers
    path, valid = svmlight(tmp_path, X, y), svmlight(tmp_path, X[:20], y[:20], "v.svm")
    runs = []
    model = train(path, valid=valid, report=runs.append)
    assert len(runs[-1].rows.held_out_rows()) == 0
    assert all("validation_error" in epoch for epoch in model.history)


def test_training_goes_on_from_a_model(integers, tmp_path):
    X, y = integers
    first = train(svmlight(tmp_path, X, y), epochs=1, rates="none")
    on = train(svmlight(tmp_path, X, y, "again.svm"), epochs=1, start=first)
    first.save(tmp_path / "first.model")
    again = train(tmp_path / "again.svm", epochs=1, start=tmp_path / "first.model")
    assert np.array_equal(again.weights, on.weights)
    twice = svmlight(tmp_path, np.vstack([X, X]), np.append(y, y), "twice.svm")
    whole = train(twice, epochs=1, rates="none")
    order, other = np.argsort(on.columns), np.argsort(whole.columns)
    assert on.weights[order] == pytest.approx(whole.weights[other], rel=1e-6)


@pytest.mark.parametrize(
    ("content", "message"),
    [("1 1:1\n1 2:1\n", "all rows have the label '1'"), ("| a\n", "no row has a label")],
)
def test_data_that_cannot_be_learned_from_are_refused(content, message, tmp_path):
    path = tmp_path / ("a.svm" if ":" in content else "a.vw")
    path.write_text(content)
    with pytest.raises(DataError, match=message):
        train(path, epochs=1)


def test_the_same_run_gives_the_same_model_whatever_the_threads_do(integers, tmp_path):
    path = svmlight(tmp_path, *integers)
    models = [train(data.open(path, block_bytes=99), epochs=3, n_jobs=n) for n in (None, 2, -1)]
    assert all(np.array_equal(models[0].weights, model.weights) for model in models)


def test_importances_are_copies(tmp_path):
    (tmp_path / "a.vw").write_text("1 3 | a b\n-1 2 | b c\n1 1 | a c\n")
    (tmp_path / "b.vw").write_text("1 | a b\n" * 3 + "-1 | b c\n" * 2 + "1 | a c\n")
    options = {"epochs": 1, "average": False, "rates": "none"}
    one, other = (train(tmp_path / name, **options) for name in ("a.vw", "b.vw"))
    assert np.array_equal(one.weights, other.weights)


def test_words_are_those_that_speak_for_a_class(tmp_path):
    texts = ["pos,good fun really" + " x" * (i % 5) for i in range(9)]
    texts += ["neg,bad dull really" + " x" * (i % 5) for i in range(9)]
    (tmp_path / "a.csv").write_text("label,text\n" + "\n".join(texts) + "\n")
    model = train(tmp_path / "a.csv", text="text", epochs=3)
    assert {"good", "fun"} <= {word for word, _ in model.words["pos"]}
    assert {"bad", "dull"} <= {word for word, _ in model.words["neg"]}
    assert isinstance(model, Model)
    assert isinstance(model.features, Features)


def test_lines_without_a_label_are_left_out_and_counted(tmp_path):
    lines = "1 | a b\n-1 2 | b c\n1 | a c\n" * 10
    (tmp_path / "a.vw").write_text(lines)
    (tmp_path / "b.vw").write_text("| z\n" + lines + "'tag | a q\n")
    runs = []
    one, other = (train(tmp_path / n, epochs=2, report=runs.append) for n in ("a.vw", "b.vw"))
    assert np.array_equal(one.weights, other.weights)
    assert runs[-1].source.missing[""] == 2
    source = data.open(tmp_path / "b.vw", features=other.features)
    source.labelled = False
    assert sum(len(batch) for batch in source) == 32


def test_costs_are_no_labels(tmp_path):
    (tmp_path / "a.vw").write_text("1:0.5:0.2 | a\n")
    with pytest.raises(DataError, match="contextual bandits, --csoaa"):
        train(tmp_path / "a.vw")


@pytest.mark.filterwarnings("ignore:the 2 shards have")
def test_products_of_vw_features_decide_what_single_ones_cannot(tmp_path):
    corners = [(a, b) for a in "xy" for b in "uv"]
    lines = [f"{1 if (a == 'x') == (b == 'u') else -1} |a {a} |b {b}\n" for a, b in corners] * 30
    (tmp_path / "a.vw").write_text("".join(lines))
    model = train(tmp_path / "a.vw", cross=["ab"], epochs=3, out=tmp_path / "a.model")
    loaded = load(tmp_path / "a.model")
    assert loaded.features == model.features
    source = data.open(tmp_path / "a.vw", features=loaded.features, classes=loaded.classes)
    assert evaluate(loaded, source).accuracy == 1.0
    sharded = train(tmp_path / "a.vw", cross=["ab"], epochs=3, workers=1, shards=2)
    assert sharded.features == model.features
    assert evaluate(sharded, source).accuracy == 1.0
    assert train(tmp_path / "a.vw", start=model, cross=["ab"], epochs=1).features == model.features
    with pytest.raises(OptionError, match="fixes cross: drop that option"):
        train(tmp_path / "a.vw", start=model, cross=["aa"], epochs=1)
    assert "a^x * b^u" in [name for name, _ in loaded.words["1"]]
    assert "a^x * b^u" in repr(loaded.explain("|a x |b u"))
    bigrams = train(tmp_path / "a.vw", ngrams=2, epochs=2)
    assert bigrams.features.ngrams[:2] == (1, 2)
    assert train(tmp_path / "a.vw", epochs=2).features.ngrams[:2] == (1, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cross": ["abc"]}, "not the first letters of two namespaces"),
        ({"ngrams": "2-3"}, "of 1 to N features"),
        ({"analyzer": "char"}, "of 1 to N features"),
    ],
)
def test_products_that_cannot_be_made_are_refused(tmp_path, options, message):
    (tmp_path / "a.vw").write_text("1 | a\n-1 | b\n")
    with pytest.raises(ValueError, match=message):
        train(tmp_path / "a.vw", **options)


@pytest.mark.parametrize("form", ["vw", "svm"])
def test_a_number_in_a_large_unit_does_not_drown_the_other_features(tmp_path, form):
    rng = np.random.default_rng(0)
    y, money = rng.choice([-1, 1], 2000), rng.integers(1, 10**6, 2000)
    colon = ":1" if form == "svm" else ""
    lead = "" if form == "svm" else "| "
    features = zip(y.tolist(), money.tolist(), strict=True)
    rows = [f"{a} {lead}{1 if a > 0 else 2}{colon} 3:{b}\n" for a, b in features]
    path = tmp_path / f"a.{form}"
    path.write_text("".join(rows))
    assert train(path).history[-1]["validation_error"] == 0


def test_features_of_vowpal_wabbit_files_have_their_names(tmp_path):
    (tmp_path / "a.vw").write_text("1 |w good film:2 |t été\n-1 |w bad film |t hiver\n" * 30)
    model = train(tmp_path / "a.vw", epochs=2)
    assert {name for name, _ in model.words["1"]} >= {"w^good", "t^été"}
    assert {name for name, _ in model.words["-1"]} >= {"w^bad", "t^hiver"}


def test_features_of_characters_have_their_characters(tmp_path):
    (tmp_path / "a.csv").write_text("label,text\n" + "pos,Good one\nneg,bad one\n" * 30)
    model = train(tmp_path / "a.csv", text="text", ngrams=(3, 4), analyzer="char", epochs=2)
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
    with pytest.raises(DataError, match=f"at least two classes are needed, but {message}"):
        train(tmp_path / "a.svm", skip_bad_rows=skip)


def texts(rows=6000):
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, rows)
    words = generator.zipf(1.3, (rows, 8)) % 200 + 40 * labels[:, None]
    return {
        "label": ["neg" if label else "pos" for label in labels],
        "text": [" ".join(f"w{word}" for word in row) for row in words],
    }


def test_feature_rates_do_not_depend_on_block_sizes(tmp_path):
    table = texts()
    pairs = zip(table["label"], table["text"], strict=True)
    path = tmp_path / "a.csv"
    path.write_text("label,text\n" + "".join(f"{y},{x}\n" for y, x in pairs))
    models = [
        train(data.open(path, text="text", block_bytes=size), epochs=2) for size in (5000, 1 << 20)
    ]
    assert np.array_equal(models[0].columns, models[1].columns)
    assert np.array_equal(models[0].weights, models[1].weights)
    assert models[0].history == models[1].history


def test_frames_of_every_kind_give_the_same_model():
    import pandas
    import polars
    import pyarrow

    table = texts(400)
    frames = [table, pandas.DataFrame(table), polars.DataFrame(table), pyarrow.table(table)]
    models = [train(frame, text="text", epochs=2) for frame in frames]
    assert all(np.array_equal(models[0].weights, model.weights) for model in models)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resume": True}, "resume needs checkpoint"),
        ({"valid": {"label": ["a"], "text": ["b"]}, "holdout": 0.1}, "exclude each other"),
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"threshold": -1.0}, "threshold must be at least 0, got -1"),
        ({"holdout": 1.0}, "a share of the rows"),
        ({"analyzer": "bytes"}, "one of word, marks, char, pieces, got 'bytes'"),
        ({"ngrams": (3, 2)}, "1 <= N <= M"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        train(texts(50), text="text", **options)


def test_a_model_to_go_on_from_decides_about_the_features():
    model = train(texts(50), text="text", epochs=1)
    again = {"label": "label", "text": "text", "bits": 22, "ngrams": "1-2", "rule": "perceptron"}
    assert train(texts(50), start=model, epochs=1, **again).features == model.features
    with pytest.raises(OptionError, match="fixes ngrams, bits: drop those options"):
        train(texts(50), start=model, text="text", bits=10, ngrams=3)


@pytest.mark.parametrize("rule", ["perceptron", "arow"])
@pytest.mark.parametrize("before", ["ab", "abc"])
def test_going_on_takes_new_labels(rule, before):
    def day(names):
        rows = [(name, f"word{name} of {i % 5}") for i in range(40) for name in names]
        return {"label": [name for name, _ in rows], "text": [text for _, text in rows]}

    model = train(day(before), text="text", rule=rule, epochs=3)
    after = day([*before, "e", "0"])
    on = train(after, start=model, epochs=2)
    assert on.classes == ("0", *before, "e")
    assert on.score(after, after["label"]) == 1.0


def test_a_model_to_go_on_from_keeps_its_rule_and_the_kinds_of_its_columns():
    rows = {"label": ["a", "b"] * 25, "x": [1.0, 2.0] * 25, "id": range(50)}
    options = {"columns": {"id": "ignore", "x": "number"}, "rule": "arow:r=0.5", "epochs": 1}
    model = train(rows, **options)
    again = train(rows, start=model, **options)
    assert again.weights.tobytes() == train(rows, start=model, epochs=1).weights.tobytes()
    with pytest.raises(OptionError, match="trained with the rule arow: drop the rule"):
        train(rows, start=model, rule="perceptron")
    with pytest.raises(OptionError, match="fixes columns: drop that option"):
        train(rows, start=model, columns={"x": "category"})


def test_many_classes_learn_jointly_and_can_be_gone_on_from():
    names = [f"{first}{last}" for first in "abcdefghij" for last in "klmnopqr"]
    frame = {"label": names * 9, "text": [f"so {name} {name[::-1]}" for name in names] * 9}
    model = train(frame, text="text")
    assert model.features.ngrams.bits == 22
    assert train(frame, text="text", rule="arow", epochs=1).features.ngrams.bits == 18
    assert (model.parameters["multiclass"], model.parameters["threshold"]) == ("joint", 4.0)
    assert model.score(frame, frame["label"]) == 1.0
    again = train(frame, start=model)
    assert again.parameters["multiclass"] == "joint"
    assert again.score(frame, frame["label"]) == 1.0
    assert train(frame, text="text", multiclass="ovr", bits=16).features.ngrams.bits == 16


def test_a_file_that_is_separated_stops_early():
    runs = []
    model = train(texts(30), text="text", epochs=100, report=runs.append)
    assert runs[-1].stop_reason == model.parameters["stop_reason"] == "separated"
    assert len(model.history) < 100


@pytest.mark.parametrize("rule", ["arow", "pa1:C=0.5", "ogd"])
def test_other_rules_train_the_model_of_their_estimator(rule):
    labels, lines = texts_of_two_classes()
    model = train({"label": labels, "text": lines}, text="text", rule=rule, epochs=2, bits=12)
    of_pipeline = make_pipeline(
        HashedNgrams(2, analyzer="pieces", bits=12),
        estimator_of(
            rule, intercept_scaling=0.1, keep="late_average", feature_rates="idf",
            shuffle="after_first", max_iter=2, tol=None, random_state=0,
        ),
    ).fit(lines, labels)[-1]  # fmt: skip
    found = np.zeros((1, 1 << 12), np.float32)
    found[:, model.columns] = model.weights.T
    assert np.array_equal(found, of_pipeline.coef_)
    assert model.parameters["rule"] == rule


def test_rules_that_do_not_exist_are_refused_before_anything_is_read():
    frame = {"label": ["a", "b"] * 9, "x": [1.0, 2.0] * 9}
    for rule, said in (
        ("arrow", "there is no rule"),
        ("arow:covariance=full", "has the parameters r"),
        ("perceptron:eta0=2", "threshold and average"),
    ):
        with pytest.raises(OptionError, match=said):
            train(frame, rule=rule)


def texts_of_two_classes(rows=300):
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, rows)
    words = generator.zipf(1.3, (rows, 9)) % 100 + 20 * labels[:, None]
    return [f"c{label}" for label in labels], [" ".join(f"w{w}" for w in row) for row in words]


class TestDefaults:
    def test_a_small_table_is_learned_jointly_and_long_enough(self):
        X, y = load_iris(return_X_y=True)
        frame = {f"c{j}": X[:, j] for j in range(4)} | {"label": [f"k{label}" for label in y]}
        runs = []
        model = train(frame, label="label", report=runs.append)
        found = {name: model.parameters[name] for name in ("threshold", "padding", "multiclass")}
        assert found == {"threshold": 4.0, "padding": 0.5, "multiclass": "joint"}
        assert runs[-1].refit_epochs >= 16
        assert len(runs[-1].history) >= 16
        assert np.mean(model.predict(frame) != np.array(frame["label"])) < 0.04

    def test_text_keeps_its_own(self):
        frame = {"label": ["pos", "neg"] * 20, "text": ["good and fun", "bad and dull"] * 20}
        model = train(frame, text="text", epochs=2)
        found = {name: model.parameters[name] for name in ("threshold", "padding", "multiclass")}
        assert found == {"threshold": 2.0, "padding": 0.1, "multiclass": "ovr"}

    def test_what_is_given_is_taken(self):
        frame = {"label": ["a", "b", "c"] * 9, "c": np.arange(27.0)}
        model = train(frame, label="label", threshold=1.0, multiclass="ovr", epochs=2)
        assert model.parameters["threshold"] == 1.0
        assert model.parameters["multiclass"] == "ovr"
        assert model.parameters["padding"] == 0.5


def test_features_of_large_values_that_turn_up_late_do_not_drown_the_others(tmp_path):
    # The sample that decides the rates is of the first 4,096 rows.
    random = np.random.default_rng(0)
    lines = []
    for i in range(9000):
        label = 1 if random.random() < 0.5 else -1
        late = f" gain:{random.integers(10_000, 90_000)}" if i > 7000 and i % 50 == 0 else ""
        word = "good" if (label == 1) == (random.random() < 0.8) else "bad"
        lines.append(f"{label} | {word} w{random.integers(30)}{late}\n")
    path = tmp_path / "rows.vw"
    path.write_text("".join(lines))

    def largest_change(name, model):
        """The most that a value of a feature changes a score by."""
        names = model.features.names(
            data.open(path, features=model.features).first_table(), model.columns
        )
        places = [i for i, at in enumerate(model.columns.tolist()) if names.get(at) == name]
        return 90_000 * np.abs(model.weights[places]).max(initial=0.0)

    model = train(path)
    assert 0 < largest_change("gain", model) < 20
    # On shards, whose samples are smaller, the same.
    with ThreadPoolExecutor(2) as workers, pytest.warns(UserWarning, match="shards have"):
        sharded = train(path, workers=workers, shards=2)
    assert 0 < largest_change("gain", sharded) < 20
    rows = [data.open(path, features=m.features, classes=m.classes) for m in (model, sharded)]
    errors = [1 - evaluate(m, r).accuracy for m, r in zip((model, sharded), rows, strict=True)]
    assert errors[1] == pytest.approx(errors[0], abs=0.005)
    # A night later the same model goes on, with another feature of that kind.
    path.write_text("".join(line.replace("gain", "loss") for line in lines))
    assert 0 < largest_change("loss", train(path, start=model)) < 20


def test_progress_can_be_reported_after_1000_rows_and_whenever_they_double(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("label,x\n" + "".join(f"{i % 2},{i % 7}\n" for i in range(9000)))
    visits = []
    train(path, epochs=1, report=lambda run: visits.append(run.progress.visits))
    assert {1000, 2000, 4000, 8000, 9000} <= set(visits)


def test_labels_beside_the_source_are_for_estimators():
    with pytest.raises(TypeError, match=r"use TableClassifier\(\).fit"):
        train({"x": [1.0, 2.0]}, ["a", "b"])
