"""Data and settings are checked where they come in, and travel unharmed through a link."""

import base64
import json
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.lab.state import MOST_CHARACTERS, MOST_POINTS, Data, LabSettings, decode, encode

points = st.lists(
    st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.sampled_from([-1, 1])), max_size=30
)


@settings(max_examples=60, deadline=None)
@given(points, st.sampled_from(["none", "products", "rbf"]), st.floats(0, 50), st.integers(0, 999))
def test_a_link_restores_exactly_what_it_was_made_of(rows, lift, threshold, position):
    data = Data(X=tuple(r[:2] for r in rows), signs=tuple(r[2] for r in rows))
    chosen = LabSettings(lift=lift, threshold=threshold, keep="average")
    assert decode(encode(data, chosen, position)) == (data, chosen, position, None)
    beside = LabSettings(rule="arow", r=0.5)
    assert decode(encode(data, chosen, position, beside)) == (data, chosen, position, beside)


def packed(content):
    raw = zlib.compress(json.dumps(content).encode())
    return base64.urlsafe_b64encode(raw).decode()


def good():
    text = encode(Data.example("xor"), LabSettings(), 0)
    return json.loads(zlib.decompress(base64.urlsafe_b64decode(text + "==")))


def changed(**changes):
    return packed({**good(), **changes})


@pytest.mark.parametrize(
    "link",
    [
        "", "a", "äöü", "%%%", "AAAA", base64.urlsafe_b64encode(b"no zlib").decode(),
        packed([]), packed({}), packed(None), packed(17),
        changed(data=None), changed(data={"X": 1}), changed(settings={"eta": -1}),
        changed(settings={"sudo": True}), changed(settings=[]), changed(position="x"),
        changed(data={**good()["data"], "X": [[1, 2]] * 3 + [[1]]}),
        changed(data={**good()["data"], "signs": [1, 1, 1, 2]}),
        changed(data={**good()["data"], "X": [[float("inf"), 1]] * 4}),
        changed(data={**good()["data"], "X": [[1, 2]] * 9999, "signs": [1] * 9999}),
    ],
)  # fmt: skip
def test_a_link_that_holds_no_session_is_refused(link):
    with pytest.raises(ValueError, match="does not contain a session"):
        decode(link)


def test_a_link_that_would_unpack_to_gigabytes_is_refused():
    bomb = base64.urlsafe_b64encode(zlib.compress(b" " * (MOST_CHARACTERS * 20))).decode()
    assert len(bomb) < 100_000
    with pytest.raises(ValueError, match="does not contain a session"):
        decode(bomb)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"update": "sideways"}, "update must be one of online, batch"),
        ({"eta": None}, "learning rate must be between"),
        ({"eta": float("nan")}, "learning rate must be between"),
        ({"threshold": -1}, "threshold must be between 0"),
        ({"padding": 0}, "padding constant must be between"),
        ({"degree": 9}, "degree must be a whole number from 2 to 4"),
        ({"degree": 2.5}, "degree must be a whole number"),
        ({"max_epochs": 10**9}, "number of epochs must be a whole number from 1 to 1000"),
        ({"bias": "yes"}, "bias must be on or off"),
        ({"colour": 1}, "no setting called 'colour'"),
    ],
)
def test_settings_out_of_range_are_refused_with_the_range_named(changes, message):
    with pytest.raises(ValueError, match=message):
        LabSettings.of(changes)


def test_points_beyond_the_limit_are_refused():
    full = Data(X=((0.0, 0.0),) * MOST_POINTS, signs=(1,) * MOST_POINTS)
    with pytest.raises(ValueError, match=f"up to {MOST_POINTS} points"):
        full.with_point((1.0, 1.0), 1)


@pytest.mark.parametrize("point", [(float("nan"), 0.0), (1e9, 0.0), (1.0,)])
def test_points_that_are_no_points_are_refused(point):
    with pytest.raises(ValueError, match="numbers"):
        Data().with_point(point, 1)


@pytest.mark.parametrize("row", [-1, 4, 1.5, None])
def test_a_row_that_does_not_exist_is_refused(row):
    with pytest.raises(ValueError, match="there is no point"):
        Data.example("xor").flipped(row)


def test_a_file_becomes_rows_with_the_larger_label_positive():
    data = Data.csv("a,b,label\n1,2,no\n3,4,yes\n")
    assert (data.signs, data.class_names, data.planar) == ((-1, 1), ("no", "yes"), True)
    assert Data.csv("a,b,c,label\n1,2,3,-1\n3,4,5,1\n").class_names == ("-1", "+1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "your file: the file is empty"),
        ("\x00\x01", "is this a binary file"),
        ("a,b,c\n1,2,x\n", "which column is the label"),
        (
            "a,label\n" + "".join(f"1,{kind}\n" for kind in "stuvwxyz9"),
            "expected labels of 2 to 8 classes, found 9",
        ),
        ("a,b,label\n1,2,x\n", "expected labels of 2 to 8 classes, found 1"),
        ("a,b,label\n1,oops,x\n", "expected a number, found 'oops'"),
        ("a,label\n" + "1,x\n2,y\n" * MOST_POINTS, f"up to {MOST_POINTS} points"),
        ("a" * (MOST_CHARACTERS + 1), "larger than 2 MB"),
        # 13 kB of memory for each column that is read
        ("1," * 950_000, "1 to 100 features, not 950,001"),
        ('"\n";' * 300_000 + "label\n", "1 to 100 features, not 300,001"),
        ('{"label": "a", ' + ", ".join(f'"c{i}": 1' for i in range(1000)) + "}", "not 1,001"),
        ('{"label": "a", "x": ' + "[" * 900_000, "line 1: expected a JSON object"),
        ("a,label\n" + "1,x\n" * 250_000, "more than 200,000 cells"),
        ("1 4000000:1\n-1 1:1\n", "more than 200,000 cells"),
    ],
)
def test_bad_files_are_refused_with_a_plain_sentence(text, message):
    with pytest.raises(ValueError, match=message):
        Data.csv(text)
