"""Kernels of matrices against scikit-learn's."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel, sigmoid_kernel
from sklearn.svm import SVC

from rosenblatt import KernelPerceptron
from rosenblatt.estimators._kernel_functions import kernel_of


@pytest.mark.parametrize(
    ("name", "function"),
    [("poly", polynomial_kernel), ("rbf", rbf_kernel), ("sigmoid", sigmoid_kernel)],
)
@pytest.mark.parametrize("as_sparse", [False, True])
def test_kernels_are_those_of_scikit_learn(name, function, as_sparse):
    X = np.random.default_rng(0).normal(size=(7, 3))
    options = {"gamma": 0.3, "coef0": 0.7, "degree": 5}
    A = sparse.csr_array(X) if as_sparse else X
    accepted = {"rbf": {"gamma": 0.3}, "sigmoid": {"gamma": 0.3, "coef0": 0.7}}.get(name, options)
    assert np.allclose(kernel_of(name, **options)(A, A), function(X, **accepted))


@pytest.mark.parametrize("offset", [0.0, 100.0, 3000.0])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_the_rbf_kernel_in_single_precision_is_right_far_from_the_origin_too(offset, as_sparse):
    X = (np.random.default_rng(0).normal(size=(50, 20)) + offset).astype(np.float32)
    rows = sparse.csr_array(X) if as_sparse else X
    K = kernel_of("rbf", gamma=0.05, coef0=0.0, degree=3)(rows, rows[:30])
    assert K.dtype == np.float32
    assert np.allclose(K, rbf_kernel(X.astype(float), X[:30].astype(float), 0.05), rtol=1e-4)
    assert (K <= 1.0).all()
    assert np.diag(K) == pytest.approx(1.0, rel=1e-4)


def test_fractional_and_zero_degrees_are_powers():
    X = np.eye(2)
    assert np.allclose(kernel_of("poly", 1, 1, 2.5)(X, X), polynomial_kernel(X, X, 2.5, 1, 1))
    assert np.array_equal(kernel_of("poly", 1, 1, 0)(X, X), np.ones((2, 2)))


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_gamma_is_that_of_svc_for_dense_and_sparse_rows(kind):
    X, y = (part[:100] for part in load_digits(return_X_y=True))
    theirs = SVC(gamma="scale").fit(X, y)._gamma
    for rows in (X, kind(X)):
        assert KernelPerceptron.textbook(kernel="rbf", max_iter=1, tol=None).fit(
            rows, y
        )._kernel.gamma == pytest.approx(theirs)
    constant = KernelPerceptron.textbook(kernel="rbf").fit(np.ones((4, 2)), [0, 1, 0, 1])
    assert constant._kernel.gamma == 1.0
