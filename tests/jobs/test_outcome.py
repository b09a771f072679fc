"""What held-out rows decide: probabilities and thresholds of models trained from files."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_score, recall_score

from rosenblatt import load, train
from rosenblatt.errors import DataError, ModelFormatError, OptionError
from rosenblatt.jobs.folds import MOST_CROSS_FITTED
from rosenblatt.jobs.held_out import is_held_out
from rosenblatt.jobs.outcome import Target, best_threshold


def frame(n=1500, share=0.5, seed=0, names=("neg", "pos")):
    """Texts of twenty words that speak for their label more often than not."""
    rng = np.random.default_rng(seed)
    codes = (rng.random(n) < share).astype(int)
    texts = []
    for code in codes:
        words = rng.integers(50, size=12)
        sides = np.where(rng.random(12) < 0.6, code, 1 - code)
        texts.append(" ".join(f"{'bg'[s]}{w}" for s, w in zip(sides, words, strict=True)))
    return {"label": [names[c] for c in codes], "text": texts}


@pytest.fixture(scope="module")
def model():
    return train(frame(), text="text")


def expected_calibration_error(P, truth, bins=10):
    confidence, right = P.max(axis=1), P.argmax(axis=1) == truth
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    return sum(
        np.mean(place == b) * abs(confidence[place == b].mean() - right[place == b].mean())
        for b in np.unique(place)
    )


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_probabilities_are_calibrated_on_new_rows(method):
    model, new = train(frame(6000), text="text", calibrate=method), frame(4000, seed=1)
    P = model.predict_proba(new["text"])
    truth = np.array([model.classes.index(label) for label in new["label"]])
    assert expected_calibration_error(P, truth) < 0.04


def test_classes_that_come_in_another_order_keep_their_probabilities(model):
    swapped = train(frame(names=("pos", "neg")), text="text")
    texts = frame(50, seed=2)["text"]
    assert swapped.predict_proba(texts) == pytest.approx(
        model.predict_proba(texts)[:, ::-1], abs=1e-6
    )


def test_several_classes_have_probabilities():
    texts = [f"{word} {i % 17}" for i in range(400) for word in ("red", "green", "blue")]
    model = train({"label": ["c", "a", "b"] * 400, "text": texts}, text="text")
    P = model.predict_proba(["red", "green", "blue"])
    assert P.argmax(axis=1).tolist() == [2, 0, 1]
    assert P.sum(axis=1) == pytest.approx(1.0)


def test_without_held_out_rows_there_are_no_probabilities():
    many = MOST_CROSS_FITTED + 1
    for rows, options in ((many, {"epochs": 2}), (200, {"calibrate": None})):
        with pytest.raises(ValueError, match="no rows, or too few, were held out"):
            train(frame(rows), text="text", **options).predict_proba(["good"])
    assert train(frame(many - 1), text="text", epochs=2).calibration.rows == many - 1
    assert train(frame(400), text="text", epochs=2, holdout=0.2).calibration.rows > 50
    assert train(frame(200), text="text", valid=frame(99, seed=3)).calibration.rows == 99


def test_files_keep_calibration_and_threshold(tmp_path):
    model = train(frame(), text="text", target="recall=0.9", calibrate="isotonic")
    model.save(tmp_path / "a.model")
    other = load(tmp_path / "a.model")
    assert (other.calibration, other.threshold) == (model.calibration, model.threshold)
    for name, value in (("threshold", "x"), ("threshold", float("inf"))):
        object.__setattr__(model, name, value)
        model.save(tmp_path / "b.model")
        with pytest.raises(ModelFormatError, match="threshold"):
            load(tmp_path / "b.model")


@pytest.mark.parametrize("metric", ["precision", "recall"])
@pytest.mark.parametrize("label", [None, "neg", "pos"])
def test_a_target_is_about_reached_on_new_rows(metric, label):
    data, new = frame(8000, share=0.3), frame(4000, share=0.3, seed=1)
    target = f"{label}:{metric}=0.8" if label else f"{metric}=0.8"
    model = train(data, text="text", target=target)
    measure = {"precision": precision_score, "recall": recall_score}[metric]
    found = measure(new["label"], model.predict(new["text"]), pos_label=label or "pos")
    assert found == pytest.approx(0.8, abs=0.06)


SCORES = st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=2, max_size=20)


@given(SCORES, st.sampled_from(["precision", "recall", "f1"]), st.floats(0.1, 1.0))
def test_no_other_threshold_does_better(pairs, metric, value):
    scores, positive = np.array([float(s) for s, _ in pairs]), np.array([p for _, p in pairs])
    cut, reached = best_threshold(scores, positive, Target(metric, value))
    measures = {"precision": precision_score, "recall": recall_score, "f1": f1_score}

    def at(threshold):
        said = scores > threshold
        return {n: f(positive, said, zero_division=0) for n, f in measures.items()}

    assert reached == pytest.approx(at(cut))
    others = [at(t - 0.5) for t in np.unique(scores)]
    if metric == "f1":
        assert reached["f1"] == pytest.approx(max(o["f1"] for o in others))
        return
    second = "recall" if metric == "precision" else "precision"
    enough = [o[second] for o in others if o[metric] >= value]
    if enough:
        assert reached[metric] >= value
        assert reached[second] == pytest.approx(max(enough))
    else:
        assert reached[metric] == pytest.approx(max(o[metric] for o in others))


@pytest.mark.parametrize(
    "text", ["", "accuracy=0.9", "precision", "recall=2", "f1=0.5", "recall=x"]
)
def test_what_is_not_a_target_is_refused(text):
    with pytest.raises(OptionError, match="is not a target"):
        train(frame(50), text="text", target=text)


def test_targets_need_two_classes_held_out_rows_and_a_known_label():
    with pytest.raises(OptionError, match="needs held-out rows"):
        train(frame(50), text="text", target="f1", epochs=1)
    with pytest.raises(OptionError, match="'spam' is not a class: neg, pos"):
        train(frame(200), text="text", target="spam:f1")
    three = {"label": ["a", "b", "c"] * 50, "text": ["x one", "y two", "z three"] * 50}
    with pytest.raises(OptionError, match="for two classes, or several labels per row"):
        train(three, text="text", target="f1")


def weighted_frame():
    data = frame(600, share=0.2)
    return data, [5.0 if label == "pos" else 1.0 for label in data["label"]]


def test_class_weights_are_row_weights_of_the_class():
    data, weights = weighted_frame()
    by_row = train(data | {"w": weights}, columns={"text": "text"}, weight="w", epochs=3)
    by_class = train(data, text="text", class_weight={"pos": 5}, epochs=3)
    assert np.array_equal(by_row.weights, by_class.weights)
    plain = train(data, text="text", epochs=3)
    assert not np.array_equal(by_class.weights, plain.weights)


def test_balanced_weights_are_those_of_scikit_learn():
    from sklearn.utils.class_weight import compute_class_weight

    data, _ = weighted_frame()
    factors = compute_class_weight("balanced", classes=np.array(["neg", "pos"]), y=data["label"])
    wanted = dict(zip(("neg", "pos"), factors.tolist(), strict=True))
    found = train(data, text="text", class_weight="balanced", epochs=3)
    assert found.weights == pytest.approx(
        train(data, text="text", class_weight=wanted, epochs=3).weights, abs=1e-4
    )


def test_a_class_of_no_weight_is_never_learned_from():
    data = {"label": ["a", "b", "c"] * 40, "text": ["x one", "y two", "z three"] * 40}
    left_out = train(data, text="text", class_weight={"c": 0}, epochs=2)
    assert left_out.history[0]["updated_rows"] <= 80


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"class_weight": {"never": 2}}, DataError, "no row has the label 'never'"),
        ({"class_weight": {"pos": -1}}, OptionError, "weights are from 0 on"),
        ({"class_weight": "heavy"}, OptionError, "'balanced' or a weight for each label"),
        ({"weight": "nope"}, DataError, "'nope' is not a column"),
        ({"weight": "label"}, DataError, "'label' is the label"),
        ({"calibrate": "magic"}, OptionError, "calibrate is one of sigmoid, isotonic"),
    ],
)
def test_wrong_weights_are_refused(options, kind, words):
    with pytest.raises(kind, match=words):
        train(frame(60), text="text", epochs=1, **options)


def test_a_bad_weight_is_named_with_its_line(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("label,text,w\na,one two,1\nb,two three,-2\n")
    with pytest.raises(DataError, match=r"line 3, column 'w': expected a weight.*found '-2'"):
        train(path, text="text", weight="w", epochs=1)


def test_the_newest_of_many_rows_are_held_out():
    held = is_held_out(np.arange(4_000_000), 0.1, 0)
    counts = np.add.reduceat(held, [0, 500_000, 1_000_000, 2_000_000])
    assert counts == pytest.approx([50_000, 25_000, 25_000, 25_000], rel=0.03)
    parts = [is_held_out(part, 0.1, 0) for part in np.array_split(np.arange(4_000_000), 57)]
    assert (np.concatenate(parts) == held).all()


def test_neighbouring_seeds_hold_out_independent_rows():
    masks = np.array([is_held_out(np.arange(100_000), 0.1, seed) for seed in range(6)])
    assert masks.mean(axis=1) == pytest.approx(0.1, abs=0.004)
    for earlier, later in pairwise(masks):
        for shift in range(20):  # independent masks share a hundredth of the rows
            shared = earlier[shift:] & later[: len(later) - shift]
            assert shared.mean() == pytest.approx(0.01, abs=0.0015)
