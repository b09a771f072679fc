"""Check a certificate against the data in integers, with none of the code that found it.

Every claim of the certificate becomes a statement about sums of products of integers. Only the
checks of the input (`input_data`), the fingerprint and the certificate itself are shared with the
search for certificates.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from math import nextafter
from typing import Any

import flint
import numpy as np
from scipy import sparse

from rosenblatt.theory.checker.certificate import Certificate, CertificateSet, Combination, Margin
from rosenblatt.theory.checker.checker_rows import RefutedError, SignedRows, require
from rosenblatt.theory.checker.domain import check_fields
from rosenblatt.theory.checker.fingerprint import fingerprint
from rosenblatt.theory.checker.input_data import check_labels, check_matrix, label_name
from rosenblatt.theory.checker.verify_balance import check_balance


@dataclass(frozen=True)
class Verification:
    """Whether a certificate is proven, and if not, the first claim that fails.

    Its truth value is `proven`. `holds` says that every claim holds; for one certificate of a set
    this proves nothing about the other classes of the data.
    """

    proven: bool
    reason: str
    holds: bool

    def __bool__(self) -> bool:
        return self.proven


def verify(certificate: Certificate | CertificateSet, X: Any, y: Any) -> Verification:
    """Check every claim of a certificate against the data, in integers.

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
        A single certificate is not proven for data of more than two classes, as the others of its
        set may say otherwise; ``holds`` is true if its own claims hold.

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
    values = check_matrix(X)
    classes, codes = check_labels(y, values.shape[0])
    mark = fingerprint(values, classes, codes)
    names = [label_name(c) for c in classes]
    try:
        if isinstance(certificate, CertificateSet):
            for part in certificate.values():
                _check(part, values, names, codes, mark)
            require(
                certificate.classes == tuple(sorted(names)),
                f"the set is about {len(certificate.classes):,} classes, "
                f"the data have {len(names):,}",
            )
        else:
            _check(certificate, values, names, codes, mark)
    except RefutedError as refuted:
        return Verification(False, str(refuted), holds=False)
    if isinstance(certificate, Certificate) and len(names) > 2:
        return Verification(
            False,
            f"every claim holds, but only about {certificate.speaks_of}; "
            f"the data have {len(names):,} classes, whose other certificates are not here",
            holds=True,
        )
    return Verification(True, "every claim holds in whole numbers", holds=True)


def _check(c: Certificate, values: Any, names: list[str], codes: Any, mark: str) -> None:
    try:
        check_fields(c)
    except ValueError as error:
        raise RefutedError(str(error)) from None
    require(
        values.shape == (c.n_rows, c.n_columns),
        f"the certificate is about {c.n_rows} rows and {c.n_columns} columns, "
        f"the data have {values.shape[0]} and {values.shape[1]}",
    )
    require(c.fingerprint == mark, "the certificate is about other data: the fingerprints differ")
    require(c.exact is True, "the certificate does not claim to be exact")
    require(c.verdict != "undecided", "the certificate is undecided")
    require(
        set(c.positive) | set(c.negative) <= set(names),
        "the certificate names a class that the data do not have",
    )
    side_of_class = [(name in c.positive) - (name in c.negative) for name in names]
    sides = np.array(side_of_class, dtype=np.intp)[codes]
    require((sides > 0).any() and (sides < 0).any(), "a side has no rows")
    require(not c.replaced or c.balance is not None, "replaced columns without a balance")
    _check_columns(c, SignedRows(values, sides, c.fit_intercept))
    c, values = _without_empty_columns(c, values)
    data = SignedRows(values, sides, c.fit_intercept)
    if c.verdict == "separable":
        _check_separable(c, data)
    elif c.balance is not None:
        _check_balanced(c, c.balance, data)
    else:
        _check_contradicted(c, data)
    _check_radius(c, data)


def _without_empty_columns(c: Certificate, values: Any) -> tuple[Certificate, Any]:
    """A checked certificate and the rows of a sparse matrix without empty columns.

    Hashed text has millions of them. A column that is zero in every row and has no weight in the
    certificate changes no score, no length, no rank and no linear dependency. Rules about single
    columns are dropped: they must be checked against all columns.
    """
    if not sparse.issparse(values) or c.replaced:
        return c, values
    margins = {name: getattr(c, name) for name in ("augmented", "geometric")}
    used = np.zeros(c.n_columns, dtype=bool)
    used[values.indices] = True
    for weights in (c.weights, *(m and m.weights for m in margins.values())):
        if weights is not None:
            used |= np.fromiter((w != 0 for w in weights), bool, c.n_columns)
    columns = np.flatnonzero(used)
    if not 0 < len(columns) < c.n_columns:
        return c, values

    def narrow(weights: Any) -> Any:
        return weights and tuple(weights[j] for j in columns.tolist())

    for name, margin in margins.items():
        margins[name] = margin and replace(margin, weights=narrow(margin.weights))
    weights = narrow(c.weights)
    c = replace(c, n_columns=len(columns), weights=weights, columns=(), **margins)
    return c, values[:, columns]


def _check_separable(c: Certificate, data: SignedRows) -> None:
    require(c.weights is not None, "the verdict is separable, but there is no hyperplane")
    require(
        c.contradiction is None and c.spanning is None and c.balance is None,
        "a separable verdict with a contradiction",
    )
    assert c.weights is not None
    for score, _ in data.scores(c.weights, c.bias):
        require(score > 0, "the hyperplane does not separate every row")
    require((c.augmented is None) == (c.geometric is None), "one margin of two is missing")
    bound = None
    if c.augmented is not None and c.geometric is not None:
        _check_margin(c.augmented, data, "augmented")
        _check_margin(c.geometric, data, "geometric")
        if c.augmented.lower > 0 and c.radius is not None:
            bound = int(Fraction(c.radius) ** 2 / Fraction(c.augmented.lower) ** 2)
    require(c.mistake_bound == bound, "the mistake bound is not R²/γ²")


def _check_balanced(c: Certificate, balance: Combination, data: SignedRows) -> None:
    _check_no_margins(c)
    require(c.contradiction is None and c.spanning is None, "two proofs where one is enough")
    _check_rows(balance, data)
    everyone = c.verdict == "inseparable"
    check_balance(balance, c.replaced, data, everyone)
    if everyone:
        require(c.weights is None and c.bias == 0, "an inseparable verdict with a hyperplane")
    else:
        _check_weak(c, data)


def _check_no_margins(c: Certificate) -> None:
    require(
        c.augmented is None and c.geometric is None and c.mistake_bound is None,
        "margins without a separator",
    )


def _check_contradicted(c: Certificate, data: SignedRows) -> None:
    _check_no_margins(c)
    require(c.contradiction is not None, f"the verdict is {c.verdict}, but no rows contradict")
    assert c.contradiction is not None
    matrix = _check_combination(c.contradiction, data)
    require(_rank(matrix) == len(matrix) - 1, "the contradicting rows are not minimal")
    if c.verdict == "quasi-separable":
        require(c.spanning is None, "a quasi-separable verdict with spanning rows")
        _check_weak(c, data)
        return
    require(c.weights is None and c.bias == 0, "an inseparable verdict with a hyperplane")
    require(c.spanning is not None, "the verdict is inseparable, but no rows span the others")
    assert c.spanning is not None
    _check_spanning(_check_combination(c.spanning, data), data)


def _check_weak(c: Certificate, data: SignedRows) -> None:
    """That no row is on the wrong side of the hyperplane, and not all rows lie on it."""
    require(c.weights is not None, "the verdict is quasi-separable, but there is no hyperplane")
    assert c.weights is not None
    somewhere = False
    for score, _ in data.scores(c.weights, c.bias):
        require(score >= 0, "the hyperplane has a row on the wrong side")
        somewhere = somewhere or score > 0
    require(somewhere, "the hyperplane holds every row")


def _check_rows(combination: Combination, data: SignedRows) -> None:
    """That a combination names rows of the data, each once, with their sides."""
    require(len(set(combination.rows)) == len(combination.rows), "a row is named twice")
    _check_sides(combination, data)


def _check_sides(combination: Combination, data: SignedRows) -> None:
    require(
        all(data.sides[i] == s for i, s in zip(combination.rows, combination.signs, strict=True)),
        "a row is on another side than the certificate says",
    )


def _check_combination(combination: Combination, data: SignedRows) -> list[list[int]]:
    """That the signed rows add up to zero; returns them as integers."""
    _check_rows(combination, data)
    total, _ = data.combination(combination.rows, combination.coefficients)
    require(not total.any(), "the contradicting rows do not add up to zero")
    matrix: list[list[int]] = data.signed(combination.rows).tolist()
    return matrix


def _rank(matrix: list[list[int]]) -> int:
    return int(flint.fmpz_mat(matrix).rank()) if matrix and matrix[0] else 0


def _check_spanning(matrix: list[list[int]], data: SignedRows) -> None:
    """That every row is in the span of these: orthogonal to a basis of their null space."""
    basis, nullity = flint.fmpz_mat(matrix).nullspace()
    for normal in basis.transpose().tolist()[: int(nullity)]:
        v = [int(x) for x in normal]
        weights, bias = (v[:-1], v[-1]) if data.padded else (v, 0)
        for score, _ in data.scores(weights, bias):
            require(score == 0, "a row is not in the span of the contradicting rows")


def _check_margin(m: Margin, data: SignedRows, kind: str) -> None:
    offset = m.bias**2 if kind == "augmented" else 0
    size = sum(w * w for w in m.weights) + offset
    require(size > 0, f"the hyperplane of the {kind} margin is zero")
    low, high = Fraction(m.lower), Fraction(m.upper)
    square = low * low * size
    for score, scale in data.scores(m.weights, m.bias):
        holds = score > 0 and score * score >= square * scale * scale
        require(holds, f"a row is closer than the {kind} margin")
    _check_sides(m.support, data)
    require(
        _squared_length(m.support, data, kind) <= high * high,
        f"the {kind} margin can be larger than claimed",
    )


def _squared_length(support: Combination, data: SignedRows, kind: str) -> Fraction:
    """Of the convex combination (augmented), or of half the difference of the classes' points."""
    halves = {
        s: sum(c for c, t in zip(support.coefficients, support.signs, strict=True) if t == s)
        for s in (1, -1)
    }
    by_class = kind == "geometric" and data.padded
    if not by_class:
        total, denominator = data.combination(support.rows, support.coefficients)
        denominator *= sum(halves.values())
    else:
        require(min(halves.values()) > 0, "support rows of one class only")
        # Each class has the weight 1/2 in all: half the way from one point to the other.
        pairs = zip(support.coefficients, support.signs, strict=True)
        total, denominator = data.combination(support.rows, [c * halves[-s] for c, s in pairs])
        denominator *= 2 * halves[1] * halves[-1]
        total = total[:-1]
    return Fraction(sum(x * x for x in total.tolist()), denominator**2)


def _check_columns(c: Certificate, data: SignedRows) -> None:
    """That exactly these columns separate the classes alone, with these thresholds."""
    alone = data.lone_columns() if c.verdict == "separable" else {}
    named = {rule.column: rule for rule in c.columns}
    require(len(named) == len(c.columns), "a column is named twice")
    require(named.keys() == alone.keys(), "other columns separate the classes alone")
    for j, rule in named.items():
        direction, lower, upper = alone[j]
        require(rule.direction == direction, f"column {j} separates the other way round")
        require(lower < rule.threshold < upper, f"the threshold of column {j} does not separate")


def _check_radius(c: Certificate, data: SignedRows) -> None:
    largest = max(data.squares())
    if c.radius is None:
        require(largest > Fraction(sys.float_info.max) ** 2, "the radius is missing")
        return
    require(Fraction(c.radius) ** 2 >= largest, "a row is longer than the radius")
    # The relative distance of denormal doubles is more than 1e-9.
    smallest = c.radius == 0 or Fraction(nextafter(c.radius, 0.0)) ** 2 < largest
    require(
        smallest or Fraction(c.radius) ** 2 <= largest * (1 + Fraction(1, 10**9)),
        "no row is as long as the radius",
    )
