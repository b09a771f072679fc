"""The family against the tables of its papers, against other programs, and against the perceptron.

    python -m benchmarks.bench_family table    # LIBOL's Table 3 on svmguide3
    python -m benchmarks.bench_family speed    # an epoch of PA and AROW against the perceptron's
    python -m benchmarks.bench_family errors   # every member, one pass and five, on held-out rows
    python -m benchmarks.bench_family peers    # scikit-learn, River and Vowpal Wabbit beside them
    python -m benchmarks.bench_family train    # `rosenblatt train --rule` on held-out training rows

Times are best read as ratios: all are taken in turn in one process. `errors` and `peers` choose
nothing on test sets: every member runs with the parameters it has by default.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from benchmarks.common import best_of, data_folder, machine, seconds
from rosenblatt import HashedNgrams, Perceptron, compare, data, train
from rosenblatt.estimators.family import estimator_of
from rosenblatt.rules.registry import rules

# S. Hoi, J. Wang, P. Zhao (2014), LIBOL: a library for online learning algorithms, JMLR 15.
TABLE_3 = {
    "perceptron": 0.332, "ogd": 0.237, "pa": 0.318, "pa1": 0.236, "pa2": 0.253, "nherd": 0.217,
    "arow": 0.222, "scw1": 0.206, "scw2": 0.212,
}  # fmt: skip
ORDERS = 5  # of the rows: after one pass the last weights depend on it
CS = [2.0**k for k in range(-4, 5)]
ETAS = [round(0.55 + 0.05 * k, 2) for k in range(9)]
# What is chosen, one after the other, each with the others as they are; the last of equals.
CHOICES: dict[str, list[tuple[str, list[float]]]] = {
    "pa1": [("C", CS)],
    "pa2": [("C", CS)],
    "nherd": [("C", CS)],
    "arow": [("r", CS)],
    "scw1": [("C", CS), ("confidence", ETAS)],
    "scw2": [("C", CS), ("confidence", ETAS)],
}
STARTS: dict[str, dict[str, float]] = {
    "scw1": {"confidence": 0.75}, "scw2": {"confidence": 0.9}
}  # fmt: skip


def svmguide3() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_svmlight_file(str(data_folder() / "libsvm" / "svmguide3.gz"))
    return X.toarray(), (y > 0).astype(int)


def libol_member(name: str) -> Any:
    """A member as LIBOL has it, without an offset; LIBOL's covariance matrices are full."""
    return estimator_of(name, fit_intercept=False).set_params(**STARTS.get(name, {}))


def choose(name: str, X: np.ndarray, y: np.ndarray) -> Any:
    """Parameters by the mistakes of one pass in one order, as LIBOL's experiments choose them."""
    model = libol_member(name)
    for parameter, values in CHOICES.get(name, []):
        tried = []
        for value in values:
            model.set_params(**{parameter: value})
            tried.append(compare(X, y, {"it": model}, orders=1, seed=1957).errors[0, 0])
        best = max(i for i, error in enumerate(tried) if error == min(tried))
        model.set_params(**{parameter: values[best]})
    return model


def table() -> None:
    print(machine("scikit-learn"))
    X, y = svmguide3()
    print(f"svmguide3, {len(y)} rows, {X.shape[1]} features: one pass, 20 orders")
    print(f"{'':11}{'LIBOL':>7}{'here':>8}{'std':>7}{'std errors apart':>18}  chosen")
    for name, figure in TABLE_3.items():
        model = choose(name, X, y)
        errors = compare(X, y, {name: model}, orders=20, seed=0).errors[0]
        deviation = errors.std(ddof=1)
        # LIBOL's figure is a mean of 20 orders, too: the error of a difference of two such means.
        apart = (errors.mean() - figure) / (deviation * np.sqrt(2 / len(errors)))
        chosen = {p: getattr(model, p) for p, _ in CHOICES.get(name, [])}
        print(
            f"{name:11}{figure:7.3f}{errors.mean():8.3f}{deviation:7.3f}{apart:18.1f}  "
            + ", ".join(f"{p}={value:g}" for p, value in chosen.items())
        )


# Data sets with a test part


def _svmlight(name: str, features: int | None = None) -> tuple[Any, np.ndarray]:
    path = str(data_folder() / "libsvm" / f"{name}.gz")
    X, y = load_svmlight_file(path, n_features=features, dtype=np.float32)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y.astype(int)


def _unit(X: Any) -> Any:
    from sklearn.preprocessing import normalize

    return normalize(X).astype(np.float32)


def _held_out(X: Any, y: np.ndarray, share: float = 0.2) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    order = np.random.default_rng(1957).permutation(len(y))
    cut = int(len(y) * (1 - share))
    return X[order[:cut]], y[order[:cut]], X[order[cut:]], y[order[cut:]]


def a9a() -> tuple[Any, np.ndarray, Any, np.ndarray]:
    return (*_svmlight("a9a", 123), *_svmlight("a9a.t", 123))


def news20() -> tuple[Any, np.ndarray, Any, np.ndarray]:
    X, y = _svmlight("news20")
    return _held_out(_unit(X), y)


def sector() -> tuple[Any, np.ndarray, Any, np.ndarray]:
    (X, y), (Z, z) = _svmlight("sector", 55197), _svmlight("sector.t", 55197)
    return _unit(X), y, _unit(Z), z


def covtype() -> tuple[Any, np.ndarray, Any, np.ndarray]:
    from sklearn.preprocessing import StandardScaler

    held = np.load(data_folder() / "tabular" / "covtype_120k.npz")
    X, y, Z, z = _held_out(held["X"].astype(np.float32), held["y"].astype(int))
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), y, scaler.transform(Z), z


def imdb() -> tuple[Any, np.ndarray, Any, np.ndarray]:
    parts: list[Any] = []
    for part in ("train", "test"):
        path = data_folder() / "text" / f"imdb_{part}.tsv.zst"
        with pa.input_stream(str(path), compression="zstd") as file:
            lines = file.read().decode().splitlines()[1:]
        labels, texts = zip(*(line.split("\t", 1) for line in lines), strict=True)
        parts += [HashedNgrams(2).fit_transform(list(texts)), np.array(labels)]
    return tuple(parts)  # type: ignore[return-value]


SETS: dict[str, Callable[[], tuple[Any, np.ndarray, Any, np.ndarray]]] = {
    "a9a": a9a, "covtype": covtype, "news20": news20, "sector": sector, "imdb": imdb
}  # fmt: skip


def members() -> dict[str, Any]:
    """Every member with its defaults, and what ``Perceptron()`` is."""
    return {"perceptron, default": Perceptron()} | {name: estimator_of(name) for name in rules()}


def errors(chosen: Iterable[str]) -> None:
    print(machine("scikit-learn"))
    for name in chosen:
        X, y, Z, z = SETS[name]()
        print(f"\n{name}: {X.shape[0]} rows, {X.shape[1]} features, {len(np.unique(y))} classes")
        print(f"{'':22}{'one pass':>10}{'seconds':>9}{'five':>9}{'seconds':>9}")
        for label, model in members().items():
            line = f"{label:22}"
            for passes in (1, 5):
                found, took = [], []
                for seed in range(ORDERS):
                    model.set_params(max_iter=passes, tol=None, random_state=seed)
                    took.append(seconds(partial(model.fit, X, y)))
                    found.append(np.mean(model.predict(Z) != z))
                line += f"{np.mean(found):{10 if passes == 1 else 9}.4f}{min(took):9.2f}"
            print(line, flush=True)


# Other programs


def _sgd(kind: str) -> Callable[[Any, np.ndarray, int, int], Any]:
    from sklearn.linear_model import SGDClassifier

    def fit(X: Any, y: np.ndarray, passes: int, seed: int) -> Any:
        options: dict[str, Any] = {"penalty": None, "max_iter": passes, "tol": None}
        if kind == "pa1":
            options |= {"loss": "hinge", "learning_rate": "pa1", "eta0": 1.0}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SGDClassifier(random_state=seed, **options)
            return _timed(model, X, y)

    return fit


def _timed(model: Any, X: Any, y: np.ndarray) -> Any:
    """The method that predicts, with the seconds that fitting took."""
    took = seconds(partial(model.fit, X, y))

    def predict(Z: Any) -> np.ndarray:
        return model.predict(Z)

    predict.seconds = took  # type: ignore[attr-defined]
    return predict


def _vowpal(X: Any, y: np.ndarray, passes: int, seed: int) -> Any:
    """Vowpal Wabbit on a file in its own format; reading it is part of its time."""
    from vowpalwabbit import pyvw

    labels = np.unique(y)
    codes = np.searchsorted(labels, y)
    two = len(labels) == 2
    folder = Path(tempfile.mkdtemp())
    options = "--quiet --loss_function hinge " + ("" if two else f"--oaa {len(labels)} ")
    X = sparse.csr_matrix(X)

    def write(path: Path, rows: Any, codes: np.ndarray) -> None:
        with path.open("w") as file:
            for i in range(rows.shape[0]):
                a, b = rows.indptr[i], rows.indptr[i + 1]
                words = " ".join(
                    f"{j}:{v:g}" for j, v in zip(rows.indices[a:b], rows.data[a:b], strict=True)
                )
                label = (1 if codes[i] else -1) if two else codes[i] + 1
                file.write(f"{label} | {words}\n")

    write(folder / "train", X, codes)
    cache = f"--passes {passes} -c -k --cache_file {folder}/cache " if passes > 1 else ""
    began = perf_counter()
    workspace = pyvw.Workspace(f"{options}{cache}-b 22 -d {folder}/train -f {folder}/model")
    workspace.finish()
    took = perf_counter() - began

    def predict(Z: Any) -> np.ndarray:
        Z = sparse.csr_matrix(Z)
        write(folder / "test", Z, np.zeros(Z.shape[0], int))
        pyvw.Workspace(
            f"--quiet -t -i {folder}/model -d {folder}/test -p {folder}/predictions"
        ).finish()
        found = np.loadtxt(folder / "predictions")
        return labels[(found > 0).astype(int)] if two else labels[found.astype(int) - 1]

    predict.seconds = took  # type: ignore[attr-defined]
    return predict


def _river(X: Any, y: np.ndarray, passes: int, seed: int) -> Any:
    from river import linear_model, multiclass

    model: Any = linear_model.PAClassifier(C=1.0, mode=1)
    labels = np.unique(y)
    two = len(labels) == 2
    model = model if two else multiclass.OneVsRestClassifier(model)
    X = sparse.csr_matrix(X)

    def row(rows: Any, i: int) -> dict[int, float]:
        a, b = rows.indptr[i], rows.indptr[i + 1]
        return dict(zip(rows.indices[a:b].tolist(), rows.data[a:b].tolist(), strict=True))

    dicts = [row(X, i) for i in range(X.shape[0])]
    targets = (y == labels[1]).tolist() if two else y.tolist()
    began = perf_counter()
    for _ in range(passes):
        for x, label in zip(dicts, targets, strict=True):
            model.learn_one(x, label)
    took = perf_counter() - began

    def predict(Z: Any) -> np.ndarray:
        Z = sparse.csr_matrix(Z)
        found = [model.predict_one(row(Z, i)) for i in range(Z.shape[0])]
        return labels[np.array(found, int)] if two else np.array(found)

    predict.seconds = took  # type: ignore[attr-defined]
    return predict


def peers(chosen: Iterable[str]) -> None:
    print(machine("scikit-learn", "river", "vowpalwabbit"))
    programs: dict[str, Callable[[Any, np.ndarray, int, int], Any]] = {
        "rosenblatt PA-I": partial(_fitted, "pa1"),
        "rosenblatt AROW": partial(_fitted, "arow"),
        "scikit-learn pa1": _sgd("pa1"),
        "scikit-learn sgd": _sgd("sgd"),
        "Vowpal Wabbit": _vowpal,
        "River PA-I": _river,
    }
    for name in chosen:
        X, y, Z, z = SETS[name]()
        print(f"\n{name}: {X.shape[0]} rows, {X.shape[1]} features, {len(np.unique(y))} classes")
        print(f"{'':22}{'one pass':>10}{'seconds':>9}{'five':>9}{'seconds':>9}")
        for label, program in programs.items():
            line = f"{label:22}"
            slow = program is _river and X.shape[0] * len(np.unique(y)) > 1_000_000
            for passes in (1, 5):
                if slow or (program is _river and passes == 5):
                    line += f"{'-':>{10 if passes == 1 else 9}}{'-':>9}"
                    continue
                # Vowpal Wabbit and River take the rows as they come.
                orders = 1 if program in (_vowpal, _river) else ORDERS
                ways = [program(X, y, passes, seed) for seed in range(orders)]
                error = np.mean([np.mean(predict(Z) != z) for predict in ways])
                took = min(predict.seconds for predict in ways)
                line += f"{error:{10 if passes == 1 else 9}.4f}{took:9.2f}"
            print(line, flush=True)


def _fitted(name: str, X: Any, y: np.ndarray, passes: int, seed: int) -> Any:
    return _timed(estimator_of(name, max_iter=passes, tol=None, random_state=seed), X, y)


# The default of `rosenblatt train`


TRAINING_FILES = (
    "text/imdb_train.tsv.zst", "text/rt_polarity.tsv.gz", "text/sms_spam.tsv.gz",
    "text/20news_train.jsonl.zst", "tabular/adult-train.csv.gz",
)  # fmt: skip


def against_default(chosen: Iterable[str]) -> None:
    """Errors of `train` by rule on a fifth of training rows, three different fifths each."""
    print(machine())
    folder, rules = data_folder(), ("perceptron", "arow", "nherd", "scw1", "adagrad")
    print(f"{'':24}" + "".join(f"{rule:>12}" for rule in rules))
    for name in chosen:
        table, label = _table(folder / name)
        line = f"{Path(name).name:24}"
        for rule in rules:
            found = []
            for seed in range(3):
                order = np.random.default_rng(seed).permutation(table.num_rows)
                cut = table.num_rows // 5
                held, rest = table.take(order[:cut]), table.take(order[cut:])
                model = train(rest, label=label, rule=rule)
                known = np.array([str(name).strip() for name in held[label].to_pylist()])
                found.append(np.mean(model.predict(held.drop_columns([label])) != known))
            line += f"{np.mean(found):12.4f}"
        print(line, flush=True)


def _table(path: Path) -> tuple[pa.Table, str]:
    """The rows of a file as they stand, and the name of its label."""
    reader = data.open(path, label=None if "adult" not in path.name else -1)
    reader.kept_columns = None
    tables = [batch.table for batch in reader]
    return pa.concat_tables(tables, promote_options="default"), str(reader.features.label)


def speed() -> None:
    """Epochs over sparse rows, packed and CSR, against the perceptron that corrects as often."""
    from rosenblatt.learners.examples import examples_of

    print(machine("scikit-learn"))
    X, y, _, _ = imdb()
    codes = np.searchsorted(np.unique(y), y)
    order = np.random.default_rng(0).permutation(len(y)).astype(np.uint64)
    for layout, examples in (
        ("packed", examples_of(X.astype(np.float32), codes).packed()),
        ("CSR", examples_of(X.astype(np.float64), codes)),
    ):
        models = {
            "perceptron": Perceptron.textbook(),
            "perceptron, threshold 1": Perceptron.textbook(threshold=1.0),
            "pa1": estimator_of("pa1"),
            "arow": estimator_of("arow"),
        }
        works, counts = [], {}
        for label, model in models.items():
            model.n_features_in_, model.classes_ = X.shape[1], np.arange(2)
            model._begin_units(several=False)
            learner = model._new_learner(examples, 2)
            counts[label] = [learner.walk(examples, order).updates for _ in range(2)]
            works.append(partial(learner.walk, examples, order))
        times = best_of(7, *works)
        print(f"\nIMDB, {layout} rows: the third epoch and later, least of 7")
        for (label, updates), took in zip(counts.items(), times, strict=True):
            ratio = f"{took / times[0]:.2f} and {took / times[1]:.2f}"
            print(f"{label:25}{took * 1e3:8.1f} ms   {ratio} of the perceptrons   {updates}")


if __name__ == "__main__":
    what, *rest = sys.argv[1:] or ["table"]
    works: dict[str, Callable[[], None]] = {
        "table": table,
        "speed": speed,
        "errors": lambda: errors(rest or SETS),
        "peers": lambda: peers(rest or SETS),
        "train": lambda: against_default(rest or TRAINING_FILES),
    }
    works[what]()
