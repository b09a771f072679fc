"""NumPy's files are tables; nothing in them is unpickled."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse

from rosenblatt import data, train
from rosenblatt.data import read_arrays
from rosenblatt.errors import DataError

X = np.random.default_rng(0).normal(size=(200, 3))
Y = np.where(X @ [1.0, -2.0, 0.5] > 0, "a", "b")


def test_an_npz_file_is_trained_on(tmp_path):
    path = tmp_path / "d.npz"
    np.savez(path, X=X, y=Y)
    model = train(path, label="y", epochs=5)
    assert [c.name for c in model.features.columns] == ["X1", "X2", "X3"]
    assert model.score({f"X{j + 1}": X[:, j] for j in range(3)}, Y) > 0.9
    assert train(path, label="y", epochs=5, format="npz").fingerprint == model.fingerprint
    assert model.fingerprint["files"][0]["name"] == "d.npz"


def test_an_npy_file_has_columns_by_place(tmp_path):
    path = tmp_path / "d.npy"
    np.save(path, np.column_stack([X, (Y == "a").astype(float)]))
    source = data.open(path, label=-1)
    list(source)
    assert (source.features.label, source.classes) == ("4", ["0", "1"])
    found = read_arrays(path, -1)
    assert np.array_equal(found.X, X)


def test_what_cannot_be_a_table_is_said(tmp_path):
    faults = {
        "deep.npy": (np.zeros((2, 2, 2)), "3 dimensions"),
        "objects.npy": (np.array([{}, {}], dtype=object), "cannot be read"),
    }
    for name, (array, message) in faults.items():
        np.save(tmp_path / name, array, allow_pickle=True)
        with pytest.raises(DataError, match=message):
            data.open(tmp_path / name, label=1)
    np.savez(tmp_path / "uneven.npz", X=np.zeros((3, 2)), y=np.zeros(2))
    with pytest.raises(DataError, match="differ in length: X 3, y 2"):
        data.open(tmp_path / "uneven.npz", label="y")
    sparse.save_npz(tmp_path / "sparse.npz", sparse.eye(3, format="csr"))
    with pytest.raises(DataError, match="sparse matrix without labels"):
        data.open(tmp_path / "sparse.npz", label="y")
    for content in (b"", b"PK\x03\x04 cut", pickle.dumps([1])):
        (tmp_path / "bad.npz").write_bytes(content)
        with pytest.raises(DataError, match="cannot be read"):
            data.open(tmp_path / "bad.npz", label="y")
