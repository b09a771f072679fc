"""From columns to sparse rows, and a specification that survives being written down."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from rosenblatt import data, train
from rosenblatt.data import Column, Features
from rosenblatt.errors import OptionError
from rosenblatt.kernels.text import Ngrams, column


def write(folder, name, content):
    (folder / name).write_bytes(content)
    return folder / name


def read(path, **options):
    source = data.open(path, **({"label": "label"} | options))
    batches = list(source)
    indices = np.concatenate([b.rows.indices for b in batches])
    values = np.concatenate([b.rows.values for b in batches])
    labels = [source.classes[c] for b in batches for c in b.labels]
    return source, indices.tolist(), values, labels


def test_numbers_are_scaled_and_a_missing_one_is_the_mean(tmp_path):
    path = write(tmp_path, "n.csv", b"x,label\n1,a\n3,b\n,a\n")
    source, indices, values, _ = read(path)
    assert source.features.columns == (Column("x", "number", 2.0, 1.0),)
    assert values.tolist() == [-1.0, 1.0, 1.0]
    assert indices == [column(["x="], 22), column(["x="], 22), column(["x=?"], 22)]


def test_parts_of_rows_are_put_side_by_side():
    columns = (Column("t", "text"), Column("u", "text"), Column("c", "category"))
    features = Features(columns=columns, ngrams=Ngrams(1, 1, "word", 10))
    table = pa.table({"t": ["a b", ""], "u": ["a", "b"], "c": ["x", None]})
    rows = features.rows(table)
    assert np.diff(rows.indptr).tolist() == [4, 2]
    assert features.hashed(table).missing == {"c": 1}
    assert rows.indices[-1] == column(["c=?"], 10)
    assert rows.indices[3] == column(["c=x"], 10)
    assert len({rows.indices[0], rows.indices[1], rows.indices[2]}) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"origin": "xml"},
        {"label": 3},
        {"columns": [{"name": "x", "kind": "number", "scale": 0.0}]},
        {"columns": [{"name": "x", "kind": "word"}]},
        {"ngrams": {"low": 2, "high": 1}},
        {"columns": 3},
    ],
)
def test_a_specification_that_makes_no_sense_is_refused(change):
    plain = json.loads(json.dumps(Features(columns=(Column("x", "number"),)).to_json()))
    assert Features.from_json(plain).columns == (Column("x", "number"),)
    with pytest.raises(ValueError, match="feature specification"):
        Features.from_json(plain | change)


@pytest.mark.parametrize("name", ["a.vw", "a.csv"])
def test_more_columns_than_a_table_of_places_has_are_refused(tmp_path, name):
    path = write(tmp_path, name, b"1 | a\n-1 | b\n" if name == "a.vw" else b"label,x\na,1\nb,2\n")
    with pytest.raises(OptionError, match=r"2\^26 columns at most, not to 2\^28: say --bits 26"):
        data.open(path, ngrams=Ngrams(bits=28))
    with pytest.raises(ValueError, match="at most"):
        Features.from_json(Features().to_json() | {"ngrams": Ngrams()._asdict() | {"bits": 31}})
    assert len(next(iter(data.open(path, ngrams=Ngrams(bits=26))))) == 2


def test_truth_values_are_one_category_in_every_spelling():
    features = Features(columns=(Column("b", "category"),))
    of_text = features.rows(pa.table({"b": ["True", "FALSE", None, "yes"]})).indices.tolist()
    of_arrow = features.rows(pa.table({"b": [True, False, None, True]})).indices.tolist()
    assert of_text[:3] == of_arrow[:3] == [column([f"b={v}"], 22) for v in ("true", "false", "?")]
    assert of_text[3] == column(["b=yes"], 22)
    names = features.names(pa.table({"b": ["True", None]}), of_text)
    assert [names[at] for at in of_text[::2]] == ["b=True", "b=?"]


def test_a_file_and_a_frame_with_truth_values_get_the_same_scores(tmp_path):
    truths = [bool(i % 3) for i in range(60)]
    lines = [f"{'ab'[t]},{t},{i % 7}" for i, t in enumerate(truths)]
    model = train(write(tmp_path, "a.csv", "\n".join(["label,t,x", *lines]).encode()), epochs=3)
    text = model.decision_function({"t": [str(t) for t in truths], "x": [0.5] * 60})
    typed = model.decision_function({"t": truths, "x": [0.5] * 60})
    assert text.tolist() == typed.tolist()
