"""The definition of a proof, and that the fast checker agrees with it.

The long forms: ROSENBLATT_PLAIN_QUESTIONS=20000 pytest tests/theory/test_plain_check.py, and
``python -m benchmarks.torture plain --count 1000000``.
"""

from __future__ import annotations

import ast
import copy
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks import torture_plain
from typer.testing import CliRunner

from rosenblatt import certify, verify
from rosenblatt.cli import app
from rosenblatt.data import read_arrays
from rosenblatt.theory import CertificateSource, plain_check
from rosenblatt.theory.checker.certificate_file import seal
from rosenblatt.theory.plain_check import NotProvenError, prove

QUESTIONS = int(os.environ.get("ROSENBLATT_PLAIN_QUESTIONS", "2500"))
SOURCE = Path(plain_check.__file__)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make(text, label="y", file="d.csv", **options):
    """The record of the certificate of a file, which is written along with its proof."""
    Path(file).write_text(text)
    table = read_arrays(file, label, exact=True)
    certificate = certify(table.X, table.y, **options)
    source = CertificateSource(table.label, table.header, table.columns, "decimals")
    certificate.with_source(source).save("proof.json")
    return json.loads(Path("proof.json").read_text())


def write(record):
    Path("proof.json").write_text(json.dumps(record))


@pytest.mark.parametrize("seed", range(max(1, QUESTIONS // 10_000)))
def test_the_fast_checker_agrees_with_the_definition(seed):
    outcomes = torture_plain.torture(min(QUESTIONS, 10_000), seed)
    assert not outcomes.keys() & set(torture_plain.FAULTS), outcomes
    assert outcomes["proven by both"] > outcomes["asked"] / 20
    assert outcomes["proven by neither"] > outcomes["asked"] / 5


def test_the_file_is_short_and_imports_the_standard_library_alone():
    text = SOURCE.read_text()
    assert len(text.splitlines()) <= 200
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(node.module)
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


def test_a_copy_of_the_file_runs_without_the_package(folder):
    make("a,b,y\n0,0,no\n0,1,yes\n1,0,yes\n1,1,no\n")
    Path("copy.py").write_text(SOURCE.read_text())
    command = [sys.executable, "-I", "-S", "copy.py", "proof.json", "d.csv"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    first = "PROVEN for 'd.csv', 4 rows, label column 'y':"
    assert answer.stdout == f"{first}\ninseparable: ['yes'] against ['no']\n"
    Path("d.csv").write_text("a,b,y\n0,0,no\n0,1,yes\n1,0,yes\n1,1,yes\n")
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    assert answer.stderr == "NOT PROVEN: the rows do not contradict each other\n"
    usage = subprocess.run(command[:4], capture_output=True, text=True, check=False)
    assert usage.returncode == 1
    assert "proof.json data.csv" in usage.stderr


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("x,y\n1,a\n2,b\n", "separable"),
        ("x;y\n1;a\n1;b\n2;b\n", "quasi-separable"),
        ("x|y\n1|a\n2|b\n3|a\n", "inseparable"),
        ("9007199254740993,a\n9007199254740992,b\n0.5,b\n", "separable"),
        (f"x,y\n{'9' * 300},a\n{'9' * 299}8,b\n", "separable"),
        ("x,y\n0.1,a\n0.10000000000000000001,b\n0.1000000000000000000099,a\n", "separable"),
        ("x,z,y\n0.1,0.7,a\n0.3,0.1,a\n0.2,0.4,b\n", "inseparable"),
        ("x,y\n5e-324,a\n-5e-324,b\n0,b\n", "separable"),
        ('x,y\n"1","a ""b"""\n2,"c\n d"\n', "separable"),
    ],
)
def test_every_verdict_is_proven(folder, text, verdict):
    record = make(text, label=-1)
    assert record["verdict"] == verdict
    assert f"\n{verdict}: " in prove("proof.json", "d.csv")


@pytest.mark.parametrize("minimal", [True, False])
@pytest.mark.parametrize("strategy", ["ovr", "ovo"])
def test_balances_replaced_columns_and_sets_are_proven(folder, minimal, strategy):
    g = np.random.default_rng(0)
    X = g.integers(0, 9, (60, 3))
    rows = [[*x, sum(x), x[0], "abc"[k % 3]] for k, x in enumerate(X.tolist())]
    text = "\n".join(",".join(map(str, row)) for row in [["p", "q", "r", "s", "t", "y"], *rows])
    record = make(text, minimal=minimal, strategy=strategy)
    assert any(part["replaced"] for part in record["certificates"]) != minimal
    assert prove("proof.json", "d.csv").count("\ninseparable: ") == 3
    for part in record["certificates"]:
        proof = part["balance"] or part["spanning"]
        proof["rows"], proof["coefficients"] = proof["rows"][:1], proof["coefficients"][:1]
    write(record)
    with pytest.raises(NotProvenError, match="do not contradict"):
        prove("proof.json", "d.csv")


def test_the_forgery_about_denominators_of_2_to_the_63_is_refuted(folder):
    """The second of three points on a line, of another class than the others, is not separable."""
    ids = [2**53 + 1, 2**53 + 3, 2**53 + 5]
    lines = [f"{x},0.0007,{y}" for x, y in zip(ids, "aba", strict=True)]
    record = make("id,c,y\n" + "\n".join(lines) + "\n")
    assert record["verdict"] == "inseparable"
    prove("proof.json", "d.csv")
    record |= {"verdict": "separable", "weights": ["1", "0"], "bias": str(-(2**53) - 2)}
    record |= {"contradiction": None, "spanning": None, "balance": None}
    record["seal"] = seal(record)
    write(record)
    with pytest.raises(NotProvenError, match="wrong side"):
        prove("proof.json", "d.csv")
    assert CliRunner().invoke(app, ["verify", "proof.json", "d.csv"]).exit_code == 1


def test_certificates_of_older_versions_are_proven(folder):
    record = make("x,y\n0.25,a\n2,b\n")
    del record["source"]["numbers"]
    for version, fields in ((3, []), (2, ["replaced"]), (1, ["replaced", "balance"])):
        older = {k: v for k, v in record.items() if k not in fields} | {"version": version}
        write(older | {"seal": seal(older)})
        assert "column 'y', decimals as the nearest doubles:\nsepara" in prove(
            "proof.json", "d.csv"
        )
        answer = CliRunner().invoke(app, ["verify", "proof.json", "d.csv"])
        assert answer.exit_code == 0, answer.output
        assert "Decimals are taken as the nearest doubles." in answer.output
    write(record | {"version": 5})
    with pytest.raises(NotProvenError, match="its format is unknown"):
        prove("proof.json", "d.csv")


def test_a_part_of_a_set_is_not_a_proof_about_the_file(folder):
    record = make("x,y\n0,a\n1,b\n2,c\n", strategy="ovo")
    parts = record["certificates"]
    prove("proof.json", "d.csv")
    refused = [
        parts[0],
        {**parts[0], "classes": ["a", "b", "c"]},
        {**record, "certificates": parts[:2]},
        {**record, "certificates": [parts[0]] * 3},
        {**record, "classes": ["a", "b"], "certificates": parts[:1]},
        {**record, "strategy": "ovr"},
        {**record, "certificates": [{**part, "format": record["format"]} for part in parts]},
        {**record, "version": 3},
    ]
    for changed in refused:
        write(changed)
        with pytest.raises(NotProvenError):
            prove("proof.json", "d.csv")


def test_a_certificate_cannot_hide_a_row_as_a_header(folder):
    Path("d.csv").write_text("1,2,0\n3,4,0\n6,5,1\n8,7,1\n")
    table = read_arrays("d.csv", -1, header=True)
    source = CertificateSource(table.label, True, table.columns)
    certify(table.X, table.y).with_source(source).save("proof.json")
    with pytest.raises(NotProvenError):
        prove("proof.json", "d.csv")
    prove("proof.json", "d.csv", header=True)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("d.csv", b"x,y\n1,a\nnan,b\n", "'nan' is not a finite number"),
        ("d.csv", b"x,y\n1,a\n1_0,b\n", "'1_0' is not a finite number"),
        ("d.csv", b"x,y\n1,a\n2\n", "a row is too short or too long"),
        ("d.csv", b"x,y\n1,a\n2, \n", "its label is missing"),
        ("d.csv", b"x,y\n1,a\n2,b\0\n", "quotes or zero bytes"),
        ("d.csv", b"x,z\n1,a\n2,b\n", "'y' is no column"),
        ("d.csv", b"x,y\n1,a\n2,c\n", r"about the classes \['a', 'b'\]"),
        ("d.csv", b"x,y\n1,a\n2,\xff\n", "cannot be read"),
        ("d.tsv", b'x\ty\n1\t"a"\n2\tb\n', "quotes or zero bytes"),
        ("d.jsonl", b"{}", "only CSV and TSV"),
        ("none.csv", None, "files of 100 MB at most"),
    ],
)
def test_what_is_read_otherwise_is_refused(folder, name, data, message):
    make("x,y\n1,a\n2,b\n")
    if data is not None:
        Path(name).write_bytes(data)
    with pytest.raises(NotProvenError, match=message):
        prove("proof.json", name)


def test_a_damaged_proof_is_refused(folder):
    record = make("x,y\n1,a\n1,b\n3,a\n")
    for key in record:
        if key in ("seal", "exact", "columns", "fingerprint", "radius", "mistake_bound"):
            continue
        for value in (None, "x", [], [[]], {}, -1, 1.5, ["x"], {"rows": [0]}):
            changed = copy.deepcopy(record)
            changed[key] = value
            write(changed)
            try:
                prove("proof.json", "d.csv")
            except NotProvenError:
                continue
            # What does not matter for the verdict, or is true as well.
            changed["seal"] = seal(changed)
            assert key not in ("format", "version", "verdict", "positive", "negative"), value


def test_labels_are_the_text_that_stands_in_the_file(folder):
    text = "x,y\n0,1\n1,01\n2,1.0\n3,1e0\n4,+1\n"
    record = make(text)
    assert record["classes"] == sorted(["1", "01", "1.0", "1e0", "+1"])
    prove("proof.json", "d.csv")
    table = read_arrays("d.csv", "y")
    assert verify(certify(table.X, table.y), table.X, table.y)
    make("x,y\n0,-1\n1,+1\n")
    assert "'+1'" in prove("proof.json", "d.csv")


@pytest.mark.parametrize("name", ["proof.json", "d.csv"])
def test_files_that_never_end_are_refused(folder, name):
    make("x,y\n1,a\n2,b\n")
    with Path(name).open("r+b") as file:
        file.truncate(1 << 40)  # sparse: it takes no space
    with pytest.raises(NotProvenError, match="files of 100 MB at most"):
        prove("proof.json", "d.csv")
    Path(name).unlink()
    Path(name).symlink_to("/dev/zero")
    with pytest.raises(NotProvenError, match="files of 100 MB at most"):
        prove("proof.json", "d.csv")
