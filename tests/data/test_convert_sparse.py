"""Tables as svmlight, Vowpal Wabbit and fastText lines, read back by others and by ourselves."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from rosenblatt import data, train
from rosenblatt.data.convert import convert
from rosenblatt.errors import DataError, OptionError

TABLE = """label,age,hours,job,review
1,41.5,0,clerk,"not bad: a|b"
-1,,40,head cook,so dull
1,30,1e-3,,fine  film
"""


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(TABLE)
    return path


def columns(**kinds):
    return {"columns": kinds, "label": "label"}


def test_numbers_are_written_as_svmlight_that_scikit_learn_reads(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)) * (rng.random((300, 5)) < 0.6)
    y = rng.integers(0, 3, 300)
    lines = [",".join(map(repr, [*map(float, x), int(c)])) for x, c in zip(X, y, strict=True)]
    (tmp_path / "a.csv").write_text("a,b,c,d,e,label\n" + "\n".join(lines) + "\n")
    assert convert([str(tmp_path / "a.csv")], tmp_path / "a.svm", label="label") == (300, 0)
    found, labels = load_svmlight_file(str(tmp_path / "a.svm"), n_features=5)
    assert (found.toarray() == X).all()
    assert (labels == y).all()
    batch = next(iter(data.open(tmp_path / "a.svm")))
    assert len(batch) == 300


@given(st.lists(st.floats(-1e150, 1e150), min_size=1, max_size=30))
def test_every_number_comes_back_to_the_bit(tmp_path_factory, values):
    folder = tmp_path_factory.mktemp("numbers")
    rows = "".join(f"1,{value!r}\n" for value in [1.5, *values])
    (folder / "a.csv").write_text("label,x\n" + rows)
    convert([str(folder / "a.csv")], folder / "a.svm", label="label", columns={"x": "number"})
    found, _ = load_svmlight_file(str(folder / "a.svm"), n_features=1)
    assert found.toarray()[:, 0].tolist() == [1.5, *values]


def test_vowpal_wabbit_gets_numbers_categories_and_a_namespace_per_text(table, tmp_path):
    kinds = columns(age="number", hours="number", job="category", review="text")
    assert convert([str(table)], tmp_path / "a.vw", **kinds) == (3, 0)
    assert (tmp_path / "a.vw").read_text() == (
        "1 | age:41.5 hours:0 job=clerk |review not bad a b\n"
        "-1 | hours:40 job=head_cook |review so dull\n"
        "1 | age:30 hours:0.001 |review fine film\n"
    )
    assert sum(len(batch) for batch in data.open(tmp_path / "a.vw")) == 3


def test_fasttext_lines_train_the_same_model_as_the_table(tmp_path):
    rows = [("pos", "a good film"), ("neg", "a dull\ttwo __label__pos"), ("pos", "great")] * 20
    (tmp_path / "a.csv").write_text("label,review\n" + "".join(f"{a},{b}\n" for a, b in rows))
    out = tmp_path / "a.ft.gz"
    assert convert([str(tmp_path / "a.csv")], out, label="label", text="review") == (60, 0)
    lines = gzip.decompress(out.read_bytes()).decode().split("\n")
    assert lines[:2] == ["__label__pos a good film", "__label__neg a dull two labelpos"]
    model = train(out, epochs=2)
    assert model.predict(["a good film", "dull"]).tolist() == ["pos", "neg"]


@pytest.mark.parametrize(
    ("out", "kinds", "message"),
    [
        ("a.svm", {"age": "number", "hours": "number"}, "line 3, column 'age': a missing value"),
        (
            "a.svm",
            {"hours": "number", "job": "category"},
            r"kind number alone, not job \(category\): leave",
        ),
        (
            "a.ft",
            {"hours": "number", "review": "text"},
            r"kind text alone, not hours \(number\): leave",
        ),
    ],
)
def test_what_a_format_cannot_hold_is_named_and_nothing_is_written(
    table, tmp_path, out, kinds, message
):
    left = {name: "ignore" for name in ("age", "hours", "job", "review") if name not in kinds}
    with pytest.raises(DataError, match=message):
        convert([str(table)], tmp_path / out, **columns(**kinds, **left))
    assert not (tmp_path / out).exists()


@pytest.mark.parametrize(
    ("label", "out", "message"),
    [
        ("head cook", "a.ft", "line 3, column 'label': .*no blanks, found 'head cook'"),
        ("cook", "a.vw", "line 3, column 'label': .*number the classes first; found 'cook'"),
        ("", "a.vw", "line 3, column 'label': the label is missing"),
    ],
)
def test_labels_that_a_format_cannot_hold_are_named(tmp_path, label, out, message):
    (tmp_path / "a.csv").write_text(f"label,review\n1,so so\n{label},a film\n1,so\n")
    with pytest.raises(DataError, match=message):
        convert([str(tmp_path / "a.csv")], tmp_path / out, label="label", text="review")


def test_sparse_files_are_not_tables_and_options_without_effect_are_refused(table, tmp_path):
    (tmp_path / "b.svm").write_text("1 1:2\n-1 2:3\n")
    for out in ("c.vw", "c.csv"):
        with pytest.raises(DataError, match=r"not tables; their rows can be hashed into a \.cache"):
            convert([str(tmp_path / "b.svm")], tmp_path / out)
    with pytest.raises(OptionError, match=r"label has no effect unless .*svmlight, vw or fasttext"):
        convert([str(table)], tmp_path / "c.csv", label="label")
