"""Thousands of classes of text: jointly, one against the rest, and by a tree of two levels.

    python -m benchmarks.bench_many_classes FOLDER [CLASSES] [joint ovr tree]

The corpus is made: each class has 15 words of its own, each twenty classes share 60 more, and all
share 2,000; a text has 6 to 13 words, and a class eight texts to learn from and one to test on. The
tree has the square root of the classes as branches, k-means of the classes' mean texts; a model
chooses the two likeliest branches, and a model of each branch chooses among its classes.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfVectorizer

from rosenblatt import train

Rows = tuple[list[str], list[str]]  # labels and texts


def corpus(n_classes: int, per_class: int, seed: int) -> Rows:
    """Texts of classes that share words; the words do not depend on `seed`."""
    words, random = np.random.default_rng(0), np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    vocabulary = ["".join(words.choice(letters, words.integers(3, 9))) for _ in range(30_000)]
    shared = words.integers(0, 30_000, (n_classes // 20 + 1, 60))
    own = words.integers(0, 30_000, (n_classes, 15))
    common = 1 / np.arange(1, 2001)
    labels, texts = [], []
    for c in np.repeat(np.arange(n_classes), per_class).tolist():
        kinds = random.choice(3, random.integers(6, 14), p=[0.5, 0.25, 0.25])
        drawn = np.choose(
            kinds,
            [
                random.choice(2000, len(kinds), p=common / common.sum()),
                random.choice(shared[c // 20], len(kinds)),
                random.choice(own[c], len(kinds)),
            ],
        )
        labels.append(f"class{c}")
        texts.append(" ".join(vocabulary[at] for at in drawn.tolist()))
    order = random.permutation(len(labels)).tolist()
    return [labels[i] for i in order], [texts[i] for i in order]


def flat(rows: Rows, tests: list[str], multiclass: str) -> list[str]:
    """The predictions of a single model."""
    frame = {"label": rows[0], "text": rows[1]}
    more = {} if multiclass == "joint" else {"threshold": 2.0}
    model = train(frame, text="text", multiclass=multiclass, epochs=5, n_jobs=1, **more)
    print(f"{len(model.weights.values):,} pairs, {len(model.columns):,} columns")
    return model.predict(tests).tolist()


def tree(rows: Rows, tests: list[str], beam: int = 2) -> list[str]:
    """The predictions of a tree of two levels."""
    names = sorted(set(rows[0]))
    number = {name: c for c, name in enumerate(names)}
    codes = np.array([number[name] for name in rows[0]])
    texts = [""] * len(names)
    for code, text in zip(codes.tolist(), rows[1], strict=True):
        texts[code] += " " + text
    means = TfidfVectorizer(sublinear_tf=True, max_features=4000).fit_transform(texts)
    n_branches = round(len(names) ** 0.5)
    branch = KMeans(n_branches, n_init=1, max_iter=10, random_state=0).fit_predict(means)
    branches = [str(b) for b in branch[codes]]
    top = train({"label": branches, "text": rows[1]}, text="text", epochs=5, n_jobs=1)
    scores = top.decision_function(tests)
    best = np.argsort(-scores, axis=1)[:, :beam]
    asked = defaultdict(list)
    for row, chosen in enumerate(best.tolist()):
        for b in chosen:
            asked[top.classes[b]].append((row, scores[row, b]))
    found: list[tuple[float, str]] = [(-np.inf, "")] * len(tests)
    for name, pairs in asked.items():
        frame = {
            "label": [y for y, b in zip(rows[0], branches, strict=True) if b == name],
            "text": [x for x, b in zip(rows[1], branches, strict=True) if b == name],
        }
        classes = sorted(set(frame["label"]))
        within = np.zeros((len(pairs), 1))
        if len(classes) > 1:
            model = train(frame, text="text", multiclass="joint", epochs=5, n_jobs=1, threshold=4.0)
            within = model.decision_function([tests[row] for row, _ in pairs])
            within = np.stack([-within, within], 1) if within.ndim == 1 else within
            classes = list(model.classes)
        for (row, above), own in zip(pairs, within, strict=True):
            found[row] = max(found[row], (above + own.max(), classes[int(own.argmax())]))
    return [name for _, name in found]


def main() -> None:
    """Each method in a process of its own."""
    folder, count = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    methods = sys.argv[3:] or ["joint", "ovr", "tree"]
    if len(methods) > 1:
        for method in methods:
            subprocess.run([sys.executable, __file__, str(folder), str(count), method], check=True)
        return
    rows, (truth, tests) = corpus(count, 8, seed=1), corpus(count, 1, seed=2)
    began, used = perf_counter(), process_time()
    said = tree(rows, tests) if methods == ["tree"] else flat(rows, tests, methods[0])
    right = np.mean([a == b for a, b in zip(said, truth, strict=True)])
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{count:,} classes, {methods[0]}: {100 * right:.2f} %, {perf_counter() - began:.0f} s, "
        f"{process_time() - used:.0f} s of the processor, {most:.0f} MB"
    )


if __name__ == "__main__":
    main()
