"""Few rows, and `--tune` on small tables and corpora.

    python -m benchmarks.bench_small few FOLDER RESULTS
    python -m benchmarks.bench_small tune FOLDER RESULTS [--seconds 20]

`few` trains on 100, 300 and 1,000 rows of the corpora of benchmarks/corpora.py in FOLDER and tests
on others: `train`, `train` with self-training on 4,000 more texts of the training file without
their labels (those of calibrated probability 0.9 and more become rows), `train` with the document
frequencies of these texts too, and TF-IDF with logistic regression. `tune` compares the test errors
of `train` with those of ``train(tune=SECONDS)`` on ten corpora, 1,000 rows of each, and on ten
small tables. RESULTS has a line of JSON for each; what is there is not computed again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from rosenblatt import train
from rosenblatt.jobs.rows import FileRows
from rosenblatt.learners.rates import SAMPLE, IdfScales

sys.path.insert(0, str(Path(__file__).parent))
from corpora import read

CORPORA = (
    "reviews", "sentences", "messages", "sections", "code", "tweets", "pages", "fortunes",
    "languages", "opinions", "goods", "terms",
)  # fmt: skip
MOST_TESTED = 3000
UNLABELLED = 4000
SURE = 0.9


def rows_of(folder: Path, name: str, count: int, seed: int) -> dict[str, list[str]]:
    """Rows to learn from, more texts without labels, and rows to test on."""
    labels, texts = read(folder / f"{name}.train.tsv")
    order = np.random.default_rng(seed).permutation(len(labels))
    few, more = order[:count], order[count : count + UNLABELLED]
    truth, tests = read(folder / f"{name}.test.tsv")
    return {
        "label": [labels[i] for i in few],
        "text": [texts[i] for i in few],
        "more": [texts[i] for i in more],
        "truth": truth[:MOST_TESTED],
        "tests": tests[:MOST_TESTED],
    }


def plain(rows: dict[str, Any], **options: Any) -> float:
    """The accuracy of `train`."""
    frame = {"label": rows["label"], "text": rows["text"]}
    model = train(frame, label="label", text="text", n_jobs=1, **options)
    return model.score(rows["tests"], rows["truth"])


def self_training(rows: dict[str, Any]) -> float:
    """The same after the texts that a first model is sure of became rows."""
    frame = {"label": rows["label"], "text": rows["text"]}
    first = train(frame, label="label", text="text", n_jobs=1)
    if first.calibration is None:
        return first.score(rows["tests"], rows["truth"])
    P = first.predict_proba(rows["more"])
    sure = np.flatnonzero(P.max(axis=1) >= SURE)
    labels = [first.classes[c] for c in P[sure].argmax(axis=1)]
    grown = {
        "label": rows["label"] + labels,
        "text": rows["text"] + [rows["more"][i] for i in sure],
    }
    return plain(rows | grown)


def idf_of_all(rows: dict[str, Any]) -> float:
    """`train` with the document frequencies of all texts.

    There is no option for it: it takes the scales of a first run over all texts, whose labels do
    not matter for that, and gives them to the second before it computes its own.
    """
    texts = rows["text"] + rows["more"]
    labels = (rows["label"] * len(texts))[: len(texts)]
    is_ready, scales = FileRows._is_ready, np.empty(0, np.float32)

    def first(self: FileRows, ended: bool = False) -> bool:
        nonlocal scales
        ready = is_ready(self, ended)
        if self.rarity is not None and not len(scales):
            scales = np.full(self.n_columns, self.rarity.rest, np.float32)
            scales[self.numbering.columns[: len(self.rarity.scales)]] = self.rarity.scales
        return ready

    def second(self: FileRows, ended: bool = False) -> bool:
        if self.rarity is None and (ended or len(self.store) >= SAMPLE):
            self.rarity = IdfScales(scales[self.numbering.columns], float(scales.max()))
            self.learner.change(rates=self.rarity.rates)
        return is_ready(self, ended)

    try:
        FileRows._is_ready = first  # type: ignore[method-assign]
        train({"label": labels, "text": texts}, label="label", text="text", n_jobs=1, epochs=1)
        FileRows._is_ready = second  # type: ignore[method-assign]
        return plain(rows)
    finally:
        FileRows._is_ready = is_ready  # type: ignore[method-assign]


def tfidf(analyzer: str, ngrams: tuple[int, int], more: bool) -> Callable[[dict[str, Any]], float]:
    """TF-IDF, if wanted with the document frequencies of more texts, and logistic regression."""

    def accuracy(rows: dict[str, Any]) -> float:
        vectorizer = TfidfVectorizer(analyzer=analyzer, ngram_range=ngrams, sublinear_tf=True)
        vectorizer.fit(rows["text"] + (rows["more"] if more else []))
        classifier = LogisticRegression(C=10.0, max_iter=300)
        classifier.fit(vectorizer.transform(rows["text"]), rows["label"])
        return float(classifier.score(vectorizer.transform(rows["tests"]), rows["truth"]))

    return accuracy


FEW: dict[str, Callable[[dict[str, Any]], float]] = {
    "train": plain,
    "train, self-training": self_training,
    "train, idf of all texts": idf_of_all,
    "words": tfidf("word", (1, 2), more=False),
    "characters": tfidf("char_wb", (2, 5), more=False),
    "characters, idf of all texts": tfidf("char_wb", (2, 5), more=True),
}


def few(folder: Path, results: Path) -> None:
    """Every method on every corpus and number of rows."""
    done = _done(results)
    for name in CORPORA:
        for count in (100, 300, 1000):
            for method, accuracy in FEW.items():
                key = [name, count, method]
                if key not in done:
                    rows = rows_of(folder, name, count, seed=count)
                    _note(results, key, accuracy(rows))
    lines = {tuple(line["key"]): line["value"] for line in _lines(results)}
    for count in (100, 300, 1000):
        names = [n for n in CORPORA if all((n, count, m) in lines for m in FEW)]
        ours = np.array([lines[n, count, "train"] for n in names])
        for method in FEW:
            gaps = 100 * (np.array([lines[n, count, method] for n in names]) - ours)
            error = gaps.std(ddof=1) / np.sqrt(len(gaps))
            mean = 100 * ours.mean() + gaps.mean()
            print(
                f"{count:5} {method:30} {mean:6.2f}  {gaps.mean():+.2f} ± {error:.2f}", len(names)
            )


def tune(folder: Path, results: Path, seconds: float) -> None:
    """The gain of tuning on ten corpora and ten tables."""
    from benchmarks.tables import all_tables

    done = _done(results)
    for name in CORPORA[:10]:
        rows = rows_of(folder, name, 1000, seed=0)
        for method, options in (("train", {}), ("tuned", {"tune": seconds})):
            if [name, 0, method] not in done:
                _note(results, [name, 0, method], plain(rows, **options))
    small = sorted(all_tables(1500).items(), key=lambda entry: (len(entry[1].labels), entry[0]))
    for title, table in small[:: len(small) // 10][:10]:
        order = np.random.default_rng(0).permutation(len(table.labels))
        cut = 2 * len(order) // 3
        for method, options in (("train", {}), ("tuned", {"tune": seconds})):
            if [title, 1, method] not in done:
                cells = {k: np.asarray(v)[order].tolist() for k, v in table.columns.items()}
                labels = np.asarray(table.labels)[order].astype(str).tolist()
                first = {k: v[:cut] for k, v in cells.items()} | {"label": labels[:cut]}
                model = train(first, label="label", n_jobs=1, **options)
                value = model.score({k: v[cut:] for k, v in cells.items()}, labels[cut:])
                _note(results, [title, 1, method], value)
    lines = {tuple(line["key"]): line["value"] for line in _lines(results)}
    keys = [key[:2] for key in lines if key[2] == "tuned"]
    gains = 100 * np.array([lines[*key, "tuned"] - lines[*key, "train"] for key in keys])
    error = gains.std(ddof=1) / np.sqrt(len(gains))
    for (name, _), gain in zip(keys, gains, strict=True):
        print(f"{name:25} {gain:+.2f}")
    print(
        f"{len(gains)} sets: mean gain {gains.mean():+.2f} ± {error:.2f}, worst {gains.min():+.2f}"
    )


def _lines(results: Path) -> list[dict[str, Any]]:
    return list(map(json.loads, results.read_text().splitlines())) if results.exists() else []


def _done(results: Path) -> list[list[Any]]:
    return [line["key"] for line in _lines(results)]


def _note(results: Path, key: list[Any], value: float) -> None:
    with results.open("a") as file:
        file.write(json.dumps({"key": key, "value": value}) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("few", "tune"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--seconds", type=float, default=20.0)
    chosen = parser.parse_args()
    if chosen.what == "few":
        few(chosen.folder, chosen.results)
    else:
        tune(chosen.folder, chosen.results, chosen.seconds)
