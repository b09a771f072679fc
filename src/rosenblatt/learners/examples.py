"""Examples: rows in a layout of the kernels, with classes and weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from rosenblatt.kernels import row_keys
from rosenblatt.kernels.packing import Numbering
from rosenblatt.kernels.rows import Csr, Dense, Packed, Screened
from rosenblatt.kernels.text import Rows
from rosenblatt.learners.protocol import Array

if TYPE_CHECKING:
    from scipy import sparse

ONE = np.ones(1)
_LAYOUT: Any = ["C_CONTIGUOUS", "ALIGNED"]  # of the arrays that kernels take
_ENTRIES_PER_CALL = 1 << 27  # stored numbers per kernel call; Ctrl-C works between calls
_COMPARED = 4096  # rows compared at a time
_FEW = 1 << 14  # features whose multipliers are kept in memory


@dataclass(frozen=True)
class Examples:
    """Rows in a layout of the kernels, with classes and weights.

    Attributes
    ----------
    rows : Dense, Csr or Packed
    codes : int32 array
        The class number of each row; in multilabel problems the number of its set of labels.
    omega : float array
        The weight of each row, or one weight for all.
    n_features : int
        The number of columns of the rows, of places if packed.
    columns : uint32 array or None
        The column of each place, if packed.
    numbering : Numbering or None
        The places of columns, if packed.
    screened : Screened or None
        Dense rows with 8-bit copies, if they were made.
    sets : bool array (sets, labels) or None
        In multilabel problems, the labels of each set.
    """

    rows: Dense | Csr | Packed
    codes: Array
    omega: Array
    n_features: int
    columns: Array | None = None
    numbering: Numbering | None = None
    screened: Screened | None = None
    sets: Array | None = None

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def arrays(self) -> tuple[Any, Array, Array]:
        """The first arguments of every walk."""
        return self.rows, self.codes, self.omega

    @property
    def is_dense(self) -> bool:
        """Whether the rows are a matrix."""
        return isinstance(self.rows, Dense)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the rows, and of the weights."""
        if isinstance(self.rows, Dense):
            return self.rows.X.dtype
        return self.rows.data.dtype if isinstance(self.rows, Csr) else np.dtype(np.float32)

    @property
    def word(self) -> np.dtype[Any]:
        """The unsigned integers as wide as the numbers of the rows."""
        return np.dtype(f"u{self.dtype.itemsize}")

    @property
    def stored(self) -> int:
        """The number of stored numbers."""
        if isinstance(self.rows, Dense):
            return int(self.rows.X.size)
        if isinstance(self.rows, Csr):
            return len(self.rows.data)
        return len(self.rows.near) + len(self.rows.far) + len(self.rows.columns)

    @property
    def rows_per_call(self) -> int:
        """How many rows a kernel call visits at most, so that interrupts are handled."""
        return max(1024, _ENTRIES_PER_CALL // max(1, self.stored // max(1, len(self.codes))))

    def truth_of(self, order: Array) -> Array:
        """The class number of each row of an order; in multilabel problems its labels."""
        codes = self.codes[order]
        return codes if self.sets is None else np.asarray(self.sets[codes])

    def weights_of(self, order: Array) -> Array:
        """The weight of each row of an order."""
        return self.omega[order] if self.omega.size > 1 else np.full(len(order), self.omega[0])

    def weight_of(self, order: Array) -> float:
        """The sum of the weights of the rows of an order."""
        if self.omega.size > 1:
            return float(self.omega[order].sum())
        return len(order) * float(self.omega[0])

    def reweighted(self, omega: Array) -> Examples:
        """The same rows with other weights."""
        return replace(self, omega=omega)

    def relabelled(self, codes: Array, omega: Array = ONE, sets: Array | None = None) -> Examples:
        """The same rows with other classes, or sets of labels, and weights."""
        return replace(self, codes=codes, omega=omega, sets=sets)

    def packed(self) -> Examples:
        """CSR rows of float32 packed, with places for columns that occur; others unchanged."""
        if not isinstance(self.rows, Csr) or self.rows.data.dtype != np.float32:
            return self
        return _pack(self, Numbering(self.n_features))

    def in_same_layout(self, X: Any, codes: Array, sets: Array | None = None) -> Examples:
        """Other rows in the layout of these; new columns get new places."""
        others = examples_of(X, codes, sets=sets)
        return others if self.numbering is None else _pack(others, self.numbering)


def _pack(examples: Examples, numbering: Numbering) -> Examples:
    rows = examples.rows
    assert isinstance(rows, Csr)
    room = Packed.room(len(examples), len(rows.data))
    whole = numbering.pack(Rows(rows.pointers, rows.columns, rows.data), room)
    return Examples(
        whole,
        examples.codes,
        examples.omega,
        len(numbering),
        numbering.columns,
        numbering,
        sets=examples.sets,
    )


def examples_of(X: Any, codes: Array, omega: Array = ONE, sets: Array | None = None) -> Examples:
    """Examples of a checked float matrix, dense or CSR, without a copy if possible.

    Parameters
    ----------
    X : array or CSR matrix of float32 or float64
    codes : array of int
        The class number of each row.
    omega : array of float
        The weight of each row, or one weight for all.
    sets : bool array (sets, labels), optional
        In multilabel problems, the labels of each set.

    Examples
    --------
    >>> examples_of(np.eye(2), np.array([0, 1])).rows
    Dense(X=array([[1., 0.],
           [0., 1.]]))
    """
    codes = np.ascontiguousarray(codes, dtype=np.int32)
    if not hasattr(X, "indptr"):
        if isinstance(X, np.ndarray):  # else it may be on a GPU
            X = np.require(X, requirements=_LAYOUT)
        return Examples(Dense(X), codes, omega, X.shape[1], sets=sets)
    return Examples(csr_rows(X), codes, omega, X.shape[1], sets=sets)


def check_sparse(X: Any) -> None:
    """Refuse a sparse matrix with an index out of range; other objects pass.

    SciPy checks only some arrays, and only when a matrix is created, but its products and
    conversions rely on them, as do our kernels.

    >>> from scipy import sparse
    >>> X = sparse.csr_array(np.eye(2))
    >>> X.indices[1] = 7
    >>> check_sparse(X)
    Traceback (most recent call last):
    ...
    ValueError: X is not a sound CSR matrix: indices must be < 2
    """
    kind = getattr(X, "format", None)
    try:
        if kind in ("csr", "csc", "bsr") and X.ndim == 2 and not _is_sound_csr(X):
            X.check_format(full_check=True)
        elif kind == "coo":
            type(X)((X.data, X.coords), shape=X.shape)  # the constructor checks the indices
        elif kind == "lil":
            _check_lists(X)
        elif kind == "dia" and (X.data.ndim != 2 or X.offsets.shape != X.data.shape[:1]):
            raise ValueError("each diagonal needs an offset")
    except (ValueError, IndexError) as error:
        raise ValueError(f"X is not a sound {str(kind).upper()} matrix: {error}") from None


def _is_sound_csr(X: Any) -> bool:
    """Whether this is a CSR matrix without a fault, in a third of the time that SciPy takes."""
    n, d = X.shape
    pointers, columns = X.indptr, X.indices
    if X.format != "csr" or pointers.shape != (n + 1,) or columns.ndim != 1 or pointers[0] != 0:
        return False
    if pointers.dtype.kind not in "iu" or columns.dtype.kind not in "iu":
        return False
    stored = int(pointers[-1])
    if not 0 <= stored <= min(len(X.data), columns.size) or (pointers[1:] < pointers[:-1]).any():
        return False
    columns = columns[:stored]
    if columns.dtype.itemsize == 4 and columns.flags.c_contiguous and stored:  # one pass
        return int(columns.view(np.uint32).max()) < min(d, 1 << 31)
    return stored == 0 or (int(columns.min()) >= 0 and int(columns.max()) < d)


def _check_lists(X: Any) -> None:
    """Refuse a matrix of lists with a column out of range, or without a value for each."""
    for row, columns in enumerate(X.rows):
        if len(columns) != len(X.data[row]) or not all(0 <= j < X.shape[1] for j in columns):
            raise ValueError(f"row {row} has a column outside, or one without a value")


def csr_rows(X: sparse.csr_matrix | sparse.csr_array) -> Csr:
    """The arrays of a CSR matrix, after a check that pointers and columns are in range.

    Entries may come in any order, and stay in it: their sums are made in that order, which decides
    the last bits. Duplicate columns of a row are summed in a copy.
    """
    check_sparse(X)
    if X.shape[1] > 1 << 32:
        raise ValueError(f"X has {X.shape[1]} columns; at most 2^32 are possible.")
    pointers = X.indptr.astype(np.uint64)
    stored = int(pointers[-1])
    columns = np.require(X.indices[:stored], requirements=_LAYOUT)
    narrow = columns.dtype.itemsize == 4
    columns = columns.view(np.uint32) if narrow else columns.astype(np.uint32)
    if not X.has_sorted_indices:
        twice = row_keys.repeats(pointers, columns, np.zeros(X.shape[1], np.uint32))
    else:
        twice = not X.has_canonical_format
    if twice:
        X = X.copy()
        X.sum_duplicates()
        return Csr(X.data, X.indices.astype(np.uint32), X.indptr.astype(np.uint64))
    return Csr(np.require(X.data[:stored], requirements=_LAYOUT), columns, pointers)


def key_multipliers(n_features: int, word: Any, series: int = 0) -> Array:
    """Random odd numbers, one per feature, for the hash keys of rows; there are two series."""
    # A table of millions of columns would stay in memory for the sake of a hundredth of a second.
    draw = _drawn_once if n_features <= _FEW else _drawn
    return cast(Array, draw(n_features, word, series))


def _drawn(n_features: int, word: Any, series: int) -> Array:
    bits, per_step = np.random.PCG64(1957), 8 // word.itemsize
    steps, skipped = divmod(series * n_features, per_step)  # of the series before
    bits.advance(steps)
    raw = bits.random_raw(-(-(skipped + n_features) // per_step))
    numbers: Array = raw.view(word)[skipped : skipped + n_features]
    numbers -= word.type(1)  # as Generator.integers draws them, at a third of its time
    numbers |= word.type(1)
    return numbers


_drawn_once = lru_cache(4)(_drawn)


def distinct(examples: Examples, keys: Array | None = None) -> tuple[Array, Array]:
    """The distinct rows of positive weight, in an order determined by their values alone.

    `keys` are those of all rows (:func:`rosenblatt.learners.survey.survey`), if known: hashes, and
    the bits of the largest numbers. Returns the
    row numbers, and weights in which each of these rows has the total weight of its duplicates. So
    a model whose visits are drawn from this order depends on the examples as a weighted set, not on
    the order of a file. Multiplying all rows by a power of two does not change it.
    """
    n, codes, omega = len(examples), examples.codes, examples.omega
    chosen = np.arange(n, dtype=np.uint64)
    if omega.size > 1:
        chosen = chosen[omega > 0]
    labels = codes[chosen].astype(np.uint64) << np.uint64(32)
    if keys is None:
        keys = np.zeros((2, n), examples.word)
        keys[:, chosen] = _keys(examples, chosen, 0)
    hashes, tops = keys
    key = hashes[chosen] ^ labels
    by_key = np.argsort(key)
    chosen, key = chosen[by_key], key[by_key]
    tied = key[1:] == key[:-1]
    if not tied.any():
        return chosen, omega

    suspects = np.flatnonzero(np.append(tied, False) | np.append(False, tied))
    close, key = chosen[suspects], key[suspects]
    ranks = np.lexsort((tops[close], codes[close], key))
    equal, alike = _neighbours(examples, close[ranks], key[ranks])
    if (alike & ~equal).any():  # different rows with one key: rare, and worth another one
        finer = _keys(examples, close, 1)[0]
        ranks = np.lexsort((tops[close], finer, codes[close], key))
        equal, alike = _neighbours(examples, close[ranks], key[ranks])
    chosen[suspects] = close[ranks]
    same = np.zeros(chosen.size, bool)
    same[suspects[1:]] = equal & alike
    if not same.any():
        return chosen, omega
    merged = np.zeros(n)
    weights = np.broadcast_to(omega, merged.shape)[chosen]
    merged[chosen[~same]] = np.bincount(np.cumsum(~same) - 1, weights=weights)
    return chosen[~same], merged


def _keys(examples: Examples, chosen: Array, series: int) -> tuple[Array, Array]:
    """The hash keys of rows by a series of multipliers, and the bits of their largest numbers."""
    multipliers = key_multipliers(examples.n_features, examples.word, series)
    out, tops = np.empty((2, chosen.size), multipliers.dtype)
    row_keys.keys(row_words(examples.rows, multipliers.dtype), chosen, multipliers, out, tops)
    return out, tops


def row_words(rows: Dense | Csr | Packed, word: np.dtype[Any]) -> Dense | Csr:
    """Rows whose numbers are seen as unsigned integers, for the kernels that compute keys."""
    if isinstance(rows, Dense):
        return Dense(rows.X.reshape(-1).view(word))
    assert isinstance(rows, Csr), "keys are computed before rows are packed"
    return rows._replace(data=rows.data.view(word))


def _neighbours(examples: Examples, rows: Array, key: Array) -> tuple[Array, Array]:
    """Of each row but the last, whether it equals the next, and whether key and class do."""
    codes = examples.codes[rows]
    alike = (key[1:] == key[:-1]) & (codes[1:] == codes[:-1])
    return _same_as_next(examples, rows), alike


def _same_as_next(examples: Examples, chosen: Array) -> Array:
    """Whether each chosen row, except the last, equals the next one."""
    out = np.empty(chosen.size - 1, bool)
    for start in range(0, chosen.size - 1, _COMPARED):
        some = chosen[start : start + _COMPARED + 1]
        out[start : start + _COMPARED] = _equal_neighbours(examples, some)
    return out


def _equal_neighbours(examples: Examples, some: Array) -> Array:
    rows = examples.rows
    if isinstance(rows, Dense):
        X = rows.X[some]
        return np.all(X[1:] == X[:-1], axis=1)
    from scipy import sparse

    assert isinstance(rows, Csr)
    starts, ends = rows.pointers[some].astype(np.int64), rows.pointers[some + np.uint64(1)]
    sizes = ends.astype(np.int64) - starts
    pointers = np.concatenate([[0], np.cumsum(sizes)])
    entries = np.repeat(starts - pointers[:-1], sizes) + np.arange(pointers[-1])
    arrays = rows.data[entries], rows.columns[entries].astype(np.int64), pointers
    X = sparse.csr_array(arrays, shape=(len(some), examples.n_features))
    X.sum_duplicates()
    return np.asarray((X[1:] != X[:-1]).sum(axis=1)).reshape(-1) == 0
