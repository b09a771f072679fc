"""Numbers of a certificate outside their domain are refused by the file and by verify."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rosenblatt import certify, verify
from rosenblatt.errors import DataError
from rosenblatt.theory import Certificate
from rosenblatt.theory.checker.certificate_file import seal

POINTS = [[0.0, 1.0], [0.5, 3.0], [2.0, 1.5], [3.0, 1.0]], [0, 0, 1, 1]
INF, NAN = float("inf"), float("nan")


def with_value(record, path, value):
    *boxes, last = path
    box = record
    for name in boxes:
        box = box[name]
    box[last] = value
    record["seal"] = seal(record)
    return record


@pytest.mark.parametrize("value", [-4.4, INF, -INF, NAN, "4", True, [4.0], 10**400])
def test_a_radius_is_a_finite_length(value):
    certificate = certify(*POINTS)
    with pytest.raises(DataError):
        Certificate.from_dict(with_value(certificate.to_dict(), ["radius"], value))
    assert not verify(replace(certificate, radius=value), *POINTS)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["radius"], None),  # the mistake bound rests on it
        (["mistake_bound"], INF),
        (["mistake_bound"], -1),
        (["mistake_bound"], True),
        (["n_rows"], -4),
        (["n_rows"], 4.0),
        (["n_columns"], "2"),
        (["exact"], 1),
        (["fit_intercept"], None),
        (["verdict"], "certain"),
        (["fingerprint"], None),
        (["positive"], [["1"]]),
        (["positive"], "1"),
        (["positive"], []),
        (["negative"], ["1"]),
        (["weights"], ["1"]),
        (["weights"], [1, 0]),
        (["weights"], ["1.5", "0"]),
        (["weights"], [" 1", "0"]),
        (["weights"], "10"),
        (["bias"], 1),
        (["augmented", "lower"], NAN),
        (["augmented", "lower"], -1.0),
        (["augmented", "upper"], INF),
        (["augmented", "upper"], 0.0),
        (["geometric", "weights"], []),
        (["geometric", "support", "rows"], [0, 10**9]),
        (["geometric", "support", "rows"], [[0], [1]]),
        (["geometric", "support", "signs"], [0, 0]),
        (["geometric", "support", "coefficients"], []),
        (["columns", 0, "threshold"], "1/0"),
        (["columns", 0, "threshold"], "1e999999999"),
        (["columns", 0, "direction"], 2),
        (["columns", 0, "column"], 2),
        (["columns", 0], 0),
        (["columns"], {}),
        (["source"], {"label": "y", "header": True, "columns": []}),
        (["source"], {"label": "\ud800", "header": True, "columns": ["a", "b"]}),
        (["claim"], "anything"),
    ],
)
def test_a_field_of_another_type_range_or_shape_is_refused(path, value):
    with pytest.raises(DataError):
        Certificate.from_dict(with_value(certify(*POINTS).to_dict(), path, value))


def test_altered_fields_are_refuted_without_a_file_too():
    certificate = certify(*POINTS)
    for change in (
        {"mistake_bound": INF},
        {"positive": (("1",),)},
        {"augmented": replace(certificate.augmented, lower=NAN)},
        {"weights": (1.0, 0.0)},
    ):
        found = verify(replace(certificate, **change), *POINTS)
        assert not found
        assert not found.holds


def test_the_radius_of_denormal_rows_is_the_smallest_double_that_is_large_enough():
    X, y = [[5e-324, 5e-324], [-5e-324, 0.0], [0.0, 1.5e-323]], [0, 1, 1]
    certificate = certify(X, y, fit_intercept=False)
    assert verify(certificate, X, y)
    assert not verify(replace(certificate, radius=certificate.radius + 1e-323), X, y)
    assert not verify(replace(certificate, radius=certificate.radius - 5e-324), X, y)
