"""`rosenblatt explain`: contributions that add up to the score, for every kind of model."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from rosenblatt import load, train
from rosenblatt.cli import app
from rosenblatt.errors import OptionError

TABLE = {
    "label": ["a", "b", "c"] * 30,
    "text": ["good and fun", "bad and dull", "so so, not bad"] * 30,
    "age": [20.0, 40.0, 60.0] * 30,
    "job": ["tech", "sales", "art"] * 30,
    "day": ["2024-03-30", "2024-04-02", "2024-05-05"] * 30,
}
ROW = {"text": "not so bad, and fun", "age": 33, "job": "art", "day": "2025-01-01"}


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result.output


def rows_that_add_up(text):
    numbers = [float(line.split()[0]) for line in text.splitlines()[1:]]
    assert sum(numbers[:-1]) == pytest.approx(numbers[-1], abs=1e-4 * len(numbers))
    return numbers[-1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    train(TABLE, epochs=3, columns={"text": "text"}).save(folder / "table.model")
    two = {name: [v for i, v in enumerate(values) if i % 3 < 2] for name, values in TABLE.items()}
    train(two, text="text", epochs=3).save(folder / "text.model")
    (folder / "a.vw").write_text("1 |w good fun\n-1 |w bad dull\n" * 30)
    (folder / "a.svm").write_text("1 1:1 3:0.5\n-1 2:1\n" * 30)
    for name in ("vw", "svm"):
        train(folder / f"a.{name}", epochs=3).save(folder / f"{name}.model")
    return folder


@pytest.mark.parametrize("top", [1, 3, 50])
def test_the_lines_add_up_to_the_score(folder, top):
    model = load(folder / "text.model")
    text = "good, and not so bad"
    score = rows_that_add_up(run("explain", folder / "text.model", text, "--top", top))
    assert score == pytest.approx(model.decision_function([text])[0], abs=1e-3)


def test_contributions_add_up_in_tables_of_every_kind(folder):
    model = load(folder / "table.model")
    scores = model.decision_function({name: [value] for name, value in ROW.items()})[0]
    told = json.loads(run("explain", folder / "table.model", json.dumps(ROW), "--json"))
    added = np.sum([f["contributions"] for f in told["features"]], axis=0) + told["bias"]
    assert added == pytest.approx(scores, abs=1e-5)
    assert told["scores"] == pytest.approx(scores, abs=1e-5)
    named = {f["feature"] for f in told["features"]}
    assert {"text: bad", "text: so bad", "age", "job=art", "day:month=Jan"} <= named
    for place, name in enumerate(model.classes):
        text = run("explain", folder / "table.model", json.dumps(ROW), "-l", name)
        assert rows_that_add_up(text) == pytest.approx(scores[place], abs=1e-3)


@pytest.mark.parametrize(("name", "row"), [("vw", "|w good dull"), ("svm", "1:1 2:0.5")])
def test_rows_of_sparse_files_are_lines(folder, name, row):
    rows_that_add_up(run("explain", folder / f"{name}.model", row))


@pytest.mark.parametrize(
    ("name", "row", "options", "message"),
    [
        ("table", "just text", [], "a table with the columns text, age, job, day is expected"),
        ("table", '{"age": 3}', [], "the columns text, job, day are missing"),
        ("table", "{age}", [], "is not a JSON object"),
        ("text", "good", ["-l", "z"], "'z' is not a class of the model: a, b"),
        ("vw", "no bar", [], "expected '|'"),
    ],
)
def test_what_cannot_be_explained_is_said(folder, name, row, options, message):
    result = CliRunner().invoke(app, ["explain", str(folder / f"{name}.model"), row, *options])
    assert result.exit_code == 1
    assert isinstance(result.exception, OptionError) == ("-l" in options)
    assert re.search(re.escape(message), str(result.exception))


def test_a_text_of_nothing_known_has_the_bias_for_a_score(folder):
    text = run("explain", folder / "text.model", "qqqq")
    assert "1 feature of the row without weight" in text
    rows_that_add_up(text)


def test_inspect_says_the_column_beside_the_word(folder):
    told = json.loads(run("inspect", folder / "table.model", "--json"))
    words = {word for pairs in told["words"].values() for word, _ in pairs}
    assert {"text: fun", "job=tech"} <= words


def test_every_row_of_a_file_is_explained(folder):
    (folder / "two.vw").write_text("-1 't|w good fun\n\n|w bad\n")
    (folder / "two.svm").write_text("# first\n1 qid:1 1:1 # last\n-1 2:1\n")
    (folder / "two.csv").write_text("text\ngood fun\nbad\n")
    rows = {"vw": ["|w good fun", "|w bad"], "svm": ["1:1", "2:1"], "text": ["good fun", "bad"]}
    for name, pair in rows.items():
        file = folder / f"two.{'csv' if name == 'text' else name}"
        single = [run("explain", folder / f"{name}.model", row) for row in pair]
        assert run("explain", folder / f"{name}.model", file) == "\n".join(single)
    told = CliRunner().invoke(
        app, ["explain", str(folder / "text.model"), "-", "--json"], input="good fun\nbad\n"
    )
    assert [json.loads(line)["predicted"] for line in told.stdout.splitlines()] == ["a", "b"]


def test_a_file_is_not_taken_for_a_text(folder):
    name = str(folder / "text.model")
    result = CliRunner().invoke(app, ["explain", name, name])
    assert "is this a binary file?" in str(result.exception)


def test_a_line_with_a_negative_label_is_no_option(folder):
    line = run("explain", folder / "vw.model", "-1 |w good dull")
    assert line == run("explain", folder / "vw.model", "|w good dull")


@pytest.mark.parametrize("name", ["vw", "svm", "table"])
def test_all_weights_are_listed_with_their_names(folder, name):
    model = load(folder / f"{name}.model")
    names = [] if name == "table" else ["--names", folder / f"a.{name}"]
    head, bias, *lines = run("inspect", folder / f"{name}.model", "--all", *names).splitlines()
    rows = [line.split("\t") for line in lines]
    assert head.split("\t")[2:] == list(model.classes[1 if name != "table" else 0 :])
    assert np.array(bias.split("\t")[2:], float) == pytest.approx(model.bias)
    assert [int(row[0]) for row in rows] == model.columns.tolist()
    assert np.array([row[2:] for row in rows], np.float32) == pytest.approx(model.weights)
    spelled = {"vw": {"w^good", "w^fun", "w^bad", "w^dull"}, "svm": {"1", "2", "3"}}
    assert name == "table" or {row[1] for row in rows} == spelled[name]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["train", "-d", "a.vw"], "no such option: -d; name the files without an option"),
        (["train", "a.vw", "--passes", "3"], "no such option: --passes; did you mean --epochs?"),
        (["train", "a.vw", "-b", "20"], "no such option: -b; did you mean --bits?"),
        (["train", "a.vw", "-f", "m"], "no such option: -f; did you mean --out?"),
        (
            ["train", "a.vw", "-c", "-k"],
            "no such option: -c; rows are stored by themselves: leave it out",
        ),
        (
            ["train", "a.vw", "--l1=0.1"],
            "no such option: --l1; see --rule, and rosenblatt.compare for the rules there are",
        ),
        (
            ["predict", "m", "a.vw", "--link", "logistic"],
            "no such option: --link; rosenblatt predict --proba prints probabilities",
        ),
        (["inspect", "m", "--audit"], "no such option: --audit; see rosenblatt explain MODEL FILE"),
        (
            ["train", "a.vw", "--nn", "5"],
            "no such option: --nn; nothing here corresponds to this option of Vowpal Wabbit",
        ),
    ],
)
def test_options_of_vowpal_wabbit_are_answered_with_ours(arguments, hint):
    result = CliRunner().invoke(app, arguments)
    assert isinstance(result.exception, OptionError)
    assert str(result.exception) == hint
