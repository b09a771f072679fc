"""Files in stores, and the errors when they cannot be read."""

from __future__ import annotations

import numpy as np
import pytest

from rosenblatt import train
from rosenblatt.cluster import Scoring, evaluate_on_shards
from rosenblatt.cluster.stores import expand_all, identity, open_file, store_errors
from rosenblatt.data.bytes import ByteSource
from rosenblatt.errors import DataError

pytestmark = pytest.mark.filterwarnings("ignore:the .* shards have:UserWarning")


def test_missing_credentials_are_one_sentence():
    with (
        pytest.raises(DataError, match=r"^s3://b/a\.csv: cannot be opened: AWS Error .*; are the"),
        store_errors("s3://b/a.csv"),
    ):
        raise OSError("AWS Error\n ACCESS_DENIED during HeadObject: " + "x" * 20)


def test_keys_that_a_store_does_not_know_are_asked_about():
    with pytest.raises(DataError, match="are the credentials"), store_errors("s3://b/a.csv"):
        raise OSError("AWS Error INVALID_ACCESS_KEY_ID during ListObjectsV2 operation")


def test_the_model_of_files_in_a_store_is_that_of_files_here(reviews, threads, tmp_path):
    pytest.importorskip("fsspec")
    uri = f"local://{reviews.parent}/*.csv"  # a scheme of fsspec that Arrow does not know
    options = {"label": "sentiment", "epochs": 3, "workers": threads, "shards": 4}
    model = train(uri, **options, out=tmp_path / "a.model")
    assert np.array_equal(model.weights, train(reviews, **options).weights)
    found = evaluate_on_shards(Scoring(tmp_path / "a.model", uri, threads, {}, 2))
    assert (found.rows, found.accuracy > 0.9) == (900, True)


def test_a_store_without_workers_is_one_sentence():
    with pytest.raises(DataError, match="are read by workers: add --workers"):
        train("s3://bucket/part-*.csv")


def test_long_errors_of_a_store_are_cut():
    with pytest.raises(DataError) as caught, store_errors("s3://b/a.csv"):
        raise RuntimeError("word " * 200)
    assert len(str(caught.value)) < 200


def test_a_file_that_shrinks_while_it_is_read_is_an_error(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"0123456789")
    part = ByteSource(str(path), open_file(str(path)), part=(2, 10))
    path.write_bytes(b"0123")
    with pytest.raises(DataError, match=r"a\.csv: .* bytes are missing: the file was cut short"):
        part.head(100)


def test_files_of_a_file_uri_are_those_of_the_path(tmp_path):
    path = tmp_path / "with blank.csv"
    path.write_bytes(b"label,x\n")
    assert expand_all(path.as_uri()) == [str(path)]
    assert identity(str(path))["size"] == 8


def test_folders_are_not_files(tmp_path):
    with pytest.raises(DataError, match="is a folder; name the files in it"):
        expand_all(str(tmp_path))
