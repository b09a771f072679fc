"""The lift of a table: what it adds to a row, its scales, and what a model file may say of it."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.data import Column, Features
from rosenblatt.data.lifting import lifted
from rosenblatt.kernels.text import GRAM, column, mix, named_seed
from rosenblatt.lifts.tables import LiftedColumn, TableLift, best_pairs

_WORD = (1 << 64) - 1


def table(rows=200, seed=0):
    random = np.random.default_rng(seed)
    x = random.normal(size=rows)
    x[::7] = np.nan
    z = np.where(random.random(rows) < 0.8, 0.0, random.integers(1, 40, rows))
    job = np.array(["tech", "sales", None], object)[random.integers(0, 3, rows)]
    label = np.where(np.nan_to_num(x) * z > 0, "yes", "no")
    return pa.table({"x": x, "z": z, "job": pa.array(job), "label": label})


def features(rows, kind="pairs"):
    columns = Column("x", "number", 0.5, 2.0), Column("z", "number"), Column("job", "category")
    return lifted(Features(columns=columns, label="label"), rows, kind)


def part(name, kind, number):
    return mix((int(named_seed(name)) * int(GRAM) + (kind << 32) + number) & _WORD)


def by_definition(features, row):
    """The entries of a row by the definition, in plain Python: pairs of column and value."""
    lift, bits = features.lift, features.ngrams.bits
    mask, units = (1 << bits) - 1, lift.units.tolist()
    unit = np.float32(1 / np.sqrt(3))
    entries, bins = [], []
    for c in features.columns:
        value = row[c.name]
        gone = value is None or value != value
        if c.kind == "category":
            at, x = column([f"{c.name}={'?' if gone else value}"], bits), 1.0
        else:
            at = column([f"{c.name}={'?' if gone else ''}"], bits)
            x = 1.0 if gone else (value - c.mean) / c.scale
        entries.append((at, np.float32(x * unit) * np.float32(units[0])))
    for c in lift.columns:
        value = row[c.name]
        if not c.is_number or value != value:
            name = f"{c.name}={'?' if value is None or value != value else value}"
            bins.append([part(c.name, 0, column([name], bits))] * c.depth)
            continue
        code = int(np.searchsorted(c.edges, value, side="right"))
        bins.append([part(c.name, k + 1, code >> (c.depth - 1 - k)) for k in range(c.depth)])
        for r, knots in enumerate(c.resolutions):
            x = min(max(value, knots[0]), knots[-1])
            for k, near in enumerate(
                np.interp(x, knots, np.eye(len(knots))[i]) for i in range(len(knots))
            ):
                if near > 0:
                    entries.append((part(c.name, 64 + r, k) & mask, near * units[1]))
    for a, b in lift.pairs:
        for k in range(max(len(bins[a]), len(bins[b]))):
            one, other = bins[a][min(k, len(bins[a]) - 1)], bins[b][min(k, len(bins[b]) - 1)]
            entries.append((mix((one * int(GRAM) + other) & _WORD) & mask, units[2]))
    return entries


@pytest.mark.parametrize("kind", ["knots", "pairs"])
def test_the_kernel_writes_the_entries_of_the_definition(kind):
    rows = table()
    form = features(rows, kind)
    hashed = form.rows(rows)
    for i, row in enumerate(rows.to_pylist()):
        begin, end = (int(at) for at in hashed.indptr[i : i + 2])
        expected = by_definition(form, row)
        assert hashed.indices[begin:end].tolist() == [at for at, _ in expected]
        assert hashed.values[begin:end] == pytest.approx([v for _, v in expected], rel=1e-5)


def test_the_blocks_have_about_equal_mean_square_lengths_which_add_up_to_one():
    rows = table(2000)
    form = features(rows)
    hashed = form.rows(rows)
    owners = np.concatenate(
        [form._lifted(form._straight(rows[i : i + 1]), owners=True).owners for i in range(200)]
    )
    values = hashed.values[: len(owners)].astype(float) ** 2 / 200
    m, d = 3, len(form.lift.columns)
    knots = values[(owners >= m) & (owners < m + d)].sum()
    pairs = values[owners >= m + d].sum()
    assert pairs == pytest.approx(1 / 3, rel=1e-5)
    assert 0.6 / 3 < knots < 1.4 / 3
    assert (hashed.values == np.float32(form.common_value)).mean() > 0.4


def test_a_frequent_value_has_knots_and_bins_of_its_own():
    numbers = np.concatenate([np.zeros(900), np.arange(1.0, 101.0)])
    scale = LiftedColumn.of_numbers("gain", numbers, 16, 3)
    assert scale.knots[:2] == (0.0, 1.0)
    assert len(scale.knots) == 17
    codes = np.searchsorted(scale.edges, numbers, side="right")
    assert set(codes[:900]) == {0}
    assert len(set(codes[900:])) == 4


def test_columns_without_two_values_are_not_lifted():
    lift = TableLift.fit({"a": np.ones(9), "b": np.full(9, np.nan), "c": np.arange(9) % 2.0})
    assert [c.name for c in lift.columns] == ["c"]
    assert lift.columns[0].resolutions == []
    assert lift.columns[0].edges == (0.5,)


@given(st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=40), st.integers(1, 4))
def test_bins_are_nested_and_keep_the_order(numbers, depth):
    scale = LiftedColumn.of_numbers("x", np.array(numbers), 16, depth)
    if not scale.is_number:
        return
    assert len(scale.edges) == 2**scale.depth - 1
    assert list(scale.edges) == sorted(scale.edges)
    assert list(scale.knots) == sorted(set(scale.knots))
    assert (scale.knots[0], scale.knots[-1]) == (min(numbers), max(numbers))
    top = np.searchsorted(scale.edges, numbers, side="right") >> (scale.depth - 1)
    assert set(top.tolist()) == {0, 1}


def test_the_pairs_that_interact_are_found_among_many_columns():
    random = np.random.default_rng(0)
    codes = random.integers(0, 4, (40, 4000))
    y = (codes[3] > 1) ^ (codes[11] > 1)
    assert best_pairs(codes, np.eye(2)[y.astype(int)], 1) == [(3, 11)]


@pytest.mark.parametrize(
    "damage",
    [
        {"pairs": [[0, 9]]},
        {"pairs": [[1, 0]]},
        {"pairs": [[0, 0.5]]},
        {"pairs": [[0, 1, 1]]},
        {"columns": [{"name": "x", "knots": [2.0, 1.0], "edges": []}]},
        {"columns": [{"name": "x", "knots": [], "edges": [1.0, 2.0]}]},
        {"columns": [{"name": "x", "knots": [float("nan")], "edges": []}]},
        {"columns": [{"name": "x", "knots": list(range(999)), "edges": []}]},
        {"columns": 3},
        {},
    ],
)
def test_a_damaged_lift_in_a_model_file_is_refused(damage):
    plain = features(table()).to_json()
    with pytest.raises(ValueError, match=r"."):
        Features.from_json(plain | {"lift": (plain["lift"] | damage) if damage else {"pairs": []}})


def test_a_lift_of_columns_that_the_features_lack_is_refused():
    plain = features(table()).to_json()
    plain["lift"]["columns"][0]["name"] = "elsewhere"
    with pytest.raises(ValueError, match="elsewhere"):
        Features.from_json(plain)
