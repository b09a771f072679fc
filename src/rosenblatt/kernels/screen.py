"""A copy of dense rows in 8 bits, which tells most rows that are right without reading them.

Row x has a copy q of whole numbers from -127 to 127 and a scale σ, with ``x ≈ σ·q``. The score that
a walk would compute differs from ``σ·(w·q) + b`` by at most ``‖w‖·‖x - σ·q‖`` and what rounding may
do to both sums. If the margin exceeds the threshold by more than that, the row is not corrected,
whatever its exact score, and its original is not read: the weights are the same to the last bit.

The bound. With unit roundoff u and d features, a sum of products in any order errs by at most
``d·u/(1 - d·u)·‖w‖·‖x‖`` (Higham, Accuracy and Stability of Numerical Algorithms, 3.1), and by d
times the smallest number where products underflow. ``errors[row]`` is (σ, ε), where ``ε·‖w‖``
bounds all that grows with the weights. What happens when the bias is added is relative to the
terms.
"""

from __future__ import annotations

import math

import numpy as np

from rosenblatt.kernels.jit import REORDER, by_layout, kernel
from rosenblatt.kernels.row_keys import exponent_of, folded, infinity_of, without_sign

SINGLE, DOUBLE = 2.0**-24, 2.0**-53  # unit roundoffs
# Below these largest entries, and above these bounds, sums may under- or overflow: no screen.
LEAST_SINGLE, LEAST_DOUBLE, MOST_SINGLE, MOST_DOUBLE = 1e-30, 1e-280, 1e30, 1e280


@kernel(fastmath=REORDER)
def dense_survey(X, words, first, last, multipliers, keys, squares, small, errors, peak, peak_bits):
    """Look once at rows `first` to `last`: whether they are finite, keys, lengths, copies.

    ``words`` are the bits of X in one row; ``multipliers`` those of the keys
    (:mod:`rosenblatt.kernels.row_keys`), none if no keys are wanted; ``squares``, the squared
    lengths, and ``small`` are empty if they are not wanted. ``peak`` and ``peak_bits`` are one and
    the same number.
    """
    d, infinite = np.uint64(X.shape[1]), infinity_of(words)
    for row in range(first, last):
        start = np.uint64(row) * d
        top = words.dtype.type(0)
        for j in range(d):
            top = max(top, without_sign(words, start + j))
        if top >= infinite:
            return False
        if multipliers.size > 0:
            h, exponent = multipliers.dtype.type(0), exponent_of(words, top)
            for j in range(d):
                h += folded(words, start + j, exponent) * multipliers[j]
            keys[row] = h
        if squares.size > 0:
            s = X.dtype.type(0)
            for j in range(d):
                s += X[row, j] * X[row, j]
            squares[row] = s
        if small.size > 0:
            peak_bits[0] = top >> words.dtype.type(1)
            shrink(X, row, np.float64(peak[0]), small, errors)
    return True


@kernel(fastmath=REORDER)
def shrink(X, row, top, small, errors):
    """Copy a row into 8 bits; its largest entry has the size `top`."""
    d, unit = X.shape[1], SINGLE if X.itemsize == 4 else DOUBLE
    least = LEAST_SINGLE if X.itemsize == 4 else LEAST_DOUBLE
    inverse = X.dtype.type(127.0 / top if top > least else 0.0)
    qq = rr = np.float32(0)
    for j in range(d):
        t = np.float32(X[row, j] * inverse)
        k = np.int32(t + np.float32(128.5)) - np.int32(128)  # rounds down, as the sum is positive
        r = t - np.float32(k)
        qq += np.float32(k) * np.float32(k)
        rr += r * r
        small[row, j] = k
    size, rest = math.sqrt(np.float64(qq)), math.sqrt(np.float64(rr))
    slack = 1.001 + 2.0 * d * SINGLE  # of these sums themselves
    rounding = 3.0 * (d + 32) * unit * (size + rest + 1.0) + 4e-5 * math.sqrt(np.float64(d))
    errors[row, 0] = top / 127.0
    errors[row, 1] = top / 127.0 * slack * (rest + rounding) if top > least else math.inf
    if top == 0.0:
        errors[row, 1] = 0.0


@kernel(fastmath=REORDER)
def small_dot(rows, row, w):
    """The inner product of the copy of a row, without its scale."""
    small = rows.small
    s = w.dtype.type(0)
    for j in range(w.size):
        s += w.dtype.type(small[row, j]) * w[j]
    return s


@kernel
def screened_is_right(rows, row, w, length, bias, sign, threshold, seen, i):
    """Whether the copy of a row shows that it is not corrected; its score goes to ``seen[i, 0]``.

    The score has the sign and the side of the threshold that the exact one has.
    """
    single = w.itemsize == 4
    scale, error = rows.errors[row, 0], rows.errors[row, 1] * length
    s = scale * np.float64(small_dot(rows, row, w))
    doubt = error + (16.0 * SINGLE if single else 16.0 * DOUBLE) * (abs(s) + abs(bias))
    doubt += w.size * (1e-44 if single else 1e-300)
    s += bias
    if sign * s - doubt > threshold and error < (MOST_SINGLE if single else MOST_DOUBLE):
        seen[i, 0] = s
        return True
    return False


@kernel(fastmath=REORDER)
def screened_length(rows, w):
    """The length of the weights, rounded up."""
    total = 0.0
    for j in range(w.size):
        total += np.float64(w[j]) * np.float64(w[j])
    return math.sqrt(total) * (1.001 + w.size * DOUBLE) + w.size * 1e-150


@kernel
def never_right(rows, row, w, length, bias, sign, threshold, seen, i):
    """Rows without a copy are always read."""
    return False


@kernel
def no_length(rows, w):
    """Rows without a copy need no length of the weights."""
    return 0.0


# What the copy of a row tells, by the type of the rows.
is_right = by_layout(
    "is_right",
    Dense=never_right,
    Csr=never_right,
    Packed=never_right,
    Screened=screened_is_right,
)
length_of = by_layout(
    "length_of", Dense=no_length, Csr=no_length, Packed=no_length, Screened=screened_length
)
