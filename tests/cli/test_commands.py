"""The commands, from files to files."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnxruntime
import pyarrow.feather
import pyarrow.parquet
import pytest
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

from rosenblatt import load
from rosenblatt.cli import app

WORDS = {"pos": ["good", "fun", "great"], "neg": ["bad", "dull", "awful"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("files")
    generator = np.random.default_rng(0)
    for name, rows in (("train", 300), ("test", 100)):
        lines = ["sentiment,review"]
        for _ in range(rows):
            label = generator.choice(["pos", "neg"])
            picked = generator.choice(WORDS[label], 2)
            lines.append(f"{label},the {picked[0]} film {generator.integers(99)} was {picked[1]}")
        (path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    numbers = [f"{a},{b},{'high' if a + b > 10 else 'low'}" for a in range(12) for b in range(12)]
    (path / "numbers.csv").write_text("a,b,size\n" + "\n".join(numbers) + "\n")
    return path


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture(scope="module")
def model(folder):
    run("train", folder / "train.csv", "--label", "sentiment", "--out", folder / "a.model")
    return folder / "a.model"


def test_train_says_what_happens_in_plain_lines(folder):
    out = folder / "b.model"
    output = run("train", folder / "train.csv", "--label", "sentiment", "--out", out)
    assert "epoch 1" in output
    assert "300 rows, 9.0 kB" in output
    assert "progressive error" in output
    assert re.search(rf"^model      {re.escape(str(out))}\s+2 classes, ", output, re.MULTILINE)


def test_train_can_be_quiet_or_speak_json(folder):
    common = ["train", folder / "train.csv", "--label", "sentiment", "--out", folder / "c.model"]
    assert run(*common, "--quiet") == ""
    told = json.loads(run(*common, "--json", "--epochs", 2))
    assert told["classes"] == ["neg", "pos"]
    assert [epoch["epoch"] for epoch in told["history"]] == [1, 2]


def test_evaluate_reports_accuracy_and_classes(model, folder):
    told = json.loads(run("evaluate", model, folder / "test.csv", "--json"))
    assert told["rows"] == 100
    assert told["accuracy"] > 0.95
    assert set(told["classes"]) == {"neg", "pos"}
    text = run("evaluate", model, folder / "test.csv", "--plot", folder / "curves.png")
    assert "accuracy" in text
    assert (folder / "curves.png").stat().st_size > 5000


def test_a_rare_class_is_spoken_of_in_training_and_in_evaluation(folder):
    common = [f"ham,one {word} text" for word in ("good", "plain", "short", "long") * 30]
    (folder / "rare.csv").write_text(
        "\n".join(["label,text", *[*common, "spam,one good text"] * 2])
    )
    out = folder / "rare.model"
    said = run("train", folder / "rare.csv", "--out", out)
    assert "99.17 % of the rows are ham: accuracy says little" in said
    assert "accuracy says" not in run(
        "train", folder / "rare.csv", "--out", out, "--class-weight", "ham=1,spam=0.1"
    )
    assert "never predicted: spam (2 rows)" in run("evaluate", out, folder / "rare.csv")


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "arrow"])
def test_predict_keeps_rows_and_order(model, folder, suffix):
    out = folder / f"predicted.{suffix}"
    assert "100 rows" in run("predict", model, folder / "test.csv", "--out", out)
    rows = (folder / "test.csv").read_text().splitlines()[1:]
    if suffix in ("csv", "tsv"):
        mark = "," if suffix == "csv" else "\t"
        found = [line.replace('"', "").split(mark) for line in out.read_text().splitlines()]
        header, found = found[0], found[1:]
    else:
        if suffix == "jsonl":
            table = [json.loads(line) for line in out.read_text().splitlines()]
        elif suffix == "parquet":
            table = pyarrow.parquet.read_table(out).to_pylist()
        else:
            table = pyarrow.feather.read_table(out).to_pylist()
        header, found = list(table[0]), [list(row.values()) for row in table]
    assert header == ["sentiment", "review", "predicted", "score"]
    assert [f"{row[0]},{row[1]}" for row in found] == rows
    assert all((float(row[3]) > 0) == (row[2] == "pos") for row in found)
    assert np.mean([row[0] == row[2] for row in found]) > 0.95


def test_predict_needs_no_labels(model, folder):
    (folder / "new.csv").write_text("review\na good and fun film\na dull and awful film\n")
    run("predict", model, folder / "new.csv", "--out", folder / "new.jsonl")
    found = [json.loads(line) for line in (folder / "new.jsonl").read_text().splitlines()]
    assert [row["predicted"] for row in found] == ["pos", "neg"]


def test_inspect_names_features_by_their_words(model):
    told = json.loads(run("inspect", model, "--json"))
    assert {"good", "fun", "great"} <= {word for word, _ in told["words"]["pos"]}
    text = run("inspect", model)
    assert "for pos:" in text
    assert "good" in text


def test_export_to_onnx_says_what_the_model_says(folder):
    model, out = folder / "numbers.model", folder / "numbers.onnx"
    run("train", folder / "numbers.csv", "--label", "size", "--epochs", 20, "--out", model)
    run("export", model, "--out", out)
    X = np.array([[11, 11], [0, 0], [np.nan, 1]], np.float32)
    label, *_ = onnxruntime.InferenceSession(out).run(None, {"X": X})
    table = {"a": [11.0, 0.0, None], "b": [11.0, 0.0, 1.0]}
    assert label.tolist() == load(model).predict(table).tolist()
    assert label.tolist()[:2] == ["high", "low"]


def test_export_to_onnx_keeps_the_threshold_that_was_chosen_on_held_out_rows(folder):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 2)).astype(np.float32)
    y = np.where(X[:, 0] + rng.normal(size=600) > 1.0, "rare", "often")
    rows = "".join(f"{a!r},{b!r},{c}\n" for (a, b), c in zip(X.tolist(), y, strict=True))
    (folder / "rare.csv").write_text("a,b,label\n" + rows)
    model, out = folder / "rare.model", folder / "rare.onnx"
    run("train", folder / "rare.csv", "--target", "recall=0.9", "--out", model)
    run("export", model, "--out", out)
    assert load(model).threshold != 0.0
    label, scores, *_ = onnxruntime.InferenceSession(out).run(None, {"X": X})
    table = {"a": X[:, 0].astype(float), "b": X[:, 1].astype(float)}
    clear = np.abs(scores[:, 0] - load(model).threshold) > 1e-4
    assert (label == load(model).predict(table))[clear].all()
    assert clear.mean() > 0.99


@pytest.mark.parametrize("classes", [2, 3])
def test_export_to_onnx_takes_features_of_svmlight_files_by_number(folder, classes):
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(300, 7)) * (rng.random((300, 7)) < 0.5)
    y = X[:, :classes].argmax(axis=1)
    out = folder / f"{classes}.onnx"
    dump_svmlight_file(X, y, str(folder / "rows.svm"), zero_based=False)
    run("train", folder / "rows.svm", "--out", folder / "rows.model")
    run("export", folder / "rows.model", "--out", out)
    session = onnxruntime.InferenceSession(out)
    width = session.get_inputs()[0].shape[1]
    assert width <= 8
    given = np.zeros((300, width), np.float32)
    given[:, 1:] = X[:, : width - 1]
    label, *_ = session.run(None, {"X": given})
    run("predict", folder / "rows.model", folder / "rows.svm", "--out", folder / "p.csv")
    expected = [line.split(",")[0] for line in (folder / "p.csv").read_text().split()]
    assert label.tolist() == expected
    assert (label == y.astype(str)).mean() > 0.8


def test_export_to_onnx_refuses_texts(model, folder):
    result = CliRunner().invoke(app, ["export", str(model), "--out", str(folder / "x.onnx")])
    assert "numeric columns" in str(result.exception)


@pytest.mark.parametrize("classes", [2, 3])
def test_export_to_onnx_knows_categories_and_probabilities(folder, classes):
    rng = np.random.default_rng(classes)
    age = rng.integers(18, 80, 500).astype(float)
    job = rng.choice(["tech", "sales", "none at all", ""], 500)
    y = (age > 40).astype(int) + (job == "tech") * (classes - 1)
    rows = [f"{a:g},{j},{c % classes}" for a, j, c in zip(age, job, y, strict=True)]
    table, model, out = (folder / f"jobs{classes}.{end}" for end in ("csv", "model", "onnx"))
    table.write_text("age,job,label\n" + "\n".join(rows) + "\n")
    run("train", table, "--lift", "none", "--out", model)
    result = CliRunner().invoke(app, ["export", str(model), "--out", str(out)])
    assert "categories as hashes only" in str(result.exception)
    run("export", model, "--names", table, "--out", out)
    age[::7] = np.nan
    job[::5] = "a job that training did not see"
    given = {"age": age.astype(np.float32)[:, None], "job": job.astype(object)[:, None]}
    label, _, probabilities = onnxruntime.InferenceSession(out).run(None, given)
    columns = {"age": age, "job": job.astype(object)}
    expected = load(model).predict_proba(columns)
    assert np.allclose(probabilities, expected, atol=1e-5)
    assert (label == load(model).predict(columns)).mean() > 0.99


def program(*arguments, **options):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-m", "rosenblatt", *(str(a) for a in arguments)]
    return subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def test_bad_data_is_one_plain_sentence_and_exit_code_1(folder):
    process = program("train", folder / "train.csv", "--label", "nope")
    _, error = process.communicate(timeout=60)
    assert process.returncode == 1
    assert error.count("\n") == 1
    assert "there is no column 'nope'; the columns are sentiment, review" in error


def test_bad_usage_exits_with_2(folder):
    run("train", folder / "train.csv", "--epochs", 0, code=2)
    run("train", folder / "train.csv", "--column", "review", code=2)


def test_ctrl_c_saves_and_the_run_resumes_to_the_same_model(folder):
    rows = (folder / "train.csv").read_text().splitlines()
    big = folder / "big.csv"
    big.write_text("\n".join([rows[0], *(rows[1:] * 400)]) + "\n")
    common = ["train", big, "--label", "sentiment", "--text", "review", "--epochs", "12"]
    run(*common, "--out", folder / "whole.model", "--quiet")
    parts = [*common, "--out", folder / "parts.model", "--checkpoint", folder / "run", "--resume"]
    process = program(*parts, "--every", "0")
    deadline = time.monotonic() + 60
    while not (folder / "run" / "checkpoint").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    if process.returncode != 0:
        assert process.returncode == 130
        assert "--resume" in error
        run(*parts, "--quiet")
    assert (folder / "parts.model").read_bytes() == (folder / "whole.model").read_bytes()
    assert not (folder / "run" / "checkpoint").exists()


def test_standard_input_can_be_trained_on(folder):
    out = folder / "stdin.model"
    with (folder / "train.csv").open("rb") as file:
        process = program("train", "-", "--label", "sentiment", "--out", out, "-q", stdin=file)
        assert process.communicate(timeout=60) == ("", "")
    assert load(out).classes == ("neg", "pos")
    assert load(out).words["pos"]  # features are named by the rows that were read first


def test_help_pages_have_examples():
    for command in ("train", "evaluate", "predict", "inspect", "export"):
        assert "Examples:" in run(command, "--help")


def imported_by_training(folder, *names):
    """Which of these modules training has imported."""
    code = (
        "import sys; from rosenblatt.cli import app; "
        f"app(['train', {str(folder / 'train.csv')!r}, '--label', 'sentiment', "
        f"'--out', {str(folder / 'd.model')!r}, '-q'], standalone_mode=False); "
        f"print([m for m in {names!r} if m in sys.modules])"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    found = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    return found.stdout.strip() or found.stderr


def test_training_imports_neither_scikit_learn_nor_pandas(folder):
    assert imported_by_training(folder, "sklearn", "pandas", "scipy.linalg") == "[]"


def test_training_a_second_time_imports_no_compiler(folder):
    imported_by_training(folder)
    assert imported_by_training(folder, "numba", "scipy") == "[]"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--resume"], "resume needs checkpoint, the folder that the run was saved in"),
        (["--valid", "train.csv", "--holdout", "0.2"], "valid and holdout exclude each other"),
    ],
)
def test_contradicting_options_exit_with_2(folder, options, message):
    process = program("train", "train.csv", "--label", "sentiment", *options, cwd=folder)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 2
    assert message in error


def test_the_epoch_line_tells_updates_and_json_mistakes(folder):
    common = ["train", folder / "train.csv", "--label", "sentiment", "--out", folder / "e.model"]
    told = json.loads(run(*common, "--epochs", 1, "--json"))["history"][0]
    assert told["progressive_error"] == told["mistakes"] / 300
    assert told["updates"] > told["mistakes"]
    assert f"{told['updates']:,} updates   progressive error" in run(*common, "--epochs", 1)
    assert f"{told['updates']:,} updates   progressive error" in run("inspect", folder / "e.model")


def test_going_on_from_a_model(folder, model):
    out = folder / "on.model"
    run("train", folder / "train.csv", "--from", model, "--epochs", 1, "--out", out, "-q")
    assert load(out).features == load(model).features


def test_a_file_that_is_no_model_of_files_is_named(folder):
    result = CliRunner().invoke(app, ["inspect", str(folder / "train.csv")])
    assert "train.csv" in str(result.exception)


def test_chars_make_a_column_of_single_words_text(tmp_path):
    generator = np.random.default_rng(0)
    endings = {"nan": "ij", "NA": "ou", "fr": "aux"}
    words = [
        (name, "".join(generator.choice(list("abcdlmnrst"), 4)) + ending)
        for name, ending in endings.items()
        for _ in range(150)
    ]
    generator.shuffle(words)
    path = tmp_path / "words.tsv"
    path.write_text("".join(f"{word}\t{name}\n" for name, word in words))
    out = tmp_path / "words.model"
    run("train", path, "--no-header", "--label", 2, "--chars", "--epochs", 4, "--out", out)
    model = load(out)
    assert set(model.classes) == set(endings)
    assert model.features.columns[0].kind == "text"
    assert model.predict(["zzzaux", "xyzij"]).tolist() == ["fr", "nan"]


@pytest.mark.parametrize(
    "options",
    [["--chars"], ["--ngrams", 2], ["--column", "a=category", "--ngrams", 3], ["--every", 5]],
)
def test_an_option_without_effect_exits_with_2(folder, options):
    command = ["train", folder / "numbers.csv", "--label", "size", "--out", folder / "no.model"]
    process = program(*command, *options)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "no column is text" in errors or "no effect" in errors
    assert not (folder / "no.model").exists()


def test_missing_words_are_set_and_kept_in_the_model(tmp_path):
    rows = [f"{'-1' if i % 3 == 0 else i},{'ab'[i % 2]}" for i in range(60)]
    (tmp_path / "a.csv").write_text("x,label\n" + "\n".join(rows) + "\n")
    told = json.loads(
        run("train", tmp_path / "a.csv", "--missing", "-1", "--out", tmp_path / "m", "--json")
    )
    assert told["missing"] == {"x": 20}
    assert load(tmp_path / "m").features.missing_words == ("", "-1")


def test_a_dry_run_says_what_was_understood_and_trains_nothing(folder):
    out = folder / "never.model"
    command = ["train", folder / "train.csv", "--label", "sentiment", "--dry-run", "--out", out]
    text = run(*command)
    assert text.splitlines()[0].startswith("label      sentiment  2 values: ")
    assert "text       review     " in text
    assert "n-grams    of 1 to 2 words" in text
    assert max(map(len, text.splitlines())) <= 80
    told = json.loads(run(*command, "--json"))
    assert [column["kind"] for column in told["columns"]] == ["label", "text"]
    assert not out.exists()


def test_training_says_what_it_took_each_column_for(folder):
    common = ["train", folder / "numbers.csv", "--label", "size", "--out", folder / "n.model"]
    text = run(*common, "--epochs", 1)
    assert "number     a     0 to 11, as 0" in text
    told = json.loads(run(*common, "--epochs", 1, "--json"))
    assert [column["name"] for column in told["columns"]] == ["size", "a", "b"]


def test_evaluating_on_the_training_file_is_said(model, folder):
    copy = folder / "by-another-name.csv"
    copy.write_bytes((folder / "train.csv").read_bytes())
    for file, seen in ((copy, ["by-another-name.csv"]), (folder / "test.csv", [])):
        told = json.loads(run("evaluate", model, file, "--json"))
        assert told["trained_on"] == seen
        text = run("evaluate", model, file)
        assert ("the model was trained on by-another-name.csv" in text) == bool(seen)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
def test_training_goes_on_where_what_it_says_cannot_be_written(tmp_path):
    """A reader that stops, or a full disk behind standard output, costs no model."""
    rows = "".join(f"pos,good fun {i}\nneg,bad dull {i}\n" for i in range(200))
    (tmp_path / "a.csv").write_text("label,text\n" + rows)
    out = tmp_path / "a.model"
    command = [sys.executable, "-m", "rosenblatt", "train", "a.csv", "--epochs", "3"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    options = {"cwd": tmp_path, "env": environment, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, **options)
    process.stdout.close()
    with process:
        assert process.stderr.read() == ""
    assert process.returncode == 0
    whole = out.read_bytes()
    for more, lead in (([], "the model is in a.model, but "), (["--dry-run"], "")):
        out.unlink(missing_ok=True)
        with Path("/dev/full").open("w") as full:
            done = subprocess.run([*command, *more], stdout=full, **options)
        assert done.returncode == 1
        assert done.stderr.startswith(f"rosenblatt: {lead}the output cannot be written: ")
        assert more or out.read_bytes() == whole


def test_without_a_command_the_help_is_printed():
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 0
    assert result.stdout == CliRunner().invoke(app, ["--help"]).stdout
    assert "Train and predict" in result.stdout
