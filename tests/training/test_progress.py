"""The history of a run."""

import pickle

import numpy as np
import pytest

from rosenblatt import Perceptron
from rosenblatt.training import Epoch, History


def test_columns_epochs_and_slices():
    history = History([Epoch(1, 7, mistakes=5), Epoch(2, 0, mistakes=0)])
    assert history["updates"].tolist() == [7, 0]
    assert history[-1].epoch == 2
    assert len(history[:1]) == 1
    assert len(history + history) == 4
    assert history == History([Epoch(1, 7, mistakes=5), Epoch(2, 0, mistakes=0)])
    assert history.to_dict()["mistakes"] == [5, 0]
    with pytest.raises(KeyError, match="no column 'loss'"):
        history["loss"]


def test_every_column_of_a_fit_is_filled():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(90, 4)), random.integers(0, 3, 90)
    model = Perceptron.textbook(keep="best", max_iter=4, tol=None, random_state=0).fit(X, y)
    first = model.history_[0]
    assert (first.epoch, len(model.history_)) == (1, 4)
    assert 0 < first.mistakes <= first.updates
    assert 0 < first.progressive_error < 1
    assert 0 < first.train_error < 1
    assert first.weight_norm > 0
    assert first.relative_change == pytest.approx(1.0)
    assert first.seconds > 0
    norm = np.sqrt((model.state_.weights**2).sum() + (model.state_.bias**2).sum())
    assert model.history_[-1].weight_norm == pytest.approx(norm)
    assert model.n_updates_ == model.history_["updates"].sum()


def test_a_notebook_shows_a_row_per_epoch_and_only_what_is_known():
    html = History([Epoch(1, 7), Epoch(2, 0)])._repr_html_()
    assert html.count("<tr>") == 3
    assert "<th>updates</th>" in html
    assert "validation" not in html
    assert repr(History([Epoch(1, 7)])) == "<History of 1 epochs>"


def test_a_pickled_history_is_the_same():
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    history = Perceptron(max_iter=7, tol=None, random_state=0).fit(X, y).history_
    other = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(history))))
    assert other == history
    assert [type(v) for v in other[0].__dict__.values()] == [
        type(v) for v in history[0].__dict__.values()
    ]
    assert pickle.loads(pickle.dumps(History())) == History()
