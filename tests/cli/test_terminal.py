"""What the terminal sees: help in groups, lines of 80 characters, one exit code per fault."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from rosenblatt import train
from rosenblatt.cli import app
from rosenblatt.cli.lines import Styled, say

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
        assert f"\n{group}\n" in shown
    assert "-o, --out FILE" in shown
    assert "-l, --label TEXT" in shown


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_no_types_of_python(command):
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "80"}).output
    assert not re.search(r"<(bool|str|int|float|list|path)|range\]|\[8<=", shown), shown


def test_help_takes_the_width_there_is():
    for columns in (80, 110):
        shown = CliRunner().invoke(app, ["train", "--help"], env={"COLUMNS": str(columns)}).output
        assert columns - 12 <= max(map(len, shown.splitlines())) <= columns


class Screen(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize("command", [["evaluate", "a.csv"], ["inspect"], ["explain", "word1 more"]])
def test_a_terminal_gets_bars_and_colours_and_a_pipe_plain_text(folder, command, monkeypatch):
    name, *others = command
    arguments = [name, str(folder / "a.model"), *others]
    if others == ["a.csv"]:
        arguments[-1] = str(folder / "a.csv")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def printed(stream):
        monkeypatch.setattr(sys, "stdout", stream)
        app(arguments, standalone_mode=False)
        monkeypatch.undo()
        return stream.getvalue()

    monkeypatch.setenv("TERM", "xterm")
    coloured = printed(Screen())
    assert "\x1b[1m" in coloured
    assert "█" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    without = printed(Screen())
    assert "\x1b[" not in without
    assert "█" in without
    piped = printed(io.StringIO())
    assert "\x1b[" not in piped
    assert "█" not in piped


def test_verdicts_of_a_trace_have_colours_on_a_terminal(monkeypatch):
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    app(["trace", "--example", "movies"], standalone_mode=False)
    monkeypatch.undo()
    assert "\x1b[31m✗\x1b[0m movie good" in screen.getvalue()
    assert "\x1b[32mright\x1b[0m" in screen.getvalue()


def test_names_cannot_bring_styles_of_their_own(monkeypatch):
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    say(["a ", Styled("\x1b[2Jname", "strong")])
    monkeypatch.undo()
    assert "\x1b[2J" not in screen.getvalue()
    assert "\\x1b[2Jname" in screen.getvalue()


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
        ([], "of 1 to 2 words and marks, 1 to 5 characters"),
        (["--ngrams", "3"], "of 1 to 3 words and marks, 1 to 5 characters"),
        (["--fast"], "of 1 to 2 words,"),
        (["--analyzer", "marks"], "of 1 to 2 words and marks,"),
        (["--chars", "--ngrams", "3-4"], "of 3 to 4 characters"),
        (["--chars", "--ngrams", "4"], "of 2 to 4 characters"),
        (["--chars"], "of 2 to 5 characters"),
    ):
        result = CliRunner().invoke(app, ["train", str(folder / "a.csv"), *options, "--dry-run"])
        assert line in result.output


def test_a_longer_refit_of_a_small_table_is_explained(tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(150, 2))
    side = np.where(X.sum(axis=1) + random.normal(size=150) / 2 > 0, "p", "n")
    rows = "".join(f"{a:.3f},{b:.3f},{c}\n" for (a, b), c in zip(X, side, strict=True))
    (tmp_path / "small.csv").write_text("a,b,label\n" + rows)
    arguments = [
        "train",
        str(tmp_path / "small.csv"),
        "--lift",
        "none",
        "-o",
        str(tmp_path / "s.model"),
    ]
    output = " ".join(CliRunner().invoke(app, arguments).output.split())
    assert re.search(r"for \d+ epochs \(\d+ were best, which few held-out rows tell", output)
