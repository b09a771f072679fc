"""The mistake bound of a run on shards, from the hinge losses of its final weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rosenblatt.cluster.engines import Broadcast
from rosenblatt.cluster.run import ClusterRun
from rosenblatt.cluster.tasks import Leaf, OpenShard
from rosenblatt.kernels.measures import squared_lengths
from rosenblatt.learners.problems import n_problems
from rosenblatt.theory.bounds.mixing_bounds import MixingBound, mixing_loss_bound
from rosenblatt.training.mixing import tree_sum

_SCALES = 2.0 ** np.arange(-8, 17, 0.5)  # factors of the final weights
_CHUNK = 4096  # rows scored at a time
_ROUNDING = 1.0 + 1e-6  # sums of floats are not exact


def run_bound(run: ClusterRun) -> MixingBound | None:
    """A bound on the updates of the run's last phase, or None if none applies.

    The reference weights are the final ones, times the factor that makes the bound smallest. The
    bound holds for runs that start at zero, rows of equal weight and one-vs-rest problems.
    """
    if run.settings.multiclass != "ovr" and len(run.found.classes) > 2:
        return None
    if run.start is not None or run.found.weighted or run.learner.mixed_updates == 0:
        return None
    threshold, padding = run.settings.threshold, run.settings.padding
    assert threshold is not None, "settings are for the features by now"
    assert padding is not None, "settings are for the features by now"
    shards, learner = run.visited(), run.learner
    kept = run.progress.kept
    shown = learner.weights(run.settings.average) if kept is None else kept.weights
    with learner.tasks(losses, shards.leaves, shown) as tasks:
        found = run.engine.reduce(tasks, _add)
    W = np.ascontiguousarray(shown.weights.T)
    norms = _norms(W, shown.bias, learner.common, padding)
    shares, epochs = [leaf.share for leaf in shards.leaves], run.progress.epoch
    problems = len(norms)
    bounds = [
        min(
            (
                mixing_loss_bound(
                    math.sqrt(found[0]) * _ROUNDING, scale * norms[p] * _ROUNDING,
                    float(found[1 + p * len(_SCALES) + i]) * _ROUNDING, shares,
                    epochs=epochs, threshold=threshold,
                )
                for i, scale in enumerate(_SCALES)
            ),
        )
        for p in range(problems)
        if norms[p] > 0
    ]  # fmt: skip
    if len(bounds) < problems:
        return None
    return MixingBound(float(sum(b.mixed for b in bounds)), float(sum(b.total for b in bounds)))


def losses(leaves: tuple[Leaf, ...], common: Any, weights: Any, folder: str | None) -> np.ndarray:
    """The largest squared norm of a row, and the hinge loss of each problem at each scale."""
    return tree_sum([_losses(OpenShard(leaf, common, weights, folder)) for leaf in leaves], _add)


def _add(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    total = left + right
    total[0] = max(left[0], right[0])
    return total


def _losses(shard: OpenShard) -> np.ndarray:
    visited, examples = shard.visited, shard.examples
    problems = n_problems(len(shard.about["classes"]), "ovr")
    sums, squares, radius = np.zeros((problems, len(_SCALES))), np.zeros(_CHUNK), 0.0
    for start in range(0, len(visited), _CHUNK):
        some = visited[start : start + _CHUNK]
        scores = np.asarray(shard.learner.scores(examples, some), np.float64)
        scores = scores.reshape(len(some), problems)
        codes = examples.codes[some]
        truth = codes[:, None] == (np.arange(problems) if problems > 1 else 1)
        margins = np.where(truth, scores, -scores)
        for i, scale in enumerate(_SCALES):
            sums[:, i] += np.maximum(0.0, 1.0 - scale * margins).sum(axis=0)
        squared_lengths(examples.rows, some, shard.aligned.rates, squares[: len(some)])
        radius = max(radius, float(squares[: len(some)].max()))
    padding = float(shard.about["padding"])
    return np.concatenate([[radius + padding**2], shard.leaf.share * sums.ravel()])


def _norms(W: np.ndarray, bias: np.ndarray, common: Broadcast, padding: float) -> np.ndarray:
    """The norm of the weights of each problem, in coordinates in which all rates are 1."""
    rates = common.arrays["rates"].astype(np.float64)
    own = rates[np.minimum(np.arange(len(W)), len(rates) - 1)]
    squares = (W.astype(np.float64) ** 2 / np.maximum(own, 1e-300)[:, None]).sum(axis=0)
    return np.sqrt(squares + ((bias / padding) ** 2 if padding > 0 else 0.0))
