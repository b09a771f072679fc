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
from rosenblatt.cluster.engines import Broadcast, Task
from rosenblatt.cluster.learner import MixedLearner, Shards, with_shares
from rosenblatt.cluster.tasks import Leaf, epoch_delta, fresh_state, rates_at
from rosenblatt.errors import MissingExtraError
from rosenblatt.estimators import _checks as checks
from rosenblatt.estimators._input import checked_data
from rosenblatt.estimators.perceptron import Perceptron
from rosenblatt.kernels.rows import Csr
from rosenblatt.learners.examples import ONE, Examples, examples_of
from rosenblatt.learners.problems import n_problems
from rosenblatt.learners.weights import Weights
from rosenblatt.training import Drawn, Plan, Progress
from rosenblatt.training.mixing import Delta


def fit(estimator: Perceptron, X: Any, y: Any, *, client: Any = None) -> Perceptron:
    """Fit a perceptron on a Dask array or data frame, on the workers that hold it.

    Each epoch starts on every block from the same weights, which are then mixed, each block
    counting by its rows; a feature of sparse rows is mixed from the blocks that have it. The model
    depends on the blocks and not on the workers.

    Settings in units of the data are derived from the first block. ``threshold="auto"`` is twice
    what an update adds to the margin of its own row once it is mixed: with S equal blocks 1/S of
    the threshold on one machine. With several blocks ``keep="average"`` is ``"late_average"``: the
    early weights of a block know only that block.

    Parameters
    ----------
    estimator : Perceptron
        Fitted in place and returned. ``update="batch"``, ``keep="best"``, `early_stopping`,
        `max_updates`, `penalty`, a falling learning rate, an array for `shuffle` and
        ``device="cuda"`` are refused.
    X : dask.array.Array or dask.dataframe.DataFrame
        Blocks of rows; a block must have all columns.
    y : dask.array.Array, dask.dataframe.Series or str
        The labels, in the same blocks; or the name of a column of X.
    client : distributed.Client, optional
        By default the current one.

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
        _fit_blocks(estimator, engine, xs, ys)
    checks.warn_of_budget(estimator)
    return estimator


def _fit_blocks(estimator: Perceptron, engine: DaskEngine, xs: list[Any], ys: list[Any]) -> None:
    """Fit on blocks of rows and of labels, given as delayed objects."""
    client = engine.client
    xs, ys = client.compute(xs), client.compute(ys)
    found = client.gather(client.map(block_labels, xs, ys, pure=False))
    rows = [n for n, _ in found]
    classes = np.unique(np.concatenate([labels for _, labels in found]))
    if len(classes) < 2:
        raise ValueError(f"At least two classes are needed; all rows have {classes.tolist()}.")
    template = client.submit(make_template, estimator, xs[0], ys[0], classes, rows, pure=False)
    prepared = client.map(prepare_block, xs, ys, template=template, pure=False)
    in_blocks = client.gather(client.map(attrgetter("columns"), prepared, pure=False))
    columns, shares = _union(in_blocks, rows)
    made = client.gather(template)
    estimator.__dict__.update(made.__dict__ | estimator.get_params(deep=False))
    seed = checks.seed_of(estimator.random_state, check_random_state(estimator.random_state))
    learner: Any = BlockLearner(engine, made, seed, prepared, template, columns, shares)
    leaves = with_shares([Leaf(()) for _ in rows], rows)
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
    estimator._learner = own.untrained(last.weights.shape[1], own.dense)
    estimator._learner.restore(last)
    estimator._progress, estimator._places = progress, None
    checks.describe_run(estimator, progress)


def _union(in_blocks: list[Any], rows: list[int]) -> tuple[Any, Any]:
    """The columns that occur in some block, and the share of rows in blocks with each.

    Only they have weights. (None, None) if blocks are dense.
    """
    if any(columns is None for columns in in_blocks):
        return None, None
    shares = np.zeros(max(int(columns.max(initial=0)) for columns in in_blocks) + 1)
    for columns, n in zip(in_blocks, rows, strict=True):
        shares[columns] += n / sum(rows)
    union = np.flatnonzero(shares)
    return union, shares[union]


class BlockLearner(MixedLearner):
    """Weights that workers train on blocks of a Dask collection."""

    add = staticmethod(Delta.compact_sum)

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
        super().__init__(engine, Broadcast(known, about), zeros, np.zeros(problems))
        self._prepared, self._template, self._shares = prepared, template, shares

    def _tasks(
        self, function: Any, leaves: Sequence[Leaf], shared: Any, *arguments: Any
    ) -> list[Task]:
        """One task per block."""
        known = (self._template, self._shared_common, shared, *arguments)
        pairs = zip(leaves, self._prepared, strict=True)
        return [Task(block_epoch, (block, *known, leaf.share)) for leaf, block in pairs]

    def _mix(self, delta: Delta) -> None:
        """Mix each feature from the blocks that have it: others would only hold it back."""
        super()._mix(delta if self._shares is None else delta.divided_by(self._shares))


class Prepared(NamedTuple):
    """A block as a learner takes it."""

    examples: Examples  # of sparse rows, with the columns that occur numbered
    order: np.ndarray
    draw: str
    columns: np.ndarray | None  # by number; None if rows are dense
    rates: np.ndarray


def block_labels(X: Any, y: Any) -> tuple[int, np.ndarray]:
    """The number of rows of a block, and its distinct labels."""
    rows = X.shape[0]
    if rows != len(y):
        raise ValueError(
            f"X and y must be cut into the same blocks; one has {rows} rows and {len(y)} labels."
        )
    return len(y), np.unique(np.asarray(y))


def make_template(
    estimator: Perceptron, X: Any, y: Any, classes: np.ndarray, rows: list[int]
) -> Perceptron:
    """A clone with units, threshold and an untrained learner, settled by the first block."""
    made = clone(estimator)
    made._check_parameters()
    X, y = checked_data(made, _aligned_block(X), np.asarray(y), indices=False)
    made.classes_ = classes
    examples = examples_of(X, np.searchsorted(classes, y))
    made._settle_multiclass(float(sum(rows)))
    made._settle_units(examples)
    if made.threshold == "auto":
        # The update of a block is mixed by the block's share.
        made.threshold = made.threshold_ * sum((n / sum(rows)) ** 2 for n in rows)
    made._learner = made._new_learner(examples, len(classes)).untrained(0, examples.is_dense)
    return made


def prepare_block(X: Any, y: Any, template: Perceptron) -> Prepared:
    """Check a block, and settle the order in which its rows are visited."""
    dtype, X = template._learner.dtype, _aligned_block(X)
    X, y = checked_data(template, X, np.asarray(y), dtype=dtype, reset=False, indices=False)
    codes = np.searchsorted(template.classes_, y)
    omega = checks.weighted_by_class(ONE, template.class_weight, template.classes_, codes)
    examples = examples_of(X, codes, omega)
    order, draw, merged = checks.order_of(template.shuffle, examples)
    examples, rates = _renumbered(examples.reweighted(merged)), template._learner.rates
    if examples.columns is not None:
        rates = rates_at(rates, examples.columns)
    return Prepared(replace(examples, numbering=None), order, draw, examples.columns, rates)


def _renumbered(examples: Examples) -> Examples:
    """Sparse rows with the columns that occur renumbered; dense rows unchanged."""
    if isinstance(examples.rows, Csr) and examples.dtype != np.float32:
        columns, places = np.unique(examples.rows.columns, return_inverse=True)
        rows = examples.rows._replace(columns=places.astype(np.uint32).ravel())
        return replace(examples, rows=rows, n_features=len(columns), columns=columns)
    return examples.packed()


def block_epoch(
    block: Prepared, template: Perceptron, common: Broadcast, weights: Broadcast, epoch: int,
    share: float,
) -> Delta:  # fmt: skip
    """The weight changes of one epoch over a block."""
    start, features = weights.arrays, None
    before = start["weights"]
    if block.columns is not None:
        features = np.searchsorted(common.arrays["columns"], block.columns).astype(np.uint32)
        before = before[features]
    learner = template._learner.untrained(len(before), block.examples.is_dense)
    learner.rates = _aligned(block.rates)
    learner.restore(fresh_state(before, start["bias"]))
    examples = block.examples
    rows = type(examples.rows)(*(_aligned(array) for array in examples.rows))
    examples = replace(
        examples, rows=rows, codes=_aligned(examples.codes), omega=_aligned(examples.omega)
    )
    data = Drawn(examples, _aligned(block.order), block.draw, common.about["seed"])
    plan = Plan(eta=common.about["eta"])
    return epoch_delta(learner, data, plan, epoch, start, share, features)


def _aligned_block(X: Any) -> Any:
    """A block with aligned arrays, as kernels need them."""
    if hasattr(X, "indptr"):
        arrays = (X.data, X.indices, X.indptr)
        return X if all(array.flags.aligned for array in arrays) else X.copy()
    return _aligned(X) if isinstance(X, np.ndarray) else X


def _aligned(array: np.ndarray) -> np.ndarray:
    """A contiguous and aligned array; one received over a network may be neither."""
    return np.require(array, requirements=("C", "A"))


def _refuse(estimator: Any) -> None:
    """Raise an error for an estimator that cannot be fitted on blocks."""
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
            raise ValueError(f"{name}={value!r} is not supported on a cluster; leave it out.")


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
    """The blocks of rows and of labels, as delayed objects."""
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
