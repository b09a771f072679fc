"""The estimators of the learning rules, made of their records."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from rosenblatt.estimators._classifier import WITH_AUTO
from rosenblatt.estimators._linear import LinearClassifier
from rosenblatt.rules.registry import Parameter, Rule, estimators, parse

_SHARED = "as for :class:`Perceptron` (`multiclass`, `keep`, `shuffle`, `max_iter`, `tol` ...)"
_VARIANCES = """\
Attributes
----------
variances_ : array (n_problems, n_features)
    Of the weights.
"""


class FamilyClassifier(LinearClassifier):
    """The base of the estimators of rules; they have the parameters of their records.

    The other parameters and the attributes are those of :class:`rosenblatt.Perceptron`.
    """

    _is_perceptron = False
    _records: tuple[Rule, ...] = ()

    def __init__(
        self,
        *,
        multiclass="auto",
        shuffle=True,
        max_iter=1000,
        tol="auto",
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change="auto",
        class_weight=None,
        random_state=None,
        warm_start=False,
        verbose=0,
        callbacks=None,
        calibrate="auto",
        keep="average",
        fit_intercept=True,
        intercept_scaling="auto",
        scale="auto",
        feature_rates=None,
        n_jobs=None,
    ):
        self.multiclass = multiclass
        self.shuffle = shuffle
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks
        self.calibrate = calibrate
        self.keep = keep
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.scale = scale
        self.feature_rates = feature_rates
        self.n_jobs = n_jobs

    def _numbers(self) -> Any:
        return self._record().with_parameters(**self._rule_parameters())

    def _rule_parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._records[0].parameters}

    def _record(self) -> Rule:
        """The record whose fixed parameters are those of this estimator."""
        values = self._rule_parameters()
        return next(r for r in self._records if all(values[n] == v for n, v in r.fixed.items()))

    def _check_options(self) -> None:
        super()._check_options()
        self._numbers()
        if self.warm_start and self._record().storage.weigh is not None:
            raise ValueError(
                "A rule that keeps sums of gradients cannot start from weights (warm_start=True): "
                "use partial_fit to continue."
            )

    @property
    def variances_(self) -> np.ndarray:
        """The variances of the weights, (problems, features).

        Only rules that keep variances have them.
        """
        if not self._records[0].storage.has_variances:
            raise AttributeError(f"{type(self).__name__} keeps no variances.")
        variances = self.state_.cells[..., 1]
        return variances if self.scale_ is None else variances * self.scale_.factors**2


def estimator_class(name: str) -> Any:
    """The class of an estimator, made of the records of its rules.

    >>> estimator_class("AROW")(r=0.5)
    AROW(r=0.5)
    """
    if name == "Perceptron":
        from rosenblatt.estimators.perceptron import Perceptron

        return Perceptron
    records = tuple(estimators()[name])
    made = globals().get(name)
    if made is not None and made._records == records:
        return made
    parameters = records[0].parameters
    namespace: dict[str, Any] = {
        "__module__": __name__,
        "__doc__": _docstring(records),
        "__init__": _constructor(parameters),
        "_records": records,
        "_parameter_constraints": WITH_AUTO | {k: _constraint(p) for k, p in parameters.items()},
    }
    metaclass: Any = type(FamilyClassifier)
    made = metaclass(name, (FamilyClassifier,), namespace)
    globals()[name] = made
    return made


def _constructor(parameters: Mapping[str, Parameter]) -> Callable[..., None]:
    """An ``__init__`` with these parameters and the shared ones, which only stores them."""
    instance, *shared = inspect.signature(FamilyClassifier.__init__).parameters.values()
    first = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=one.default)
        for name, one in parameters.items()
    ]
    signature = inspect.Signature([instance, *first, *shared])

    defaults = {one.name: one.default for one in (*first, *shared)}

    def __init__(self: Any, *values: Any, **named: Any) -> None:  # noqa: N807
        if values or not named.keys() <= defaults.keys():
            named = signature.bind(self, *values, **named).arguments  # or a TypeError
            del named[instance.name]
        self.__dict__.update(defaults | named)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


def _constraint(parameter: Parameter) -> list[Any]:
    """What scikit-learn checks a parameter by."""
    allowed: list[Any] = [callable] if parameter.or_function else []
    if parameter.choices:
        words = {choice for choice in parameter.choices if choice is not None}
        allowed.append(StrOptions(words))
        return [*allowed, None] if None in parameter.choices else allowed
    if isinstance(parameter.default, bool):
        return [*allowed, "boolean"]
    left = parameter.above if parameter.least is None else parameter.least
    right = parameter.below if parameter.most is None else parameter.most
    ends = (parameter.least is not None, parameter.most is not None)
    closed = {(True, True): "both", (True, False): "left", (False, True): "right"}
    return [*allowed, Interval(Real, left, right, closed=closed.get(ends, "neither"))]


def _docstring(records: tuple[Rule, ...]) -> str:
    """Summary, parameters, the mathematics of each rule, and an example."""
    first = records[0]
    lines = [textwrap.dedent(f"    {first.summary}"), "", "Parameters", "----------"]
    for name, parameter in first.parameters.items():
        kind, _, meaning = parameter.meaning.partition(". ")
        lines += [f"{name} : {kind.rstrip('.')}"]
        lines += textwrap.wrap(meaning, 92, initial_indent="    ", subsequent_indent="    ")
    lines += [f"**others : {_SHARED}", ""]
    lines += [_VARIANCES] if first.storage.has_variances else []
    lines += ["Notes", "-----"]
    for record in records:
        fixed = ", ".join(f"{name}={value!r}" for name, value in record.fixed.items())
        lines += [f"Rule ``{record.name}``" + (f" ({fixed}):" if fixed else ":"), ""]
        facts = {"updates if": record.condition, "update": record.update}
        facts |= {"bound": record.bound, "paper": record.paper}
        for fact, text in facts.items():
            lines += textwrap.wrap(f"- {fact}: {text}", 96, subsequent_indent="  ")
        lines.append("")
    if first.example:
        lines += ["Examples", "--------", textwrap.dedent(first.example.removeprefix("\\\n"))]
    return "\n".join(lines).rstrip() + "\n"


def estimator_of(text: str, **parameters: Any) -> Any:
    """The estimator of a rule such as ``"arow"`` or ``"scw1:C=0.5,confidence=0.8"``.

    Other `parameters` are defaults. The rule is bare: columns are not scaled unless they say so.

    >>> estimator_of("scw2:C=0.5")
    SCW(C=0.5, scale=None, variant='II')
    >>> estimator_of("arrow")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: there is no rule 'arrow'; there are perceptron, ogd, adagrad, ftrl, pa1, ...
    """
    record, values = parse(text)
    estimator = estimator_class(record.estimator)
    make = getattr(estimator, "textbook", estimator)  # the perceptron as the notes have it
    model = make(**{"scale": None, **parameters, **record.fixed})
    for name in values:
        if name not in model.get_params():
            raise ValueError(f"the rule {record.name!r} has no parameter {name!r}")
    model.set_params(**values)
    model._check_parameters()
    return model


for _name in estimators():
    estimator_class(_name)
