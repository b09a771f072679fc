"""The walks of the family: for a single problem, for all classes jointly, with full covariances.

``rule`` is the member of the family, a named tuple of its parameters; each member is compiled as a
kernel of its own when it is first used. ``cells`` and ``sums`` are the weights and their averaging
sums, and ``book`` is (13, problems), see :mod:`rosenblatt.kernels.family_cells`. The other
arguments are those of :mod:`rosenblatt.kernels.learn`.
"""

from __future__ import annotations

import numpy as np

from rosenblatt.kernels.family_cells import (
    BIAS,
    BIAS_SUM,
    CLOCK,
    COUNT,
    GRAVITY,
    NORM,
    PADDING,
    SCALE,
    SCALES,
    STEPS,
    answer,
    by_member,
    depth,
    see,
)  # fmt: skip
from rosenblatt.kernels.family_rows import length, look, move, score, shift_bias, variance
from rosenblatt.kernels.fetch import fetch
from rosenblatt.kernels.jit import REORDER, kernel
from rosenblatt.kernels.learn import (
    ALLOWED,
    LONGEST,
    RUN,
    UPDATED,
    UPDATES,
    VISITED,
    sign_of,
    strongest_but,
)  # fmt: skip
from rosenblatt.kernels.rows import add

ONE_RATE = np.ones(1, np.float32)
SMALL = 2.0**-40  # a scale below this, or above its inverse, is multiplied into the cells


@kernel
def walk_one(rows, codes, omega, order, etas, cells, sums, rates, book, rule, tally, seen):
    """Walk with one weight vector; ``seen`` gets (score, 1 if corrected) of each visit."""
    weighted, varying = np.uint64(omega.size > 1), np.int64(etas.size > 1)
    for i in range(order.size):
        fetch(rows, order, i, cells, depth(rule))
        row = order[i]
        product, v = score(rule, rows, row, cells, sums, np.uint64(1), np.uint64(0), book)
        s = seen.dtype.type(product * book[SCALE, 0] + book[BIAS, 0])
        seen[i, 0], seen[i, 1], tally[VISITED] = s, 0.0, i + 1
        sign = sign_of(codes[row], tally)
        if sign == 0.0:
            continue
        weight, eta, m = omega[row * weighted], etas[i * varying], sign * np.float64(s)
        q = length(rule, rows, row, v, rates, m, book, 0)
        kept, tau, beta = answer(rule, m, q, book[NORM, 0], book[COUNT, 0], weight, eta)
        if tau != 0.0:
            if tally[RUN] > tally[LONGEST] or tally[UPDATES] >= tally[ALLOWED]:
                tally[VISITED] = i
                return
            shrink(rule, cells, sums, book, kept)
            book[NORM, 0] = kept * kept * book[NORM, 0] + 2.0 * kept * tau * m + tau * tau * q
            pull = sign * tau / book[SCALE, 0]
            move(rows, row, rule, cells, sums, rates, np.uint64(1), np.uint64(0), pull, beta, book)
            shift_bias(rule, book, 0, sign * tau, beta)
            book[COUNT, 0] += 1.0
            seen[i, 1] = 1.0
            tally[UPDATES] += 1
            tally[UPDATED] += 1
            tally[RUN] = 0
        else:
            tally[RUN] += 1
        settle(rule, cells, sums, book, eta, weight)


@kernel
def walk_joint(rows, codes, omega, order, etas, cells, sums, rates, book, rule, tally, seen):
    """Walk with one weight vector per class: the right class up, its best rival down.

    It is the walk of a single problem with the example ``(x for the right class, -x for the
    rival)``, whose label is +1.
    """
    weighted, varying = np.uint64(omega.size > 1), np.int64(etas.size > 1)
    classes = seen.shape[1]
    stride = np.uint64(classes)
    for i in range(order.size):
        fetch(rows, order, i, cells, depth(rule) * classes)
        row, s, tally[VISITED] = order[i], seen[i], i + 1
        label = np.int64(codes[row])
        for c in range(classes):
            product, _ = look(rows, row, rule, cells, sums, stride, np.uint64(c), book)
            s[c] = product * book[SCALE, 0] + book[BIAS, c]
        rival = np.int64(strongest_but(s, label))
        weight, eta = omega[row * weighted], etas[i * varying]
        m = np.float64(s[label]) - np.float64(s[rival])
        q = 0.0
        for c in (label, rival):
            v = variance(rule, rows, row, cells, sums, stride, np.uint64(c), book)
            q += length(rule, rows, row, v, rates, m, book, c)
        kept, tau, beta = answer(rule, m, q, book[NORM, 0], book[COUNT, 0], weight, eta)
        if tau != 0.0:
            if tally[RUN] > tally[LONGEST] or tally[UPDATES] >= tally[ALLOWED]:
                tally[VISITED] = i
                return
            shrink(rule, cells, sums, book, kept)
            book[NORM, 0] = kept * kept * book[NORM, 0] + 2.0 * kept * tau * m + tau * tau * q
            for c in (label, rival):
                pull = tau if c == label else -tau
                move(
                    rows, row, rule, cells, sums, rates, stride, np.uint64(c),
                    pull / book[SCALE, 0], beta, book,
                )  # fmt: skip
                shift_bias(rule, book, c, pull, beta)
            book[COUNT, 0] += 1.0
            tally[UPDATES] += 1
            tally[UPDATED] += 1
            tally[RUN] = 0
        else:
            tally[RUN] += 1
        settle(rule, cells, sums, book, eta, weight)


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
    weighted, varying = np.uint64(omega.size > 1), np.int64(etas.size > 1)
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
        sign = sign_of(codes[row], tally)
        if sign == 0.0:
            continue
        for j in range(d + 1):
            Sx[j] = product(S[j], x)
        weight, eta, m = omega[row * weighted], etas[i * varying], sign * np.float64(s)
        _, tau, beta = answer(rule, m, product(x, Sx), 0.0, book[COUNT, 0], weight, eta)
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


@kernel
def scale_down(rule, cells, sums, book, kept):
    """Keep a share of the weights and biases."""
    if kept != 1.0:
        book[SCALE, 0] *= kept
        for c in range(book.shape[1]):
            book[BIAS, c] *= kept
        if book[SCALE, 0] < SMALL or book[SCALE, 0] * SMALL > 1.0:
            fold(rule, cells, sums, book)


keep_scale = kernel(lambda rule, cells, sums, book, kept: None)
shrink = by_member("shrink", Alma=scale_down, Romma=scale_down, others=keep_scale)


@kernel
def fold(rule, cells, sums, book):
    """Multiply the scale into the cells, and adjust sums and gravity to that.

    The sums take the change of each cell: dividing ``book[SCALES]`` by a small scale instead would
    make the average the difference of two huge numbers.
    """
    scale, step = book[SCALE, 0], depth(rule)
    for i in range(cells.size // step):
        before = np.float64(cells[i * step])
        for k in range(i * step, i * step + step):
            cells[k] *= scale
        if sums.size > 0:
            sums[i] += book[SCALES, 0] * (np.float64(cells[i * step]) - before)
    book[GRAVITY, 0] *= scale
    book[SCALE, 0] = 1.0


@kernel
def decay(rule, cells, sums, book, eta, weight):
    """The penalty λ₂ on all weights, not on biases."""
    if rule.l2 > 0.0:
        kept = 1.0 - eta * weight * rule.l2
        book[SCALE, 0] *= kept if kept > 0.0 else 0.0
        if book[SCALE, 0] < SMALL:
            fold(rule, cells, sums, book)


@kernel
def decay_and_defer(rule, cells, sums, book, eta, weight):
    """The penalty λ₂ on all weights, and λ₁, applied to each weight when it is next read."""
    decay(rule, cells, sums, book, eta, weight)
    book[GRAVITY, 0] += eta * weight * rule.l1 / book[SCALE, 0]


no_penalty = kernel(lambda rule, cells, sums, book, eta, weight: None)
penalize = by_member("penalize", Descent=decay, Truncated=decay_and_defer, others=no_penalty)


@kernel
def settle(rule, cells, sums, book, eta, weight):
    """After each step: apply penalties, and add to the averaging sums."""
    penalize(rule, cells, sums, book, eta, weight)
    book[STEPS, 0] += weight
    book[CLOCK, 0] += weight
    book[SCALES, 0] += weight * book[SCALE, 0]
    for c in range(book.shape[1]):
        book[BIAS_SUM, c] += weight * book[BIAS, c]


@kernel
def bring_up_to_date(rule, cells, sums, book):
    """Apply all deferred penalties."""
    for i in range(cells.size // depth(rule)):
        see(rule, cells, sums, np.uint64(i), book)
