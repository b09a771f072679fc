"""The transformer over the hashed n-grams."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.linear_model import Perceptron
from sklearn.pipeline import make_pipeline

from rosenblatt import HashedNgrams
from rosenblatt.kernels.text import column

TEXTS = ["Not good", "", "good, not bad"]


def same(A, B):
    return A.shape == B.shape and (A != B).nnz == 0


@pytest.mark.parametrize(
    "texts",
    [
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        np.array(TEXTS).reshape(-1, 1),
        pd.Series(TEXTS),
        pd.Series(TEXTS, dtype="category"),
        pd.DataFrame({"text": TEXTS}),
        pl.Series(TEXTS),
        pa.array(TEXTS),
        pa.array(TEXTS, pa.large_string()),
        pa.array(TEXTS).dictionary_encode(),
        pa.chunked_array([TEXTS[:1], TEXTS[1:]]),
        pa.array(["x", *TEXTS]).slice(1),
        (text for text in TEXTS),
        ["Not good", None, "good, not bad"],
        ["Not good", float("nan"), "good, not bad"],
    ],
    ids=lambda texts: type(texts).__module__ + "." + type(texts).__name__,
)
def test_every_kind_of_strings_gives_the_same_rows(texts):
    assert same(HashedNgrams().transform(texts), HashedNgrams().transform(TEXTS))


def test_columns_are_those_of_the_definition():
    X = HashedNgrams(ngrams=(2, 2), bits=12).transform(["not good"])
    assert X.indices.tolist() == [column(["not", "good"], 12)]


def test_threads_do_not_change_the_result():
    generator = np.random.default_rng(0)
    texts = [" ".join(map(str, generator.integers(0, 500, 60))) for _ in range(6000)]
    assert same(HashedNgrams(n_jobs=2).transform(texts), HashedNgrams(n_jobs=1).transform(texts))


def test_no_text_gives_a_matrix_without_rows():
    assert HashedNgrams(bits=4).transform([]).shape == (0, 16)


@pytest.mark.parametrize(
    ("parameters", "texts", "message"),
    [
        ({"ngrams": (2, 1)}, TEXTS, "low <= high"),
        ({"bits": 40}, TEXTS, "bits"),
        ({"weighting": "tfidf"}, TEXTS, "weighting"),
        ({}, "one text", "not one text"),
        ({}, [1, 2], "texts are expected"),
    ],
)
def test_wrong_use_is_refused_with_a_reason(parameters, texts, message):
    with pytest.raises(ValueError, match=message):
        HashedNgrams(**parameters).transform(texts)


def test_it_works_as_a_step_of_a_pipeline():
    model = make_pipeline(HashedNgrams(bits=12), Perceptron())
    model.fit(TEXTS, ["neg", "neg", "pos"])
    assert clone(model).set_params(hashedngrams__ngrams=3)[0].ngrams == 3
    assert model.predict(TEXTS).tolist() == ["neg", "neg", "pos"]


@pytest.mark.parametrize("analyzer", ["word", "char"])
def test_columns_are_named_by_the_n_grams_of_a_sample(analyzer):
    texts = ["not good", "good, not bad"]
    named = HashedNgrams(2, analyzer=analyzer, bits=12, keep_names=True).fit(texts)
    names = named.get_feature_names_out()
    assert len(names) == 1 << 12
    X = named.transform(["not bad"])
    expected = ["not", "bad", "not bad"] if analyzer == "word" else ["n", "_n", "d_"]
    assert set(expected) <= {names[at] for at in X.indices}
    assert names[min(set(range(1 << 12)) - named.names_.keys())].startswith("column ")


def test_names_are_kept_only_where_asked_for():
    assert not hasattr(HashedNgrams().fit(["a"]), "get_feature_names_out")
    with pytest.raises(ValueError, match="call fit with some"):
        HashedNgrams(keep_names=True).fit()
