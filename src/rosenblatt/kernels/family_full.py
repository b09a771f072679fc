"""The walk of the second-order members with a full covariance matrix, for few features."""

from __future__ import annotations

import numpy as np

from rosenblatt.kernels.family import side_of
from rosenblatt.kernels.family_cells import (
    BIAS,
    BIAS_SUM,
    CLOCK,
    COUNT,
    PADDING,
    SCALES,
    STEPS,
    answer,
)  # fmt: skip
from rosenblatt.kernels.jit import REORDER, kernel
from rosenblatt.kernels.learn import ALLOWED, LONGEST, RUN, UPDATED, UPDATES, VISITED
from rosenblatt.kernels.rows import add

ONE_RATE = np.ones(1, np.float32)


@kernel(fastmath=REORDER)
def product(a, b):
    """The inner product of two vectors."""
    total = 0.0
    for j in range(a.size):
        total += a[j] * b[j]
    return total


@kernel
def walk_full(rows, codes, omega, order, etas, w, sums, S, book, rule, tally, seen):
    """Walk with one weight vector and the covariance of all padded features.

    ``S`` is (features + 3, features + 1): the covariance, and below it two rows of scratch, for
    the padded row and its product with the covariance.
    """
    weighted, varying = np.uint64(omega.size > 1), int(etas.size > 1)
    d, padding = w.size, np.sqrt(book[PADDING, 0])
    x, Sx = S[d + 1], S[d + 2]
    for i in range(order.size):
        row = order[i]
        for j in range(d):
            x[j] = 0.0
        add(rows, row, x[:d], 1.0, ONE_RATE)
        x[d] = padding
        s = seen.dtype.type(product(w, x[:d]) + book[BIAS, 0])
        seen[i, 0], seen[i, 1], tally[VISITED] = s, 0.0, i + 1
        sign = side_of(codes[row], tally)
        if sign == 0.0:
            continue
        for j in range(d + 1):
            Sx[j] = product(S[j], x)
        weight, m, v = omega[row * weighted], sign * np.float64(s), product(x, Sx)
        _, tau, beta = answer(rule, m, v, 0.0, book[COUNT, 0], weight, etas[i * varying])
        if tau != 0.0:
            if tally[RUN] > tally[LONGEST] or tally[UPDATES] >= tally[ALLOWED]:
                tally[VISITED] = i
                return
            for j in range(d):
                w[j] += sign * tau * Sx[j]
                if sums.size > 0:
                    sums[j] += book[SCALES, 0] * sign * tau * Sx[j]
            book[BIAS, 0] += sign * tau * Sx[d] * padding
            for j in range(d + 1):
                for k in range(d + 1):
                    S[j, k] -= beta * Sx[j] * Sx[k]
            book[COUNT, 0] += 1.0
            seen[i, 1] = 1.0
            tally[UPDATES] += 1
            tally[UPDATED] += 1
            tally[RUN] = 0
        else:
            tally[RUN] += 1
        book[STEPS, 0] += weight
        book[CLOCK, 0] += weight
        book[SCALES, 0] += weight
        book[BIAS_SUM, 0] += weight * book[BIAS, 0]
