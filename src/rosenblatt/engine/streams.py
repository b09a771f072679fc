"""The kernels of learning from files: sparse rows, weights that stay laid out, averages on request.

A walk visits rows in an order, keeps the score of each step in `seen` and corrects W on a mistake.
It leaves the averaging sums alone: whatever a step owes them follows from its score, so that
:func:`settle` can add it later, and only if somebody asks for the average.

The rows are packed (:class:`rosenblatt.engine.packed.Packed`); W is (features, problems). Two
classes have one problem, for class 1; more have one each, against the rest. A step that is mistaken
at margin <= `threshold` is answered with the learning rate 1, by the rule of
:func:`rosenblatt.rules.step`. `omega` holds the weight of each row, or one for all, `clock` the
weighted steps so far, `c2` is the squared padding constant, and `rates` are the learning rates of
the features, the last for all beyond.
"""

from __future__ import annotations

import math

import numpy as np

from rosenblatt import rules
from rosenblatt.engine._jit import inlined, kernel
from rosenblatt.engine.packed import (
    AHEAD,
    FAR,
    add,
    add_to_all,
    dot,
    dots,
    fetch,
    fetch_weights,
    square,
)

step = inlined(rules.step)
lag = inlined(rules.lag)


@kernel
def two_classes(rows, codes, omega, order, W, bias, clock, rates, threshold, c2, seen):
    """Learn from rows of two classes; return the updates and the mistaken steps."""
    w = W.reshape(W.size)
    far, weighted = w.size * w.itemsize > FAR, np.uint64(omega.size > 1)
    updates = mistaken = 0
    for i in range(order.size):
        fetch(rows, order, i)
        if far:
            fetch_weights(rows, order, i, w)
        row = order[i]
        weight = omega[row * weighted]
        s = dot(rows, row, w) + np.float32(bias[0])
        seen[i, 0] = s
        clock[0] += weight
        sign = 1.0 if codes[row] == 1 else -1.0
        if sign * s <= threshold:
            sqnorm = square(rows, row, rates) + c2 if weight > 1.0 else 0.0
            tau = step(sign * s, threshold, 1.0, weight, sqnorm)
            add(w, sign * tau, rows, row, rates)
            bias[0] += sign * tau * c2
            updates += max(1, math.ceil(tau))
            mistaken += 1
    return updates, mistaken


@kernel
def many_classes(rows, codes, omega, order, W, bias, clock, rates, threshold, c2, seen):
    """Learn from rows of many classes; return the updates and the mistaken steps."""
    weighted = np.uint64(omega.size > 1)
    taus = np.empty(W.shape[1], W.dtype)
    updates = mistaken = 0
    for i in range(order.size):
        fetch(rows, order, i)
        row = order[i]
        weight = omega[row * weighted]
        s = seen[i]
        dots(rows, row, W, s)
        wrong = 0
        sqnorm = square(rows, row, rates) + c2 if weight > 1.0 else 0.0
        for c in range(s.size):
            s[c] += np.float32(bias[c])
            sign = 1.0 if codes[row] == c else -1.0
            tau = step(sign * s[c], threshold, 1.0, weight, sqnorm)
            taus[c] = sign * tau
            bias[c] += sign * tau * c2
            wrong += sign * s[c] <= threshold
            updates += math.ceil(tau)
        clock[0] += weight
        if wrong > 0:
            mistaken += 1
            add_to_all(W, taus, rows, row, rates, wrong)
    return updates, mistaken


@kernel
def owes(code, s, threshold):
    """Whether a step with these scores is mistaken in any of the problems."""
    found = False
    for c in range(s.size):
        found |= (s[c] if code == (1 if s.size == 1 else c) else -s[c]) <= threshold
    return found


@kernel
def settle(rows, codes, omega, order, seen, U, sums, rates, time, threshold, c2):
    """Add what the steps of a walk owe to the averaging sums U, and `sums` for the biases.

    `seen` are the scores that the walk kept, `time` the clock when it began.
    """
    weighted = np.uint64(omega.size > 1)
    problems = U.shape[1]
    late = np.empty(problems, U.dtype)
    for i in range(order.size):
        if i + AHEAD < order.size and owes(codes[order[i + AHEAD]], seen[i + AHEAD], threshold):
            fetch(rows, order, i)
        row = order[i]
        weight = omega[row * weighted]
        sqnorm = square(rows, row, rates) + c2 if weight > 1.0 else 0.0
        wrong = 0
        for c in range(problems):
            sign = 1.0 if codes[row] == (1 if problems == 1 else c) else -1.0
            tau = step(sign * seen[i, c], threshold, 1.0, weight, sqnorm)
            late[c] = sign * lag(tau, 1.0, time)
            sums[c] += late[c] * c2
            wrong += tau != 0.0
        if wrong > 0:
            add_to_all(U, late, rows, row, rates, wrong)
        time += weight
