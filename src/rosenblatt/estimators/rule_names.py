"""Names of learning rules, for the command line and comparisons."""

from __future__ import annotations

from inspect import get_annotations, signature
from typing import Any

from rosenblatt import estimators
from rosenblatt.estimators.family import FamilyClassifier

# The estimator of each rule, and its fixed parameters.
NAMES: dict[str, tuple[str, dict[str, Any]]] = {
    "perceptron": ("Perceptron", {}),
    "romma": ("ROMMA", {}),
    "aromma": ("ROMMA", {"aggressive": True}),
    "alma": ("ALMA", {}),
    "ogd": ("OnlineGradient", {}),
    "adagrad": ("OnlineGradient", {"method": "adagrad"}),
    "ftrl": ("OnlineGradient", {"method": "ftrl"}),
    "pa": ("PassiveAggressive", {"variant": ""}),
    "pa1": ("PassiveAggressive", {"variant": "I"}),
    "pa2": ("PassiveAggressive", {"variant": "II"}),
    "sop": ("SecondOrderPerceptron", {"covariance": "diagonal"}),
    "cw": ("ConfidenceWeighted", {}),
    "nherd": ("NormalHerd", {}),
    "arow": ("AROW", {}),
    "narow": ("NAROW", {}),
    "scw1": ("SCW", {"variant": "I"}),
    "scw2": ("SCW", {"variant": "II"}),
}


def estimator_of(text: str, **parameters: Any) -> Any:
    """The estimator of a rule such as ``"arow"`` or ``"scw1:C=0.5,confidence=0.8"``.

    Other `parameters` are defaults.

    >>> estimator_of("scw2:C=0.5")
    SCW(C=0.5, variant='II')
    >>> estimator_of("arrow")
    Traceback (most recent call last):
    ...
    ValueError: there is no rule 'arrow'; there are perceptron, romma, aromma, alma, ogd, adagrad, \
ftrl, pa, pa1, pa2, sop, cw, nherd, arow, narow, scw1, scw2
    """
    name, _, rest = text.partition(":")
    if name not in NAMES:
        raise ValueError(f"there is no rule {name!r}; there are {', '.join(NAMES)}")
    kind, fixed = NAMES[name]
    estimator = getattr(estimators, kind)
    make = getattr(estimator, "textbook", estimator)  # the perceptron as the notes have it
    model = make(**{**parameters, **fixed})
    shared = [] if kind == "Perceptron" else get_annotations(FamilyClassifier)
    own = [name for name in signature(estimator).parameters if name not in (*shared, *fixed)]
    for entry in filter(None, rest.split(",")):
        key, equals, value = entry.partition("=")
        if not equals or key not in own:
            raise ValueError(
                f"the rule {name!r} has the parameters {', '.join(own)}, not {entry!r}"
            )
        model.set_params(**{key: _value(value)})
    model._check_parameters()
    return model


def _value(text: str) -> Any:
    """True, False, None or a number, if the text is one; else the text."""
    constants = {"true": True, "false": False, "none": None}
    if text.lower() in constants:
        return constants[text.lower()]
    try:
        return float(text)
    except ValueError:
        return text
