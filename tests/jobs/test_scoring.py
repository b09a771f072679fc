"""The job of a filter: files, models, shares of the rows, and a second start."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from rosenblatt import load, train
from rosenblatt.cli import app
from rosenblatt.errors import OptionError
from rosenblatt.jobs import scoring
from rosenblatt.jobs.conditions import Condition

WORDS = {"good": "proof lemma theorem", "spam": "click buy now", "news": "today said minister"}


def texts(rng, rows):
    """Labels, sources and texts."""
    labels = [rng.choice(sorted(WORDS)) for _ in range(rows)]
    mixed = " ".join(WORDS.values()).split()
    said = [
        " ".join(rng.choice(WORDS[label].split() if rng.random() < 0.7 else mixed) for _ in "12345")
        for label in labels
    ]
    sources = [rng.choice("ab") for _ in labels]
    return {"label": labels, "source": sources, "text": said}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("job")
    rng = random.Random(5)
    table = texts(rng, 900)
    train(table, text="text", epochs=3, out=path / "kind.model")
    quality = ["good" if label == "good" else "bad" for label in table["label"]]
    train({"label": quality, "text": table["text"]}, epochs=3, out=path / "quality.model")
    train(
        table | {"label": quality},
        text="text",
        analyzer="char",
        ngrams=(2, 3),
        out=path / "chars.model",
    )
    for name in ("one", "two"):
        new = texts(rng, 400)
        pq.write_table(pa.table(new | {"n": list(range(400))}), path / f"{name}.parquet")
    return path


def run(folder, *arguments, code=0):
    named = [str(folder / a) if (folder / str(a)).exists() else str(a) for a in arguments]
    result = CliRunner().invoke(app, named)
    assert result.exit_code == code, (result.output, result.exception)
    return result.output


FILES = ("one.parquet", "two.parquet")


def test_each_model_has_a_column_and_all_others_stay(folder, tmp_path):
    run(
        folder,
        "predict",
        "quality.model",
        "kind.model",
        "chars.model",
        *FILES,
        "-o",
        f"{tmp_path}/",
    )
    table = pq.read_table(tmp_path / "one.parquet")
    expected = ["label", "source", "text", "n", "quality", "kind", "kind_probability", "chars"]
    assert table.column_names == expected
    said = table["text"].to_pylist()
    for name in ("quality", "chars"):
        model = load(folder / f"{name}.model")
        assert np.array_equal(table[name], model.predict_proba(said)[:, 1])
    kind = load(folder / "kind.model")
    assert table["kind"].to_pylist() == kind.predict(said).tolist()
    assert np.array_equal(table["kind_probability"], kind.predict_proba(said).max(axis=1))


def test_rows_are_kept_by_conditions_on_any_model(folder, tmp_path):
    conditions = ["--keep", "quality>=0.5", "--keep", "kind != news"]
    run(
        folder,
        "predict",
        "quality.model",
        "kind.model",
        "one.parquet",
        "-o",
        f"{tmp_path}/",
        *conditions,
    )
    kept = pq.read_table(tmp_path / "one.parquet")
    run(
        folder,
        "predict",
        "quality.model",
        "kind.model",
        "one.parquet",
        "-o",
        tmp_path / "all.parquet",
    )
    whole = pq.read_table(tmp_path / "all.parquet").to_pylist()
    assert kept.to_pylist() == [r for r in whole if r["quality"] >= 0.5 and r["kind"] != "news"]
    assert 0 < len(kept) < 400
    run(
        folder,
        "predict",
        "kind.model",
        "one.parquet",
        "-o",
        tmp_path / "k.csv",
        "--keep",
        "kind=good",
    )
    assert (tmp_path / "k.csv").read_text().count("good,") >= kept.num_rows


@pytest.mark.parametrize("by", [[], ["--by", "source"]])
def test_the_best_rows_are_kept_in_all_or_of_each_group(folder, tmp_path, by):
    run(folder, "predict", "quality.model", *FILES, "-o", f"{tmp_path}/", "--keep-top", "10%", *by)
    kept = pa.concat_tables(pq.read_table(tmp_path / name) for name in FILES).to_pylist()
    rows = pa.concat_tables(pq.read_table(folder / name) for name in FILES)
    values = load(folder / "quality.model").predict_proba(rows["text"].to_pylist())[:, 1]
    groups = np.array(rows["source"].to_pylist() if by else [""] * len(rows))
    for group in np.unique(groups):
        own = np.sort(values[groups == group].astype(np.float32))[::-1]
        least = own[round(0.1 * len(own)) - 1]
        count = sum(row["source"] == group or not group for row in kept)
        assert count == np.count_nonzero(own >= least)


def test_labels_are_predicted_among_those_named(folder, tmp_path):
    run(
        folder,
        "predict",
        "kind.model",
        "one.parquet",
        "-o",
        tmp_path / "a.parquet",
        "--labels",
        "news,spam",
        "--proba",
    )
    table = pq.read_table(tmp_path / "a.parquet")
    model = load(folder / "kind.model")
    said = table["text"].to_pylist()
    both = model.decision_function(said)[:, 1:]
    assert (
        table["predicted"].to_pylist() == np.array(["news", "spam"])[both.argmax(axis=1)].tolist()
    )
    assert min(table["probability"].to_pylist()) >= 0.5


def test_a_second_start_does_what_is_left_and_another_job_does_all(folder, tmp_path):
    command = ("predict", "quality.model", *FILES, "-o", f"{tmp_path}/")
    assert "done before" not in run(folder, *command)
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    (tmp_path / "two.parquet").unlink()
    old = (tmp_path / "one.parquet").stat()
    assert "1 file done before" in run(folder, *command)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == first
    assert (tmp_path / "one.parquet").stat() == old
    assert "done before" not in run(folder, *command, "--proba")
    assert "probability" in pq.read_table(tmp_path / "one.parquet").column_names
    os.utime(folder / "one.parquet")
    assert "1 file done before" in run(folder, *command, "--proba")


def test_a_job_that_is_killed_again_and_again_ends_in_the_same_bytes(folder, tmp_path):
    for i in range(6):
        path = tmp_path / f"in{i}.jsonl"
        rows = texts(random.Random(i), 3000)
        lines = [json.dumps({"text": text, "n": n}) for n, text in enumerate(rows["text"])]
        path.write_text("\n".join(lines) + "\n")
    program = [sys.executable, "-m", "rosenblatt", "predict", str(folder / "quality.model")]
    program += [str(folder / "kind.model"), *(str(tmp_path / f"in{i}.jsonl") for i in range(6))]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}

    def start(out):
        return subprocess.Popen([*program, "-o", f"{out}/", "-q"], env=environment)

    assert start(tmp_path / "whole").wait() == 0
    rng, out = random.Random(3), tmp_path / "killed"
    for _ in range(int(os.environ.get("ROSENBLATT_KILLS", "4"))):
        process = start(out)
        time.sleep(rng.uniform(0.3, 1.2))
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert start(out).wait() == 0
    names = sorted(path.name for path in out.iterdir())
    assert names == sorted(path.name for path in (tmp_path / "whole").iterdir())
    for i in range(6):
        name = f"in{i}.jsonl"
        assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_thresholds_of_many_rows_are_those_of_a_part_of_them(monkeypatch):
    monkeypatch.setattr(scoring, "_MOST_VALUES", 1000)
    values, rng = scoring._Largest(), np.random.default_rng(0)
    for _ in range(50):
        values.add(rng.random(rng.integers(0, 400)))
    assert sum(map(len, values._parts)) <= 1000
    assert values.least(0.1) == pytest.approx(0.9, abs=0.04)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("quality.model", "kind.model"), "name the files"),
        (("quality.model", "one.parquet", "--keep", "quality~1"), "not a condition"),
        (("quality.model", "one.parquet", "--keep", "other>1"), "there is no such model"),
        (
            ("quality.model", "one.parquet", "--keep", "quality>much"),
            "is neither a number nor a class",
        ),
        (("quality.model", "one.parquet", "--keep-top", "10%"), "needs a folder"),
        (("quality.model", "one.parquet", "--by", "source"), "is for --keep-top"),
        (("quality.model", "kind.model", "one.parquet", "--top", "2"), "is for one model"),
        (("kind.model", "one.parquet", "--labels", "good,best"), "'best' is not one of"),
        (("quality.model", "one.parquet", "--workers", "2"), "needs a folder"),
    ],
)
def test_options_that_make_no_sense_are_refused(folder, arguments, says):
    named = [str(folder / a) if (folder / a).exists() else a for a in arguments]
    error = CliRunner().invoke(app, ["predict", *named]).exception
    assert isinstance(error, OptionError)
    assert says in str(error)


def test_a_group_column_must_be_there(folder, tmp_path):
    arguments = ["predict", "quality.model", "one.parquet", "--keep-top", "5%", "--by", "origin"]
    named = [str(folder / a) if (folder / a).exists() else a for a in arguments]
    error = CliRunner().invoke(app, [*named, "-o", f"{tmp_path}/"]).exception
    assert "there is no column 'origin'" in str(error)


def test_conditions_are_parsed_with_their_relations():
    assert Condition.parse("a<=0.5").relation == "<="
    assert Condition.parse("lang=en") == Condition("lang", "=", "en")


def test_an_evaluation_by_group_lists_the_worst_first(folder):
    said = run(folder, "evaluate", "kind.model", "one.parquet", "--by", "source")
    assert "group" in said
    record = json.loads(
        run(folder, "evaluate", "kind.model", "one.parquet", "--by", "source", "--json")
    )
    groups = record["groups"]
    assert {group["group"] for group in groups} == {"a", "b"}
    assert sum(group["rows"] for group in groups) == record["rows"] == 400
    assert groups[0]["accuracy"] <= groups[1]["accuracy"]


@pytest.mark.parametrize("package", ["datasets", "datatrove"])
def test_the_adapters_of_the_page_run(package, tmp_path, monkeypatch):
    pytest.importorskip(package, reason=f"{package} is not installed")
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs/how-to/filter.md").read_text()
    blocks = re.findall(r"^```(?:python|py)\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    names = {}
    for block in [blocks[0], *(block for block in blocks if package in block)]:
        exec(block, names)
    if package == "datasets":
        assert list(names["rows"]["text"]) == ["the proof is short"]
        return
    from datatrove.data import Document

    documents = [Document(text, id=text) for text in ("the proof is short", "buy now")]
    said = names["Quality"]("quality.model").filter_batch(documents)
    assert said == [True, False]


def test_an_evaluation_ranks_ordered_classes(folder):
    arguments = ("evaluate", "kind.model", "one.parquet", "--order", "spam,news,good")
    assert "Spearman" in run(folder, *arguments)
    assert json.loads(run(folder, *arguments, "--json"))["ordered"]["spearman"] > 0.5


def test_columns_of_bytes_stay_bytes(folder, tmp_path):
    table = pa.table({"text": ["a proof", "buy now"], "raw": [b"\xff\x00", b"ok"]})
    pq.write_table(table, tmp_path / "raw.parquet")
    run(folder, "predict", "quality.model", tmp_path / "raw.parquet", "-o", f"{tmp_path / 'out'}/")
    assert pq.read_table(tmp_path / "out" / "raw.parquet")["raw"].equals(table["raw"])
    named = ["predict", str(folder / "quality.model"), str(tmp_path / "raw.parquet"), "--json"]
    error = CliRunner().invoke(app, named).exception
    assert "the column 'raw' holds bytes that are no text: write Parquet" in str(error)


def test_a_condition_on_a_label_is_about_its_probability(folder, tmp_path):
    run(folder, "predict", "kind.model", "one.parquet", "-o", tmp_path / "k.parquet", "--keep",
        "kind:news>=0.3", "--keep", "kind=good,news")  # fmt: skip
    table, model = pq.read_table(folder / "one.parquet"), load(folder / "kind.model")
    texts = table["text"].to_pylist()
    shares, said = model.predict_proba(texts)[:, model.classes.index("news")], model.predict(texts)
    expected = np.flatnonzero((shares >= 0.3) & (said != "spam"))
    assert pq.read_table(tmp_path / "k.parquet")["n"].to_pylist() == expected.tolist()
    assert 0 < len(expected) < 400


def test_thresholds_are_found_anew_when_a_file_has_changed(folder, tmp_path):
    path, out = tmp_path / "in.parquet", tmp_path / "out"
    table = pq.read_table(folder / "one.parquet")
    pq.write_table(table, path)
    command = ("predict", "quality.model", path, "-o", f"{out}/", "--keep-top", "10%", "--by", "n")
    run(folder, *command)
    pq.write_table(table.set_column(3, "n", pa.array([-1] * 400)), path)
    run(folder, *command)
    assert 40 <= pq.read_table(out / "in.parquet").num_rows < 400
