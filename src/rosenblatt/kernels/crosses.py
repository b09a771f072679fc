"""N-grams and crosses of the features of Vowpal Wabbit lines: products, in columns of their own.

The column of a product is hashed from the columns of its factors, so that lines are parsed once and
names are needed for display only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rosenblatt.kernels.jit import inlined, kernel
from rosenblatt.kernels.text import PRIME, SEED, Rows, mixed

ANY = 58  # a colon stands for every namespace
_CROSS_SEED = np.uint64(int(SEED) + 1)  # a cross is another feature than the bigram of the same two


class Spaces(NamedTuple):
    """The namespaces of rows, in order: the first byte of each name, and its first entry."""

    letters: np.ndarray
    starts: np.ndarray


class Products(NamedTuple):
    """Which products of features are features too.

    Attributes
    ----------
    longest
        The most consecutive features of a namespace that are multiplied, 1 for none.
    crosses
        Pairs of first letters of namespaces: each feature of one times each of the other. A
        feature is multiplied with itself if its value is not 1.
    """

    longest: int = 1
    crosses: tuple[str, ...] = ()


NO_PRODUCTS = Products()


def with_products(rows: Rows, spaces: Spaces, products: Products, bits: int) -> Rows:
    """Rows with the products of their features behind these: n-grams, then crosses.

    >>> indices = np.array([3, 5, 6], dtype=np.uint32)
    >>> rows = Rows(np.array([0, 3], np.uint64), indices, np.array([1, 2, 3], np.float32))
    >>> spaces = Spaces(np.frombuffer(b"ab", np.uint8), np.array([0, 2], np.uint64))
    >>> with_products(rows, spaces, Products(longest=2), 10).values.tolist()
    [1.0, 2.0, 3.0, 2.0]
    >>> with_products(rows, spaces, Products(crosses=("ab",)), 10).values.tolist()
    [1.0, 2.0, 3.0, 3.0, 6.0]
    """
    if products == NO_PRODUCTS:
        return rows
    pairs = np.array([list(pair.encode()) for pair in products.crosses], np.uint8).reshape(-1, 2)
    firsts = np.searchsorted(spaces.starts, rows.indptr).astype(np.uint64)  # namespaces of rows
    starts = np.append(spaces.starts, rows.indptr[-1])
    room = _room(firsts, spaces.letters, starts, products.longest, pairs)
    out = Rows(np.empty_like(rows.indptr), np.empty(room, np.uint32), np.empty(room, np.float32))
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    size = _multiply(*rows, firsts, spaces.letters, starts, products.longest, pairs, mask, *out)
    return Rows(out.indptr, out.indices[:size], out.values[:size])


@inlined
def _is_of(letter, name):
    return (letter == name) | (name == ANY)


@inlined
def _combined(seed, a, b, mask):
    """The column of a product of features in two columns."""
    h = ((seed ^ np.uint64(a)) * PRIME ^ np.uint64(b)) * PRIME
    return np.uint32(mixed(h) & mask)


@kernel
def _room(firsts, letters, starts, longest, pairs):
    """The most entries that rows have with their products."""
    room = int(starts[-1]) * longest
    for row in range(len(firsts) - 1):
        for p in range(len(pairs)):
            left = 0
            right = 0
            for s in range(firsts[row], firsts[row + 1]):
                count = int(starts[s + 1]) - int(starts[s])
                left += count * _is_of(letters[s], pairs[p, 0])
                right += count * _is_of(letters[s], pairs[p, 1])
            room += left * right
    return room


@kernel
def _multiply(
    indptr, indices, values, firsts, letters, starts, longest, pairs, mask, ends, columns, products
):
    """Write each row, its n-grams and its crosses; returns the number of entries."""
    ends[0] = 0
    size = 0
    for row in range(len(indptr) - 1):
        for i in range(indptr[row], indptr[row + 1]):
            columns[size], products[size] = indices[i], values[i]
            size += 1
        first, end = firsts[row], firsts[row + 1]
        for s in range(first, end):
            stop = starts[s + 1]
            for i in range(starts[s], stop):
                column, value = indices[i], values[i]
                for j in range(i + np.uint64(1), min(i + np.uint64(longest), stop)):
                    column = _combined(SEED, column, indices[j], mask)
                    value *= values[j]
                    columns[size], products[size] = column, value
                    size += 1
        for p in range(len(pairs)):
            a, b = pairs[p, 0], pairs[p, 1]
            for s in range(first, end):
                for t in range(first, end):
                    is_pair = _is_of(letters[s], a) and _is_of(letters[t], b)
                    is_again = t < s and _is_of(letters[t], a) and _is_of(letters[s], b)
                    if is_pair and not is_again:
                        size = _cross(indices, values, starts, s, t, mask, size, columns, products)
        ends[row + 1] = size
    return size


@kernel
def _cross(indices, values, starts, s, t, mask, size, columns, products):
    """Write the features of a namespace times those of another, or of the same; the new size."""
    for i in range(starts[s], starts[s + 1]):
        begin = starts[t]
        if s == t:
            begin = i if values[i] != 1.0 else i + np.uint64(1)
        for j in range(begin, starts[t + 1]):
            columns[size] = _combined(_CROSS_SEED, indices[i], indices[j], mask)
            products[size] = values[i] * values[j]
            size += 1
    return size
