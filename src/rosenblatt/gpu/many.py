"""Many models on the same rows: grids of parameters and folds of a cross-validation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils import _safe_indexing

from rosenblatt import training
from rosenblatt.cycles import CycleFinder
from rosenblatt.estimators._classifier import untouched_on_failure
from rosenblatt.estimators._input import check_weights
from rosenblatt.estimators._linear import Run
from rosenblatt.gpu.device import (
    DeviceError,
    current_device,
    device_of,
    is_on_cuda,
    to_host,
    translated_errors,
)
from rosenblatt.gpu.estimators import Perceptron
from rosenblatt.gpu.linear import ModelGroup
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.protocol import UNLIMITED, Array
from rosenblatt.training import Drawn

_CACHED_ORDERS = 64


class WholeEpochs(Examples):
    """Examples that are walked over in one call per epoch."""

    @property
    def rows_per_call(self) -> int:
        """All of them."""
        return UNLIMITED


@dataclass(frozen=True)
class OwnRows(Drawn):
    """The rows of one model, in an order that is drawn for the rows of all models."""

    cache: dict[Any, Array] = field(default_factory=dict)  # orders, shared by the models

    @cached_property
    def visited(self) -> Array:
        """Which rows the model visits: those of positive weight."""
        return np.broadcast_to(self.examples.omega, len(self.examples)) > 0

    def order(self, epoch: int) -> Array:
        """The model's rows of an epoch."""
        order = self.shared_order(epoch)
        return self._cached((epoch, self.visited.tobytes()), lambda: order[self.visited[order]])

    def shared_order(self, epoch: int) -> Array:
        """The rows of an epoch of all models."""
        return self._cached((epoch,), lambda: super(OwnRows, self).order(epoch))

    def _cached(self, key: tuple[Any, ...], draw: Callable[[], Array]) -> Array:
        key = (self.draw, self.seed, *key)
        if key not in self.cache:
            if len(self.cache) > _CACHED_ORDERS:
                self.cache.clear()
            self.cache[key] = draw()
        return self.cache[key]

    @property
    def visits_all(self) -> bool:
        """Whether every epoch visits every row of positive weight."""
        return bool(np.unique(self.rows).size == len(self.examples))


@dataclass(frozen=True)
class Fits:
    """The result of :func:`fit_many`.

    Attributes
    ----------
    models : list
        The fitted models in the order of the settings; with `cv`, a list of folds for each.
    results : dict
        Columns as in :class:`sklearn.model_selection.GridSearchCV`: ``params``; with `cv`
        ``split0_test_score`` and so on, ``mean_test_score``, ``std_test_score`` and
        ``rank_test_score``; and ``n_iter``, ``n_updates`` (means over the folds).
    """

    models: list[Any]
    results: dict[str, Any]

    @property
    def best_index(self) -> int:
        """The number of the setting with the best mean test score, the first if there are ties."""
        if "mean_test_score" not in self.results:
            raise AttributeError("Without cv no rows were held out to choose by: give cv=5, say.")
        return int(np.argmax(self.results["mean_test_score"]))

    @property
    def best_params(self) -> dict[str, Any]:
        """The parameters of that setting."""
        return dict(self.results["params"][self.best_index])


def fit_many(
    estimator: Any, X: Any, y: Any, *, grid: Any = None, cv: Any = None, sample_weight: Any = None
) -> Fits:
    """Fit many models to the same rows: the settings of a grid, the folds of a cross-validation.

    Models of the same `shuffle` and `random_state` visit the rows in one order, drawn for all rows;
    each leaves out the rows that it holds out. They share the products for scores and the Gram
    matrices of each block of rows, whatever their thresholds, learning rates, padding, `keep` and
    stopping rules.

    Parameters
    ----------
    estimator : Perceptron
        With ``scale=None`` (each fold would scale the rows in its own way), and without
        ``keep="best"``, `early_stopping` and `warm_start`.
    X, y, sample_weight
        As for :meth:`Perceptron.fit`.
    grid : dict or list of dicts, default=None
        Parameters and the values to try, as for :class:`sklearn.model_selection.ParameterGrid`.
    cv : int, splitter or iterable of (train, test), default=None
        Folds, as in scikit-learn; None fits each setting to all rows.

    Returns
    -------
    fits : Fits

    Examples
    --------
    On a machine with a GPU::

        model = Perceptron(multiclass="ovr", scale=None, random_state=0, max_iter=20, tol=None)
        fits = fit_many(model, X, y, grid={"threshold": [0.0, 1.0, 10.0]}, cv=3)
        fits.best_params, fits.results["mean_test_score"]
    """
    params = [dict(point) for point in ParameterGrid({} if grid is None else grid)]
    settings = [clone(estimator).set_params(**point) for point in params]
    if not all(map(_shares, settings)):
        raise ValueError(
            "fit_many takes rosenblatt.gpu.Perceptron with scale=None and without keep='best', "
            "early_stopping and warm_start: fit other models one by one."
        )
    device = device_of(X) if is_on_cuda(X) else current_device()
    if sparse.issparse(X):
        raise DeviceError("The GPU takes dense rows: use GridSearchCV for a sparse X.")
    n, labels = X.shape[0] if hasattr(X, "shape") else len(X), np.asarray(to_host(y))
    if labels.ndim == 2:
        raise ValueError("fit_many is for one class per row, but y is an indicator matrix.")
    folds = [(np.arange(n), np.arange(0))]
    if cv is not None:
        folds = list(check_cv(cv, labels, classifier=True).split(np.zeros((n, 1)), labels))
    weights = np.broadcast_to(check_weights(sample_weight, n), n)
    jobs = [(clone(model), np.asarray(train)) for model in settings for train, _ in folds]
    there = _on_device(device, X)
    _fit(jobs, to_host(X), there, labels, weights)
    models = [model for model, _ in jobs]
    by_setting = [models[i : i + len(folds)] for i in range(0, len(models), len(folds))]
    tests = [np.asarray(test) for _, test in folds] if cv is not None else []
    results = _results(by_setting, params, tests, there, labels)
    return Fits(models if cv is None else by_setting, results)


def _on_device(device: Any, X: Any) -> Any:
    """X on the device, unless it would fill more than half of the free memory."""
    if is_on_cuda(X) or not hasattr(X, "dtype") or X.nbytes > device.free_bytes() // 2:
        return X
    with translated_errors():
        return device.xp.asarray(X)


def _take_rows(X: Any, rows: Array) -> Any:
    """Some rows of a matrix or data frame, on the device it is on."""
    return X[rows] if is_on_cuda(X) else _safe_indexing(X, rows)


def _shares(model: Any) -> bool:
    """Whether a model can be trained together with others."""
    return (
        type(model) is Perceptron and model.keep != "best" and not model.warm_start
        and not model.early_stopping and not model._has_scale
    )  # fmt: skip


def _fit(jobs: list[tuple[Any, Array]], X: Any, there: Any, y: Array, weights: Array) -> None:
    """Fit models to their training rows together; `there` is X on the device, if it fits."""
    cache: dict[Any, Array] = {}
    with ExitStack() as stack:
        runs = []
        for model, train in jobs:
            trained, shuffle = np.zeros(len(weights)), model.shuffle
            trained[train] = weights[train]
            # Shuffling merges equal rows; here the order is drawn for all rows.
            model.set_params(shuffle=False)
            stack.callback(model.set_params, shuffle=shuffle)
            stack.enter_context(untouched_on_failure(model))
            run = model._prepare(X, y, sample_weight=trained, device="cpu")
            run.data = _own_rows(run, shuffle, cache)
            runs.append(run)
        for group in _groups(runs):
            train_together(group, there)
        for (model, _), run in zip(jobs, runs, strict=True):
            model._finish(run)


def _own_rows(run: Run, shuffle: Any, cache: dict[Any, Array]) -> OwnRows:
    """The data of a run, in an order shared with other models."""
    examples = run.data.examples
    rows = np.arange(len(examples), dtype=np.uint64)
    if not isinstance(shuffle, bool | str):
        rows = np.asarray(shuffle).astype(np.uint64)
    draw = "permutation" if shuffle is True else shuffle if isinstance(shuffle, str) else "fixed"
    # Given orders may differ from model to model: they are not drawn, and not shared.
    cache = {} if draw == "fixed" else cache
    return OwnRows(WholeEpochs(**vars(examples)), rows, draw, run.data.seed, cache)


def _groups(runs: list[Run]) -> list[list[Run]]:
    """The runs of models that can share products: same classes, order and feature rates."""
    groups: dict[Any, list[Run]] = defaultdict(list)
    for run in runs:
        learner, data = run.learner, run.data
        key = (
            learner.n_classes,
            learner.spec.multiclass,
            learner.spec.rates.tobytes(),
            data.draw,
            data.seed,
            data.rows.tobytes() if data.draw == "fixed" else b"",
        )
        groups[key].append(run)
    return list(groups.values())


def train_together(runs: list[Run], there: Any) -> None:
    """Train models side by side on the device, each with its own plan and stopping rules."""
    data, first = runs[0].data, runs[0].learner
    examples = replace(data.examples, omega=np.ones(1))
    weights = np.stack([np.broadcast_to(run.data.examples.omega, len(examples)) for run in runs])
    omega, kinds = np.unique(weights, axis=0, return_inverse=True)
    kinds = kinds.reshape(-1)
    specs = [run.learner.spec for run in runs]
    group = ModelGroup(specs, kinds, first.n_classes, first.n_features)
    if is_on_cuda(there):
        group.members[0].use_rows(examples, there)
    for run, member in zip(runs, group.members, strict=True):
        run.learner = member
        if run.data.repeats:  # else training.run would take it after the group's first walk
            run.progress.cycle = CycleFinder(member.snapshot())
    loops = [training.run(run.learner, run.data, run.plan, run.progress) for run in runs]
    active = np.ones(len(runs), bool)
    for epoch in range(1, UNLIMITED):
        order = data.shared_order(epoch)
        group.walk(examples, order, _etas(runs, order, omega, kinds), omega, active)
        for i in np.flatnonzero(active):
            next(epoch for epoch in loops[i] if epoch is not None)  # to the end of the epoch
            active[i] = runs[i].progress.stop_reason is None
        if not active.any():
            return


def _etas(runs: list[Run], order: Array, omega: Array, kinds: Array) -> Array:
    """The learning rates (models, 1 or visits) of an epoch, by each model's own visits."""
    if not any(callable(run.plan.eta) for run in runs):
        return np.array([[float(run.plan.eta)] for run in runs])  # type: ignore[arg-type]
    out = np.zeros((len(runs), len(order)))
    for i, run in enumerate(runs):
        visits = omega[kinds[i]][order.astype(np.intp)] > 0
        out[i, visits] = run.plan.etas(run.progress.visits + 1, int(visits.sum()))
    return out


def _results(
    models: list[list[Any]], params: list[dict[str, Any]], tests: list[Array], X: Any, y: Array
) -> dict[str, Any]:
    """The columns of the table of results, for models per setting and fold."""
    results: dict[str, Any] = {"params": params}
    if tests:
        held = [(_take_rows(X, test), y[test]) for test in tests]
        scores = np.array(
            [[m.score(*rows) for m, rows in zip(row, held, strict=True)] for row in models]
        )
        results |= {f"split{fold}_test_score": scores[:, fold] for fold in range(len(tests))}
        results["mean_test_score"] = scores.mean(axis=1)
        results["std_test_score"] = scores.std(axis=1)
        results["rank_test_score"] = rankdata(-scores.mean(axis=1), method="min").astype(int)
    for name in ("n_iter", "n_updates"):
        results[name] = np.array([np.mean([getattr(m, name + "_") for m in row]) for row in models])
    return results
