"""Classes that turn up while learning."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.training import State
from rosenblatt.training.log import DualState, Log


def arrivals(y: np.ndarray, classes: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Where in y labels come up that are not among `classes`, and the classes known from there on.

    The first entry stands for the start of y. Learning row by row meets a label at its first row
    and not before, however the rows are divided into calls.

    >>> arrivals(np.array(["b", "a", "b", "c"]), np.array(["b"]))[1:]
    [(1, array(['a', 'b'], dtype='<U1')), (3, array(['a', 'b', 'c'], dtype='<U1'))]
    """
    found = [(0, classes)]
    if classes.size and np.array_equal(classes.take(codes_of(y, classes)), y):
        return found
    labels, first = np.unique(y, return_index=True)
    fresh = ~np.isin(labels, classes)
    for row, label in sorted(zip(first[fresh].tolist(), labels[fresh], strict=True)):
        known = np.union1d(found[-1][1], np.array([label])) if found[-1][1].size else [label]
        found.append((row, np.asarray(known)))
    return found


def codes_of(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The class number of each label; some number for a label that is not among the classes."""
    return np.minimum(np.searchsorted(classes, y), len(classes) - 1)


def n_problems(n_classes: int, multiclass: str) -> int:
    """How many weight vectors so many classes need."""
    if n_classes <= 2:
        return 1
    return n_classes * (n_classes - 1) // 2 if multiclass == "ovo" else n_classes


class Moves(NamedTuple):
    """Where the weight vectors of some classes go when there are more: new place, sign, source."""

    places: list[int]
    signs: np.ndarray
    sources: list[int]
    total: int


def moves(old: np.ndarray, new: np.ndarray, multiclass: str) -> Moves:
    """How weight vectors move when classes come up.

    The line between two classes becomes a vector for each: minus itself for the first, itself for
    the second, which is where each would stand after the same corrections.
    """
    where = np.searchsorted(new, old)
    if multiclass == "ovo":
        numbers = {pair: i for i, pair in enumerate(combinations(range(len(new)), 2))}
        places = [numbers[pair] for pair in combinations(where.tolist(), 2)]
        signs = np.ones(len(places))
        sources = list(range(len(places)))
    elif len(old) == 2:
        places, signs, sources = where.tolist(), np.array([-1.0, 1.0]), [0, 0]
    else:
        places, signs = where.tolist(), np.ones(len(where))
        sources = list(range(len(where))) if len(old) > 2 else []
    n = len(sources)
    return Moves(places[:n], signs[:n], sources, n_problems(len(new), multiclass))


def grow(state: State, old: np.ndarray, new: np.ndarray, multiclass: str) -> State:
    """The state with the weight vectors of classes that have come up, all zero."""
    if len(new) <= 2:
        return state
    places, signs, sources, total = moves(old, new, multiclass)

    def spread(array: np.ndarray) -> Any:
        out = np.zeros((total, *array.shape[1:]), array.dtype)
        shape = (-1,) + (1,) * (array.ndim - 1)
        out[places] = array[sources] * signs.astype(array.dtype).reshape(shape) + 0.0
        return out

    own_clock = multiclass == "ovo"
    clock = np.abs(spread(state.clock)) if own_clock else np.full(total, state.clock[0])
    return replace(
        state,
        weights=spread(state.weights),
        bias=spread(state.bias),
        sums=spread(state.sums) if state.averaging else state.sums,
        bias_sums=spread(state.bias_sums),
        clock=clock,
    )


def signs_of(n_classes: int, multiclass: str) -> np.ndarray:
    """What each class is to each problem: -1, +1, or 0 for none of its business.

    >>> signs_of(3, "ovo")
    array([[-1, -1,  0],
           [ 1,  0, -1],
           [ 0,  1,  1]], dtype=int8)
    """
    if n_classes <= 2:
        return np.array([[-1], [1]], np.int8)
    if multiclass != "ovo":
        return (2 * np.eye(n_classes) - 1).astype(np.int8)
    pairs = list(combinations(range(n_classes), 2))
    signs = np.zeros((n_classes, len(pairs)), np.int8)
    for problem, (negative, positive) in enumerate(pairs):
        signs[negative, problem], signs[positive, problem] = -1, 1
    return signs


def grow_dual(state: DualState, old: np.ndarray, new: np.ndarray, multiclass: str) -> DualState:
    """The same for the dual form, where weights are a log of mistakes."""
    if len(new) <= 2 or len(new) == len(old):
        return state
    places, signs, sources, total = moves(old, new, multiclass)
    parts, clock, squares = [], np.zeros(total), np.zeros(total)
    mistakes, damage, longest = np.zeros(total, np.int64), np.zeros(total), np.zeros(total)
    for place, sign, source in zip(places, signs, sources, strict=True):
        own = np.flatnonzero(state.log.problems == source)
        log = state.log[own]
        parts.append((own, replace(log, problems=np.full(own.size, place), taus=sign * log.taus)))
        clock[place], squares[place] = state.clock[source], state.squares[source]
        mistakes[place], damage[place] = state.mistakes[source], state.damage[source]
        longest[place] = state.longest[source]
    log = Log.joined([part for _, part in parts])
    if len(log):
        log = log[np.argsort(np.concatenate([own for own, _ in parts]), kind="stable")]
    if multiclass != "ovo":
        clock[:] = state.clock[0]
    if multiclass == "joint":
        mistakes = log.raised().updates(total)
    return replace(
        state, log=log, clock=clock, squares=squares, mistakes=mistakes, damage=damage,
        longest=longest,
    )  # fmt: skip
