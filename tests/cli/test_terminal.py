"""What the terminal sees: help in groups, lines of 80 characters, one exit code per fault."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from rosenblatt import train
from rosenblatt.cli import app

COMMANDS = list(get_command(app).commands)


def program(*arguments, **options):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-m", "rosenblatt", *(str(a) for a in arguments)]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=120, **options
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("terminal")
    generator = np.random.default_rng(0)
    table = {
        "label": [f"class number {i % 9}" for i in range(300)],
        "text": [f"word{i % 9} and {generator.integers(9)} more" for i in range(300)],
    }
    train(table, text="text", epochs=2).save(folder / "a.model")
    rows = zip(table["label"], table["text"], strict=True)
    (folder / "a.csv").write_text("label,text\n" + "".join(f"{a},{b}\n" for a, b in rows))
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_examples_and_fits_80_columns(command):
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "80"})
    assert shown.exit_code == 0
    assert "Examples:" in shown.output
    assert f"rosenblatt {command}" in shown.output
    assert max(map(len, shown.output.splitlines())) <= 80


def test_help_is_in_groups():
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80"}).output
    for group in ("Train and predict", "Prove", "Watch and learn"):
        assert group in shown
    shown = CliRunner().invoke(app, ["train", "--help"], env={"COLUMNS": "80"}).output
    for group in ("Input", "Features", "Learning", "Long runs", "Output"):
        assert f" {group} " in shown
    assert "--out" in shown
    assert " -o " in shown
    assert " -l " in shown


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "a.csv", "-o", "b.model", "-l", "label"],
        ["train", "a.csv", "--dry-run"],
        ["evaluate", "a.model", "a.csv"],
        ["inspect", "a.model"],
        ["compress", "a.model", "-o", "c.model", "--valid", "a.csv"],
        ["explain", "a.model", "word1 and more"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_no_line_wraps_at_80_columns(folder, arguments, monkeypatch):
    monkeypatch.chdir(folder)
    shown = CliRunner().invoke(app, arguments, env={"COLUMNS": "80"})
    assert shown.exit_code == 0, shown.output
    assert max(map(len, shown.output.splitlines())) <= 80


NO_FILE = {
    "train": ["no.csv"],
    "evaluate": ["a.model", "no.csv"],
    "predict": ["a.model", "no.csv", "--out", "x.csv"],
    "compress": ["no.model", "-o", "x.model"],
    "inspect": ["no.model"],
    "explain": ["no.model", "text"],
    "certify": ["no.csv"],
    "export": ["no.model", "--out", "x.onnx"],
}


@pytest.mark.parametrize("command", NO_FILE)
def test_a_file_that_is_not_there_exits_with_1_everywhere(folder, command):
    done = program(command, *NO_FILE[command], cwd=folder)
    assert done.returncode == 1
    assert done.stderr.startswith("rosenblatt: ")
    assert done.stderr.count("\n") == 1


def test_a_reader_that_has_enough_is_no_fault(folder):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-m", "rosenblatt", "inspect", str(folder / "a.model")]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) in (0, 1)
    assert errors == ""


@pytest.mark.parametrize("given", ["0", "x", "3-2", "1-21", "-2", "2-"])
def test_n_grams_that_cannot_be_are_bad_usage(folder, given):
    result = CliRunner().invoke(
        app, ["train", str(folder / "a.csv"), f"--ngrams={given}", "--dry-run"]
    )
    assert result.exit_code == 2


def test_n_grams_are_those_asked_for(folder):
    for options, line in (
        ([], "of 1 to 2 words and marks, 2 to 5 characters"),
        (["--ngrams", "3"], "of 1 to 3 words and marks, 2 to 5 characters"),
        (["--fast"], "of 1 to 2 words,"),
        (["--analyzer", "marks"], "of 1 to 2 words and marks,"),
        (["--chars", "--ngrams", "3-4"], "of 3 to 4 characters"),
        (["--chars", "--ngrams", "4"], "of 2 to 4 characters"),
        (["--chars"], "of 2 to 5 characters"),
    ):
        result = CliRunner().invoke(app, ["train", str(folder / "a.csv"), *options, "--dry-run"])
        assert line in result.output
