"""Training in the dual form for :class:`rosenblatt.KernelPerceptron`: at once or row by row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from rosenblatt.estimators._classes import arrivals, grow_dual, signs_of
from rosenblatt.estimators._gram_blocks import GramBlocks
from rosenblatt.estimators._row_by_row import by_class
from rosenblatt.kernels.rows import CsrRows, rows_of
from rosenblatt.kernels.tasks import Joint
from rosenblatt.training import History
from rosenblatt.training.budget import BudgetWork
from rosenblatt.training.dual import DualTask, DualWork, feed_dual, run_dual
from rosenblatt.training.joint import JointWork


def train(model, state, X, codes, omega, order, draw, judge, bar, online=False) -> Any:
    """Train on the rows at hand, after the support rows so far; keep those ever mistaken."""
    if model.kernel == "precomputed" and model.support_.size:
        raise ValueError("warm_start needs the rows themselves, not their Gram matrix.")
    old, n_old = model.support_, model.support_.size
    everything = stacked(model, X)
    if n_old:
        codes = np.concatenate([np.zeros(n_old, codes.dtype), codes])
        omega = np.concatenate([np.zeros(n_old), np.broadcast_to(omega, len(codes) - n_old)])
        order = order + np.uint64(n_old)
    n_classes = len(model.classes_)
    task = model._task(rows_of(everything), codes, omega, n_classes)
    gram = GramBlocks(model._function(), everything, model.cache_size)
    dual = DualTask(task, signs_of(n_classes, model.multiclass), gram, judge)
    plan = model._plan(order, draw, bar)
    if online:
        plan = replace(plan, max_epochs=state.epoch + 1)
    work: DualWork
    if model.max_support is not None:
        work = BudgetWork(state, dual, plan, model.max_support, model.forget)
    else:
        work = (JointWork if isinstance(task, Joint) else DualWork)(state, dual, plan)
    state, history = (feed_dual(work), History()) if online else run_dual(work)
    used, places = np.unique(state.log.rows, return_inverse=True)
    here = np.arange(X.shape[0]) + model._rows_seen
    model.support_ = np.concatenate([old, here])[used]
    if model.kernel != "precomputed":
        model.support_vectors_ = everything[used]
    model._rows_seen += X.shape[0]
    return replace(state, log=replace(state.log, rows=places)), history


def learn_rows(model, X, y, weights) -> None:
    """Learn row by row; where a new label comes up, a problem for it comes into being."""
    found = arrivals(y, model.classes_)
    ends = [*(row for row, _ in found[1:]), len(y)]
    for (start, classes), end in zip(found, ends, strict=True):
        if start == end:
            continue
        state = grow_dual(model.state_, model.classes_, classes, model.multiclass)
        state = replace(state, kept=None, stop_reason=None)
        model.classes_, part = classes, slice(start, end)
        codes = np.searchsorted(classes, y[part])
        some = weights[part] if weights.size > 1 else weights
        omega = by_class(some, model.class_weight, classes, codes)
        order = np.arange(end - start, dtype=np.uint64)
        order = order[omega > 0] if omega.size > 1 else order
        if len(classes) > 1:
            state = train(model, state, X[part], codes, omega, order, "fixed", None, (), True)[0]
        else:
            passed = np.broadcast_to(omega, codes.shape)[order].sum()
            state = state.idle(float(passed), order.size)
            model._rows_seen += end - start
        model._show(state, History())
    model.n_iter_ = 1


def stacked(model, X) -> Any:
    """The support rows so far, then the rows at hand."""
    if not model.support_.size or model.kernel == "precomputed":
        return X
    if sparse.issparse(X) or sparse.issparse(model.support_vectors_):
        return sparse.vstack([model.support_vectors_, X], format="csr", dtype=model._dtype)
    return np.concatenate([model.support_vectors_, X])


def validation_error(model, X, validation, log, clock) -> float:
    """The share of the held-out rows, by weight, that a log over the rows X gets wrong."""
    rows = validation.rows
    held = rows.matrix if isinstance(rows, CsrRows) else rows.arrays
    used, places = np.unique(log.rows, return_inverse=True)
    support = used if model.kernel == "precomputed" else stacked(model, X)[used]
    scores = model._judged(held, replace(log, rows=places), clock, support)
    weights = np.broadcast_to(validation.omega, validation.codes.shape)
    wrong = validation.decide(scores) != validation.codes
    return float(weights[wrong].sum() / weights.sum())
