"""The walks: score each row of an order, and correct the weights where it is mistaken.

They take exactly the steps of :mod:`rosenblatt.reference`, over rows of every layout
(:mod:`rosenblatt.kernels.rows`). What they share:

- ``rows, codes, omega`` are the examples: the class number of each row, and its weight or one for
  all. ``order`` holds the rows to visit, ``etas`` the learning rate of each visit or one for all.
- ``book`` (4, problems) holds the biases, their averaging sums, in ``book[CLOCK, 0]`` the weighted
  steps so far, and in ``book[TIME, 0]`` those before a walk that is to be settled. ``rule`` is
  (threshold for y = -1, threshold for y = +1, c²).
- ``seen`` gets the scores of each visit before learning. What a visit adds to the averaging sums
  follows from them, so that a walk leaves the sums alone; ``settle_one`` and ``settle_many`` add it
  when the average is wanted (a lazy average).
- ``tally`` holds limits and counts, see below. A walk stops when the updates allowed are used up,
  and *before* a mistake that ends a run of more than ``tally[LONGEST]`` right answers, so that the
  caller can look at weights that lasted that long.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rosenblatt import rules
from rosenblatt.kernels.fetch import FAR, fetch, fetch_weights
from rosenblatt.kernels.jit import by_layout, inlined, kernel
from rosenblatt.kernels.rows import add, add_each, dot, dots, square
from rosenblatt.kernels.screen import is_right, length_of

BIAS, BIAS_SUM, CLOCK, TIME = 0, 1, 2, 3  # rows of a book
BELOW, ABOVE, PADDING = 0, 1, 2  # entries of a rule
# Entries of a tally; READ counts the rows that a copy in 8 bits could not tell.
VISITED, UPDATES, UPDATED, RUN, ALLOWED, LONGEST, NEGATIVE, POSITIVE, READ, MISTAKES = range(10)
TALLY = 10

step = inlined(rules.step)
lag = inlined(rules.lag)


@kernel
def copies(tau, eta):
    """The updates that a correction by tau stands for: one per copy of the row answered."""
    return max(1, math.ceil(abs(tau) / eta)) if eta > 0.0 else 1


@kernel
def sign_of(code, tally):
    """What a class is to a problem of two classes: -1, +1, or 0 if it is neither of them."""
    return 1.0 if code == tally[POSITIVE] else -1.0 if code == tally[NEGATIVE] else 0.0


@kernel
def walk_one(rows, codes, omega, order, etas, w, rates, book, rule, tally, seen):
    """Walk with one weight vector; rows of other classes than its two are only scored.

    Rows with a copy in 8 bits are only read where the copy does not show that they are right. Of
    the 16 arguments packed rows are six: the rest is examples, order, weights and counts.
    """
    weighted, varying = np.uint64(omega.size > 1), int(etas.size > 1)
    far, length = w.size * w.itemsize > FAR, length_of(rows, w)
    for i in range(order.size):
        row = order[i]
        sign, weight = sign_of(codes[row], tally), omega[row * weighted]
        threshold = rule[ABOVE] if sign > 0 else rule[BELOW]
        fetch(rows, order, i)
        if far:
            fetch_weights(rows, order, i, w, 1)
        if sign != 0.0 and is_right(rows, row, w, length, book[BIAS, 0], sign, threshold, seen, i):
            tally[VISITED] = i + 1
            tally[RUN] += 1
            book[CLOCK, 0] += weight
            continue
        tally[READ] += 1
        s = dot(rows, row, w) + seen.dtype.type(book[BIAS, 0])
        seen[i, 0] = s
        tally[VISITED] = i + 1
        if sign == 0.0:
            continue
        wrong = np.int64((s > 0) != (sign > 0))
        if not sign * s <= threshold:
            tally[MISTAKES] += wrong
            tally[RUN] += 1
            book[CLOCK, 0] += weight
            continue
        if tally[RUN] > tally[LONGEST] or tally[UPDATES] >= tally[ALLOWED]:
            tally[VISITED] = i
            return
        tally[MISTAKES] += wrong
        eta = etas[i * varying]
        sqnorm = square(rows, row, rates) + rule[PADDING] if weight > 1.0 else 0.0
        tau = step(sign * s, threshold, eta, weight, sqnorm)
        add(rows, row, w, sign * tau, rates)
        length = length_of(rows, w)
        book[BIAS, 0] += sign * tau * rule[PADDING]
        book[CLOCK, 0] += weight
        tally[UPDATES] += copies(tau, eta)
        tally[UPDATED] += 1
        tally[RUN] = 0


@kernel
def settle_one(rows, codes, omega, order, etas, seen, u, rates, book, rule, tally):
    """Add the visits of :func:`walk_one`, with its arguments, to the averaging sums."""
    weighted, varying = np.uint64(omega.size > 1), int(etas.size > 1)
    time = book[TIME, 0]
    for i in range(order.size):
        row = order[i]
        sign, weight = sign_of(codes[row], tally), omega[row * weighted]
        if sign == 0.0:
            continue
        margin, threshold = sign * seen[i, 0], rule[ABOVE] if sign > 0 else rule[BELOW]
        if margin <= threshold:
            sqnorm = square(rows, row, rates) + rule[PADDING] if weight > 1.0 else 0.0
            tau = step(margin, threshold, etas[i * varying], weight, sqnorm)
            late = sign * lag(tau, etas[i * varying], time)
            add(rows, row, u, late, rates)
            book[BIAS_SUM, 0] += late * rule[PADDING]
        time += weight


class Each(NamedTuple):
    """Classes that learn each against the rest, and scratch memory (3, classes).

    Updates go to ``moves[0]``, what they add to the averaging sums to ``moves[1]``.
    """

    moves: np.ndarray


class Joint(NamedTuple):
    """Classes that learn jointly, and the same memory; ``moves[2]`` is for scores.

    The right class goes up, the best wrong class down (Crammer and Singer 2003). Copies of a
    weighted row come one after the other, and each may meet another rival.
    """

    moves: np.ndarray


@kernel
def walk_many(rows, codes, omega, order, etas, W, rates, book, rule, tally, seen, way):
    """Walk with one weight vector per class; `way` is how they learn.

    ``tally[NEGATIVE]`` is the number of the first class here. The arguments are those of
    :func:`walk_one`, and one more.
    """
    weighted, varying = np.uint64(omega.size > 1), int(etas.size > 1)
    classes = seen.shape[1]
    far = W.size * W.itemsize > FAR
    for i in range(order.size):
        fetch(rows, order, i)
        if far:
            fetch_weights(rows, order, i, W, classes)
        row, s, tally[VISITED] = order[i], seen[i], i + 1
        label, weight = codes[row] - tally[NEGATIVE], omega[row * weighted]
        dots(rows, row, W, s)
        for c in range(classes):
            s[c] += seen.dtype.type(book[BIAS, c])
        wrong = count_wrong(way, s, label, rule)
        if wrong > 0 and (tally[RUN] > tally[LONGEST] or tally[UPDATES] >= tally[ALLOWED]):
            tally[VISITED] = i
            return
        tally[MISTAKES] += strongest(s) != label
        if wrong == 0:
            tally[RUN] += 1
            book[CLOCK, 0] += weight
            continue
        eta, time = etas[i * varying], book[CLOCK, 0]
        sqnorm = square(rows, row, rates) + rule[PADDING] if weight > 1.0 else 0.0
        updates, moved = answer(way, s, label, weight, eta, sqnorm, rule, time)
        add_each(rows, row, W, way.moves[0], moved, rates)
        for c in range(classes):
            book[BIAS, c] += way.moves[0, c] * rule[PADDING]
        book[CLOCK, 0] += weight
        tally[UPDATES] += updates
        tally[UPDATED] += 1
        tally[RUN] = 0


@kernel
def settle_many(rows, codes, omega, order, etas, seen, U, rates, book, rule, tally, way):
    """Add the visits of :func:`walk_many`, with its arguments, to the averaging sums."""
    weighted, varying = np.uint64(omega.size > 1), int(etas.size > 1)
    time = book[TIME, 0]
    for i in range(order.size):
        row, s = order[i], seen[i]
        label, weight = codes[row] - tally[NEGATIVE], omega[row * weighted]
        if count_wrong(way, s, label, rule) > 0:
            sqnorm = square(rows, row, rates) + rule[PADDING] if weight > 1.0 else 0.0
            eta = etas[i * varying]
            _, moved = answer(way, s, label, weight, eta, sqnorm, rule, time)
            add_each(rows, row, U, way.moves[1], moved, rates)
            for c in range(s.size):
                book[BIAS_SUM, c] += way.moves[1, c] * rule[PADDING]
        time += weight


@kernel
def count_wrong_each(way, s, label, rule):
    """How many classes are corrected."""
    wrong = 0
    for c in range(s.size):
        wrong += s[c] <= rule[ABOVE] if c == label else -s[c] <= rule[BELOW]
    return wrong


@kernel
def count_wrong_joint(way, s, label, rule):
    """Whether the right class is too close to its rival."""
    rival = strongest_but(s, label)
    return int(s[label] - s[rival] <= (rule[ABOVE] if label > rival else rule[BELOW]))


count_wrong = by_layout("count_wrong", Each=count_wrong_each, Joint=count_wrong_joint)


@kernel
def answer_each(way, s, label, weight, eta, sqnorm, rule, time):
    """Write how far each class moves, and its sum; the updates, and how many classes move."""
    updates, moved, moves = 0, 0, way.moves
    for c in range(s.size):
        sign, threshold = (1.0, rule[ABOVE]) if c == label else (-1.0, rule[BELOW])
        tau = step(sign * s[c], threshold, eta, weight, sqnorm)
        moves[0, c], moves[1, c] = sign * tau, 0.0
        if tau != 0.0:
            moves[1, c] = sign * lag(tau, eta, time)
            updates += copies(tau, eta)
            moved += 1
    return updates, moved


@kernel
def answer_joint(way, s, label, weight, eta, sqnorm, rule, time):
    """The same for all classes jointly."""
    updates, left, moves = 0, weight, way.moves
    for c in range(s.size):
        moves[0, c], moves[1, c], moves[2, c] = 0.0, 0.0, s[c]
    now = moves[2]
    rival = strongest_but(now, label)
    while left > 0.0 and now[label] - now[rival] <= (rule[ABOVE] if label > rival else rule[BELOW]):
        pull = min(left, 1.0) * eta
        for c in (label, rival):
            signed = pull if c == label else -pull
            moves[0, c] += signed
            moves[1, c] += signed * (time + weight - left)
            now[c] = s.dtype.type(now[c] + signed * sqnorm)
        left -= min(left, 1.0)
        updates += 1
        rival = strongest_but(now, label)
    return updates, min(updates + 1, s.size)


answer = by_layout("answer", Each=answer_each, Joint=answer_joint)


@kernel
def strongest(s):
    """The class of the largest score, the first of equals: the prediction."""
    best = 0
    for c in range(s.size):
        if s[c] > s[best]:
            best = c
    return best


@kernel
def strongest_but(s, label):
    """The class of the largest score other than `label`, the first of equals."""
    rival = 1 if label == 0 else 0
    for c in range(s.size):
        if c != label and s[c] > s[rival]:
            rival = c
    return rival


@kernel
def add_rows(rows, order, coefficients, W, rates):
    """``W += Σ coefficients[i]·rates·x_i`` over the rows of an order: a batch of corrections."""
    for i in range(order.size):
        moved = 0
        for c in range(coefficients.shape[1]):
            moved += coefficients[i, c] != 0.0
        if moved > 0:
            add_each(rows, order[i], W, coefficients[i], moved, rates)
