"""One pass over all rows before training: are they finite, their keys, lengths and 8-bit copies."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from rosenblatt.kernels import row_keys, screen
from rosenblatt.kernels._memory import zeros
from rosenblatt.kernels.rows import Csr, Dense, Screened
from rosenblatt.learners.examples import Examples, key_multipliers, row_words
from rosenblatt.learners.protocol import Array

_BLOCK = 1 << 20  # numbers that a thread looks at, again and again, while they are in the cache
# 8-bit copies: rows shorter than this, or that fit into the caches, are as quick to read.
_LEAST_FEATURES = 128
_LARGE = 16 << 20  # bytes
_VISITS = 3.0  # a copy takes the time of an epoch or less, and saves half of each


@dataclass(frozen=True)
class Survey:
    """The result of a pass over all rows.

    Attributes
    ----------
    largest : float
        The largest magnitude; infinity if any number is not finite: the rest is not to be used.
    keys : array (2, rows) or None
        The hash key of each row, and the bits of its largest number, if asked for.
    screened : Screened or None
        The rows with 8-bit copies, if asked for.
    squares : array or None
        The squared length of each row, if asked for.
    """

    largest: float
    keys: Array | None = None
    screened: Screened | None = None
    squares: Array | None = None


def survey(
    examples: Examples,
    *,
    keys: bool,
    copies: bool = False,
    squares: bool = False,
    threads: int = 1,
) -> Survey:
    """Look at all rows, dense or CSR, once.

    Examples
    --------
    >>> from rosenblatt.learners.examples import examples_of
    >>> result = survey(examples_of(np.eye(2), [0, 1]), keys=False, copies=True)
    >>> result.largest, result.screened.small.tolist()
    (1.0, [[127, 0], [0, 127]])
    """
    rows, n = examples.rows, len(examples)
    assert isinstance(rows, Dense | Csr), "packed rows are not surveyed"
    values, word = rows.X if isinstance(rows, Dense) else rows.data, examples.word
    both = hashes, tops = np.empty((2, n), word)
    lengths = np.empty(n) if squares else None
    screened = _room_for_copies(rows) if copies and isinstance(rows, Dense) else None

    if keys or screened:
        words, multipliers = row_words(rows, word), key_multipliers(examples.n_features, word)

    def look(first: int, last: int) -> float:
        block = slice(first, last)
        if keys or screened:
            chosen = np.arange(first, last, dtype=np.uint64)
            row_keys.keys(words, chosen, multipliers, hashes[block], tops[block])
            numbers = (tops[block] >> word.type(1)).view(values.dtype)
        else:
            numbers = _numbers(rows, first, last)
        largest = _magnitude(numbers)
        if not math.isfinite(largest):
            return largest
        if lengths is not None:
            lengths[block] = _squared_lengths(rows, first, last)
        if screened:
            screen.copy_rows(values[block], numbers, screened.small[block], screened.errors[block])
        return largest

    blocks = max(1, min(n, values.size // _BLOCK))
    bounds = [n * i // blocks for i in range(blocks + 1)]
    if threads == 1 or blocks == 1:
        tallest = list(map(look, bounds[:-1], bounds[1:]))
    else:
        with ThreadPoolExecutor(threads) as pool:
            tallest = list(pool.map(look, bounds[:-1], bounds[1:]))
    largest = max(tallest) if all(map(math.isfinite, tallest)) else math.inf
    return Survey(largest, both if keys else None, screened, lengths)


def _magnitude(numbers: Array) -> float:
    """The largest magnitude, 0 of none; NaN if any number is."""
    if not numbers.size:
        return 0.0
    return max(float(numbers.max()), -float(numbers.min()))


def _numbers(rows: Dense | Csr, first: int, last: int) -> Array:
    """The numbers of some rows."""
    if isinstance(rows, Dense):
        return rows.X[first:last]
    return rows.data[int(rows.pointers[first]) : int(rows.pointers[last])]


def _squared_lengths(rows: Dense | Csr, first: int, last: int) -> Array:
    numbers = _numbers(rows, first, last)
    if isinstance(rows, Dense):
        return np.einsum("ij,ij->i", numbers, numbers)
    starts, ends = rows.pointers[first:last], rows.pointers[first + 1 : last + 1]
    squares, filled = np.zeros(last - first), ends > starts
    if numbers.size:
        places = (starts[filled] - rows.pointers[first]).astype(np.intp)
        with np.errstate(over="ignore"):  # as of dense rows; infinity is refused
            squares[filled] = np.add.reduceat(numbers * numbers, places)
    return squares


def _room_for_copies(rows: Dense) -> Screened | None:
    """Memory for 8-bit copies of the rows, or None if there is not enough."""
    try:
        return Screened(rows.X, zeros(rows.X.shape, np.int8), np.empty((len(rows.X), 2)))
    except (MemoryError, OSError):
        return None


def is_worth_a_copy(examples: Examples, visits: float) -> bool:
    """Whether 8-bit copies save more time than they take, if each row is visited so often."""
    rows = examples.rows
    if not isinstance(rows, Dense) or rows.X.shape[1] < _LEAST_FEATURES:
        return False
    return rows.X.nbytes >= _LARGE and visits >= _VISITS
