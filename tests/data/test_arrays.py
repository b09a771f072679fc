"""Files of numbers as arrays: every row is there, whole numbers stay whole, the rest is refused."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.datasets import dump_svmlight_file

from rosenblatt.data import read_arrays
from rosenblatt.errors import DataError


def write(folder, name, content):
    (folder / name).write_bytes(content)
    return folder / name


@pytest.mark.parametrize("header", [None, False])
def test_a_file_without_a_header_loses_no_row(tmp_path, header):
    X = np.random.default_rng(0).normal(size=(1372, 4)).round(4)
    y = (X[:, 0] > 0).astype(int)
    lines = "".join(
        ",".join(map(str, [*row, label])) + "\n" for row, label in zip(X, y, strict=True)
    )
    path = write(tmp_path, "notes.csv.gz", gzip.compress(lines.encode()))
    found = read_arrays(path, -1, header=header)
    assert np.array_equal(found.X, X)
    assert np.array_equal(found.y, y)
    assert (found.columns, found.label, found.header) == (("1", "2", "3", "4"), "5", False)


def test_numbers_are_the_nearest_doubles_and_whole_numbers_stay_whole(tmp_path):
    content = b"a,b,c,label\n1,0.1,9007199254740993,x\n-2,1e-3,3,y\n"
    found = read_arrays(write(tmp_path, "a.csv", content))
    assert found.X.dtype == object
    assert found.X.tolist() == [[1, 0.1, 9007199254740993], [-2, 0.001, 3]]
    path = write(tmp_path, "b.csv", b"a,label\n1%b,x\n2,y\n" % (b"0" * 40))
    assert read_arrays(path).X.tolist() == [[10**40], [2]]
    assert read_arrays(write(tmp_path, "c.csv", b"a,label\n1e3,x\n2,y\n")).X.dtype == float
    assert read_arrays({"a": [1, 2], "label": [0, 1]}).X.dtype == np.int64
    assert read_arrays({"a": [True, False], "label": [0, 1]}).X.tolist() == [[1], [0]]
    assert read_arrays({"a": [1.0, 2.5], "label": [0, 1]}).X.tolist() == [[1.0], [2.5]]


def test_labels_are_numbers_where_all_are():
    for given, found in (
        (["1", "-1"], [1, -1]),
        (["+1", "-1"], ["+1", "-1"]),
        (["0.5", "1"], [0.5, 1.0]),
        (["1", "x"], ["1", "x"]),
        ([1.0, 2.0], [1, 2]),
        ([True, False], ["true", "false"]),
    ):
        assert read_arrays({"a": [1, 2], "label": given}).y.tolist() == found


def test_every_format_of_tables_gives_the_same_arrays(tmp_path):
    table = pa.table({"a": [1, 2, 3], "b": [0.5, 0.25, 4.0], "label": ["u", "v", "u"]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    lines = b'{"a": 1, "b": 0.5, "label": "u"}\n{"a": 2, "b": 0.25, "label": "v"}\n'
    lines += b'{"a": 3, "b": 4, "label": "u"}\n'
    csv = b"a,b,label\n1,0.5,u\n2,0.25,v\n3,4,u\n"
    for given in (
        table,
        tmp_path / "a.parquet",
        write(tmp_path, "a.jsonl", lines),
        write(tmp_path, "a.csv", csv),
        write(tmp_path, "a.tsv", csv.replace(b",", b"\t")),
        io.BytesIO(csv),
        io.BytesIO(gzip.compress(csv)),
    ):
        found = read_arrays(given)
        assert found.X.tolist() == [[1, 0.5], [2, 0.25], [3, 4]]
        assert found.y.tolist() == ["u", "v", "u"]
        assert (found.columns, found.label, found.header) == (("a", "b"), "label", True)


def test_a_first_column_of_words_names_the_rows_on_request(tmp_path):
    path = write(tmp_path, "a.csv", b"who,a,label\nAda,1,yes\nBob,2,no\n")
    found = read_arrays(path, row_names=True)
    assert (found.row_names, found.columns) == (("Ada", "Bob"), ("a",))
    with pytest.raises(DataError, match="line 2, column 'who': expected a number, found 'Ada'"):
        read_arrays(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,label\n1,0\nx,1\n", "line 3, column 'a': expected a number, found 'x'"),
        (b"a,label\n1,0\n\n?,1\n", "line 4, column 'a': expected a number, found nothing"),
        (b"a,label\n1,0\ninf,1\n", "line 3, column 'a': expected a number, found .* not finite"),
        (b"a,label\n1,0\n2,\n", "line 3, column 'label': the label is missing"),
        (b"a,label\n1,0\n1,2,3\n", "line 3: expected 2 values, found 3"),
        (b"a,b\n1,0\n", "which column is the label\\? The columns are a, b"),
        (b"label\n1\n0\n", "at least one column of numbers"),
        (b"a,label\n", "the file has no rows"),
        (b"", "the file is empty"),
    ],
)
def test_what_is_not_a_number_is_named_with_its_place(tmp_path, content, message):
    with pytest.raises(DataError, match=message):
        read_arrays(write(tmp_path, "d.csv", content))


def test_other_formats_and_types_are_refused_plainly(tmp_path):
    with pytest.raises(DataError, match="vw files hold features by name"):
        read_arrays(write(tmp_path, "a.vw", b"1 | a b\n"))
    with pytest.raises(DataError, match="column 'text': expected a number, found"):
        read_arrays(write(tmp_path, "a.ft", b"__label__a some words\n"))
    with pytest.raises(DataError, match="column 'a': expected numbers, found list"):
        read_arrays({"a": [[1]], "label": [1]})
    with pytest.raises(DataError, match="more than 3 cells"):
        read_arrays({"a": [1, 2], "b": [3, 4], "label": [0, 1]}, most_cells=3)


def test_svmlight_lines_are_read_as_doubles_and_their_faults_named(tmp_path):
    X, y = np.array([[0.1, 0.0], [0.3, 5.1]]), np.array([1, -1])
    dump_svmlight_file(X, y, str(tmp_path / "a.svm"), zero_based=False)
    found = read_arrays(tmp_path / "a.svm")
    assert np.array_equal(found.X.toarray(), X)
    assert (found.y.tolist(), found.columns) == ([1, -1], ("1", "2"))
    with pytest.raises(DataError, match="line 2, column 4: expected a feature"):
        read_arrays(write(tmp_path, "b.svm", b"1 1:1\n-1 2:x\n"))
    with pytest.raises(DataError, match="the file has no rows"):
        read_arrays(write(tmp_path, "c.svm", b"\n"))
    with pytest.raises(DataError, match="feature 200,000,000 is beyond the 4,194,304 columns"):
        read_arrays(write(tmp_path, "d.svm", b"1 200000000:1\n-1 1:1\n"))
    with pytest.raises(DataError, match="more than 3 cells"):
        read_arrays(tmp_path / "a.svm", most_cells=3)


def test_a_million_decimals_are_refused_before_they_become_fractions(tmp_path):
    path = tmp_path / "wide.csv"
    names = [f"x{j}" for j in range(55_000)]
    line = ",".join(["0.1"] * len(names))
    path.write_text(",".join([*names, "label"]) + "\n" + f"{line},a\n{line},b\n" * 10)
    with pytest.raises(DataError, match=r"more than 1,048,576 decimals .* write a Parquet file"):
        read_arrays(path, exact=True)
    assert read_arrays(path).X.shape == (20, 55_000)
