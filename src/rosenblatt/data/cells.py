"""The cells of a column as strings, numbers or times, whatever type they have."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# The words of pandas, and the question mark of older collections of data.
MISSING_WORDS = (
    *("", "?", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan"),
    *("null", "NULL", "None", "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"),
)
NUMBER = (pa.float64(),)
TIME = (pa.timestamp("us"), pa.timestamp("us", "UTC"))
# The categories that a date belongs to.
DATE_PARTS = {
    "month": ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
    "day": tuple(f"{day:02}" for day in range(1, 32)),
    "weekday": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
    "hour": tuple(f"{hour:02}" for hour in range(24)),
}
_NO_ROWS = np.empty(0, dtype=np.int64)
# How numbers and dates may be written, besides plainly: `1.234,50`; `31.3.2024`, `3/31/2024`,
# `2024/3/31`, and seconds or milliseconds since 1970.
NUMBER_FORMS = ("comma",)
EPOCHS = {"seconds": 1e6, "milliseconds": 1e3}  # in microseconds
DAY_FORMS = {"dayfirst": r"\3-\2-\1\4", "monthfirst": r"\3-\1-\2\4", "yearfirst": r"\1-\2-\3\4"}
DATE_FORMS = (*DAY_FORMS, *EPOCHS)
_DAY_WRITTEN = r"^(\d+)[-./](\d+)[-./](\d+)(.*)$"
_FRACTION = r"(\.\d*?)0+(Z|[-+]\d{4})?$"
_THOUSANDS = r"^[-+]?\d{1,3}(\.\d{3})+(,\d*)?$"

Words = tuple[str, ...]
Cells: TypeAlias = "pa.ChunkedArray | pa.Array"


def string_buffers(strings: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The offsets and bytes of an array of strings; nulls are empty strings."""
    if not (pa.types.is_string(strings.type) or pa.types.is_large_string(strings.type)):
        strings = strings.cast(pa.large_string())
    wide = pa.types.is_large_string(strings.type)
    if strings.null_count:
        strings = strings.fill_null("")
    _, offsets, data = strings.buffers()
    kind = np.dtype(np.int64 if wide else np.int32)
    if offsets is None or len(strings) == 0:
        return np.zeros(1, dtype=kind), np.empty(0, dtype=np.uint8)
    first = np.frombuffer(
        offsets, dtype=kind, count=len(strings) + 1, offset=strings.offset * kind.itemsize
    )
    return first, np.frombuffer(data if data is not None else b"", dtype=np.uint8)


def make_strings(values: list[str]) -> pa.Array:
    """An Arrow array of strings, without ``pa.array``, whose first call imports pandas."""
    encoded = [value.encode() for value in values]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    parts = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(values), parts)


@lru_cache
def _as_array(words: Words) -> pa.Array:
    return make_strings(list(words))


def trimmed_strings(column: Cells, missing: Words = MISSING_WORDS) -> pa.Array:
    """A column as trimmed strings, null where missing or not UTF-8."""
    try:
        strings = plain_strings(column)
    except pa.ArrowInvalid:
        strings = pa.array([decoded(v) for v in column.to_pylist()], pa.string())
    strings = pc.utf8_trim_whitespace(strings)
    # Not `pa.scalar`, which imports pandas, for a fifth of a second.
    return pc.if_else(pc.is_in(strings, _as_array(missing)), pa.nulls(1, strings.type)[0], strings)


def label_strings(column: Cells) -> pa.Array:
    """Labels as trimmed strings; null only where a cell is empty, NaN or not UTF-8.

    >>> label_strings(pa.array(["nan", "NA ", "", None])).to_pylist()
    ['nan', 'NA', None, None]
    """
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.nulls(1, column.type)[0], column)
    return trimmed_strings(column, ("",))


def spelled_labels(labels: Any) -> np.ndarray:
    """Labels in memory, spelled as if they were read from a table; None where there is none.

    >>> spelled_labels(np.array([1.0, 2.0])).tolist(), spelled_labels([True, None]).tolist()
    (['1', '2'], ['true', None])
    """
    plain = labels if hasattr(labels, "__array__") else list(labels)
    if all(isinstance(label, str) for label in plain):
        column = make_strings(list(plain))
    else:
        try:
            column = pa.array(plain)
        except pa.ArrowException:  # of several types
            column = make_strings([str(label) for label in plain])
    return np.array(label_strings(column).to_pylist(), dtype=object)


def plain_strings(column: Cells) -> pa.Array:
    """A column of any type as one array of strings, not trimmed."""
    array = one_array(column)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_boolean(array.type):
        array = pc.if_else(array, "true", "false")
    if pa.types.is_floating(array.type):
        return _float_strings(array)
    if pa.types.is_large_binary(array.type) or pa.types.is_large_string(array.type):
        return array.cast(pa.large_string())
    strings = array.cast(pa.string())
    return _without_zeros(strings) if pa.types.is_temporal(array.type) else strings


def _without_zeros(times: pa.Array) -> pa.Array:
    """Times without zeros at the end, of which Parquet files and frames have different numbers.

    >>> _without_zeros(pa.array(["1970-01-01 00:00:01.000", "00:00:01.500Z"])).to_pylist()
    ['1970-01-01 00:00:01', '00:00:01.5Z']
    """
    shorter = pc.replace_substring_regex(times, _FRACTION, r"\1\2")
    return pc.replace_substring_regex(shorter, r"\.(Z|[-+]\d{4})?$", r"\1")


def _float_strings(array: pa.Array) -> pa.Array:
    """Floats as strings, each by its value alone: integers of at most 18 digits without a point.

    >>> _float_strings(pa.array([1e16, 2.5, 1e300])).to_pylist()
    ['10000000000000000', '2.5', '1e+300']
    """
    if pa.types.is_float16(array.type):
        array = array.cast(pa.float32())
    is_whole = pc.and_(pc.equal(pc.floor(array), array), pc.less(pc.abs(array), 1e18))
    if pc.all(is_whole).as_py():
        return array.cast(pa.int64()).cast(pa.string())
    whole = pc.if_else(is_whole, array, pa.nulls(1, array.type)[0])
    return pc.coalesce(whole.cast(pa.int64()).cast(pa.string()), array.cast(pa.string()))


def one_array(column: Cells) -> pa.Array:
    """A column as one array, without chunks."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array


def is_utf8(data: bytes | np.ndarray) -> bool:
    """Whether bytes are valid UTF-8, by Arrow's check, which is faster than Python's."""
    offsets = pa.py_buffer(np.array([0, len(data)], dtype=np.int64))
    parts = [None, offsets, pa.py_buffer(data)]
    try:
        pa.LargeBinaryArray.from_buffers(pa.large_binary(), 1, parts).cast(pa.large_string())
    except pa.ArrowInvalid:
        return False
    return True


def decoded(value: Any) -> str | None:
    """Bytes decoded as UTF-8, None if they are not valid; other values unchanged."""
    try:
        return value.decode("utf-8") if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return None


def is_stringlike(kind: pa.DataType) -> bool:
    """Whether a type is one of Arrow's string or binary types."""
    types = pa.types
    is_string = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return bool(is_string or is_bytes(kind))


def is_bytes(kind: pa.DataType) -> bool:
    """Whether a type is one of Arrow's binary types, whose values may not be UTF-8."""
    types = pa.types
    return bool(
        types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_binary_view(kind)
        or types.is_fixed_size_binary(kind)
    )


@lru_cache
def can_be_strings(kind: pa.DataType) -> bool:
    """Whether cells of a type can be spelled as strings: not lists, structs and intervals."""
    try:
        plain_strings(pa.nulls(0, kind))
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError, pa.ArrowInvalid):
        return False
    return not pa.types.is_nested(kind)


def cast_to_any(cells: Cells, kinds: tuple[pa.DataType, ...]) -> Any:
    """Cells cast to the first of `kinds` that all of them fit; None if they fit none."""
    for kind in kinds:
        try:
            return cells.cast(kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
    return None


def _cast_rows(strings: pa.Array, kinds: tuple[pa.DataType, ...]) -> tuple[pa.Array, np.ndarray]:
    """Strings cast to one of `kinds`, null where they do not fit, and the rows of these.

    Halves are cast on their own until they fit: a few bad cells cost little.
    """
    array = cast_to_any(strings, kinds)
    if array is not None:
        return array.cast(kinds[0]), _NO_ROWS
    if len(strings) == 1:
        return pa.nulls(1, kinds[0]), np.zeros(1, dtype=np.int64)
    half = len(strings) // 2
    first, bad = _cast_rows(strings[:half], kinds)
    second, more = _cast_rows(strings[half:], kinds)
    return pa.concat_arrays([first, second]), np.concatenate([bad, more + half])


def to_numbers(
    column: Cells, missing: Words = MISSING_WORDS, form: str = ""
) -> tuple[np.ndarray, np.ndarray]:
    """A column as numbers, NaN where missing or not finite, and the rows that are not numbers.

    A number among the `missing` words stands for all ways to write it. In the `form` "comma" the
    comma is before decimals, and points may be between thousands.

    >>> numbers, bad = to_numbers(pa.array(["1", "?", "x"]))
    >>> numbers.tolist(), bad.tolist()
    ([1.0, nan, nan], [2])
    >>> to_numbers(pa.array([3.0, -999.0]), missing=("-999",))[0].tolist()
    [3.0, nan]
    >>> to_numbers(pa.array(["1.234,50", "3,5", "3.5"]), form="comma")
    (array([1234.5,    3.5,    nan]), array([2]))
    """
    kind, bad = column.type, _NO_ROWS
    if is_stringlike(kind) or pa.types.is_dictionary(kind):
        # Most columns of numbers need no more; a table may have a hundred thousand.
        is_plain = pa.types.is_string(kind) and not form
        array = cast_to_any(column, NUMBER) if is_plain else None
        if array is None:
            strings = trimmed_strings(column, missing)
            array, bad = _cast_rows(_with_points(strings) if form else strings, NUMBER)
    else:
        if pa.types.is_time(kind):
            column = column.cast(pa.time64("us"), safe=False).cast(pa.int64())
        elif pa.types.is_duration(kind):
            column = column.cast(pa.duration("us"), safe=False).cast(pa.int64())
        elif pa.types.is_temporal(kind):
            column = column.cast(pa.timestamp("us")).cast(pa.int64())
        elif pa.types.is_boolean(kind):
            column = column.cast(pa.int8())
        array = column.cast(pa.float64(), safe=False)
    array = one_array(array)
    values = array.to_numpy(zero_copy_only=False) if array.null_count else np.from_dlpack(array)
    values = np.where(np.isfinite(values), values, np.nan)
    for number in _numbers_among(missing):
        values[values == number] = np.nan
    return values, bad


def numbers_of_columns(
    table: pa.Table, names: list[str], missing: Words = MISSING_WORDS
) -> dict[str, np.ndarray]:
    """The numbers of columns of floats or of strings that all are numbers, by name.

    All at once, as :func:`to_numbers` reads one: a table may have a hundred thousand.

    >>> table = pa.table({"a": ["1", "2"], "b": ["3", "?"], "c": [0.5, None]})
    >>> {name: x.tolist() for name, x in numbers_of_columns(table, ["a", "b", "c"]).items()}
    {'a': [1.0, 2.0], 'c': [0.5, nan]}
    """
    kinds = dict(zip(table.column_names, table.schema.types, strict=True))
    names = [name for name in names if kinds[name] in (NUMBER[0], pa.string())]
    cast = _as_floats(table.select(names)) if names and table.num_rows else None
    if cast is None or not cast.num_columns:
        return {}
    [batch] = cast.combine_chunks().to_batches()
    values = batch.to_tensor(null_to_nan=True, row_major=False).to_numpy().T
    values = np.where(np.isfinite(values), values, np.nan)
    for number in _numbers_among(missing):
        values[values == number] = np.nan
    return dict(zip(cast.column_names, values, strict=True))


def _as_floats(table: pa.Table) -> pa.Table:
    """The columns of a table that can be cast to floats; halves are cast on their own."""
    names = table.column_names
    try:
        return table.cast(pa.schema([(name, NUMBER[0]) for name in names]))
    except pa.ArrowInvalid:
        if len(names) == 1:
            return table.select([])
    half = len(names) // 2
    first, second = _as_floats(table.select(names[:half])), _as_floats(table.select(names[half:]))
    columns = [*first.columns, *second.columns]
    return pa.Table.from_arrays(columns, names=first.column_names + second.column_names)


def _with_points(strings: pa.Array) -> pa.Array:
    """Numbers with decimal commas as numbers with points; what has points otherwise is marked."""
    grouped = pc.match_substring_regex(strings, _THOUSANDS)
    plain = pc.if_else(grouped, pc.replace_substring(strings, ".", ""), strings)
    return pc.replace_substring(pc.replace_substring(plain, ".", "!"), ",", ".")


@lru_cache
def _numbers_among(words: Words) -> tuple[float, ...]:
    numbers = _cast_rows(make_strings([word for word in words if word]), NUMBER)[0].to_pylist()
    return tuple(number for number in numbers if number is not None and np.isfinite(number))


def is_date(kind: pa.DataType) -> bool:
    """Whether a type is a date or a timestamp."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def to_times(
    column: Cells, missing: Words = MISSING_WORDS, form: str = ""
) -> tuple[np.ndarray, np.ndarray]:
    """A column as datetime64[us], NaT where missing, and the rows that are not dates.

    Dates are written as ``2024-03-31``, with a time as ``2024-03-31 17:30`` or
    ``2024-03-31T17:30:05Z`` (ISO 8601), or in one of the :data:`DATE_FORMS`; a time with a time
    zone is converted to UTC.

    >>> times, bad = to_times(pa.array(["2024-03-31", "2024-03-31T17:30+02:00", "?", "soon"]))
    >>> times.astype("datetime64[m]").tolist()[1].hour, bad.tolist()
    (15, [3])
    >>> to_times(pa.array(["1.3.2024", "31/3/2024 17:30"]), form="dayfirst")[0].astype(str).tolist()
    ['2024-03-01T00:00:00.000000', '2024-03-31T17:30:00.000000']
    """
    if is_date(column.type):
        cast, bad = one_array(column.cast(TIME[0], safe=False)), _NO_ROWS
    elif form in EPOCHS:
        numbers, bad = to_numbers(column, missing)
        numbers[np.abs(numbers) > 2**62 / EPOCHS[form]] = np.nan
        times = np.nan_to_num(numbers * EPOCHS[form]).astype(np.int64).astype("datetime64[us]")
        times[np.isnan(numbers)] = np.datetime64("NaT", "us")
        return times, bad
    else:
        cast, bad = _cast_rows(_iso_dates(trimmed_strings(column, missing), form), TIME)
    whole = cast.cast(TIME[0]).cast(pa.int64())
    times = pc.fill_null(whole, 0).to_numpy(zero_copy_only=False).astype("datetime64[us]")
    times[whole.is_null().to_numpy(zero_copy_only=False)] = np.datetime64("NaT", "us")
    return times, bad


def _iso_dates(strings: pa.Array, form: str) -> pa.Array:
    """Dates of a form as ISO 8601 writes them; what is written otherwise stays."""
    if not form:
        return strings
    replace = pc.replace_substring_regex
    dates = replace(strings, _DAY_WRITTEN, DAY_FORMS[form])
    dates = replace(dates, r"^(\d{4}-)(\d-)", r"\10\2")
    return replace(dates, r"^(\d{4}-\d\d-)(\d)(\D|$)", r"\10\2\3")


def days_of(times: np.ndarray) -> np.ndarray:
    """Times as days since 1970, NaN for NaT."""
    days = times.astype(np.int64) / 86_400e6
    days[np.isnat(times)] = np.nan
    return days


def part_of(times: np.ndarray, part: str) -> np.ndarray:
    """The index of each time in the values of one of the `DATE_PARTS`; 0 for NaT."""
    if part == "day":
        index = (times.astype("datetime64[D]") - times.astype("datetime64[M]")).astype(np.int64)
    else:
        unit = {"month": "M", "weekday": "D", "hour": "h"}[part]
        count = times.astype(f"datetime64[{unit}]").astype(np.int64)
        # The first day of 1970 was a Thursday.
        index = (count + (3 if part == "weekday" else 0)) % len(DATE_PARTS[part])
    return np.where(np.isnat(times), 0, index)
