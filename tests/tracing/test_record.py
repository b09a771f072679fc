"""A trace says what the notes say, and what the reference does."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from rosenblatt import reference, teaching_sets, trace
from rosenblatt.tracing.run import rule_of

NOTES = [
    # The full run of the notes' "Example 1: Converging", with its signs and its order of terms.
    ("0·1 + 0·1 + 0·0 + 0·0 = 0", -1, "[0, 0, 0, 0] + [1, 1, 0, 0] = [1, 1, 0, 0]"),
    ("1·1 + 1·0 + 0·1 + 0·0 = 1", +1, "[1, 1, 0, 0] - [1, 0, 1, 0] = [0, 1, -1, 0]"),
    ("0·0 + 1·1 - 1·0 + 0·1 = 1", +1, "[0, 1, -1, 0] - [0, 1, 0, 1] = [0, 0, -1, -1]"),
    ("0·1 + 0·1 - 1·0 - 1·0 = 0", -1, "[0, 0, -1, -1] + [1, 1, 0, 0] = [1, 1, -1, -1]"),
    ("1·1 + 1·0 - 1·1 - 1·0 = 0", -1, "w = [1, 1, -1, -1] does not change"),
    ("1·0 + 1·1 - 1·0 - 1·1 = 0", -1, "w = [1, 1, -1, -1] does not change"),
    ("1·1 + 1·1 - 1·0 - 1·0 = 2", +1, "w = [1, 1, -1, -1] does not change"),
]


def trace_of(name, **options):
    example = teaching_sets.load(name)
    return trace(
        example.X,
        example.y,
        feature_names=example.feature_names,
        row_names=example.row_names,
        mistake=example.mistake,
        fit_intercept=example.fit_intercept,
        **options,
    )


def test_the_movie_reviews_give_the_arithmetic_of_the_notes_term_by_term():
    run = trace_of("movies")
    for i, (score, prediction, learned) in enumerate(NOTES):
        lines = run.arithmetic(i)
        assert lines[1] == f"s = w·x = {score}"
        assert run[i].prediction == prediction
        assert lines[3].endswith(learned)
    assert (run.stop_reason, run.n_epochs, run.n_updates) == ("separated", 3, 4)
    assert run.weights == (1, 1, -1, -1)


def test_the_printed_trace_shows_the_rows_the_epochs_and_the_end():
    text = str(trace_of("movies"))
    assert "movie good  +1      1     1    0    0" in text
    for line in ("Epoch 1", "Epoch 2", "Epoch 3", "Epoch 3 passed without a mistake"):
        assert line in text
    assert all(line in text for score, _, learned in NOTES for line in (score, learned))


def test_single_words_never_separate_not_good_and_pairs_of_words_do():
    assert trace_of("not-good").stop_reason == "cycle"
    assert trace_of("not-good-bigrams").stop_reason == "separated"


def test_xor_comes_back_to_where_it_was_and_the_rows_added_in_between_cancel():
    run = trace_of("xor")
    assert run.stop_reason == "cycle"
    assert set(run.contradiction.values()) == {Fraction(1)}
    assert "only q + only p = neither + both" in str(run)


def test_the_batch_rule_corrects_all_mistaken_rows_in_one_step():
    run = trace_of("or", update="batch")
    assert run[0].mistaken == (0, 1, 2, 3)
    assert run.stop_reason == "separated"
    assert "4 mistaken rows: neither, only q, only p, both" in str(run)
    assert "4 updates" in run.to_text("table")


def test_a_run_that_is_cut_short_says_so():
    run = trace_of("movies", max_epochs=1)
    assert run.stop_reason == "budget"
    assert "Stopped after the 1 epoch allowed, with 3 updates." in str(run)


def test_the_path_holds_the_weights_at_the_start_and_after_each_update():
    run = trace_of("movies")
    assert [w for w, _ in run.path] == [
        (0, 0, 0, 0), (1, 1, 0, 0), (0, 1, -1, 0), (0, 0, -1, -1), (1, 1, -1, -1),
    ]  # fmt: skip


def test_labels_of_any_kind_are_shown_beside_their_signs():
    run = trace([[1, 0], [0, 1]], ["spam", "ham"])
    assert run.problem.signs == (1, -1)
    assert "+1 (spam)" in str(run)


def test_a_data_frame_brings_the_names_of_its_columns():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"width": [1.0, -1.0], "height": [0.5, 2.0]})
    run = trace(frame, pandas.Series([0, 1]))
    assert run.problem.feature_names == ("width", "height")
    assert "width" in run.to_text("table")


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([], [], "at least one row"),
        ([[1, 2], [3]], [0, 1], "row 1 has 1 features where row 0 has 2"),
        ([[1, float("nan")]], [1], "row 0 holds nan"),
        ([["a"], ["b"]], [0, 1], "row 0 holds 'a'"),
        ([[1], [2]], [0], "X has 2 rows but y has 1 labels"),
        ([[1], [2], [3]], [0, 1, 2], "two classes, but y holds 3"),
        ([[1], [2]], [5, 5], "two classes, but y holds 1"),
    ],
)
def test_bad_input_is_refused_with_the_culprit_named(X, y, message):
    with pytest.raises(ValueError, match=message):
        trace(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"update": "stochastic"}, "update must be 'online' or 'batch'"),
        ({"mistake": "hinge"}, "mistake must be one of"),
        ({"threshold": -1}, "threshold must be 0 or more"),
        ({"intercept_scaling": 0}, "padding must be positive"),
        ({"weights": [1, 2, 3]}, "3 weights do not fit 1 features"),
        ({"feature_names": ["a", "b"]}, "2 feature names"),
    ],
)
def test_bad_options_are_refused_with_the_culprit_named(options, message):
    with pytest.raises(ValueError, match=message):
        trace([[1], [2]], [0, 1], **options)


rows = st.lists(
    st.tuples(*[st.integers(-3, 3)] * 2, st.sampled_from([-1, 1])), min_size=2, max_size=8
)


@settings(max_examples=60, deadline=None)
@given(rows, st.sampled_from([0, 1, 2]), st.booleans())
def test_a_trace_takes_exactly_the_steps_of_the_reference(data, threshold, fit_intercept):
    X, y = [row[:2] for row in data], [row[2] for row in data]
    run = trace(X, y, threshold=threshold, fit_intercept=fit_intercept, max_epochs=15)
    steps = reference.online(
        X, y, threshold=threshold, padding=1 if fit_intercept else None, max_epochs=15
    )
    for ours, theirs in zip(run, steps, strict=False):
        assert (ours.row, ours.score, ours.weights_after, ours.bias_after) == (
            theirs.row, theirs.score, theirs.weights_after, theirs.bias_after,
        )  # fmt: skip
    assert run.n_updates == sum(step.mistake for step in run)


@settings(max_examples=60, deadline=None)
@given(rows)
def test_what_a_cycle_adds_is_exactly_zero_on_every_coordinate(data):
    X, y = [row[:2] for row in data], [row[2] for row in data]
    run = trace(X, y, max_epochs=60)
    if run.contradiction is None:
        assert run.stop_reason in ("separated", "budget")
        return
    rows = [(share, run.problem.padded(row)) for row, share in run.contradiction.items()]
    assert all(share > 0 for share, _ in rows)
    assert all(sum(share * z[j] for share, z in rows) == 0 for j in range(3))


def test_a_correct_prediction_within_the_threshold_is_an_update_and_not_a_mistake():
    run = trace([[1], [-1]], [1, -1], threshold=1, fit_intercept=False, max_epochs=1)
    assert [(step.prediction, step.mistake) for step in run] == [(-1, True), (-1, True)]
    assert run.arithmetic(0)[2].endswith("≤ 1: a mistake")
    assert run.arithmetic(1)[2].endswith("≤ 1: right, but not by more than the threshold")
    steps = run.to_text("table").splitlines()[11:13]
    assert [row.split()[-2] for row in steps] == ["mistake", "update"]


def test_a_notebook_shows_short_runs_step_by_step_and_folds_long_ones():
    short = trace([[2, 1], [-1, 1]], [1, -1])._repr_html_()
    assert short.count('class="step') == 4
    assert "<details>" not in short
    iris = teaching_sets.load("iris")
    long = trace(iris.X, iris.y)._repr_html_()
    assert 'class="step' not in long
    assert "<summary>85 more rows</summary>" in long  # of the 100 flowers
    assert "<summary>285 more rows</summary>" in long  # of the 300 steps


def test_results_have_a_short_repr():
    run = trace([[2, 1], [-1, 1]], [1, -1])
    assert repr(run) == "<Trace: 4 steps, 2 updates, separated>"
    assert repr(run.problem) == "<TraceProblem: 2 rows of 2 features, classes -1 and 1>"
    assert repr(run.proof((1, 0, 0))) == "<Proof: 2 updates, at most 6; γ = 1, R = 2.44949>"


@pytest.mark.parametrize("rule", ["pa", "pa1", "pa2", "arow"])
def test_other_rules_take_the_steps_of_their_reference(rule):
    X, y = [[2, 1], [-1, 1], [0.5, -1], [-2, 0.5]], [1, -1, 1, -1]
    member = rule_of(rule, 0.5, 2.0)
    run = trace(X, y, rule=rule, C=0.5, r=2.0, max_epochs=4)
    steps = list(reference.family(X, y, member, max_epochs=4))
    assert [s.weights_after for s in run] == [s.weights_after for s in steps]
    assert [s.variances_after for s in run] == [s.variances_after for s in steps]
    assert run.n_updates == sum(s.tau != 0 for s in steps)
    text = run.to_text()
    assert "max(0, 1 - y·s)" in text
    assert ("σ ← σ" in text) == (rule == "arow")
    with pytest.raises(ValueError, match="proof is that of the perceptron"):
        run.proof()
    assert "not of another rule" in run.to_text(proof=True)


def test_other_rules_refuse_what_they_do_not_have():
    with pytest.raises(ValueError, match="rule must be one of"):
        trace([[1], [2]], [-1, 1], rule="arrow")
    with pytest.raises(ValueError, match="C and r must be positive"):
        trace([[1], [2]], [-1, 1], rule="pa1", C=0)
    with pytest.raises(ValueError, match="threshold of 1"):
        trace([[1], [2]], [-1, 1], rule="arow", threshold=3)
    with pytest.raises(ValueError, match="learn online, and start from zero"):
        trace([[1], [2]], [-1, 1], rule="arow", update="batch")


def test_sparse_rows_of_millions_of_columns_are_not_written_out():
    with pytest.raises(ValueError, match="50 rows of 20,000,000 columns, too many to trace"):
        trace(sparse.csr_array((50, 20_000_000)), [0, 1] * 25)
    assert str(trace(sparse.csr_array([[0, 1], [1, 0]]), [0, 1])) == str(
        trace([[0, 1], [1, 0]], [0, 1])
    )
