"""The kernel perceptron against the linear engine, explicit features and brute force."""

import pickle
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score

from rosenblatt import KernelPerceptron, Perceptron, reference
from rosenblatt.learners.gram_blocks import GramBlocks

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
POLY = {"kernel": "poly", "gamma": 1, "coef0": 1}


@st.composite
def data_sets(draw, n_classes=2, max_rows=9):
    """Small whole numbers, so that every sum is exact, with every class among the labels."""
    n, d = draw(st.integers(n_classes, max_rows)), draw(st.integers(1, 3))
    entries = st.lists(st.integers(-3, 3), min_size=d, max_size=d)
    X = np.array(draw(st.lists(entries, min_size=n, max_size=n)), dtype=float)
    more = draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n))[n_classes:]
    return X, np.array(draw(st.permutations([*range(n_classes), *more])))


several = st.sampled_from([2, 3]).flatmap(data_sets)
options = st.fixed_dictionaries(
    {
        "threshold": st.integers(0, 3),
        "mistake": st.just("margin"),
        "max_iter": st.integers(1, 7),
        "tol": st.sampled_from([None, 1e-3]),
        "random_state": st.integers(0, 3),
        "shuffle": st.sampled_from([False, True, "after_first"]),
        "multiclass": st.sampled_from(["ovr", "ovo", "joint"]),
    }
) | st.just({"mistake": "sign", "shuffle": False, "max_iter": 5})


def same_run(dual, primal):
    """Whether two runs took the same steps, as far as their books tell."""
    columns = (
        "updates", "updated_rows", "mistakes", "progressive_error", "train_error",
        "validation_error",
    )  # fmt: skip
    return (
        dual.n_updates_ == primal.n_updates_
        and dual.t_ == primal.t_
        and dual.n_iter_ == primal.n_iter_
        and dual.stop_reason_ == primal.stop_reason_
        and all(
            np.array_equal(dual.history_[c], primal.history_[c], equal_nan=True) for c in columns
        )
        and np.allclose(dual.history_["weight_norm"], primal.history_["weight_norm"])
        and np.allclose(dual.history_["relative_change"], primal.history_["relative_change"])
    )


@given(several, options, st.sampled_from(["last", "average"]), st.booleans())
def test_the_linear_kernel_takes_the_steps_of_the_perceptron(data, options, keep, weighted):
    X, y = data
    weights = np.arange(len(y)) % 4 + 1 if weighted else None
    dual = KernelPerceptron.textbook(kernel="linear", keep=keep, **options).fit(X, y, weights)
    primal = Perceptron.textbook(fit_intercept=False, keep=keep, **options)
    primal.fit(X, y, sample_weight=weights)
    if (
        options.get("multiclass") == "ovo" and len(np.unique(y)) > 2
    ):  # makes no predictions on the way
        assert dual.n_updates_ == primal.n_updates_
    else:
        assert same_run(dual, primal)
    is_pairwise = options.get("multiclass") == "ovo" and len(np.unique(y)) > 2
    weights = primal.pair_coef_ if is_pairwise else primal.coef_
    coef = dual.dual_coef_ @ dual.support_vectors_ if dual.support_.size else 0 * weights
    assert np.allclose(coef, weights)
    if keep == "last":
        assert np.array_equal(coef, weights)


@given(several, options, st.sampled_from([1, 2, 3]))
def test_the_polynomial_kernel_is_the_perceptron_on_explicit_features(data, options, degree):
    X, y = data
    padded = np.column_stack([X, np.ones(len(X))])
    features = np.ones((len(X), 1))
    for _ in range(degree):  # all ordered products: their inner product is (1 + x·y)^degree
        features = np.einsum("ni,nj->nij", features, padded).reshape(len(X), -1)
    options = {**options, "shuffle": False}
    dual = KernelPerceptron.textbook(**POLY, degree=degree, keep="last", **options).fit(X, y)
    primal = Perceptron.textbook(fit_intercept=False, **options).fit(features, y)
    assert dual.n_updates_ == primal.n_updates_
    assert dual.stop_reason_ == primal.stop_reason_
    assert np.array_equal(dual.decision_function(X), primal.decision_function(features))


@given(several, options, st.sampled_from([1, 2, 5]), st.sampled_from([1, 3, 8]))
def test_neither_block_size_nor_memory_changes_the_result(data, options, block, pending):
    X, y = data
    options = options | {"keep": "average" if options.get("multiclass") == "joint" else "vote"}
    plain = KernelPerceptron.textbook(**POLY, degree=2, **options).fit(X, y)
    with pytest.MonkeyPatch.context() as patch:

        class Small(GramBlocks):
            def __init__(self, *arguments):
                super().__init__(*arguments)
                self.block_rows, self.pending_rows, self.chunk_rows = block, pending, 2
                self.cache = self.cache[:pending]

        patch.setattr("rosenblatt.estimators.kernel_perceptron.GramBlocks", Small)
        blocked = KernelPerceptron.textbook(**POLY, degree=2, **options).fit(X, y)
    for name in ("problems", "rows", "taus", "times"):
        assert np.array_equal(getattr(plain.state_.log, name), getattr(blocked.state_.log, name))
    assert same_run(blocked, plain)
    assert np.array_equal(plain.decision_function(X), blocked.decision_function(X))


@given(data_sets(), st.sampled_from(["margin", "sign"]), st.booleans())
def test_vote_and_average_are_what_brute_force_says(data, mistake, weighted):
    X, y = data
    copies = (np.arange(len(y)) % 3 + 1).tolist() if weighted else None
    options = {"kernel": "linear", "shuffle": False, "max_iter": 4, "tol": None}
    model = KernelPerceptron.textbook(mistake=mistake, **options).fit(X, y, copies)
    steps = list(
        reference.online(
            X.tolist(), (2 * y - 1).tolist(), padding=None, mistake=mistake, sample_weight=copies,
            max_epochs=model.n_iter_,
        )
    )  # fmt: skip
    weights = np.array([s.weights_after for s in steps])
    votes = np.where(X @ weights.T > 0, 1, -1).mean(axis=1)
    assert np.allclose(model.decision_function(X), votes, rtol=1e-12, atol=1e-12)
    average = KernelPerceptron.textbook(mistake=mistake, keep="average", **options).fit(
        X, y, copies
    )
    assert np.allclose(average.decision_function(X), X @ weights.mean(axis=0))


@given(data_sets(max_rows=4), st.integers(1, 3))
@settings(max_examples=10)
def test_the_vote_after_one_pass_errs_as_seldom_as_was_proven(data, n):
    """Rows drawn from a small set, each with equal probability: every sequence there is."""
    X, y = data
    options = {"kernel": "linear", "keep": "vote"}
    errors, mistakes = [], []
    for drawn in product(range(len(y)), repeat=n):
        model = KernelPerceptron.textbook(**options).partial_fit(X[[*drawn]], y[[*drawn]], [0, 1])
        errors.append((model.predict(X) != y).mean())
        for last in range(len(y)):
            longer = clone(model).partial_fit(X[[*drawn, last]], y[[*drawn, last]], [0, 1])
            mistakes.append(longer.n_updates_)
    assert np.mean(errors) <= 2 / (n + 1) * np.mean(mistakes) + 1e-12


@given(
    several, st.lists(st.integers(0, 9), max_size=3), st.booleans(), st.booleans(),
    st.sampled_from(["ovr", "ovo", "joint"]),
)  # fmt: skip
def test_partial_fit_on_any_split_is_the_same(data, cuts, as_sparse, named, multiclass):
    X, y = data
    options = {**POLY, "degree": 2, "multiclass": multiclass, "keep": "average"}
    lay_out = sparse.csr_array if as_sparse else np.asarray
    classes = np.unique(y) if named else None
    whole = KernelPerceptron.textbook(**options).partial_fit(X, y, classes)
    parts = KernelPerceptron.textbook(**options)
    edges = [0, *sorted(min(cut, len(y)) for cut in cuts), len(y)]
    for start, end in pairwise(edges):
        if start < end:
            parts.partial_fit(lay_out(X[start:end]), y[start:end], classes)
    assert np.array_equal(whole.support_, parts.support_)
    assert np.array_equal(whole.dual_coef_, parts.dual_coef_)
    assert np.array_equal(whole.state_.clock, parts.state_.clock)
    assert np.array_equal(whole.decision_function(X), parts.decision_function(X))


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("keep", ["last", "average", "vote"])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_splits_and_pickles_between_calls_leave_real_numbers_to_the_last_bit(
    kernel, keep, as_sparse
):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(240, 7)), random.integers(0, 3, 240)
    X = sparse.csr_array(np.where(X > 0, X, 0)) if as_sparse else X
    options = {"kernel": kernel, "gamma": 0.3, "threshold": 0.5, "scale": None, "keep": keep}
    whole = KernelPerceptron(**options).partial_fit(X, y, [0, 1, 2])
    for cuts in ([1, 2, 3], [7, 119], [*range(20, 240, 20)]):
        parts = KernelPerceptron(**options)
        for start, end in pairwise([0, *cuts, 240]):
            parts.partial_fit(X[start:end], y[start:end], [0, 1, 2])
            parts = pickle.loads(pickle.dumps(parts))
        assert np.array_equal(whole.support_, parts.support_)
        assert np.array_equal(whole.dual_coef_, parts.dual_coef_)
        assert np.array_equal(whole.decision_function(X), parts.decision_function(X))


@given(several)
def test_partial_fit_is_one_epoch_in_order(data):
    X, y = data
    fitted = KernelPerceptron.textbook(**POLY, shuffle=False, max_iter=1).fit(X, y)
    fed = KernelPerceptron.textbook(**POLY).partial_fit(X, y, np.unique(y))
    assert np.array_equal(fitted.dual_coef_, fed.dual_coef_)
    assert np.array_equal(fitted.problem_updates_, fed.problem_updates_)
    assert fitted.n_updates_ == fed.n_updates_ == fed.problem_updates_.sum()


@given(several, st.integers(1, 3), st.integers(1, 3))
def test_a_warm_start_goes_on(data, first, second):
    X, y = data
    options = {**POLY, "shuffle": False, "tol": None}
    once = KernelPerceptron.textbook(max_iter=first + second, **options).fit(X, y)
    twice = KernelPerceptron.textbook(max_iter=first, warm_start=True, **options).fit(X, y)
    assume(once.stop_reason_ == twice.stop_reason_ == "budget")
    twice.set_params(max_iter=second).fit(X, y)
    assume(twice.stop_reason_ == "budget")  # a search for cycles begins with every call
    assert np.array_equal(once.decision_function(X), twice.decision_function(X))
    assert np.array_equal(once.problem_updates_, twice.problem_updates_)


def digits(n=300, dtype=np.float64):
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X[:n].astype(dtype), y[:n]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("keep", ["last", "average", "vote"])
def test_sparse_and_dense_rows_give_the_same_model(keep, dtype):
    X, y = digits(dtype=dtype)
    dense = KernelPerceptron.textbook(**POLY, degree=2, keep=keep, random_state=0).fit(X, y)
    kept_sparse = KernelPerceptron.textbook(**POLY, degree=2, keep=keep, random_state=0)
    kept_sparse.fit(sparse.csr_matrix(X), y)
    assert sparse.issparse(kept_sparse.support_vectors_)
    assert np.array_equal(dense.support_, kept_sparse.support_)
    assert np.array_equal(dense.predict(X), kept_sparse.predict(sparse.csr_array(X)))


def test_single_precision_gives_the_model_of_double_on_whole_numbers():
    X, y = digits()
    for degree in (1, 2, 3):
        double = KernelPerceptron.textbook(**POLY, degree=degree, shuffle=False).fit(X, y)
        single = KernelPerceptron.textbook(**POLY, degree=degree, shuffle=False).fit(
            X.astype(np.float32), y
        )
        assert np.array_equal(double.problem_updates_, single.problem_updates_)
    assert single._kernel.dtype == np.float64


@pytest.mark.parametrize("keep", ["last", "average", "vote"])
def test_a_precomputed_or_callable_kernel_gives_the_model_of_the_named_one(keep):
    X, y = digits(200)
    named = KernelPerceptron.textbook(kernel="rbf", gamma=0.01, keep=keep, shuffle=False).fit(
        X[:150], y[:150]
    )
    K = rbf_kernel(X, gamma=0.01)
    precomputed = KernelPerceptron.textbook(kernel="precomputed", keep=keep, shuffle=False)
    precomputed.fit(K[:150, :150], y[:150])
    called = KernelPerceptron.textbook(
        kernel=lambda A, B: rbf_kernel(A, B, gamma=0.01), keep=keep, shuffle=False
    )
    called.fit(X[:150], y[:150])
    for other, rows in ((precomputed, K[150:, :150]), (called, X[150:])):
        assert np.array_equal(named.support_, other.support_)
        assert np.array_equal(named.predict(X[150:]), other.predict(rows))
    assert cross_val_score(precomputed, K, y, cv=3).mean() > 0.8


def test_a_cycle_is_found_where_the_features_do_not_separate():
    X, y = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])
    for max_iter in (100, 2, 3, 4):
        dual = KernelPerceptron.textbook(
            **POLY, degree=1, shuffle=False, tol=None, max_iter=max_iter
        )
        primal = Perceptron.textbook(shuffle=False, tol=None, max_iter=max_iter).fit(X, y)
        assert dual.fit(X, y).stop_reason_ == primal.stop_reason_
        assert dual.n_iter_ == primal.n_iter_


def test_early_stopping_returns_the_best_epoch():
    X, y = digits(600)
    model = KernelPerceptron.textbook(
        degree=2, early_stopping=True, tol=None, keep="last", random_state=0, max_iter=30,
        n_iter_no_change=3,
    ).fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])  # fmt: skip
    errors = model.history_["validation_error"]
    assert model.stop_reason_ in ("validation", "separated")
    assert 1 - model.score(X[400:], y[400:]) == pytest.approx(errors.min())
    held = KernelPerceptron.textbook(early_stopping=True, random_state=0).fit(X, y)
    assert np.isfinite(held.history_["validation_error"]).all()


@settings(max_examples=10)
@given(st.integers(0, 100))
def test_the_norm_is_that_of_the_weights_in_feature_space(seed):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(60, 3)), random.integers(0, 3, 60)
    model = KernelPerceptron.textbook(
        kernel="rbf", gamma=0.5, keep="last", max_iter=5, random_state=0
    )
    model.fit(X, y)
    K = rbf_kernel(model.support_vectors_, gamma=0.5)
    squares = np.einsum("ps,st,pt->", model.dual_coef_, K, model.dual_coef_)
    assert model.history_["weight_norm"][-1] == pytest.approx(np.sqrt(squares))


def test_votes_are_not_counted_where_classes_are_learned_jointly():
    with pytest.raises(ValueError, match="use multiclass='ovr' or 'ovo', or keep='average'"):
        KernelPerceptron.textbook(multiclass="joint").fit(np.eye(3), [0, 1, 2])


@given(data_sets(n_classes=3), st.sampled_from(["ovr", "ovo", "joint"]), st.booleans())
def test_partial_fit_is_that_of_the_perceptron_when_labels_come_up(data, multiclass, named):
    X, y = data
    classes = np.unique(y) if named else None
    dual = KernelPerceptron.textbook(kernel="linear", keep="last", multiclass=multiclass)
    primal = Perceptron.textbook(fit_intercept=False, multiclass=multiclass)
    for i in range(len(y)):
        dual.partial_fit(X[i : i + 1], y[i : i + 1], classes)
        primal.partial_fit(X[i : i + 1], y[i : i + 1], classes)
    assert np.array_equal(dual.decision_function(X), primal.decision_function(X))
    assert dual.n_updates_ == primal.n_updates_


def test_a_row_of_great_weight_may_need_many_copies():
    X, y = np.array([[1.0, 0], [0, 1], [300, 305]]), np.array([0, 1, 2])
    options = {"multiclass": "joint", "shuffle": False, "tol": None, "max_iter": 20}
    weights = [3000.0, 3000.0, 0.5]
    dual = KernelPerceptron.textbook(kernel="linear", keep="last", **options).fit(X, y, weights)
    primal = Perceptron.textbook(fit_intercept=False, **options).fit(X, y, sample_weight=weights)
    assert same_run(dual, primal)
    assert dual.n_updates_ > 400
