"""The parsers of lines against plain Python, on good lines and on noise."""

from __future__ import annotations

import math
import os
import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rosenblatt.kernels.sparse_lines import (
    FAULTS,
    parse_fasttext,
    parse_svmlight,
    parse_vw,
)
from rosenblatt.kernels.text import fnv, mix

EXAMPLES = int(os.environ.get("ROSENBLATT_FUZZ", "150"))
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def block(text):
    return np.frombuffer(text if isinstance(text, bytes) else text.encode(), dtype=np.uint8)


def number(word):
    """What a decimal number means; None if it is none."""
    return float(word) if NUMBER.fullmatch(word) else None


def svmlight_line(line):
    """One line by the definition: (label, columns, values), or None for a bad one."""
    words = re.split(r"[ \t\r]+", line.split("#")[0].strip(" \t\r"))
    label = number(words[0])
    if label is None or math.isinf(label):
        return None
    columns, values = [], []
    for word in words[1:]:
        name, colon, text = word.partition(":")
        value = number(text)
        if not colon or value is None or math.isinf(np.float64(value).astype(np.float32)):
            return None
        if name == "qid":
            continue
        if not name.isascii() or not name.isdigit() or int(name) >= 1 << 10:
            return None
        columns.append(int(name))
        values.append(value)
    return label, columns, values


NOISE = st.text("0123456789.:+-eE #|'\t\rqidn,", max_size=30)
TIDY = st.builds(
    lambda label, pairs, tail: " ".join([label, *(f"{c}:{v}" for c, v in pairs)]) + tail,
    st.sampled_from(["1", "-1", "+1", "2.5", "1e3", "0x1", "nan"]),
    st.lists(
        st.tuples(
            st.one_of(st.integers(0, 1100), st.just("qid"), st.just("x")),
            st.one_of(st.floats(-1e6, 1e6), st.sampled_from(["1e-400", "1e400", "1.", ".5", "-"])),
        ),
        max_size=6,
    ),
    st.sampled_from(["", " ", " # a comment", "\r"]),
)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(st.one_of(TIDY, NOISE), max_size=6))
def test_svmlight_lines_mean_what_the_definition_says(lines):
    with np.errstate(over="ignore"):
        expected = [svmlight_line(line) for line in lines if line.split("#")[0].strip(" \t\r")]
    parsed = parse_svmlight(block("".join(line + "\n" for line in lines)), bits=10)
    assert [fault == 0 for fault in parsed.faults] == [row is not None for row in expected]
    good = [row for row in expected if row is not None]
    assert parsed.labels.tolist() == [label for label, _, _ in good]
    assert parsed.indices.tolist() == [c for _, columns, _ in good for c in columns]
    values = [np.float32(v) for _, _, values in good for v in values]
    assert parsed.values.tolist() == values
    lengths = np.diff(parsed.indptr).tolist()
    assert lengths == [len(columns) for _, columns, _ in good]


DECIMALS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.builds("{}e{}".format, st.integers(-(10**19), 10**19), st.integers(-345, 312)),
    st.builds("{}e{}".format, st.integers(1 << 53, 1 << 64), st.integers(-30, 30)),
    # Half-way between two doubles.
    st.builds(lambda k, m: f"{(2 * m + 1) * 5**k}e-{k}", st.integers(0, 4), st.integers(1 << 52)),
    st.builds("{:.{}f}".format, st.floats(0, 1), st.integers(18, 40)),
)


@settings(max_examples=2 * EXAMPLES, deadline=None)
@given(st.lists(DECIMALS, min_size=1, max_size=20))
@example(["2.2250738585072011e-308", "4.9e-324", "2.4703282292062327e-324", "9007199254740993"])
@example(["2.4703282292062328e-324", "1.7976931348623157e308", "18446744073709551616", "-0.0"])
def test_numbers_are_read_as_the_nearest_double(words):
    parsed = parse_svmlight(block("".join(f"{word}\n" for word in words)), bits=10)
    expected = [float(word) for word in words]
    assert parsed.faults.tolist() == [6 * math.isinf(value) for value in expected]
    finite = [value for value in expected if math.isfinite(value)]
    assert [value.hex() for value in parsed.labels] == [value.hex() for value in finite]


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_crash_a_parser_or_read_what_is_not_there(noise):
    data = block(noise.replace(b"\n\n", b"\n") + b"\n")
    for parse in (parse_svmlight, parse_vw):
        parsed = parse(data, 10)
        assert set(parsed.faults.tolist()) <= {0, *FAULTS}
        assert len(parsed.indptr) == len(parsed.labels) + 1
        assert int(parsed.indptr[-1]) == len(parsed.indices) == len(parsed.values)
        assert parsed.indices.max(initial=0) < 1 << 10
        assert np.isfinite(parsed.values).all()
        assert (parsed.faults == 0).sum() == len(parsed.labels)


NAMES = st.text("abcXYZ_é", min_size=1, max_size=5)


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    st.sampled_from(["1", "-1", "3"]),
    st.sampled_from(["", " 2.5", " 2.5 0.1", " 'tag", " 0.5 'tag"]),
    st.lists(
        st.tuples(
            st.one_of(st.just(""), NAMES),
            st.sampled_from([None, 0.5, 2.0]),
            st.lists(st.tuples(NAMES, st.sampled_from([None, 0.25, -3.0, 1e3])), max_size=4),
        ),
        min_size=1,
        max_size=3,
    ),
)
def test_vw_lines_mean_what_the_definition_says(label, head, spaces):
    text, columns, values = f"{label}{head} ", [], []
    for space, scale, features in spaces:
        text += f"|{space}" + (f":{scale}" if scale is not None else "")
        for name, value in features:
            text += f" {name}" + (f":{value}" if value is not None else "")
            full = f"{space}^{name}" if space else name
            hashed = fnv(full.encode().decode("latin-1"), 0xCBF29CE484222325)
            columns.append(mix(hashed) & 1023)
            values.append((1.0 if value is None else value) * (1.0 if scale is None else scale))
        text += " "
    parsed = parse_vw(block(text + "\n"), bits=10)
    assert parsed.faults.tolist() == [0]
    assert parsed.labels.tolist() == [float(label)]
    weight = [w for w in head.split() if not w.startswith("'")]
    assert parsed.weights.tolist() == [float(weight[0]) if weight else 1.0]
    assert parsed.indices.tolist() == columns
    assert parsed.values == pytest.approx(values)
    letters = [space.encode()[0] if space else 32 for space, _, _ in spaces]
    assert parsed.spaces.letters.tolist() == letters
    counts = [len(features) for _, _, features in spaces]
    assert parsed.spaces.starts.tolist() == [0, *np.cumsum(counts)][:-1]
    tag = text.encode()[slice(*parsed.tags[0].tolist())]
    assert tag == (b"tag" if head.endswith("'tag") else b"")


@pytest.mark.parametrize(
    ("line", "fault"),
    [("1 a b", 5), ("x y | a", 1), ("1 | a:b", 1), ("1 | a:1e99", 6), ("1 |n:x a", 1)],
)
def test_bad_vw_lines_are_told_apart(line, fault):
    assert parse_vw(block(line + "\n"), 10).faults.tolist() == [fault]


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from(["__label__a", "__label__bc", "__label__", "ab", "ü", ""])),
        max_size=5,
    )
)
def test_fasttext_lines_mean_what_the_definition_says(rows):
    lines = [" ".join(words) for words in rows]
    data = block("".join(line + "\n" for line in lines)).copy()
    size = len(data) + 1
    names, offsets = np.empty(size, np.uint8), np.empty(size, np.uint64)
    starts, faults = np.empty(size, np.uint64), np.zeros(size, np.uint8)
    count = parse_fasttext(data, block("__label__"), names, offsets, starts, faults)
    filled = [line.split() for line in lines if line.strip()]
    assert count == len(filled)
    for row, words in enumerate(filled):
        labels = [w.removeprefix("__label__") for w in words if len(w) > 9 and w[:9] == "__label__"]
        rest = [w for w in words if not (len(w) > 9 and w[:9] == "__label__")]
        assert faults[row] == (4 if len(labels) > 1 else 0)
        name = names[int(offsets[row]) : int(offsets[row + 1])].tobytes().decode()
        assert name == " ".join(labels)
        text = data[int(starts[row]) : int(starts[row + 1])].tobytes().decode()
        assert text.split() == rest
