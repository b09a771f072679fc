"""Fit an estimator on a Dask array or data frame: its blocks are the shards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from rosenblatt import training
from rosenblatt.cluster.dask_engine import DaskEngine
from rosenblatt.cluster.engines import Call, Parcel
from rosenblatt.cluster.learner import MixedLearner, Shards, shared_out
from rosenblatt.cluster.tasks import Leaf, epoch_moves, fresh_state, rates_at
from rosenblatt.errors import MissingExtraError
from rosenblatt.estimators import _checks as checks
from rosenblatt.estimators._input import checked_data
from rosenblatt.estimators.perceptron import Perceptron
from rosenblatt.kernels.rows import Csr
from rosenblatt.learners.examples import ONE, Examples, examples_of
from rosenblatt.learners.problems import n_problems
from rosenblatt.learners.weights import Weights
from rosenblatt.training import Drawn, Plan, Progress
from rosenblatt.training.mixing import Moves


def fit(estimator: Perceptron, X: Any, y: Any, *, client: Any = None) -> Perceptron:
    """Fit a perceptron on a Dask array or data frame, by the workers that hold it.

    Each epoch starts on every block from the same weights, which are then mixed, each block
    counting by its rows; a feature of sparse rows is mixed from the blocks that have it. The model
    depends on the blocks and not on the workers.

    What is said in units of the data is decided by the first block. ``threshold="auto"`` is twice
    what an update adds to the margin of its own row once it is mixed: with S equal blocks 1/S of
    what it is on one machine. With several blocks ``keep="average"`` is ``"late_average"``: the
    early weights of a block know only that block.

    Parameters
    ----------
    estimator : Perceptron
        It is fitted and returned. ``update="batch"``, ``keep="best"``, `early_stopping`,
        `max_updates`, `penalty`, a learning rate that falls and an array for `shuffle` look at all
        rows together, or one by one, and are refused, as is ``device="cuda"``.
    X : dask.array.Array or dask.dataframe.DataFrame
        Blocks of rows; a block must have all columns.
    y : dask.array.Array, dask.dataframe.Series or str
        The labels, in the same blocks; or the name of a column of X.
    client : distributed.Client, optional
        By default the one that is connected.

    Returns
    -------
    estimator : Perceptron

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from rosenblatt import Perceptron, cluster
    >>> X = da.random.default_rng(0).normal(size=(400, 3), chunks=(100, 3))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> with Client(processes=False, dashboard_address=None) as client:  # doctest: +SKIP
    ...     model = cluster.fit(Perceptron(random_state=0), X, y)
    >>> model.score(X.compute(), y.compute())  # doctest: +SKIP
    0.9975
    """
    _refuse(estimator)
    with checks.untouched_on_failure(estimator):
        engine = DaskEngine(_client(client), owned=False)
        xs, ys = _blocks(X, y)
        _fitted(estimator, engine, xs, ys)
    checks.warn_of_budget(estimator)
    return estimator


def _fitted(estimator: Perceptron, engine: DaskEngine, xs: list[Any], ys: list[Any]) -> None:
    client = engine.client
    xs, ys = client.compute(xs), client.compute(ys)
    described = client.gather(client.map(labels_of, xs, ys, pure=False))
    rows = [len_ for len_, _ in described]
    classes = np.unique(np.concatenate([names for _, names in described]))
    if len(classes) < 2:
        raise ValueError(f"At least two classes are needed; all rows have {classes.tolist()}.")
    template = client.submit(first_block, estimator, xs[0], ys[0], classes, rows, pure=False)
    prepared = client.map(prepare, xs, ys, template=template, pure=False)
    found = client.gather(client.map(attrgetter("columns"), prepared, pure=False))
    columns, shares = _united(found, rows)
    made = client.gather(template)
    estimator.__dict__.update(made.__dict__ | estimator.get_params(deep=False))
    seed = checks.seed_of(estimator.random_state, check_random_state(estimator.random_state))
    learner: Any = BlockLearner(engine, made, seed, prepared, template, columns, shares)
    leaves = shared_out([Leaf((), str(i)) for i in range(len(rows))], [float(n) for n in rows])
    progress, plan = Progress(), estimator._plan()
    if plan.keep == "average" and len(rows) > 1:
        plan = replace(plan, keep="late_average")
    shards: Any = Shards(leaves, sum(rows))
    for _ in training.run(learner, shards, plan, progress):
        pass
    shown, last = training.kept_weights(learner, plan, progress), learner.state()
    estimator._places = columns
    estimator._base = None
    last = replace(last, weights=estimator._in_columns(last.weights))
    estimator._shown = Weights(np.array(estimator._in_columns(shown.weights)), np.array(shown.bias))
    own = made._learner
    estimator._learner = own.like(last.weights.shape[1], own.dense)
    estimator._learner.restore(last)
    estimator._progress, estimator._places = progress, None
    checks.describe_run(estimator, progress)


def _united(found: list[Any], rows: list[int]) -> tuple[Any, Any]:
    """The columns of sparse rows that occur in some block, and the share of the blocks with each.

    Only they have weights that travel. None of both if blocks are dense and have all columns.
    """
    if any(columns is None for columns in found):
        return None, None
    shares = np.zeros(max(int(columns.max(initial=0)) for columns in found) + 1)
    for columns, n in zip(found, rows, strict=True):
        shares[columns] += n / sum(rows)
    union = np.flatnonzero(shares)
    return union, shares[union]


class BlockLearner(MixedLearner):
    """Weights that workers train on blocks of a Dask collection."""

    add = staticmethod(Moves.merged)

    def __init__(
        self, engine: Any, made: Perceptron, seed: int, prepared: list[Any], template: Any,
        columns: Any, shares: Any,
    ) -> None:  # fmt: skip
        own = made._learner
        problems = n_problems(len(made.classes_), own.multiclass)
        about = {
            "average": own.averaging, "classes": [str(name) for name in made.classes_],
            "seed": seed, "eta": float(made._plan().etas(1, 1)[0]),
        }  # fmt: skip
        known = {} if columns is None else {"columns": columns}
        features = made.n_features_in_ if columns is None else len(columns)
        zeros = np.zeros((features, problems), own.dtype)
        super().__init__(engine, Parcel.of(known, about), zeros, np.zeros(problems))
        self._prepared, self._template, self._shares = prepared, template, shares

    def _calls(
        self, function: Any, leaves: Sequence[Leaf], name: str, shared: Any, *given: Any
    ) -> list[Call]:
        """One task per block."""
        return [
            Call.of(
                block_epoch,
                (block, self._template, self._common, shared, *given, leaf.share),
                (block.key, self.common.name, name, given, leaf.share),
            )
            for leaf, block in zip(leaves, self._prepared, strict=True)
        ]

    def _mix(self, moves: Moves) -> None:
        """Mix each feature from the blocks that have it: others would only hold it back."""
        super()._mix(moves if self._shares is None else moves.over(self._shares))


class Prepared(NamedTuple):
    """A block as a learner wants it; sparse rows hold places, whose columns are told."""

    examples: Examples
    order: np.ndarray
    draw: str
    columns: np.ndarray | None
    rates: np.ndarray


# Tasks


def labels_of(X: Any, y: Any) -> tuple[int, np.ndarray]:
    """The rows of a block, and their labels, each once, with their counts."""
    rows = X.shape[0]
    if rows != len(y):
        raise ValueError(
            f"X and y must be cut into the same blocks; one has {rows} rows and {len(y)} labels."
        )
    return len(y), np.unique(np.asarray(y))


def first_block(
    estimator: Perceptron, X: Any, y: Any, classes: np.ndarray, rows: list[int]
) -> Perceptron:
    """The estimator with all that is decided before the first epoch, and a learner of nothing."""
    made = clone(estimator)
    made._check_parameters()
    X, y = checked_data(made, _sound(X), np.asarray(y), indices=False)
    made.classes_ = classes
    examples = examples_of(X, np.searchsorted(classes, y))
    made._settle_multiclass(float(sum(rows)))
    made._settle_units(examples)
    if made.threshold == "auto":
        # What an update by a block adds is mixed in by the block's share.
        made.threshold = made.threshold_ * sum((n / sum(rows)) ** 2 for n in rows)
    made._learner = made._new_learner(examples, len(classes)).like(0, examples.is_dense)
    return made


def prepare(X: Any, y: Any, template: Perceptron) -> Prepared:
    """A block, checked, with the order in which its rows are visited."""
    dtype = template._learner.dtype
    X, y = checked_data(template, _sound(X), np.asarray(y), dtype=dtype, reset=False, indices=False)
    codes = np.searchsorted(template.classes_, y)
    omega = checks.weighted_by_class(ONE, template.class_weight, template.classes_, codes)
    examples = examples_of(X, codes, omega)
    order, draw, merged = checks.order_of(template.shuffle, examples)
    examples, rates = _in_places(examples.reweighted(merged)), template._learner.rates
    if examples.columns is not None:
        rates = rates_at(rates, examples.columns)
    return Prepared(replace(examples, numbering=None), order, draw, examples.columns, rates)


def _in_places(examples: Examples) -> Examples:
    """Sparse rows with the columns that occur numbered; dense rows as they are."""
    if isinstance(examples.rows, Csr) and examples.dtype != np.float32:
        columns, places = np.unique(examples.rows.columns, return_inverse=True)
        rows = examples.rows._replace(columns=places.astype(np.uint32).ravel())
        return replace(examples, rows=rows, n_features=len(columns), columns=columns)
    return examples.packed()


def block_epoch(
    block: Prepared, template: Perceptron, common: Parcel, weights: Parcel, epoch: int, share: float
) -> Moves:
    """One epoch over a block."""
    start, like = weights.arrays, template._learner
    before, index = start["weights"], None
    if block.columns is not None:
        index = np.searchsorted(common.arrays["columns"], block.columns).astype(np.uint32)
        before = before[index]
    learner = like.like(len(before), block.examples.is_dense)
    learner.rates = _aligned(block.rates)
    learner.restore(fresh_state(before, start["bias"]))
    examples = block.examples
    rows = type(examples.rows)(*(_aligned(array) for array in examples.rows))
    examples = replace(
        examples, rows=rows, codes=_aligned(examples.codes), omega=_aligned(examples.omega)
    )
    data = Drawn(examples, _aligned(block.order), block.draw, common.about["seed"])
    return epoch_moves(learner, data, Plan(eta=common.about["eta"]), epoch, start, share, index)


def _sound(X: Any) -> Any:
    """A block whose arrays kernels can take."""
    if hasattr(X, "indptr"):
        arrays = (X.data, X.indices, X.indptr)
        return X if all(array.flags.aligned for array in arrays) else X.copy()
    return _aligned(X) if isinstance(X, np.ndarray) else X


def _aligned(array: np.ndarray) -> np.ndarray:
    """An array as kernels take it: one that came through a network may lie anywhere."""
    return np.require(array, requirements=("C", "A"))


# What can be fitted


def _refuse(estimator: Any) -> None:
    if not isinstance(estimator, Perceptron):
        raise TypeError(f"a Perceptron is fitted on a cluster, not {type(estimator).__name__}.")
    shuffled = isinstance(estimator.shuffle, bool | str)
    for name, is_fine in (
        ("update", estimator.update == "online"),
        ("keep", estimator.keep != "best"),
        ("early_stopping", not estimator.early_stopping),
        ("max_updates", estimator.max_updates is None),
        ("learning_rate", estimator.learning_rate == "constant"),
        ("shuffle", shuffled),
        ("class_weight", estimator.class_weight != "balanced"),
        ("warm_start", not estimator.warm_start),
        ("penalty", estimator.penalty is None),
        ("device", estimator.device != "cuda"),
    ):
        if not is_fine:
            value = getattr(estimator, name)
            raise ValueError(f"{name}={value!r} cannot be had on a cluster; leave it out.")


def _client(client: Any) -> Any:
    try:
        from distributed import get_client
    except ImportError:
        raise MissingExtraError("fitting on a Dask collection", "cluster") from None
    if client is not None:
        return client
    try:
        return get_client()
    except ValueError:
        raise ValueError(
            "There is no Dask client: connect one, as in distributed.Client('tcp://host:8786')."
        ) from None


def _blocks(X: Any, y: Any) -> tuple[list[Any], list[Any]]:
    """The blocks of rows and of labels."""
    if isinstance(y, str) and hasattr(X, "columns"):
        X, y = X.drop(columns=[y]), X[y]
    if not hasattr(X, "to_delayed") or not hasattr(y, "to_delayed"):
        raise TypeError("X and y must be Dask arrays or data frames; fit others with fit.")
    if getattr(X, "numblocks", (1, 1))[1:] not in ((), (1,)):
        X = X.rechunk({1: -1})
    xs, ys = (np.ravel(np.asarray(part.to_delayed())).tolist() for part in (X, y))
    if len(xs) != len(ys):
        raise ValueError(
            f"X and y must be cut into the same blocks; they have {len(xs)} and {len(ys)}."
        )
    return xs, ys
