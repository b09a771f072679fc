"""Kernels of the dual form: learning from a block of Gram entries, and voting.

In the dual form weights are never written down: the score of a row is the sum of ``τ·K`` over the
updates made so far. The rows of a block, or all rows if their Gram matrix fits into memory, are
walked through in order; an update at row i adds ``τ·G[i]`` to the scores of all of them. That is
the sequential algorithm, step by step. A block is scored with one matrix product before (the block
Gram method; for the algorithm: M. Aizerman, E. Braverman, L. Rozonoer (1964), Theoretical
foundations of the potential function method; Y. Freund, R. Schapire (1999), Large margin
classification using the perceptron algorithm, Machine Learning 37).
"""

from __future__ import annotations

import math

from rosenblatt import rules
from rosenblatt.kernels.jit import inlined, kernel
from rosenblatt.kernels.learn import strongest_but

is_within = inlined(rules.is_within)
step = inlined(rules.step)


@kernel
def walk(G, order, S, before, signs, omega, rule, book, lines, seen):
    """Learn from rows in an order; G (b, b) is the Gram matrix of b rows, all problems share it.

    ``S`` (problems, b) holds the scores of all b rows, and `before` those at the start of the
    epoch; ``seen`` (problems, visits) gets the score of each visit before learning. ``signs``
    (problems, b) is -1, +1 or 0: not a row of this problem. ``rule`` is (threshold for y = -1,
    threshold for y = +1). ``book`` is (clock, squares): ``clock`` (problems,)
    counts weighted steps, ``squares`` (2, problems) holds ``‖w‖²`` and the square of its change in
    this epoch. ``lines`` is (factors, places): each correction goes to ``places`` (problem, row)
    and ``factors`` (signed τ, time before it).

    Returns (rows visited, lines written, updates, rows corrected).
    """
    below, above = rule
    (clock, squares), (factors, places) = book, lines
    problems, rows = S.shape
    written = updates = corrected = 0
    for visit in range(order.size):
        i, wrong = order[visit], False
        for c in range(problems):
            sign = signs[c, i]
            wrong |= sign != 0 and sign * S[c, i] <= (above if sign > 0 else below)
        corrected += wrong
        for c in range(problems):
            sign, s = signs[c, i], S[c, i]
            seen[c, visit] = s
            if sign == 0:
                continue
            tau = step(sign * s, above if sign > 0 else below, 1.0, omega[i], G[i, i])
            if tau != 0.0:
                pull = sign * tau
                for j in range(rows):
                    S[c, j] += pull * G[i, j]
                growth = tau * tau * G[i, i]
                squares[0, c] += 2.0 * pull * s + growth
                squares[1, c] += 2.0 * pull * (s - before[c, i]) + growth
                places[written, 0], places[written, 1] = c, i
                factors[written, 0], factors[written, 1] = pull, clock[c]
                written += 1
                updates += math.ceil(tau) if tau > 1.0 else 1
            clock[c] += omega[i]
    return order.size, written, updates, corrected


@kernel
def walk_joint(G, order, S, before, codes, omega, rule, book, lines, seen):
    """The same, with its arguments, for all classes jointly: one goes up, its best rival down.

    ``codes`` (b,) are the class numbers. An update writes two lines, up and down; copies of a
    weighted row come one after the other, and each may meet another rival. The walk stops before a
    row that may need more lines than are left.

    K. Crammer, Y. Singer (2003), Ultraconservative online algorithms for multiclass problems, JMLR
    3, with one rival.
    """
    below, above = rule
    (clock, squares), (factors, places) = book, lines
    classes, rows = S.shape
    written = updates = corrected = 0
    for visit in range(order.size):
        i = order[visit]
        s, label, left = S[:, i], codes[i], omega[i]
        for c in range(classes):
            seen[c, visit] = s[c]
        rival = strongest_but(s, label)
        threshold = above if label > rival else below
        if is_within(s[label] - s[rival], threshold):
            copies = math.ceil(left)
            if left > 1.0 and G[i, i] > 0.0:
                copies = min(copies, math.floor((s[rival] - s[label] + above) / G[i, i]) + 2)
            if written + 2 * copies > len(factors):
                return visit, written, updates, corrected
            corrected += 1
        while left > 0.0 and is_within(s[label] - s[rival], threshold):
            size = left if left < 1.0 else 1.0
            for c in (label, rival):
                pull = size if c == label else -size
                growth = size * size * G[i, i]
                squares[0, c] += 2.0 * pull * s[c] + growth
                squares[1, c] += 2.0 * pull * (s[c] - before[c, i]) + growth
                for j in range(rows):
                    S[c, j] += pull * G[i, j]
                places[written, 0], places[written, 1] = c, i
                factors[written, 0], factors[written, 1] = pull, clock[c] + omega[i] - left
                written += 1
            left -= size
            updates += 1
            rival = strongest_but(s, label)
            threshold = above if label > rival else below
        for c in range(classes):
            clock[c] += omega[i]
    return order.size, written, updates, corrected


@kernel
def vote(K, starts, places, factors, clock, out):
    """The votes ``Σ c·sign(v·x)`` of all weight vectors v of a run, divided by ``Σ c``.

    c is the number of steps v survived. ``K`` (m, support) holds the kernel of each row to be
    scored with the support rows; updates ``starts[p] : starts[p+1]`` are those of problem p, in
    order. The v are prefix sums of the updates, so that all votes cost one pass over these. An
    update of τ > 1 is as many copies one after the other, with a step for each.
    """
    for i in range(K.shape[0]):
        for p in range(starts.size - 1):
            s = total = since = 0.0
            for e in range(starts[p], starts[p + 1]):
                tau, now = factors[e, 0], factors[e, 1]
                size, pull = abs(tau), K[i, places[e]] if tau > 0.0 else -K[i, places[e]]
                total += (now - since) * (1.0 if s > 0.0 else -1.0)
                while size > 1.0:
                    s += pull
                    total += 1.0 if s > 0.0 else -1.0
                    now += 1.0
                    size -= 1.0
                s += size * pull
                since = now
            total += (clock[p] - since) * (1.0 if s > 0.0 else -1.0)
            out[i, p] = total / max(clock[p], 1e-300)
