"""Check a certificate against the data in whole numbers, with none of the code that found it.

A double is a whole number times a power of two; the rows are turned into whole numbers here, each
over a power of two of its own, and every claim of the certificate becomes a statement about sums
of products of whole numbers. Only the fingerprint, the names of labels and the certificate's own
record are shared with the rest of the package.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import flint
import numpy as np
from scipy import sparse

from rosenblatt.theory.certificate import Certificate, CertificateSet, Combination, Margin
from rosenblatt.theory.fingerprint import fingerprint
from rosenblatt.theory.labels import check_labels, label_name
from rosenblatt.theory.table import check_matrix

_CHUNK = 1 << 14
_WIDE = 1000


@dataclass(frozen=True)
class Verification:
    """Whether a certificate is proven, and if not, the first claim that fails.

    True in a condition if and only if `proven`.
    """

    proven: bool
    reason: str

    def __bool__(self) -> bool:
        return self.proven


def verify(certificate: Certificate | CertificateSet, X: Any, y: Any) -> Verification:
    """Check every claim of a certificate against the data, in whole numbers.

    Parameters
    ----------
    certificate : Certificate or CertificateSet
        As made by :func:`rosenblatt.certify` or read by ``load_certificate``. All parts of a set
        must hold.
    X, y
        The data it is about, in any container.

    Returns
    -------
    Verification
        ``proven``, and the ``reason`` in words. An undecided or inexact certificate proves nothing.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from rosenblatt import certify
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> certificate = certify(X, y)
    >>> bool(verify(certificate, X, y))
    True
    >>> verify(replace(certificate, verdict="separable"), X, y).reason
    'the verdict is separable, but there is no hyperplane'
    >>> verify(certificate, X, [0, 1, 1, 1]).reason
    'the certificate is about other data: the fingerprints differ'
    """
    parts = certificate.values() if isinstance(certificate, CertificateSet) else [certificate]
    values = check_matrix(X)
    classes, codes = check_labels(y, values.shape[0])
    mark = fingerprint(values, classes, codes)
    names = np.array([label_name(c) for c in classes], dtype=object)[codes]
    try:
        for part in parts:
            _check(part, values, names, mark)
    except _RefutedError as refuted:
        return Verification(False, str(refuted))
    return Verification(True, "every claim holds in whole numbers")


class _RefutedError(Exception):
    """A claim of the certificate does not hold."""


def _require(condition: Any, otherwise: str) -> None:
    if not condition:
        raise _RefutedError(otherwise)


def _check(c: Certificate, values: Any, names: Any, mark: str) -> None:
    _require(
        values.shape == (c.n_rows, c.n_columns),
        f"the certificate is about {c.n_rows} rows and {c.n_columns} columns, "
        f"the data have {values.shape[0]} and {values.shape[1]}",
    )
    _require(c.fingerprint == mark, "the certificate is about other data: the fingerprints differ")
    _require(c.exact is True, "the certificate does not claim to be exact")
    _require(c.verdict != "undecided", "the certificate is undecided")
    _require(not set(c.positive) & set(c.negative), "a class is on both sides")
    _require(
        set(c.positive) | set(c.negative) <= set(names),
        "the certificate names a class that the data do not have",
    )
    _require(type(c.fit_intercept) is bool, "whether there is an offset is not said")
    sides = np.isin(names, list(c.positive)).astype(int) - np.isin(names, list(c.negative))
    _require((sides > 0).any() and (sides < 0).any(), "a side has no rows")
    data = _Data(values, sides, c.fit_intercept)
    if c.verdict == "separable":
        _check_separable(c, data)
    elif c.verdict in ("quasi-separable", "inseparable"):
        _check_contradicted(c, data)
    else:
        raise _RefutedError(f"unknown verdict {c.verdict!r}")
    _check_columns(c, data)
    _check_radius(c, data)


def _check_separable(c: Certificate, data: _Data) -> None:
    _require(c.weights is not None, "the verdict is separable, but there is no hyperplane")
    _require(
        c.contradiction is None and c.spanning is None, "a separable verdict with a contradiction"
    )
    assert c.weights is not None
    for score, _ in data.scores(c.weights, c.bias):
        _require(score > 0, "the hyperplane does not separate every row")
    _require((c.augmented is None) == (c.geometric is None), "one margin of two is missing")
    bound = None
    if c.augmented is not None and c.geometric is not None:
        _check_margin(c.augmented, data, "augmented")
        _check_margin(c.geometric, data, "geometric")
        if c.augmented.lower > 0 and c.radius is not None:
            bound = int(Fraction(c.radius) ** 2 / Fraction(c.augmented.lower) ** 2)
    _require(c.mistake_bound == bound, "the mistake bound is not R²/γ²")


def _check_contradicted(c: Certificate, data: _Data) -> None:
    _require(
        c.augmented is None and c.geometric is None and c.mistake_bound is None,
        "margins without a separator",
    )
    _require(c.contradiction is not None, f"the verdict is {c.verdict}, but no rows contradict")
    assert c.contradiction is not None
    matrix = _check_combination(c.contradiction, data)
    _require(_rank(matrix) == len(matrix) - 1, "the contradicting rows are not minimal")
    if c.verdict == "quasi-separable":
        _require(c.spanning is None, "a quasi-separable verdict with spanning rows")
        _require(
            c.weights is not None, "the verdict is quasi-separable, but there is no hyperplane"
        )
        assert c.weights is not None
        somewhere = False
        for score, _ in data.scores(c.weights, c.bias):
            _require(score >= 0, "the hyperplane has a row on the wrong side")
            somewhere = somewhere or score > 0
        _require(somewhere, "the hyperplane holds every row")
        return
    _require(c.weights is None and c.bias == 0, "an inseparable verdict with a hyperplane")
    _require(c.spanning is not None, "the verdict is inseparable, but no rows span the others")
    assert c.spanning is not None
    _check_spanning(_check_combination(c.spanning, data), data)


def _check_combination(found: Combination, data: _Data) -> list[list[int]]:
    """That the signed rows add up to zero; returns them as whole numbers."""
    rows, coefficients = found.rows, found.coefficients
    _require(
        0 < len(rows) == len(coefficients) == len(found.signs), "rows and coefficients do not match"
    )
    _require(len(set(rows)) == len(rows), "a row is named twice")
    _require(all(0 <= i < len(data.sides) for i in rows), "a row number is out of range")
    _require(
        all(data.sides[i] == s for i, s in zip(rows, found.signs, strict=True)),
        "a row is on another side than the certificate says",
    )
    _require(min(coefficients) > 0, "a coefficient is not positive")
    matrix, scales = data.signed(rows)
    common = lcm(*scales)
    weights = [c * (common // s) for c, s in zip(coefficients, scales, strict=True)]
    total = flint.fmpz_mat([weights]) * flint.fmpz_mat(matrix)
    _require(all(x == 0 for x in total.entries()), "the contradicting rows do not add up to zero")
    return matrix


def _rank(matrix: list[list[int]]) -> int:
    return int(flint.fmpz_mat(matrix).rank()) if matrix and matrix[0] else 0


def _check_spanning(matrix: list[list[int]], data: _Data) -> None:
    """That every row is a linear combination of these: orthogonal to all they are orthogonal to."""
    basis, nullity = flint.fmpz_mat(matrix).nullspace()
    for normal in basis.transpose().tolist()[: int(nullity)]:
        v = [int(x) for x in normal]
        weights, bias = (v[:-1], v[-1]) if data.padded else (v, 0)
        for score, _ in data.scores(weights, bias):
            _require(score == 0, "a row is not in the span of the contradicting rows")


def _check_margin(m: Margin, data: _Data, kind: str) -> None:
    offset = m.bias**2 if kind == "augmented" else 0
    _require(0 <= m.lower <= m.upper, f"the {kind} margin has its ends the wrong way round")
    size = sum(w * w for w in m.weights) + offset
    _require(size > 0, f"the hyperplane of the {kind} margin is zero")
    low, high = Fraction(m.lower), Fraction(m.upper)
    square = low * low * size
    for score, scale in data.scores(m.weights, m.bias):
        holds = score > 0 and score * score >= square * scale * scale
        _require(holds, f"a row is closer than the {kind} margin")
    support = m.support
    _require(
        0 < len(support.rows) == len(support.coefficients) == len(support.signs),
        "support rows and coefficients do not match",
    )
    _require(all(0 <= i < len(data.sides) for i in support.rows), "a support row is out of range")
    _require(
        all(data.sides[i] == s for i, s in zip(support.rows, support.signs, strict=True)),
        "a support row is on another side than the certificate says",
    )
    _require(min(support.coefficients) > 0, "a support coefficient is not positive")
    _require(
        _squared_length(support, data, kind) <= high * high,
        f"the {kind} margin can be larger than claimed",
    )


def _squared_length(support: Combination, data: _Data, kind: str) -> Fraction:
    """Of the convex combination (augmented), or of half the classes' difference (geometric)."""
    matrix, scales = data.signed(support.rows)
    halves = {
        s: sum(c for c, t in zip(support.coefficients, support.signs, strict=True) if t == s)
        for s in (1, -1)
    }
    both = sum(halves.values())
    by_class = kind == "geometric" and data.padded
    _require(not by_class or min(halves.values()) > 0, "support rows of one class only")
    # By class, each has the weight 1/2 in all: half the way from one point to the other.
    weights = [
        Fraction(c, (2 * halves[s] if by_class else both) * scale)
        for c, s, scale in zip(support.coefficients, support.signs, scales, strict=True)
    ]
    denominator = lcm(*(w.denominator for w in weights))
    numerators = [w.numerator * (denominator // w.denominator) for w in weights]
    width = data.d if by_class else data.d + int(data.padded)
    rows = [row[:width] for row in matrix]
    total = (flint.fmpz_mat([numerators]) * flint.fmpz_mat(rows)).entries()
    return Fraction(sum(int(x) ** 2 for x in total), denominator**2)


def _check_columns(c: Certificate, data: _Data) -> None:
    """That exactly the named columns separate the classes alone, by the named thresholds."""
    alone = data.lone_columns() if c.verdict == "separable" else {}
    named = {rule.column: rule for rule in c.columns}
    _require(len(named) == len(c.columns), "a column is named twice")
    _require(named.keys() == alone.keys(), "other columns separate the classes alone")
    for j, rule in named.items():
        direction, lower, upper = alone[j]
        _require(rule.direction == direction, f"column {j} separates the other way round")
        _require(lower < rule.threshold < upper, f"the threshold of column {j} does not separate")


def _check_radius(c: Certificate, data: _Data) -> None:
    largest = max(data.squares())
    if c.radius is None:
        _require(largest > Fraction(sys.float_info.max) ** 2, "the radius is missing")
        return
    _require(Fraction(c.radius) ** 2 >= largest, "a row is longer than the radius")
    _require(
        Fraction(c.radius) ** 2 <= largest * (1 + Fraction(1, 10**9)),
        "no row is as long as the radius",
    )


class _Data:
    """The rows as whole numbers, each row over a denominator of its own."""

    def __init__(self, values: Any, sides: Any, padded: bool) -> None:
        self.values, self.sides, self.padded = values, sides, padded
        self.d = values.shape[1]
        self.used = np.flatnonzero(sides)

    def signed(self, rows: Sequence[int]) -> tuple[list[list[int]], list[int]]:
        """Some rows times their side, with the pad, and the number each was multiplied by."""
        matrix, scales = [], []
        for i in rows:
            entries = self._row(i)
            scale = lcm(*(q.denominator for q in entries.values()))
            row = [0] * self.d
            side = int(self.sides[i])
            for j, q in entries.items():
                row[j] = side * q.numerator * (scale // q.denominator)
            matrix.append([*row, side * scale] if self.padded else row)
            scales.append(scale)
        return matrix, scales

    def _row(self, i: int) -> dict[int, Fraction]:
        row = self.values[[i]]
        if sparse.issparse(row):
            found = zip(row.indices.tolist(), row.data.tolist(), strict=True)
        else:
            found = zip(range(self.d), row[0].tolist(), strict=True)
        return {j: Fraction(*x.as_integer_ratio()) for j, x in found if x}

    @property
    def _wide(self) -> bool:
        """Whether rows are better taken one by one, nonzeros only."""
        return sparse.issparse(self.values) and self.d > _WIDE

    def _rows(self) -> Iterator[tuple[int, dict[int, Fraction]]]:
        """The side and the nonzeros of every row of a sparse matrix."""
        X = self.values
        for i in self.used.tolist():
            ends = slice(X.indptr[i], X.indptr[i + 1])
            found = zip(X.indices[ends].tolist(), X.data[ends].tolist(), strict=True)
            yield int(self.sides[i]), {j: Fraction(*x.as_integer_ratio()) for j, x in found if x}

    def scores(self, weights: Sequence[int], bias: int) -> Iterator[tuple[int, int]]:
        """``side·(w·x + b)`` of every row as a whole number, and its denominator."""
        _require(len(weights) == self.d, "the hyperplane has another number of columns")
        _require(self.padded or bias == 0, "an offset where none is allowed")
        if self._wide:
            for side, entries in self._rows():
                scale = lcm(*(q.denominator for q in entries.values()))
                total = sum(weights[j] * int(q * scale) for j, q in entries.items())
                yield side * (total + bias * scale), scale
            return
        for rows, matrix, scales in self._chunks(weights, bias):
            dots = matrix @ np.array([w for w in weights if w] or [0], dtype=matrix.dtype)
            dots = (dots + bias * scales) * self.sides[rows]
            yield from zip(dots.tolist(), scales.tolist(), strict=True)

    def _chunks(self, weights: Sequence[int], bias: int) -> Iterator[tuple[Any, Any, Any]]:
        """Rows in whole numbers, the columns with a weight only."""
        columns = np.flatnonzero([bool(w) for w in weights])
        total = sum(map(abs, weights)) + abs(bias)
        for start in range(0, len(self.used), _CHUNK):
            rows = self.used[start : start + _CHUNK]
            part = self.values[rows][:, columns if len(columns) else [0]]
            part = part.toarray() if sparse.issparse(part) else part
            yield rows, *_whole(part, total)

    def squares(self) -> Iterator[Fraction]:
        """The squared length of every row with its pad."""
        if self._wide:
            for _, entries in self._rows():
                yield sum((q * q for q in entries.values()), Fraction(int(self.padded)))
            return
        ones = [1] * self.d
        for _, matrix, scales in self._chunks(ones, 1):
            exact = matrix.astype(object)
            sums = (exact * exact).sum(axis=1)
            for total, scale in zip(sums.tolist(), scales.tolist(), strict=True):
                yield Fraction(total, scale * scale) + int(self.padded)

    def lone_columns(self) -> dict[int, tuple[int, Fraction, Fraction]]:
        """Columns that separate alone: their direction and the gap that a threshold must lie in."""
        found: dict[int, tuple[int, Fraction, Fraction]] = {}
        plus, minus = (self.values[np.flatnonzero(self.sides == s)] for s in (1, -1))
        (low_p, high_p), (low_n, high_n) = _ends(plus), _ends(minus)
        for j in range(self.d):
            for direction, lower, upper in ((1, high_n[j], low_p[j]), (-1, high_p[j], low_n[j])):
                inside = lower < upper if self.padded else lower < 0 < upper
                if inside:
                    a, b = (Fraction(*x.as_integer_ratio()) for x in (lower, upper))
                    found[j] = (direction, a, b)
        return found


def _ends(part: Any) -> tuple[list[Any], list[Any]]:
    low, high = part.min(axis=0), part.max(axis=0)
    if sparse.issparse(part):
        low, high = low.toarray().ravel(), high.toarray().ravel()
    return low.tolist(), high.tolist()


def _whole(part: Any, total: int) -> tuple[Any, Any]:
    """A block of numbers as whole numbers and the denominator of each row.

    Machine integers where no sum of products with weights of this `total` can overflow; Python's
    integers otherwise.
    """
    if part.dtype == object:
        scales = np.array([lcm(*(q.denominator for q in row)) for row in part], dtype=object)
        whole = [[int(q * s) for q in row] for row, s in zip(part, scales, strict=True)]
        return np.array(whole, dtype=object).reshape(part.shape), scales
    if part.dtype.kind == "f" and not np.array_equal(part, np.rint(part)):
        return _whole_doubles(part)
    top = max(1, abs(int(part.max())), abs(int(part.min())))
    if top * total < 2**62 and (part.dtype.kind != "f" or top < 2**53):
        return part.astype(np.int64), np.ones(len(part), dtype=np.int64)
    ones = np.array([1] * len(part), dtype=object)
    if part.dtype.kind == "f":
        exact = np.array([[int(x) for x in row] for row in part.tolist()], dtype=object)
        return exact, ones
    return part.astype(object), ones


def _whole_doubles(part: Any) -> tuple[Any, Any]:
    mantissa, exponent = np.frexp(part)
    digits = np.ldexp(mantissa, 53).astype(np.int64)
    exponent = np.where(digits != 0, exponent - 53, 0)
    lowest = np.minimum(exponent.min(axis=1), 0)
    shift = np.where(digits != 0, exponent - lowest[:, None], 0)
    whole = np.left_shift(digits.astype(object), shift.astype(object))
    return whole, np.array([1 << -int(e) for e in lowest], dtype=object)
