"""With equal settings the command line, rosenblatt.train and the pipeline give the same weights."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

from rosenblatt import HashedNgrams, Perceptron, load, train
from rosenblatt.cli import app

BITS = 12
SEED = 3


def texts(n_classes, rows=5000):
    """More rows than feature rates are computed from, whose classes are told by their words."""
    generator = np.random.default_rng(n_classes)
    labels = generator.integers(0, n_classes, rows)
    words = generator.zipf(1.3, (rows, 9)) % 300 + 40 * labels[:, None]
    lines = [" ".join(f"w{word}" for word in row) for row in words]
    return [f"c{label}" for label in labels], lines


def pipeline(labels, lines, epochs, average=True):
    model = make_pipeline(
        HashedNgrams(2, analyzer="pieces", bits=BITS),
        Perceptron(
            threshold=2.0, intercept_scaling=0.1, multiclass="ovr",
            keep="late_average" if average else "last",
            feature_rates="idf", shuffle="after_first", max_iter=epochs, tol=None,
            random_state=SEED,
        ),
    )  # fmt: skip
    return model.fit(lines, labels)[-1]


def scattered(model):
    """The weights of a model by column, (problems, columns)."""
    found = np.zeros((len(model.bias), 1 << BITS), np.float32)
    found[:, model.columns] = model.weights.T
    return found


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("epochs", [1, 3, 5])
def test_files_frames_and_the_pipeline_give_the_same_weights(n_classes, epochs, average, tmp_path):
    labels, lines = texts(n_classes)
    path = tmp_path / "a.csv"
    rows = zip(labels, lines, strict=True)
    path.write_text("label,text\n" + "".join(f"{y},{x}\n" for y, x in rows))
    settings = {"text": "text", "epochs": epochs, "bits": BITS, "seed": SEED, "average": average}
    of_file, of_frame = (
        train(source, **settings) for source in (path, {"label": labels, "text": lines})
    )
    command = ["train", path, "--text", "text", "--epochs", epochs, "--bits", BITS, "--seed", SEED]
    command += ["--out", tmp_path / "a.model", "-q", "--averaged" if average else "--last"]
    result = CliRunner().invoke(app, [str(word) for word in command])
    assert result.exit_code == 0, result.output
    of_command = load(tmp_path / "a.model")
    of_pipeline = pipeline(labels, lines, epochs, average)
    assert scattered(of_file).any()
    assert np.array_equal(scattered(of_frame), scattered(of_file))
    assert np.array_equal(scattered(of_command), scattered(of_file))
    assert np.array_equal(of_pipeline.coef_, scattered(of_file))
    assert of_pipeline.intercept_ == pytest.approx(of_file.bias, rel=1e-6)
    assert of_command.history == of_file.history
    assert [epoch.updates for epoch in of_pipeline.history_] == [
        epoch["updates"] for epoch in of_file.history
    ]


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("epochs", [1, 4])
def test_several_labels_give_the_same_weights_from_files_and_the_pipeline(
    epochs, average, tmp_path
):
    own, lines = texts(4)
    generator = np.random.default_rng(1)
    Y = np.stack([np.array(own) == f"c{c}" for c in range(4)], axis=1)
    Y |= generator.random(Y.shape) < 0.2
    path = tmp_path / "a.ft"
    rows = zip(Y, lines, strict=True)
    path.write_text("".join(
        "".join(f"__label__c{c} " for c in np.flatnonzero(has)) + f"{x}\n" for has, x in rows
    ))  # fmt: skip
    of_file = train(path, epochs=epochs, bits=BITS, seed=SEED, average=average)
    of_pipeline = pipeline(Y, lines, epochs, average)
    assert of_pipeline.coef_.shape == (4, 1 << BITS)
    assert np.array_equal(of_pipeline.coef_, scattered(of_file))
    assert of_pipeline.intercept_ == pytest.approx(of_file.bias, rel=1e-6)
    assert np.array_equal(of_file.predict(lines[:500]), of_pipeline.predict(
        HashedNgrams(2, analyzer="pieces", bits=BITS).transform(lines[:500])
    ))  # fmt: skip


def test_a_refit_on_all_rows_is_a_fit_of_the_best_number_of_epochs(tmp_path):
    labels, lines = texts(2, rows=700)
    runs = []
    model = train(
        {"label": labels, "text": lines}, text="text", bits=BITS, seed=SEED, report=runs.append
    )
    assert runs[-1].refit_epochs > 0
    expected = pipeline(labels, lines, runs[-1].refit_epochs)
    assert np.array_equal(expected.coef_, scattered(model))
