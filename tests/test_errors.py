"""Errors say where."""

from rosenblatt.errors import DataError, MissingExtraError


def test_a_data_error_names_file_line_and_column():
    error = DataError("expected a number, found 'x'", path="a.csv", line=3, column="age")
    assert str(error) == "a.csv, line 3, column 'age': expected a number, found 'x'"
    assert (error.path, error.line, error.column) == ("a.csv", 3, "age")
    assert str(DataError("nothing there")) == "nothing there"


def test_a_missing_extra_says_what_to_install():
    assert 'pip install ".[plot]"' in str(MissingExtraError("plotting", "plot"))
