"""Maps to more features, which may make inseparable rows separable."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

LIFTS = ("none", "products", "polynomial", "rbf")
LANDMARKS = 20
MOST_LIFTED = 5_100  # all products of two of the 100 features that a session may have


class FeatureMap:
    """A map of rows, fitted to the rows of a session.

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
        self.kind, self.degree, self.gamma = kind, degree, gamma
        self.names: tuple[str, ...] = ()
        self._map: Any = None

    def fit(self, X: Any, names: tuple[str, ...]) -> FeatureMap:
        """Fit the map to the rows and name its features."""
        if self.kind == "none":
            self.names = names
            return self
        made = 0 if self.kind == "rbf" else comb(len(names) + self._degree, self._degree) - 1
        if made > MOST_LIFTED + len(names):
            raise ValueError(f"the lift would make {made:,} features; choose a lower degree")
        self._map = _transformer(self.kind, self.degree, self.gamma, len(X)).fit(X)
        if self.kind == "rbf":
            self.names = tuple(f"near {i + 1}" for i in range(self._map.n_components))
        else:
            spelled = self._map.get_feature_names_out([f"<{j}>" for j in range(len(names))])
            self.names = tuple(_spell(name, names) for name in spelled)
        return self

    @property
    def _degree(self) -> int:
        return 2 if self.kind == "products" else self.degree

    def __call__(self, X: Any) -> Any:
        """Map rows to the new features."""
        rows = np.asarray(X, dtype=float)
        return rows if self._map is None else self._map.transform(rows)

    def code(self, n: int) -> list[str]:
        """Python code for the same map of `n` rows."""
        if self.kind == "none":
            return []
        if self.kind == "rbf":
            count = min(n, LANDMARKS)
            made = f"Nystroem(gamma={self.gamma!r}, n_components={count}, random_state=0)"
            return ["from sklearn.kernel_approximation import Nystroem", f"lift = {made}.fit(X)"]
        products = self.kind == "products"
        options = f"degree={self._degree}, interaction_only={products}, include_bias=False"
        made = f"PolynomialFeatures({options})"
        return ["from sklearn.preprocessing import PolynomialFeatures", f"lift = {made}.fit(X)"]


def _transformer(kind: str, degree: int, gamma: float, n: int) -> Any:
    if kind == "rbf":
        from sklearn.kernel_approximation import Nystroem

        return Nystroem(gamma=gamma, n_components=min(n, LANDMARKS), random_state=0)
    from sklearn.preprocessing import PolynomialFeatures

    if kind == "products":
        return PolynomialFeatures(degree=2, interaction_only=True, include_bias=False)
    return PolynomialFeatures(degree=degree, include_bias=False)


def _spell(name: str, names: tuple[str, ...]) -> str:
    """Translate scikit-learn's ``<0>^2 <1>`` to feature names with ² and ·."""
    factors = []
    for factor in name.split(" "):
        base, _, power = factor.partition("^")
        factors.append(names[int(base[1:-1])] + {"": "", "2": "²", "3": "³", "4": "⁴"}[power])
    return "·".join(factors)
