"""What options of training mean that are given as a text: kinds of columns, weights, orders."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from rosenblatt.errors import OptionError


def column_kinds(entries: Iterable[str]) -> dict[str, str]:
    """The kinds of columns from texts NAME=KIND.

    >>> column_kinds(["age=number", "a=b=text"])
    {'age': 'number', 'a=b': 'text'}
    """
    from rosenblatt.data.columns import column_of

    kinds = {}
    for entry in entries:
        name, equals, kind = entry.rpartition("=")
        if not equals:
            raise OptionError(f"{entry!r} is not NAME=KIND")
        kinds[name] = kind
        column_of(name, kind)  # which checks the kind
    return kinds


def class_weights(weights: str | Mapping[str, float] | None) -> str | dict[str, float] | None:
    """Class weights, checked and as floats; a text is "balanced" or LABEL=NUMBER,...

    >>> class_weights("balanced"), class_weights("spam=5,ham=1")
    ('balanced', {'spam': 5.0, 'ham': 1.0})
    """
    if weights is None or weights == "balanced":
        return weights
    try:
        pairs = weights.items() if isinstance(weights, Mapping) else _pairs(weights)
        by_label = {str(label): float(weight) for label, weight in pairs}
    except (AttributeError, ValueError):
        raise OptionError(
            "class_weight is 'balanced' or a weight for each label (LABEL=NUMBER,...), "
            f"got {weights!r}"
        ) from None
    for label, weight in by_label.items():
        if not (math.isfinite(weight) and weight >= 0):
            raise OptionError(f"the weight of {label!r} is {weight:g}, but weights are from 0 on")
    return by_label


def _pairs(text: str) -> list[tuple[str, str]]:
    """Labels and numbers of LABEL=NUMBER,...; a ValueError if there are no labels."""
    parts = [entry.rpartition("=") for entry in text.split(",")]
    if not all(label.strip() for label, _, _ in parts):
        raise ValueError(text)
    return [(label.strip(), number) for label, _, number in parts]


def class_order(text: str) -> tuple[str, ...]:
    """The classes of a text A,B,C.

    >>> class_order("low, medium,high")
    ('low', 'medium', 'high')
    """
    return tuple(name.strip() for name in text.split(","))
