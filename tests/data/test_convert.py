"""Tables from one format to another: rows that change their types later on."""

from __future__ import annotations

import json

import pyarrow.feather
import pyarrow.parquet
import pytest

from rosenblatt import data, train
from rosenblatt.data.convert import convert
from rosenblatt.errors import DataError
from rosenblatt.jobs.predict import write_predictions

READ = {"a.parquet": pyarrow.parquet.read_table, "a.arrow": pyarrow.feather.read_table}


def write(path, *more):
    """200 rows of several blocks, and then some that differ."""
    rows = [{"label": "ab"[i % 2], "x": i, "t": f"some text {i}", "z": None} for i in range(200)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "".join(more))
    return str(path)


@pytest.mark.parametrize("out", sorted(READ))
@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('{"label": "a", "x": "7", "t": "u"}', ("a", 7, "u", None)),
        ('{"label": "a", "x": 7, "t": 5}', ("a", 7, "5", None)),
        ('{"label": "a", "x": 7, "t": null, "z": "at last"}', ("a", 7, None, "at last")),
    ],
)
def test_rows_that_differ_take_the_types_of_the_first(tmp_path, out, line, found):
    path = write(tmp_path / "a.jsonl", line + "\n")
    assert convert([path], tmp_path / out, block_bytes=4096) == (201, 0)
    table = READ[out](tmp_path / out)
    assert [str(kind) for kind in table.schema.types] == ["string", "int64", "string", "string"]
    assert tuple(table.slice(200).to_pylist()[0].values()) == found
    assert table["x"].to_pylist()[:200] == list(range(200))


@pytest.mark.parametrize("out", sorted(READ))
def test_a_row_that_cannot_take_them_is_named_or_left_out(tmp_path, out):
    path = write(
        tmp_path / "a.jsonl", '{"label": "a", "x": 2.5}\n{"x": 3\n{"label": "b", "x": 4}\n'
    )
    assert convert([path], tmp_path / out, block_bytes=4096, skip_bad_rows=True) == (201, 2)
    assert READ[out](tmp_path / out)["x"].to_pylist()[-2:] == [199, 4]
    with pytest.raises(DataError, match="line 202: expected a JSON object"):
        convert([path], tmp_path / f"b{out}", block_bytes=4096)
    path = write(tmp_path / "b.jsonl", '{"label": "a", "x": 2.5}\n')
    message = "line 201, column 'x': expected int64, as in the first rows, found '2.5'"
    with pytest.raises(DataError, match=message):
        convert([path], tmp_path / f"b{out}", block_bytes=4096)
    assert not (tmp_path / f"b{out}").exists()


@pytest.mark.parametrize("out", sorted(READ))
def test_predictions_keep_the_types_of_the_first_rows(tmp_path, out):
    path = write(tmp_path / "a.jsonl", '{"label": "a", "x": "7", "t": "u", "z": "at last"}\n')
    model = train(path, label="label", text="t", epochs=1)
    source = data.open(path, features=model.features, classes=model.classes, block_bytes=4096)
    assert write_predictions(model, source, tmp_path / out) == 201
    assert READ[out](tmp_path / out)["z"].to_pylist()[-1] == "at last"


@pytest.mark.parametrize("out", ["a.csv", "a.tsv"])
def test_a_nested_column_that_no_cell_can_hold_is_named(tmp_path, out):
    (tmp_path / "a.jsonl").write_text('{"label": "a", "n": 1, "x": {"y": [1, 2]}}\n' * 3)
    message = r"column 'x': a cell of a .* file cannot hold struct<y: list<.*write to a \.jsonl"
    with pytest.raises(DataError, match=message):
        convert([str(tmp_path / "a.jsonl")], tmp_path / out)
    assert not (tmp_path / out).exists()
    assert convert([str(tmp_path / "a.jsonl")], tmp_path / "b.jsonl") == (3, 0)
    assert json.loads((tmp_path / "b.jsonl").read_text().split("\n")[2])["x"] == {"y": [1, 2]}
