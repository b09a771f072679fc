"""Columns whose part of the score only rises, or only falls: kept exactly, by projection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from rosenblatt.data import Features
from rosenblatt.data.labels import sorted_labels
from rosenblatt.errors import OptionError, listed
from rosenblatt.jobs.options import TrainOptions
from rosenblatt.kernels.text import column
from rosenblatt.learners.weights import Weights

if TYPE_CHECKING:
    from rosenblatt.jobs.run import Run


def directions(options: TrainOptions, features: Features) -> dict[str, int]:
    """The columns that are to be monotone: +1 if the score rises with them, -1 if it falls."""
    rising, falling = list(options.increasing or ()), list(options.decreasing or ())
    numbers = [c.name for c in features.columns if c.kind == "number"]
    for name in (*rising, *falling):
        if name not in numbers:
            raise OptionError(
                f"{name!r} is not a column of numbers; only those can be increasing or decreasing: "
                f"{listed(numbers) or 'there are none'}"
            )
    if both := set(rising) & set(falling):
        raise OptionError(f"{min(both)!r} cannot be both increasing and decreasing")
    return dict.fromkeys(rising, 1) | dict.fromkeys(falling, -1)


def kept_weights(run: Run) -> Weights | None:
    """The weights of a run that are not those of its learner: kept ones, or monotone ones."""
    best: Any = None if run.progress.kept is None else run.progress.kept.weights
    source = run.source
    signs = directions(run.options, source.features)
    if not signs:
        return cast(Weights | None, best)
    weights, bias = run.learner.weights(run.options.average) if best is None else best
    if len(bias) != 1:
        raise OptionError("columns are increasing or decreasing towards the second of two classes")
    side = 1 if list(source.classes[:2]) == sorted_labels(source.classes[:2]) else -1
    weights = np.array(weights)
    for name, sign in signs.items():
        _project(weights[0], run.rows, source.features, name, side * sign)
    return Weights(weights, bias)


def _project(weights: np.ndarray, rows: Any, features: Features, name: str, sign: int) -> None:
    """Replace the weights of a column by those of the nearest monotone curve.

    The curve of a column is piecewise linear on its knots: the straight entry and those of coarser
    resolutions become part of the finest one, whose weights are the values at the knots. Beyond the
    outer knots it is constant. (Nearest in squares over the knots: isotonic regression.)
    """
    from sklearn.isotonic import isotonic_regression

    bits = features.ngrams.bits
    [straight] = rows.numbering.places_of(np.array([column([f"{name}="], bits)]))
    lifted = [c for c in (features.lift.columns if features.lift else ()) if c.name == name]
    if not lifted or not lifted[0].resolutions:
        if straight >= 0:
            weights[straight] = sign * max(0.0, sign * float(weights[straight]))
        return
    assert features.lift is not None
    [c] = [c for c in features.columns if c.name == name]
    entries = sum(len(c.entries) for c in features.columns if c.kind != "text")
    knots, (by_straight, by_knots, _) = np.array(lifted[0].knots), features.lift.units
    values = np.zeros(len(knots))
    if straight >= 0:
        unit = by_straight / (c.scale * np.sqrt(entries))
        values += float(weights[straight]) * unit * (knots - c.mean)
        weights[straight] = 0.0
    for resolution, layer in enumerate(lifted[0].resolutions):
        places = rows.numbering.places_of(lifted[0].knot_hashes(resolution, bits))
        values += by_knots * np.interp(knots, layer, np.where(places < 0, 0.0, weights[places]))
        weights[places[places >= 0]] = 0.0
    finest = rows.numbering.places_of(lifted[0].knot_hashes(0, bits))
    curve = sign * isotonic_regression(sign * values) / by_knots
    weights[finest[finest >= 0]] = curve[finest >= 0]
