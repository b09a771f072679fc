"""Kinds and scales of columns come from all over the files, not from their beginning."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from rosenblatt import data
from rosenblatt.cluster.manifest import make_manifest
from rosenblatt.cluster.shards import detect_reading
from rosenblatt.data.report import describe
from rosenblatt.data.samples import PLACES, Sampled, places

ROWS = 60_000


def table(rows=ROWS):
    """Rows in the order of time: `x` grows, `y` does not."""
    rng = np.random.default_rng(0)
    start = np.datetime64("2024-07-01T00:00:00")
    return {
        "x": np.arange(rows) + rng.integers(0, 50, rows),
        "y": rng.normal(size=rows),
        "ts": start + (60 * np.arange(rows)).astype("timedelta64[s]"),
        "label": np.where(rng.random(rows) < 0.5, "a", "b"),
        "note": ["some words of a note"] * rows,
    }


def write(folder, format, files=1):
    """The table in some files of a format, in order."""
    columns, paths = pa.table(table()), []
    for i in range(files):
        part = columns[i * ROWS // files : (i + 1) * ROWS // files]
        path = folder / f"{i}.{format}"
        if format == "parquet":
            pyarrow.parquet.write_table(part, path, row_group_size=2000)
        elif format == "jsonl":
            rows = ({**row, "ts": str(row["ts"])} for row in part.to_pylist())
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        else:
            from pyarrow import csv

            plain = part.set_column(2, "ts", part["ts"].cast(pa.string()))
            with gzip.open(path, "wb") if format == "csv.gz" else path.open("wb") as out:
                csv.write_csv(plain, out)
        paths.append(str(path))
    return paths


@pytest.mark.parametrize(
    ("format", "files"),
    [("csv", 1), ("csv", 10), ("csv.gz", 10), ("jsonl", 1), ("parquet", 1), ("parquet", 10)],
)
def test_the_scales_of_files_in_the_order_of_time_are_those_of_all_rows(tmp_path, format, files):
    paths = write(tmp_path, format, files)
    source = data.open(paths, columns={"ts": "date:age"}, block_bytes=1 << 17)
    x, y, ts, note = source.features.columns
    everything = table()
    assert (x.kind, y.kind, ts.kind, note.kind) == ("number", "number", "date", "category")
    assert x.mean == pytest.approx(everything["x"].mean(), rel=0.12)
    assert x.scale == pytest.approx(everything["x"].std(), rel=0.1)
    assert (y.mean, y.scale) == pytest.approx((0.0, 1.0), abs=0.1)
    newest = everything["ts"].max().astype("datetime64[us]").astype(float) / 86_400e6
    assert ts.mean == pytest.approx(newest, abs=4.2)
    remarks = {report.name: report.remark for report in describe(source)}
    assert "new values count as the last ones; --column x=ignore" in remarks["x"]
    assert "in the order of time" in remarks["ts"]
    assert not source.is_sampled_at_start
    assert remarks["y"] == ""


def test_only_the_beginning_of_a_compressed_file_is_sampled_and_that_is_said(tmp_path):
    (path,) = write(tmp_path, "csv.gz")
    sources = [data.open(path, block_bytes=size) for size in (1 << 17, 1 << 25)]
    assert [source.is_sampled_at_start for source in sources] == [True, False]


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_shards_take_the_same_sample(tmp_path, format):
    paths = write(tmp_path, format, 3)
    reading = detect_reading(make_manifest(paths, shards=4))
    assert reading.features == data.open(paths).features


def test_a_frame_is_sampled_from_end_to_end():
    (x, *_) = data.open(table()).features.columns
    assert x.mean == pytest.approx(ROWS / 2, rel=0.05)


def test_a_date_has_no_number_that_grows_unless_that_is_asked_for():
    frame = table(2000)
    parts = [
        next(c for c in data.open(frame, columns=kinds).features.columns if c.name == "ts").parts
        for kinds in (None, {"ts": "date:age"})
    ]
    assert parts == [
        ("month", "day", "weekday", "hour"),
        ("age", "month", "day", "weekday", "hour"),
    ]


def test_places_are_spread_over_all_files_and_reach_the_end():
    files = [Sampled("a", 1 << 20), Sampled("b", 100), Sampled("c", 5 << 20)]
    chosen = [(file.path, at) for file, at in places(files, 1 << 10)]
    assert len(chosen) == PLACES + 1
    assert chosen[0] == ("a", 0)
    assert ("b", 0) in chosen
    assert chosen[-1] == ("c", (5 << 20) - (1 << 10))
