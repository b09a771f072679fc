"""Kernels over dense rows. X is (n, d); W is (classes, d): each class's weights lie together.

Every kernel walks through ``order[start:stop]``, scores a row, and corrects the weights on a
mistake, exactly as :mod:`rosenblatt.reference` does. What they share, here and in
:mod:`rosenblatt.engine.csr`:

- ``omega`` holds the weight of each row, or one for all; ``etas`` the learning rate of each step
  of the order, or one for all.
- ``W`` is read, ``T`` receives the corrections. Online the two are the same array; for the batch
  rule T is a heap in which they add up while the weights stand still. ``U`` is the averaging sum.
- ``bias`` holds the same three for b, one row each; ``clock`` the weighted steps so far.
- ``setting`` is (threshold for y = -1, threshold for y = +1, c², averaging, online).
- ``limits`` is (updates allowed, longest run): the walk stops when the former are used up, and
  *before* a mistake that ends a run of more than the latter many right answers, so that the
  caller can look at weights that lasted that long.
- They return (position reached, updates, mistaken steps, run of right answers).
"""

from __future__ import annotations

import math

import numpy as np

from rosenblatt import rules
from rosenblatt.engine._jit import REORDER, inlined, kernel, prefetch

step = inlined(rules.step)
lag = inlined(rules.lag)

AHEAD = 4  # rows between asking for a row's cache lines and reading them


@kernel(fastmath=REORDER)
def dot(x, w):
    """The inner product in the precision of the data, in vector lanes."""
    s = x.dtype.type(0)
    for j in range(x.size):
        s += x[j] * w[j]
    return s


@kernel
def add(w, tau, x):
    """``w += tau·x``."""
    t = x.dtype.type(tau)
    for j in range(x.size):
        w[j] += t * x[j]


@kernel
def add_late(u, tau, x):
    """``u += tau·x`` in double precision: averaging sums outgrow single."""
    for j in range(x.size):
        u[j] += tau * x[j]


@kernel
def correct(x, target, u, bias, tau, eta, time, setting):
    """``w += tau·x`` for one weight vector, its bias and its averaging sum.

    `bias` is (b, where its corrections go, averaging sum); tau carries the sign of the label.
    Returns the updates this makes: one for each copy of the row that was answered.
    """
    _, _, c2, averaging, online = setting
    add(target, tau, x)
    bias[1] += tau * c2
    if averaging:
        late = math.copysign(lag(abs(tau), eta, time), tau)
        add_late(u, late, x)
        bias[2] += late * c2
    if online:
        bias[0] = bias[1]
    return max(1, math.ceil(abs(tau) / eta)) if eta > 0.0 else 1


@kernel
def fetch(X, order, i):
    """Ask for the row `AHEAD` steps from now, unless rows come in order and the hardware does."""
    if i + AHEAD < order.size and order[i + AHEAD] != order[i] + np.uint64(AHEAD):
        row = X[order[i + AHEAD]]
        for j in range(0, row.size, 64 // row.itemsize):
            prefetch(row, j)


@kernel
def binary(X, y, omega, order, span, etas, W, T, U, bias, clock, setting, limits, run, scores):
    """Walk with one weight vector; y is -1 or +1, or 0: only score.

    `scores` gets the score at each step.
    """
    below, above, c2, _, online = setting
    allowed, longest = limits
    start, stop = span
    w = W[0]
    weighted, varying = np.uint64(omega.size > 1), int(etas.size > 1)
    updates = mistaken = 0
    for i in range(start, stop):
        fetch(X, order, i)
        row = order[i]
        x, sign, weight = X[row], y[row], omega[row * weighted]
        s = dot(x, w) + x.dtype.type(bias[0, 0])
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
        sqnorm = dot(x, x) + c2 if online and weight > 1.0 else 0.0
        tau = step(sign * s, threshold, etas[i * varying], weight, sqnorm)
        updates += correct(
            x, T[0], U[0], bias[:, 0], sign * tau, etas[i * varying], clock[0], setting
        )  # fmt: skip
        clock[0] += weight
        mistaken += 1
        run = 0
    return stop, updates, mistaken, run


@kernel
def one(x, sign, eta, weight, w, u, bias, book, setting):
    """Learn a single example; return its score before, which is NaN if x is not finite.

    `book` holds the clock and the updates so far.
    """
    below, above, c2, _, _ = setting
    s = dot(x, w) + x.dtype.type(bias[0])
    if not math.isfinite(s) and not np.isfinite(x).all():
        return x.dtype.type(np.nan)
    threshold = above if sign > 0 else below
    if sign * s <= threshold:
        sqnorm = dot(x, x) + c2 if weight > 1.0 else 0.0
        tau = step(sign * s, threshold, eta, weight, sqnorm)
        book[1] += correct(x, w, u, bias, sign * tau, eta, book[0], setting)
    book[0] += weight
    return s


@kernel
def ovr(X, y, omega, order, span, etas, W, T, U, bias, clock, setting, limits, run, best, top):
    """Walk with one weight vector a class, each against the rest; y is the class number.

    `best` gets the class of the largest score at each step, `top` that score. Classes are
    numbered from y's point of view: a share of the classes walks with y shifted.
    """
    below, above, c2, _, online = setting
    allowed, longest = limits
    start, stop = span
    weighted, varying = np.uint64(omega.size > 1), int(etas.size > 1)
    classes = W.shape[0]
    s = np.empty(classes, X.dtype)
    updates = mistaken = 0
    for i in range(start, stop):
        fetch(X, order, i)
        row = order[i]
        x, label, weight = X[row], y[row], omega[row * weighted]
        wrong = 0
        leader = 0
        for c in range(classes):
            s[c] = dot(x, W[c]) + x.dtype.type(bias[0, c])
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
        sqnorm = dot(x, x) + c2 if online and weight > 1.0 else 0.0
        for c in range(classes):
            sign, threshold = (1.0, above) if c == label else (-1.0, below)
            tau = step(sign * s[c], threshold, eta, weight, sqnorm)
            if tau != 0.0:
                updates += correct(
                    x, T[c], U[c], bias[:, c], sign * tau, eta, clock[0], setting
                )  # fmt: skip
        clock[0] += weight
        mistaken += 1
        run = 0
    return stop, updates, mistaken, run


@kernel
def joint(X, y, omega, order, span, etas, W, T, U, bias, clock, setting, limits, run, best, top):
    """Walk with one weight vector a class, moving two of them on a mistake; y is the class number.

    The right class goes up, the best wrong class down (Crammer and Singer 2003, the uniform
    ultraconservative choice of one rival). Copies of a weighted row come one after the other, and
    each may meet another rival.
    """
    below, above, c2, _, online = setting
    allowed, longest = limits
    start, stop = span
    weighted, varying = np.uint64(omega.size > 1), int(etas.size > 1)
    classes = W.shape[0]
    s = np.empty(classes, X.dtype)
    updates = mistaken = 0
    for i in range(start, stop):
        fetch(X, order, i)
        row = order[i]
        x, label, weight = X[row], np.int64(y[row]), omega[row * weighted]
        for c in range(classes):
            s[c] = dot(x, W[c]) + x.dtype.type(bias[0, c])
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
        sqnorm = dot(x, x) + c2 if online and weight > 1.0 else 0.0
        left = weight
        while left > 0.0 and s[label] - s[rival] <= threshold:
            copies = min(left, 1.0) if online else left
            for c in (label, rival):
                pull = copies * eta if c == label else -copies * eta
                time = clock[0] + weight - left
                correct(x, T[c], U[c], bias[:, c], pull, eta, time, setting)
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
def strongest_but(s, label):
    """The class of the largest score other than `label`, the first of equals."""
    rival = 1 if label == 0 else 0
    for c in range(s.size):
        if c != label and s[c] > s[rival]:
            rival = c
    return rival


@kernel
def folded(words, j):
    """The bits of a number, the high half mixed into the low; zero for both signs of zero."""
    word, half, one = words[j], words.dtype.type(4 * words.itemsize), words.dtype.type(1)
    doubled = words.dtype.type(word << one)  # loses the sign bit
    return word ^ (word >> half) if doubled != 0 else words.dtype.type(0)


@kernel
def keys(X, rows, multipliers):
    """A number for each row that tells rows apart: the sum of its bits times random odd numbers.

    The bits are folded first, as products only carry upwards.
    Zeros add nothing, so that a sparse copy of the rows gets the same numbers.
    """
    out = np.empty(rows.size, multipliers.dtype)
    for i in range(rows.size):
        bits = X[rows[i]].view(multipliers.dtype)
        h = multipliers.dtype.type(0)
        for j in range(bits.size):
            h += folded(bits, j) * multipliers[j]
        out[i] = h
    return out


@kernel
def same_as_next(X, rows):
    """Whether each of the rows equals the next one."""
    out = np.zeros(rows.size, np.bool_)
    for i in range(rows.size - 1):
        a, b = X[rows[i]], X[rows[i + 1]]
        out[i] = np.all(a == b)
    return out
