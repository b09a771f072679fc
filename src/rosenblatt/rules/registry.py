"""A learning rule is one record; the table of all rules, those of the package and of users.

From the record come the estimator, the name for ``train(rule=...)`` and ``--rule``, the compiled
kernels, the reference, the comparison and the table of the guide. A module of this package lists
its records in ``RULES``; :func:`register` adds one of a user.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import re
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import CodeType, FunctionType
from typing import Any

from rosenblatt.rules.storage import PLAIN, STORAGES, Storage


@dataclass(frozen=True)
class Parameter:
    """A parameter of a rule: its default, its meaning, and what it may be.

    Attributes
    ----------
    default : number, str, bool or None
    meaning : str
        For the documentation; it may begin with the type: ``"float. The largest step."``.
    above, least, below, most : float, optional
        Bounds of a number, exclusive (`above`, `below`) or inclusive.
    choices : tuple
        The allowed values, if they are few.
    or_function : bool
        Whether it may be a function, too.
    """

    default: Any
    meaning: str = ""
    above: float | None = None
    least: float | None = None
    below: float | None = None
    most: float | None = None
    choices: tuple[Any, ...] = ()
    or_function: bool = False


def no_limit(numbers: Any) -> float:
    """Infinity: the margin alone does not tell whether there is an update."""
    return math.inf


def no_penalty(numbers: Any, steps: float) -> float:
    """No penalty on the sum of gradients."""
    return 0.0


@dataclass(frozen=True)
class Rule:
    """A learning rule.

    It computes the *margin* ``m = y·(w·x + b)`` of an example, and from it τ, and β with variances.
    Then ``w += τ·y·Σx`` and ``Σ -= β·Σx·xᵀΣ``, with Σ = I without variances.

    Attributes
    ----------
    name : str
        For ``train(rule=...)``, ``--rule`` and :func:`rosenblatt.compare`.
    estimator : str
        The name of the class. Several rules may share one, told apart by `fixed`.
    step : callable
        ``step(numbers, margin, square, weight, eta)`` returns τ, with variances (τ, β); 0 is no
        update. `square` is ``‖(x,c)‖²`` or the variance of the padded example, `weight`
        the sample weight, `eta` the learning rate.
    numbers : class
        The named tuple of the numbers that the functions get first.
    storage : Storage
        What is cells per feature: the weight; its variance, too; or the sum z of the gradients
        ``-τ·y·x`` and the sum n of their squares, of which `weight` makes the weight; or another.
    parameters : dict of Parameter
        Those of the estimator.
    fixed : dict
        The values of parameters by which `name` is told from other rules of the estimator.
    numbers_of : callable, optional
        The numbers by the parameters, which are keyword arguments.
    weight, increment, penalty : callables
        With adaptive storage: ``weight(numbers, z, n, penalty)``, 0 for z = 0;
        ``increment(numbers, g, n, w)`` of z for a gradient g; and ``penalty(numbers, steps)``.
    limit : callable
        ``limit(numbers)`` is a margin above which there is no update.
    uses_square : bool
        Whether the step looks at `square`.
    decays : bool
        Whether all weights are multiplied by ``1 - η·numbers.l2`` after each step.
    condition, update, bound, paper : str
        When it updates, and how; what is proved, and by whom.
    summary, example : str
        The beginning of the estimator's docstring, and its example.
    """

    name: str
    estimator: str
    step: Callable[..., Any]
    numbers: type
    storage: Storage = PLAIN
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    numbers_of: Callable[..., Any] | None = None
    weight: Callable[..., Any] | None = None
    increment: Callable[..., Any] | None = None
    penalty: Callable[..., Any] = no_penalty
    limit: Callable[..., Any] = no_limit
    uses_square: bool = True
    decays: bool = False
    condition: str = ""
    update: str = ""
    bound: str = ""
    paper: str = ""
    summary: str = ""
    example: str = ""

    @property
    def functions(self) -> Iterator[Callable[..., Any]]:
        """The functions that kernels call."""
        functions = (self.step, self.limit, self.weight, self.increment, self.penalty)
        return (function for function in functions if function is not None)

    def with_parameters(self, **parameters: Any) -> Any:
        """The numbers for these parameters; others have their defaults.

        >>> rules()["arow"].with_parameters(r=0.5)
        Arow(r=0.5)
        """
        values = {name: parameter.default for name, parameter in self.parameters.items()}
        values |= dict(self.fixed) | parameters
        # Kernels take floats: a whole number would be another type, and might not fit a word.
        floats = {name: float(v) if type(v) is int else v for name, v in values.items()}
        return (self.numbers_of or self.numbers)(**floats)


_registered: dict[str, Rule] = {}
_by_numbers: dict[type, Rule] = {}


@cache
def _packaged() -> dict[str, Rule]:
    """The rules of this package: the perceptron, then those of each module."""
    package = __name__.rpartition(".")[0]
    records = [
        record
        for module in iter_modules(import_module(package).__path__)
        for record in getattr(import_module(f"{package}.{module.name}"), "RULES", ())
    ]
    records.sort(key=lambda record: record.estimator != "Perceptron")
    _by_numbers.update((record.numbers, record) for record in records)
    return {record.name: record for record in records}


def rules() -> dict[str, Rule]:
    """All rules by name.

    >>> list(rules())[:4]
    ['perceptron', 'ogd', 'adagrad', 'ftrl']
    """
    return _packaged() | _registered


def parse(text: str) -> tuple[Rule, dict[str, Any]]:
    """A rule and the parameters given in a text such as ``"scw1:C=0.5,confidence=0.8"``.

    >>> record, parameters = parse("pa2:C=0.5")
    >>> record.estimator, parameters
    ('PassiveAggressive', {'C': 0.5})
    >>> parse("pa2:C=-1")
    Traceback (most recent call last):
    ...
    ValueError: the 'C' parameter of the rule 'pa2' must be above 0, got -1.0
    """
    name, _, settings = text.partition(":")
    known = rules()
    if name not in known:
        raise ValueError(f"there is no rule {name!r}; there are {', '.join(known)}")
    record, parameters = known[name], {}
    settable = [key for key in record.parameters if key not in record.fixed]
    for entry in filter(None, settings.split(",")):
        key, equals, value = entry.partition("=")
        if record.parameters and (not equals or key not in settable):
            raise ValueError(
                f"the rule {name!r} has the parameters {', '.join(settable)}, not {entry!r}"
            )
        parameters[key] = _value(value)
        if key in settable:
            _check_value(record, key, parameters[key])
    return record, parameters


def _value(text: str) -> Any:
    """True, False, None or a number, if the text is one; else the text."""
    constants = {"true": True, "false": False, "none": None}
    if text.lower() in constants:
        return constants[text.lower()]
    try:
        return float(text)
    except ValueError:
        return text


def _check_value(record: Rule, key: str, value: Any) -> None:
    """Refuse a value that the parameter of a rule does not take."""
    parameter = record.parameters[key]
    allowed, is_number = "", isinstance(value, float)
    if parameter.choices:
        allowed = "" if value in parameter.choices else f"one of {parameter.choices}"
    elif isinstance(parameter.default, bool):
        allowed = "" if isinstance(value, bool) else "true or false"
    elif not is_number or math.isnan(value):
        allowed = "a number"
    elif parameter.above is not None and not value > parameter.above:
        allowed = f"above {parameter.above:g}"
    elif parameter.least is not None and not value >= parameter.least:
        allowed = f"at least {parameter.least:g}"
    elif parameter.below is not None and not value < parameter.below:
        allowed = f"below {parameter.below:g}"
    elif parameter.most is not None and not value <= parameter.most:
        allowed = f"at most {parameter.most:g}"
    if allowed:
        raise ValueError(
            f"the {key!r} parameter of the rule {record.name!r} must be {allowed}, got {value!r}"
        )


def rule_of(numbers: type) -> Rule:
    """The rule whose numbers are of this class."""
    if numbers not in _by_numbers:
        _packaged()
    return _by_numbers[numbers]


def estimators() -> dict[str, list[Rule]]:
    """The rules of each estimator, by the name of the class.

    >>> [record.name for record in estimators()["PassiveAggressive"]]
    ['pa1', 'pa', 'pa2']
    """
    groups: dict[str, list[Rule]] = {}
    for record in rules().values():
        groups.setdefault(record.estimator, []).append(record)
    return groups


def register(
    name: str,
    step: Callable[..., Any],
    *,
    parameters: Mapping[str, Parameter | float] | None = None,
    storage: str | Storage = "plain",
    weight: Callable[..., Any] | None = None,
    increment: Callable[..., Any] | None = None,
    penalty: Callable[..., Any] = no_penalty,
    estimator: str | None = None,
    condition: str = "",
    update: str = "",
    bound: str = "",
    paper: str = "",
    summary: str = "",
) -> Any:
    """Add a learning rule, made of plain functions of numbers; returns its estimator.

    The functions are compiled when the rule is first used, so they may use numbers, the functions
    of :mod:`math`, and functions of the same kind. The rule then has a name everywhere:
    ``train(rule=name)``, ``compare``, :func:`rosenblatt.reference.family`. Register it in every
    process that uses it; registering a name again replaces the rule.

    Parameters
    ----------
    name : str
        A word such as ``"winnow"``.
    step, storage, weight, increment, penalty, condition, update, bound, paper, summary
        As for :class:`Rule`. The numbers that the functions get first are the parameters. Without
        `increment` the sum z grows by the gradient. A storage is ``"plain"``, ``"variances"`` or
        ``"adaptive"``, or a :class:`~rosenblatt.rules.storage.Storage` of your own.
    parameters : dict of numbers or Parameter, optional
        The parameters of the estimator, which must be numbers, and their defaults.
    estimator : str, optional
        The name of the class, by default the name in camel case.

    Returns
    -------
    class
        The estimator, a scikit-learn classifier.

    Examples
    --------
    >>> from rosenblatt import rules
    >>> def step(p, margin, square, weight, eta):
    ...     return p.rate * weight if margin < p.wanted else 0.0
    >>> Cautious = rules.register("cautious", step, parameters={"rate": 0.5, "wanted": 2.0})
    >>> model = Cautious(max_iter=1, tol=None, shuffle=False, scale=None, keep="last")
    >>> model.fit([[2.0, 1.0], [-1.0, 1.0]], [1, 0]).coef_
    array([[1.5, 0. ]])
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in _packaged():
        raise ValueError(
            f"A rule needs a name of its own, of small letters, digits and _; got {name!r}."
        )
    cells = STORAGES.get(storage) if isinstance(storage, str) else storage
    if not isinstance(cells, Storage):
        raise ValueError(f"storage must be one of {', '.join(STORAGES)}; got {storage!r}.")
    if cells.name == "adaptive" and weight is None:
        raise ValueError("A rule with adaptive storage needs weight, a function of z and n.")
    described = {
        key: value if isinstance(value, Parameter) else Parameter(float(value))
        for key, value in (parameters or {}).items()
    }
    functions: tuple[Any, ...] = (step, weight, increment or _gradient, penalty)
    if cells.name not in STORAGES:
        functions += cells.functions
    numbers = _numbers_class(name, tuple(described), functions, cells.depth)
    record = Rule(
        name=name,
        estimator=estimator or "".join(word.capitalize() for word in name.split("_")),
        step=step,
        numbers=numbers,
        storage=cells,
        parameters=described,
        weight=weight,
        increment=increment or _gradient,
        penalty=penalty,
        condition=condition,
        update=update,
        bound=bound,
        paper=paper,
        summary=summary or f"The rule {name!r}, registered by :func:`rosenblatt.rules.register`.",
    )
    _check(record)
    taken = estimators().get(record.estimator, [])
    if any(other.name != name for other in taken):
        raise ValueError(f"There is an estimator {record.estimator}: give estimator=NAME.")
    _by_numbers[numbers] = _registered[name] = record
    # The estimators are on a floor above: they are imported by name.
    return import_module("rosenblatt.estimators.family").estimator_class(record.estimator)


def _gradient(numbers: Any, g: float, n: float, w: float) -> float:
    """The gradient itself."""
    return g


def _check(record: Rule) -> None:
    """Call the functions once; a ValueError says what they return instead of numbers."""
    numbers = record.with_parameters()
    answer = record.step(numbers, -1.0, 1.0, 1.0, 1.0)
    pair = record.storage.has_variances
    sound = isinstance(answer, tuple) and len(answer) == 2 if pair else isinstance(answer, float)
    if not sound:
        asked = "a tuple of two floats (τ, β)" if pair else "a float, τ"
        raise ValueError(f"The step of {record.name!r} must return {asked}; got {answer!r}.")
    if record.weight is not None and record.weight(numbers, 0.0, 0.0, 0.0) != 0.0:
        raise ValueError(f"The weight of {record.name!r} must be 0 where z and n are 0.")


def _numbers_class(
    name: str, fields: tuple[str, ...], functions: tuple[Any, ...], depth: int
) -> type:
    """The named tuple of a registered rule, with a digest of its code for the cache of kernels."""
    numbers = namedtuple(f"numbers_of_{name}", fields, module=__name__)  # type: ignore[misc]
    digest = hashlib.sha256(f"{depth}".encode())
    for function in functions:
        for piece in _code_of(function, set()) if function is not None else ():
            digest.update(piece)
    numbers.code_digest = digest.hexdigest()  # type: ignore[attr-defined]
    return numbers


def _code_of(function: Callable[..., Any], seen: set[Any]) -> Iterator[bytes]:
    """The code of a function, of the functions it calls, and the numbers it refers to."""
    if function in seen:
        return
    seen.add(function)
    if inspect.getclosurevars(function).nonlocals:
        raise ValueError(f"{function.__name__} must not use variables of another function.")
    yield from _pieces(function.__code__)
    for used in function.__code__.co_names:
        value = function.__globals__.get(used)
        if isinstance(value, FunctionType):
            yield from _code_of(value, seen)
        elif isinstance(value, int | float):
            yield repr((used, value)).encode()


def _pieces(code: CodeType) -> Iterator[bytes]:
    yield code.co_code
    yield repr((code.co_names, code.co_varnames)).encode()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _pieces(constant)
        else:
            yield repr(constant).encode()


def __getattr__(name: str) -> Any:
    """The numbers of a registered rule, for pickled models."""
    rule = name.removeprefix("numbers_of_")
    if rule != name and rule in _registered:
        return _registered[rule].numbers
    if rule != name:
        raise AttributeError(f"The rule {rule!r} is not registered: call register first.")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
