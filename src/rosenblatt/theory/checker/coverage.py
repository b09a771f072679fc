"""Complete sets of certificates: one per class against the rest, or one per pair of classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from rosenblatt.errors import listed

if TYPE_CHECKING:
    from rosenblatt.theory.checker.certificate import Certificate

# The classes of the positive side of a part, then those of the negative side.
Sides = tuple[frozenset[str], frozenset[str]]


def strategy_of(parts: Collection[Certificate]) -> str:
    """``"ovo"`` if every part has one class on each side, else ``"ovr"``."""
    pairs = all(len(part.positive) == len(part.negative) == 1 for part in parts)
    return "ovo" if pairs else "ovr"


def classes_of(parts: Collection[Certificate]) -> tuple[str, ...]:
    """The names of all classes, sorted as text."""
    return tuple(sorted({name for part in parts for name in (*part.positive, *part.negative)}))


def side_text(names: Sequence[str]) -> str:
    """The classes of one side, in words.

    >>> side_text(["a"]), side_text(["a", "b", "c"])
    ('class a', 'classes a, b and c')
    """
    if len(names) == 1:
        return f"class {names[0]}"
    if len(names) > 9:
        return f"classes {listed(names, most=8)}"
    return f"classes {', '.join(names[:-1])} and {names[-1]}"


def check_complete(parts: Collection[Certificate]) -> None:
    """ValueError unless the parts are complete, each once, and about the same problem."""
    if not parts:
        raise ValueError("a set of certificates without a certificate proves nothing")
    first = next(iter(parts))
    shared = {(p.n_rows, p.n_columns, p.fingerprint, p.fit_intercept) for p in parts}
    if len(shared) > 1:
        raise ValueError("the certificates of the set are about different data or hyperplanes")
    classes, strategy = classes_of(parts), strategy_of(parts)
    if len(classes) < 3:
        raise ValueError(f"{first.speaks_of} is one certificate, not a set")
    # Count before listing: a file with one part may name a million classes.
    if len(parts) != (len(classes) if strategy == "ovr" else len(classes) * (len(classes) - 1) / 2):
        kind = "class" if strategy == "ovr" else "pair of classes"
        raise ValueError(
            f"the set has {len(parts):,} certificates for {len(classes):,} classes; "
            f"there must be one per {kind}"
        )
    found = Counter(_sides(part, strategy) for part in parts)
    for sides in _expected(classes, strategy):
        if found[sides] != 1:
            text = " and ".join(side_text(sorted(side)) for side in sides)
            times = "is missing" if not found[sides] else "occurs twice"
            raise ValueError(f"the certificate of {text} {times} in the set")


def _sides(part: Certificate, strategy: str) -> Sides:
    positive, negative = frozenset(part.positive), frozenset(part.negative)
    if strategy == "ovo" and min(positive) > min(negative):
        return negative, positive
    return positive, negative


def _expected(classes: tuple[str, ...], strategy: str) -> list[Sides]:
    if strategy == "ovo":
        return [(frozenset([a]), frozenset([b])) for a, b in combinations(classes, 2)]
    every = frozenset(classes)
    return [(frozenset([name]), every - {name}) for name in classes]
