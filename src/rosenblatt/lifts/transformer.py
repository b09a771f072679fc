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
from rosenblatt.lifts.tables import MOST_PAIRS, Array, Lifted, TableLift, best_pairs

_BITS = 22


class Lift(TransformerMixin, BaseEstimator):
    """Numbers as piecewise linear curves, and pairs of columns as surfaces, in sparse rows.

    Each number keeps its straight entry, and is near two of its knots, at several resolutions; each
    pair of columns has an entry for the pair of bins that a row falls into, at several resolutions.
    Columns that are not numbers are categories. Missing values (NaN, None) are a level.

    Parameters
    ----------
    kind : {"knots", "pairs"}
        Curves of single columns, or also surfaces of pairs.

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
        """Choose knots, bins and pairs; of very many pairs, by the labels y, those that help."""
        if self.kind not in ("knots", "pairs"):
            raise ValueError(f"kind is 'knots' or 'pairs', got {self.kind!r}.")
        names, cells = _columns(X)
        self.n_features_in_ = len(names)
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.array(names, dtype=object)
        by_name = dict(zip(names, cells, strict=True))
        numbers = {name: cell for name, cell in by_name.items() if cell.dtype != object}
        self.lift_ = TableLift.fit(numbers, names, pairs=self.kind == "pairs")
        if len(self.lift_.pairs) > MOST_PAIRS:
            self.lift_ = self.lift_.of_pairs(self._best_pairs(by_name, y))
        self._scales = {name: _mean_and_scale(x) for name, x in numbers.items()}
        straight, lifted = self._lifted(by_name)
        self._columns = np.unique(lifted.rows.indices)
        self._names = self._spelled(by_name, straight, lifted)
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
        _, lifted = self._lifted(dict(zip(names, cells, strict=True)))
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

    def _lifted(self, cells: dict[str, Array]) -> tuple[Array, Lifted]:
        """The straight entries of rows, and the lifted rows."""
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
                levels = [_level(value) for value in cell]
                hashed = {level: column([f"{name}={level}"], _BITS) for level in set(levels)}
                straight[:, j] = [hashed[level] for level in levels]
        numbers = {name: cells[name].astype(float) for name in self._scales}
        return straight, self.lift_.rows(straight, values, numbers, places, _BITS)

    def _best_pairs(self, cells: dict[str, Array], y: Any) -> list[tuple[int, int]]:
        codes = []
        for c in self.lift_.columns:
            cell = cells[c.name]
            if c.is_number:
                values: Array = np.searchsorted(c.edges, np.nan_to_num(cell, nan=np.inf))
            else:
                values = np.array([_level(value) for value in cell])
            codes.append(np.unique(values, return_inverse=True)[1])
        classes = np.unique(np.zeros(len(codes[0])) if y is None else y, return_inverse=True)[1]
        return best_pairs(np.array(codes), np.eye(classes.max() + 1)[classes])

    def _spelled(self, cells: dict[str, Array], straight: Array, lifted: Lifted) -> dict[int, str]:
        """The names of the columns of rows."""
        spelled, entries = self.lift_.knot_names(_BITS), self.lift_.entries
        for j, (name, cell) in enumerate(cells.items()):
            hashed, first = np.unique(straight[:, j], return_index=True)
            levels = {at: _level(cell[i]) for at, i in zip(hashed.tolist(), first, strict=True)}
            is_number = name in self._scales
            for at, level in levels.items():
                spelled[at] = name if is_number and level != "?" else f"{name}={level}"
        # The entries of pairs come last in each row.
        ends = lifted.rows.indptr[1:].astype(np.int64)
        pairs = lifted.rows.indices[ends[:, None] - entries + np.arange(entries)]
        hashed, first = np.unique(pairs.ravel(), return_index=True)
        for at, place in zip(hashed.tolist(), first.tolist(), strict=True):
            row, entry = divmod(place, entries)
            levels = {name: _level(cell[row]) for name, cell in cells.items()}
            numbers = {name: cells[name][row] for name in self._scales}
            spelled[at] = self.lift_.pair_name(entry, levels, numbers)
        return spelled


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


def _level(value: Any) -> str:
    """A category as text; a missing one is ``?``."""
    return "?" if value is None or value != value else str(value)


def _mean_and_scale(x: Array) -> tuple[float, float]:
    present = x[~np.isnan(x)]
    if not len(present):
        return 0.0, 1.0
    mean, scale = float(present.mean()), float(present.std())
    return mean, scale if scale > 1e-12 * max(1.0, abs(mean)) else 1.0
