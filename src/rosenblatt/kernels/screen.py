"""8-bit copies of dense rows, which show of most rows that they are right without reading them.

Row x has a copy q of whole numbers from -127 to 127 and a scale σ, with ``x ≈ σ·q``. The computed
score differs from ``σ·(w·q) + b`` by at most ``‖w‖·‖x - σ·q‖`` and the rounding errors of both
sums. If the margin exceeds the threshold by more than that, the row is not corrected, whatever its
exact score, and is not read: the weights are the same to the last bit.

The bound. With unit roundoff u and d features, a sum of products in any order errs by at most
``d·u/(1 - d·u)·‖w‖·‖x‖`` (Higham, Accuracy and Stability of Numerical Algorithms, 3.1), and by d
times the smallest number where products underflow. ``errors[row]`` is (σ, ε), where ``ε·‖w‖``
bounds all errors that grow with the weights. The error of adding the bias is relative to the
terms.
"""

from __future__ import annotations

import math

import numpy as np

from rosenblatt.kernels.jit import REORDER, by_layout, kernel

SINGLE, DOUBLE = 2.0**-24, 2.0**-53  # unit roundoffs
# Below these largest entries, and above these bounds, sums may under- or overflow: no screen.
LEAST_SINGLE, LEAST_DOUBLE, MOST_SINGLE, MOST_DOUBLE = 1e-30, 1e-280, 1e30, 1e280


@kernel(fastmath=REORDER)
def copy_rows(X, tops, small, errors):
    """Copy rows into 8 bits; ``tops`` (rows,) are their largest magnitudes."""
    d, unit = X.shape[1], SINGLE if X.itemsize == 4 else DOUBLE
    least = LEAST_SINGLE if X.itemsize == 4 else LEAST_DOUBLE
    slack = 1.001 + 2.0 * d * SINGLE  # of the sums qq and rr
    for row in range(X.shape[0]):
        top = np.float64(tops[row])
        inverse = X.dtype.type(127.0 / top if top > least else 0.0)
        qq = rr = np.float32(0)
        for j in range(d):
            t = np.float32(X[row, j] * inverse)
            k = np.int32(t + np.float32(128.5)) - np.int32(128)  # rounds down: the sum is positive
            r = t - np.float32(k)
            qq += np.float32(k) * np.float32(k)
            rr += r * r
            small[row, j] = k
        size, rest = math.sqrt(np.float64(qq)), math.sqrt(np.float64(rr))
        rounding = 3.0 * (d + 32) * unit * (size + rest + 1.0) + 4e-5 * math.sqrt(np.float64(d))
        errors[row, 0] = top / 127.0
        errors[row, 1] = top / 127.0 * slack * (rest + rounding) if top > least else math.inf
        if top == 0.0:
            errors[row, 1] = 0.0


@kernel(fastmath=REORDER)
def small_dot(rows, row, w):
    """The inner product of the copy of a row with the weights, without its scale."""
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
    """The length of the weights, at least."""
    total = 0.0
    for j in range(w.size):
        total += np.float64(w[j]) * np.float64(w[j])
    return math.sqrt(total) * (1.001 + w.size * DOUBLE) + w.size * 1e-150


@kernel
def never_right(rows, row, w, length, bias, sign, threshold, seen, i):
    """False: rows without a copy are always read."""
    return False


@kernel
def no_length(rows, w):
    """Not needed for rows without a copy."""
    return 0.0


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
