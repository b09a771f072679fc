"""The lift of tables as a transformer of scikit-learn: what ``rosenblatt train`` learns from."""

from __future__ import annotations

import math
import re
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rosenblatt.kernels.packing import Numbering
from rosenblatt.kernels.text import column
from rosenblatt.lifts.tables import Array, Lifted, TableLift

_BITS = 22


class Lift(TransformerMixin, BaseEstimator):
    """Numbers as piecewise linear curves, and pairs of columns as surfaces, in sparse rows.

    Each number keeps its straight entry, and is near two of its knots, at several resolutions; each
    pair of columns has an entry for the pair of bins that a row falls into, at several resolutions.
    Columns that are not numbers are categories. Missing values (NaN, None) are a level.

    Parameters
    ----------
    kind : {"knots", "pairs"}
        Curves of single columns, or also surfaces of pairs, and triples that clearly matter.

    Attributes
    ----------
    lift_ : TableLift
        The knots, the edges of the bins and the pairs.
    n_features_in_ : int
        The number of columns.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from rosenblatt import Perceptron
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> model = make_pipeline(Lift("pairs"), Perceptron(random_state=0)).fit(X[:1000], y[:1000])
    >>> bool(model.score(X[1000:], y[1000:]) > 0.9)
    True
    """

    def __init__(self, kind: str = "pairs") -> None:
        self.kind = kind

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose knots, bins and pairs; by the labels y triples, and of very many pairs some."""
        if self.kind not in ("knots", "pairs"):
            raise ValueError(f"kind is 'knots' or 'pairs', got {self.kind!r}.")
        names, cells = _columns(X)
        self.n_features_in_ = len(names)
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.array(names, dtype=object)
        by_name = dict(zip(names, cells, strict=True))
        numbers = {name: cell for name, cell in by_name.items() if cell.dtype != object}
        levels = {name: _levels(x) for name, x in by_name.items() if name not in numbers}
        classes = None if y is None else np.unique(np.asarray(y), return_inverse=True)[1]
        self.lift_ = TableLift.fit(numbers, levels, names, classes, pairs=self.kind == "pairs")
        self._scales = {name: _mean_and_scale(x) for name, x in numbers.items()}
        self.lift_ = self.lift_.balanced(*self._straight(by_name))
        lifted = self._lifted(by_name)
        self._columns = np.unique(lifted.rows.indices)
        self._names = self._spelled({name: names for name, (_, names) in levels.items()})
        return self

    def transform(self, X: Any) -> sparse.csr_array:
        """The lifted rows; what did not occur in `fit` is left out."""
        check_is_fitted(self)
        names, cells = _columns(X)
        if len(names) != self.n_features_in_:
            raise ValueError(
                f"X has {len(names)} features, but Lift is expecting {self.n_features_in_} "
                "features as input."
            )
        names = [*getattr(self, "feature_names_in_", _numbered(len(names)))]
        lifted = self._lifted(dict(zip(names, cells, strict=True)))
        indptr, columns, values = lifted.rows
        numbering = Numbering(1 << _BITS, self._columns)
        places = numbering.places_of(columns)
        is_known = places >= 0
        ends = np.concatenate([[0], np.cumsum(is_known)])[indptr.astype(np.int64)]
        shape = (len(indptr) - 1, len(self._columns))
        rows = sparse.csr_array((values[is_known], places[is_known], ends), shape=shape)
        rows.sum_duplicates()
        return rows

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names such as ``age``, ``age~28``, near a knot, and ``age 28..37 × job=tech``.

        The columns of an array are called x0, x1, ... unless `input_features` says how.
        """
        check_is_fitted(self)
        named = [self._names.get(int(at), str(at)) for at in self._columns]
        if input_features is not None and not hasattr(self, "feature_names_in_"):
            if len(input_features) != self.n_features_in_:
                raise ValueError("input_features should have length equal to number of features")
            called = re.compile(r"\bx(\d+)(?=$|[~= ])")
            named = [called.sub(lambda m: str(input_features[int(m[1])]), name) for name in named]
        return np.array(named, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    def _lifted(self, cells: dict[str, Array]) -> Lifted:
        """The lifted rows."""
        return self.lift_.rows(*self._straight(cells), _BITS)

    def _straight(self, cells: dict[str, Array]) -> tuple[Array, Array, Any, Any]:
        """The straight entries of rows, their values, the numbers, and where columns are."""
        n, m = len(next(iter(cells.values()))), len(cells)
        straight = np.empty((n, m), np.uint32)
        values = np.full((n, m), 1.0 / math.sqrt(m), np.float32)
        places: dict[str, tuple[int, int]] = {}
        for j, (name, cell) in enumerate(cells.items()):
            gone = column([f"{name}=?"], _BITS)
            places[name] = j, gone
            if name in self._scales:
                x, (mean, scale) = cell.astype(float), self._scales[name]
                straight[:, j] = np.where(np.isnan(x), gone, column([f"{name}="], _BITS))
                values[:, j] *= np.where(np.isnan(x), 1.0, (x - mean) / scale)
            else:
                codes, levels = _levels(cell)
                hashed = [column([f"{name}={level}"], _BITS) for level in levels]
                straight[:, j] = np.array([*hashed, gone], np.uint32)[codes]
        numbers = {name: cells[name].astype(float) for name in self._scales}
        return straight, values, numbers, places

    def _spelled(self, levels: dict[str, list[str]]) -> dict[int, str]:
        """The names of the columns of rows."""
        spelled, hashed = self.lift_.knot_names(_BITS), dict[str, dict[str, int]]()
        for name in [*self._scales, *levels]:
            named = [*levels.get(name, ()), "?"]
            hashed[name] = {x: column([f"{name}={x}"], _BITS) for x in named}
            spelled |= {at: f"{name}={x}" for x, at in hashed[name].items()}
            if name in self._scales:
                spelled[column([f"{name}="], _BITS)] = name
        return spelled | self.lift_.pair_names(hashed, _BITS, self._columns)


def _columns(X: Any) -> tuple[list[str], list[Array]]:
    """The names and cells of the columns of an array, a frame, or lists of rows."""
    if sparse.issparse(X):
        raise TypeError("Lift takes dense rows; sparse ones have too many columns to pair.")
    if hasattr(X, "columns"):
        names = [str(name) for name in X.columns]
        cells = [np.asarray(X[name]) for name in X.columns]
    else:
        rows = np.asarray(X)
        if rows.ndim != 2:
            raise ValueError(
                f"Expected 2D array, got {rows.ndim}D array instead. Reshape your data."
            )
        names, cells = _numbered(rows.shape[1]), list(rows.T)
    if not cells or not len(cells[0]):
        raise ValueError(f"Found array with 0 {'sample(s)' if cells else 'feature(s)'}.")
    return names, [_typed(cell) for cell in cells]


def _numbered(count: int) -> list[str]:
    return [f"x{j}" for j in range(count)]


def _typed(cell: Array) -> Array:
    """Cells as floats if all of them are numbers or missing, else as objects."""
    if cell.dtype.kind in "biuf":
        numbers = cell.astype(float)
        if np.isinf(numbers).any():
            raise ValueError("Input X contains infinity or a value too large.")
        return numbers
    return cell.astype(object)


def _levels(cell: Array) -> tuple[Array, list[str]]:
    """The codes of categories, -1 for a missing one, and their names."""
    spelled = [None if x is None or x != x else str(x) for x in cell]
    numbers = {x: i for i, x in enumerate(dict.fromkeys(x for x in spelled if x is not None))}
    return np.array([-1 if x is None else numbers[x] for x in spelled]), list(numbers)


def _mean_and_scale(x: Array) -> tuple[float, float]:
    present = x[~np.isnan(x)]
    if not len(present):
        return 0.0, 1.0
    mean, scale = float(present.mean()), float(present.std())
    return mean, scale if scale > 1e-12 * max(1.0, abs(mean)) else 1.0
