"""What the fields of a certificate may hold, whatever the data: types, ranges and shapes.

Certificates come from anywhere. Both the reader of files and the verifier call `check_fields`, so
that what follows works with finite numbers and lists that match each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rosenblatt.theory.checker.certificate import Certificate, Combination, Margin

VERDICTS = ("separable", "quasi-separable", "undecided", "inseparable")


def check_fields(c: Certificate) -> None:
    """ValueError with one sentence unless every field has its type, range and shape."""
    _check(c.verdict in VERDICTS, f"the verdict is not one of {', '.join(VERDICTS)}")
    for name in ("exact", "fit_intercept"):
        _check(type(getattr(c, name)) is bool, f"{name} is neither true nor false")
    for name in ("n_rows", "n_columns"):
        _check(_is_index(getattr(c, name)), f"{name} is not a count")
    _check(isinstance(c.fingerprint, str), "the fingerprint is not text")
    _check_classes(c)
    width = c.n_columns + int(c.fit_intercept)
    _check(c.weights is None or _are_ints(c.weights), "the weights are not integers")
    _check(c.weights is None or len(c.weights) == c.n_columns, "there is not one weight per column")
    _check(_is_int(c.bias), "the bias is not an integer")
    for name in ("contradiction", "spanning", "balance"):
        found = getattr(c, name)
        if found is not None:
            _check_combination(found, name, c.n_rows)
    for rule in c.columns:
        _check(_is_index(rule.column, c.n_columns), "a separating column is out of range")
        _check(_is_int(rule.direction) and abs(rule.direction) == 1, "a direction is not 1 or -1")
        _check(isinstance(rule.threshold, Fraction), "a threshold is not a fraction")
    for r in c.replaced:
        _check(_is_index(r.column, width), "a replaced column is out of range")
        _check(all(_is_index(j, width) for j in r.columns), "a replacing column is out of range")
        _check(_are_ints(r.weights), "the weights of a replacement are not integers")
        _check(len(r.columns) == len(r.weights), "a replacement does not have a weight per column")
    _check(c.radius is None or _is_length(c.radius), "the radius is not a finite length")
    for name in ("augmented", "geometric"):
        margin = getattr(c, name)
        if margin is not None:
            _check_margin(margin, name, c)
    bound = c.mistake_bound
    _check(bound is None or _is_index(bound), "the mistake bound is not a count")
    _check(bound is None or c.radius is not None, "there is a mistake bound but no radius")
    _check_source(c)


def _check(condition: bool, otherwise: str) -> None:
    if not condition:
        raise ValueError(otherwise)


def _is_int(value: Any) -> bool:
    return type(value) is int


def _are_ints(values: Any) -> bool:
    return isinstance(values, tuple) and set(map(type, values)) <= {int}


def _is_index(value: Any, end: float = math.inf) -> bool:
    return type(value) is int and 0 <= value < end


def _is_length(value: Any) -> bool:
    return type(value) is float and math.isfinite(value) and value >= 0


def _are_names(values: Any) -> bool:
    return isinstance(values, tuple) and set(map(type, values)) <= {str}


def _check_classes(c: Certificate) -> None:
    for side in (c.positive, c.negative):
        _check(_are_names(side) and len(side) > 0, "a side does not list its classes by name")
    both = [*c.positive, *c.negative]
    _check(len(set(both)) == len(both), "a class is named twice")


def _check_combination(found: Combination, name: str, n_rows: int) -> None:
    numbers: Iterable[Any] = (found.rows, found.signs, found.coefficients)
    _check(all(_are_ints(x) for x in numbers), f"the {name} does not consist of integers")
    _check(
        0 < len(found.rows) == len(found.signs) == len(found.coefficients),
        f"rows, signs and coefficients of the {name} do not match",
    )
    _check(
        min(found.rows) >= 0 and max(found.rows) < n_rows, f"a row of the {name} is out of range"
    )
    _check(set(found.signs) <= {1, -1}, f"a sign of the {name} is not 1 or -1")
    _check(min(found.coefficients) > 0, f"a coefficient of the {name} is not positive")


def _check_margin(margin: Margin, name: str, c: Certificate) -> None:
    ends = _is_length(margin.lower) and _is_length(margin.upper)
    _check(ends, f"the {name} margin is not a finite length")
    _check(margin.lower <= margin.upper, f"the {name} margin has its ends the wrong way round")
    whole = _are_ints(margin.weights) and _is_int(margin.bias)
    _check(whole, f"the hyperplane of the {name} margin is not of integers")
    _check(
        len(margin.weights) == c.n_columns,
        f"the hyperplane of the {name} margin has another number of columns",
    )
    _check_combination(margin.support, f"support of the {name} margin", c.n_rows)


def _check_source(c: Certificate) -> None:
    source = c.source
    if source is None:
        return
    _check(type(source.label) is str, "the name of the label's column is not text")
    _check(type(source.header) is bool, "the header is neither true nor false")
    named = _are_names(source.columns) and len(source.columns) == c.n_columns
    _check(named, "there is not one name per column")
