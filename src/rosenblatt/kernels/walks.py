"""The kernels: walks through rows that score each and correct the weights on a mistake.

They take exactly the steps of :mod:`rosenblatt.reference`, over dense and sparse rows alike
(:mod:`rosenblatt.kernels.layouts`). Every walk goes through ``order[start:stop]``. What they share:

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
from rosenblatt.compiled.jit import inlined, kernel
from rosenblatt.kernels.layouts import (
    add,
    fetch,
    row_at,
    score,
    scores,
    square,
    the_only,
    weights_of,
)

step = inlined(rules.step)
lag = inlined(rules.lag)


@kernel
def correct(x, target, u, bias, tau, eta, time, setting):
    """``w += tau·x`` for one weight vector, its bias and its averaging sum.

    `bias` is (b, where its corrections go, averaging sum); tau carries the sign of the label.
    Returns the updates this makes: one for each copy of the row that was answered.
    """
    _, _, c2, averaging, online = setting
    add(x, target, tau)
    bias[1] += tau * c2
    if averaging:
        late = math.copysign(lag(abs(tau), eta, time), tau)
        add(x, u, late)
        bias[2] += late * c2
    if online:
        bias[0] = bias[1]
    return max(1, math.ceil(abs(tau) / eta)) if eta > 0.0 else 1


@kernel
def binary(rows, y, omega, order, span, etas, W, T, U, bias, clock, setting, limits, run, seen):
    """Walk with one weight vector; y is -1 or +1, or 0: only score.

    `seen` gets the score at each step.
    """
    below, above, c2, _, online = setting
    allowed, longest = limits
    start, stop = span
    w, target, u = the_only(rows, W), the_only(rows, T), the_only(rows, U)
    weighted, varying = np.uint64(omega.size > 1), int(etas.size > 1)
    updates = mistaken = 0
    for i in range(start, stop):
        fetch(rows, order, i, W)
        row = order[i]
        x, sign, weight = row_at(rows, row), y[row], omega[row * weighted]
        s = score(x, w) + seen.dtype.type(bias[0, 0])
        seen[i - start] = s
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
            x, target, u, bias[:, 0], sign * tau, etas[i * varying], clock[0], setting
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
    s = score(x, w) + x.dtype.type(bias[0])
    if not math.isfinite(s) and not np.isfinite(x).all():
        return x.dtype.type(np.nan)
    threshold = above if sign > 0 else below
    if sign * s <= threshold:
        sqnorm = square(x) + c2 if weight > 1.0 else 0.0
        tau = step(sign * s, threshold, eta, weight, sqnorm)
        book[1] += correct(x, w, u, bias, sign * tau, eta, book[0], setting)
    book[0] += weight
    return s


@kernel
def ovr(rows, y, omega, order, span, etas, W, T, U, bias, clock, setting, limits, run, best, top):
    """Walk with one weight vector a class, each against the rest; y is the class number.

    `best` gets the class of the largest score at each step, `top` that score. Classes are
    numbered from y's point of view: a share of the classes walks with y shifted.
    """
    below, above, c2, _, online = setting
    allowed, longest = limits
    start, stop = span
    weighted, varying = np.uint64(omega.size > 1), int(etas.size > 1)
    classes = bias.shape[1]
    s = np.empty(classes, top.dtype)
    updates = mistaken = 0
    for i in range(start, stop):
        fetch(rows, order, i, W)
        row = order[i]
        x, label, weight = row_at(rows, row), y[row], omega[row * weighted]
        wrong = 0
        leader = 0
        scores(x, W, s)
        for c in range(classes):
            s[c] += s.dtype.type(bias[0, c])
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
                target, u = weights_of(rows, T, c), weights_of(rows, U, c)
                updates += correct(x, target, u, bias[:, c], sign * tau, eta, clock[0], setting)
        clock[0] += weight
        mistaken += 1
        run = 0
    return stop, updates, mistaken, run


@kernel
def joint(rows, y, omega, order, span, etas, W, T, U, bias, clock, setting, limits, run, best, top):
    """Walk with one weight vector a class, moving two of them on a mistake; y is the class number.

    The right class goes up, the best wrong class down (Crammer and Singer 2003, the uniform
    ultraconservative choice of one rival). Copies of a weighted row come one after the other, and
    each may meet another rival.
    """
    below, above, c2, _, online = setting
    allowed, longest = limits
    start, stop = span
    weighted, varying = np.uint64(omega.size > 1), int(etas.size > 1)
    classes = bias.shape[1]
    s = np.empty(classes, top.dtype)
    updates = mistaken = 0
    for i in range(start, stop):
        fetch(rows, order, i, W)
        row = order[i]
        x, label, weight = row_at(rows, row), np.int64(y[row]), omega[row * weighted]
        scores(x, W, s)
        for c in range(classes):
            s[c] += s.dtype.type(bias[0, c])
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
                target, u = weights_of(rows, T, c), weights_of(rows, U, c)
                correct(x, target, u, bias[:, c], pull, eta, time, setting)
                s[c] += s.dtype.type(pull * sqnorm)
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
