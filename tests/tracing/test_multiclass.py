"""Several classes: one trace per classifier, and decisions that agree with the estimator."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt import Perceptron, teaching_sets, trace
from rosenblatt.tracing import trace_classes

points = st.lists(
    st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=6, max_size=12, unique=True
)


@settings(max_examples=20, deadline=None)
@given(points)
def test_the_prediction_has_the_most_votes_and_each_classifier_gives_one(X):
    y = [i % 3 for i in range(len(X))]
    run = trace_classes(X, y, max_epochs=3)
    for x in X:
        decided = run.decide(x)
        for label in range(3):
            won = sum(
                (name.startswith(f"{label} ") and score > 0)
                or (name.endswith(f" {label}") and score <= 0)
                for name, score in decided.scores.items()
            )
            assert decided.votes[label] == won
        assert decided.votes[decided.prediction] == max(decided.votes.values())


@pytest.mark.parametrize(("scheme", "multiclass"), [("one-vs-one", "ovo"), ("one-vs-all", "ovr")])
def test_rows_are_decided_as_the_estimator_decides_them(scheme, multiclass):
    corners = teaching_sets.load("triangle")
    run = trace_classes(corners.X, corners.y, scheme=scheme)
    model = Perceptron.textbook(multiclass=multiclass, shuffle=False, tol=None)
    model.fit(corners.X, corners.y)
    grid = [(i, j) for i in range(-2, 7) for j in range(-2, 7)]
    clear = [x for x in grid if all(run.decide(x).scores.values())]
    assert len(clear) > 60
    agree = [
        run.decide(x).prediction == p for x, p in zip(clear, model.predict(clear), strict=True)
    ]
    assert all(agree)


def test_a_pair_is_traced_on_its_own_rows_and_votes_add_up():
    corners = teaching_sets.load("triangle")
    run = trace_classes(
        corners.X, corners.y, class_names=corners.class_names, row_names=corners.row_names
    )
    assert list(run.traces) == ["left vs right", "left vs top", "right vs top"]
    alone = trace(corners.X[:4], [1, 1, -1, -1])
    assert run.traces["left vs right"].weights == alone.weights
    for x in corners.X:
        assert sum(run.decide(x).votes.values()) == 3
    text = run.to_text()
    assert "left vs right     4        5  separated   w = [-2, 0], b = 3" in text
    assert "0 of 6 rows wrong" in text
    for write in (run.to_markdown, run.to_latex, run.to_html, run._repr_html_):
        assert "votes for top" in write()


def test_one_vs_all_has_one_classifier_per_class_and_the_largest_score_wins():
    corners = teaching_sets.load("triangle")
    run = trace_classes(corners.X, corners.y, scheme="one-vs-all")
    assert list(run.traces) == ["0 vs all", "1 vs all", "2 vs all"]
    decided = run.decide((4, 0))
    assert decided.votes is None
    assert decided.scores[f"{decided.prediction} vs all"] == max(decided.scores.values())


@pytest.mark.parametrize(
    ("y", "options", "words"),
    [
        ([1, 1], {}, "several classes are needed, but y holds 1"),
        ([1], {}, "X has 2 rows but y has 1 labels"),
        ([1, 2], {"scheme": "pairs"}, "scheme must be one of"),
        ([1, 2], {"class_names": ["a"]}, "1 class names do not fit 2 classes"),
    ],
)
def test_what_cannot_be_traced_is_refused(y, options, words):
    with pytest.raises(ValueError, match=words):
        trace_classes([[1], [2]], y, **options)


def test_a_data_frame_is_traced_by_its_rows_and_names_its_columns():
    pandas = pytest.importorskip("pandas")
    rows, y = [[0, 1], [2, 0], [3, 3], [1, 5]], [0, 1, 2, 2]
    run = trace_classes(pandas.DataFrame(rows, columns=["width", "height"]), pandas.Series(y))
    plain = trace_classes(rows, y)
    assert {name: t.weights for name, t in run.traces.items()} == {
        name: t.weights for name, t in plain.traces.items()
    }
    assert all(t.problem.feature_names == ("width", "height") for t in run.traces.values())
