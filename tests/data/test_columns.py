"""What columns are is detected from the first rows, and checked in all others."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest

from rosenblatt import data
from rosenblatt.data.arrow_tables import Chunk, check_chunk
from rosenblatt.data.cells import to_numbers
from rosenblatt.data.columns import Column, guess_columns
from rosenblatt.data.report import describe
from rosenblatt.errors import DataError, OptionError


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
        ([datetime.date(2024, 1, 1)], "date"),
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


def test_a_cell_that_is_no_number_is_missing_and_named_even_far_into_the_file(tmp_path):
    rows = b"label,x\n" + b"a,1\nb,2\n" * 5000 + b"a,many\n"
    path = write(tmp_path, "a.csv", rows)
    source = data.open(path, label="label", block_bytes=1 << 12)
    assert sum(map(len, source)) == 10_001
    assert (dict(source.strays), source.bad, dict(source.missing)) == ({"x": 1}, 0, {})
    assert source.named_strays == [(str(path), 10_002, "x", "'many'")]
    strict = data.open(path, label="label", block_bytes=1 << 12, skip_bad_rows=True)
    assert sum(map(len, strict)) == 10_000
    assert (strict.bad, dict(strict.strays)) == (1, {})


def test_a_column_of_other_things_than_in_training_is_refused(tmp_path):
    features = data.Features(columns=(Column("x", "number"),), label="label")
    path = write(tmp_path, "a.csv", b"label,x\na,1\nb,two\na,3\n")
    message = r"line 3, column 'x': expected a number, found 'two'; 1 of the first 3 cells"
    with pytest.raises(DataError, match=message):
        list(data.open(path, features=features))


STRAYS = (
    *("-", "--", "unknown", "12 EUR", "$12", "True", "x", "12,5", "1.234,50", "yesterday", "n.a."),
    *("1_000", "0x1F", "missing", "#REF!", "12%", "tbd", "1e", "nil", "2 3"),
)


@pytest.mark.parametrize("seed", range(200))
def test_stray_cells_leave_the_kinds_of_columns_as_they_are_and_are_named(tmp_path, seed):
    rng = np.random.default_rng(seed)
    n, stray = int(rng.integers(30, 300)), STRAYS[seed % len(STRAYS)]
    days = np.datetime64("2024-01-01") + rng.integers(0, 300, n).astype("timedelta64[D]")
    table = {
        "amount": [f"{x:.2f}" for x in rng.lognormal(2, 1, n)],
        "count": [str(x) for x in rng.integers(0, 50, n)],
        "day": [str(day) for day in days],
        "shop": [f"s{x}" for x in rng.integers(0, 5, n)],
        "label": ["yes" if x else "no" for x in rng.random(n) < 0.5],
    }
    clean = data.open(table).features.columns
    expected = []
    for name in ("amount", "count", "day"):
        for row in sorted(rng.choice(n, int(rng.integers(1, 3)), replace=False).tolist()):
            table[name][row] = stray
            expected.append((row + 2, name))
    lines = [",".join(f'"{cell}"' for cell in row) for row in zip(*table.values(), strict=True)]
    path = write(tmp_path, "a.csv", "\n".join([",".join(table), *lines, ""]).encode())
    source = data.open(path)
    assert sum(map(len, source)) == n
    assert [(c.name, c.kind) for c in source.features.columns] == [(c.name, c.kind) for c in clean]
    named = [(str(path), line, name, repr(stray)) for line, name in expected]
    assert sorted(source.named_strays) == sorted(named)
    assert source.strays.total() == len(expected)
    remarks = {report.name: report.remark for report in describe(source)}
    assert all(f"line {line} {stray!r}" in remarks[name] for line, name in expected)


@pytest.mark.parametrize(
    ("name", "cells", "kind", "form"),
    [
        ("d", ["28.07.2024", "1.8.2024 17:30"], "date", "dayfirst"),
        ("d", ["3/1/2024", "7/28/2024"], "date", "monthfirst"),
        ("d", ["28/7/2024", "1/8/2024"], "date", "dayfirst"),
        ("d", ["2024/7/28", "2024/12/01"], "date", "yearfirst"),
        ("d", ["3/1/2024", "7/8/2024"], "category", ""),
        ("ts", ["1700000000", "1700086400"], "date", "seconds"),
        ("created_at", [1700000000000, 1700086400000], "date", "milliseconds"),
        ("size", ["1700000000", "1700086400"], "number", ""),
        ("d", ["1.2.3", "1.2.4"], "category", ""),
    ],
)
def test_dates_are_recognised_as_they_are_written_about_the_world(name, cells, kind, form):
    (column,) = guess_columns(pa.table({name: cells * 20}), None, {"other": "number"})
    assert (column.kind, column.form) == (kind, form)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["91,72", "1.199,03", "-0,5"], "number"),
        (["1,5", "2,5", "x"] + ["3,5"] * 27, "number"),  # a stray cell
        (["1,234", "12,345"], "category"),  # thousands, or decimals
        (["1,2,3", "4,5,6"], "category"),
        (["1,5", "2,5", "a", "b"], "category"),
    ],
)
def test_decimal_commas_are_recognised_where_commas_are_nothing_else(cells, kind):
    (column,) = guess_columns(pa.table({"x": cells * 20}), None, {"other": "number"})
    assert (column.kind, column.form) == (kind, "comma" if kind == "number" else "")


def test_a_column_of_names_of_rows_is_left_out_beside_others():
    names, ages = [f"K{i:05}" for i in range(200)], ["39", "40"] * 100
    table = pa.table({"customer": names, "age": ages})
    assert [column.name for column in guess_columns(table, None)] == ["age"]
    both = guess_columns(table, None, {"customer": "category"})
    assert [column.kind for column in both] == ["category", "number"]
    repeated = pa.table({"customer": [*names[:-1], names[0]], "age": ages})
    few = table[:99]
    for other in (repeated, few):
        assert [column.kind for column in guess_columns(other, None)] == ["category", "number"]
    alone = guess_columns(pa.table({"customer": names}), None)
    assert [column.kind for column in alone] == ["text"]


def test_decimal_commas_are_numbers_where_that_is_said():
    table = {"x": ["1.234,50", "3,5", "-0,25"] * 9, "label": ["a", "b", "a"] * 9}
    for options in ({"decimal": ","}, {"columns": {"x": "number:comma"}}):
        source = data.open(table, **options)
        assert source.features.columns[0].mean == pytest.approx(412.583, abs=1e-3)
        assert data.Features.from_json(source.features.to_json()) == source.features
    with pytest.raises(OptionError, match="say number, number:comma"):
        data.open(table, columns={"x": "number:dayfirst"})


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("text", [f"word{i}" for i in range(300)], "text"),
        ("review_text", ["so good a film", "not at all good"] * 50, "text"),
        ("commentBody", [f"w{i}" for i in range(100)], "text"),
        ("title", ["Mr", "Mrs"] * 50, "category"),
        ("context", ["so good a film", "not at all good"] * 50, "category"),
        ("zip", ["10115", "20095"] * 50, "category"),
        ("zip_code", [10115, 20095] * 50, "category"),
        ("id", [i // 2 for i in range(100)], "category"),
        ("id", [i / 2 for i in range(100)], "number"),
        ("code", [0.5, 1.5] * 50, "number"),
        ("day", ["2024-03-31", "2024-04-01"] * 3, "date"),
        ("day", ["2024-03-31 17:30", "?"] * 3, "date"),
        ("day", ["2024-03-31", "2024-03-31b"] * 9, "category"),
    ],
)
def test_names_and_how_often_values_repeat_tell_kinds(name, values, kind):
    table = pa.table({name: values, "other": ["a"] * len(values)})
    columns = guess_columns(table, label=None)
    assert [c.kind for c in columns] == [kind, "category"]


@pytest.mark.parametrize(
    ("name", "values", "is_left_out"),
    [
        ("passengerId", list(range(100)), True),
        ("row_id", [7 * i * i for i in range(100)], True),
        ("n", list(range(2000)), True),
        ("n", list(range(2000, 0, -1)), True),
        ("n", [str(i) for i in range(2000)], True),
        ("n", list(range(900)), False),
        ("n", [i * 3 % 2011 for i in range(2000)], False),
        ("x", list(np.linspace(-1, 1, 2000)), False),
        ("id", ["1", "2", "?"] * 50, False),
    ],
)
def test_numbers_of_rows_are_left_out_beside_other_columns(name, values, is_left_out):
    table = pa.table({name: values, "other": ["a", "b"] * (len(values) // 2)})
    columns = [c.name for c in guess_columns(table, label=None)]
    assert columns == (["other"] if is_left_out else [name, "other"])
    assert [c.name for c in guess_columns(table, None, {name: "number"})] == [name, "other"]
    assert [c.name for c in guess_columns(table, label="other")] == [name]


def test_numbers_beyond_those_of_a_column_that_grows_count_as_its_limit():
    rng = np.random.default_rng(0)
    values = {"up": np.sort(rng.normal(size=4000)), "x": rng.normal(size=4000)}
    table = pa.table(values | {"down": -values["up"]})
    up, x, down = guess_columns(table, label=None)
    assert (up.limits, x.limits) == ((values["up"][0], values["up"][-1]), ())
    assert down.limits == (-up.limits[1], -up.limits[0])
    features = data.Features(columns=(up, x))
    near, far = ({"up": [up.limits[1] + more], "x": [0.0]} for more in (0.0, 1e6))
    rows = [features.rows(pa.table(row)).values.tolist() for row in (near, far)]
    assert rows[0] == rows[1]
    assert data.Features.from_json(features.to_json()) == features


def test_a_lone_column_of_words_that_seldom_repeat_is_text():
    words = [f"w{i % 200}" for i in range(300)]
    assert guess_columns(pa.table({"1": words, "2": words}), label="2")[0].kind == "text"
    assert guess_columns(pa.table({"1": words}), None, {"1": "category"})[0].kind == "category"


def test_what_counts_as_missing_can_be_set():
    table = pa.table({"x": ["1", "-999", "unknown"], "job": ["?", "unknown", "tech"]})
    (plain, _), (set_, _) = (
        guess_columns(table, None, missing=words) for words in (("", "?"), ("", "-999", "unknown"))
    )
    assert (plain.kind, set_.kind, set_.mean) == ("category", "number", 1.0)
    assert data.Features(columns=(Column("job", "category"),)).hashed(table).missing == {"job": 1}
    named = data.Features(
        columns=(Column("job", "category"),), missing_words=("", "tech", "unknown")
    )
    assert named.hashed(table).missing == {"job": 2}


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl"])
def test_missing_words_that_are_numbers_are_missing_in_every_block(tmp_path, name):
    cells = [("3", "a"), ("-999", "b"), ("-999.0", "a"), ("5", "b")] * 300
    mark = {"a.csv": ",", "a.tsv": "\t"}.get(name)
    if mark:
        lines = [f"x{mark}label", *(f"{x}{mark}{label}" for x, label in cells)]
    else:
        lines = [f'{{"x": {x}, "label": "{label}"}}' for x, label in cells]
    path = write(tmp_path, name, ("\n".join(lines) + "\n").encode())
    source = data.open(path, missing=["-999"], block_bytes=1 << 10)
    batches = list(source)
    assert len(batches) > 3
    assert source.features.columns[0].mean == pytest.approx(4.0, abs=0.1)
    assert dict(source.missing) == {"x": 600}


def test_any_word_is_a_label_and_only_an_empty_cell_is_a_missing_one(tmp_path):
    labels = ["nan", "NA", "null", "none", "NULL", "?", "None", "fr"]
    rows = "".join(f"{label},some words here {i}\n" for i, label in enumerate(labels * 3))
    path = write(tmp_path, "a.csv", b"label,text\n" + rows.encode())
    source = data.open(path)
    list(source)
    assert sorted(source.classes) == sorted(labels)
    with pytest.raises(DataError, match="line 26, column 'label': the label is missing"):
        list(data.open(write(tmp_path, "b.csv", b"label,text\n" + rows.encode() + b" ,x\n")))
