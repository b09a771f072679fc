"""`rosenblatt predict` as a filter: one line in, one line out, whatever the format."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from rosenblatt import data, load
from rosenblatt.cli import app
from rosenblatt.data.writers import writer
from rosenblatt.errors import DataError, OptionError

TEXTS = ["good fun", "bad dull", "great", "awful bad"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("predict")
    rows = [
        f"{label},the {word} film {i},{i},0{i},{i / 4}"
        for i in range(60)
        for label, word in (("pos", "good fun"), ("neg", "bad dull"), ("mid", "so so"))
    ]
    (path / "three.csv").write_text("label,text,n,code,x\n" + "\n".join(rows) + "\n")
    two = [row for row in rows if not row.startswith("mid")]
    (path / "two.csv").write_text("label,text,n,code,x\n" + "\n".join(two) + "\n")
    for name in ("two", "three"):
        out = path / f"{name}.model"
        run("train", path / f"{name}.csv", "--text", "text", "--epochs", 3, "--out", out, "-q")
    return path


def run(*arguments, code=0, given=None):
    result = CliRunner().invoke(app, [str(a) for a in arguments], input=given)
    assert result.exit_code == code, result.output
    return result.stdout


def failure(*arguments, given=None):
    return CliRunner().invoke(app, [str(a) for a in arguments], input=given).exception


def program(*arguments, **options):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    return subprocess.Popen(
        [sys.executable, "-m", "rosenblatt", *(str(a) for a in arguments)],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, **options,
    )  # fmt: skip


def test_lines_of_plain_text_come_out_one_for_one(folder):
    lines = ["good fun", "", 'a "bad, dull" one', "  ", "x\ty"]
    found = run("predict", folder / "two.model", "-", given="\n".join(lines)).splitlines()
    model = load(folder / "two.model")
    assert [line.split("\t", 2)[0] for line in found] == model.predict(lines).tolist()
    assert [line.split("\t", 2)[2] for line in found] == lines
    scores = [float(line.split("\t", 2)[1]) for line in found]
    assert scores == pytest.approx(model.decision_function(lines), rel=1e-6)


def test_lines_of_a_txt_file_are_texts_though_the_first_is_the_name_of_the_column(folder):
    (folder / "lines.txt").write_text("text\ngood, fun\n")
    found = run("predict", folder / "two.model", folder / "lines.txt").splitlines()
    assert [line.split("\t", 2)[2] for line in found] == ["text", "good, fun"]
    (folder / "table.txt").write_text('id,text\n7,"good, fun"\n')
    assert run("predict", folder / "two.model", folder / "table.txt").startswith("id,text,pred")


def test_a_csv_stream_with_the_models_column_is_a_table(folder):
    found = run("predict", folder / "two.model", "-", given='id,text\n7,"good, fun"\n8,dull\n')
    assert [line.rsplit(",", 1)[0] for line in found.splitlines()] == [
        "id,text,predicted", '7,"good, fun",pos', "8,dull,neg",
    ]  # fmt: skip


def test_csv_without_a_header_comes_out_without_one(folder):
    (folder / "plain.csv").write_text("pos,good fun\nneg,bad dull\n" * 20)
    common = ["--no-header", "--label", "1", "--epochs", 2, "-q"]
    run("train", folder / "plain.csv", *common, "--out", folder / "plain.model")
    out = run("predict", folder / "plain.model", folder / "plain.csv", "--no-header")
    assert len(out.splitlines()) == 40
    assert out.startswith("pos,good fun,pos,")


def test_fasttext_lines_need_no_labels(folder):
    (folder / "a.ft").write_text("__label__pos good fun\n__label__neg bad dull\n" * 20)
    run("train", folder / "a.ft", "--epochs", 2, "--out", folder / "ft.model", "-q")
    only = ["--only", "predicted"]
    assert run("predict", folder / "ft.model", "-", *only, given="good\ndull\n") == "pos\nneg\n"
    found = run("predict", folder / "ft.model", folder / "a.ft", "--only", "predicted,label,text")
    assert found.splitlines()[0] == "pos\tpos\tgood fun"


def test_the_first_line_of_standard_input_does_not_decide_about_columns(folder):
    (folder / "a.ft").write_text("__label__pos good fun\n__label__neg bad dull\n" * 20)
    run("train", folder / "a.ft", "--epochs", 2, "--out", folder / "ft.model", "-q")
    lines = ["__label__neg good fun\n", "dull\n", "good __label__neg fun\n", "\n"]
    found = [
        run("predict", folder / "ft.model", "-", given="".join(order)).splitlines()
        for order in (lines, lines[1:] + lines[:1])
    ]
    labels = ["pos\tgood fun", "neg\tdull", "pos\tgood fun", "neg\t"]
    cells = [[line.split("\t")[0::2] for line in one] for one in found]
    assert ["\t".join(row) for row in cells[0]] == labels
    assert found[1] == found[0][1:] + found[0][:1]


def test_svmlight_rows_are_predicted(folder):
    (folder / "a.svm").write_text("1 1:1 3:2\n-1 2:1\n" * 20)
    run("train", folder / "a.svm", "--epochs", 2, "--out", folder / "svm.model", "-q")
    found = run("predict", folder / "svm.model", folder / "a.svm").splitlines()
    assert [line.split("\t")[0] for line in found] == ["1", "-1"] * 20
    run("predict", folder / "svm.model", folder / "a.svm", "--out", folder / "svm.csv")
    assert len((folder / "svm.csv").read_text().splitlines()) == 40


def test_top_labels_are_in_the_order_of_their_scores(folder):
    found = run("predict", folder / "three.model", "-", "--json", "--top", 3, given="so good\n")
    row = json.loads(found)
    assert sorted(row[name] for name in ("predicted", "predicted_2", "predicted_3")) == [
        "mid", "neg", "pos",
    ]  # fmt: skip
    assert row["score"] >= row["score_2"] >= row["score_3"]
    assert row["predicted"] == load(folder / "three.model").predict(["so good"])[0]


@pytest.mark.parametrize("name", ["two", "three"])
def test_scores_of_all_classes_are_those_of_the_model(folder, name):
    model = load(folder / f"{name}.model")
    row = json.loads(run(
        "predict", folder / f"{name}.model", "-", "--json", "--scores", given="good so fun\n"
    ))  # fmt: skip
    scores = model.decision_function(["good so fun"])
    wanted = [-scores[0], scores[0]] if name == "two" else scores[0].tolist()
    assert [row[f"score_{label}"] for label in model.classes] == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "txt", "parquet", "arrow"])
@pytest.mark.parametrize("packing", ["gz", "zst"])
def test_every_format_can_be_compressed(folder, ending, packing):
    out = folder / f"out.{ending}.{packing}"
    run("predict", folder / "two.model", folder / "two.csv", "--out", out, "--only", "n,predicted")
    kind = {"gz": "gzip", "zst": "zstd"}[packing]
    with pa.OSFile(str(out)) as file, pa.CompressedInputStream(file, kind) as stream:
        content = stream.read()
    if ending in ("parquet", "arrow"):
        read = {"parquet": pa.parquet.read_table, "arrow": pa.feather.read_table}[ending]
        rows = read(pa.BufferReader(content)).to_pylist()
        assert rows[:2] == [{"n": 0.0, "predicted": "pos"}, {"n": 0.0, "predicted": "neg"}]
        assert len(rows) == 120
    else:
        assert len(content.splitlines()) == 120 + (ending in ("csv", "tsv"))


HOSTILE = [
    'a "b" c', '"', '""', '"a"', "tab\tin it", "line\nin it", "cr\rin it", "crlf\r\nin it",
    " blanks ", "=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0", "a,b;c", "\\n", "'", "",
    "é\u2028", "NA",
]  # fmt: skip


@pytest.mark.parametrize("ending", ["tsv", "csv"])
@pytest.mark.parametrize("source", ["in.parquet", "in.csv", "in.tsv", "in.jsonl"])
def test_predictions_are_read_back_cell_for_cell(tmp_path, ending, source):
    """Also if only a late row has a cell that needs quotes; and classes of any name."""
    texts = ["plain"] * 80 + HOSTILE + ["plain"] * 40
    classes = ["=1+1", 'say "a"\tb'] * (len(texts) // 2)
    table = pa.table({"label": classes, "text": texts, "note": texts[::-1]})
    pa.parquet.write_table(table, tmp_path / "in.parquet")
    run("train", tmp_path / "in.parquet", "--text", "text", "--out", tmp_path / "m", "-q")
    if not source.endswith("parquet"):
        with (tmp_path / source).open("wb") as file, writer(file, source[3:]) as write:
            write(table)
    run("predict", tmp_path / "m", tmp_path / source, "--out", tmp_path / f"out.{ending}")
    run("predict", tmp_path / "m", tmp_path / "in.parquet", "--out", tmp_path / "out.arrow")
    expected = pa.feather.read_table(tmp_path / "out.arrow")
    reread = data.open(
        tmp_path / f"out.{ending}", label="predicted", columns={"text": "text", "note": "text"},
    )  # fmt: skip
    reread.kept_columns = None
    rows = [row for batch in reread for row in batch.table.to_pylist()]
    for name in ("predicted", "text", "note"):
        assert [row[name] for row in rows] == expected[name].to_pylist()
    assert expected["text"].to_pylist() == texts


def test_number_columns_stay_numbers_and_are_not_rewritten(folder):
    first = run("predict", folder / "two.model", folder / "two.csv", "--json").splitlines()[10]
    row = json.loads(first)
    assert (row["n"], row["x"], row["text"]) == (5, 1.25, "the good fun film 5")
    assert row["code"] == "05"
    cells = run("predict", folder / "two.model", folder / "two.csv").splitlines()[11]
    assert cells.startswith("pos,the good fun film 5,5,05,1.25,")


def test_only_chooses_what_is_written(folder):
    common = ["predict", folder / "two.model", folder / "two.csv"]
    assert run(*common, "--only", "score,n").startswith("score,n\n")


def test_keep_writes_only_rows_of_some_labels_or_values(folder):
    common = ["predict", folder / "three.model", folder / "three.csv", "--only", "label"]
    assert run(*common, "--keep", "three=pos") == "label\n" + "pos\n" * 60
    assert run(*common, "--keep", "three = pos, mid") == "label\n" + "pos\nmid\n" * 60
    assert run(*common, "--keep", "three!=pos,mid") == "label\n" + "neg\n" * 60
    model, table = load(folder / "three.model"), pd.read_csv(folder / "three.csv")
    values = (
        model.decision_function(table["text"])
        if model.calibration is None
        else model.predict_proba(table["text"])
    )[:, model.classes.index("mid")]
    least = float(np.quantile(values, 0.9))
    kept = run(*common, "--keep", f"three:mid>={least}").splitlines()[1:]
    assert kept == table["label"][values >= least].tolist()


def test_a_stream_is_answered_line_by_line(folder):
    process = program("predict", folder / "two.model", "-", "--only", "predicted")
    for text, label in (("good fun\n", "pos\n"), ("bad dull\n", "neg\n")):
        process.stdin.write(text)
        process.stdin.flush()
        assert process.stdout.readline() == label
    rest, error = process.communicate("dull", timeout=60)
    assert (rest, error, process.returncode) == ("neg\n", "", 0)


def test_a_reader_that_stops_ends_the_program_without_a_word(folder):
    process = program("predict", folder / "two.model", "-")
    process.stdout.close()
    with suppress(BrokenPipeError):
        process.stdin.write("good\n" * 2_000_000)
    assert process.wait(60) == -signal.SIGPIPE
    assert process.stderr.read() == ""
    with suppress(BrokenPipeError):
        process.stdin.close()
    process.stderr.close()


def test_several_files_have_one_output_in_order_or_one_each(folder):
    inputs = []
    for i in range(5):
        inputs.append(folder / f"part{i}.csv")
        inputs[-1].write_text(f"id,text\n{i},good fun\n{i},bad dull\n")
    only = ["--only", "id,predicted"]
    run("predict", folder / "two.model", *inputs, "--out", folder / "all.csv", *only)
    found = [line.split(",") for line in (folder / "all.csv").read_text().splitlines()[1:]]
    assert [row[:2] for row in found] == [
        [str(i), label] for i in range(5) for label in ("pos", "neg")
    ]
    said = run("predict", folder / "two.model", *inputs, "--out", f"{folder / 'each'}{os.sep}")
    assert len(said.splitlines()) == 5
    names = sorted(p.name for p in (folder / "each").glob("*"))
    assert names[names[0].startswith(".") :] == [f"part{i}.csv" for i in range(5)]
    assert (folder / "each" / "part3.csv").read_text().startswith("id,text,predicted,score\n3,good")


def test_an_empty_stream_gives_an_empty_output(folder):
    assert run("predict", folder / "two.model", "-", given="") == ""
    process = program("predict", folder / "two.model", "-")
    out, error = process.communicate("", timeout=60)
    assert (out, process.returncode) == ("", 0)
    assert "no rows" in error
    (folder / "empty.csv").write_text("")
    run("predict", folder / "two.model", folder / "empty.csv", "--out", folder / "e.parquet")
    assert pa.parquet.read_table(folder / "e.parquet").num_rows == 0


def test_what_cannot_be_done_is_refused_before_anything_is_written(folder):
    common = ["predict", folder / "two.model", folder / "two.csv"]
    out = folder / "kept.csv"
    out.write_text("before")
    for options, kind, words in (
        (
            ["--keep", "two:never>0.5"],
            OptionError,
            "'never' is not a class of two: neg, pos",
        ),
        (["--top", "3"], OptionError, "--top is from 1 to 2"),
        (["--keep", "two=never"], OptionError, "'never' is neither a number nor a class of two"),
        (
            ["--only", "predicted,nope"],
            DataError,
            "there is no column 'nope'; the columns are label",
        ),
        (["--to", "xml"], OptionError, "'xml' is not a format to write"),
    ):
        error = failure(*common, "--out", out, *options)
        assert isinstance(error, kind), error
        assert words in str(error)
    assert out.read_text() == "before"


def test_a_wrong_probability_ends_with_code_2_and_a_sentence(folder):
    common = "predict", folder / "two.model", folder / "two.csv", "--out", "-"
    with program(*common, "--keep", "two>1.5") as process:
        said, complaint = process.communicate()
    assert (process.returncode, said) == (2, "")
    assert "--keep '1.5': a probability is from 0 to 1" in " ".join(complaint.split())
    assert "Traceback" not in complaint


def test_an_output_that_exists_is_replaced_only_by_a_whole_one(folder):
    (folder / "bad.csv").write_text("id,text\n1,good\n2\n")
    out = folder / "replaced.csv"
    out.write_text("before")
    error = failure("predict", folder / "two.model", folder / "bad.csv", "--out", out)
    assert "line 3" in str(error)
    assert out.read_text() == "before"
    run("predict", folder / "two.model", folder / "bad.csv", "--out", out, "--skip-bad-rows")
    assert len(out.read_text().splitlines()) == 2
    error = failure(
        "predict", folder / "two.model", folder / "two.csv", "--out", folder / "two.csv"
    )
    assert "which is read; name another file" in str(error)
    assert isinstance(failure("predict", folder / "two.model", folder / "two.csv", "--out", "a.b"),
                      DataError)  # fmt: skip


def test_a_missing_column_is_named(folder):
    error = failure("predict", folder / "two.model", "-", "--format", "csv", given="id,n\n1,2\n")
    assert "there is no column 'text'" in str(error)


def test_compressed_standard_input_is_read(folder):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-m", "rosenblatt", "predict", str(folder / "two.model"), "-",
               "--only", "predicted"]  # fmt: skip
    done = subprocess.run(
        command, env=environment, input=gzip.compress(b"good\nbad\n"), capture_output=True
    )
    assert done.stdout == b"pos\nneg\n"


def test_tags_of_vw_lines_are_carried_into_predictions(tmp_path):
    (tmp_path / "a.vw").write_text("1 'x|w good\n-1 'y|w bad\n" * 30)
    (tmp_path / "new.vw").write_text("'first|w good\n1 second|w bad\n| good\n")
    (tmp_path / "bare.vw").write_text("|w good\n")
    model = tmp_path / "a.model"
    run("train", tmp_path / "a.vw", "--epochs", 3, "--out", model, "-q")
    lines = [line.split("\t") for line in run("predict", model, tmp_path / "new.vw").splitlines()]
    assert [(label, tag) for label, _, tag in lines[:2]] == [("1", "first"), ("-1", "second")]
    assert lines[2][2] == ""
    out = tmp_path / "out.csv"
    run("predict", model, tmp_path / "new.vw", "--out", out, "--only", "tag,predicted")
    assert out.read_text().splitlines()[:2] == ["first,1", "second,-1"]
    run("predict", model, tmp_path / "new.vw", "--out", tmp_path / "parts", "--workers", 1)
    written = (tmp_path / "parts" / "new.txt").read_text()
    assert written == run("predict", model, tmp_path / "new.vw")
    assert len(run("predict", model, tmp_path / "bare.vw").split("\t")) == 2
    piped = run("predict", model, "-", given=(tmp_path / "new.vw").read_text())
    assert piped == written
