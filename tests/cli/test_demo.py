"""The demo needs nothing and says what happened."""

import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from rosenblatt import __version__
from rosenblatt.cli import app, main


def test_the_demo_tells_the_story():
    done = CliRunner().invoke(app, ["demo"])
    assert done.exit_code == 0
    for said in ("movie good", "separated", "cycle", "mistakes an epoch", "average", "test error"):
        assert said in done.stdout
    assert re.search(r"\b\d+ updates? in \d+ epochs?\b", done.stdout)
    assert not re.search(r"\b1 (updates|steps|epochs)\b", done.stdout)


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

    monkeypatch.setattr("rosenblatt.cli.app", fail)
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 1
    assert capsys.readouterr().err == "rosenblatt: the file is empty\n"
