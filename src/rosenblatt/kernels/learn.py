"""The walks: score each row of an order, and correct the weights where it is mistaken.

They take exactly the steps of :mod:`rosenblatt.reference`, over rows of every layout
(:mod:`rosenblatt.kernels.rows`). Their arguments:

- ``rows, codes, omega``: the examples, with the class number of each row, and its weight or one
  weight for all. ``order``: the rows to visit. ``etas``: the learning rate of each visit, or one.
- ``weights``: the weights, and their averaging sums, which are empty if nothing is averaged.
- ``book`` (3, problems): the biases, their averaging sums, and in ``book[CLOCK, 0]`` the weighted
  steps so far.
- ``rule``: (threshold for y = -1, threshold for y = +1, c²).
- ``seen`` (visits, problems) gets the score of each visit before learning.
- ``task``: the classes and the limit. A walk stops *before* a mistake that ends a run of more than
  ``task.longest`` right answers, so that the caller can evaluate weights that lasted that long.
- ``counts``: what happened, by the indices below.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rosenblatt import rules
from rosenblatt.kernels.fetch import fetch
from rosenblatt.kernels.jit import inlined, kernel
from rosenblatt.kernels.rows import add, add_each, dot, dots, square
from rosenblatt.kernels.screen import is_right, length_of

BIAS, BIAS_SUM, CLOCK = 0, 1, 2  # rows of a book
BOOK = 3
UNLIMITED = 2**63 - 1
BELOW, ABOVE, PADDING = 0, 1, 2  # entries of a rule
# What a walk counts; READ are the rows that their 8-bit copies could not decide.
VISITED, UPDATES, UPDATED, RUN, READ, MISTAKES = range(6)
COUNTS = 6
REST = -1  # as task.negative: every class but the positive one is negative


class Task(NamedTuple):
    """Which classes a walk is about, and when it stops."""

    negative: int = 0  # the negative class, or REST; the first of several classes
    positive: int = 1
    joint: bool = False  # whether all classes learn jointly
    longest: int = UNLIMITED  # the run of right answers that a walk does not end


is_within = inlined(rules.is_within)
step = inlined(rules.step)
lag = inlined(rules.lag)


@kernel
def copies(tau, eta):
    """The number of updates that a correction by tau counts for: one per copy of the row."""
    count = math.ceil(abs(tau) / eta) if eta > 0.0 else 1
    return count if count > 1 else 1


@kernel
def sign_of(code, task):
    """The sign of a class in a binary problem: +1, -1, or 0 if it is not part of it."""
    if code == task.positive:
        return 1.0
    return -1.0 if task.negative == REST or code == task.negative else 0.0


@kernel
def walk_one(rows, codes, omega, order, etas, weights, rates, book, rule, task, counts, seen):
    """Walk with one weight vector; rows of other classes than its two are only scored.

    Rows with an 8-bit copy are read only if the copy does not show that they are right. Of the 16
    arguments packed rows are six: the rest is examples, order, weights and counts.
    """
    w, u = weights
    weighted, varying = np.uint64(omega.size > 1), np.int64(etas.size > 1)
    length = length_of(rows, w)
    for i in range(order.size):
        row = order[i]
        sign, weight = sign_of(codes[row], task), omega[row * weighted]
        threshold = rule[ABOVE] if sign > 0 else rule[BELOW]
        fetch(rows, order, i, w, 1)
        if sign != 0.0 and is_right(rows, row, w, length, book[BIAS, 0], sign, threshold, seen, i):
            counts[VISITED] = i + 1
            counts[RUN] += 1
            book[CLOCK, 0] += weight
            continue
        counts[READ] += 1
        s = dot(rows, row, w) + seen.dtype.type(book[BIAS, 0])
        seen[i, 0] = s
        counts[VISITED] = i + 1
        if sign == 0.0:
            continue
        wrong = np.int64((s > 0) != (sign > 0))
        if not is_within(sign * s, threshold):
            counts[MISTAKES] += wrong
            counts[RUN] += 1
            book[CLOCK, 0] += weight
            continue
        if counts[RUN] > task.longest:
            counts[VISITED] = i
            return
        counts[MISTAKES] += wrong
        eta = etas[i * varying]
        sqnorm = square(rows, row, rates) + rule[PADDING] if weight > 1.0 else 0.0
        tau = step(sign * s, threshold, eta, weight, sqnorm)
        add(rows, row, w, sign * tau, rates)
        length = length_of(rows, w)
        book[BIAS, 0] += sign * tau * rule[PADDING]
        if u.size > 0:
            late = sign * lag(tau, eta, book[CLOCK, 0])
            add(rows, row, u, late, rates)
            book[BIAS_SUM, 0] += late * rule[PADDING]
        book[CLOCK, 0] += weight
        counts[UPDATES] += copies(tau, eta)
        counts[UPDATED] += 1
        counts[RUN] = 0


@kernel
def walk_many(
    rows, codes, omega, order, etas, weights, rates, book, rule, task, counts, seen, moves
):
    """Walk with one weight vector per class, each against the rest or all jointly.

    ``task.negative`` is the number of the first class here; ``moves`` (3, classes) is scratch.
    The other arguments are those of :func:`walk_one`.
    """
    W, U = weights
    weighted, varying = np.uint64(omega.size > 1), np.int64(etas.size > 1)
    classes = seen.shape[1]
    for i in range(order.size):
        fetch(rows, order, i, W, classes)
        row, s, counts[VISITED] = order[i], seen[i], i + 1
        label, weight = codes[row] - task.negative, omega[row * weighted]
        dots(rows, row, W, s)
        for c in range(classes):
            s[c] += seen.dtype.type(book[BIAS, c])
        wrong = is_mistaken(s, label, rule, task)
        if wrong and counts[RUN] > task.longest:
            counts[VISITED] = i
            return
        counts[MISTAKES] += strongest_but(s, -1) != label
        if not wrong:
            counts[RUN] += 1
            book[CLOCK, 0] += weight
            continue
        eta, time = etas[i * varying], book[CLOCK, 0]
        sqnorm = square(rows, row, rates) + rule[PADDING] if weight > 1.0 else 0.0
        updates, moved = correct(s, label, weight, eta, sqnorm, rule, task, time, moves)
        add_each(rows, row, W, moves[0], moved, rates)
        for c in range(classes):
            book[BIAS, c] += moves[0, c] * rule[PADDING]
        if U.size > 0:
            add_each(rows, row, U, moves[1], moved, rates)
            for c in range(classes):
                book[BIAS_SUM, c] += moves[1, c] * rule[PADDING]
        book[CLOCK, 0] += weight
        counts[UPDATES] += updates
        counts[UPDATED] += 1
        counts[RUN] = 0


@kernel
def is_mistaken(s, label, rule, task):
    """Whether any class is corrected by a row with these scores."""
    if task.joint:
        rival = strongest_but(s, label)
        return is_within(s[label] - s[rival], rule[ABOVE] if label > rival else rule[BELOW])
    wrong = 0
    for c in range(s.size):
        wrong += s[c] <= rule[ABOVE] if c == label else is_within(-s[c], rule[BELOW])
    return wrong > 0


@kernel
def correct(s, label, weight, eta, sqnorm, rule, task, time, moves):
    """Write the signed τ of each class to ``moves[0]``; the updates, and how many classes move.

    ``moves[1]`` gets what the averaging sums move by, and ``moves[2]`` is scratch.
    """
    if task.joint:
        return correct_jointly(s, label, weight, eta, sqnorm, rule, time, moves)
    updates = moved = 0
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
def correct_jointly(s, label, weight, eta, sqnorm, rule, time, moves):
    """The right class goes up, its best rival down (Crammer and Singer 2003).

    Copies of a weighted row come one after the other, and each may meet another rival.
    """
    updates, left = 0, weight
    for c in range(s.size):
        moves[0, c], moves[1, c], moves[2, c] = 0.0, 0.0, s[c]
    now = moves[2]
    rival = strongest_but(now, label)
    while left > 0.0:
        if not is_within(now[label] - now[rival], rule[ABOVE] if label > rival else rule[BELOW]):
            break
        size = left if left < 1.0 else 1.0
        for c in (label, rival):
            signed = size * eta if c == label else -size * eta
            moves[0, c] += signed
            moves[1, c] += signed * (time + weight - left)
            now[c] = s.dtype.type(now[c] + signed * sqnorm)
        left -= size
        updates += 1
        rival = strongest_but(now, label)
    return updates, updates + 1 if updates < s.size else s.size


@kernel
def strongest_but(s, label):
    """The class of the largest score other than `label`, the first of equals; -1: of all."""
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
