"""Lengths of weights and rows, and the rows that are misclassified."""

from __future__ import annotations

import numpy as np

from rosenblatt.kernels.fetch import fetch
from rosenblatt.kernels.jit import REORDER, kernel
from rosenblatt.kernels.learn import sign_of
from rosenblatt.kernels.rows import dot, square
from rosenblatt.kernels.screen import is_right, length_of


@kernel
def missed_by_one(rows, codes, omega, order, w, bias, task, enough, seen):
    """The weight of the rows on the wrong side of one weight vector, ``y·s <= 0``.

    Counting stops beyond `enough`. Rows with an 8-bit copy are read only if it does not decide.
    """
    weighted, total, length = np.uint64(omega.size > 1), 0.0, length_of(rows, w)
    for i in range(order.size):
        row = order[i]
        fetch(rows, order, i, w, 1)
        sign = sign_of(codes[row], task)
        if is_right(rows, row, w, length, bias, sign, 0.0, seen, 0):
            continue
        if sign * (dot(rows, row, w) + w.dtype.type(bias)) <= 0:
            total += omega[row * weighted]
            if total > enough:
                break
    return total


@kernel(fastmath=REORDER)
def norm_and_change(new, old):
    """The squared length of `new` and of its difference from `old`, which then becomes `new`."""
    norm = change = 0.0
    for j in range(new.size):
        value = np.float64(new[j])
        difference = value - old[j]
        norm += value * value
        change += difference * difference
        old[j] = new[j]
    return norm, change


@kernel
def row_norms_and_changes(new, old, out):
    """The same for each row of `new` (problems, features), into ``out`` (2, problems)."""
    for c in range(new.shape[0]):
        out[0, c], out[1, c] = norm_and_change(new[c], old[c])


@kernel
def norms_and_changes(new, old, out):
    """The same for each column of `new` (features, problems), into ``out`` (2, problems).

    The order of each sum does not depend on the other columns.
    """
    for j in range(new.shape[0]):
        for c in range(new.shape[1]):
            value = np.float64(new[j, c])
            difference = value - old[j, c]
            out[0, c] += value * value
            out[1, c] += difference * difference
            old[j, c] = new[j, c]


@kernel
def squared_lengths(rows, order, rates, out):
    """The squared lengths of the rows of an order, each feature times its rate, into ``out``."""
    for i in range(order.size):
        out[i] = square(rows, order[i], rates)
