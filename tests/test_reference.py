"""The specification against the numbers of the notes and of THEORY.md."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt import reference, teaching_sets

MOVIES = teaching_sets.load("movies")
UNIGRAMS, BIGRAMS = teaching_sets.load("not-good"), teaching_sets.load("not-good-bigrams")


def test_movie_reviews_take_the_steps_of_the_notes():
    """Sentiment notes, example 1: converging."""
    steps = list(reference.online(MOVIES.X, MOVIES.y, mistake="sign", padding=None))
    learned = [s.weights_after for s in steps if s.mistake]
    assert learned == [(1, 1, 0, 0), (0, 1, -1, 0), (0, 0, -1, -1), (1, 1, -1, -1)]
    assert [s.score for s in steps] == [0, 1, 1, 0, 0, 0, 2, 0, 0]
    assert steps[-1].epoch == 3
    assert not any(s.mistake for s in steps if s.epoch == 3)


@pytest.mark.parametrize("mistake", ["margin", "sign"])
@pytest.mark.parametrize("padding", [None, 1])
def test_not_good_is_never_learned_from_single_words_and_always_from_pairs(mistake, padding):
    """Sentiment notes, example 2: non-converging, until bigrams are added."""
    options = {"mistake": mistake, "padding": padding, "max_epochs": 60}
    steps = list(reference.online(UNIGRAMS.X, UNIGRAMS.y, **options))
    assert all(any(s.mistake for s in steps if s.epoch == e) for e in range(1, 61))
    steps = list(reference.online(BIGRAMS.X, BIGRAMS.y, **options))
    assert steps[-1].epoch < 60
    assert not any(s.mistake for s in steps if s.epoch == steps[-1].epoch)


def test_iris_is_separated_after_four_mistakes():
    """THEORY.md: petal length and width, padded with 1, file order."""
    iris = teaching_sets.load("iris")
    steps = list(reference.online(iris.X, iris.y))
    assert sum(s.mistake for s in steps) == 4
    assert steps[-1].epoch == 3
    assert np.allclose(steps[-1].weights_after, (0.5, 0.8))
    assert steps[-1].bias_after == -2
    assert max(np.hypot(np.hypot(*x), 1) for x in iris.X) == pytest.approx(5.438, abs=5e-4)


def test_fractions_make_every_step_exact():
    X = [[Fraction(1, 3)], [Fraction(-2, 7)]]
    last = list(reference.online(X, [1, -1]))[-1]
    assert last.weights_after[0] == Fraction(1, 3) + Fraction(2, 7)
    assert last.bias_after == 0


def test_padding_constant_is_the_perceptron_on_the_padded_vector():
    """Perceptron notes: padding and pre-multiplication."""
    X, y, c = [[2, 1], [-1, 1], [1, -3]], [1, -1, 1], 3
    with_bias = list(reference.online(X, y, padding=c))
    padded = list(reference.online([[*x, c] for x in X], y, padding=None))
    assert [s.score for s in with_bias] == [s.score for s in padded]
    assert with_bias[-1].bias_after == c * padded[-1].weights_after[-1]


def test_batch_rule_is_gradient_descent_on_the_criterion():
    """Mathematical notes: w <- w + η Σ x_m."""
    X, y = [[2, 1], [-1, 1], [1, 1], [0, -2]], [1, -1, 1, -1]
    for step in reference.batch(X, y, eta=Fraction(1, 2), threshold=1, max_epochs=20):
        by_w, by_b = reference.criterion_gradient(
            X, y, step.weights_before, step.bias_before, threshold=1
        )
        moved = [w - g / 2 for w, g in zip(step.weights_before, by_w, strict=True)]
        assert list(step.weights_after) == moved
        assert step.bias_after == step.bias_before - by_b / 2


def test_criterion_is_the_sum_over_misclassified_examples():
    """Mathematical notes: E_p = -Σ x_m·w."""
    X, y, w = [[1, 2], [3, -1], [-2, 2]], [1, -1, 1], [1, -1]
    signed = [[yi * v for v in x] for x, yi in zip(X, y, strict=True)]
    wrong = [reference.dot(z, w) for z in signed if reference.dot(z, w) <= 0]
    assert reference.criterion(X, y, w) == -sum(wrong) == 9


@given(st.floats(-3, 3), st.floats(-3, 3), st.integers(0, 2))
def test_gradient_is_the_slope_of_the_criterion(w1, w2, threshold):
    X, y, h = [[1.0, 2.0], [3.0, -1.0], [-2.0, 2.0]], [1, -1, 1], 1e-7
    margins = [yi * (w1 * a + w2 * b) for (a, b), yi in zip(X, y, strict=True)]
    if min(abs(m - threshold) for m in margins) < 1e-5:
        return
    by_w, _ = reference.criterion_gradient(X, y, [w1, w2], 0, threshold)
    slope = (
        reference.criterion(X, y, [w1 + h, w2], 0, threshold)
        - reference.criterion(X, y, [w1 - h, w2], 0, threshold)
    ) / (2 * h)
    assert slope == pytest.approx(by_w[0], abs=1e-5)


@pytest.mark.parametrize(
    ("order", "rows"),
    [(False, [0, 1, 2]), ([2, 0], [2, 0]), (lambda epoch: [epoch % 3], [1])],
)
def test_the_index_is_chosen_in_order_or_as_given(order, rows):
    X, y = [[1, 0], [0, 1], [-1, -1]], [1, -1, 1]
    steps = reference.online(X, y, order=order, max_epochs=1)
    assert [s.row for s in steps] == rows


def test_permutations_reach_every_row_and_draws_with_replacement_need_not():
    X, y = [[i, 1] for i in range(9)], [1, -1] * 4 + [1]
    permuted = [s.row for s in reference.online(X, y, order=True, seed=1, max_epochs=2)]
    assert sorted(permuted[:9]) == sorted(permuted[9:18]) == list(range(9))
    drawn = [s.row for s in reference.online(X, y, order="random", seed=1, max_epochs=1)]
    assert len(drawn) == 9
    assert len(set(drawn)) < 9


def test_initial_weights_rates_and_thresholds_are_used():
    steps = list(
        reference.online(
            [[1, 0]], [1], weights=[3, 5], bias=-1, threshold=4, eta=lambda t: 10 * t, max_epochs=2
        )
    )
    assert steps[0].score == 2
    assert steps[0].mistake
    assert steps[0].weights_after == (13, 5)
    assert steps[0].bias_after == 9
    assert not steps[1].mistake


def test_the_two_mistake_rules_differ_only_at_a_score_of_zero_for_the_negative_class():
    for y in (-1, 1):
        for score in (-2, 0, 2):
            margin = reference.is_mistake(y, score)
            sign = reference.is_mistake(y, score, mistake="sign")
            assert (margin != sign) == (score == 0 and y == -1)


def test_a_weight_is_so_many_copies_in_a_row():
    X, y = [[1, 2], [-1, 1], [2, -1]], [1, -1, 1]
    weighted = list(reference.online(X, y, sample_weight=[2, 0, 3], max_epochs=3))
    copied = list(reference.online([X[0], X[0], X[2], X[2], X[2]], [1, 1, 1, 1, 1], max_epochs=3))
    assert [s.weights_after for s in weighted] == [s.weights_after for s in copied]
