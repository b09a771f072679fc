"""Which rule errs least by `train` without other settings? On parts of training sets.

    python -m benchmarks.study_rules [--rows 600] [--step 3] [--texts FOLDER] [--results FILE]

Every third table of :mod:`benchmarks.tables` (fold 0, whose rows also chose other defaults), and
the corpora in FOLDER (``NAME.train.tsv``, made by :mod:`benchmarks.corpora`): two thirds of at
most so many rows are learned from, the others tested on. Each rule has its default parameters,
and the epochs that held-out rows decide or a single one. Log losses are those of probabilities
from held-out rows. FILE, of lines of JSON, is gone on with.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
import zlib
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from benchmarks.common import machine
from benchmarks.tables import all_tables
from rosenblatt import train

RULES = ("perceptron", "arow", "nherd", "adagrad:loss=log")
GROUPS = ("tables, two classes", "tables, several", "texts")


def datasets(
    rows: int, step: int, texts: Path | None
) -> dict[str, tuple[dict[str, list[Any]], np.ndarray]]:
    """Columns and labels by name."""
    sets = {
        name: ({n: cells.tolist() for n, cells in table.columns.items()}, table.labels)
        for name, table in list(all_tables(rows).items())[::step]
    }
    for path in sorted(texts.glob("*.train.tsv")) if texts else ():
        lines = path.read_text().splitlines()[1:]
        chosen = np.random.default_rng(0).permutation(len(lines))[: 2 * rows]
        pairs = [lines[i].split("\t", 1) for i in chosen]
        labels = np.array([label for label, _ in pairs])
        names, counts = np.unique(labels, return_counts=True)
        is_usual = np.isin(labels, names[counts >= 10])
        cells = [text for (_, text), usual in zip(pairs, is_usual, strict=True) if usual]
        sets[f"text:{path.name.split('.')[0]}"] = {"text": cells}, labels[is_usual]
    return sets


def tried(name: str, columns: dict[str, list[Any]], labels: np.ndarray) -> list[dict[str, Any]]:
    """The errors, log losses and seconds of all rules on one set."""
    folds = StratifiedKFold(3, shuffle=True, random_state=zlib.crc32(name.encode()))
    learned, tested = next(folds.split(labels, labels))
    frame = {n: [cells[i] for i in learned] for n, cells in columns.items()}
    new = {n: [cells[i] for i in tested] for n, cells in columns.items()}
    results = []
    for rule in RULES:
        for epochs in (None, 1):
            began = time.process_time()
            options = {"label": "label", "rule": rule, "epochs": epochs, "holdout": 0.1}
            model = train(frame | {"label": labels[learned].tolist()}, **options)
            seconds, truth = time.process_time() - began, labels[tested]
            is_known, loss = np.isin(truth, model.classes), float("nan")
            if model.calibration is not None:
                shares = model.predict_proba(new)[is_known]
                loss = log_loss(truth[is_known], shares, labels=list(model.classes))
            results.append({
                "set": name, "rule": rule, "epochs": epochs, "classes": len(set(labels)),
                "error": float(np.mean(model.predict(new) != truth)), "loss": loss,
                "seconds": seconds,
            })  # fmt: skip
    return results


def show(results: list[dict[str, Any]]) -> None:
    """Print means by kind of set, and how often each rule errs least."""
    by: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for row in results:
        group = 2 if row["set"].startswith("text:") else int(row["classes"] > 2)
        by[group, row["epochs"], row["rule"]].append(row)
    print(machine())
    for group, title in enumerate(GROUPS):
        for epochs in (None, 1):
            columns = {rule: by[group, epochs, rule] for rule in RULES}
            if not columns[RULES[0]]:
                continue
            errors = np.array([[row["error"] for row in rows] for rows in columns.values()])
            print(f"{title} ({errors.shape[1]}), {'one pass' if epochs else 'epochs by default'}")
            for at, (rule, rows) in enumerate(columns.items()):
                least = int((errors[at] <= errors.min(axis=0)).sum())
                gaps = 100 * (errors[at] - errors[0])
                spread = gaps.std(ddof=1) / np.sqrt(len(gaps))
                loss = np.nanmean([row["loss"] for row in rows])
                print(
                    f"  {rule:18} {100 * errors[at].mean():6.2f} %  against the first "
                    f"{gaps.mean():+6.2f} ± {spread:.2f}  least on {least:2}  log loss {loss:.3f}  "
                    f"{sum(row['seconds'] for row in rows):6.1f} s"
                )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--step", type=int, default=3)
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--results", type=Path, default=Path("study_rules.jsonl"))
    options = parser.parse_args()
    lines = options.results.read_text().splitlines() if options.results.exists() else []
    results = [json.loads(line) for line in lines]
    known = {row["set"] for row in results}
    chosen = datasets(options.rows, options.step, options.texts)
    for name, (columns, labels) in chosen.items():
        if name in known:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results += (more := tried(name, columns, labels))
        with options.results.open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in more)
    show([row for row in results if row["set"] in chosen])


if __name__ == "__main__":
    main()
