"""Learning rates of features by inverse document frequency (IDF), and by their size."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rosenblatt.kernels.column_sums import packed_sums
from rosenblatt.kernels.rows import Csr, Dense, Packed
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.protocol import Array

SAMPLE = 4096  # rows that the frequencies are taken from
USUAL = 8.0  # a feature this much larger or smaller than most is measured by its own size


class IdfScales:
    """IDF scales of features.

    A feature that occurs in d of n rows has the scale ``log((2 + n) / (1 + d))``, one that never
    occurs ``log(2 + n)``, all times the constant that gives the rows a mean squared length of 1.
    Learning from scaled rows, with the scales multiplied into the weights afterwards, is learning
    with a rate per feature, the square of its scale: neither the rows nor the model need scales.

    Parameters
    ----------
    scales : float32 array
        The scale of each feature that occurred.
    rest : float
        The scale of all other features.
    usual : float
        The mean square of the values of most features; 0 where they do not matter, as for text.
    """

    def __init__(self, scales: Array, rest: float, usual: float = 0.0) -> None:
        self.scales, self.rest, self.usual = scales, rest, usual
        self._with_rest = np.append(scales, np.float32(rest))

    @classmethod
    def of_state(cls, state: Mapping[str, Array]) -> IdfScales | None:
        """The scales that a model keeps, if any; those of other features are its largest."""
        if "scale" not in state or not len(scales := state["scale"]):
            return None
        rest, usual = state["rest"] if "rest" in state else (scales.max(), 0.0)
        return cls(scales, float(rest), float(usual))

    def state(self, places: Array) -> dict[str, Array]:
        """What a model of some features keeps."""
        return {"scale": self.of_places(places), "rest": np.array([self.rest, self.usual])}

    @property
    def rates(self) -> Array:
        """The learning rate of each feature, the last for all further features."""
        return self._with_rest * self._with_rest

    def of_places(self, places: Array) -> Array:
        """The scales of some features."""
        return self._with_rest[np.minimum(places, np.uint32(len(self.scales)))]

    def with_sizes(self, frequencies: Array, squares: Array, first: int = 0) -> IdfScales:
        """With features that the sample lacks in units of their own values, if these are unusual.

        `frequencies` are the numbers of rows that have them, and `squares` the sums of squares, of
        features from the `first` on.

        >>> scales = IdfScales(np.ones(1, np.float32), 2.0, usual=1.0)
        >>> scales.with_sizes(np.array([1, 1, 1]), np.array([1.0, 4.0, 1e6])).scales.tolist()
        [1.0, 2.0, 0.0020000000949949026]
        """
        known = self.of_places(np.arange(first, first + len(frequencies), dtype=np.uint32))
        sizes = squares / np.maximum(frequencies, 1)
        is_odd = (known == np.float32(self.rest)) & (sizes > 0) & ~_is_usual(sizes, self.usual)
        if not self.usual or not is_odd.any():
            return self
        scales = self.of_places(np.arange(first + len(frequencies), dtype=np.uint32))
        scales[first:][is_odd] *= np.sqrt(self.usual / sizes[is_odd])
        return IdfScales(scales, self.rest, self.usual)


def idf_rates(examples: Examples) -> Array:
    """The squares of inverse document frequencies in the first 4,096 rows.

    >>> from rosenblatt.learners.examples import examples_of
    >>> idf_rates(examples_of(np.array([[1.0, 1.0], [1.0, 0.0]]), [0, 1])).round(2)
    array([0.26, 1.49, 5.95], dtype=float32)
    """
    return rarity_of(examples.rows, len(examples), examples.n_features).rates


def rarity_of(
    rows: Dense | Csr | Packed, n: int, n_features: int, is_text: bool = True
) -> IdfScales:
    """The scales of features by their frequencies in the first 4,096 of n rows."""
    n = min(n, SAMPLE)
    if isinstance(rows, Packed):
        return rarity_by(*packed_frequencies(rows, n), n, is_text)
    if isinstance(rows, Dense):
        X = rows.X[:n]
        return rarity_by(np.count_nonzero(X, axis=0), (X.astype(np.float64) ** 2).sum(axis=0), n)
    end = int(rows.pointers[n])
    columns, values = rows.columns[:end], rows.data[:end].astype(np.float64)
    frequencies = np.bincount(columns[values != 0], minlength=n_features)
    return rarity_by(frequencies, np.bincount(columns, values**2, n_features), n)


def packed_frequencies(rows: Packed, n: int, count: int = 0, first: int = 0) -> tuple[Array, Array]:
    """In how many of the first n packed rows each feature occurs, and its sum of squares.

    For all features from the `first` on that occur, and to the number `count`.
    """
    near, far, others = (int(end) for end in rows.pointers[n])
    parts = rows.near[:near], rows.far[:far], rows.columns[:others]
    end = max([count, first, *(int(part.max()) + 1 for part in parts if len(part))])
    counts, squares = np.zeros(end - first, np.int64), np.zeros(end - first)
    packed_sums(rows, np.uint64(n), np.uint32(first), counts, squares)
    return counts, squares


def rarity_by(frequencies: Array, squares: Array, n: int, is_text: bool = True) -> IdfScales:
    """The scales of features by the number of rows, of n, that have them, and sums of squares.

    Of rows that are not text, a feature may occur in every row and be in any unit: its scale is
    ``1 + log((2 + n) / (1 + d))``, divided by its root mean square in the rows that have it if that
    is more than 8 times the median of all features, or less than an eighth, else by the median.

    >>> rarity_by(np.array([9, 9, 9]), np.array([9.0, 9.0, 9e6]), 9, is_text=False).scales.tolist()
    [0.5773502588272095, 0.5773502588272095, 0.0005773502634838223]
    """
    logs = np.log((2 + n) / np.arange(1, frequencies.max(initial=0) + 2))[frequencies]
    rest, usual = np.log(2 + n), 0.0
    if not is_text:
        squared_sizes = squares / np.maximum(frequencies, 1)
        positive = np.sort(squared_sizes[squared_sizes > 0])
        # The median; that of NumPy imports masked arrays, which takes as long as 30,000 rows.
        middle = positive[(len(positive) - 1) // 2 : len(positive) // 2 + 1]
        usual = float(middle.mean()) if len(positive) else 1.0
        squared_sizes[_is_usual(squared_sizes, usual) | (squared_sizes == 0)] = usual
        logs, rest = (1 + logs) / np.sqrt(squared_sizes), (1 + rest) / np.sqrt(usual)
    total = float((squares * logs**2).sum())
    unit = 1.0 / np.sqrt(total / n) if total > 0 else 1.0
    return IdfScales((unit * logs).astype(np.float32), float(np.float32(unit * rest)), usual)


def _is_usual(squared_sizes: Array, usual: float) -> Array:
    return (squared_sizes >= usual / USUAL**2) & (squared_sizes <= usual * USUAL**2)
