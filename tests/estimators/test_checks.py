"""What every estimator checks, and how it warns."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from tests.members import weights_of

from rosenblatt import KernelPerceptron, OnlineGradient, Ordinal, Perceptron
from rosenblatt.estimators._input import weighted_by_class
from rosenblatt.estimators.family import estimator_of
from rosenblatt.rules.registry import rules

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.normal(size=(60, 3)), RANDOM.integers(0, 3, 60)


@pytest.mark.filterwarnings("default")
def test_a_fit_that_the_budget_ends_says_so():
    with pytest.warns(ConvergenceWarning, match="The 2 epochs of max_iter ended the fit"):
        Perceptron.textbook(max_iter=2).fit(X, Y)


def test_asking_for_a_number_of_epochs_is_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Perceptron.textbook(max_iter=2, tol=None).fit(X, Y)


def test_no_threads_at_all_are_refused():
    with pytest.raises(ValueError, match="n_jobs=0 has no meaning"):
        Perceptron.textbook(n_jobs=0).fit(X, Y)


def test_parameters_are_named():
    with pytest.raises(TypeError, match="positional"):
        Perceptron.textbook(1.0)


@pytest.mark.parametrize("gone", [{"feature_rates": [1.0, 2.0, 3.0]}, {"shuffle": "random"}])
def test_options_of_earlier_versions_are_refused(gone):
    with pytest.raises(ValueError, match=f"The '{next(iter(gone))}' parameter of Perceptron"):
        Perceptron(**gone).fit(X, Y)


def test_balanced_class_weights_do_as_much_as_for_logistic_regression():
    """Over eight generated tables whose second class has a tenth of the rows."""
    balanced = {"class_weight": "balanced", "random_state": 0}
    models = [Perceptron(**balanced), LogisticRegression(**balanced), Perceptron(random_state=0)]
    errors = []
    for seed in range(8):
        X, y = make_classification(1600, 10, weights=[0.9], class_sep=0.7, random_state=seed)
        found = [model.fit(X[::2], y[::2]).predict(X[1::2]) for model in models]
        errors.append([1 - balanced_accuracy_score(y[1::2], labels) for labels in found])
    ours, theirs, without = np.mean(errors, axis=0)
    assert ours < theirs + 0.005
    assert ours < without - 0.05


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_negative_class_weights_are_refused(method):
    with pytest.raises(ValueError, match="class_weight must not be negative"):
        getattr(Perceptron(class_weight={0: -1.0}), method)(X, Y)


def test_class_weights_are_relative_to_the_largest():
    classes, codes = np.array(["a", "b", "c"]), np.arange(3)
    factors = weighted_by_class(np.ones(1), {"a": 4.0, "b": 1.0}, classes, codes)
    assert factors.tolist() == [1.0, 0.25, 0.25]
    light = weighted_by_class(np.ones(1), {"a": 0.5}, classes, codes)
    assert light.tolist() == [0.5, 1.0, 1.0]


SCALES = {"f8": (1e-300, 1e-160, 1e-30, 1.0, 1e30, 1e160, 1e300), "f4": (1e-30, 1.0, 1e15, 1e30)}


@pytest.mark.parametrize(
    "model",
    [
        *map(estimator_of, rules()),
        *(make(loss="log", scale=scale) for make in [OnlineGradient] for scale in ("auto", None)),
        *(Perceptron(), Perceptron(multiclass="ovo"), Perceptron(scale=None), KernelPerceptron()),
    ],
    ids=repr,
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_with_two_labels_are_never_called_separated(model, n_classes):
    """Whatever over- or underflows: it is another reason, or an error that says to scale."""
    rows, labels = np.repeat(RANDOM.normal(size=(40, 5)), 2, axis=0), np.arange(80) % n_classes
    ended = 0
    for dtype, scales in SCALES.items():
        for scale in scales:
            data = (rows * scale).astype(dtype)
            try:
                with np.errstate(all="ignore"):
                    model.set_params(max_iter=50, tol=1e-3, random_state=0).fit(data, labels)
            except ValueError as error:
                assert "overflow" in str(error)  # noqa: PT017
                continue
            ended += 1
            assert model.stop_reason_ != "separated"
            assert not model.converged_
            assert np.isfinite(model.decision_function(data)).all()
    assert ended >= 5


@pytest.mark.parametrize(
    "model",
    [
        *map(estimator_of, rules()),
        OnlineGradient(loss="log"),
        *(Perceptron(keep=keep) for keep in ("average", "best")),
        *(KernelPerceptron(keep=keep, kernel="linear") for keep in ("average", "vote")),
        Ordinal(),
    ],
    ids=repr,
)
def test_what_is_called_separated_is_predicted_right(model):
    """By the weights that are returned: averages of a clean epoch may err on its rows."""
    ended = 0
    for seed in range(40):
        g = np.random.default_rng(seed)
        data = g.integers(-4, 5, (g.integers(6, 40), g.integers(1, 5))).astype(float)
        scores = data @ g.normal(size=data.shape[1])
        labels = np.digitize(scores, [0.0] if seed % 2 else [-2, 2])
        if len(np.unique(labels)) < 2:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = model.set_params(random_state=0).fit(data, labels)
        if getattr(fitted, "estimator_", fitted).converged_:
            ended += 1
            assert np.array_equal(fitted.predict(data), labels), seed
    assert ended or not isinstance(model, Perceptron | Ordinal)


def test_permuting_can_be_asked_for_by_a_numpy_boolean():
    for value in (np.True_, np.False_):
        plain = Perceptron(shuffle=bool(value), random_state=0).fit(X, Y)
        assert np.array_equal(
            weights_of(Perceptron(shuffle=value, random_state=0).fit(X, Y)), weights_of(plain)
        )


def misaligned(array):
    """A contiguous copy at an odd address."""
    buffer = np.empty(array.nbytes + 1, np.uint8)[1:]
    copy = buffer.view(array.dtype).reshape(array.shape)
    copy[...] = array
    assert not copy.flags.aligned
    return copy


@pytest.mark.parametrize("rule", [*rules(), "kernel"])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_arrays_at_odd_addresses_are_as_good_as_others(rule, layout):
    model = KernelPerceptron() if rule == "kernel" else estimator_of(rule)
    model.set_params(max_iter=3, tol=None, random_state=0)
    plain, odd, weights = layout(X), layout(X), RANDOM.random(60)
    if layout is np.asarray:
        odd = misaligned(X)
    else:
        odd.data = misaligned(odd.data)
        odd.indices = misaligned(odd.indices)
    scores = model.fit(plain, Y, sample_weight=weights).decision_function(plain)
    again = model.fit(odd, misaligned(Y), sample_weight=misaligned(weights)).decision_function(odd)
    assert np.array_equal(scores, again)


@pytest.mark.parametrize("rule", rules())
def test_the_entries_of_a_sparse_row_may_come_in_any_order(rule):
    """The order in which they are summed decides their last bits."""
    rows = sparse.random_array((60, 9), density=0.5, rng=1, format="csr")
    mixed = rows.copy()
    for start, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        order = start + RANDOM.permutation(end - start)
        mixed.data[start:end], mixed.indices[start:end] = rows.data[order], rows.indices[order]
    mixed.has_sorted_indices = mixed.has_canonical_format = False
    model = estimator_of(rule).set_params(max_iter=1, tol=None, random_state=0)
    fitted = [weights_of(model.fit(data, Y % 2)).copy() for data in (rows, mixed)]
    assert np.allclose(*fitted, rtol=1e-9, atol=1e-12)
