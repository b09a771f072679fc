"""A hash of the exact values and labels of a data set, whatever its container.

SHA-256 of these lines of text, each ended by a line feed:

1. ``rosenblatt-data-1``
2. the number of rows and of columns, with a space between them
3. the names of the classes, sorted as text, as a JSON array (ASCII, no spaces)
4. SHA-256 (hexadecimal) of the class of each row: its place in line 3, from 0, as 32-bit integers
5. SHA-256 of the number of nonzero values of each row, as 32-bit integers
6. SHA-256 of their column numbers, row by row in rising order, as 32-bit integers
7. SHA-256 of their values, nearest double, as IEEE 754 binary64
8. SHA-256 of the text that spells out the values that are not doubles exactly: for each a line
   ``row column numerator/denominator``, in lowest terms (for data of doubles, the empty text)

All numbers are little-endian. Dense and sparse copies, floats and integers of the same values have
the same fingerprint.
"""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rosenblatt.theory.checker.input_data import decimal_text, label_name

_ROWS = 1 << 15


def fingerprint(values: Any, classes: list[Any], codes: NDArray[np.intp]) -> str:
    """The fingerprint of a checked matrix and checked labels.

    Examples
    --------
    >>> fingerprint(np.array([[0.0], [1.0]]), ["a", "b"], np.array([0, 1]))[:16]
    '09d83c6a479f7938'
    """
    names = [label_name(c) for c in classes]
    order = sorted(range(len(names)), key=names.__getitem__)
    place = np.empty(len(names), dtype="<i4")
    place[order] = np.arange(len(names))
    counts, columns, numbers, exact = (hashlib.sha256() for _ in range(4))
    for start in range(0, values.shape[0], _ROWS):
        part = values if values.shape[0] <= _ROWS else values[start : start + _ROWS]
        count, column, data = _nonzeros(part)
        counts.update(_bytes(count, "<i4"))
        columns.update(_bytes(column, "<i4"))
        doubles, odd = _doubles(data)
        numbers.update(_bytes(doubles, "<f8"))
        if len(odd):
            row = np.repeat(np.arange(start, start + len(count)), count)
            for k in odd.tolist():
                q = Fraction(data[k]) if isinstance(data[k], Fraction) else Fraction(int(data[k]))
                value = f"{decimal_text(q.numerator)}/{decimal_text(q.denominator)}"
                exact.update(f"{row[k]} {column[k]} {value}\n".encode())
    lines = [
        "rosenblatt-data-1",
        f"{values.shape[0]} {values.shape[1]}",
        json.dumps([names[k] for k in order], separators=(",", ":")),
        hashlib.sha256(place[codes].tobytes()).hexdigest(),
        *(h.hexdigest() for h in (counts, columns, numbers, exact)),
    ]
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def _bytes(values: Any, kind: str) -> Any:
    return np.ascontiguousarray(values, dtype=kind).data.cast("B")


def _nonzeros(part: Any) -> tuple[Any, Any, Any]:
    """The number of nonzeros per row, their columns and their values."""
    if sparse.issparse(part):
        if part.data.all():
            return np.diff(part.indptr), part.indices, part.data
        filled = part.data != 0
        row = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))[filled]
        return np.bincount(row, minlength=part.shape[0]), part.indices[filled], part.data[filled]
    n, d = part.shape
    filled = part != 0
    if filled.all():
        return np.full(n, d), np.tile(np.arange(d, dtype="<i4"), n), part.ravel()
    return filled.sum(axis=1), np.nonzero(filled)[1], part[filled]


def _doubles(data: Any) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The nearest doubles, and the positions of values that are not exactly doubles."""
    if data.dtype == object:
        doubles = np.array([_nearest(q) for q in data], dtype=np.float64)
        pairs = zip(doubles.tolist(), data, strict=True)
        odd = [k for k, (x, q) in enumerate(pairs) if not (isfinite(x) and Fraction(x) == q)]
        return doubles, np.array(odd, dtype=np.intp)
    doubles = data.astype(np.float64, copy=False)
    if data.dtype.kind == "f":
        return doubles, np.empty(0, dtype=np.intp)
    large = np.flatnonzero(np.abs(doubles) > 2.0**53)
    odd = [k for k in large.tolist() if int(doubles[k]) != int(data[k])]
    return doubles, np.array(odd, dtype=np.intp)


def _nearest(q: Fraction) -> float:
    try:
        return float(q)
    except OverflowError:
        return float("inf") if q > 0 else float("-inf")
