"""`certify`, `verify` and `train` read the same table and the same classes from a file."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt import certify, verify
from rosenblatt.data import open as open_data
from rosenblatt.data import read_arrays
from rosenblatt.errors import DataError

LARGE = 2**53
LABELS = (
    f"1 01 1.0 +1 1e0 2 02 10 1_0 10.0 -1 -1.0 0.5 0.50 0 -0 a nan inf {2**63} {2**63 + 1} {10**30}"
).split()
INTEGERS = st.integers(-9, 9) | st.integers(-(2**66), 2**66) | st.integers(LARGE, LARGE + 4)
DECIMALS = st.decimals(
    allow_nan=False, allow_infinity=False, min_value=-10, max_value=10, places=3
).map(str)


def meant(value, exact):
    """The number that a cell stands for: itself, or for decimals unless `exact` a double."""
    return Fraction(value if exact or value.lstrip("-").isdigit() else float(value))


def write(folder, format, cells, labels):
    """A file of some rows of two columns, a and b, and their labels."""
    path = folder / f"table.{format}"
    rows = list(zip(cells, labels, strict=True))
    if format == "csv":
        lines = ["a,b,label", *(",".join([*row, label]) for row, label in rows)]
        path.write_text("\n".join(lines) + "\n")
    elif format == "jsonl":
        lines = [f'{{"a": {a}, "b": {b}, "label": {json.dumps(label)}}}' for (a, b), label in rows]
        path.write_text("\n".join(lines) + "\n")
    else:
        columns = {
            name: pa.array([Decimal(value) for value in column], pa.decimal256(60, 5))
            if any("." in value for value in column)
            else pa.array(column)
            for name, column in zip("ab", zip(*cells, strict=True), strict=True)
        }
        pyarrow.parquet.write_table(pa.table({**columns, "label": labels}), path)
    return path


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            INTEGERS.map(str) | DECIMALS, INTEGERS.map(str) | DECIMALS, st.sampled_from(LABELS)
        ),
        min_size=2,
        max_size=8,
    ).filter(lambda rows: len({label for *_, label in rows}) > 1),
    st.sampled_from(["csv", "jsonl", "parquet"]),
    st.booleans(),
)
def test_certificates_and_training_read_the_same_file_alike(tmp_path_factory, rows, format, exact):
    cells, labels = [row[:2] for row in rows], [row[2] for row in rows]
    path = write(tmp_path_factory.mktemp("same"), format, cells, labels)
    header = True if format == "csv" else None
    table = read_arrays(path, "label", header=header, exact=exact)
    values = [[Fraction(value) for value in row] for row in table.X.tolist()]
    assert values == [[meant(value, exact) for value in row] for row in cells]
    # The same classes: whatever their type, labels are equal where their texts are.
    classes = dict(zip(table.y.tolist(), labels, strict=True))
    assert [classes[label] for label in table.y.tolist()] == labels
    assert len(classes) == len(set(labels))
    source = open_data(path, label="label", header=header)
    codes = np.concatenate([batch.labels for batch in source])
    assert [source.classes[code] for code in codes] == labels
    result = verify(certify(table.X, table.y), table.X, table.y)
    assert result, result.reason


def test_labels_that_are_written_differently_are_different_classes(tmp_path):
    (tmp_path / "a.csv").write_text("x,label\n0,1\n1,01\n2,1\n3,2\n")
    table = read_arrays(tmp_path / "a.csv")
    assert table.y.tolist() == ["1", "01", "1", "2"]
    assert certify(table.X, table.y).classes == ("01", "1", "2")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (f"{LARGE}\n{LARGE + 1}\n0.5", [LARGE, LARGE + 1, 0.5]),
        (f"{2**63}\n{2**63 + 1}\n-1", [2**63, 2**63 + 1, -1]),
        (f"1e3\n{LARGE + 1}\n1", [1000, LARGE + 1, 1]),
    ],
)
def test_integers_are_exact_whatever_stands_beside_them(tmp_path, lines, expected):
    cells = lines.split("\n")
    (tmp_path / "a.csv").write_text(
        "x,label\n" + "".join(f"{c},{k}\n" for k, c in enumerate(cells))
    )
    objects = (json.dumps({"label": k}) for k in range(len(cells)))
    text = "".join(f'{{"x": {c}, {o[1:]}\n' for c, o in zip(cells, objects, strict=True))
    (tmp_path / "a.jsonl").write_text(text)
    for name in ("a.csv", "a.jsonl"):
        assert read_arrays(tmp_path / name).X.ravel().tolist() == expected


def test_files_of_integers_and_of_fractions_are_one_exact_column(tmp_path):
    for name, column in (("a", [LARGE + 1, 3]), ("b", [0.5, 1.5])):
        pyarrow.parquet.write_table(
            pa.table({"x": column, "label": [0, 1]}), tmp_path / f"{name}.parquet"
        )
    table = read_arrays([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    assert table.X.ravel().tolist() == [LARGE + 1, 3, 0.5, 1.5]


def test_parquet_decimals_are_exact_or_the_nearest_doubles(tmp_path):
    values = [Decimal("0.1"), Decimal("0.10000000000000000001"), Decimal("7")]
    table = pa.table({"x": pa.array(values, pa.decimal128(38, 20)), "label": [0, 1, 1]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    assert read_arrays(tmp_path / "a.parquet").X.ravel().tolist() == [0.1, 0.1, 7]
    exact = read_arrays(tmp_path / "a.parquet", exact=True).X.ravel().tolist()
    assert exact == list(map(Fraction, values))


@pytest.mark.parametrize("number", ["1e-99999999", "1e-1000", f"0.{'1' * 1000}"])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_decimals_that_would_fill_the_memory_are_refused(tmp_path, name, number):
    lines = {"a.csv": f"x,label\n1,a\n{number},b\n"}
    lines["a.jsonl"] = f'{{"x": 1, "label": "a"}}\n{{"x": {number}, "label": "b"}}\n'
    (tmp_path / name).write_text(lines[name])
    with pytest.raises(DataError, match=r"line [23].*: expected a number of at most 1,000 char"):
        read_arrays(tmp_path / name, exact=True)
    assert read_arrays(tmp_path / name).X.tolist() == [[1.0], [float(number)]]


def test_large_labels_of_svmlight_lines_are_kept_and_rounded_values_refused(tmp_path):
    (tmp_path / "a.svm").write_text(f"{2**63} 1:1\n{2**64} 1:2\n-1 1:{2**60}\n")
    table = read_arrays(tmp_path / "a.svm")
    assert table.y.tolist() == [2**63, 2**64, -1]
    source = open_data(tmp_path / "a.svm")
    list(source)
    assert sorted(source.classes) == sorted(map(str, table.y.tolist()))
    (tmp_path / "b.svm").write_text(f"0 1:1\n1 1:{LARGE + 1}\n")
    with pytest.raises(DataError, match=r"line 2: 9007199254740993 is not a double.*CSV"):
        read_arrays(tmp_path / "b.svm")
