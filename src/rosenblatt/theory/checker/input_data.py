"""Input checks: values without rounding, and labels by name.

Shared by the search for certificates and the checker, so that both use the same numbers.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

# `str` converts integers of fewer bits whatever the interpreter's limit (at least 640 digits).
_SHORT = 2000
# Doubles hold all integers up to this one.
_WHOLE = 2**53


def check_matrix(X: Any) -> Any:
    """X as a two-dimensional array or CSR matrix of finite numbers, without rounding.

    Floats become float64 (exactly), integers stay integers, objects become fractions.
    """
    if sparse.issparse(X):
        X = checked_csr(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        values = X.data
    else:
        X = exact_array(X)
        values = X
    if X.ndim != 2:
        raise ValueError(f"Expected a 2D array, got {X.ndim}D; reshape your data.")
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"Found array with shape {X.shape}; at least one row and column needed.")
    kind = values.dtype.kind
    if kind == "b":
        return X.astype(np.uint8)
    if kind in "iu":
        return X
    if kind == "f" and values.dtype.itemsize <= 8:
        X = X.astype(np.float64, copy=False)
        _check_finite(X)
        return X
    if kind in "fO" and not sparse.issparse(X):
        return _fractions(X)
    raise ValueError(f"X must hold real numbers, found the type {values.dtype}")


def exact_array(values: Any) -> Any:
    """A container as an array of its values: of objects where NumPy's type would change one.

    NumPy makes doubles of integers beside decimal fractions, of a list or of the columns of a data
    frame. It makes strings of labels of several types, and drops zero bytes at their end.

    >>> exact_array([[2**53 + 1, 0.5], [2, 3]]).tolist()
    [[9007199254740993, 0.5], [2, 3]]
    """
    columns = _columns(values)
    if columns is not None:
        return join_exactly(columns)
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError("Input contains masked values: fill them, or leave their rows out")
    array = np.asarray(values)
    if isinstance(values, np.ndarray) or array.dtype.kind in "biuO":
        return array
    if array.dtype == np.float64 and (np.abs(array) < _WHOLE).all():
        return array
    objects = np.array(values, dtype=object)
    if array.dtype == np.longdouble:  # to which NumPy rounds longer integers to compare them
        return objects
    pairs = zip(objects.ravel().tolist(), array.ravel().tolist(), strict=True)
    return array if all(map(_same, pairs)) else objects


def _same(pair: tuple[Any, Any]) -> bool:
    """Whether NumPy left a value as it is."""
    original, converted = pair
    if isinstance(original, np.integer):
        original = int(original)
    if converted != converted:  # NaN, which is refused later
        return True
    return bool(isinstance(original, type(converted) | int) and original == converted)


def _columns(X: Any) -> list[Any] | None:
    """The columns of a data frame of several types, as arrays; None for other containers."""
    if hasattr(X, "iloc") and hasattr(X, "dtypes") and X.ndim == 2:  # pandas
        if len(set(X.dtypes)) < 2:
            return None
        return [np.asarray(X.iloc[:, j]) for j in range(X.shape[1])]
    for method in ("iter_columns", "itercolumns"):  # polars, Arrow
        if hasattr(X, method):
            return [np.asarray(column) for column in getattr(X, method)()]
    return None


def join_exactly(columns: list[NDArray[Any]]) -> NDArray[Any]:
    """Columns of numbers side by side: as objects where doubles would round an integer.

    >>> join_exactly([np.array([2**53 + 1]), np.array([0.5])]).tolist()
    [[9007199254740993, 0.5]]
    """
    whole = [column for column in columns if column.dtype.kind in "iu" and column.size]
    large = any(max(int(column.max()), -int(column.min())) > _WHOLE for column in whole)
    numeric = all(column.dtype.kind in "biuf" for column in columns)
    if not numeric or (large and np.result_type(*columns).kind == "f"):
        columns = [column.astype(object) for column in columns]
    return np.column_stack(columns)


def checked_csr(X: Any) -> Any:
    """A sparse matrix in CSR form; ValueError if an index is out of range.

    SciPy's conversions and products do not check the indices themselves.
    """
    if X.format in ("csr", "csc", "bsr"):
        X.check_format(full_check=True)
    elif X.format == "coo":
        type(X)((X.data, X.coords), shape=X.shape)  # the constructor checks the indices
    elif X.format == "lil" and list(map(len, X.rows)) != list(map(len, X.data)):
        raise ValueError("X is not a sound LIL matrix: a row has more values than columns.")
    rows = X if isinstance(X, sparse.csr_array) else sparse.csr_array(X)
    rows.check_format(full_check=True)
    return rows


def to_dense(X: Any, most: int, purpose: str) -> Any:
    """A sparse matrix as a dense array; ValueError if it has more than `most` values."""
    if math.prod(X.shape) > most:
        raise ValueError(
            f"X has {X.shape[0]:,} rows of {X.shape[1]:,} columns, too many to {purpose}: "
            f"at most {most:,} values; give fewer rows, or choose columns"
        )
    return checked_csr(X).toarray()


def _check_finite(X: Any) -> None:
    values = X.data if sparse.issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(values.sum())
    if math.isfinite(total) or np.isfinite(values).all():
        return
    if sparse.issparse(X):
        entries = X.tocoo()
        first = np.flatnonzero(~np.isfinite(values))[0]
        row, column = entries.row[first], entries.col[first]
    else:
        row, column = np.argwhere(~np.isfinite(values))[0]
    raise ValueError(f"Input X contains NaN or infinity, first at row {row}, column {column}")


def _fractions(X: NDArray[Any]) -> NDArray[Any]:
    exact = np.empty(X.shape, dtype=object)
    for k, value in enumerate(X.ravel()):
        try:
            exact.flat[k] = value if type(value) is Fraction else fraction(value)
        except AttributeError:
            i, j = divmod(k, X.shape[1])
            raise ValueError(f"row {i}, column {j}: expected a number, found {value!r}") from None
        except (ValueError, OverflowError):
            i, j = divmod(k, X.shape[1])
            raise ValueError(
                f"Input X contains NaN or infinity, first at row {i}, column {j}"
            ) from None
    return exact


def fraction(value: Any) -> Fraction:
    """A number of any type as a fraction, exactly."""
    if isinstance(value, (np.integer, np.bool_)):
        return Fraction(int(value))
    return Fraction(*value.as_integer_ratio())


def check_labels(y: Any, n: int) -> tuple[list[Any], NDArray[np.intp]]:
    """The classes in sorted order and the class number of each row."""
    labels = exact_array(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.ravel()
    if labels.ndim != 1:
        raise ValueError(f"y must be one label per row, got an array of shape {labels.shape}")
    if len(labels) != n:
        raise ValueError(f"X has {n} rows but y has {len(labels)} labels")
    if labels.dtype == object:  # NumPy's integers are compared with its floats as floats
        scalars = [y.item() if isinstance(y, np.generic) else y for y in labels]
        labels = np.fromiter(scalars, object, n)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("y contains NaN or infinity")
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        raise ValueError("y mixes labels that cannot be sorted, such as text and numbers") from None
    if len(classes) < 2:
        raise ValueError(f"two classes are needed, found only {classes.tolist()}")
    names = [label_name(c) for c in classes.tolist()]
    if len(set(names)) < len(names):
        raise ValueError("two labels of y are written the same way")
    return classes.tolist(), codes.astype(np.intp)


def label_name(label: Any) -> str:
    """A label as text; integers are written without a decimal point.

    >>> label_name(1.0), label_name("spam"), label_name(True)
    ('1', 'spam', '1')
    """
    if isinstance(label, (bool, np.bool_)):
        return str(int(label))
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return decimal_text(label) if isinstance(label, int) else str(label)


def decimal_text(number: int) -> str:
    """An integer of any length in decimal; Python's `str` refuses more than 4,300 digits.

    >>> decimal_text(-17), len(decimal_text(10**5000))
    ('-17', 5001)
    """
    return str(number) if number.bit_length() < _SHORT else str(flint.fmpz(number))


def binary_signs(y: Any, n: int) -> NDArray[np.float64]:
    """-1 for the first class and +1 for the second of exactly two."""
    classes, codes = check_labels(y, n)
    if len(classes) > 2:
        raise ValueError(f"two classes are needed, found {len(classes)}")
    return np.where(codes == 1, 1.0, -1.0)
