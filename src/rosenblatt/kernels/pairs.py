"""Weights of many classes by the pairs of feature and class that were ever updated.

Most features of text were updated for a few classes only. The pairs of a feature are a *list*:
``classes[starts[f] : ends[f]]``, in ascending order, with their weights and averaging sums in the
same places. A list has room for 2, 4, 8, ... pairs; when it is full it moves to twice the room, and
the place that it leaves is used by other lists of that size. Instead of room for half of all
classes, it gets a pair for every class: a *whole* list, whose classes need not be looked at.

Scores are summed feature by feature, as those of :mod:`rosenblatt.kernels.rows`, so that the
weights are bit for bit those of a matrix, where pairs that are not stored are zeros.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rosenblatt.kernels.jit import kernel, prefetch
from rosenblatt.kernels.learn import (
    BIAS,
    BIAS_SUM,
    CLOCK,
    MISTAKES,
    PADDING,
    RUN,
    UPDATED,
    UPDATES,
    VISITED,
    correct,
    is_mistaken,
    strongest_but,
)
from rosenblatt.kernels.rows import rate_of, square

TOP = 40  # of heads: where the unused places begin; heads[k] is the first free list of 2**k places
HEADS = TOP + 1


class Lists(NamedTuple):
    """Pairs in lists with room to grow, and where there is room.

    ``links`` are the weights as integers: the first of a free list is half the place of the next.
    """

    starts: np.ndarray  # uint64 (features,)
    ends: np.ndarray
    classes: np.ndarray  # uint16 (places,)
    W: np.ndarray  # float32
    U: np.ndarray  # float64, or empty
    links: np.ndarray
    heads: np.ndarray  # uint64 (HEADS,)


@kernel
def pair_dots(rows, row, starts, ends, classes, W, s):
    """The inner products of a packed row with the weight vectors of all classes, into s."""
    near, far, columns, values, bases, pointers = rows
    end = row + np.uint64(1)
    for c in range(s.size):
        s[c] = 0
    for j in range(pointers[row, 0], pointers[end, 0]):
        add_list(s, W.dtype.type(1), starts[near[j]], ends[near[j]], classes, W)
    for j in range(pointers[row, 1], pointers[end, 1]):
        add_list(s, W.dtype.type(1), starts[far[j]], ends[far[j]], classes, W)
    for c in range(s.size):
        s[c] *= bases[row]
    for j in range(pointers[row, 2], pointers[end, 2]):
        add_list(s, values[j], starts[columns[j]], ends[columns[j]], classes, W)


@kernel
def add_list(s, x, first, end, classes, W):
    """Add ``x`` times the weights of a list to the scores of all classes."""
    if end - first == np.uint64(s.size):
        for c in range(np.uint64(s.size)):
            s[c] += x * W[first + c]
    else:
        for p in range(first, end):
            s[classes[p]] += x * W[p]


@kernel
def fetch_lists(rows, order, i, starts, classes, W):
    """Prefetch where the lists of the row after the next are, and the lists of the next row."""
    near, far, columns, _, _, pointers = rows
    for ahead in range(1, 3):
        if i + ahead < order.size:
            row = order[i + ahead]
            end = row + np.uint64(1)
            for j in range(pointers[row, 0], pointers[end, 0]):
                fetch_list(ahead, np.uint32(near[j]), starts, classes, W)
            for j in range(pointers[row, 1], pointers[end, 1]):
                fetch_list(ahead, far[j], starts, classes, W)
            for j in range(pointers[row, 2], pointers[end, 2]):
                fetch_list(ahead, columns[j], starts, classes, W)


@kernel
def fetch_list(ahead, feature, starts, classes, W):
    """Prefetch the beginning of the list of a feature, or where it is."""
    if ahead == 2:
        prefetch(starts, feature)
    else:
        prefetch(classes, starts[feature])
        prefetch(W, starts[feature])


@kernel
def place_of(classes, first, end, c):
    """The first place of a list whose class is not below c, or the end."""
    low, size = first, end - first
    while size > np.uint64(0):
        half = size >> np.uint64(1)
        below = np.uint64(classes[low + half] < c)
        low += below * (half + np.uint64(1))
        size = below * (size - half - np.uint64(1)) + (np.uint64(1) - below) * half
    return low


@kernel
def size_of(count):
    """The binary logarithm of the room of a list of this many pairs."""
    k, room = 1, np.uint64(2)
    while room < count:
        k += 1
        room <<= np.uint64(1)
    return k


@kernel
def inserted(lists, feature, place, c, n_classes):
    """Make a place for class c in the list of a feature, at `place` or where that moves to."""
    starts, ends, classes, W, U, links, heads = lists
    first, end, one = starts[feature], ends[feature], np.uint64(1)
    count = end - first
    k = size_of(count)
    if count == np.uint64(0) or count == one << np.uint64(k):
        wide = k if count == np.uint64(0) else k + 1
        if is_wide(wide, n_classes):
            return made_whole(lists, feature, n_classes) + np.uint64(c)
        target = heads[wide]
        if target > np.uint64(0):
            heads[wide] = np.uint64(links[target]) << one
        else:
            target = heads[TOP]
            heads[TOP] += one << np.uint64(wide)
        for p in range(count):
            classes[target + p] = classes[first + p]
            W[target + p] = W[first + p]
            if U.size > 0:
                U[target + p] = U[first + p]
        if count > np.uint64(0):
            free(first, k, links, heads)
        place += target - first
        starts[feature], end = target, target + count
    ends[feature] = end + one
    while end > place:
        before = end - one
        classes[end], W[end] = classes[before], W[before]
        if U.size > 0:
            U[end] = U[before]
        end = before
    classes[place], W[place] = c, 0.0
    if U.size > 0:
        U[place] = 0.0
    return place


@kernel
def free(first, k, links, heads):
    """Let another list of ``2**k`` places have these."""
    links[first] = np.uint32(heads[k] >> np.uint64(1))
    heads[k] = first


@kernel
def is_wide(k, n_classes):
    """Whether room for ``2**k`` pairs is room for half of the classes."""
    return (np.uint64(2) << np.uint64(k)) >= np.uint64(n_classes)


@kernel
def made_whole(lists, feature, n_classes):
    """Move the list of a feature to one with a pair for every class; returns its first place."""
    starts, ends, classes, W, U, links, heads = lists
    first, end, one = starts[feature], ends[feature], np.uint64(1)
    target = heads[TOP]
    heads[TOP] += np.uint64(n_classes) + (np.uint64(n_classes) & one)
    for c in range(np.uint64(n_classes)):
        classes[target + c], W[target + c] = c, 0.0
        if U.size > 0:
            U[target + c] = 0.0
    for p in range(first, end):
        W[target + np.uint64(classes[p])] = W[p]
        if U.size > 0:
            U[target + np.uint64(classes[p])] = U[p]
    if end > first:
        free(first, size_of(end - first), links, heads)
    starts[feature], ends[feature] = target, target + np.uint64(n_classes)
    return target


@kernel
def add_pairs(lists, feature, x, moves, moved):
    """Add ``moves·x`` to the weights and sums of a feature, for the classes that move."""
    starts, ends, classes, W, U, _, _ = lists
    for k in range(moved):
        c = np.int64(moves[2, k])
        first, end = starts[feature], ends[feature]
        if end - first == np.uint64(moves.shape[1]):
            place = first + np.uint64(c)
        else:
            place = place_of(classes, first, end, c)
            if place == end or classes[place] != c:
                place = inserted(lists, feature, place, c, moves.shape[1])
        W[place] += W.dtype.type(moves[0, c]) * x
        if U.size > 0:
            U[place] += moves[1, c] * x


@kernel
def add_row(rows, row, lists, moves, moved, rates):
    """Add a row to the weights of the classes that move."""
    near, far, columns, values, bases, pointers = rows
    end, base = row + np.uint64(1), bases[row]
    for j in range(pointers[row, 0], pointers[end, 0]):
        at = np.uint32(near[j])
        add_pairs(lists, at, base * rate_of(rates, at), moves, moved)
    for j in range(pointers[row, 1], pointers[end, 1]):
        add_pairs(lists, far[j], base * rate_of(rates, far[j]), moves, moved)
    for j in range(pointers[row, 2], pointers[end, 2]):
        add_pairs(lists, columns[j], values[j] * rate_of(rates, columns[j]), moves, moved)


@kernel
def room_for(rows, row, starts, ends, moved, n_classes):
    """The most places that an update of this row takes."""
    near, far, columns, _, _, pointers = rows
    end, room = row + np.uint64(1), np.uint64(0)
    for j in range(pointers[row, 0], pointers[end, 0]):
        room += room_of(starts, ends, near[j], moved, n_classes)
    for j in range(pointers[row, 1], pointers[end, 1]):
        room += room_of(starts, ends, far[j], moved, n_classes)
    for j in range(pointers[row, 2], pointers[end, 2]):
        room += room_of(starts, ends, columns[j], moved, n_classes)
    return room


@kernel
def room_of(starts, ends, feature, moved, n_classes):
    """The most places that new pairs of a feature take: of lists that double one after another."""
    count = ends[feature] - starts[feature]
    before, after = size_of(count), size_of(count + np.uint64(moved))
    if count == np.uint64(n_classes) or (before == after and count > np.uint64(0)):
        return np.uint64(0)
    lists = np.uint64(2) << np.uint64(after)
    return lists + np.uint64(n_classes + 1) if is_wide(after, n_classes) else lists


@kernel
def walk_pairs(
    rows, codes, omega, order, etas, lists, rates, book, rule, task, counts, seen, moves
):
    """:func:`rosenblatt.kernels.learn.walk_many` for weights in lists, from ``counts[VISITED]`` on.

    It returns True before a visit that may need more places than there are. ``seen`` (1, classes)
    has the scores of the last visit.
    """
    starts, ends, classes, W, U, _, heads = lists
    weighted, varying = np.uint64(omega.size > 1), np.int64(etas.size > 1)
    s = seen[0]
    for i in range(counts[VISITED], order.size):
        fetch_lists(rows, order, i, starts, classes, W)
        row = order[i]
        label, weight = codes[row] - task.negative, omega[row * weighted]
        pair_dots(rows, row, starts, ends, classes, W, s)
        for c in range(s.size):
            s[c] += seen.dtype.type(book[BIAS, c])
        wrong = is_mistaken(s, label, rule, task)
        if wrong and counts[RUN] > task.longest:
            counts[VISITED] = i
            return False
        moved = updates = 0
        if wrong:
            eta, time = etas[i * varying], book[CLOCK, 0]
            sqnorm = square(rows, row, rates) + rule[PADDING] if weight > 1.0 else 0.0
            updates, _ = correct(s, label, weight, eta, sqnorm, rule, task, time, moves)
            for c in range(s.size):
                moves[2, moved] = c
                moved += moves[0, c] != 0.0 or moves[1, c] != 0.0
            if heads[TOP] + room_for(rows, row, starts, ends, moved, s.size) > np.uint64(W.size):
                counts[VISITED] = i
                return True
        counts[VISITED] = i + 1
        counts[MISTAKES] += strongest_but(s, -1) != label
        if not wrong:
            counts[RUN] += 1
            book[CLOCK, 0] += weight
            continue
        add_row(rows, row, lists, moves, moved, rates)
        for k in range(moved):
            c = np.int64(moves[2, k])
            book[BIAS, c] += moves[0, c] * rule[PADDING]
            if U.size > 0:
                book[BIAS_SUM, c] += moves[1, c] * rule[PADDING]
        book[CLOCK, 0] += weight
        counts[UPDATES] += updates
        counts[UPDATED] += 1
        counts[RUN] = 0
    return False


@kernel
def score_packed(rows, order, starts, ends, classes, W, bias, out):
    """The scores of packed rows by pairs, into ``out`` (visits, classes)."""
    for i in range(order.size):
        fetch_lists(rows, order, i, starts, classes, W)
        pair_dots(rows, order[i], starts, ends, classes, W, out[i])
        for c in range(out.shape[1]):
            out[i, c] += out.dtype.type(bias[c])


@kernel
def score_pairs(pointers, columns, values, places, starts, ends, classes, W, bias, out):
    """The scores of CSR rows by the pairs of places, into ``out`` (rows, classes)."""
    one = np.uint32(1)
    for row in range(out.shape[0]):
        for c in range(out.shape[1]):
            out[row, c] = bias[c]
        for j in range(pointers[row], pointers[row + np.uint64(1)]):
            place = places[columns[j]]
            if place > 0:
                list_of = place - one
                add_list(out[row], values[j], starts[list_of], ends[list_of], classes, W)


@kernel
def gather(starts, ends, classes, W, U, steps, n_classes, pointers, to_classes, values):
    """Write the pairs list by list, averaged over steps if there are sums.

    Those of zero are left out, but for whole lists.
    """
    top = np.uint64(0)
    for f in range(starts.size):
        is_whole = ends[f] - starts[f] == np.uint64(n_classes)
        for p in range(starts[f], ends[f]):
            value = W[p] if U.size == 0 else W.dtype.type(np.float64(W[p]) - U[p] / steps)
            to_classes[top], values[top] = classes[p], value
            top += np.uint64(value != 0.0 or is_whole)
        pointers[f + 1] = top


@kernel
def renumber(pointers, classes, values, numbers, scratch):
    """Give classes other numbers, and put each list in ascending order again.

    Short lists are sorted by insertion, long ones by way of ``scratch`` (classes,), all NaN.
    """
    for f in range(pointers.size - 1):
        first, end = pointers[f], pointers[f + 1]
        count = end - first
        is_long = count * count > np.uint64(4 * scratch.size)
        for p in range(first, end):
            c, value, at = numbers[classes[p]], values[p], p
            if is_long:
                scratch[c] = value
                continue
            while at > first and classes[at - np.uint64(1)] > c:
                before = at - np.uint64(1)
                classes[at], values[at], at = classes[before], values[before], before
            classes[at], values[at] = c, value
        if is_long:
            at = first
            for c in range(scratch.size):
                if scratch[c] == scratch[c]:
                    classes[at], values[at], scratch[c] = c, scratch[c], np.nan
                    at += np.uint64(1)


@kernel
def squares(starts, ends, classes, W, out):
    """Add up the squares of the weights of each class; the order of sums is that of features."""
    for f in range(starts.size):
        for p in range(starts[f], ends[f]):
            out[classes[p]] += np.float64(W[p]) * np.float64(W[p])
