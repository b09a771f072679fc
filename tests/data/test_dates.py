"""Dates become a number and places in the calendar."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt import data, train
from rosenblatt.data.cells import DATE_PARTS, days_of, part_of, to_times
from rosenblatt.errors import DataError

MOMENTS = st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1))


@given(st.lists(st.none() | MOMENTS, min_size=1))
def test_strings_and_timestamps_are_the_moments_of_the_standard_library(moments):
    written = [None if m is None else m.isoformat(" ") for m in moments]
    for column in (pa.array(moments, pa.timestamp("us")), pa.array(written, pa.string())):
        times, bad = to_times(column)
        assert len(bad) == 0
        assert times.tolist() == moments
        for m, *places in zip(moments, *(part_of(times, part) for part in DATE_PARTS), strict=True):
            if m is not None:
                expected = [f"{m:%b}", f"{m:%d}", f"{m:%a}", f"{m:%H}"]
                named = [DATE_PARTS[part][at] for part, at in zip(DATE_PARTS, places, strict=True)]
                assert named == expected


def test_days_are_counted_from_1970():
    times = np.array(["1970-01-01", "1969-12-31T12:00", "NaT"], "datetime64[us]")
    assert np.array_equal(days_of(times), [0.0, -0.5, np.nan], equal_nan=True)


def frame(rows=400):
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=i) for i in range(rows)]
    return days, ["rest" if day.weekday() >= 5 else "work" for day in days]


@pytest.mark.parametrize("write", [str, lambda day: day], ids=["strings", "dates"])
def test_a_weekday_is_learned_from_dates(write):
    days, labels = frame()
    table = {"day": [write(day) for day in days], "label": labels}
    model = train(table, epochs=5)
    assert [c.kind for c in model.features.columns] == ["date"]
    new = [datetime.date(2026, 5, 1) + datetime.timedelta(days=i) for i in range(14)]
    expected = ["rest" if day.weekday() >= 5 else "work" for day in new]
    assert model.predict({"day": [write(day) for day in new]}).tolist() == expected
    named = {word for words in model.words.values() for word, _ in words}
    assert {"day:weekday=Sat", "day:weekday=Sun"} <= named


def test_a_missing_date_is_a_feature_of_its_own():
    days, labels = frame(60)
    source = data.open({"day": [None, *map(str, days[1:])], "label": labels})
    (batch,) = source
    first = batch.rows.values[: int(batch.rows.indptr[1])]
    assert first.tolist() == [0.5, 0.0, 0.0, 0.0]
    assert dict(source.missing) == {"day": 1}


def test_what_is_not_a_date_is_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("day,label\n" + "2024-01-02,a\n2024-01-03,b\n" * 3000 + "soon,a\n")
    source = data.open(path, block_bytes=1 << 12)
    list(source)
    assert source.named_strays == [(str(path), 6002, "day", "'soon'")]
    path.write_text("day,label\nsoon,a\n2024-01-02,b\n")
    message = "line 2, column 'day': expected a date such as 2024-03-31, found 'soon'"
    with pytest.raises(DataError, match=message):
        list(data.open(path, columns={"day": "date"}))
