"""What is said of every member of the family."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """What a member of the family does, what it promises, and who said so."""

    condition: str
    update: str
    bound: str
    paper: str
