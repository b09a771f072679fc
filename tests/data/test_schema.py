"""Which column is the label: one rule for all commands."""

from __future__ import annotations

import pytest

from rosenblatt import data
from rosenblatt.data.formats import refuse_unused_options
from rosenblatt.errors import DataError, OptionError


def write(folder, name, content):
    (folder / name).write_bytes(content)
    return folder / name


@pytest.mark.parametrize(
    ("label", "name"), [("kind", "kind"), ("2", "kind"), (2, "kind"), (-1, "y"), ("-3", "a")]
)
def test_the_label_is_given_by_name_or_by_place_from_either_end(tmp_path, label, name):
    path = write(tmp_path, "a.csv", b"a,kind,y\n1,u,3\n2,v,4\n")
    assert data.open(path, label=label).features.label == name


@pytest.mark.parametrize(
    ("label", "message"),
    [
        (None, "which column is the label\\? The columns are a, kind, y"),
        (0, "columns are counted from 1, and from -1 backwards"),
        ("0", "columns are counted from 1, and from -1 backwards"),
        (4, "there is no column '4'; the columns are a, kind, y"),
        (-4, "there is no column '-4'"),
        ("b", "there is no column 'b'"),
    ],
)
def test_a_label_that_cannot_be_meant_is_a_question_or_refused(tmp_path, label, message):
    path = write(tmp_path, "a.csv", b"a,kind,y\n1,u,3\n2,v,4\n")
    for opened in (path, {"a": [1], "kind": ["u"], "y": [3]}):
        with pytest.raises(DataError, match=message):
            data.open(opened, label=label)


def test_a_name_that_looks_like_a_place_is_a_name(tmp_path):
    path = write(tmp_path, "a.csv", b"a,0,y\n1,u,3\n2,v,4\n")
    assert data.open(path, label="0", header=True).features.label == "0"


def test_what_is_asked_for_decides_what_a_column_is():
    words = {"token": ["ja", "no", "si"] * 40, "x": [1, 2, 3] * 40, "label": ["a", "b", "c"] * 40}
    assert [c.kind for c in data.open(words).features.columns] == ["category", "number"]
    assert [c.kind for c in data.open(words, expect_text=True).features.columns] == [
        "text",
        "number",
    ]
    unnamed = {"1": ["ja", "no"] * 40, "2": ["u", "v"] * 40, "label": ["a", "b"] * 40}
    for columns in (None, {"1": "category", "2": "category"}):
        with pytest.raises(OptionError, match="no column is text; name the one that is"):
            data.open(unnamed, columns=columns, expect_text=True)
    with pytest.raises(OptionError, match="no column is text"):
        data.open({"x": [1, 2], "label": ["a", "b"]}, expect_text=True)


def test_the_label_cannot_be_a_feature_as_well():
    with pytest.raises(OptionError, match="'label' is the label"):
        data.open({"text": ["a b c"], "label": ["x"]}, text="label")


@pytest.mark.parametrize(
    ("format", "option", "value"),
    [
        ("svmlight", "label", "kind"),
        ("vw", "text", "a"),
        ("vw", "analyzer", "char"),
        ("svmlight", "ngrams", 3),
        ("csv", "cross", ["ab"]),
        ("jsonl", "header", False),
        ("table", "format", "csv"),
        ("opened", "bits", 20),
    ],
)
def test_an_option_without_effect_is_refused(format, option, value):
    refuse_unused_options(format, {option: None, "skip_bad_rows": False})
    with pytest.raises(OptionError, match="has no effect on"):
        refuse_unused_options(format, {option: value})
