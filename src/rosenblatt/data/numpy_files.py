"""NumPy's files, .npy and .npz, as tables: one column per vector, and per column of a matrix."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rosenblatt.errors import DataError

SUFFIXES = (".npy", ".npz")


def is_numpy_file(path: str, format: str | None = None) -> bool:
    """Whether a file is one of NumPy's, by its name or by what is said.

    >>> is_numpy_file("digits.npz"), is_numpy_file("digits.csv")
    (True, False)
    """
    return format == "npz" if format is not None else Path(path).suffix.lower() in SUFFIXES


def read_numpy(files: list[str]) -> pa.Table:
    """The arrays of files, one below the other, as one table.

    A vector of an .npz file is a column of its name, and a matrix `X` the columns ``X1``, ``X2``,
    ...; the columns of an .npy file are called by their places. Objects are never unpickled.

    >>> import tempfile, pathlib
    >>> path = str(pathlib.Path(tempfile.mkdtemp()) / "a.npz")
    >>> np.savez(path, X=np.eye(2), y=np.array(["no", "yes"]))
    >>> read_numpy([path]).to_pylist()
    [{'X1': 1.0, 'X2': 0.0, 'y': 'no'}, {'X1': 0.0, 'X2': 1.0, 'y': 'yes'}]
    """
    tables = [_table(path) for path in files]
    for path, table in zip(files, tables, strict=True):
        if table.column_names != tables[0].column_names:
            raise DataError("the arrays are not as in the first file", path=path)
    return pa.concat_tables(tables, promote_options="permissive")


def _table(path: str) -> pa.Table:
    try:
        with Path(path).open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            arrays = {"": loaded} if isinstance(loaded, np.ndarray) else dict(loaded)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, KeyError) as error:
        raise DataError(f"cannot be read as a file of NumPy arrays: {error}", path=path) from None
    if {"indices", "indptr", "data"} <= arrays.keys():
        message = (
            "holds a sparse matrix without labels; write it as svmlight "
            "(sklearn.datasets.dump_svmlight_file), or fit rosenblatt.Perceptron on it"
        )
        raise DataError(message, path=path)
    columns: dict[str, Any] = {}
    for name, array in arrays.items():
        if array.ndim == 2:
            columns |= {f"{name}{j + 1}": _column(array[:, j]) for j in range(array.shape[1])}
        elif array.ndim == 1:
            columns[name or "1"] = _column(array)
        else:
            message = f"{name or 'the array'} has {array.ndim} dimensions; 1 or 2 are expected"
            raise DataError(message, path=path)
    lengths = {len(column) for column in columns.values()}
    if len(lengths) != 1:
        counts = ", ".join(f"{name} {len(array)}" for name, array in arrays.items())
        raise DataError(f"the arrays differ in length: {counts or 'there are none'}", path=path)
    return pa.table(columns)


def _column(array: np.ndarray) -> pa.Array:
    return pa.array(np.ascontiguousarray(array))
