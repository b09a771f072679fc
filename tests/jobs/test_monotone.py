"""Columns that only raise the score, or only lower it."""

import numpy as np
import pytest
from typer.testing import CliRunner

from rosenblatt import load, train
from rosenblatt.cli import app
from rosenblatt.errors import OptionError


def waves(rows=3000, seed=0):
    """A column that the label rises with, but for a dip; one of noise; and one that bends."""
    random = np.random.default_rng(seed)
    x, noise, z = random.uniform(-2, 2, size=(3, rows))
    dip = np.where(np.abs(x - 0.5) < 0.3, -2.0, 0.0)
    label = np.where(2 * x + dip + 2 * z**2 - 2.5 + random.normal(size=rows) > 0, "yes", "no")
    return {"x": x, "z": z, "noise": noise, "label": label}


def curve(model, z=1.0):
    x = np.linspace(-3, 3, 2001)
    return model.decision_function({"x": x, "z": np.full(2001, z), "noise": np.zeros(2001)})


def never_falls(scores):
    """But for the rounding of scores, which are in single precision."""
    return np.diff(scores).min() >= -1e-6 * np.abs(scores).max()


@pytest.mark.parametrize("lift", ["none", "knots", "pairs"])
def test_the_score_never_falls_with_an_increasing_column_nor_rises_with_a_decreasing_one(lift):
    frame = waves()
    bent = np.diff(curve(train(frame, lift=lift)))
    assert lift == "none" or bent.min() < -1e-3
    for z in (-1.0, 0.3):
        assert never_falls(curve(train(frame, lift=lift, increasing="x"), z))
        assert never_falls(-curve(train(frame, lift=lift, decreasing=["x"]), z))


def test_a_monotone_column_is_in_no_pair_and_errs_little_more():
    frame, fresh = waves(), waves(seed=1)
    free, bound = (train(frame, lift="pairs", increasing=names) for names in (None, ["x"]))
    names = [c.name for c in bound.features.lift.columns]
    assert {names[i] for pair in bound.features.lift.pairs for i in pair} == {"z", "noise"}
    assert bound.score(fresh, fresh["label"]) > free.score(fresh, fresh["label"]) - 0.06


def test_the_order_of_labels_in_the_file_does_not_matter():
    frame = waves()
    for first in ("no", "yes"):
        start = np.flatnonzero(frame["label"] == first)[0]
        rolled = {name: np.roll(cells, -start) for name, cells in frame.items()}
        rising = curve(train(rolled, lift="knots", increasing="x"))
        assert never_falls(rising)
        assert rising[-1] > rising[0]


def test_the_command_line_takes_columns_and_the_saved_model_is_monotone(tmp_path):
    import pyarrow as pa
    import pyarrow.csv

    pa.csv.write_csv(pa.table(waves()), tmp_path / "a.csv")
    arguments = ["train", str(tmp_path / "a.csv"), "--increasing", "x", "--lift", "knots"]
    result = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "a.model")])
    assert result.exit_code == 0, result.output
    assert never_falls(curve(load(tmp_path / "a.model")))


def test_what_cannot_be_monotone_is_refused():
    frame = waves(300) | {"job": ["tech", "sales"] * 150}
    with pytest.raises(OptionError, match="'job' is not a column of numbers"):
        train(frame, increasing="job")
    with pytest.raises(OptionError, match="both increasing and decreasing"):
        train(frame, increasing="x", decreasing="x")
    with pytest.raises(OptionError, match="second of two classes"):
        train(frame | {"label": ["a", "b", "c"] * 100}, increasing="x", lift="knots")
    with pytest.raises(OptionError, match="increasing columns and workers"):
        train(frame, increasing="x", workers=2)
