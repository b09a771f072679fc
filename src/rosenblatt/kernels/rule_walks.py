"""The walks of all rules but the perceptron: for a single problem, and for all classes jointly.

``rule`` are the numbers of the rule, and ``cells``, ``sums`` and ``book`` are described in
:mod:`rosenblatt.kernels.cells`; the other arguments are those of :mod:`rosenblatt.kernels.learn`.
"""

from __future__ import annotations

import numpy as np

from rosenblatt.kernels.cells import (
    coefficients,
    depth,
    dot_and_variance,
    length,
    margin_limit,
    score,
    shrink,
    update_bias,
    update_row,
    variance,
)
from rosenblatt.kernels.fetch import fetch
from rosenblatt.kernels.jit import kernel
from rosenblatt.kernels.learn import RUN, UPDATED, UPDATES, VISITED, sign_of, strongest_but
from rosenblatt.rules.storage import BIAS, BIAS_SUM, CLOCK, SCALE, SCALES, STEPS


@kernel
def walk_problem(
    rows, codes, omega, order, etas, cells, sums, rates, book, rule, task, counts, seen
):
    """Walk with one weight vector; ``seen`` gets (score, 1 if corrected) of each visit."""
    weighted, varying = np.uint64(omega.size > 1), np.int64(etas.size > 1)
    for i in range(order.size):
        fetch(rows, order, i, cells, depth(rule))
        row = order[i]
        product, v = score(rule, rows, row, cells, sums, np.uint64(1), np.uint64(0), book)
        s = seen.dtype.type(product * book[SCALE, 0] + book[BIAS, 0])
        seen[i, 0], seen[i, 1], counts[VISITED] = s, 0.0, i + 1
        sign = sign_of(codes[row], task)
        if sign == 0.0:
            continue
        weight, eta = omega[row * weighted], etas[i * varying]
        m = sign * np.float64(s)
        tau = beta = 0.0
        if m <= margin_limit(rule):
            q = length(rule, rows, row, v, rates, book, 0)
            tau, beta = coefficients(rule, m, q, weight, eta)
        if tau != 0.0:
            if counts[RUN] > task.longest:
                counts[VISITED] = i
                return
            pull = sign * tau / book[SCALE, 0]
            update_row(
                rows, row, rule, cells, sums, rates, np.uint64(1), np.uint64(0), pull, beta, book
            )
            update_bias(rule, book, 0, sign * tau, beta)
            seen[i, 1] = 1.0
            counts[UPDATES] += 1
            counts[UPDATED] += 1
            counts[RUN] = 0
        else:
            counts[RUN] += 1
        finish_step(rule, cells, sums, book, eta, weight)


@kernel
def walk_jointly(
    rows, codes, omega, order, etas, cells, sums, rates, book, rule, task, counts, seen
):
    """Walk with one weight vector per class: the right class up, its best rival down.

    It is the walk of a single problem with the example ``(x for the right class, -x for the
    rival)``, whose label is +1.
    """
    weighted, varying = np.uint64(omega.size > 1), np.int64(etas.size > 1)
    classes = seen.shape[1]
    stride = np.uint64(classes)
    for i in range(order.size):
        fetch(rows, order, i, cells, depth(rule) * classes)
        row, s, counts[VISITED] = order[i], seen[i], i + 1
        label = np.int64(codes[row])
        for c in range(classes):
            product, _ = dot_and_variance(rows, row, rule, cells, sums, stride, np.uint64(c), book)
            s[c] = product * book[SCALE, 0] + book[BIAS, c]
        rival = np.int64(strongest_but(s, label))
        weight, eta = omega[row * weighted], etas[i * varying]
        m = np.float64(s[label]) - np.float64(s[rival])
        tau = beta = 0.0
        if m <= margin_limit(rule):
            q = 0.0
            for c in (label, rival):
                v = variance(rule, rows, row, cells, sums, stride, np.uint64(c), book)
                q += length(rule, rows, row, v, rates, book, c)
            tau, beta = coefficients(rule, m, q, weight, eta)
        if tau != 0.0:
            if counts[RUN] > task.longest:
                counts[VISITED] = i
                return
            for c in (label, rival):
                signed = tau if c == label else -tau
                pull = signed / book[SCALE, 0]
                update_row(
                    rows, row, rule, cells, sums, rates, stride, np.uint64(c), pull, beta, book
                )
                update_bias(rule, book, c, signed, beta)
            counts[UPDATES] += 1
            counts[UPDATED] += 1
            counts[RUN] = 0
        else:
            counts[RUN] += 1
        finish_step(rule, cells, sums, book, eta, weight)


@kernel
def finish_step(rule, cells, sums, book, eta, weight):
    """After each step: shrink the weights, and add to the averaging sums."""
    shrink(rule, cells, sums, book, eta, weight)
    book[STEPS, 0] += weight
    book[CLOCK, 0] += weight
    book[SCALES, 0] += weight * book[SCALE, 0]
    for c in range(book.shape[1]):
        book[BIAS_SUM, c] += weight * book[BIAS, c]
