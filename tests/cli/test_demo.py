"""The demo needs no file, leaves none, and shows the figures of the trace and the lab."""

import re
import subprocess
import sys
from contextlib import chdir

import pytest
from typer.testing import CliRunner

from rosenblatt import __version__
from rosenblatt.cli import app, main
from rosenblatt.lab.session import Session


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("empty")
    with chdir(folder):
        done = CliRunner().invoke(app, ["demo"])
        assert list(folder.iterdir()) == []
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_demo_shows_an_example_a_text_file_an_explanation_and_a_proof(printed):
    for shown in (
        "movie good",
        "$ rosenblatt train reviews.csv --label label",
        "progressive error",
        "accuracy   9",
        '$ rosenblatt explain reviews.model --top 4 "the plot is not boring"',
        "INSEPARABLE",
        "PROVEN: inseparable",
        "rosenblatt train YOUR_FILE --label COLUMN",
        "rosenblatt lab",
        "rosenblatt course",
    ):
        assert shown in printed
    assert not re.search(r"\b1 (updates|steps|epochs)\b", printed)


def test_each_section_of_the_demo_fits_a_screen_and_each_command_a_line(printed):
    sections = re.split(r"^\S.* ─+$", printed, flags=re.MULTILINE)
    assert len(sections) == 7
    assert max(section.count("\n") for section in sections) <= 24
    commands = [line for line in printed.splitlines() if line.startswith("$ ")]
    assert len(commands) == 6
    assert max(map(len, commands)) <= 80


@pytest.mark.parametrize("name", ["movies", "not-good", "not-good-bigrams"])
def test_the_examples_of_the_demo_have_the_figures_of_the_lab(printed, name):
    session = Session()
    session.load_example(name)
    session.finish()
    last = session.run.steps[-1]
    words = " ".join(printed.split())
    assert f"{last.updates} updates in {last.epoch} epochs" in words
    assert session.run.stop_reason in words


def test_help_and_version_need_no_heavy_import():
    program = (
        "import sys; sys.argv[1:] = ['--version']\n"
        "from rosenblatt.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'sklearn', 'numba', 'scipy', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"rosenblatt {__version__}\n[]\n"


def test_an_error_is_one_plain_sentence_and_exit_code_1(monkeypatch, capsys):
    def fail():
        raise ValueError("the file is empty")

    monkeypatch.setattr("rosenblatt.cli._program", lambda named: fail)
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 1
    assert capsys.readouterr().err == "rosenblatt: the file is empty\n"
