"""Going on from a model: whether that can be done, and the state that a learner begins in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rosenblatt.errors import OptionError
from rosenblatt.learners.pairs import PairWeights
from rosenblatt.learners.problems import moves, n_problems
from rosenblatt.learners.weights import State
from rosenblatt.models.model import Model


def state_from(model: Model, learner: Any) -> State:
    """The state of a learner that continues from a model, with zero weights for new classes."""
    state, count = state_of_model(model), n_problems(learner.n_classes, learner.spec.multiclass)
    before, weights = len(state.bias), state.weights
    if before == count:
        return state
    if isinstance(weights, PairWeights):  # which have no sums, and many classes
        zeros, bias = np.zeros(count), np.append(state.bias, np.zeros(count - before))
        return State(replace(weights, n_classes=count), bias, np.empty(0), zeros, zeros)
    signs, multiclass = np.eye(count, before), learner.spec.multiclass
    if not model.multilabel:
        old, new = np.arange(len(model.classes)), np.arange(learner.n_classes)
        places, sides, sources, _ = moves(old, new, multiclass)
        signs = np.zeros((count, before))
        signs[places, sources] = sides
    clock = np.full(count, float(state.clock[0]))
    return replace(
        state,
        weights=(signs @ state.weights).astype(state.weights.dtype),
        bias=signs @ state.bias,
        sums=(signs @ state.sums).astype(state.sums.dtype),
        bias_sums=signs @ state.bias_sums,
        clock=np.abs(signs) @ state.clock if multiclass == "ovo" else clock,
    )


def check_can_learn(model: Model) -> None:
    """Raise an OptionError if training cannot go on from a model."""
    if "estimator" in model.parameters:
        raise OptionError(
            f"start (--from) goes on with models of train; this {model.parameters['estimator']} "
            "goes on in Python: rosenblatt.load(...).partial_fit"
        )
    if model.features.fasttext is not None:
        raise OptionError("a model of fastText cannot be trained further: train one from the text")
    if model.is_ordered:
        raise OptionError(
            "a model of ordered classes cannot be trained further: train one on all rows"
        )


def state_of_model(model: Model) -> State:
    """The state that a model was saved in."""
    zeros = np.zeros(len(model.bias))
    if isinstance(model.weights, PairWeights):
        return State(model.weights, model.bias, np.empty(0), zeros, zeros)
    sums = np.zeros(model.weights.T.shape)
    no_sums = State(model.weights.T, model.bias, sums, zeros, zeros)
    if "bias" not in model.state:
        return no_sums
    bias, _, bias_sums = model.state["bias"]
    last = replace(no_sums, weights=model.state["W"].T, bias=bias)
    sums = model.state.get("U", np.zeros((0, 0)))
    if not sums.size:
        return last
    clock = np.broadcast_to(model.state["clock"], len(zeros)).copy()
    return replace(last, sums=sums.T, bias_sums=bias_sums, clock=clock)
