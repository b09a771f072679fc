"""JSON lines of the plain shape are read as Python reads them; others are left alone."""

from __future__ import annotations

import json
import os
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.kernels.json_lines import (
    BOOLEAN,
    ESCAPED,
    NULL,
    NUMBER,
    STRING,
    find_values,
    gather_values,
)

EXAMPLES = int(os.environ.get("ROSENBLATT_FUZZ", "150"))
PIECES = [b"", b'"', b"\\", b"0", b"{", b"}", b",", b":", b"u", b"\n"]
NAMES = ["label", "x", "été"]


def found(data, names=NAMES):
    encoded = [name.encode() for name in names]
    ends = np.cumsum([len(name) for name in encoded]).astype(np.uint64)
    joined = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    return find_values(np.frombuffer(data, dtype=np.uint8), joined, ends)


def strings(data, values, name):
    """The strings of a column; None for what is none."""
    block, rows = np.frombuffer(data, dtype=np.uint8), values[:, name, 2]
    only = values.copy()
    only[~np.isin(rows, (STRING, ESCAPED)), name] = 0
    offsets, valid = np.zeros(len(values) + 1, np.int32), np.zeros(len(values), np.bool_)
    out = np.zeros(int((only[:, name, 1] - only[:, name, 0]).sum()), np.uint8)
    gather_values(block, only, name, STRING, offsets, out, valid)
    cells = [out[a:b].tobytes().decode() for a, b in pairwise(offsets)]
    return [cell if there else None for cell, there in zip(cells, valid, strict=True)]


def as_read(data, values):
    """What the kernels found, as Python values."""
    rows = [{} for _ in values]
    for place, name in enumerate(NAMES):
        texts = strings(data, values, place)
        for row, (start, end, kind) in enumerate(values[:, place].tolist()):
            if kind in (STRING, ESCAPED):
                rows[row][name] = texts[row]
            elif kind in (NUMBER, BOOLEAN, NULL):
                rows[row][name] = json.loads(data[start:end])
    return rows


def as_python(data):
    rows = [json.loads(line) for line in data.decode().split("\n") if line.strip(" \t\r")]
    return [{name: row[name] for name in NAMES if name in row} for row in rows]


VALUES = st.one_of(
    st.text(max_size=90),
    st.text('"\\\n\u00e9\U0001f600ab', max_size=200),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none(),
)
ROWS = st.lists(st.dictionaries(st.sampled_from([*NAMES, "other", ""]), VALUES), max_size=8)


@settings(max_examples=EXAMPLES, deadline=None)
@given(ROWS, st.booleans(), st.sampled_from([(", ", ": "), (",", ":"), (" ,\t", "\r : ")]))
def test_lines_of_the_plain_shape_are_read_as_python_reads_them(rows, ascii_only, separators):
    lines = [json.dumps(row, ensure_ascii=ascii_only, separators=separators) for row in rows]
    data = "".join(line + "\n" for line in lines).encode("utf-8", errors="replace") + b" \n"
    values, is_known = found(data)
    if ascii_only and any("été" in row for row in rows):
        assert not is_known, "a name with escapes is not of the plain shape"
    else:
        assert is_known
        assert as_read(data, values) == as_python(data)


@settings(max_examples=2 * EXAMPLES, deadline=None)
@given(ROWS.filter(bool), st.data())
def test_lines_with_a_fault_are_left_alone_or_read_as_python_reads_them(rows, data):
    text = bytearray("".join(json.dumps(row) + "\n" for row in rows).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, max(0, len(text) - 1)))
        piece = data.draw(st.sampled_from(PIECES))
        text[place : place + data.draw(st.integers(0, 2))] = piece
    lines = bytes(text) + b"\n"
    values, is_known = found(lines)
    if is_known:
        assert as_read(lines, values) == as_python(lines)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_are_read_beyond_their_end(noise):
    whole = np.frombuffer(b'"' * 100 + noise + b"\n" + b'"}' * 100, dtype=np.uint8)
    data = whole[100 : 101 + len(noise)]
    values, _ = find_values(data, np.frombuffer(b"x", np.uint8), np.array([1], np.uint64))
    assert int(values[:, :, :2].max(initial=0)) <= len(data)


@pytest.mark.parametrize(
    "line",
    [
        b'{"x": 1}{"x": 2}', b'{"x": 1} 2', b'{"x": [1]}', b'{"x": {"y": 1}}', b'{"x": 01}',
        b'{"x": 1.}', b'{"x": .5}', b'{"x": +1}', b'{"x": 1e}', b'{"x": -}', b'{"x": NaN}',
        b'{"x": tru}', b'{"x": nul', b'{"x": "a\tb"}', b'{"x": "a', b'{"x": 1,}', b'{"x" 1}',
        b'{"x": 1, "x": 2}', b'["x"]', b'{"x": 1', b'{x: 1}', b'{"\\u0078": 1}', b'{"x": "\\',
    ],
)  # fmt: skip
def test_what_is_not_of_the_plain_shape_is_left_alone(line):
    assert not found(b'{"x": 0}\n' + line + b"\n")[1]
    assert not found(b'{"x": 0}\n' + line + b'\n{"x": 0}\n')[1]


@pytest.mark.parametrize(
    "escape",
    [r"\x", r"\u12", r"\u12g4", r"\ud83d", r"\ud83dx", r"\ud83d\u0041", r"\ude00", r"\ud83d\ud83d"],
)  # fmt: skip
def test_wrong_escapes_are_noticed(escape):
    for name in ("x", "other"):
        line = '{"' + name + '": "' + escape + '"}\n'
        assert not found(line.encode())[1]


def test_lines_without_a_break_at_the_end_are_left_alone():
    assert not found(b'{"x": 1}')[1]
    assert not found(b"")[1]
