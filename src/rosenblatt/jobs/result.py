"""The model that a training run has come to: weights, state, words that speak for classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rosenblatt.data.open import sorted_labels
from rosenblatt.errors import DataError
from rosenblatt.kernels.compact import taken, used_places
from rosenblatt.models import Model

if TYPE_CHECKING:
    from rosenblatt.jobs.train import Trainer
    from rosenblatt.training.stream import Learner

_WORDS = 25
NAMEABLE = 1 << 16  # places, in the order of first meeting, among which words are looked for


def model_of(trainer: Trainer) -> Model:
    """The model as it stands now."""
    learner = trainer.learner
    if learner is None:
        raise DataError("nothing was learned yet", path=trainer.source.files[0])
    names, turn = _sorted_classes(trainer.source.classes)
    with ThreadPoolExecutor(2) as helpers:
        fingerprint = helpers.submit(trainer.source.fingerprint)
        state, arrays, bias = _laid_out(trainer, learner)
        places, few = _used(arrays)
        # Threads gather what is used, which may be large, while the words are looked for.
        gather = partial(taken, places=places) if few else np.asarray
        gathered = helpers.map(gather, arrays.values())
        whole = helpers.submit(_whole, trainer, arrays, gathered, places)
        first = places[:NAMEABLE]
        some = {name: taken(array, first) for name, array in arrays.items()}
        words = _words(trainer, names, some["columns"], turn(_weights(trainer, some)))
        arrays, weights, scale = whole.result()
        state |= {name: arrays[name] for name in ("W", "U") if name in arrays}
        state |= {name: turn(state[name]) for name in ("W", "U", "bias") if name in state}
        state |= {} if scale is None else {"scale": scale}
        return Model(
            classes=names,
            features=trainer.source.features,
            columns=arrays["columns"] if few else np.array(arrays["columns"]),
            weights=np.ascontiguousarray(turn(weights)),
            bias=np.array(turn(bias), dtype=np.float64),
            parameters=asdict(trainer.settings) | {"stop_reason": trainer.progress.stop_reason},
            history=[_told(asdict(epoch)) for epoch in trainer.history],
            words=words,
            state={name: np.ascontiguousarray(array) for name, array in state.items()},
            fingerprint=fingerprint.result(),
        )


def _laid_out(
    trainer: Trainer, learner: Learner
) -> tuple[dict[str, Any], dict[str, Any], np.ndarray]:
    """The learner's state; the arrays with a row for each feature; the biases."""
    state, bias = learner.arrays(), learner.biases(trainer.settings.averaged)
    arrays: dict[str, Any] = {name: state[name] for name in ("W", "U") if name in state}
    if trainer.best is not None:
        weights, bias = trainer.best
        arrays["best"] = _padded(weights, learner.n_features)
    return state, arrays | {"columns": trainer.numbering.columns[: learner.n_features]}, bias


def _used(arrays: dict[str, Any]) -> tuple[np.ndarray, bool]:
    """The places that learning made use of, and whether they are so few that it pays to say so."""
    W, count = arrays["W"], len(arrays["W"])
    used = used_places(W, arrays.get("U", W))
    if "best" in arrays:
        found = np.zeros(count, dtype=bool)
        found[used] = True
        found[used_places(arrays["best"], arrays["best"])] = True
        used = np.flatnonzero(found).astype(np.uint32)
    few = len(used) < 0.9 * count
    return (used if few else np.arange(count, dtype=np.uint32)), few


def _whole(
    trainer: Trainer, arrays: dict[str, Any], gathered: Iterator[np.ndarray], places: np.ndarray
) -> tuple[dict[str, Any], np.ndarray, np.ndarray | None]:
    """The arrays as they were gathered, with the weights, and their scales if there are any."""
    arrays = dict(zip(arrays, gathered, strict=True))
    scale = None if trainer.rarity is None else trainer.rarity.of_places(places)
    return arrays, _weights(trainer, arrays), scale


def _weights(trainer: Trainer, arrays: dict[str, Any]) -> np.ndarray:
    """The weights of the model, of the features that these arrays are of."""
    assert trainer.learner is not None
    if "best" in arrays or not trainer.settings.averaged:
        return arrays.get("best", arrays["W"])
    return trainer.learner.average(arrays["W"], arrays["U"])


def _words(
    trainer: Trainer, names: tuple[str, ...], columns: np.ndarray, weights: np.ndarray
) -> dict[str, list[tuple[str, float]]]:
    """The features that speak most for each class, of those the first rows can name."""
    # Columns are numbered as they are met: those of the first rows, frequent ones, come first.
    apart = np.ascontiguousarray(weights.T)
    pulls = [-apart[0], apart[0]] if len(names) == 2 else list(apart)
    tops = [_largest(pull, 2 * _WORDS) for pull in pulls]
    wanted = columns[np.concatenate(tops)].tolist()
    if trainer.table is None:
        trainer.table = trainer.source.first_table()
    table = None if trainer.table is None else trainer.table.slice(0, trainer.nameable)
    spelled = trainer.source.features.names(table, wanted)
    return {
        name: [
            (spelled[int(columns[i])], round(float(pull[i]), 6))
            for i in top
            if int(columns[i]) in spelled and pull[i] > 0
        ][:_WORDS]
        for name, pull, top in zip(names, pulls, tops, strict=True)
    }


def _largest(values: np.ndarray, count: int) -> np.ndarray:
    """The places of the largest values, largest first."""
    if len(values) == 0:
        return np.empty(0, dtype=np.int64)
    rank = max(0, len(values) - count)
    top = np.flatnonzero(values >= np.partition(values, rank)[rank])
    return top[np.argsort(-values[top], kind="stable")][:count]


def _padded(weights: np.ndarray, rows: int) -> np.ndarray:
    """Weights that were kept before later features turned up."""
    if len(weights) == rows:
        return weights
    grown = np.zeros((rows, weights.shape[1]), dtype=weights.dtype)
    grown[: len(weights)] = weights
    return grown


def _sorted_classes(
    classes: list[str],
) -> tuple[tuple[str, ...], Callable[[np.ndarray], np.ndarray]]:
    """The classes sorted, and how arrays follow them."""
    names = sorted_labels(classes)
    order = [classes.index(name) for name in names]
    if order == list(range(len(order))):
        return tuple(names), lambda array: array
    if len(classes) == 2:
        return tuple(names), np.negative
    return tuple(names), lambda array: array[..., order]


def _told(record: dict[str, Any]) -> dict[str, Any]:
    """An epoch for the model file, without what is not known (JSON has no NaN) and without the
    time it took: the same run gives the same file, byte for byte.
    """
    unknown = {k for k, v in record.items() if isinstance(v, float) and math.isnan(v)}
    return {k: v for k, v in record.items() if k not in unknown | {"seconds"}}
