"""The kernels of learning from files: sparse rows, weights that stay laid out, averages on request.

A walk visits rows in an order, keeps the score of each step in `seen` and corrects W on a mistake.
It leaves the averaging sums alone: whatever a step owes them follows from its score, so that
:func:`settle` can add it later, and only if somebody asks for the average.

The rows are packed (:class:`rosenblatt.kernels.packed.Packed`); W is (features, problems). Two
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
from rosenblatt.compiled.jit import fence, inlined, kernel, load_shared, store_shared
from rosenblatt.kernels.packed import (
    AHEAD,
    FAR,
    add,
    add_to_all,
    dot,
    dots,
    fetch,
    fetch_all_weights,
    fetch_weights,
    square,
)

GROUP = 4  # steps that a walk and its scout take in turn
LEAD = 256  # steps that a scout is ahead at most
PLACE, CORRECTIONS = 0, 16  # on the board, in cache lines of their own

step = inlined(rules.step)
lag = inlined(rules.lag)


@kernel
def two_classes(rows, codes, omega, order, W, bias, clock, rates, threshold, c2, seen, ahead):
    """Learn from rows of two classes; return the updates and the mistaken steps.

    `ahead` is what a :func:`scout` writes on: (board, scores, stamps), all empty if there is none.
    A score of his is taken if no correction came between, so that it is what this walk would find
    itself, to the last bit.
    """
    board, scores, stamps = ahead
    w = W.reshape(W.size)
    far, weighted = w.size * w.itemsize > FAR, np.uint64(omega.size > 1)
    scouted, corrections = board.size > 0, 0
    updates = mistaken = 0
    for i in range(order.size):
        row = order[i]
        if scouted:
            store_shared(board, PLACE, i)
        if scouted and for_scout(i) and load_shared(stamps, i) == corrections:
            s = scores[i]
        else:
            fetch(rows, order, i + 2 * GROUP - AHEAD if scouted else i)
            if far:
                fetch_weights(rows, order, i, w)
            s = dot(rows, row, w)
        s += np.float32(bias[0])
        seen[i, 0] = s
        weight = omega[row * weighted]
        clock[0] += weight
        sign = 1.0 if codes[row] == 1 else -1.0
        if sign * s <= threshold:
            sqnorm = square(rows, row, rates) + c2 if weight > 1.0 else 0.0
            tau = step(sign * s, threshold, 1.0, weight, sqnorm)
            corrections += 2
            if scouted:
                store_shared(board, CORRECTIONS, corrections - 1)
                fence()
            add(w, sign * tau, rows, row, rates)
            if scouted:
                store_shared(board, CORRECTIONS, corrections)
            bias[0] += sign * tau * c2
            updates += max(1, math.ceil(tau))
            mistaken += 1
    if scouted:
        store_shared(board, PLACE, order.size)
    return updates, mistaken


@kernel
def for_scout(i):
    """Whether a step is of those that a scout looks at: every other group."""
    return i // GROUP % 2 == 1


@kernel
def scout(rows, order, W, board, scores, stamps):
    """Score rows that a walk over two classes, in another thread, has yet to come to.

    The walk says on the board at which step it is and how many corrections it has made, twice;
    the number is odd while it makes one. The score of a step is stamped with the corrections it
    takes into account. Once there is another correction the scout begins again a little ahead.
    """
    w = W.reshape(W.size)
    corrections, i = np.int64(-1), np.int64(0)
    while True:
        place, now = load_shared(board, PLACE), load_shared(board, CORRECTIONS)
        if place >= order.size:
            return
        if now != corrections or i <= place + 1:
            corrections, i = now, place + 2
        while not for_scout(i):
            i += 1
        if i >= min(order.size, place + LEAD) or corrections % 2 == 1:
            continue
        fetch(rows, order, i + 2 * GROUP - AHEAD)
        s = dot(rows, order[i], w)
        fence()
        if load_shared(board, CORRECTIONS) == corrections:
            scores[i] = s
            store_shared(stamps, i, corrections)
        i += 1


@kernel
def many_classes(rows, codes, omega, order, W, bias, clock, rates, threshold, c2, seen):
    """Learn from rows of many classes; return the updates and the mistaken steps."""
    far, weighted = W.size * W.itemsize > FAR, np.uint64(omega.size > 1)
    w, taus = W.reshape(W.size), np.empty(W.shape[1], W.dtype)
    updates = mistaken = 0
    for i in range(order.size):
        fetch(rows, order, i)
        if far:
            fetch_all_weights(rows, order, i, w, taus.size)
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
