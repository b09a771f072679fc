"""Types, ranges and shapes of the fields of a certificate, whatever the data.

Certificates are not trusted. Both the reader of files and the verifier call `check_fields`, so that
later code can rely on finite numbers and lists of matching lengths.
"""

from __future__ import annotations

import math
from dataclasses import is_dataclass
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from rosenblatt.theory.checker.certificate import Certificate, Combination, Margin

NUMBERS = ("", "decimals", "doubles")
VERDICTS = ("separable", "quasi-separable", "undecided", "inseparable")


def check_fields(c: Certificate) -> None:
    """ValueError with one sentence unless every field has its type, range and shape."""
    _check_type(c, type(c), "certificate")
    _check(c.verdict in VERDICTS, f"the verdict is not one of {', '.join(VERDICTS)}")
    for name in ("n_rows", "n_columns", "mistake_bound"):
        _check((getattr(c, name) or 0) >= 0, f"{name} is not a count")
    _check(bool(c.positive and c.negative), "a side does not list its classes by name")
    both = [*c.positive, *c.negative]
    _check(len(set(both)) == len(both), "a class is named twice")
    _check(c.weights is None or len(c.weights) == c.n_columns, "there is not one weight per column")
    for name in ("contradiction", "spanning", "balance"):
        combination = getattr(c, name)
        if combination is not None:
            _check_combination(combination, name, c.n_rows)
    for rule in c.columns:
        _check(0 <= rule.column < c.n_columns, "a separating column is out of range")
        _check(rule.direction in (1, -1), "a direction is not 1 or -1")
    width = c.n_columns + int(c.fit_intercept)
    for r in c.replaced:
        _check(0 <= r.column < width, "a replaced column is out of range")
        _check(all(0 <= j < width for j in r.columns), "a replacing column is out of range")
        _check(len(r.columns) == len(r.weights), "a replacement does not have a weight per column")
    _check(c.radius is None or _is_length(c.radius), "the radius is not a finite length")
    for name in ("augmented", "geometric"):
        margin = getattr(c, name)
        if margin is not None:
            _check_margin(margin, name, c)
    _check(
        c.mistake_bound is None or c.radius is not None, "there is a mistake bound but no radius"
    )
    if c.source is not None:
        _check(len(c.source.columns) == c.n_columns, "there is not one name per column")
        _check(c.source.numbers in NUMBERS, "what its decimals stand for is unknown")


def _check(condition: bool, otherwise: str) -> None:
    if not condition:
        raise ValueError(otherwise)


_hints = cache(get_type_hints)


def _check_type(value: Any, hint: Any, name: str) -> None:
    """That a value has exactly the type of a hint, and all its fields or items theirs."""
    if isinstance(hint, UnionType):  # with None
        if value is not None:
            _check_type(value, get_args(hint)[0], name)
        return
    expected = get_origin(hint) or hint
    actual = type(value)
    _check(actual is expected, f"{name}: expected {expected.__name__}, found {actual.__name__}")
    if is_dataclass(hint):
        for field, inner in _hints(expected).items():
            _check_type(getattr(value, field), inner, field)
    elif expected is tuple:
        inner = get_args(hint)[0]
        if is_dataclass(inner):
            for item in value:
                _check_type(item, inner, name)
        _check(set(map(type, value)) <= {inner}, f"{name}: expected {inner.__name__} items only")


def _is_length(value: float) -> bool:
    return math.isfinite(value) and value >= 0


def _check_combination(combination: Combination, name: str, n_rows: int) -> None:
    _check(
        0 < len(combination.rows) == len(combination.signs) == len(combination.coefficients),
        f"rows, signs and coefficients of the {name} do not match",
    )
    _check(
        min(combination.rows) >= 0 and max(combination.rows) < n_rows,
        f"a row of the {name} is out of range",
    )
    _check(set(combination.signs) <= {1, -1}, f"a sign of the {name} is not 1 or -1")
    _check(min(combination.coefficients) > 0, f"a coefficient of the {name} is not positive")


def _check_margin(margin: Margin, name: str, c: Certificate) -> None:
    ends = _is_length(margin.lower) and _is_length(margin.upper)
    _check(ends, f"the {name} margin is not a finite length")
    _check(margin.lower <= margin.upper, f"the {name} margin has its ends the wrong way round")
    _check(
        len(margin.weights) == c.n_columns,
        f"the hyperplane of the {name} margin has another number of columns",
    )
    _check_combination(margin.support, f"support of the {name} margin", c.n_rows)
