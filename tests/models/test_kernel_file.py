"""A fitted KernelPerceptron as a file: the same model, able to go on, and nothing that can run."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

from rosenblatt import KernelPerceptron, load, save
from rosenblatt.errors import ModelFormatError
from rosenblatt.models import tensorfile

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
X, Y = load_digits(return_X_y=True)


@pytest.mark.parametrize(
    "options",
    [
        {"keep": "vote"},
        {"keep": "average", "multiclass": "ovo"},
        {"keep": "average", "multiclass": "joint"},
        {"keep": "last", "kernel": "rbf"},
        {"keep": "last", "early_stopping": True, "max_iter": 3},
    ],
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_model_comes_back_the_same_and_goes_on_learning(tmp_path, options, form):
    model = KernelPerceptron.textbook(random_state=0, **({"max_iter": 1} | options))
    model.fit(form(X[:300]), Y[:300].astype(str))
    save(model, tmp_path / "a.model")
    again = load(tmp_path / "a.model")
    assert np.array_equal(again.decision_function(X[:500]), model.decision_function(X[:500]))
    assert again.get_params() == model.get_params()
    for name in ("history_", "stop_reason_", "t_", "n_iter_", "n_updates_"):
        assert getattr(again, name) == getattr(model, name), name
    for one in (model, again):
        one.partial_fit(form(X[300:400]), Y[300:400].astype(str))
    assert np.array_equal(again.support_, model.support_)
    assert np.array_equal(again.dual_coef_, model.dual_coef_)


def test_a_model_of_a_gram_matrix_comes_back(tmp_path):
    gram = X[:100] @ X[:100].T
    model = KernelPerceptron.textbook(kernel="precomputed", max_iter=2).fit(gram, Y[:100] > 4)
    save(model, tmp_path / "a.model")
    assert np.array_equal(load(tmp_path / "a.model").predict(gram), model.predict(gram))


def test_what_cannot_be_saved_is_said(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        save(KernelPerceptron.textbook(), tmp_path / "a.model")
    model = KernelPerceptron.textbook(kernel=lambda a, b: a @ b.T).fit(X[:50], Y[:50])
    with pytest.raises(ValueError, match="hold no code"):
        save(model, tmp_path / "a.model")
    assert not (tmp_path / "a.model").exists()


def test_votes_are_counted_for_a_bounded_number_of_copies(tmp_path):
    """Each copy of an update votes: a weight of 10^9 would be 10^9 steps per row scored."""
    model = KernelPerceptron.textbook(keep="vote", max_iter=1).fit(X[:60], Y[:60])
    before = model.predict(X[:60])
    with pytest.raises(ValueError, match=r"divide sample_weight .*keep='average'"):
        model.fit(X[:60], Y[:60], sample_weight=np.full(60, 1e9))
    assert np.array_equal(model.predict(X[:60]), before)
    save(model, tmp_path / "a.model")
    arrays, about = tensorfile.read(tmp_path / "a.model")
    arrays["log.taus"] = np.where(np.arange(arrays["log.taus"].size) == 1, 2.0**30, 1.0)
    tensorfile.write(tmp_path / "a.model", arrays, about)
    with pytest.raises(ModelFormatError, match="more than 10,000 copies"):
        load(tmp_path / "a.model")


@pytest.mark.parametrize(
    ("arrays", "about", "message"),
    [
        ({}, {"precision": "float16"}, "not a precision"),
        ({}, {"unit": 0.0}, "not a mean of Gram entries"),
        ({}, {"version": 3}, "format version 3; this release reads 4: fit it again"),
        ({}, {"kept": 10**6}, "the kept model is not of the log"),
        ({"support": np.zeros(3)}, {}, "support is float64"),
        ({"vectors": np.ones((1, 1))}, {}, "do not fit the support"),
        ({"vectors": np.full((1, 1), np.nan)}, {}, "not finite"),
        ({"log.rows": np.full(1, 99)}, {}, "problems is int64"),
        ({"state.clock": np.zeros(7)}, {}, r"clock is float64\(7,\)"),
    ],
)
def test_files_that_make_no_sense_are_refused(tmp_path, arrays, about, message):
    path = tmp_path / "a.model"
    save(
        KernelPerceptron(max_iter=3, early_stopping=True, random_state=0).fit(X[:200], Y[:200]),
        path,
    )
    sound, said = tensorfile.read(path)
    tensorfile.write(path, sound | arrays, said | about)
    with pytest.raises(ModelFormatError, match=message):
        load(path)
    tensorfile.write(path, sound | {"log.rows": sound["log.rows"] + 1000}, said)
    with pytest.raises(ModelFormatError, match="rows that are not there"):
        load(path)
