from __future__ import annotations

import hashlib
import json
import struct
from fractions import Fraction

import numpy as np
from scipy import sparse

from rosenblatt import certify, verify


def by_the_documentation(X, y):
    """The fingerprint as its description says, one number at a time."""
    names = sorted({str(label) for label in y})

    def digest(data):
        return hashlib.sha256(data).hexdigest()

    nonzero = [[(j, v) for j, v in enumerate(row) if v != 0] for row in X]
    rest = "".join(
        f"{i} {j} {Fraction(v).numerator}/{Fraction(v).denominator}\n"
        for i, row in enumerate(nonzero)
        for j, v in row
        if Fraction(float(v)) != Fraction(v)
    )
    lines = [
        "rosenblatt-data-1",
        f"{len(X)} {len(X[0])}",
        json.dumps(names, separators=(",", ":")),
        digest(b"".join(struct.pack("<i", names.index(str(label))) for label in y)),
        digest(b"".join(struct.pack("<i", len(row)) for row in nonzero)),
        digest(b"".join(struct.pack("<i", j) for row in nonzero for j, _ in row)),
        digest(b"".join(struct.pack("<d", v) for row in nonzero for _, v in row)),
        digest(rest.encode()),
    ]
    return digest("".join(line + "\n" for line in lines).encode())


def test_the_fingerprint_is_what_its_description_says():
    X = [[0.0, 1.5, -0.0], [2.0, 0.0, 1e-300], [0.1, 3.0, 4.0]]
    y = [10, 9, 10]
    assert certify(X, y).fingerprint == by_the_documentation(X, y)
    assert certify(sparse.csr_array(np.array(X)), y).fingerprint == by_the_documentation(X, y)


def test_values_that_are_not_doubles_are_spelled_out():
    X = [[2**60 + 1, 3], [-(2**62) - 5, 0]]
    y = ["b", "a"]
    assert certify(np.array(X), y).fingerprint == by_the_documentation(X, y)
    X = [[Fraction(1, 3), 0], [2**70, Fraction(1, 2)]]
    assert certify(np.array(X, dtype=object), y).fingerprint == by_the_documentation(X, y)


def test_the_type_of_the_numbers_does_not_matter():
    X, y = [[0, 1], [2, 3]], [0, 1]
    marks = {
        certify(np.array(X, dtype=t), np.array(y, dtype=u)).fingerprint
        for t in (int, float, object)
        for u in (int, float, bool)
    }
    assert len(marks) == 1


def test_integers_of_more_digits_than_python_prints_have_a_fingerprint():
    long = np.array([[10**5000], [Fraction(1, 10**5000)], [0]], dtype=object)
    marks = {
        certify(X, ["a", "b", "b"], margin_rtol=None).fingerprint for X in (long, long + 1, -long)
    }
    assert len(marks) == 3


def test_labels_of_more_digits_than_python_prints_are_named():
    certificate = certify([[0], [1]], np.array([10**5000, 1], dtype=object))
    assert certificate.positive == ("1" + "0" * 5000,)
    assert verify(certificate, [[0], [1]], np.array([10**5000, 1], dtype=object))
