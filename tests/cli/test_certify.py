from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_iris
from typer.testing import CliRunner

from rosenblatt.cli import app

XOR = "a,b,y\n0,0,no\n0,1,yes\n1,0,yes\n1,1,no\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "xor.csv").write_text(XOR)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_a_certificate_is_written_and_proven(folder):
    made = run("certify", "xor.csv", "--label", "y", "--out", "cert.json")
    assert made.exit_code == 0
    assert "INSEPARABLE" in made.output
    assert "1/4·row 0 + 1/4·row 3 (class no)" in made.output
    checked = run("verify", "cert.json", "xor.csv")
    assert checked.exit_code == 0
    assert "PROVEN: inseparable" in checked.output


def test_a_certificate_for_another_file_is_refuted(folder):
    run("certify", "xor.csv", "--label", "y", "--out", "cert.json")
    (folder / "other.csv").write_text(XOR.replace("1,1,no", "1,2,no"))
    checked = run("verify", "cert.json", "other.csv")
    assert checked.exit_code == 1
    assert "REFUTED: the certificate is about other data" in checked.output


def test_an_edited_certificate_is_refused(folder):
    run("certify", "xor.csv", "--label", "y", "--out", "cert.json")
    record = json.loads((folder / "cert.json").read_text())
    record["verdict"] = "separable"
    (folder / "cert.json").write_text(json.dumps(record))
    checked = run("verify", "cert.json", "xor.csv")
    assert checked.exit_code == 1
    assert "altered" in str(checked.exception)


def test_the_label_may_stand_in_any_column_and_columns_are_named(folder):
    (folder / "d.csv").write_text("kind,height\n0,1.5\n0,1.25\n1,3\n1,4\n")
    made = run("certify", "d.csv", "--label", "kind")
    assert "height - 2 > 0 for class 1" in made.output


def test_columns_without_names_are_not_taken_for_numbers(folder):
    (folder / "d.csv").write_text("0,1.5\n0,1.25\n1,3\n1,4\n")
    made = run("certify", "d.csv", "--label", "0", "--no-header")
    assert "Hyperplane: column 1 - 2 > 0 for class 1." in made.output
    assert "Separating the classes alone: column 1." in made.output


def test_tabs_gzip_and_missing_headers_are_read(folder):
    text = XOR.replace(",", "\t").split("\n", 1)[1]
    with gzip.open(folder / "xor.tsv.gz", "wt") as file:
        file.write(text)
    made = run("certify", "xor.tsv.gz", "--no-header", "--out", "cert.json")
    assert "INSEPARABLE" in made.output
    assert run("verify", "cert.json", "xor.tsv.gz").exit_code == 0
    assert "INSEPARABLE" in run("certify", "xor.tsv.gz", "--no-header", "--label", "2").output


def test_svmlight_files_and_several_classes(folder):
    X, y = load_iris(return_X_y=True)
    dump_svmlight_file(X, y, str(folder / "iris.svm"))
    made = run("certify", "iris.svm", "--strategy", "ovo", "--out", "cert.json")
    assert made.exit_code == 0
    assert made.output.count("SEPARABLE:") == 3
    assert made.output.count("INSEPARABLE:") == 1
    assert run("verify", "cert.json", "iris.svm").exit_code == 0


def test_whole_numbers_of_a_file_are_not_rounded(folder):
    a = 2**60
    (folder / "big.csv").write_text(f"x,z,y\n{a},0.5,0\n{a + 1},0.5,1\n")
    assert "SEPARABLE: a hyperplane" in run("certify", "big.csv").output


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,y\n1,0\nx,1\n", (), "column 'a': expected a number, found 'x'"),
        ("a,y\n1,0\n,1\n", (), "line 3, column 'a': expected a number, found nothing"),
        ("a,y\n1,0\n2,1\n", ("--label", "b"), "expected one column 'b'"),
        ("a,y\n1,0\n2,0\n", (), "two classes"),
        ("a,y\n", (), "expected rows"),
        ("a,y\n1,0\n1,2,3\n", (), "d.csv"),
        ("y\n1\n0\n", (), "expected rows with a label and at least one number"),
    ],
)
def test_bad_files_are_named(folder, text, options, message):
    (folder / "d.csv").write_text(text)
    result = run("certify", "d.csv", *options)
    assert result.exit_code == 1
    assert message in str(result.exception)


def test_a_missing_file_and_bad_svmlight_are_named(folder):
    assert "no such file" in str(run("certify", "nothing.csv").exception)
    (folder / "d.svm").write_text("this is no svmlight\n")
    assert "expected svmlight lines" in str(run("certify", "d.svm").exception)


def test_a_certificate_of_the_package_checks_a_file_of_the_same_numbers(folder):
    from rosenblatt import certify

    certify(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), ["no", "yes", "yes", "no"]).save("c.json")
    assert run("verify", "c.json", "xor.csv").exit_code == 0
