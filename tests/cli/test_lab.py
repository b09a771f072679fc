"""`rosenblatt lab` passes on what it is told, and refuses bad data before it serves anything."""

from typer.testing import CliRunner

from rosenblatt import lab
from rosenblatt.cli import app

run = CliRunner().invoke


def test_it_serves_on_loopback_and_opens_a_browser_unless_told_otherwise(monkeypatch):
    served = {}
    monkeypatch.setattr(lab, "serve", lambda **options: served.update(options))
    assert run(app, ["lab"]).exit_code == 0
    assert (served["address"], served["origins"], served["show"]) == ("127.0.0.1", [], True)
    arguments = [
        "lab",
        "--example",
        "xor",
        "--address",
        "0.0.0.0",
        "--origin",
        "a.example",
        "--no-show",
    ]
    assert run(app, arguments).exit_code == 0
    assert (served["address"], served["origins"], served["show"]) == (
        "0.0.0.0",
        ["a.example"],
        False,
    )
    assert served["example"] == "xor"


def test_an_example_that_does_not_exist_is_refused():
    assert "no example 'nand'" in str(run(app, ["lab", "--example", "nand"]).exception)
