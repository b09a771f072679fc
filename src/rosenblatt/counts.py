"""Counts with their nouns."""

from __future__ import annotations


def noun(count: int, one: str, many: str | None = None) -> str:
    """Singular or plural of a noun, by its count.

    >>> noun(1, "class", "classes"), noun(2, "row")
    ('class', 'rows')
    """
    return one if count == 1 else many or f"{one}s"


def counted(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun.

    >>> counted(1, "epoch"), counted(25_000, "bad row"), counted(0, "class", "classes")
    ('1 epoch', '25,000 bad rows', '0 classes')
    """
    return f"{count:,} {noun(count, one, many)}"
