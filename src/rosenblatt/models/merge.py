"""Curves of columns with fewer knots: those between which the curve is straight are merged."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rosenblatt.kernels.text import column
from rosenblatt.lifts.columns import LiftedColumn
from rosenblatt.models.model import Array, Model


class Merged(NamedTuple):
    """A model with fewer knots, the number of its knots, and the most that a sum changes.

    The bound is on each problem's sum of any row, but for the rounding of sums in float32, and for
    rows with a category, or a pair of one, whose hashed column is that of a knot.
    """

    model: Model
    knots: int
    bound: float


def merged(model: Model, tolerance: float) -> Merged:
    """The model without knots that no curve needs, to within a share of the largest curve.

    A column's curve is the sum of its resolutions. Each knot that is left has the curve's value;
    between two of them, the straight line differs from the curve at the knots that are gone by at
    most `tolerance` times the largest absolute value of any curve, and so it does everywhere. A
    curve within that of zero is left out. A column stays as it is if one of its knots shares its
    hashed column with another knot, a number, or a pair of numbers.

    >>> from rosenblatt import train
    >>> x = np.linspace(0, 1, 400)
    >>> frame = {"x": x, "label": np.where(abs(x - 0.5) < 0.2, "in", "out")}
    >>> model = train(frame, lift="knots")
    >>> small = merged(model, 0.02)
    >>> change = np.abs(small.model.decision_function(frame) - model.decision_function(frame))
    >>> small.knots < merged(model, 0.0).knots, bool(change.max() <= small.bound + 1e-6)
    (True, True)
    """
    lift, bits = model.features.lift, model.features.ngrams.bits
    if lift is None:
        return Merged(model, 0, 0.0)
    curves = {c.name: _curve(model, c) for c in lift.columns if c.resolutions}
    hashes = Counter(at for c in lift.columns for at in _hashes(c, bits))
    hashes.update(lift.hashes_of_pairs(bits))
    for name in (each.name for each in model.features.columns):
        hashes.update([column([f"{name}="], bits), column([f"{name}=?"], bits)])
    largest = max((float(np.abs(curve).max()) for curve in curves.values()), default=0.0)
    paired = {c for crossed in (*lift.pairs, *lift.triples) for c in crossed}
    columns, moved, gone = list[LiftedColumn](), dict[int, Array](), set[int]()
    bound = np.zeros(model.weights.shape[1])
    for number, c in enumerate(lift.columns):
        if c.name not in curves or any(hashes[at] > 1 for at in _hashes(c, bits)):
            columns.append(c)
            continue
        points, values = np.array(c.resolutions[0]), curves[c.name]
        chosen = _needed(points, values, tolerance * largest)
        rounded = values[chosen].astype(np.float32)
        line = [np.interp(points, points[chosen], f) if chosen else 0.0 * points for f in rounded.T]
        bound += np.abs(np.array(line).T - values).max(axis=0) * lift.units[1]
        # The knots are those of the finest resolution, or of a curve that was merged before.
        places = chosen if c.curve is None else [c.curve[at] for at in chosen]
        small = replace(c, curve=tuple(places))
        if number not in paired:
            ends = [0, len(c.knots) - 1]
            knots = tuple(c.knots[at] for at in places or ends)
            small = replace(c, knots=knots, curve=tuple(range(len(places))))
        columns.append(small)
        gone.update(_hashes(c, bits))
        moved |= dict(zip(_hashes(small, bits), rounded, strict=True))
    stays = ~np.isin(model.columns, np.fromiter(gone, np.uint32, len(gone)))
    added = {at: weights for at, weights in moved.items() if weights.any()}
    features = replace(model.features, lift=replace(lift, columns=tuple(columns)))
    small_model = replace(
        model,
        features=features,
        columns=np.append(model.columns[stays], np.array([*added], np.uint32)),
        weights=np.concatenate([model.weights[stays], *(w[None] for w in added.values())]),
        state={},
    )
    count = sum(len(c.resolutions[0]) for c in columns if c.resolutions)
    return Merged(small_model, count, float(bound.max(initial=0.0)))


def _hashes(c: LiftedColumn, bits: int) -> list[int]:
    """The hashed columns of the knots of all resolutions."""
    layers = range(len(c.resolutions))
    return [at for layer in layers for at in c.knot_hashes(layer, bits).tolist()]


def _curve(model: Model, c: LiftedColumn) -> Array:
    """The curve of a column at its knots (knots, problems), before its unit."""
    points = np.array(c.resolutions[0])
    values = np.zeros((len(points), model.weights.shape[1]))
    for resolution, layer in enumerate(c.resolutions):
        places = model.places_of(c.knot_hashes(resolution, model.features.ngrams.bits))
        weights = np.where(places[:, None] < 0, 0.0, model.weights[places])
        values += np.stack([np.interp(points, layer, f) for f in weights.T], axis=1)
    return values


def _needed(points: Array, values: Array, most: float) -> list[int]:
    """The knots of the longest straight pieces, from the left, that differ by at most `most`.

    >>> _needed(np.arange(5.0), np.array([[0.0], [1.0], [2.0], [2.0], [2.0]]), 0.0)
    [0, 2, 4]
    """
    if np.abs(values).max() <= most:
        return []
    chosen, last = [0], len(points) - 1
    while chosen[-1] < last:
        start = chosen[-1]
        for end in range(last, start, -1):
            share = (points[start : end + 1] - points[start]) / (points[end] - points[start])
            line = values[start] + share[:, None] * (values[end] - values[start])
            if end == start + 1 or np.abs(line - values[start : end + 1]).max() <= most:
                chosen.append(end)
                break
    return chosen
