"""`rosenblatt course` builds the chapters once, and serves or copies them."""

import pytest
from typer.testing import CliRunner

from rosenblatt.cli import app
from rosenblatt.cli.browser import run_command
from rosenblatt.course import site
from rosenblatt.lab import server

pytest.importorskip("latex2mathml")


def test_it_builds_once_and_serves_or_copies_the_pages(tmp_path, monkeypatch):
    served = []
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters" / "index.md").write_text(
        "# One\n\n```console\n$ rosenblatt --help\n```\n"
    )
    monkeypatch.setattr(site, "chapters", lambda: tmp_path / "chapters")
    monkeypatch.setenv("ROSENBLATT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(server, "serve", lambda **options: served.append(options))
    first = CliRunner().invoke(app, ["course", "--no-show"])
    out = tmp_path / "for the class"
    again = CliRunner().invoke(app, ["course", "--out", str(out)])
    assert first.exit_code == again.exit_code == 0
    assert (served[0]["pages"] / "index.html").is_file()
    assert served[0]["show"] is False
    assert "building 1 of 1: One" in first.output
    assert "building" not in again.output
    assert again.stdout.strip() == str(out / "index.html")
    assert (out / "scenes" / "scenes.js").is_file()
    refused = CliRunner().invoke(app, ["course", "--out", str(out)])
    assert "there is already something called" in str(refused.exception)


def test_without_a_folder_to_keep_it_the_message_says_what_to_set(monkeypatch):
    monkeypatch.setenv("ROSENBLATT_CACHE_DIR", "relative")
    failed = CliRunner().invoke(app, ["course", "--no-show"])
    assert "set ROSENBLATT_CACHE_DIR" in str(failed.exception)


def test_a_command_is_run_in_this_process():
    assert "w = [1, 1, -1, -1]" in run_command(["trace", "--example", "movies"])
