"""What the estimators of the family share: everything but the rule."""

from __future__ import annotations

import inspect
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from rosenblatt import rules
from rosenblatt.estimators._checks import CONSTRAINTS
from rosenblatt.estimators._linear_training import LinearTraining
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.family import Family
from rosenblatt.learners.family_full import FullFamily

POSITIVE = Interval(Real, 0, None, closed="neither")

_SHARED: dict[str, Any] = {
    "multiclass": "ovr",
    "keep": "last",
    "fit_intercept": True,
    "intercept_scaling": 1.0,
    "feature_rates": None,
    "shuffle": True,
    "max_iter": 1000,
    "tol": 1e-3,
    "early_stopping": False,
    "validation_fraction": 0.1,
    "n_iter_no_change": 5,
    "calibrate": None,
    "class_weight": None,
    "n_jobs": None,
    "random_state": None,
    "warm_start": False,
    "verbose": 0,
    "callbacks": None,
}
_CONSTRAINTS: dict[str, list[Any]] = {
    **{name: CONSTRAINTS[name] for name in _SHARED if name in CONSTRAINTS},
    "keep": [StrOptions({"last", "average", "late_average", "best"})],
    "fit_intercept": ["boolean"],
    "intercept_scaling": [POSITIVE],
    "feature_rates": [StrOptions({"idf"}), "array-like", None],
    "n_jobs": [Integral, None],
}


def family_learner(
    estimator: LinearTraining, rule: Any, examples: Examples, n_classes: int, multiclass: str,
    threads: int, full: bool = False,
) -> Family:  # fmt: skip
    """A learner of a member of the family, as the parameters of an estimator want it."""
    kind = FullFamily if full else Family
    return kind(
        rule,
        n_classes,
        examples.n_features,
        multiclass=multiclass,
        padding=estimator._rule(n_classes)[1],
        averaging=estimator._averages(),
        rates=estimator._rates(examples),
        dtype=examples.dtype,
        dense=examples.is_dense,
        threads=threads,
    )


class FamilyClassifier(LinearTraining):
    """A linear classifier that learns by a rule of the family.

    A subclass says which: its own parameters with their defaults, what they may be, and
    `_member_rule`. The parameters that all share, and the attributes of a fitted model, are those
    of :class:`rosenblatt.Perceptron` of the same names.
    """

    _own: ClassVar[dict[str, Any]] = {}
    _own_constraints: ClassVar[dict[str, list[Any]]] = {}

    # What the perceptron has parameters for, and no other member.
    mistake, threshold, update, max_updates = "margin", 0.0, "online", None
    eta0: Any = 1.0
    learning_rate: Any = "constant"

    def __init__(self, **parameters: Any) -> None:
        for name, value in parameters.items():
            setattr(self, name, value)

    def __init_subclass__(cls) -> None:
        """Give a subclass a constructor of its own and the shared parameters, as scikit-learn's."""
        super().__init_subclass__()
        kind = inspect.Parameter
        own = [kind(n, kind.POSITIONAL_OR_KEYWORD, default=v) for n, v in cls._own.items()]
        shared = [kind(n, kind.KEYWORD_ONLY, default=v) for n, v in _SHARED.items()]
        signature = inspect.Signature([kind("self", kind.POSITIONAL_ONLY), *own, *shared])

        def __init__(*arguments: Any, **named: Any) -> None:  # noqa: N807
            bound = signature.bind(*arguments, **named)
            bound.apply_defaults()
            self = bound.arguments.pop("self")
            FamilyClassifier.__init__(self, **bound.arguments)

        __init__.__signature__ = signature  # type: ignore[attr-defined]
        cls.__init__ = __init__  # type: ignore[method-assign]
        cls._parameter_constraints = {**_CONSTRAINTS, **cls._own_constraints}

    def _member_rule(self) -> Any:
        """The named tuple of the member and its parameters."""
        raise NotImplementedError

    def _learner_of(
        self, examples: Examples, n_classes: int, multiclass: str, threads: int
    ) -> Any:  # fmt: skip
        rule, full = self._member_rule(), self._is_full()
        return family_learner(self, rule, examples, n_classes, multiclass, threads, full)

    def _is_full(self) -> bool:
        return getattr(self, "covariance", "diagonal") == "full"

    def _screens(self) -> bool:
        return False

    def _packed(self, examples: Examples) -> Examples:
        return examples if self._is_full() else super()._packed(examples)

    @property
    def variances_(self) -> np.ndarray:
        """The variances of the weights, (problems, features); the covariances if they are full.

        Only members that keep variances have them.
        """
        if type(self._member_rule()).__name__ not in rules.SECOND_ORDER:
            raise AttributeError(f"{type(self).__name__} keeps no variances.")
        cells = self.state_.cells
        return cells if self._is_full() else cells[..., 1]
