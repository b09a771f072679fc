"""Estimators on Dask's arrays and data frames."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rosenblatt import AROW, KernelPerceptron, Perceptron, cluster
from rosenblatt.cluster.collections import BlockLearner, make_template, prepare_block

distributed = pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")


@pytest.fixture(scope="module")
def client():
    with distributed.Client(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as connected:
        yield connected


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(600, 4))
    return X, np.array(["no", "yes"])[(X @ [1.0, -2.0, 0.5, 0.0] > 0.3).astype(int)]


@pytest.mark.parametrize("keep", ["last", "late_average"])
def test_one_block_is_the_fit_of_one_process(client, rows, keep):
    X, y = rows
    settings = {"keep": keep, "threshold": 0.5, "max_iter": 6, "tol": None, "random_state": 3}
    alone = Perceptron(**settings).fit(X, y)
    model = cluster.fit(Perceptron(**settings), da.from_array(X), da.from_array(y), client=client)
    assert np.allclose(model.coef_, alone.coef_, rtol=1e-12)
    assert np.allclose(model.intercept_, alone.intercept_, rtol=1e-12)
    assert [e.updates for e in model.history_] == [e.updates for e in alone.history_]
    assert (model.predict(X) == alone.predict(X)).all()


def test_blocks_of_arrays_frames_and_sparse_rows_are_mixed(client, rows):
    X, y = rows
    settings = {"max_iter": 20, "tol": None, "random_state": 0}
    X_blocks, y_blocks = da.from_array(X, chunks=(150, 2)), da.from_array(y, chunks=150)
    dense = cluster.fit(Perceptron(**settings), X_blocks, y_blocks, client=client)
    assert dense.score(X, y) > 0.95
    wide = da.from_array(X, chunks=(150, 4)).map_blocks(sparse.csr_matrix)
    found = cluster.fit(Perceptron(**settings), wide, y_blocks, client=client)
    assert np.allclose(found.coef_, dense.coef_, rtol=1e-9)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=y)
    parts = dd.from_pandas(frame, npartitions=4, sort=False)
    model = cluster.fit(Perceptron(**settings), parts, "label", client=client)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.score(frame[list("abcd")], y) > 0.95


def test_blocks_that_came_through_a_network_may_lie_anywhere(rows):
    X, y = sparse.csr_matrix(rows[0][:100]), rows[1][:100]

    def shifted(array):
        room = np.empty(array.nbytes + 1, np.uint8)
        room[1:] = array.view(np.uint8)
        return room[1:].view(array.dtype)

    moved = X.copy()
    moved.data, moved.indices, moved.indptr = map(shifted, (X.data, X.indices, X.indptr))
    assert not moved.data.flags.aligned
    template = make_template(Perceptron(random_state=0), moved, y, np.unique(y), [100])
    whole, expected = (prepare_block(rows, y, template) for rows in (moved, X))
    assert np.array_equal(whole.order, expected.order)


@pytest.fixture(scope="module")
def texts():
    """Rows of rare and frequent words of length 1, many more columns than words: X and y."""
    generator = np.random.default_rng(5)
    meaning = generator.normal(size=20_000) * (generator.random(20_000) < 0.2)
    words = np.minimum((generator.pareto(0.7, (14_000, 40)) * 30).astype(int), 19_999)
    noise = generator.normal(scale=0.5, size=14_000)
    y = (meaning[words].sum(axis=1) + noise > 0).astype(int)
    X = sparse.csr_matrix(
        (np.full(words.size, 40**-0.5, np.float32), 50 * words.ravel(), np.arange(14_001) * 40),
        shape=(14_000, 1_000_000),
    )
    X.sum_duplicates()
    return X, y


@pytest.mark.parametrize(("settings", "cost"), [({}, 0.01), ({"feature_rates": "idf"}, 0.03)])
def test_16_blocks_are_nearly_as_good_as_one(client, texts, settings, cost):
    X, y = texts
    blocks = in_blocks(X[:9600], 600), da.from_array(y[:9600], chunks=600)
    found = []
    for seed in range(6):  # one order of the rows alone is worth half a point
        model = Perceptron(max_iter=10, tol=None, random_state=seed, **settings)
        alone = model.fit(X[:9600], y[:9600]).score(X[9600:], y[9600:])
        found.append(cluster.fit(model, *blocks, client=client).score(X[9600:], y[9600:]) - alone)
    assert np.mean(found) > -cost


def in_blocks(X, size):
    """Sparse rows as a Dask array."""
    parts = [X[i : i + size] for i in range(0, X.shape[0], size)]
    return da.concatenate([
        da.from_delayed(dask.delayed(some), some.shape, meta=some[:0]) for some in parts
    ])  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_sparse_block_is_the_fit_of_one_process(client, texts, dtype):
    X, y = texts[0][:500].astype(dtype), texts[1][:500]
    settings = {"keep": "late_average", "max_iter": 4, "tol": None, "random_state": 3}
    alone = Perceptron(**settings).fit(X, y)
    model = cluster.fit(
        Perceptron(**settings), in_blocks(X, 500), da.from_array(y, chunks=500), client=client
    )
    assert np.allclose(model.coef_, alone.coef_, rtol=1e-5, atol=1e-6)
    assert [e.updates for e in model.history_] == [e.updates for e in alone.history_]
    assert model.threshold_ == pytest.approx(alone.threshold_)
    model.partial_fit(X[:9], y[:9])


def test_only_the_weights_of_columns_that_occur_are_sent(client, texts, monkeypatch):
    X, y = texts[0][:800], texts[1][:800]
    deltas = []
    mix = BlockLearner._mix
    monkeypatch.setattr(BlockLearner, "_mix", lambda s, d: deltas.append(d) or mix(s, d))
    model = Perceptron(max_iter=2, tol=None, random_state=0)
    cluster.fit(model, in_blocks(X, 100), da.from_array(y, chunks=100), client=client)
    assert {delta.n_features for delta in deltas} == {len(np.unique(X.indices))}
    assert model.coef_.shape == (1, 1_000_000)


def test_the_bits_do_not_depend_on_the_workers(client, texts):
    X, y = texts[0][:800], texts[1][:800]
    blocks = in_blocks(X, 100), da.from_array(y, chunks=100)
    model = Perceptron(max_iter=3, tol=None, random_state=0)
    by_two = cluster.fit(model, *blocks, client=client).coef_.copy()
    with distributed.Client(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0",
        set_as_default=False,
    ) as alone:  # fmt: skip
        by_one = cluster.fit(model, *blocks, client=alone).coef_
    assert np.array_equal(by_one, by_two)


def test_several_classes_in_blocks_that_do_not_have_all_of_them(client):
    X = np.repeat(np.eye(3), 40, axis=0) + 0.01 * np.arange(120)[:, None] / 120
    y = np.repeat([7, 8, 9], 40)
    blocks = da.from_array(X, chunks=(30, 3)), da.from_array(y, chunks=30)
    model = cluster.fit(Perceptron(max_iter=60, tol=None), *blocks, client=client)
    assert model.classes_.tolist() == [7, 8, 9]
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"keep": "best"}, "keep='best' is not supported on a cluster"),
        ({"update": "batch"}, "update='batch' is not supported"),
        ({"early_stopping": True}, "early_stopping=True is not supported"),
        ({"class_weight": "balanced"}, "class_weight='balanced' is not supported"),
        ({"penalty": "l2"}, "penalty='l2' is not supported"),
        ({"device": "cuda"}, "device='cuda' is not supported"),
    ],
)
def test_what_needs_all_rows_together_is_refused(client, rows, settings, message):
    blocks = [da.from_array(part, chunks=100) for part in rows]
    with pytest.raises(ValueError, match=message):
        cluster.fit(Perceptron(**settings), *blocks, client=client)


def test_what_does_not_fit_together_is_refused(client, rows):
    X, y = (da.from_array(part) for part in rows)
    with pytest.raises(ValueError, match="must be cut into the same blocks"):
        cluster.fit(Perceptron(), X.rechunk((100, 4)), y, client=client)
    with pytest.raises(ValueError, match="At least two classes"):
        cluster.fit(Perceptron(), X, da.zeros(600), client=client)
    with pytest.raises(TypeError, match="must be Dask arrays"):
        cluster.fit(Perceptron(), rows[0], rows[1], client=client)
    for other in (AROW(), KernelPerceptron()):
        with pytest.raises(
            TypeError, match=f"a Perceptron is fitted .* not {type(other).__name__}"
        ):
            cluster.fit(other, X, y, client=client)


def test_a_failed_fit_leaves_the_estimator_as_it_was(client, rows):
    X, y = rows
    model = Perceptron(random_state=0).fit(X, y)
    before = model.coef_.copy()
    bad = da.from_array(np.full((600, 4), np.nan), chunks=(200, 4))
    with pytest.raises(ValueError, match="NaN"):
        cluster.fit(model, bad, da.from_array(y, chunks=200), client=client)
    assert np.array_equal(model.coef_, before)
