"""Many models at once: grids and folds over the same rows, side by side."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, check_cv

from rosenblatt import training
from rosenblatt.cycles import CycleFinder
from rosenblatt.estimators import _checks as checks
from rosenblatt.estimators import _device
from rosenblatt.estimators._linear_training import Run
from rosenblatt.estimators._threads import threads_of
from rosenblatt.estimators.perceptron import Perceptron
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.protocol import UNLIMITED, Array
from rosenblatt.training import Drawn

_ORDERS = 64  # orders that are kept at a time


class WholeEpochs(Examples):
    """Examples that are walked over in one call per epoch."""

    @property
    def rows_per_call(self) -> int:
        """All of them."""
        return UNLIMITED


@dataclass(frozen=True)
class OwnRows(Drawn):
    """The rows of one model out of an order that is drawn for all."""

    own: Array = field(default_factory=lambda: np.empty(0, bool))  # which rows it visits
    drawn: dict[Any, Array] = field(default_factory=dict)  # orders so far, which models share

    def order(self, epoch: int) -> Array:
        """The rows of an epoch that are visited, in the order of all."""
        key = (self.draw, self.seed, epoch, self.own.tobytes())
        found = self.drawn.get(key)  # other threads may clear it at any time
        if found is None:
            order = self.shared_order(epoch)
            self.drawn[key] = found = order[self.own[order.astype(np.intp)]]
        return found

    def shared_order(self, epoch: int) -> Array:
        """The rows of an epoch that any model may visit."""
        key = (self.draw, self.seed, epoch)
        found = self.drawn.get(key)
        if found is None:
            if len(self.drawn) > _ORDERS:
                self.drawn.clear()
            self.drawn[key] = found = super().order(epoch)
        return found

    @property
    def visits_all(self) -> bool:
        """Whether every epoch visits every row of positive weight."""
        return self.draw != "random" and np.unique(self.rows).size == len(self.examples)


@dataclass(frozen=True)
class Fits:
    """What :func:`fit_many` found.

    Attributes
    ----------
    models : list
        The fitted models in the order of the settings; with `cv`, a list of folds for each.
    results : dict
        Columns as in :class:`sklearn.model_selection.GridSearchCV`: ``params``; with `cv`
        ``split0_test_score`` and so on, ``mean_test_score``, ``std_test_score`` and
        ``rank_test_score``; and ``n_iter``, ``n_updates`` (means over the folds).
    seconds : float
        How long it took.
    device : str
        Where most of it was done.
    """

    models: list[Any]
    results: dict[str, Any]
    seconds: float
    device: str

    @property
    def best_index(self) -> int:
        """The setting of the best mean test score, the first of equals."""
        if "mean_test_score" not in self.results:
            raise AttributeError("Without cv nothing was held out to choose by: give cv=5, say.")
        return int(np.argmax(self.results["mean_test_score"]))

    @property
    def best_params(self) -> dict[str, Any]:
        """Its parameters."""
        return dict(self.results["params"][self.best_index])

    def __repr__(self) -> str:
        n = len(self.results["params"])
        head = f"Fits({n} settings, {self.seconds:.2g} s on {self.device}"
        if "mean_test_score" not in self.results:
            return head + ")"
        best = self.results["mean_test_score"][self.best_index]
        return f"{head}, best {best:.4f} with {self.best_params})"


def fit_many(
    estimators: Any, X: Any, y: Any, *, grid: Any = None, cv: Any = None, sample_weight: Any = None,
    device: str = "auto", n_jobs: int | None = None,
) -> Fits:  # fmt: skip
    """Fit many models to the same rows: the settings of a grid, the folds of a cross-validation.

    All :class:`Perceptron` models with the same `shuffle` and `random_state` visit the rows in one
    order, drawn for all rows; each leaves out the rows that it holds out. On a GPU such models
    share the scores' product and the Gram matrices of each block of rows, whatever their
    thresholds, learning rates, padding, what they keep and when they stop. On the processor they
    are spread over threads. Both take the same steps. Other estimators are fitted one by one.

    Parameters
    ----------
    estimators : estimator or list of estimators
    X, y, sample_weight
        As for :meth:`Perceptron.fit`.
    grid : dict or list of dicts, default=None
        Parameters and the values to try, as for :class:`sklearn.model_selection.ParameterGrid`.
    cv : int, splitter or iterable of (train, test), default=None
        Folds, as in scikit-learn; None fits each setting to all rows.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where those that share an order are trained; "auto" is a GPU if X lies there, or if there
        is one and the models are many.
    n_jobs : int or None, default=None
        Threads on the processor; None is 1, -1 all cores.

    Returns
    -------
    fits : Fits

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rosenblatt import Perceptron, fit_many
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Perceptron(multiclass="ovr", keep="average", random_state=0, max_iter=20, tol=None)
    >>> fits = fit_many(model, X, y, grid={"threshold": [0.0, 1.0, 10.0]}, cv=3)
    >>> len(fits.models), len(fits.models[0]), sorted(fits.best_params)
    (3, 3, ['threshold'])
    """
    began = time.perf_counter()
    if device not in _device.DEVICES:
        raise ValueError(f"device must be 'auto', 'cpu' or 'cuda', got {device!r}.")
    settings, params = _settings(estimators, grid)
    n, labels = X.shape[0] if hasattr(X, "shape") else len(X), np.asarray(_device.to_host(y))
    folds = _folds(cv, X, labels, n)
    weights = np.broadcast_to(checks.check_weights(sample_weight, n), n)
    jobs = [_Job(clone(model), train, weights) for model in settings for train, _ in folds]
    if labels.ndim == 2 and device == "cuda":
        raise ValueError("device='cuda' is for one class per row, but y is an indicator matrix.")
    where = "cpu"
    if labels.ndim == 1:
        where = _device.where_many(device, X, len(np.unique(labels)), [job.model for job in jobs])
    X = _device.brought(X) if where == "cuda" else X
    _fit(jobs, X, labels, where, threads_of(n_jobs))
    fitted = [job.model for job in jobs]
    rows = [fitted[i : i + len(folds)] for i in range(0, len(fitted), len(folds))]
    results = _results(rows, params, folds, X, labels, cv is not None)
    models: list[Any] = rows if cv is not None else [row[0] for row in rows]
    return Fits(models, results, time.perf_counter() - began, where)


@dataclass
class _Job:
    """A model to fit, the rows it may learn from, and their weights."""

    model: Any
    train: Array
    weights: Array

    @property
    def own(self) -> Array:
        """The weights of all rows, zero for those held out."""
        own = np.zeros(len(self.weights))
        own[self.train] = self.weights[self.train]
        return own


def _settings(estimators: Any, grid: Any) -> tuple[list[Any], list[dict[str, Any]]]:
    """The estimators to fit, and the parameters that tell them apart."""
    listed = list(estimators) if isinstance(estimators, Sequence) else [estimators]
    if not listed:
        raise ValueError("Give at least one estimator.")
    points = [{}] if grid is None else list(ParameterGrid(grid))
    settings = [clone(one).set_params(**point) for one in listed for point in points]
    named = [dict(point) for _ in listed for point in points]
    if len(listed) > 1:
        for i, params in enumerate(named):
            params["estimator"] = listed[i // len(points)]
    return settings, named


def _folds(cv: Any, X: Any, y: Array, n: int) -> list[tuple[Array, Array]]:
    if cv is None:
        return [(np.arange(n), np.arange(0))]
    splitter = check_cv(cv, y, classifier=True)
    return [(np.asarray(a), np.asarray(b)) for a, b in splitter.split(np.zeros((n, 1)), y)]


def _shares(model: Any) -> bool:
    """Whether a model can be trained together with others."""
    return (
        type(model) is Perceptron and model.update == "online" and model.keep != "best"
        and model.max_updates is None and not model.warm_start and not model.early_stopping
    )  # fmt: skip


def _fit(jobs: list[_Job], X: Any, y: Array, where: str, threads: int) -> None:
    """Fit all models, those that share an order together."""
    together = [job for job in jobs if _shares(job.model)]
    alone = [job for job in jobs if not _shares(job.model)]
    for job in alone:
        kept = job.train[job.weights[job.train] > 0]
        options = {} if np.all(job.weights == 1.0) else {"sample_weight": job.weights[kept]}
        job.model.fit(_device.some_rows(X, kept), y[kept], **options)
    if not together:
        return
    # Shuffling merges equal rows; here the order is drawn for all rows, so that models share it.
    shuffles = [job.model.shuffle for job in together]
    with ExitStack() as stack:
        runs = []
        for job, shuffle in zip(together, shuffles, strict=True):
            job.model.set_params(shuffle=False)
            stack.callback(job.model.set_params, shuffle=shuffle)
            runs.append(stack.enter_context(job.model._fitting(X, y, sample_weight=job.own)))
        drawn: dict[Any, Array] = {}
        for run, shuffle in zip(runs, shuffles, strict=True):
            run.data = _own_rows(run, shuffle, drawn)
        if where == "cuda":
            for group in _groups(runs):
                _train_together(group)
            return
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(_train_alone, runs))


def _own_rows(run: Run, shuffle: Any, drawn: dict[Any, Array]) -> OwnRows:
    """The rows of a model in an order that others share."""
    examples, n = run.data.examples, len(run.data.examples)
    whole = WholeEpochs(**vars(examples))
    rows = np.arange(n, dtype=np.uint64)
    if not isinstance(shuffle, bool | str):
        rows = np.asarray(shuffle).astype(np.uint64)
    draw = "permutation" if shuffle is True else shuffle if isinstance(shuffle, str) else "fixed"
    own = np.broadcast_to(examples.omega, n) > 0
    # Given orders may differ from model to model: they are not drawn, and not shared.
    return OwnRows(whole, rows, draw, run.data.seed, own, {} if draw == "fixed" else drawn)


def _groups(runs: list[Run]) -> list[list[Run]]:
    """The models that can share products: same classes, order and feature rates."""
    groups: dict[Any, list[Run]] = defaultdict(list)
    for run in runs:
        learner, data = run.learner, run.data
        key = (
            learner.n_classes, learner.multiclass, learner.rates.tobytes(), data.draw, data.seed,
            data.rows.tobytes() if data.draw == "fixed" else b"",
        )  # fmt: skip
        groups[key].append(run)
    return list(groups.values())


def _train_alone(run: Run) -> None:
    for _ in training.run(run.learner, run.data, run.plan, run.progress):
        pass


def _train_together(runs: list[Run]) -> None:
    """Train models side by side on the device, each with its own plan and stopping rules."""
    data = runs[0].data
    examples = replace(data.examples, omega=np.ones(1))
    weights = [np.broadcast_to(run.data.examples.omega, len(examples)) for run in runs]
    distinct = {row.tobytes(): row for row in weights}
    numbers = {key: number for number, key in enumerate(distinct)}
    kinds = np.array([numbers[row.tobytes()] for row in weights])
    omega = np.stack(list(distinct.values()))
    group = _device.group_of([run.learner for run in runs], kinds)
    for run, member in zip(runs, group.members, strict=True):
        run.learner = member
        if run.data.repeats:  # a loop would take its anchor after the first walk of the group
            run.progress.cycle = CycleFinder(member.snapshot())
    loops = [training.run(run.learner, run.data, run.plan, run.progress) for run in runs]
    active = np.ones(len(runs), bool)
    for epoch in range(1, UNLIMITED):
        order = data.shared_order(epoch)
        group.walk(examples, order, _etas(runs, order, omega, kinds), omega, active)
        for i in np.flatnonzero(active):
            next(loops[i])  # the walk
            next(loops[i])  # the end of the epoch
            active[i] = runs[i].progress.stop_reason is None
        if not active.any():
            return


def _etas(runs: list[Run], order: Array, omega: Array, kinds: Array) -> Array:
    """The learning rates (models, 1 or visits) of an epoch; each model counts its own visits."""
    if not any(callable(run.plan.eta) for run in runs):
        return np.array([[float(run.plan.eta)] for run in runs])  # type: ignore[arg-type]
    out = np.zeros((len(runs), len(order)))
    for i, run in enumerate(runs):
        own = omega[kinds[i]][order.astype(np.intp)] > 0
        out[i, own] = run.plan.etas(run.progress.visits + 1, int(own.sum()))
    return out


def _results(
    rows: list[list[Any]], params: list[dict[str, Any]], folds: Any, X: Any, y: Array, held: bool
) -> dict[str, Any]:
    """The table of results, a column by name."""
    results: dict[str, Any] = {"params": params}
    if held:
        parts = [_device.some_rows(X, test) for _, test in folds]
        scores = np.array(
            [
                [_accuracy(model, part, y[test]) for model, part, (_, test) in
                 zip(row, parts, folds, strict=True)]
                for row in rows
            ]
        )  # fmt: skip
        for fold in range(len(folds)):
            results[f"split{fold}_test_score"] = scores[:, fold]
        results["mean_test_score"] = scores.mean(axis=1)
        results["std_test_score"] = scores.std(axis=1)
        results["rank_test_score"] = rankdata(-scores.mean(axis=1), method="min").astype(int)
    for name in ("n_iter", "n_updates"):
        results[name] = np.array([np.mean([getattr(m, name + "_") for m in row]) for row in rows])
    return results


def _accuracy(model: Any, X: Any, y: Array) -> float:
    return float(np.mean(np.asarray(_device.to_host(model.predict(X))) == y))


__all__ = ["Fits", "fit_many"]
