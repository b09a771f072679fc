"""The running average and the pocket of a trace are what their definitions say."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt import reference, teaching_sets, trace

rows = st.lists(
    st.tuples(*[st.integers(-3, 3)] * 2, st.sampled_from([-1, 1])), min_size=2, max_size=8
)


@settings(max_examples=50, deadline=None)
@given(rows, st.sampled_from(["margin", "sign"]), st.sampled_from(["online", "batch"]))
def test_both_agree_with_their_definitions_at_every_step(data, mistake, update):
    X, y = [row[:2] for row in data], [row[2] for row in data]
    run = trace(X, y, mistake=mistake, update=update, max_epochs=6)
    seen = [(0, *run.path[0])]
    for at, step in enumerate(run):
        w, b = run.averages[at]
        mean, mean_bias = reference.average(run[: at + 1])
        assert [float(value) for value in w] == pytest.approx([float(value) for value in mean])
        assert float(b) == pytest.approx(float(mean_bias))
        seen.append((step.number, step.weights_after, step.bias_after))
        errors = [
            sum(
                reference.is_mistake(yi, reference.dot(w, x) + b, 0, mistake)
                for x, yi in zip(X, y, strict=True)
            )
            for _, w, b in seen
        ]
        kept = run.pockets[at]
        assert kept.errors == min(errors)
        assert (kept.step, kept.weights, kept.bias) == seen[errors.index(min(errors))]


def test_averages_of_whole_numbers_are_exact_and_fractions_stay_fractions():
    run = trace([[2, 1], [-1, 1]], [1, -1])
    assert run.averages[-1] == ((Fraction(11, 4), Fraction(1, 4)), Fraction(1, 4))
    exact = trace([[Fraction(1, 3)], [Fraction(-1, 7)]], [1, -1])
    assert exact.pockets[-1].errors == 0


def test_the_printed_trace_shows_both_in_either_style():
    xor = teaching_sets.load("xor")
    run = trace(xor.X, xor.y, row_names=xor.row_names)
    table = run.to_text("table", show=["average", "pocket"])
    assert "average w  average b  E  pocket w  pocket b" in table
    steps = run.to_text(show=["average", "pocket"])
    assert "average of the weights so far: w = [1/3, 2/3], b = 0" in steps
    assert "pocket: E = 2, from step 1: w = [0, 0], b = -1" in steps
    assert "average" not in run.to_text()
    for write in (run.to_markdown, run.to_latex, run.to_html):
        assert "pocket" in write("table", show=["pocket"])


def test_other_names_are_refused():
    with pytest.raises(ValueError, match="show takes average and pocket, not 'best'"):
        trace([[1], [2]], [0, 1]).to_text(show=["best"])
