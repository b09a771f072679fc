"""The lift of a table: what it adds to a row, its scales, and what a model file may say of it."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from rosenblatt import train
from rosenblatt.data import Column, Features
from rosenblatt.data.lifting import lifted
from rosenblatt.kernels.text import GRAM, column, mix, named_seed
from rosenblatt.lifts.columns import LiftedColumn
from rosenblatt.lifts.tables import TableLift

_WORD = (1 << 64) - 1
SOUND = {"name": "x", "knots": [1.0, 2.0], "levels": 1, "has_more": False, "usual": None}


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


def near(knots, x):
    """The knots that x is near, and how near."""
    shares = [np.interp(x, knots, np.eye(len(knots))[i]) for i in range(len(knots))]
    return [(k, share) for k, share in enumerate(shares) if share > 0]


def parts_of(c, x, level):
    """The parts of a number at a level of pairs, and its shares of them."""
    if x == c.usual:
        return []
    level = min(level, c.levels - 1)
    knots = c.level(level)
    if c.has_more if level + 1 == c.levels else level < 2:
        place = int(np.searchsorted(knots[1:-1], x, side="right"))
        return [(part(c.name, level + 1, place), 1.0)]
    return [(part(c.name, level + 1, k), share) for k, share in near(knots, x)]


def by_definition(features, row):
    """The entries of a row by the definition, in plain Python: pairs of column and value."""
    lift, bits = features.lift, features.ngrams.bits
    mask, units = (1 << bits) - 1, lift.units
    unit = np.float32(1 / np.sqrt(3))
    entries = []
    for c in features.columns:
        value = row[c.name]
        gone = value is None or value != value
        if c.kind == "category":
            at, x = column([f"{c.name}={'?' if gone else value}"], bits), 1.0
        else:
            at = column([f"{c.name}={'?' if gone else ''}"], bits)
            x = 1.0 if gone else (value - c.mean) / c.scale
        entries.append((at, np.float32(x * unit) * np.float32(units[0])))
    parts = []
    for c in lift.columns:
        value = row[c.name]
        if not c.is_number or value != value:
            level = "?" if value is None or value != value else value
            at = [(part(c.name, 0, column([f"{c.name}={level}"], bits)), 1.0)]
            parts.append([[] if level == c.usual else at])
            continue
        parts.append([parts_of(c, value, level) for level in range(c.levels)])
        for r, knots in enumerate(c.resolutions):
            for k, share in near(knots, min(max(value, knots[0]), knots[-1])):
                entries.append((part(c.name, 64 + r, k) & mask, share * units[1]))
    for a, b in lift.pairs:
        for k in range(max(lift.columns[a].levels, lift.columns[b].levels)):
            left, right = (parts[c][min(k, len(parts[c]) - 1)] for c in (a, b))
            for one, share in left:
                for other, by in right:
                    hashed = mix((one * int(GRAM) + other) & _WORD) & mask
                    entries.append((hashed, share * by * units[2]))
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


@pytest.mark.parametrize(("kind", "shares"), [("knots", [1, 1, 0]), ("pairs", [1, 0.25, 1])])
def test_the_blocks_have_lengths_that_add_up_to_one(kind, shares):
    rows = table(2000)
    form = features(rows, kind)
    lifted = form._lifted(form._straight(rows), owners=True)
    squares = lifted.rows.values.astype(float) ** 2 / 2000
    blocks = np.digitize(lifted.owners, (3, 3 + len(form.lift.columns)))
    expected = np.array(shares) / sum(shares)
    assert np.bincount(blocks, squares, minlength=3) == pytest.approx(expected, abs=1e-3)


def test_a_frequent_value_is_a_knot_of_its_own_and_left_out_of_pairs():
    numbers = np.concatenate([np.zeros(900), np.arange(1.0, 101.0)])
    scale = LiftedColumn.of_numbers("gain", numbers, 16, 3)
    assert scale.knots[:2] == (0.0, 1.0)
    assert len(scale.knots) == 17
    assert scale.usual == 0.0
    lift = TableLift.fit({"gain": numbers, "x": np.arange(1000.0) % 50}, {})
    straight, values = np.zeros((1000, 2), np.uint32), np.ones((1000, 2), np.float32)
    places = {"gain": (0, 1), "x": (1, 2)}
    read = {"gain": numbers, "x": np.arange(1000.0) % 50}
    owners = lift.rows(straight, values, read, places, 22, owners=True).owners
    ends = lift.rows(straight, values, read, places, 22).rows.indptr.astype(int)
    has_pairs = [bool((owners[a:b] == 4).any()) for a, b in pairwise(ends)]
    assert has_pairs == [False] * 900 + [True] * 100


def test_columns_without_two_values_are_not_lifted():
    lift = TableLift.fit({"a": np.ones(9), "b": np.full(9, np.nan), "c": np.arange(9) % 2.0}, {})
    assert [c.name for c in lift.columns] == ["c"]
    assert lift.columns[0].resolutions == []
    assert lift.columns[0].knots == (0.0, 1.0)


@pytest.mark.parametrize(
    "damage",
    [
        {"pairs": [[0, 9]]},
        {"pairs": [[1, 0]]},
        {"pairs": [[0, 0.5]]},
        {"pairs": [[0, 1, 1]]},
        {"columns": [SOUND | {"knots": [2.0, 1.0]}]},
        {"columns": [SOUND | {"knots": [float("nan"), 1.0]}]},
        {"columns": [SOUND | {"knots": list(range(999))}]},
        {"columns": [SOUND | {"levels": 0}]},
        {"columns": [SOUND | {"levels": 99}]},
        {"columns": [SOUND | {"usual": "tech"}]},
        {"columns": [SOUND | {"has_more": 1}]},
        {"units": [1.0, 1.0]},
        {"units": [1.0, 1.0, -1.0]},
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


def test_columns_that_matter_only_three_together_are_crossed():
    generator = np.random.default_rng(5)
    x = generator.normal(size=(3000, 6))
    odd = (x[:, 1] * x[:, 2] * x[:, 4] > 0) ^ (generator.random(3000) < 0.05)
    frame = {f"x{i}": x[:, i].tolist() for i in range(6)}
    frame["kind"] = np.where(odd, "odd", "even").tolist()
    part = {name: cells[:2000] for name, cells in frame.items()}
    new = {name: cells[2000:] for name, cells in frame.items()}
    model = train(part, label="kind")
    lift = model.features.lift
    assert lift.triples == ((1, 2, 4),)
    assert model.score(new, new["kind"]) > 0.8
    assert next(iter(model.parameters["importance"])) == "x1 × x2 × x4"
    assert TableLift.from_json(lift.to_json()) == lift
    row = {name: cells[0] for name, cells in new.items() if name != "kind"}
    explanation = model.explain(row)
    assert "x1 × x2 × x4" in explanation.features
    assert explanation.scores[0] == pytest.approx(model.decision_function([row])[0], abs=1e-4)
    names = model.features.names(model.table(part), model.columns.tolist())
    assert any(name.count(" × ") == 2 for name in names.values())


@pytest.mark.parametrize(
    "triples", [[[0, 1]], [[0, 2, 1]], [[0, 1, 9]], [[0, 1, True]], [[0, 0, 1]]]
)
def test_damaged_triples_are_refused(triples):
    plain = TableLift.fit({name: np.arange(9.0) for name in "abc"}, {}).to_json()
    with pytest.raises(ValueError, match=r"triples|unpack"):
        TableLift.from_json(plain | {"triples": triples})
