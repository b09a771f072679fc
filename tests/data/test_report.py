"""What was understood of a file, and the remarks on what looks odd."""

from __future__ import annotations

import pytest

from rosenblatt import data
from rosenblatt.data.report import describe

N = 60
LABELS = ["a", "b", "a"] * (N // 3)


def remark_on(name, values, labels=LABELS, **options):
    reports = describe(
        data.open({name: values, "z": [1, 2] * (N // 2), "label": labels}, **options)
    )
    (report,) = [report for report in reports if report.name == name]
    return report.kind, report.remark


@pytest.mark.parametrize(
    ("name", "values", "kind", "words"),
    [
        ("customer", [f"c{i:04}" for i in range(N)], "category", "an identifier?"),
        ("id", [7 * i * i for i in range(N)], "ignored", "left out, unless --column id=number"),
        ("x", list(range(100, 100 + N)), "number", "a number per row"),
        ("x", [i * 0.5 for i in range(N)], "number", ""),
        ("x", [3] * N, "number", "the same value in all of the first 60 rows"),
        ("c", ["u"] * N, "category", "the same value"),
        ("when", [f"{i % 5 + 1}/3/2024" for i in range(N)], "category", "date:dayfirst or"),
        ("price", [f"{i % 9},500" for i in range(N)], "category", "--decimal ,"),
        ("price", [f"{i % 9},50" for i in range(N)], "number", ""),
        ("x", [1_700_000_000 + 7 * (i % 9) for i in range(N)], "number", "date:seconds"),
        ("when", [f"2024-03-{i % 28 + 1:02}" for i in range(N)], "date", ""),
        ("c", ["u", "v", "w"] * (N // 3), "category", ""),
    ],
)
def test_odd_columns_get_a_remark(name, values, kind, words):
    found, remark = remark_on(name, values)
    assert found == kind
    assert words in remark
    assert bool(words) == bool(remark)


def test_a_column_of_names_of_rows_is_said_to_be_left_out():
    names, few = [f"c{i:04}" for i in range(100)], ["u", "v"] * 50
    name, other = describe(data.open({"name": names, "z": few, "label": few}))[1:]
    assert (name.kind, other.kind) == ("ignored", "category")
    assert "left out, unless --column name=text or --column name=category" in name.remark


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([f"l{i}" for i in range(N)], "is this the label?"),
        (["a"] * (N // 2) + ["b"] * (N // 2), "sorted by label"),
        (["b"] * N, "sorted by label"),
        (LABELS, ""),
    ],
)
def test_odd_labels_get_a_remark(labels, words):
    _, remark = remark_on("label", labels, labels)
    assert words in remark
    assert bool(words) == bool(remark)


def test_counts_ranges_and_examples():
    frame = {
        "age": ["39", "?", "17"] * 20,
        "day": ["2024-03-31", "2024-01-02", ""] * 20,
        "note": [["nested"]] * N,
        "label": LABELS,
    }
    label, age, day, note = describe(data.open(frame))
    assert (label.kind, label.values, label.about) == ("label", 2, "a, b")
    assert (age.kind, age.rows, age.missing, age.about, age.example) == (
        "number", N, 20, "17 to 39", "39",
    )  # fmt: skip
    assert (day.about, day.missing) == ("2024-01-02 to 2024-03-31", 20)
    assert note.kind == "ignored"


def test_files_without_columns_have_nothing_to_describe(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n-1 2:1\n")
    assert describe(data.open(tmp_path / "a.svm")) == []
