"""What `rosenblatt train` prints while it runs and at its end."""

from __future__ import annotations

import pytest

from rosenblatt import train
from rosenblatt.cli.progress import ProgressPrinter

FRAME = {"label": ["a", "b"] * 20, "x": [1.0, 2.0] * 20}


@pytest.mark.parametrize("reason", ["budget", "cycle", "a rule of tomorrow"])
def test_a_run_ends_with_a_line_whatever_rule_stopped_it(tmp_path, capsys, reason):
    printer, out = ProgressPrinter(), tmp_path / "a.model"
    model = train(FRAME, epochs=2, out=out, report=printer.step)
    printer.run.runs[0].stop_reason = reason
    printer.trained(model, out)
    assert f"stopped    {reason.replace('budget', 'all epochs done')}" in capsys.readouterr().out


def test_without_a_terminal_the_first_pass_says_doubling_numbers_of_rows(capsys):
    frame = {"label": ["a", "b"] * 3000, "x": range(6000)}
    train(frame, epochs=7, report=ProgressPrinter().step)
    lines = capsys.readouterr().err.splitlines()
    visits = [int(line.split()[1].replace(",", "")) for line in lines]
    assert visits == [1000, 2000, 4000]
    assert all("progressive error" in line for line in lines)
    train(frame, epochs=7, report=ProgressPrinter(quiet=True).step)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("with_checkpoint", [False, True])
def test_the_share_of_the_larger_class_is_said_whether_rows_are_on_disk(
    tmp_path, capsys, with_checkpoint
):
    frame, out = {"label": ["a"] * 90 + ["b"] * 10, "x": range(100)}, tmp_path / "a.model"
    printer, folder = ProgressPrinter(), str(tmp_path / "run") if with_checkpoint else None
    model = train(frame, epochs=2, out=out, checkpoint=folder, report=printer.step)
    printer.trained(model, out)
    assert "note       90.00 % of the rows are a: accuracy says little;" in capsys.readouterr().out
