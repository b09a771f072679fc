"""No command replaces what it reads; a place that cannot be written is refused before the work."""

import pytest
from typer.testing import CliRunner

from rosenblatt.cli import app
from rosenblatt.errors import OptionError


@pytest.fixture
def folder(tmp_path):
    rows = [f"{'xy'[i % 2]},{i % 2 + i / 100},{i % 7}" for i in range(60)]
    (tmp_path / "rows.csv").write_text("label,a,b\n" + "\n".join(rows) + "\n")
    arguments = ["train", str(tmp_path / "rows.csv"), "--out", str(tmp_path / "m.model"), "--quiet"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    return tmp_path


COMMANDS = {
    "certify": (["certify", "rows.csv", "--out"], "rows.csv"),
    "predict": (["predict", "m.model", "rows.csv", "--out"], "rows.csv"),
    "predict over its model": (["predict", "m.model", "rows.csv", "--to", "csv", "-o"], "m.model"),
    "compress": (["compress", "m.model", "--out"], "m.model"),
    "compress over the rows": (["compress", "m.model", "--valid", "rows.csv", "-o"], "rows.csv"),
    "export": (["export", "m.model", "--out"], "m.model"),
    "evaluate": (["evaluate", "m.model", "rows.csv", "--plot"], "rows.csv"),
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_an_output_is_checked_before_the_work(folder, monkeypatch, name):
    monkeypatch.chdir(folder)
    command, read = COMMANDS[name]
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for out, told in ((read, "which is read"), (f"nowhere/{read}", "there is no folder")):
        done = CliRunner().invoke(app, [*command, out])
        assert isinstance(done.exception, OptionError), done.output
        assert told in str(done.exception)
        assert done.stdout == ""
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_numbers_too_large_to_be_scaled_are_refused(folder):
    rows = [f"{'xy'[i % 2]},{('1e308', '-1e308')[i % 2]}" for i in range(20)]
    (folder / "large.csv").write_text("label,a\n" + "\n".join(rows) + "\n")
    done = CliRunner().invoke(app, ["train", str(folder / "large.csv"), "--label", "label"])
    assert "too large to be scaled" in str(done.exception)
