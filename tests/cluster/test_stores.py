"""Files of stores, and what is said when they cannot be had."""

from __future__ import annotations

import pytest

from rosenblatt.cluster.stores import Part, expand_all, identity, size_of, store_errors
from rosenblatt.errors import DataError


def test_missing_credentials_are_one_sentence():
    with (
        pytest.raises(DataError, match=r"^s3://b/a\.csv: cannot be opened: AWS Error .*; are the"),
        store_errors("s3://b/a.csv"),
    ):
        raise OSError("AWS Error\n ACCESS_DENIED during HeadObject: " + "x" * 20)


def test_long_errors_of_a_store_are_cut():
    with pytest.raises(DataError) as caught, store_errors("s3://b/a.csv"):
        raise RuntimeError("word " * 200)
    assert len(str(caught.value)) < 200


def test_a_file_that_shrinks_while_it_is_read_is_an_error(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"0123456789")
    part = Part(str(path), 2, 10)
    path.write_bytes(b"0123")
    with pytest.raises(OSError, match="the file was cut short"):
        part.read()


def test_files_of_a_file_uri_are_those_of_the_path(tmp_path):
    path = tmp_path / "with blank.csv"
    path.write_bytes(b"label,x\n")
    assert expand_all(path.as_uri()) == [str(path)]
    assert size_of(str(path)) == identity(str(path))["size"] == 8


def test_folders_are_not_files(tmp_path):
    with pytest.raises(DataError, match="is a folder; name the files in it"):
        expand_all(str(tmp_path))
