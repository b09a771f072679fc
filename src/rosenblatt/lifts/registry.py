"""The table of lifts: their names, parameters with bounds, and the transformers that they are.

:func:`rosenblatt.find_lift`, the lab and the course make their feature maps of these records;
``rosenblatt train`` has the lifts of tables, knots and pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rosenblatt.rules.registry import Parameter

_EXPONENTS = ("", "", "²", "³", "⁴")


@dataclass(frozen=True)
class Record:
    """A lift.

    Attributes
    ----------
    name, title : str
        Its name as an option, and in tables.
    make : callable
        The transformer of scikit-learn for values of its parameters, not fitted.
    parameters : dict of Parameter
        What it may be made with.
    takes_sparse, of_tables : bool
        Whether it maps sparse rows, and whether ``train`` can lift tables by it.
    """

    name: str
    title: str
    make: Callable[..., Any]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    takes_sparse: bool = False
    of_tables: bool = False


def _straight() -> Any:
    from sklearn.preprocessing import FunctionTransformer

    return FunctionTransformer(accept_sparse=True)


def _products() -> Any:
    from sklearn.preprocessing import PolynomialFeatures

    return PolynomialFeatures(2, interaction_only=True, include_bias=False)


def _polynomial(degree: int = 2) -> Any:
    from sklearn.preprocessing import PolynomialFeatures

    return PolynomialFeatures(degree, include_bias=False)


def _rbf(gamma: float = 1.0, landmarks: int = 20, random_state: Any = 0) -> Any:
    from sklearn.kernel_approximation import Nystroem

    return Nystroem(gamma=gamma, n_components=landmarks, random_state=random_state)


def _knots() -> Any:
    from rosenblatt.lifts.transformer import Lift

    return Lift("knots")


def _pairs() -> Any:
    from rosenblatt.lifts.transformer import Lift

    return Lift("pairs")


_DEGREE = Parameter(2, "int. The most factors of a product.", least=2, most=4)
_RBF = {
    "gamma": Parameter(1.0, "float. exp(-γ‖x - z‖²).", least=1e-3, most=1e3),
    "landmarks": Parameter(20, "int. The number of rows z, drawn at random.", least=1),
    "random_state": Parameter(0, "int. The seed of the draw."),
}
LIFTS = {
    record.name: record
    for record in (
        Record("none", "identity", _straight, takes_sparse=True, of_tables=True),
        Record("products", "pairwise products", _products, takes_sparse=True),
        Record("polynomial", "polynomials", _polynomial, {"degree": _DEGREE}, takes_sparse=True),
        Record("rbf", "RBF features", _rbf, _RBF),
        Record("knots", "knots", _knots, of_tables=True),
        Record("pairs", "knots and pairs", _pairs, of_tables=True),
    )
}


def product_name(powers: Any, names: tuple[str, ...]) -> str:
    """The name of a product of features.

    >>> product_name([2, 1, 0], ("p", "q", "r"))
    'p²·q'
    """
    return "·".join(
        name + _EXPONENTS[power] for name, power in zip(names, powers, strict=True) if power
    )
