"""Feature maps, which may make inseparable rows separable."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

LIFTS = ("none", "products", "polynomial", "rbf")
LANDMARKS = 20
MOST_LIFTED = 5_100  # all products of two of the 100 features that a session may have
_EXPONENTS = ("", "", "²", "³", "⁴")


class FeatureMap:
    """A feature map, fitted to the rows of a session.

    Parameters
    ----------
    kind : {"none", "products", "polynomial", "rbf"}
        No map; all products of two different features; all products up to a degree; or radial
        basis functions around some of the rows.
    degree, gamma
        The degree of the polynomial; the gamma of the radial basis functions.

    Examples
    --------
    >>> lift = FeatureMap("products").fit([[0.0, 1.0], [2.0, 3.0]], ("p", "q"))
    >>> lift.names, lift([[2.0, 3.0]]).tolist()
    (('p', 'q', 'p·q'), [[2.0, 3.0, 6.0]])
    """

    def __init__(self, kind: str = "none", degree: int = 2, gamma: float = 1.0) -> None:
        self.kind, self.gamma = kind, gamma
        self.degree = 2 if kind == "products" else degree
        self.names: tuple[str, ...] = ()
        self._map: Any = None

    def fit(self, X: Any, names: tuple[str, ...]) -> FeatureMap:
        """Fit the map to the rows and name its features."""
        self.names = names
        if self.kind == "rbf":
            from sklearn.kernel_approximation import Nystroem

            count = min(len(X), LANDMARKS)
            self._map = Nystroem(gamma=self.gamma, n_components=count, random_state=0).fit(X)
            self.names = tuple(f"near {i + 1}" for i in range(count))
        elif self.kind != "none":
            from sklearn.preprocessing import PolynomialFeatures

            made = comb(len(names) + self.degree, self.degree) - 1
            if made > MOST_LIFTED + len(names):
                raise ValueError(f"the lift would make {made:,} features; choose a lower degree")
            products_only = self.kind == "products"
            self._map = PolynomialFeatures(
                self.degree, interaction_only=products_only, include_bias=False
            ).fit(X)
            self.names = tuple(_product(powers, names) for powers in self._map.powers_)
        return self

    def __call__(self, X: Any) -> Any:
        """Map rows to the new features."""
        rows = np.asarray(X, dtype=float)
        return rows if self._map is None else self._map.transform(rows)

    def code(self) -> list[str]:
        """Python code for the same map: its import, and the map itself as ``lift``."""
        if self._map is None:
            return []
        transformer = type(self._map)
        module = transformer.__module__.partition("._")[0]
        imported = f"from {module} import {transformer.__name__}"
        return [imported, f"lift = {self._map!r}.fit(X)"]


def _product(powers: Any, names: tuple[str, ...]) -> str:
    """The name of a product of features, such as ``p²·q``."""
    return "·".join(names[j] + _EXPONENTS[powers[j]] for j in np.flatnonzero(powers))
