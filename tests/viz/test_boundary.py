"""The picture of the boundary shows the line, the margins and the mistaken points."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from rosenblatt import KernelPerceptron, Perceptron
from rosenblatt.viz import BoundaryDisplay


def segments(contour):
    return [part for level in contour.allsegs for part in level]


def test_the_line_lies_where_the_score_is_zero_and_the_margins_beside_it(run):
    display = BoundaryDisplay.from_trace(run)
    w, b = np.array(run.weights, dtype=float), run.bias
    line, margins = display.lines_
    on_line = segments(line)[0] @ w + b
    assert np.allclose(on_line, 0, atol=1e-9)
    for side in segments(margins):
        distance = np.abs(side @ w + b) / np.linalg.norm(w)
        assert np.allclose(distance, display.margin)
    assert display.ring_ is None
    assert display.ax_.get_xlabel() == "a"
    assert display.ax_.get_ylabel() == "b"


def test_mistaken_points_are_ringed_at_any_step(xor):
    # After two steps w = (0, 1), b = 0: "only p" and "both" are on the wrong side.
    display = BoundaryDisplay.from_trace(xor, step=2)
    assert display.ring_.get_offsets().tolist() == [[1, 0], [1, 1]]


def test_before_the_first_step_there_is_no_line(run):
    display = BoundaryDisplay.from_trace(run, step=0)
    assert display.lines_ == []
    assert len(display.points_) == 2


def test_every_row_is_drawn_once_in_the_shape_of_its_class(run):
    display = BoundaryDisplay.from_trace(run)
    negative, positive = (drawn.get_offsets() for drawn in display.points_)
    assert len(negative) == len(positive) == 2
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["-1", "+1"]


def test_data_of_many_features_are_projected_so_that_across_is_the_distance(blobs):
    X, y = blobs
    model = Perceptron.textbook().fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y)
    distance = model.decision_function(X) / np.linalg.norm(model.coef_)
    assert np.allclose(display.points[:, 0], distance)
    # The score of a point of the plane depends on its distance alone.
    shown = np.array([[0.5, -1.0], [0.5, 2.0], [0.0, 1.0]])
    assert np.allclose(display.score(shown), shown[:, 0] * np.linalg.norm(model.coef_), atol=1e-9)


def test_two_chosen_features_are_shown_with_the_others_at_their_median(blobs):
    pandas = pytest.importorskip("pandas")
    X, y = pandas.DataFrame(blobs[0], columns=list("abcd")), blobs[1]
    model = LogisticRegression().fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y, features=("d", "b"))
    assert display.ax_.get_xlabel() == "d"
    at = X.median().to_frame().T
    at["d"], at["b"] = 0.25, -1.0
    assert display.score(np.array([[0.25, -1.0]])) == pytest.approx(model.decision_function(at))


def test_a_lifted_model_gets_its_curve(blobs):
    X, y = blobs[0][:, :2], blobs[1]
    model = make_pipeline(PolynomialFeatures(3), Perceptron.textbook()).fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y)
    curve = np.vstack(segments(display.lines_[0]))
    scale = np.abs(model.decision_function(X)).max()
    assert np.abs(model.decision_function(curve)).max() < 0.05 * scale
    assert display.margin is None


def test_three_classes_get_three_regions():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(X[:, 2:], y)
    display = BoundaryDisplay.from_estimator(model, X[:, 2:], y)
    assert len(display.points_) == 3
    assert len(display.lines_) == 3
    assert len(display.ring_.get_offsets()) == np.sum(model.predict(X[:, 2:]) != y)


def test_a_given_pair_of_axes_is_used(run):
    from matplotlib import pyplot

    _, ax = pyplot.subplots()
    assert BoundaryDisplay.from_trace(run, ax=ax).ax_ is ax


@pytest.mark.parametrize("features", [(0,), (0, 1, 2)])
def test_two_features_are_needed(blobs, features):
    model = Perceptron.textbook().fit(*blobs)
    with pytest.raises(ValueError, match="must name two columns"):
        BoundaryDisplay.from_estimator(model, *blobs, features=features)


def test_a_precomputed_kernel_has_no_boundary_to_draw(blobs):
    X, y = blobs
    model = KernelPerceptron(kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(ValueError, match="no values between the rows"):
        BoundaryDisplay.from_estimator(model, X @ X.T, y)


@pytest.mark.parametrize("corner", ["upper right", "upper left", "lower right", "lower left"])
def test_the_legend_stands_in_the_corner_without_points(corner):
    X = np.array([[x, y] for x in range(8) for y in range(8)], dtype=float)
    height, side = corner.split()
    across, up = X[:, 0] >= 4, X[:, 1] >= 4
    X = X[~((across == (side == "right")) & (up == (height == "upper")))]
    display = BoundaryDisplay.from_estimator(
        Perceptron(random_state=0).fit(X, X[:, 0] > 3), X, X[:, 0] > 3
    )
    display.figure_.canvas.draw()
    box = display.ax_.get_legend().get_window_extent()
    assert not [1 for x, y in display.ax_.transData.transform(X) if box.contains(x, y)]
