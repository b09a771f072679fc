"""The order of labels; labels in columns of 0 and 1 are read as one column of labels."""

from itertools import islice, permutations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt import data
from rosenblatt.data.labels import (
    indicator_columns,
    label_cells,
    sorted_labels,
    split_labels,
    wrong_rows,
)
from rosenblatt.data.report import describe
from rosenblatt.errors import DataError, OptionError

FRAME = {
    "text": ["one two", "two three", "three", "four one"],
    "b": [1, 0, 1, 0],
    "a": [True, True, False, False],
    "c": ["0", "1", "false", "TRUE"],
}


def test_labels_are_sorted_by_number_where_all_are_numbers_and_named_once_in_a_cell():
    assert sorted_labels(["10", "9", "-1"]) == ["-1", "9", "10"]
    assert sorted_labels(["10", "9", "x"]) == ["10", "9", "x"]
    assert split_labels("red; green;;red", ";") == ["red", "green"]


@given(st.lists(st.sampled_from(["1", "1.0", "01", "nan", "NaN", "inf", "-0", "0", "x"])))
def test_the_order_of_labels_does_not_depend_on_the_order_in_which_they_came(names):
    expected = sorted_labels(sorted(set(names)))
    for order in islice(permutations(set(names)), 50):
        assert sorted_labels(order) == expected
    if "nan" in names or "NaN" in names:
        assert expected == sorted(set(names))


def sets_of(source):
    codes = np.concatenate([batch.labels for batch in source])
    return source.label_sets.matrix(len(source.classes))[codes].astype(int).tolist()


@pytest.mark.parametrize("make", [dict, pa.table, pd.DataFrame])
@pytest.mark.parametrize("label", [["b", "a", "c"], ("b", "a", "c"), "b,a,c", "b, a, c", "2,3,-1"])
def test_columns_of_zeros_and_ones_are_labels(make, label):
    source = data.open(make(FRAME), label=label)
    assert source.classes == ["b", "a", "c"]
    assert [c.name for c in source.features.columns] == ["text"]
    assert sets_of(source) == [[1, 1, 0], [0, 1, 1], [1, 0, 0], [0, 0, 1]]
    assert source.features.label == "b,a,c"


@pytest.mark.parametrize(
    "write",
    [
        lambda frame, path: frame.to_csv(path, index=False),
        lambda frame, path: frame.to_json(path, orient="records", lines=True),
        lambda frame, path: frame.to_parquet(path),
    ],
)
def test_files_of_all_kinds_have_such_columns(write, tmp_path):
    path = tmp_path / "a"
    write(pd.DataFrame(FRAME), path)
    assert sets_of(data.open(path, label="b,a,c")) == [[1, 1, 0], [0, 1, 1], [1, 0, 0], [0, 0, 1]]


def test_a_row_may_have_none_and_a_column_no_row():
    frame = {"text": ["one two"] * 3, "a": [0, 0, 1], "b": [0, 0, 0]}
    source = data.open(frame, label=["a", "b"])
    assert sets_of(source) == [[0, 0], [0, 0], [1, 0]]
    assert source.classes == ["a", "b"]


def test_a_column_whose_name_has_a_comma_is_a_column():
    frame = {"text": ["one two", "three"], "a,b": ["x", "y"], "a": [0, 1], "b": [1, 1]}
    source = data.open(frame, label="a,b")
    assert source.features.separator is None
    assert [batch.labels.tolist() for batch in source] == [[0, 1]]


def test_what_was_understood_has_a_line_per_label():
    found = describe(data.open(FRAME, label="a,b,c"))
    assert [(report.name, report.kind) for report in found] == [
        ("a", "label"), ("b", "label"), ("c", "label"), ("text", "text")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("label", "error", "message"),
    [
        ("a,b,d", DataError, "there is no column 'd'; the columns are text, b, a, c"),
        ("a,b,a", OptionError, "the column 'a' is given as a label, twice"),
        ("a,text", DataError, "column 'text': expected 0 or 1, found 'one two'"),
        ("a,9", DataError, "there is no column '9'"),
        ("a,", DataError, "there is no column ''"),
    ],
)
def test_columns_that_are_not_labels_are_named(label, error, message):
    with pytest.raises(error, match=message):
        list(data.open(FRAME, label=label))


def test_a_comma_in_the_name_of_a_label_is_refused():
    frame = {"text": ["x y"], "a": [0], "b, or c": [1]}
    with pytest.raises(OptionError, match="its name has a comma"):
        data.open(frame, label="2,3")
    with pytest.raises(OptionError, match="is the label: it cannot be a feature"):
        data.open(FRAME, label="a,b", columns={"a": "number"})
    with pytest.raises(OptionError, match="a label separator has no effect on indicator columns"):
        data.open(FRAME, label="a,b", label_separator=";")
    with pytest.raises(DataError, match="is the label"):
        data.open(FRAME, label="a,b").weigh_by("a")


def test_bad_cells_are_named_by_line_or_left_out(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,a,b\none two,1,0\ntwo,maybe,1\nthree,1,\nfour,0,1\n")
    with pytest.raises(DataError, match=r"line 3, column 'a': expected 0 or 1, found 'maybe'"):
        list(data.open(path, label="a,b"))
    source = data.open(path, label="a,b", skip_bad_rows=True)
    assert sets_of(source) == [[1, 0], [0, 1]]
    assert source.bad == 2


def test_cells_and_columns():
    table = pa.table({"a": [1.0, 0.0, None], "b": [0, 1, 1]})
    assert label_cells(table, ["a", "b"]).to_pylist() == ["a,", ",b", ",b"]
    assert wrong_rows(table["a"]) == [2]
    assert indicator_columns("a,x", ["a", "b"]) == ()
    assert indicator_columns(None, ["a"]) == ()


AMOUNTS = [round(1.5 + 0.37 * i, 2) for i in range(60)]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("a.csv", "{},u"),
        ("a.tsv", "{}\tu"),
        ("a.jsonl", '{{"label": {}, "x": "u"}}'),
        ("a.svm", "{} 1:1"),
        ("a.vw", "{} | a"),
        ("a.ft", "__label__{} u"),
    ],
)
@pytest.mark.parametrize("rows", [4, 60])
def test_amounts_as_labels_are_refused_in_every_format(tmp_path, name, line, rows):
    header = {"a.csv": "label,x\n", "a.tsv": "label\tx\n"}.get(name, "")
    lines = [line.format(amount) for amount in AMOUNTS[:rows]]
    (tmp_path / name).write_text(header + "\n".join(lines) + "\n")
    with pytest.raises(DataError, match=r"labels such as .*1\.5, 1\.87.*: these are amounts"):
        list(data.open(tmp_path / name))


def test_many_amounts_as_labels_are_refused_before_anything_is_trained():
    with pytest.raises(DataError, match=r"1,500 labels such as .* are amounts, not classes"):
        data.open({"x": range(1500), "label": [i + 0.25 for i in range(1500)]})


def test_names_among_which_are_versions_are_classes():
    names = [f"{i}.25" for i in range(25)] + ["stable", "testing", "unstable"]
    labels = names * 20
    classes = data.open({"x": range(len(labels)), "label": labels})
    assert sum(map(len, classes)) == len(labels)
    with pytest.raises(DataError, match="are amounts"):  # but for a stray cell
        data.open({"x": range(500), "label": [*names[:25], "none"] * 19 + names[:6]})


def test_grades_of_half_points_are_classes(tmp_path):
    grades = [0.5 * i for i in range(11)] * 20
    assert len(list(data.open({"x": grades, "label": grades}))) == 1
