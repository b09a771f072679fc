"""Small files are read strictly, and what is wrong with them is said."""

import pytest

from rosenblatt.errors import DataError
from rosenblatt.tracing import parse_csv, read_csv
from rosenblatt.tracing.tables import MOST_BYTES, MOST_CELLS


def test_the_last_column_holds_the_labels_unless_another_is_named():
    assert parse_csv("a,b,kind\n1,2,x\n3,4,y\n").y == ("x", "y")
    assert parse_csv("y,a\n1,2\n-1,4\n").y == (1, -1)
    assert parse_csv("a,b,c\n1,2,3\n4,5,6\n", label="a").y == (1, 4)


def test_a_first_column_of_words_names_the_rows():
    table = parse_csv("who,a,label\nAda,1,yes\nBob,2,no\n")
    assert table.row_names == ("Ada", "Bob")
    assert table.feature_names == ("a",)


def test_empty_lines_are_passed_over():
    assert len(parse_csv("a,label\n\n1,0\n,\n2,1\n").X) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a line of headings"),
        ("a,label\n", "expected a line of headings"),
        ("label\n1\n2\n", "at least one column of numbers"),
        ("a,label\n" + "9" * 200_000 + ",1\n", "not comma-separated values"),
        (
            "a,b,label\n1,2,0\n1,abc,1\n",
            "t.csv, line 3, column 'b': expected a number, found 'abc'",
        ),
        ("a,b,label\n1,2,0\n1,inf,1\n", "line 3, column 'b'"),
        ("a,b,label\n1,2\n", "line 2: expected 3 columns"),
    ],
)
def test_bad_files_are_refused_with_the_place_named(text, message):
    with pytest.raises(DataError, match=message):
        parse_csv(text, path="t.csv")


def test_a_label_column_that_does_not_exist_is_refused():
    with pytest.raises(DataError, match="no column 'z' among a, b"):
        parse_csv("a,b\n1,2\n", label="z")


def test_a_file_that_is_no_text_or_huge_is_refused(tmp_path):
    file = tmp_path / "a.csv"
    file.write_bytes(b"a,label\n\xff\xfe,1\n")
    with pytest.raises(DataError, match="not a text in UTF-8"):
        read_csv(file)
    file.write_bytes(b"a" * (MOST_BYTES + 1))
    with pytest.raises(DataError, match="larger than 10 MB"):
        read_csv(file)


def test_a_file_too_large_to_follow_is_refused():
    text = "a,label\n" + "1,0\n" * (MOST_CELLS // 2 + 1)
    with pytest.raises(DataError, match="too many to go through step by step"):
        parse_csv(text)
