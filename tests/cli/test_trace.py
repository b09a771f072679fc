"""`rosenblatt trace` prints the worked examples and says what is wrong with a file."""

import pytest
from typer.testing import CliRunner

from rosenblatt.cli import app

run = CliRunner().invoke


def test_the_movie_reviews_print_the_table_and_the_sums_of_the_notes():
    printed = run(app, ["trace", "--example", "movies"])
    assert printed.exit_code == 0
    for line in (
        "movie good  +1 (positive)      1     1    0    0",
        "s = w·x = 0·0 + 1·1 - 1·0 + 0·1 = 1",
        "w ← w - x = [0, 1, -1, 0] - [0, 1, 0, 1] = [0, 0, -1, -1]",
        "Epoch 3 passed without a mistake, after 4 updates in all.",
    ):
        assert line in printed.stdout


@pytest.mark.parametrize("name", ["not-good", "not-good-bigrams", "xor", "and", "or", "iris"])
def test_every_example_prints(name):
    printed = run(app, ["trace", "--example", name, "--style", "table"])
    assert printed.exit_code == 0
    assert "The end" in printed.stdout


def test_the_proof_of_iris_shows_the_bound_of_the_theory_notes():
    printed = run(app, ["trace", "--example", "iris", "--proof"])
    assert "γ = 0.268493, R = 5.43783: at most 410 updates" in printed.stdout


def test_without_a_separating_line_the_proof_says_so():
    printed = run(app, ["trace", "--example", "xor", "--proof"])
    assert printed.exit_code == 0
    assert "the number of updates has no bound" in printed.stdout


@pytest.mark.parametrize(
    ("format", "mark"),
    [("markdown", "## Epoch 1"), ("latex", "\\begin{itemize}"), ("html", "<table>")],
)
def test_it_writes_other_formats(format, mark):
    assert mark in run(app, ["trace", "--example", "or", "--format", format]).stdout


def test_html_is_a_page_of_its_own_with_a_title():
    printed = run(app, ["trace", "--example", "or", "--format", "html"]).stdout
    assert printed.startswith('<!doctype html>\n<html lang="en"><head><meta charset="utf-8">')
    assert "<title>or, step by step</title>" in printed
    assert '"color-scheme" content="light dark"' in printed


def test_a_small_file_is_traced_with_the_options_given(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("name,a,b,label\nfirst,2,1,yes\nsecond,-1,1,no\n")
    printed = run(app, ["trace", str(file), "--no-bias", "--eta", "0.5", "--seed", "3"])
    assert printed.exit_code == 0
    assert "first: x = [2, 1], y = +1 (yes)" in printed.stdout
    assert "0.5·x" in printed.stdout
    assert "b =" not in printed.stdout


def test_a_file_without_a_header_is_traced_from_its_first_row(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("2,1,yes\n-1,1,no\n")
    printed = run(app, ["trace", str(file), "--label=-1"])
    assert "row 1: x = [2, 1], y = +1 (yes)" in printed.stdout


def test_neither_a_file_nor_an_example_is_bad_usage():
    assert run(app, ["trace"]).exit_code == 2
    assert run(app, ["trace", "a.csv", "--example", "or"]).exit_code == 2


def test_a_bad_cell_is_named_by_line_and_column(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("a,b,label\n1,oops,yes\n2,1,no\n")
    failed = run(app, ["trace", str(file)])
    assert "line 2, column 'b': expected a number, found 'oops'" in str(failed.exception)


def test_the_average_and_the_pocket_are_shown_step_by_step():
    printed = run(app, ["trace", "--example", "xor", "--average", "--pocket"]).stdout
    assert "average of the weights so far: w = [1/3, 2/3], b = 0" in printed
    assert "pocket: E = 2, from step 1: w = [0, 0], b = -1" in printed


def test_a_start_other_than_zero_gives_the_bound_of_that_start():
    arguments = ["trace", "--example", "or", "--weights", "3,-2,1", "--proof"]
    printed = run(app, arguments).stdout
    assert "w = [3, -2], b = 1" in printed
    # k₀ = ‖w₀ - αu‖²/R² = 89/3
    assert "at most 29 updates, because ‖w₀ - αu‖² = 89 falls by at least R² per update" in printed


@pytest.mark.parametrize(
    ("weights", "words"),
    [("1,x,0", "'x' is not a number"), ("1", "1 numbers do not fit 2 features and a bias")],
)
def test_a_start_that_does_not_fit_is_bad_usage(weights, words):
    failed = run(app, ["trace", "--example", "or", "--weights", weights], env={"COLUMNS": "200"})
    assert failed.exit_code == 2
    assert words in failed.output


def test_three_classes_show_the_votes_of_every_pair():
    printed = run(app, ["trace", "--example", "triangle", "--multiclass", "one-vs-one"])
    assert printed.exit_code == 0
    assert "votes for left" in printed.stdout
    assert "0 of 6 rows wrong" in printed.stdout
    refused = run(app, ["trace", "--example", "triangle"])
    assert "--multiclass" in str(refused.exception)
    both = ["trace", "--example", "triangle", "--multiclass", "one-vs-all", "--proof"]
    assert run(app, both).exit_code == 2


def test_another_rule_shows_its_own_arithmetic():
    arow = run(app, ["trace", "--example", "movies", "--rule", "arow", "--max-epochs", "3"])
    assert arow.exit_code == 0
    assert "v = Σ σ·x² = 2, β = 1/(v + r) = 0.333333, α = ℓ·β = 0.333333" in arow.stdout
    half = run(app, ["trace", "--example", "movies", "--rule", "pa1:C=0.25", "--style", "steps"])
    assert half.exit_code == 0
    assert "τ = min(C, ℓ/‖(x,c)‖² = ℓ/2) = 0.25" in half.stdout


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("scw1", "'scw1' is not one of perceptron, pa, pa1, pa2, arow"),
        ("arow:C=1", "has the parameters r"),
        ("pa1:C=-1", "'C'"),
        ("perceptron:eta0=2", "are options, such as --threshold"),
    ],
)
def test_a_rule_that_does_not_exist_is_bad_usage(rule, words):
    failed = run(app, ["trace", "--example", "or", "--rule", rule], env={"COLUMNS": "200"})
    assert failed.exit_code == 2
    assert words in failed.output
