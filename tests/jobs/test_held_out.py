"""Rows that are held out together: near copies, and groups."""

from __future__ import annotations

import numpy as np
import pytest

from rosenblatt import train
from rosenblatt.data import open as open_source
from rosenblatt.errors import DataError, OptionError
from rosenblatt.jobs.folds import cross_validate, folds_of
from rosenblatt.jobs.held_out import Leaders
from rosenblatt.jobs.options import TrainOptions
from rosenblatt.jobs.rows import FileRows
from rosenblatt.jobs.sources import open_rows
from rosenblatt.kernels.text import Ngrams, Rows

WORDS = ("alder", "birch", "cedar", "elm", "fir", "gum", "hazel", "ivy", "juniper", "larch", "neem")


def sentences(count: int, length: int = 20, seed: int = 0) -> list[str]:
    """Texts of random words, of which no two are alike."""
    random = np.random.default_rng(seed)
    numbers = random.integers(0, 400, (count, length))
    return [" ".join(f"{WORDS[n % 11]}{n}" for n in row) for row in numbers.tolist()]


def leaders_of(texts: list[str], batch: int | None = None) -> list[int]:
    frame = {"label": ["a", "b"] * (len(texts) // 2), "text": texts}
    source = open_source(frame, "label", "text", ngrams=Ngrams())
    rows = next(iter(source)).rows
    leaders, size = Leaders(), batch or len(texts)
    for at in range(0, len(texts), size):
        ends = rows.indptr[at : at + size + 1]
        leaders.add(Rows(ends - ends[0], rows.indices[int(ends[0]) : int(ends[-1])], rows.values))
    return leaders.of(np.arange(len(texts))).tolist()


def test_a_text_with_one_word_changed_is_led_by_the_first_like_it():
    texts = sentences(200)
    copies = [text.rsplit(" ", 1)[0] + " changed" for text in texts]
    leaders = np.array(leaders_of(texts + copies))
    assert (leaders[:200] == np.arange(200)).all()
    assert (leaders[200:] == np.arange(200)).mean() > 0.9
    assert set(leaders[200:][leaders[200:] != np.arange(200)]) <= set(range(200, 400))


def test_equal_texts_are_always_held_out_together_whatever_the_batches():
    texts = sentences(50, 3) * 4
    assert leaders_of(texts) == leaders_of(texts, 7) == list(range(50)) * 4


def test_leaders_go_on_where_a_checkpoint_saved_them():
    rows = [
        Rows(np.array([0, 3]), np.array(x, np.uint32), np.ones(3)) for x in ([1, 2, 3], [4, 5, 6])
    ]
    whole, part = Leaders(), Leaders()
    for leaders in (whole, part):
        for row in (rows[0], rows[1], rows[0]):
            leaders.add(row)
    again = Leaders.restored(3, *part.state())
    for leaders in (whole, again):
        leaders.add(rows[1])
        leaders.add(rows[0])
    assert whole.of(np.arange(5)).tolist() == again.of(np.arange(5)).tolist() == [0, 1, 0, 1, 0]


def test_texts_that_repeat_a_few_over_and_over_are_learned_from():
    two = ["a good film with a fine end", "a dull film that goes on for ever"]
    for cut in (7, 400):
        leaders = leaders_of(two * 200, cut)
        assert np.unique(leaders, return_counts=True)[1].max() == 16
    model = train({"label": ["pos", "neg"] * 200, "text": two * 200})
    assert model.predict(two).tolist() == ["pos", "neg"]
    assert model.predict_proba(two).max(axis=1).min() > 0.9


def test_copies_do_not_decide_on_the_epochs():
    """Of texts with random labels, copies look as if they could be predicted."""
    texts, labels = sentences(600), np.random.default_rng(1).choice(["no", "yes"], 600).tolist()
    frame = {"label": labels * 4, "text": texts * 4}
    model = train(frame, text="text", seed=3)
    assert min(epoch["validation_error"] for epoch in model.history) > 0.3


def test_rows_of_a_group_are_held_out_together_and_the_group_is_no_feature():
    frame = {
        "label": ["a", "b"] * 500,
        "text": sentences(1000),
        "who": [f"w{i % 50}" for i in range(1000)],
    }
    options = TrainOptions(group="who")

    source, _ = open_rows(frame, options)
    assert [column.name for column in source.features.columns] == ["text"]
    rows = FileRows(source, options)
    for batch in source:
        rows._keep(batch, rows.store)
        rows._find_leaders(batch)
    held = np.bincount(rows.held_out_rows().astype(int) % 50, minlength=50)
    assert set(held.tolist()) == {0, 20}


def test_groups_and_copies_share_a_fold():
    frame = {
        "label": ["a", "b"] * 100,
        "text": sentences(200),
        "who": [f"w{i % 8}" for i in range(200)],
    }
    assert sum(fold.rows for fold in cross_validate(frame, TrainOptions(group="who"), 4)) == 200
    folds = folds_of(np.array([0, 1] * 4), 2, 0, np.array([0, 1, 0, 1, 4, 5, 4, 5]))
    assert sorted(len(fold) for fold in folds) == [4, 4]
    assert all({0, 2} <= set(f) or not {0, 2} & set(f) for f in map(np.ndarray.tolist, folds))


def test_a_group_that_cannot_be_is_refused():
    frame = {"label": ["a", "b"] * 5, "text": sentences(10)}
    with pytest.raises(DataError, match="the group 'who' is not a column"):
        train(frame, group="who")
    with pytest.raises(OptionError, match="group and valid exclude each other"):
        train(frame, group="text", valid=frame)
