"""Kernels over sparse rows in CSR form. W is (d, classes): a feature's weights lie together.

One pass over the entries of a row then scores all classes. The rows come as `data`, `columns`
(uint32) and `pointers` (uint64): unsigned, so that no index is checked for being negative. All
else is as in :mod:`rosenblatt.engine.dense`.
"""

from __future__ import annotations

import math

import numpy as np

from rosenblatt import rules
from rosenblatt.engine._jit import REORDER, inlined, kernel, prefetch
from rosenblatt.engine.dense import folded, strongest_but

step = inlined(rules.step)
lag = inlined(rules.lag)

AHEAD = 2  # rows between asking for a row's entries and reading them
FAR = 1 << 23  # bytes of weights beyond which they are asked for ahead of time, too


@kernel(fastmath=REORDER)
def dot(data, columns, w):
    """The score of a sparse row with one weight vector."""
    s = data.dtype.type(0)
    for j in range(data.size):
        s += data[j] * w[columns[j]]
    return s


@kernel
def add(w, tau, data, columns):
    """``w += tau·x``."""
    t = w.dtype.type(tau)
    for j in range(data.size):
        w[columns[j]] += t * data[j]


@kernel
def scores_of_all(data, columns, W, s):
    """The scores of a sparse row with all classes, into s."""
    for c in range(s.size):
        s[c] = 0
    for j in range(data.size):
        x, w = data[j], W[columns[j]]
        for c in range(s.size):
            s[c] += x * w[c]


@kernel
def correct(x, at, target, u, bias, tau, eta, time, setting):
    """``w += tau·x`` for one weight vector, its bias and its averaging sum, as for dense rows."""
    _, _, c2, averaging, online = setting
    add(target, tau, x, at)
    bias[1] += tau * c2
    if averaging:
        late = math.copysign(lag(abs(tau), eta, time), tau)
        add(u, late, x, at)
        bias[2] += late * c2
    if online:
        bias[0] = bias[1]
    return max(1, math.ceil(abs(tau) / eta)) if eta > 0.0 else 1


@kernel(fastmath=REORDER)
def square(data):
    """The squared length of a row."""
    s = data.dtype.type(0)
    for j in range(data.size):
        s += data[j] * data[j]
    return s


@kernel
def fetch(data, columns, pointers, order, i):
    """Ask for the entries of the row `AHEAD` steps from now."""
    if i + AHEAD < order.size:
        row = order[i + AHEAD]
        for j in range(pointers[row], pointers[row + np.uint64(1)], 16):
            prefetch(columns, j)
            prefetch(data, j)
            if data.itemsize == 8:
                prefetch(data, j + np.uint64(8))


@kernel
def fetch_weights(columns, pointers, order, i, w):
    """Ask for the weights that the next row will meet."""
    if i + 1 < order.size:
        row = order[i + 1]
        for j in range(pointers[row], pointers[row + np.uint64(1)]):
            prefetch(w, columns[j])


@kernel
def binary(
    rows, y, omega, order, span, etas, W, T, U, bias, clock, setting, limits, run, scores
):  # fmt: skip
    """Walk with one weight vector; y is -1 or +1, or 0: only score.

    `scores` gets the score at each step.
    """
    below, above, c2, _, online = setting
    allowed, longest = limits
    start, stop = span
    data, columns, pointers = rows
    w, target, u = W.reshape(W.size), T.reshape(T.size), U.reshape(U.size)
    weighted, varying = np.uint64(omega.size > 1), int(etas.size > 1)
    far = w.size * w.itemsize > FAR
    updates = mistaken = 0
    for i in range(start, stop):
        fetch(data, columns, pointers, order, i)
        if far:
            fetch_weights(columns, pointers, order, i, w)
        row = order[i]
        lo, hi = pointers[row], pointers[row + np.uint64(1)]
        x, at, sign, weight = data[lo:hi], columns[lo:hi], y[row], omega[row * weighted]
        s = dot(x, at, w) + x.dtype.type(bias[0, 0])
        scores[i - start] = s
        if sign == 0:
            continue
        threshold = above if sign > 0 else below
        if not sign * s <= threshold:
            run += 1
            clock[0] += weight
            continue
        if run > longest or updates >= allowed:
            return i, updates, mistaken, run
        sqnorm = square(x) + c2 if online and weight > 1.0 else 0.0
        tau = step(sign * s, threshold, etas[i * varying], weight, sqnorm)
        updates += correct(
            x, at, target, u, bias[:, 0], sign * tau, etas[i * varying], clock[0], setting
        )  # fmt: skip
        clock[0] += weight
        mistaken += 1
        run = 0
    return stop, updates, mistaken, run


@kernel
def ovr(
    rows, y, omega, order, span, etas, W, T, U, bias, clock, setting, limits, run, best, top
):  # fmt: skip
    """Walk with one weight vector a class, each against the rest; y is the class number."""
    below, above, c2, _, online = setting
    allowed, longest = limits
    start, stop = span
    data, columns, pointers = rows
    weighted, varying = np.uint64(omega.size > 1), int(etas.size > 1)
    classes = W.shape[1]
    s = np.empty(classes, data.dtype)
    updates = mistaken = 0
    for i in range(start, stop):
        fetch(data, columns, pointers, order, i)
        row = order[i]
        lo, hi = pointers[row], pointers[row + np.uint64(1)]
        x, at, label, weight = data[lo:hi], columns[lo:hi], y[row], omega[row * weighted]
        scores_of_all(x, at, W, s)
        wrong = 0
        leader = 0
        for c in range(classes):
            s[c] += x.dtype.type(bias[0, c])
            leader = c if s[c] > s[leader] else leader
            wrong += s[c] <= above if c == label else -s[c] <= below
        best[i - start], top[i - start] = leader, s[leader]
        if wrong == 0:
            run += 1
            clock[0] += weight
            continue
        if run > longest or updates >= allowed:
            return i, updates, mistaken, run
        eta = etas[i * varying]
        sqnorm = square(x) + c2 if online and weight > 1.0 else 0.0
        for c in range(classes):
            sign, threshold = (1.0, above) if c == label else (-1.0, below)
            tau = step(sign * s[c], threshold, eta, weight, sqnorm)
            if tau != 0.0:
                updates += correct(
                    x, at, T[:, c], U[:, c], bias[:, c], sign * tau, eta, clock[0], setting
                )  # fmt: skip
        clock[0] += weight
        mistaken += 1
        run = 0
    return stop, updates, mistaken, run


@kernel
def joint(
    rows, y, omega, order, span, etas, W, T, U, bias, clock, setting, limits, run, best, top
):  # fmt: skip
    """Walk with one weight vector a class, moving two of them on a mistake; y is the class."""
    below, above, c2, _, online = setting
    allowed, longest = limits
    start, stop = span
    data, columns, pointers = rows
    weighted, varying = np.uint64(omega.size > 1), int(etas.size > 1)
    classes = W.shape[1]
    s = np.empty(classes, data.dtype)
    updates = mistaken = 0
    for i in range(start, stop):
        fetch(data, columns, pointers, order, i)
        row = order[i]
        lo, hi = pointers[row], pointers[row + np.uint64(1)]
        x, at, label, weight = data[lo:hi], columns[lo:hi], np.int64(y[row]), omega[row * weighted]
        scores_of_all(x, at, W, s)
        for c in range(classes):
            s[c] += x.dtype.type(bias[0, c])
        rival = strongest_but(s, label)
        ahead = s[label] > s[rival] or (s[label] == s[rival] and label < rival)
        best[i - start] = label if ahead else rival
        top[i - start] = s[best[i - start]]
        threshold = above if label > rival else below
        if not s[label] - s[rival] <= threshold:
            run += 1
            clock[0] += weight
            continue
        if run > longest or updates >= allowed:
            return i, updates, mistaken, run
        eta = etas[i * varying]
        sqnorm = square(x) + c2 if online and weight > 1.0 else 0.0
        left = weight
        while left > 0.0 and s[label] - s[rival] <= threshold:
            copies = min(left, 1.0) if online else left
            for c in (label, rival):
                pull = copies * eta if c == label else -copies * eta
                time = clock[0] + weight - left
                correct(x, at, T[:, c], U[:, c], bias[:, c], pull, eta, time, setting)
                s[c] += x.dtype.type(pull * sqnorm)
            left -= copies
            updates += 1
            rival = strongest_but(s, label)
            threshold = above if label > rival else below
        clock[0] += weight
        mistaken += 1
        run = 0
    return stop, updates, mistaken, run


@kernel
def keys(rows, chosen, multipliers):
    """A number for each chosen row that tells rows apart, as for dense rows."""
    data, columns, pointers = rows
    bits = data.view(multipliers.dtype)
    out = np.empty(chosen.size, multipliers.dtype)
    for i in range(chosen.size):
        h = multipliers.dtype.type(0)
        for j in range(pointers[chosen[i]], pointers[chosen[i] + np.uint64(1)]):
            h += folded(bits, j) * multipliers[columns[j]]
        out[i] = h
    return out


@kernel
def same_as_next(rows, chosen):
    """Whether each of the chosen rows equals the next one."""
    data, columns, pointers = rows
    out = np.zeros(chosen.size, np.bool_)
    for i in range(chosen.size - 1):
        a, b = chosen[i], chosen[i + 1]
        p, q = pointers[a], pointers[b]
        length = pointers[a + np.uint64(1)] - p
        same = length == pointers[b + np.uint64(1)] - q
        j = np.uint64(0)
        while same and j < length:
            same = columns[p + j] == columns[q + j] and data[p + j] == data[q + j]
            j += np.uint64(1)
        out[i] = same
    return out
