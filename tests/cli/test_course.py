"""`rosenblatt course` builds the chapters once and opens them."""

import pytest
import typer
from typer.testing import CliRunner

from rosenblatt.cli import app
from rosenblatt.cli.browser import run_command
from rosenblatt.course import site

pytest.importorskip("latex2mathml")


def test_it_builds_once_and_opens_the_first_page(tmp_path, monkeypatch):
    opened = []
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters" / "index.md").write_text(
        "# One\n\n```console\n$ rosenblatt --help\n```\n"
    )
    monkeypatch.setattr(site, "chapters", lambda: tmp_path / "chapters")
    monkeypatch.setenv("ROSENBLATT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(typer, "launch", opened.append)
    first = CliRunner().invoke(app, ["course"])
    again = CliRunner().invoke(app, ["course", "--no-show"])
    assert first.exit_code == again.exit_code == 0
    page = again.stdout.strip()
    assert opened == [page]
    assert page.endswith("index.html")
    assert "building 1 of 1: One" in first.output
    assert "building" not in again.output


def test_without_a_folder_to_keep_it_the_message_says_what_to_set(monkeypatch):
    monkeypatch.setenv("ROSENBLATT_CACHE_DIR", "relative")
    failed = CliRunner().invoke(app, ["course", "--no-show"])
    assert "set ROSENBLATT_CACHE_DIR" in str(failed.exception)


def test_a_command_is_run_in_this_process():
    assert "w = [1, 1, -1, -1]" in run_command(["trace", "--example", "movies"])
