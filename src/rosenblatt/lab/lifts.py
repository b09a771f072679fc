"""Feature maps, which may make inseparable rows separable."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from rosenblatt.lifts.registry import LIFTS, product_name

LANDMARKS = 20
MOST_LIFTED = 1_300  # all products of two of 50 features: 500 such points take 300 MB to decide


class FeatureMap:
    """A feature map, fitted to the rows of a session.

    Parameters
    ----------
    kind : {"none", "products", "polynomial", "rbf", "knots", "pairs"}
        No map; all products of two different features; all products up to a degree; radial basis
        functions around some of the rows; or curves of each feature, and surfaces of two.
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
        record, landmarks = LIFTS[self.kind], min(len(X), LANDMARKS)
        options = {"degree": self.degree, "gamma": self.gamma, "landmarks": landmarks}
        if self.kind == "none":
            return self
        if {"products", "polynomial"} & {self.kind}:
            made = comb(len(names) + self.degree, self.degree) - 1
            if made > MOST_LIFTED + len(names):
                raise ValueError(f"the lift would make {made:,} features; choose a lower degree")
        takes = {name: value for name, value in options.items() if name in record.parameters}
        self._map = record.make(**takes).fit(np.asarray(X, dtype=float))
        if self.kind == "rbf":
            self.names = tuple(f"near {i + 1}" for i in range(landmarks))
        elif hasattr(self._map, "powers_"):
            self.names = tuple(product_name(powers, names) for powers in self._map.powers_)
        else:
            self.names = tuple(self._map.get_feature_names_out(names).tolist())
        return self

    def __call__(self, X: Any) -> Any:
        """Map rows to the new features."""
        rows = np.asarray(X, dtype=float)
        if self._map is None:
            return rows
        lifted = self._map.transform(rows)
        return lifted if isinstance(lifted, np.ndarray) else lifted.toarray()
