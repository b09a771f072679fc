"""`rosenblatt.train` without options against boosted trees and others, on some ninety tables.

    python -m benchmarks.bench_tables run --results FILE [--rows 1500] [--models NAME ...]
    python -m benchmarks.bench_tables show --results FILE [--every]

Three stratified outer folds. `run` goes on where it was interrupted: FILE has a line of JSON for
each table, fold and model. Trees get categories as categories; the linear models and SVC get them
one-hot, numbers standardised, and the median for what is missing. EBM needs ``interpret``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
import zlib
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

from benchmarks.common import machine
from benchmarks.tables import Table, all_tables
from rosenblatt import train

FOLDS = 3
MOST_LEVELS = 250  # of a category, for trees


def by_rosenblatt(**options: Any) -> Callable[[Table, Table], Any]:
    """The predictions of `train` with options, and the lift that was chosen."""

    def predictions(training: Table, test: Table) -> Any:
        frame = {name: cells.tolist() for name, cells in training.columns.items()}
        model = train(frame | {"label": training.labels.tolist()}, label="label", **options)
        lift = model.features.lift
        chosen = "none" if lift is None else "pairs" if lift.pairs else "knots"
        cells = {name: cells.tolist() for name, cells in test.columns.items()}
        return model.predict(cells), {"lift": chosen}

    return predictions


def by_matrix(make: Callable[[], Any], one_hot: bool) -> Callable[[Table, Table], Any]:
    """The predictions of an estimator of scikit-learn, with what it needs before it."""

    def predictions(training: Table, test: Table) -> Any:
        is_text = np.array([c.dtype == object for c in training.columns.values()])
        is_text &= [len(set(c)) <= MOST_LEVELS for c in training.columns.values()]
        numbers = [j for j, c in enumerate(training.columns.values()) if c.dtype != object]
        texts = np.flatnonzero(is_text).tolist()
        X, Z = _matrix(training), _matrix(test)
        if one_hot:
            # A constant tells an empty column of numbers from none.
            of_numbers = make_pipeline(
                SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
            )
            of_texts: Any = make_pipeline(
                SimpleImputer(strategy="constant", fill_value="?"),
                OneHotEncoder(handle_unknown="ignore"),
            )
            model = make()
        else:
            of_numbers = "passthrough"
            of_texts = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
            model = make().set_params(categorical_features=list(range(len(texts))))
        columns = make_column_transformer((of_texts, texts), (of_numbers, numbers))
        return make_pipeline(columns, model).fit(X, training.labels).predict(Z), {}

    return predictions


def _matrix(table: Table) -> Any:
    import pandas as pd

    return pd.DataFrame(table.columns)


def by_ebm(training: Table, test: Table) -> Any:
    """The predictions of InterpretML's explainable boosting machine."""
    from interpret.glassbox import ExplainableBoostingClassifier

    model = ExplainableBoostingClassifier(random_state=0, n_jobs=1)
    return model.fit(_matrix(training), training.labels).predict(_matrix(test)), {}


MODELS: dict[str, Callable[[Table, Table], Any]] = {
    "rosenblatt": by_rosenblatt(),
    "rosenblatt, straight": by_rosenblatt(lift="none"),
    "rosenblatt, one-vs-one": by_rosenblatt(multiclass="ovo"),
    "HistGradientBoosting": by_matrix(
        lambda: HistGradientBoostingClassifier(random_state=0), one_hot=False
    ),
    "SVC": by_matrix(SVC, one_hot=True),
    "LogisticRegression": by_matrix(lambda: LogisticRegression(max_iter=300), one_hot=True),
    "LinearSVC": by_matrix(LinearSVC, one_hot=True),
    "EBM": by_ebm,
}

DEFAULTS = [m for m in MODELS if m not in ("EBM", "rosenblatt, one-vs-one")]


def run(
    results: Path, most_rows: int, models: list[str], only: list[str], folds: list[int]
) -> None:
    """Add what is missing to the results."""
    known = {(r["table"], r["fold"], r["model"]) for r in _read(results)}
    tables = all_tables(most_rows)
    for name, table in tables.items():
        if only and name not in only:
            continue
        splits = StratifiedKFold(FOLDS, shuffle=True, random_state=zlib.crc32(name.encode()))
        parts = list(splits.split(table.labels, table.labels))
        for fold in folds:
            training, test = (table.rows(part) for part in parts[fold])
            for model in models:
                if (name, fold, model) in known:
                    continue
                began = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    predicted, more = MODELS[model](training, test)
                row = {
                    "table": name, "fold": fold, "model": model, "rows": len(test.labels),
                    "error": float(np.mean(np.asarray(predicted) != test.labels)),
                    "seconds": time.process_time() - began, "classes": len(set(table.labels)),
                }  # fmt: skip
                with results.open("a") as file:
                    file.write(json.dumps(row | more) + "\n")


def _read(results: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in results.open()] if results.exists() else []


def show(results: Path, every: bool) -> None:
    """Print mean errors, wins and processor seconds, over the tables that all models have."""
    errors: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    seconds: dict[str, float] = defaultdict(float)
    sizes: dict[str, int] = {}
    lifts: dict[str, list[str]] = defaultdict(list)
    rows = _read(results)
    models = [m for m in dict.fromkeys([*MODELS, *(r["model"] for r in rows)]) if m]
    models = [m for m in models if any(r["model"] == m for r in rows)]
    cells = defaultdict(set)
    for row in rows:
        cells[row["table"], row["fold"]].add(row["model"])
    for row in rows:
        if cells[row["table"], row["fold"]] >= set(models):
            errors[row["table"]][row["model"]].append(100 * row["error"])
            seconds[row["model"]] += row["seconds"]
            sizes[row["table"]] = (
                sizes.get(row["table"], 0) + (row["model"] == models[0]) * row["rows"]
            )
            if row["model"] == models[0]:
                lifts[row["table"]].append(row.get("lift", ""))
    first = models[0]
    means = {t: {m: float(np.mean(e[m])) for m in models} for t, e in errors.items()}
    if every:
        print(" | ".join(["table", *models]))
        for t, e in sorted(means.items(), key=lambda x: x[1][first] - min(x[1].values())):
            print(" | ".join([t, *(f"{e[m]:.1f}" for m in models), ",".join(lifts[t])]))
    print(machine())
    print(f"{len(means)} tables")
    for m in models:
        error = np.array([e[m] for e in means.values()])
        gap = np.array([e[m] - e[first] for e in means.values()])
        deviation = [np.sqrt(e[first] * (100 - e[first]) / sizes[t]) for t, e in means.items()]
        wins = f"{(gap > 0).sum():3} wins {(gap < 0).sum():3} losses"
        clear = f"{(gap > deviation).sum():3} {(gap < -np.array(deviation)).sum():3} clear"
        print(f"{m:22} {error.mean():6.2f} %  {wins}, {clear}, {seconds[m]:8.1f} s")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "show"))
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--models", nargs="*", default=DEFAULTS)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--folds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--every", action="store_true", help="show each table")
    options = parser.parse_args()
    if options.what == "run":
        run(options.results, options.rows, options.models, options.only, options.folds)
    else:
        show(options.results, options.every)


if __name__ == "__main__":
    sys.exit(main())
