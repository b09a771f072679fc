"""Budgets: brute force for each policy, and what it guarantees."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel

from rosenblatt import KernelPerceptron
from rosenblatt.learners.budget import shrinking
from rosenblatt.theory import forgetron_bound, projection_bound, random_removal_bound

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
POLY = {"kernel": "poly", "degree": 2, "gamma": 1, "coef0": 1, "keep": "last"}


def stream(seed, n=400):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    y[random.random(n) < 0.1] *= -1
    return X, y


def forgetron(K, y, budget):
    """The self-tuned Forgetron, written down from the paper, one example after the other."""
    members, alpha, Q, mistakes = [], {}, 0.0, 0
    for t in range(len(y)):
        if y[t] * sum(alpha[i] * K[i, t] for i in members) > 0:
            continue
        mistakes += 1
        members.append(t)
        alpha[t] = float(y[t])
        if len(members) > budget:
            r = members[0]
            sigma, mu = abs(alpha[r]), y[r] * sum(alpha[i] * K[i, r] for i in members)

            def psi(phi, sigma=sigma, mu=mu):
                return (sigma * phi) ** 2 + 2 * sigma * phi - 2 * sigma * phi * phi * mu

            phis = np.linspace(0, 1, 200_001)
            phi = phis[psi(phis) + Q <= 15 / 32 * mistakes + 1e-12].max()
            Q += psi(phi)
            alpha = {i: phi * alpha[i] for i in members[1:]}
            members = members[1:]
    return mistakes, members


@pytest.mark.parametrize("forget", ["random", "oldest", "project"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_class_keeps_more_rows_than_its_budget(forget, n_classes):
    X, y = load_digits(return_X_y=True)
    y = y % n_classes
    model = KernelPerceptron.textbook(**POLY, max_support=20, forget=forget, random_state=0)
    model.partial_fit(X, y, np.unique(y))
    assert (np.count_nonzero(model.dual_coef_, axis=1) <= 20).all()
    assert model.support_.size <= 20 * len(model.dual_coef_)
    assert model.score(X, y) > 1.2 / n_classes
    assert model.problem_updates_.sum() == model.n_updates_


@pytest.mark.parametrize("forget", ["random", "oldest", "project"])
def test_a_budget_that_is_never_full_changes_nothing(forget):
    X, y = stream(0)
    free = KernelPerceptron.textbook(**POLY, shuffle=False, max_iter=3, tol=None).fit(X, y)
    bound = KernelPerceptron.textbook(
        **POLY, shuffle=False, max_iter=3, tol=None, max_support=10**6, forget=forget
    ).fit(X, y)
    assert np.array_equal(free.problem_updates_, bound.problem_updates_)
    assert np.array_equal(free.support_, bound.support_)
    assert np.allclose(free.dual_coef_, bound.dual_coef_)
    for column in ("mistakes", "updated_rows", "weight_norm", "relative_change"):
        assert np.allclose(free.history_[column], bound.history_[column])


@given(st.integers(0, 20), st.sampled_from([5, 30]))
@settings(max_examples=8)
def test_removing_the_oldest_is_the_forgetron_of_the_paper(seed, budget):
    X, y = stream(seed, 200)
    model = KernelPerceptron.textbook(
        kernel="rbf", gamma=1.0, keep="last", max_support=budget, forget="oldest"
    )
    model.partial_fit(X, y, np.unique(y))
    mistakes, members = forgetron(rbf_kernel(X, gamma=1.0), y, budget)
    assert model.n_updates_ == mistakes
    assert model.support_.tolist() == members


def comparison(K, y, alpha):
    """Length and hinge losses of the vector with these coefficients."""
    return math.sqrt(alpha @ K @ alpha), np.maximum(0.0, 1.0 - y * (K @ alpha))


@pytest.mark.parametrize("scale", [1.0, 9.0])
def test_the_forgetrons_bound_holds_whatever_the_scale_of_the_kernel(scale):
    budget, counts = 150, []
    for seed in range(3):
        X, y = stream(seed, 1500)
        K = scale * rbf_kernel(X, gamma=0.5)
        model = KernelPerceptron.textbook(
            kernel=lambda A, B: scale * rbf_kernel(A, B, gamma=0.5), keep="last", forget="oldest",
            max_support=budget,
        ).partial_fit(X, y, [-1, 1])  # fmt: skip
        counts.append(model.n_updates_)
        for size in (0.0005, 0.001, 0.002):
            norm, losses = comparison(K, y, size * y / scale)
            bound = forgetron_bound(budget, norm, losses.sum(), math.sqrt(scale))
            assert model.n_updates_ <= bound < math.inf
    assert min(counts) > budget  # removals did happen


def replacing_at_random(K, y, budget, seed):
    """Random removal, written down from the paper, one example after the other."""
    random, members, mistaken = np.random.Generator(np.random.PCG64(seed)), [], []
    for t in range(len(y)):
        if y[t] * sum(y[i] * K[i, t] for i in members) <= 0:
            mistaken.append(t)
            if len(members) == budget:
                del members[random.integers(budget)]
            members.append(t)
    return mistaken, members


@given(st.integers(0, 20), st.sampled_from([1, 5, 30]))
@settings(max_examples=10)
def test_removing_at_random_is_what_brute_force_says(seed, budget):
    X, y = stream(seed, 200)
    model = KernelPerceptron.textbook(
        kernel="rbf", gamma=1.0, keep="last", max_support=budget, random_state=seed
    ).partial_fit(X, y, [-1, 1])  # fmt: skip
    mistaken, members = replacing_at_random(rbf_kernel(X, gamma=1.0), y, budget, seed)
    assert model.n_updates_ == len(mistaken)
    assert model.support_.tolist() == sorted(members)
    assert np.array_equal(model.dual_coef_[0], y[model.support_])


def test_the_bound_of_random_removal_holds_on_average():
    X, y = stream(0, 1000)
    K = rbf_kernel(X, gamma=0.5)
    norm, losses = comparison(K, y, 0.002 * y)
    counts = [
        KernelPerceptron.textbook(
            kernel="rbf", gamma=0.5, keep="last", max_support=100, random_state=seed
        )
        .partial_fit(X, y, [-1, 1])
        .n_updates_
        for seed in range(5)
    ]
    assert np.mean(counts) <= random_removal_bound(100, norm, losses.sum())


def perceptron_in_a_span(K, y, kept):
    """Coordinates of the projections on the span of some rows, and a perceptron on them."""
    root = np.linalg.cholesky(K[np.ix_(kept, kept)])
    features = np.linalg.solve(root, K[kept])
    w, mistaken = np.zeros(len(kept)), []
    for t in range(len(y)):
        if y[t] * (w @ features[:, t]) <= 0:
            w = w + y[t] * features[:, t]
            mistaken.append(t)
    return features, w, mistaken


@given(st.integers(0, 20))
@settings(max_examples=8)
def test_projection_is_a_perceptron_in_the_span_of_the_rows_kept(seed):
    X, y = stream(seed, 200)
    model = KernelPerceptron.textbook(
        kernel="rbf", gamma=1.0, keep="last", max_support=10, forget="project"
    )
    model.partial_fit(X, y, [-1, 1])
    features, w, mistaken = perceptron_in_a_span(rbf_kernel(X, gamma=1.0), y, model.support_)
    assert model.support_.max() < 200
    assert model.n_updates_ == len(mistaken)
    assert np.allclose(model.decision_function(X), w @ features, atol=1e-5)


def test_projection_bears_equal_rows_in_single_precision_and_refuses_what_is_no_inner_product():
    X, y = stream(0, 300)
    X = np.repeat(X[:60], 5, axis=0).astype(np.float32)
    options = {"keep": "last", "max_support": 40, "forget": "project", "random_state": 0}
    for kernel in ("rbf", "poly"):
        model = KernelPerceptron.textbook(kernel=kernel, shuffle=False, **options).fit(X, y)
        assert np.isfinite(model.dual_coef_).all()
    with pytest.raises(ValueError, match="inner product"):
        KernelPerceptron.textbook(kernel="sigmoid", gamma=1.0, **options).fit(X, y)


@given(st.integers(0, 20), st.sampled_from([0.02, 0.1, 0.5]))
@settings(max_examples=10)
def test_the_bound_of_projection_holds(seed, size):
    X, y = stream(seed, 300)
    K = rbf_kernel(X, gamma=0.1)
    model = KernelPerceptron.textbook(
        kernel="rbf", gamma=0.1, keep="last", max_support=25, forget="project"
    )
    model.partial_fit(X, y, [-1, 1])
    features, _, mistaken = perceptron_in_a_span(K, y, model.support_)
    error = np.sqrt(np.maximum(0.0, 1.0 - (features[:, mistaken] ** 2).sum(axis=0))).max()
    truth = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    norm, losses = comparison(K, y, size * truth / len(y))
    bound = projection_bound(norm, losses[mistaken].sum(), 1.0, error)
    assert model.n_updates_ <= bound < math.inf


@pytest.mark.parametrize("forget", ["random", "oldest", "project"])
def test_no_budget_can_follow_one_direction_more_than_it_has_rows(forget):
    """B + 1 orthogonal rows: the one that is not remembered comes next, and scores zero."""
    budget = 4
    model = KernelPerceptron.textbook(
        kernel="linear", keep="last", max_support=budget, forget=forget
    )
    rows = np.eye(budget + 1)
    for _ in range(60):
        remembered = model.support_vectors_ if hasattr(model, "support_vectors_") else rows[:0]
        row = rows[np.flatnonzero(remembered.sum(axis=0) == 0)[:1]]
        model.partial_fit(row, [1], [0, 1])
    assert model.n_updates_ == 60


@given(st.integers(0, 20), st.lists(st.integers(0, 150), max_size=3))
@settings(max_examples=10)
def test_any_split_of_the_stream_gives_the_same_model(seed, cuts):
    X, y = np.rint(stream(seed, 150)[0] * 2), stream(seed, 150)[1]
    for forget in ("random", "oldest"):
        options = {**POLY, "max_support": 8, "forget": forget, "random_state": 3}
        whole = KernelPerceptron.textbook(**options).partial_fit(X, y, [-1, 1])
        parts = KernelPerceptron.textbook(**options)
        edges = [0, *sorted(cuts), 150]
        for start, end in zip(edges, edges[1:], strict=False):  # noqa: RUF007
            if start < end:
                parts.partial_fit(X[start:end], y[start:end], [-1, 1])
        assert np.array_equal(whole.support_, parts.support_)
        assert np.allclose(whole.decision_function(X), parts.decision_function(X))


@given(st.floats(0.01, 1), st.floats(-3, 3), st.floats(0, 3))
def test_shrinking_is_the_largest_that_keeps_the_damage_in_check(sigma, mu, spare):
    phi = shrinking(sigma, mu, spare)
    phis = np.linspace(0, 1, 1001)
    damage = (sigma * phis) ** 2 + 2 * sigma * phis - 2 * sigma * phis**2 * mu
    assert (sigma * phi) ** 2 + 2 * sigma * phi - 2 * sigma * phi**2 * mu <= spare + 1e-9
    assert phi >= phis[damage <= spare].max() - 1e-9


def test_what_a_budget_cannot_give_is_said():
    X, y = stream(0, 50)
    for options in ({"keep": "vote"}, {"keep": "last", "early_stopping": True}):
        with pytest.raises(ValueError, match="max_support"):
            KernelPerceptron.textbook(max_support=5, **options).fit(X, y)
    model = KernelPerceptron.textbook(max_support=5, keep="last").fit(X, y)
    with pytest.raises(ValueError, match="forgotten"):
        model.rewound(3)
    limited = KernelPerceptron.textbook(max_support=5, keep="last", max_updates=7).fit(X, y)
    assert limited.n_updates_ == 7
    assert limited.stop_reason_ == "budget"
