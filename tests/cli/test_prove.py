from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_iris
from typer.testing import CliRunner

from rosenblatt.cli import app
from rosenblatt.errors import DataError
from rosenblatt.theory.checker.certificate_file import seal, seal_of_set

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


def test_the_answer_names_the_file_and_the_label_column(folder):
    run("certify", "xor.csv", "--label", "y", "--out", "cert.json")
    checked = run("verify", "cert.json", "xor.csv")
    assert (
        "\nOf xor.csv, label column y. Decimals are taken as they stand in the file."
        in checked.output
    )
    answer = json.loads(run("verify", "cert.json", "xor.csv", "--json").output)
    assert (answer["label"], answer["speaks_of"]) == ("y", "class no against class yes")
    (folder / "other.csv").write_text(XOR.replace("1,1,no", "1,2,no"))
    assert (
        "Asked about other.csv, label column y." in run("verify", "cert.json", "other.csv").output
    )


@pytest.mark.parametrize("plain", [[], ["--plain"]])
def test_a_proof_about_one_label_column_is_refused_to_who_asks_about_another(folder, plain):
    (folder / "d.csv").write_text("x,good,asked\n0,0,0\n1,1,1\n2,1,0\n")
    made = run("certify", "d.csv", "--label", "good", "--out", "cert.json")
    assert "rosenblatt verify cert.json d.csv --label good" in made.output
    for asked in (["--label", "good"], []):
        checked = run("verify", "cert.json", "d.csv", *asked, *plain)
        assert checked.exit_code == 0
        assert "label column" in checked.output
        assert "good" in checked.output
    checked = run("verify", "cert.json", "d.csv", "--label", "asked", *plain)
    assert checked.exit_code == 1
    assert "PROVEN for" not in checked.output
    message = checked.output + str(checked.exception)
    assert "column 'good', not" in message
    assert "'asked'" in message


def test_names_of_columns_that_the_file_does_not_have_are_refused(folder):
    run("certify", "xor.csv", "--label", "y", "--out", "cert.json")
    record = json.loads((folder / "cert.json").read_text())
    record["source"]["columns"] = ["b", "a"]
    record["seal"] = seal(record)
    (folder / "cert.json").write_text(json.dumps(record))
    checked = run("verify", "cert.json", "xor.csv")
    assert checked.exit_code == 1
    assert "the certificate names the columns b, a, not a, b" in str(checked.exception)


def test_the_plain_checker_answers_on_the_command_line(folder):
    run("certify", "xor.csv", "--label", "y", "--out", "cert.json")
    checked = run("verify", "cert.json", "xor.csv", "--plain")
    assert checked.exit_code == 0
    assert checked.output.startswith("PROVEN for 'xor.csv', 4 rows, label column 'y':\ninseparable")
    (folder / "or.csv").write_text(XOR.replace("1,1,no", "1,1,yes"))
    checked = run("verify", "cert.json", "or.csv", "--plain", "--json")
    assert checked.exit_code == 1
    assert json.loads(checked.output)["proven"] is False
    checked = run("verify", "cert.json", "xor.csv", "or.csv", "--plain")
    assert "--plain checks a proof about one file" in str(checked.exception)


def test_a_certificate_that_claims_nothing_is_not_refuted(folder):
    made = run("certify", "xor.csv", "--label", "y", "--time-limit", 1e-9, "--out", "cert.json")
    assert "UNDECIDED" in made.output
    checked = run("verify", "cert.json", "xor.csv")
    assert checked.exit_code == 1
    assert checked.output == "NOT PROVEN: the certificate is undecided\n"


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
    made = run("certify", "d.csv", "--label", "1")
    assert "Hyperplane: column 2 - 2 > 0 for class 1." in made.output
    assert "Separating the classes alone: column 2." in made.output


def test_a_certificate_speaks_of_every_row_of_a_file_without_a_header(folder):
    X = np.random.default_rng(0).normal(size=(1372, 3)).round(4)
    lines = [f"{a},{b},{c},{int(a + b > c)}" for a, b, c in X]
    (folder / "notes.csv").write_text("\n".join(lines) + "\n")
    for options in ((), ("--no-header",)):
        made = run("certify", "notes.csv", "--label", "-1", "--out", "cert.json", *options)
        assert "1,372 rows" in made.output
        assert run("verify", "cert.json", "notes.csv").exit_code == 0
    (folder / "short.csv").write_text("\n".join(lines[1:]) + "\n")
    assert run("verify", "cert.json", "short.csv").exit_code == 1


def test_a_certificate_cannot_declare_a_row_of_numbers_a_header(folder):
    (folder / "d.csv").write_text("1,2,0\n3,4,0\n6,5,1\n8,7,1\n")
    made = run("certify", "d.csv", "--label", "-1", "--header", "--out", "cert.json")
    assert "3 rows" in made.output
    assert run("verify", "cert.json", "d.csv").exit_code == 1
    assert run("verify", "cert.json", "d.csv", "--label", "3").exit_code == 1
    assert run("verify", "cert.json", "d.csv", "--header").exit_code == 0
    run("certify", "d.csv", "--label", "-1", "--no-header", "--out", "cert.json")
    assert run("verify", "cert.json", "d.csv").exit_code == 0


@pytest.mark.parametrize("command", ["certify", "trace", "lab", "train"])
def test_every_command_asks_for_the_label_in_the_same_words(folder, command):
    question = "which column is the label? The columns are a, b, y"
    assert question in str(run(command, "xor.csv").exception)
    refusal = "columns are counted from 1, and from -1 backwards"
    assert refusal in str(run(command, "xor.csv", "--label", "0").exception)


def test_tabs_gzip_and_missing_headers_are_read(folder):
    text = XOR.replace(",", "\t").split("\n", 1)[1]
    with gzip.open(folder / "xor.tsv.gz", "wt") as file:
        file.write(text)
    made = run("certify", "xor.tsv.gz", "--label", "-1", "--out", "cert.json")
    assert "INSEPARABLE" in made.output
    assert run("verify", "cert.json", "xor.tsv.gz").exit_code == 0
    assert "INSEPARABLE" in run("certify", "xor.tsv.gz", "--no-header", "--label", "3").output


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
    assert "SEPARABLE: a hyperplane" in run("certify", "big.csv", "--label", "y").output


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,label\n1,0\nx,1\n", (), "line 3, column 'a': expected a number, found 'x'"),
        ("a,label\n1,0\n,1\n", (), "line 3, column 'a': expected a number, found nothing"),
        ("a,y\n1,0\n2,1\n", ("--label", "b"), "there is no column 'b'; the columns are a, y"),
        ("a,label\n1,0\n2,0\n", (), "two classes"),
        ("a,label\n", (), "the file has no rows"),
        ("a,label\n1,0\n1,2,3\n", (), "line 3: expected 2 values, found 3"),
        ("label\n1\n0\n", (), "expected at least one column of numbers"),
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
    assert "line 1, column 1: expected a number" in str(run("certify", "d.svm").exception)


def test_a_certificate_of_the_package_checks_a_file_of_the_same_numbers(folder):
    from rosenblatt import certify

    certify(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), ["no", "yes", "yes", "no"]).save("c.json")
    assert run("verify", "c.json", "xor.csv", "--label", "y").exit_code == 0


@pytest.fixture
def three(folder):
    """A file of three classes in a row, and the record of its certificates."""
    (folder / "abc.csv").write_text("x,label\n0,a\n1,b\n2,c\n")
    run("certify", "abc.csv", "--label", "label", "--out", "set.json")
    return json.loads((folder / "set.json").read_text())


def test_a_proof_says_which_classes_it_is_about(folder, three):
    checked = run("verify", "set.json", "abc.csv")
    assert checked.exit_code == 0
    assert "PROVEN: inseparable, each of 3 classes against the rest" in checked.output
    run("certify", "xor.csv", "--label", "y", "--out", "cert.json")
    assert "class no against class yes" in run("verify", "cert.json", "xor.csv").output


def test_a_set_without_some_parts_is_refused(folder, three):
    for kept in ([], three["certificates"][:1], three["certificates"][::2]):
        record = {**three, "certificates": kept}
        record["seal"] = seal_of_set(record)
        (folder / "set.json").write_text(json.dumps(record))
        checked = run("verify", "set.json", "abc.csv")
        assert checked.exit_code == 1
        assert isinstance(checked.exception, DataError)
        assert "PROVEN" not in checked.output


@pytest.mark.parametrize("strategy", ["ovr", "ovo"])
def test_one_part_of_a_set_does_not_prove_a_file_of_more_classes(folder, three, strategy):
    run("certify", "abc.csv", "--label", "label", "--strategy", strategy, "--out", "set.json")
    parts = json.loads((folder / "set.json").read_text())["certificates"]
    part = next(p for p in parts if p["verdict"] == "separable")
    (folder / "part.json").write_text(json.dumps(part))
    checked = run("verify", "part.json", "abc.csv")
    assert checked.exit_code == 1
    assert checked.output.startswith("NOT PROVEN for this file: separable; every claim holds, but")
    assert "against class" in checked.output
    assert "the data have 3 classes" in checked.output


def test_a_set_of_an_older_version_must_be_made_again(folder, three):
    old = {"format": three["format"], "version": 3, "certificates": three["certificates"]}
    (folder / "set.json").write_text(json.dumps(old))
    checked = run("verify", "set.json", "abc.csv")
    assert checked.exit_code == 1
    assert "make it again with rosenblatt certify" in str(checked.exception)


@pytest.mark.parametrize(
    ("name", "value"),
    [("radius", float("inf")), ("mistake_bound", float("inf")), ("positive", [["1"]])],
)
def test_hostile_numbers_end_in_one_sentence(folder, name, value):
    run("certify", "xor.csv", "--label", "y", "--out", "cert.json")
    record = json.loads((folder / "cert.json").read_text())
    record[name] = value
    record["seal"] = seal(record)
    (folder / "cert.json").write_text(json.dumps(record))
    checked = run("verify", "cert.json", "xor.csv")
    assert checked.exit_code == 1
    assert isinstance(checked.exception, DataError)
