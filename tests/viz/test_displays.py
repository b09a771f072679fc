"""Each picture holds the numbers it is about."""

from math import nan
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from rosenblatt import Perceptron, teaching_sets, trace, train
from rosenblatt.theory import certify
from rosenblatt.training import Epoch
from rosenblatt.viz import (
    BoundaryDisplay,
    BoundsDisplay,
    ComparisonDisplay,
    ContradictionDisplay,
    EpochsDisplay,
    MarginsDisplay,
    ProofDisplay,
    TopWordsDisplay,
    WeightSpaceDisplay,
)


def test_the_epochs_of_a_run_are_bars_of_updates(run):
    model = Perceptron.textbook(random_state=0).fit(run.problem.X, run.problem.signs)
    display = EpochsDisplay.from_estimator(model)
    assert [bar.get_height() for bar in display.bars_] == display.updates
    assert sum(display.updates) == model.n_updates_
    assert "separated" in display.ax_.get_title(loc="right")


def test_errors_are_lines_and_unknown_ones_are_gaps():
    errors = [(0.3, 0.4), (0.2, nan), (0.1, 0.3)]
    history = [
        Epoch(i, mistakes=9 - i, updates=9 - i, train_error=train, validation_error=validation)
        for i, (train, validation) in enumerate(errors, start=1)
    ]
    run = SimpleNamespace(history_=history, stop_reason_=None)
    display = EpochsDisplay.from_estimator(run)
    training, validation = (line.get_ydata() for line in display.lines_)
    assert list(training) == [0.3, 0.2, 0.1]
    assert np.isnan(validation[1])
    assert validation[2] == 0.3


def test_a_fitted_perceptron_shows_its_history(blobs):
    model = Perceptron.textbook(early_stopping=True, random_state=0).fit(*blobs)
    display = EpochsDisplay.from_estimator(model)
    assert display.updates == list(model.history_["updates"])
    assert "validation error" in [line.get_label() for line in display.lines_]
    assert model.stop_reason_ in display.ax_.get_title(loc="right")


def test_a_history_without_errors_shows_updates_alone():
    history = [Epoch(1, mistakes=3, updates=3), Epoch(2, mistakes=0, updates=0)]
    run = SimpleNamespace(history_=history, stop_reason_=None)
    display = EpochsDisplay.from_estimator(run)
    assert display.lines_ == []
    assert len(display.figure_.axes) == 1


@pytest.mark.parametrize("separator", [(3, 1, -1), (1, 0.1, -0.4)])
def test_the_curves_of_the_proof_cross_at_the_bound_and_hold_the_run_between_them(run, separator):
    proof = run.proof(separator=separator)
    display = ProofDisplay(proof).plot()
    at = np.argmin(np.abs(display.floor_.get_xdata() - display.crossing))
    assert display.floor_.get_ydata()[at] == pytest.approx(
        display.ceiling_.get_ydata()[at], rel=0.05
    )
    for dots in (display.length_, display.progress_):
        for k, value in dots.get_offsets():
            assert k * proof.margin - 1e-9 <= value <= np.sqrt(k) * proof.radius + 1e-9
    assert f"{proof.bound:.4g}" in display.ax_.texts[0].get_text()


def test_a_proof_without_a_bound_is_not_drawn(run):
    other = trace(run.problem.X, run.problem.signs, weights=(1, 1))
    with pytest.raises(ValueError, match="start at zero"):
        ProofDisplay.from_trace(other, separator=(3, 1, -1))


def test_the_end_of_the_path_lies_in_the_cone_of_solutions():
    run = trace([[1, 2], [2, 0.5], [-1, 1], [-2, -1]], [1, 1, -1, -1], fit_intercept=False)
    display = WeightSpaceDisplay.from_trace(run)
    assert display.path[-1].tolist() == list(run.weights)
    assert (display.rows @ display.path[-1] > 0).all()
    assert display.cone_ is not None
    assert len(display.edges_) == 4
    for edge, z in zip(display.edges_, display.rows, strict=True):
        assert np.allclose(np.array(edge.get_data()).T @ z, 0, atol=1e-9)


def test_without_a_solution_there_is_no_cone():
    run = trace([[1.0], [2.0], [3.0]], [1, -1, 1])
    assert WeightSpaceDisplay.from_trace(run).cone_ is None


def test_the_path_can_be_cut_after_a_step():
    run = trace([[1.0], [2.0], [3.0]], [-1, -1, 1])
    assert len(WeightSpaceDisplay.from_trace(run, step=2).path) == 1 + run[1].updates


def test_more_than_two_weights_are_not_drawn(run):
    with pytest.raises(ValueError, match="two weights can be drawn, not 3"):
        WeightSpaceDisplay.from_trace(run)


def test_margins_left_of_zero_are_the_wrong_rows():
    display = MarginsDisplay([-0.5, -0.1, 0.2, 0.3, 0.9]).plot()
    assert display.wrong_[0].sum() == 2
    assert display.right_[0].sum() == 3
    assert 0.0 in display.right_[1]


def test_margins_of_an_estimator_are_signed_distances(blobs):
    X, y = blobs
    model = LogisticRegression().fit(X, y)
    display = MarginsDisplay.from_estimator(model, X, y)
    assert np.array_equal(display.margins > 0, model.predict(X) == y)


def test_margins_of_three_classes_are_positive_for_the_rows_that_are_right():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    assert np.array_equal(
        MarginsDisplay.from_estimator(model, X, y).margins > 0, model.predict(X) == y
    )


def test_of_many_rules_the_best_have_a_colour_and_a_name():
    names = [f"rule {i}" for i in range(11)]
    curves = np.linspace(0.5, 0.1, 11)[:, None, None] * np.ones((11, 3, 20))
    display = ComparisonDisplay(names, np.arange(10, 210, 10), curves).plot()
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels[0] == "rule 10 10.0 %"
    assert labels[-1] == "3 with more errors"
    assert len(labels) == 9
    looks = {(line.get_color(), line.get_marker()) for line in display.ax_.lines[:8]}
    assert len(looks) == 8


def test_a_certificate_is_drawn_by_its_contradicting_rows():
    generator = np.random.default_rng(2)
    X = generator.normal(size=(60, 3))
    y = np.where(X[:, 0] > 0, "up", "down")
    y[:3] = np.where(y[:3] == "up", "down", "up")
    found = certify(X, y)
    display = ContradictionDisplay.from_certificate(found, X, y)
    assert sorted(display.shares) == sorted(found.contradiction.rows)
    first, second = display.meeting_points
    assert np.allclose(first, second)
    assert display.names == ["down", "up"]


def test_a_certificate_of_separable_rows_has_no_contradiction_to_draw(run):
    X, y = np.array(run.problem.X), run.problem.signs
    with pytest.raises(ValueError, match="'separable'"):
        ContradictionDisplay.from_certificate(certify(X, y), X, y)


def test_the_contradiction_of_xor_meets_in_the_middle():
    xor = teaching_sets.load("xor")
    certificate = certify(xor.X, xor.y)
    display = ContradictionDisplay.from_certificate(certificate, xor.X, xor.y)
    assert display.meeting_points.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert len(display.ring_.get_offsets()) == 4
    assert [text.get_text() for text in display.ax_.texts] == ["1/4"] * 4


def test_in_any_view_of_many_features_both_mixtures_are_the_same_point():
    generator = np.random.default_rng(5)
    X = generator.integers(-3, 4, size=(14, 3))
    y = generator.choice([-1, 1], size=14)
    certificate = certify(X, y)
    for features in (None, (0, 2)):
        display = ContradictionDisplay.from_certificate(certificate, X, y, features=features)
        first, second = display.meeting_points
        assert np.allclose(first, second)


def test_through_the_origin_both_mixtures_lie_on_one_ray():
    X, y = np.array([[1, 1], [2, 2], [-1, 0.5]]), np.array([1, -1, 1])
    certificate = certify(X, y, fit_intercept=False)
    first, second = ContradictionDisplay.from_certificate(certificate, X, y).meeting_points
    assert np.cross(np.append(first, 0), np.append(second, 0))[2] == pytest.approx(0)


def test_top_words_are_the_largest_weights_of_each_sign():
    model = SimpleNamespace(
        coef_=np.array([[0.5, -2.0, 3.0, 0.0, -1.0]]), classes_=np.array([0, 1])
    )
    display = TopWordsDisplay.from_estimator(model, list("abcde"), top=2)
    assert display.names == ["c", "a", "e", "b"]
    assert [bar.get_width() for bar in display.bars_] == [3.0, 0.5, -1.0, -2.0]
    assert TopWordsDisplay.from_estimator(model, list("abcde"), label=0, top=1).names == ["b", "c"]


def test_top_words_of_many_classes_need_a_label():
    model = SimpleNamespace(coef_=np.eye(3), classes_=np.array(["x", "y", "z"]))
    with pytest.raises(ValueError, match="choose the label"):
        TopWordsDisplay.from_estimator(model, list("abc"))
    assert TopWordsDisplay.from_estimator(model, list("abc"), label="y").names == ["b"]
    with pytest.raises(ValueError, match="pass feature_names"):
        TopWordsDisplay.from_estimator(model)
    with pytest.raises(ValueError, match="2 names do not fit 3 features"):
        TopWordsDisplay.from_estimator(model, list("ab"))


def test_a_trained_model_shows_its_words(tmp_path):
    path = tmp_path / "reviews.csv"
    path.write_text("label,text\n" + "pos,good and fun\nneg,bad and dull\n" * 40)
    model = train(path, label="label")
    display = TopWordsDisplay.from_estimator(model, top=1)
    assert set(display.names) <= {"good", "fun", "good and", "and fun", "bad", "dull", "bad and"}
    assert display.weights[0] > 0 > display.weights[-1]
    with pytest.raises(ValueError, match="no label 'nosuch'"):
        TopWordsDisplay.from_estimator(model, label="nosuch")


def test_models_of_several_labels_are_drawn_label_by_label():
    X = np.random.default_rng(0).normal(size=(60, 2))
    Y = (X > 0).astype(int)
    model = Perceptron(random_state=0).fit(X, Y)
    for kind in (BoundaryDisplay, MarginsDisplay):
        with pytest.raises(ValueError, match="several labels per row"):
            kind.from_estimator(model, X, Y[:, 0])
    with pytest.raises(ValueError, match="choose the label to show"):
        TopWordsDisplay.from_estimator(model, feature_names=["a", "b"])
    shown = TopWordsDisplay.from_estimator(model, label=1, feature_names=["a", "b"])
    assert sorted(shown.weights) == pytest.approx(sorted(model.coef_[1]))


def test_weights_of_pairs_are_not_drawn_as_if_they_were_of_classes():
    X, y = load_iris(return_X_y=True)
    model = Perceptron(multiclass="ovo", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="per pair of classes"):
        MarginsDisplay.from_estimator(model, X, y)
    with pytest.raises(ValueError, match="per pair of classes"):
        TopWordsDisplay.from_estimator(model, list("abcd"), label=1)
    MarginsDisplay.from_estimator(Perceptron(multiclass="joint", random_state=0).fit(X, y), X, y)


@pytest.mark.parametrize("kind", [int, float, bool, str])
def test_the_classes_of_a_certificate_are_those_of_its_labels_whatever_their_type(kind):
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], np.array([0, 1, 1, 0]).astype(kind)
    display = ContradictionDisplay.from_certificate(certify(X, y), X, y)
    assert display.classes.tolist() == [0, 1, 1, 0]


def test_the_bounds_of_a_run_stand_above_its_updates(run):
    X, y = run.problem.X, run.problem.signs
    model = Perceptron.textbook(random_state=0).fit(X, y)
    display = BoundsDisplay.from_certificate(model.certificate(X, y))
    assert display.updates == model.n_updates_ <= min(display.bounds.values())
    texts = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert texts == ["updates made", *sorted(display.bounds, key=display.bounds.get)]
    bound = BoundsDisplay.from_certificate(certify(X, y)).bounds
    assert min(bound.values()) == certify(X, y).mistake_bound


def test_without_a_separator_there_is_no_bound_to_draw():
    xor = teaching_sets.load("xor")
    with pytest.raises(ValueError, match="the rows are inseparable"):
        BoundsDisplay.from_certificate(certify(xor.X, xor.y))
