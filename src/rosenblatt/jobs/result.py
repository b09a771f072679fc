"""The model that a training run has come to: weights, state, words that speak for classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from rosenblatt.data.source import sorted_labels
from rosenblatt.engine.compact import taken, used_places
from rosenblatt.errors import DataError
from rosenblatt.models import Model

if TYPE_CHECKING:
    from rosenblatt.jobs.train import Trainer
    from rosenblatt.training.stream import Learner

_WORDS = 25
NAMEABLE = 1 << 16  # places, in the order of first meeting, among which words are looked for


def model_of(trainer: Trainer) -> Model:
    """The model as it stands now."""
    if trainer.learner is None:
        raise DataError("nothing was learned yet", path=trainer.source.files[0])
    with ThreadPoolExecutor(2) as helpers:
        fingerprint = helpers.submit(trainer.source.fingerprint)
        columns, weights, bias, state = _arrays(trainer, trainer.learner, helpers)
        names, turn = _sorted_classes(trainer.source.classes)
        weights, bias = turn(weights), turn(bias)
        state |= {name: turn(state[name]) for name in {"W", "U", "bias"} & state.keys()}
        return Model(
            classes=names,
            features=trainer.source.features,
            columns=columns,
            weights=np.ascontiguousarray(weights),
            bias=np.array(bias, dtype=np.float64),
            parameters=asdict(trainer.settings) | {"stop_reason": trainer.progress.stop_reason},
            history=[_told(asdict(epoch)) for epoch in trainer.history],
            words=_words(trainer, names, columns, weights),
            state={name: np.ascontiguousarray(array) for name, array in state.items()},
            fingerprint=fingerprint.result(),
        )


def _arrays(
    trainer: Trainer, learner: Learner, helpers: Executor
) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Columns, weights, biases and state, without the features that learning made no use of."""
    averaged, count = trainer.settings.averaged, learner.n_features
    state, bias = learner.arrays(), learner.biases(averaged)
    wide: dict[str, Any] = {name: state[name] for name in ("W", "U") if name in state}
    wide["columns"] = trainer.numbering.columns[:count]
    used = used_places(state["W"], wide.get("U", state["W"]))
    if trainer.best is not None:
        weights, bias = trainer.best
        wide["best"] = _padded(weights, count)
        used = _either(count, used, used_places(wide["best"], wide["best"]))
    few = len(used) < 0.9 * count
    if few:
        # Threads share the work: the weights of many classes are large.
        rows = helpers.map(lambda array: taken(array, used), wide.values())
        wide = dict(zip(wide, rows, strict=True))
    columns = wide.pop("columns")
    weights = wide.pop("best", None)
    state |= wide
    own = weights is None and averaged
    if weights is None:
        weights = learner.average(state["W"], state["U"]) if own else state["W"]
    if trainer.rarity is not None:
        places = used if few else np.arange(count, dtype=np.uint32)
        state["scale"] = trainer.rarity.of_places(places)
        weights = np.multiply(weights, state["scale"][:, None], out=weights if own else None)
    return columns if few else np.array(columns), weights, bias, state


def _words(
    trainer: Trainer, names: tuple[str, ...], columns: np.ndarray, weights: np.ndarray
) -> dict[str, list[tuple[str, float]]]:
    """The features that speak most for each class, of those the first rows can name."""
    # Columns are numbered as they are met: those of the first rows, frequent ones, come first.
    weights = weights[:NAMEABLE]
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


def _either(count: int, *places: np.ndarray) -> np.ndarray:
    """The places that are among some of the first `count`, or among others."""
    found = np.zeros(count, dtype=bool)
    for some in places:
        found[some] = True
    return np.flatnonzero(found).astype(np.uint32)


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
