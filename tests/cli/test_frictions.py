"""What strangers try first: swapped arguments, closed pipes, typing errors, other files."""

import json
import os
import re
import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("stranger")
    rows = [f"{'xy'[i % 2]},{i % 2 + i / 100},{i % 7}" for i in range(60)]
    (path / "rows.csv").write_text("label,a,b\n" + "\n".join(rows) + "\n")
    done = run(path, "train rows.csv --out m.model --quiet")
    assert done.returncode == 0, done.stderr
    several = [f"{'xy'[i % 2]};z,{i % 2 + i / 100},{i % 7}" for i in range(60)]
    (path / "several.csv").write_text("label,a,b\n" + "\n".join(several) + "\n")
    done = run(path, "train several.csv --label-separator ; --out several.model --quiet")
    assert done.returncode == 0, done.stderr
    return path


def run(folder, command, **rest):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    return subprocess.run(
        [sys.executable, "-m", "rosenblatt", *command.split()],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=120, **rest,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("command", "code", "told"),
    [
        ("evaluate rows.csv m.model", 2, "the model comes first: m.model rows.csv"),
        ("predict rows.csv m.model", 2, "the model comes first: m.model rows.csv"),
        ("export m.model --out m.pkl", 2, "exported to an .onnx file"),
        ("train .", 1, "is a folder: name the files to read"),
        ("verify nothing.json rows.csv", 1, "nothing.json: No such file or directory"),
        ("verify rows.csv rows.csv", 1, "rows.csv: this is not a rosenblatt certificate"),
        ("verify m.model rows.csv", 1, "m.model: this is not a rosenblatt certificate"),
        ("trace --example movies --update foo", 2, "'foo' is not one of"),
        ("trace --example movies --mistake foo", 2, "'foo' is not one of"),
        ("train rows.csv --column a=nmber", 2, "'nmber' is not a kind of column"),
        ("export m.model --out missing/m.onnx", 2, "there is no folder missing"),
        ("trace rows.csv --out rows.csv", 2, "which is read"),
        (
            "evaluate several.model several.csv --by x",
            2,
            "--by is for models of one label",
        ),
        ("evaluate several.model several.csv --plot a.png", 2, "--plot is for models of one label"),
    ],
)
def test_a_fault_is_one_sentence_with_its_exit_code(folder, command, code, told):
    done = run(folder, command)
    plain = " ".join(done.stderr.replace("│", " ").split())
    assert told in plain
    assert "Traceback" not in done.stderr
    assert "Errno" not in done.stderr
    assert done.returncode == code


def test_training_goes_on_when_nobody_reads_its_lines(folder):
    reading, writing = os.pipe()
    os.close(reading)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-m", "rosenblatt", "train", "rows.csv", "--out", "piped.model"]
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=writing, stderr=subprocess.PIPE, timeout=120
    )
    os.close(writing)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    assert (folder / "piped.model").read_bytes() == (folder / "m.model").read_bytes()


def test_predict_writes_to_standard_output_under_its_other_name(folder):
    assert run(folder, "predict m.model rows.csv --out /dev/stdout").stdout == (
        run(folder, "predict m.model rows.csv --out -").stdout
    )


def test_certificates_and_verdicts_as_json(folder):
    printed = run(folder, "certify rows.csv --label label --out proof.json --json").stdout
    assert json.loads(printed) == json.loads((folder / "proof.json").read_text())
    found = json.loads(run(folder, "verify proof.json rows.csv --json").stdout)
    assert found["proven"] is True
    assert found["verdict"] in ("separable", "inseparable")


def test_a_trace_is_written_to_a_file(folder):
    shown = run(folder, "trace --example movies --format markdown").stdout
    done = run(folder, "trace --example movies --format markdown --out movies.md")
    assert (done.returncode, done.stdout) == (0, "")
    assert (folder / "movies.md").read_text() == shown


def test_on_a_terminal_no_line_of_a_proof_is_wider_than_80_columns(folder):
    script = pytest.importorskip("pty")
    master, slave = script.openpty()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-m", "rosenblatt", "certify", "rows.csv", "--label", "label"]
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=slave) as process:
        process.wait(120)
    os.close(slave)
    shown = re.sub(r"\x1b\[[\d;]*m", "", os.read(master, 1 << 16).decode()).splitlines()
    os.close(master)
    assert max(map(len, shown)) <= 80
    piped = run(folder, "certify rows.csv --label label").stdout
    assert max(map(len, piped.splitlines())) > 80
    assert "".join(" ".join(shown).split()) == "".join(piped.split())
