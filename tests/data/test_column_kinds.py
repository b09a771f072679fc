"""What columns are is detected from the first rows, and checked in all others."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest

from rosenblatt import data
from rosenblatt.data.arrow_tables import Chunk
from rosenblatt.data.column_kinds import Column, check_chunk, fit_types, guess_columns, to_numbers
from rosenblatt.errors import DataError


def write(folder, name, content):
    (folder / name).write_bytes(content)
    return folder / name


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, None], "number"),
        (["1", " 2.5", "?"], "number"),
        (["1", "2", "x"], "category"),
        (["?", "", "NA"], "category"),
        ([True, False, True], "number"),
        (["red", "blue", "red"], "category"),
        (["so good a film", "not at all good", "bad, and dull"], "text"),
        (["so good a film"] * 10, "category"),
        ([[1], [2], [3]], None),
        ([None, None], None),
        ([datetime.date(2024, 1, 1)], "number"),
    ],
)
def test_columns_are_numbers_categories_or_text_by_their_first_values(values, kind):
    columns = guess_columns(pa.table({"x": values}), label=None)
    assert [column.kind for column in columns] == ([] if kind is None else [kind])


def test_numbers_are_the_nearest_doubles():
    scaled = np.random.default_rng(0).normal(size=601) * 10.0 ** np.arange(-300, 301)
    cells = [*map(repr, scaled.tolist()), "123456789012345678901234567890", "5e-324", "0.1"]
    numbers, bad = to_numbers(pa.array(cells))
    assert numbers.tolist() == [float(cell) for cell in cells]
    assert len(bad) == 0


def test_a_bad_row_is_left_out_once_though_several_columns_are_bad():
    table = pa.table({"x": ["1", "y", "3"], "z": ["1", "w", "?"], "label": [b"a", b"\xff", b"b"]})
    chunk = Chunk(table, "a.csv", lambda row: row + 2)
    columns = (Column("x", "number"), Column("z", "number"))
    kept = check_chunk(chunk, columns, "label", skip=True)
    assert (kept.table["x"].to_pylist(), kept.bad, kept.line_of(1)) == (["1", "3"], 1, 4)
    with pytest.raises(DataError, match="line 3, column 'label': expected UTF-8"):
        check_chunk(chunk, columns, "label", skip=False)


def test_a_value_that_does_not_fit_the_first_rows_is_named():
    chunk = Chunk(pa.table({"x": ["3", "2.5"]}), "a.jsonl", lambda row: row + 1)
    with pytest.raises(DataError, match="line 2, column 'x': expected int64, as in the first rows"):
        fit_types(chunk, pa.schema({"x": pa.int64()}), skip=False)


def test_a_number_that_is_none_is_named_even_far_into_the_file(tmp_path):
    rows = b"label,x\n" + b"a,1\nb,2\n" * 5000 + b"a,many\n"
    path = write(tmp_path, "a.csv", rows)
    with pytest.raises(DataError, match=r"line 10002, column 'x': expected a number, found 'many'"):
        list(data.open(path, label="label", block_bytes=1 << 12))
