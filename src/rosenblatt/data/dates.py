"""Dates: read from cells, and what a model gets of them: a number and places in the calendar."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rosenblatt.data.cells import Words, valid_strings
from rosenblatt.data.strings import MISSING_WORDS

NOT_A_TIME = np.datetime64("NaT", "us")
# The categories that a date belongs to.
PARTS = {
    "month": ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
    "weekday": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
    "hour": tuple(f"{hour:02}" for hour in range(24)),
}
_NO_ROWS = np.empty(0, dtype=np.int64)


def is_date(kind: pa.DataType) -> bool:
    """Whether a type holds days or moments.

    >>> is_date(pa.date32()), is_date(pa.timestamp("s")), is_date(pa.duration("s"))
    (True, True, False)
    """
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def to_times(
    column: pa.ChunkedArray | pa.Array, missing: Words = MISSING_WORDS
) -> tuple[np.ndarray, np.ndarray]:
    """A column as moments to the microsecond, NaT where missing, and the rows that are not dates.

    Dates are written as ``2024-03-31``, with a time as ``2024-03-31 17:30`` or
    ``2024-03-31T17:30:05Z`` (ISO 8601); a moment with a time zone is taken in UTC.

    >>> times, bad = to_times(pa.array(["2024-03-31", "2024-03-31T17:30+02:00", "?", "soon"]))
    >>> times.astype("datetime64[m]").tolist()[1].hour, bad.tolist()
    (15, [3])
    """
    if is_date(column.type):
        moments = column.cast(pa.timestamp("us"), safe=False)
        return _times(moments), _NO_ROWS
    strings = valid_strings(column, missing)
    whole = _moments(strings)
    if whole is not None:
        return _times(whole), _NO_ROWS
    parts = [_moments(strings.slice(row, 1)) for row in range(len(strings))]
    bad = np.array([row for row, part in enumerate(parts) if part is None], dtype=np.int64)
    times = [NOT_A_TIME if part is None else _times(part)[0] for part in parts]
    return np.array(times, dtype="datetime64[us]"), bad


def are_dates(strings: pa.Array) -> bool:
    """Whether all strings that are not null are dates.

    >>> are_dates(pa.array(["2024-03-31", None])), are_dates(pa.array(["31.3.2024"]))
    (True, False)
    """
    return _moments(strings) is not None


def _moments(strings: pa.Array) -> pa.Array | None:
    """Strings as moments, without and then with a time zone; None if one is not a date."""
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            return strings.cast(kind)
        except pa.ArrowInvalid:
            continue
    return None


def _times(moments: pa.Array | pa.ChunkedArray) -> np.ndarray:
    whole = moments.cast(pa.timestamp("us")).cast(pa.int64())
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.combine_chunks()
    times = pc.fill_null(whole, 0).to_numpy(zero_copy_only=False).astype("datetime64[us]")
    times[whole.is_null().to_numpy(zero_copy_only=False)] = NOT_A_TIME
    return times


def days_of(times: np.ndarray) -> np.ndarray:
    """Moments in days since 1970, NaN where there is none.

    >>> days_of(np.array(["1970-01-02T12", "NaT"], "datetime64[us]")).tolist()
    [1.5, nan]
    """
    days = times.astype(np.int64) / 86_400e6
    days[np.isnat(times)] = np.nan
    return days


def part_of(times: np.ndarray, part: str) -> np.ndarray:
    """The place of each moment in one of the `PARTS`; 0 where there is none.

    >>> times = np.array(["2024-03-31T17:30", "NaT"], "datetime64[us]")
    >>> [PARTS[part][part_of(times, part)[0]] for part in PARTS]
    ['Mar', 'Sun', '17']
    """
    unit = {"month": "M", "weekday": "D", "hour": "h"}[part]
    count = times.astype(f"datetime64[{unit}]").astype(np.int64)
    count[np.isnat(times)] = 0
    # The first day of 1970 was a Thursday.
    places = (count + (3 if part == "weekday" else 0)) % len(PARTS[part])
    return np.where(np.isnat(times), 0, places)
