"""The embedded data sets say what the notes say."""

import pytest

from rosenblatt import teaching_sets
from rosenblatt.reference import online


def run(example, **options):
    padding = 1 if example.fit_intercept else None
    return list(online(example.X, example.y, mistake=example.mistake, padding=padding, **options))


@pytest.mark.parametrize("name", teaching_sets.NAMES)
def test_every_row_and_column_has_a_name(name):
    example = teaching_sets.load(name)
    assert example.name == name
    assert len(example.X) == len(example.y) == len(example.row_names)
    assert {len(row) for row in example.X} == {len(example.feature_names)}
    labels = {-1, 1} if name in teaching_sets.TWO_CLASSES else set(range(len(example.class_names)))
    assert set(example.y) == labels


def test_an_unknown_example_is_refused_with_the_list_of_those_that_exist():
    with pytest.raises(ValueError, match="no example 'nand'; choose one of movies, not-good"):
        teaching_sets.load("nand")


def test_the_bag_of_words_counts_the_words_of_the_row():
    for name in ("movies", "not-good", "not-good-bigrams"):
        example = teaching_sets.load(name)
        for text, row in zip(example.row_names, example.X, strict=True):
            grams = {*text.split(), text}
            assert row == tuple(int(word in grams) for word in example.feature_names)


@pytest.mark.parametrize(
    ("name", "separates"),
    [("movies", True), ("not-good", False), ("not-good-bigrams", True),
     ("and", True), ("or", True), ("xor", False)],
)  # fmt: skip
def test_the_examples_of_the_notes_separate_where_the_notes_say_so(name, separates):
    example = teaching_sets.load(name)
    steps = run(example, max_epochs=100)
    last_epoch = steps[-len(example.X) :]
    assert any(step.mistake for step in last_epoch) != separates


def test_iris_makes_the_four_mistakes_of_the_theory_notes():
    steps = run(teaching_sets.load("iris"))
    assert sum(step.mistake for step in steps) == 4
    assert steps[-1].epoch == 3
    assert steps[-1].weights_after == pytest.approx((0.5, 0.8))
    assert steps[-1].bias_after == pytest.approx(-2.0)
