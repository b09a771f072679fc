"""Learning rules, as pure functions of numbers.

A rule computes the *margin* ``m = y·(w·x + b)`` of an example, and from it the coefficients of its
update. The reference calls these functions and the engine compiles the same source, so that both
compute the same. Each rule is one record (:class:`rosenblatt.rules.registry.Rule`): step, storage,
parameters, condition, update, bound and paper; :func:`register` adds a rule of your own.
"""

from __future__ import annotations

from rosenblatt.rules.perceptron import (
    MISTAKE_RULES,
    Thresholds,
    is_within,
    lag,
    step,
    thresholds,
)
from rosenblatt.rules.registry import Parameter, Rule, estimators, register, rule_of, rules
from rosenblatt.rules.storage import Storage

__all__ = [
    "MISTAKE_RULES",
    "Parameter",
    "Rule",
    "Storage",
    "Thresholds",
    "estimators",
    "is_within",
    "lag",
    "register",
    "rule_of",
    "rules",
    "step",
    "thresholds",
]
