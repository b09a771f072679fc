"""The short way for plain arrays ends where scikit-learn's checks do."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.utils.validation import validate_data
from tests.members import offsets_of, weights_of

from rosenblatt import KernelPerceptron, Perceptron
from rosenblatt.estimators import _input
from rosenblatt.estimators._input import FLOATS, checked_data
from rosenblatt.learners.examples import examples_of

IRIS = load_iris(return_X_y=True)
DIGITS = load_digits(return_X_y=True)
SETOSA_VERSICOLOR = IRIS[0][:100, 2:], IRIS[1][:100]
X = np.random.default_rng(0).normal(size=(6, 3))
Y = np.array([0, 1, 0, 1, 1, 0])


def no_validation(*_, **__):
    raise AssertionError("scikit-learn was asked")


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("labels", [Y, Y.tolist(), Y.astype(str), Y.astype(bool)])
def test_plain_arrays_pass_as_they_are(layout, labels, monkeypatch):
    monkeypatch.setattr(_input, "validate_data", no_validation)
    model, rows = Perceptron(), layout(X)
    found, y = checked_data(model, rows, labels)
    assert found is rows
    assert y.tolist() == np.asarray(labels).tolist()
    assert model.n_features_in_ == 3


KINDS = [
    np.ndarray.tolist,
    np.asfortranarray,
    lambda X: X[::-1][::-1],
    lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    lambda X: X.astype(int),
    lambda X: X.astype(">f8"),
    sparse.csr_matrix,
    sparse.coo_array,
    sparse.csc_array,
    pd.DataFrame,
    pl.DataFrame,
]


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        *((convert(X), Y) for convert in KINDS),
        (X, Y.astype(float)),
        (X, Y[:, None]),
        (X, Y.astype(object)),
        (sparse.csc_array(X), Y.tolist()),
    ],
)
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_all_else_is_what_scikit_learn_makes_of_it(rows, labels):
    found, y = checked_data(Perceptron(), rows, labels)
    expected, other = validate_data(
        Perceptron(), rows, labels, accept_sparse="csr", dtype=FLOATS, order="C"
    )
    dense = [a.toarray() if sparse.issparse(a) else a for a in (found, expected)]
    assert np.array_equal(*dense)
    assert found.dtype == expected.dtype
    assert y.tolist() == other.tolist()


@pytest.mark.parametrize("estimator", [Perceptron, KernelPerceptron])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_bad_numbers_are_refused_in_scikit_learns_words(estimator, bad, layout, method):
    rows = X.copy()
    rows[4, 1] = bad
    model = estimator()
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        getattr(model, method)(layout(rows), Y)
    assert not hasattr(model, "classes_")
    fitted = estimator().fit(X, Y)
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        fitted.predict(layout(rows))


def test_numbers_whose_squares_overflow_are_fine():
    rows = np.array([[1e30, 1.0]], np.float32)
    Perceptron.textbook().partial_fit(rows, [1], [0, 1])


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (X, Y[:5], "inconsistent numbers of samples"),
        (X[:0], Y[:0], "minimum of 1 is required"),
        (X[:, :0], Y, "minimum of 1 is required"),
        (X[0], Y, "Expected 2D array"),
    ],
)
def test_shapes_that_do_not_fit_are_refused_in_scikit_learns_words(rows, labels, message):
    with pytest.raises(ValueError, match=message):
        Perceptron().fit(rows, labels)


def test_other_widths_and_names_are_not_passed_over():
    pandas = pytest.importorskip("pandas")
    model = Perceptron().fit(X, Y)
    with pytest.raises(ValueError, match="expecting 3 features"):
        model.partial_fit(X[:, :2].copy(), Y)
    with pytest.raises(ValueError, match="expecting 3 features"):
        model.predict(X[:, :2].copy())
    named = Perceptron().fit(pandas.DataFrame(X, columns=list("abc")), Y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        named.partial_fit(X, Y)
    named.fit(X, Y)
    assert not hasattr(named, "feature_names_in_")


def test_settings_that_passed_once_do_not_let_others_pass():
    model = Perceptron(max_iter=1, tol=None).fit(X, Y)
    for name, value in {"max_iter": 1.0, "eta0": "1.0", "tol": -1.0, "keep": "lost"}.items():
        with pytest.raises(ValueError, match=name):
            Perceptron(**{"max_iter": 1, "tol": None, name: value}).fit(X, Y)
    with pytest.raises(ValueError, match="has no meaning"):
        model.set_params(mistake="sign", threshold=1.0).fit(X, Y)
    with pytest.raises(ValueError, match="has no meaning"):
        model.fit(X, Y)


@pytest.mark.parametrize("convert", KINDS)
def test_every_kind_of_matrix_gives_the_same_model(convert):
    X, y = DIGITS
    plain = Perceptron.textbook(random_state=0, max_iter=3).fit(X, y)
    other = Perceptron.textbook(random_state=0, max_iter=3).fit(convert(X), y)
    assert np.array_equal(weights_of(plain), weights_of(other))


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_single_precision_stays_single(convert):
    X, y = DIGITS
    model = Perceptron.textbook(max_iter=2, keep="average").fit(convert(X.astype(np.float32)), y)
    assert weights_of(model).dtype == offsets_of(model).dtype == np.float32
    assert model.decision_function(X[:3].astype(np.float32)).dtype == np.float32


def test_memory_mapped_rows_are_not_copied(tmp_path):
    X, y = DIGITS
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    rows, labels = checked_data(Perceptron(), mapped, y)
    assert np.shares_memory(examples_of(rows, labels).rows.X, mapped)
    plain = Perceptron.textbook(max_iter=2, random_state=0).fit(X.astype(np.float32), y)
    from_disk = Perceptron.textbook(max_iter=2, random_state=0).fit(mapped, y)
    assert np.array_equal(weights_of(from_disk), weights_of(plain))


def test_names_of_columns_are_kept_and_checked():
    X, y = IRIS
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = Perceptron.textbook(random_state=0).fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("dcba")])


def test_labels_may_be_anything():
    X, y = SETOSA_VERSICOLOR
    names = np.array(["setosa", "versicolor"])[y]
    assert set(Perceptron.textbook().fit(X, names).predict(X)) == {"setosa", "versicolor"}
    assert set(Perceptron.textbook().fit(X, y == 1).predict(X).tolist()) == {True, False}


def test_rows_without_a_label_are_named():
    y = np.array(["a", "b", None, "a"], dtype=object)
    with pytest.raises(ValueError, match="no label in 1 of 4 rows, the first is row 2"):
        Perceptron().fit(np.eye(4), y)
