"""Options, messages, memory and frames of the kernel perceptron."""

import sys
import tracemalloc
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning

import rosenblatt
from rosenblatt import KernelPerceptron
from rosenblatt.kernels import gram
from rosenblatt.learners import gram_blocks

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def digits(n):
    X, y = load_digits(return_X_y=True)
    return X[:n], y[:n]


def test_callbacks_and_weights_work_as_in_the_perceptron():
    X, y = digits(200)
    seen = []
    stopped = KernelPerceptron.textbook(
        callbacks=lambda e: seen.append(e) or len(seen) == 2, tol=None
    )
    stopped.fit(X, y)
    assert stopped.stop_reason_ in ("callback", "separated")
    assert len(seen) == stopped.n_iter_
    two = y < 5
    balanced = KernelPerceptron.textbook(class_weight="balanced", random_state=0).fit(X, two)
    assert balanced.score(X, two) > 0.95


def test_a_budget_that_ends_a_fit_is_warned_of():
    X, y = digits(200)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = KernelPerceptron.textbook(max_iter=1, random_state=0).fit(X, y)
    assert model.stop_reason_ == "budget"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelPerceptron.textbook(max_iter=1, tol=None, random_state=0).fit(X, y)


def test_the_options_have_names():
    with pytest.raises(TypeError, match="positional"):
        KernelPerceptron.textbook("linear")


def test_a_fit_reaches_its_kernel_in_three_frames(monkeypatch):
    ours = []

    def kernel(*arguments):
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_globals.get("__name__", "").startswith("rosenblatt."):
                ours.append(frame.f_code.co_name)
            frame = frame.f_back
        return gram.walk(*arguments)

    monkeypatch.setattr("rosenblatt.learners.dual.kernels", SimpleNamespace(walk=kernel))
    KernelPerceptron.textbook(max_iter=1, tol=None).fit([[0.0], [1.0]], [0, 1])
    assert ours == ["walk", "run", "fit"]
    ours.clear()
    KernelPerceptron.textbook().partial_fit([[0.0], [1.0]], [0, 1], classes=[0, 1])
    assert ours == ["walk", "partial_fit"]


def test_a_failed_fit_leaves_the_model_as_it_was():
    X, y = digits(100)
    model = KernelPerceptron.textbook(random_state=0).fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="overflowed"):
        model.set_params(degree=400, gamma=1.0).fit(X, y)
    model.set_params(degree=3, gamma="scale")
    assert np.array_equal(before, model.decision_function(X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mistake": "sign", "threshold": 1.0}, "no meaning"),
        ({"kernel": "precomputed"}, "must be square"),
        ({"kernel": lambda A, B: np.zeros(3)}, "one entry for each pair"),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, "NaN or infinity"),
        ({"degree": 2.5, "gamma": 1.0, "coef0": -1.0}, "fractional degree"),
        ({"degree": 300, "gamma": 1e3}, "overflowed"),
        ({"degree": -1}, "degree"),
        ({"gamma": -1.0}, "gamma"),
        ({"keep": "best"}, "keep"),
        ({"cache_size": 0}, "cache_size"),
        ({"shuffle": [99]}, "outside"),
    ],
)
def test_what_cannot_work_is_said_plainly(options, message):
    with pytest.raises(ValueError, match=message):
        KernelPerceptron.textbook(**options).fit([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1])


def test_a_callable_kernel_may_return_sparse_blocks_but_no_complex_ones():
    X, y = digits(100)
    rows = sparse.csr_array(X)
    called = KernelPerceptron.textbook(kernel=lambda A, B: A @ B.T, random_state=0).fit(rows, y)
    named = KernelPerceptron.textbook(kernel="linear", random_state=0).fit(rows, y)
    assert np.array_equal(called.support_, named.support_)
    with pytest.raises(TypeError, match="complex"):
        KernelPerceptron.textbook(kernel=lambda A, B: (A @ B.T).astype(complex)).fit(X, y)


@pytest.mark.parametrize("change", [{"kernel": "linear"}, {"degree": 7}, {"gamma": 0.5}])
def test_a_kernel_cannot_change_on_the_way(change):
    model = KernelPerceptron.textbook(kernel="poly", warm_start=True, random_state=0).fit(
        [[0.0], [1.0]], [0, 1]
    )
    before = model.dual_coef_.copy()
    model.set_params(**change)
    for go_on in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="cannot continue"):
            go_on([[0.0], [1.0]], [0, 1])
    np.testing.assert_array_equal(model.dual_coef_, before)
    model.set_params(warm_start=False).fit([[0.0], [1.0]], [0, 1])


def test_what_partial_fit_cannot_do_it_does_not_have():
    assert not hasattr(KernelPerceptron.textbook(kernel="precomputed"), "partial_fit")
    assert not hasattr(KernelPerceptron.textbook(class_weight="balanced"), "partial_fit")
    model = KernelPerceptron.textbook(warm_start=True).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="warm_start"):
        model.fit([[0.0], [1.0]], [1, 2])
    with pytest.raises(ValueError, match="2 features, but KernelPerceptron is expecting 1"):
        model.fit([[0.0, 1.0], [1.0, 1.0]], [0, 1])


@pytest.mark.parametrize("megabytes", [2, 8, 32])
@pytest.mark.parametrize("kernel", ["poly", "rbf"])
def test_memory_stays_under_its_budget(megabytes, kernel):
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 20))
    y = (X[:, 0] * X[:, 1] + 0.5 * random.normal(size=3000) > 0).astype(int)
    model = KernelPerceptron.textbook(kernel=kernel, cache_size=megabytes, max_iter=2, tol=None)
    # Compiling takes memory of its own.
    clone(model).fit(X[:50], y[:50]).decision_function(X[:50])
    tracemalloc.start()
    model.fit(X, y)
    model.decision_function(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    rows_and_books = 2 * X.nbytes  # support rows, scores, log
    assert peak < megabytes * gram_blocks.MIB + rows_and_books


def test_the_lifted_boundary_is_drawn_from_the_estimator():
    plt = pytest.importorskip("matplotlib.pyplot")
    from rosenblatt.viz import BoundaryDisplay

    X, y = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), [0, 1, 1, 0]
    model = KernelPerceptron.textbook(degree=2, gamma=1, keep="last", shuffle=False).fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y)
    assert display.lines_
    assert not display.mistaken.any()
    plt.close("all")


class TestDefaults:
    X, y = load_iris(return_X_y=True)

    @pytest.mark.parametrize("multiclass", ["ovr", "joint"])
    def test_the_threshold_is_in_units_of_the_kernel(self, multiclass):
        options = {"multiclass": multiclass, "shuffle": False, "kernel": "linear"}
        plain = KernelPerceptron(**options).fit(self.X, self.y)
        scaled = KernelPerceptron(**options).fit(self.X * 4, self.y)
        assert np.array_equal(scaled.dual_coef_, plain.dual_coef_)
        assert np.array_equal(scaled.predict(self.X * 4), plain.predict(self.X))

    def test_a_precomputed_matrix_has_the_same_units(self):
        options = {"shuffle": False, "max_iter": 3, "scale": None}
        by_rows = KernelPerceptron(kernel="linear", **options).fit(self.X, self.y)
        gram = KernelPerceptron(kernel="precomputed", **options).fit(self.X @ self.X.T, self.y)
        assert gram.n_updates_ == by_rows.n_updates_

    def test_saved_and_loaded_it_goes_on_with_them(self, tmp_path):
        model = KernelPerceptron(kernel="linear").partial_fit(self.X[::2], self.y[::2])
        rosenblatt.save(model, tmp_path / "a.model")
        again = rosenblatt.load(tmp_path / "a.model").partial_fit(self.X[1::2], self.y[1::2])
        assert again.n_updates_ == model.partial_fit(self.X[1::2], self.y[1::2]).n_updates_

    def test_the_sign_rule_has_no_threshold(self):
        sign = KernelPerceptron(mistake="sign", shuffle=False).fit(self.X, self.y)
        none = KernelPerceptron(mistake="sign", threshold=0.0, shuffle=False).fit(self.X, self.y)
        assert sign.n_updates_ == none.n_updates_

    def test_room_for_all_entries_changes_nothing(self):
        options = {"kernel": "poly", "gamma": 1, "degree": 2, "shuffle": False}
        X = np.rint(4 * self.X)
        whole = KernelPerceptron(**options).fit(X, self.y)
        blocks = KernelPerceptron(cache_size=0.1, **options).fit(X, self.y)
        assert np.array_equal(whole.dual_coef_, blocks.dual_coef_)

    def test_auto_is_not_a_multiclass_rule_here(self):
        with pytest.raises(ValueError, match="multiclass"):
            KernelPerceptron(multiclass="auto").fit(self.X, self.y)
