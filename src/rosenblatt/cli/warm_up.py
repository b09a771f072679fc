"""`rosenblatt warm-up`: compile all kernels, by running every algorithm on small data."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from rosenblatt.cli import options as o
from rosenblatt.cli.lines import say

ROWS = 60
CLASSES = ("pos", "neg", "so-so")


def warm_up(
    rule: Annotated[
        list[str] | None,
        typer.Option(help="Compile for this learning rule only. Repeat for several."),
    ] = None,
    quiet: o.Quiet = False,
) -> None:
    """Compile all kernels now, once on this machine: for container images and classrooms.

    Later runs load them from the folder ROSENBLATT_CACHE_DIR, by default the user's cache folder.
    What is common to all rules takes half a minute, and each rule about ten seconds.

    Examples:

      rosenblatt warm-up

      rosenblatt warm-up --rule perceptron --rule arow

      ROSENBLATT_CACHE_DIR=/opt/kernels rosenblatt warm-up --quiet
    """
    from rosenblatt.errors import OptionError
    from rosenblatt.kernels import jit
    from rosenblatt.rules.registry import rules

    unknown = set(rule or ()) - set(rules())
    if unknown:
        raise OptionError(f"there is no rule {unknown.pop()!r}; there are {', '.join(rules())}")
    cache, seconds = jit.cache_folder(), 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name, job in tiny_jobs(Path(folder), rule or list(rules())):
            job()
            if not quiet and jit.compile_seconds() > seconds:
                say(f"{name}: compiled in {jit.compile_seconds() - seconds:.1f} s")
            seconds = jit.compile_seconds()
    if not quiet:
        count = len(list(cache.glob("*"))) if cache else 0
        nothing = "nothing kept: there is no private folder for it"
        say(f"{seconds:.1f} s, {f'{count} kernels in {cache}' if count else nothing}")


def tiny_jobs(folder: Path, rules: list[str]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Names and functions of small jobs that together compile every kernel of some rules."""
    for classes in (2, 3):
        for format, rows in _files(classes).items():
            path = folder / f"{classes}.{format}"
            path.write_text("".join(rows))
            yield f"{format}, {classes} classes", partial(_train, path, ["perceptron"])
    yield "vw, products", partial(_products, folder / "2.vw")
    for rule in rules:
        paths = [folder / f"{classes}.{format}" for classes in (2, 3) for format in ("tsv", "csv")]
        for path in paths:
            yield f"{path.suffix[1:]}, {rule}", partial(_train, path, [rule])
        for dtype, layout in product(("float64", "float32"), ("dense", "sparse")):
            yield f"{rule}, {layout} {dtype}", partial(_fit, rule, dtype, layout)
    yield "KernelPerceptron", _kernel_perceptrons
    yield "HashedNgrams", _ngrams
    yield "learn_online", _online


def _files(classes: int) -> dict[str, list[str]]:
    """The lines of a small file of each format."""
    lines: dict[str, list[str]] = {"tsv": ["label\ttext\n"], "csv": ["label,number,category\n"]}
    lines |= {"svmlight": [], "vw": [], "fasttext": []}
    for i in range(ROWS):
        name, code = CLASSES[i % classes], i % classes
        sign = code if classes > 2 else 2 * code - 1
        lines["tsv"].append(f"{name}\ta {name} film {i}\n")
        lines["csv"].append(f"{name},{i},{'xyz'[code]}\n")
        lines["svmlight"].append(f"{sign} {1 + i % 7}:1 {9 + code}:0.5\n")
        lines["vw"].append(f"{sign} | a{code}:0.5 b{i % 7}\n")
        second = f" __label__{CLASSES[i % 2]}" if classes > 2 else ""  # of several labels
        lines["fasttext"].append(f"__label__{name}{second} a {name} film {i}\n")
    return lines


def _train(path: Path, rules: list[str]) -> None:
    """Train on a file, go on, and evaluate; prediction has no further kernels."""
    from rosenblatt import data, train
    from rosenblatt.jobs.evaluate import evaluate, evaluate_labels

    format = path.suffix[1:]
    for rule in rules:
        multiclass = [None] if format == "fasttext" else ["ovr", "joint"]
        for scheme, average in product(multiclass, (True, False)):
            options = {"format": format, "rule": rule, "multiclass": scheme, "average": average}
            model = train(path, **options)
            train(path, start=model, epochs=2, **options)
        source = data.open(path, format=format, features=model.features, classes=model.classes)
        (evaluate_labels if model.multilabel else evaluate)(model, source)


def _products(path: Path) -> None:
    from rosenblatt import train

    train(path, ngrams=2, cross=["::"])


def _rows(dtype: str, layout: str, classes: int) -> tuple[Any, Any]:
    import numpy as np
    from scipy import sparse

    generator = np.random.default_rng(0)
    y = np.arange(ROWS) % classes
    X = (generator.random((ROWS, 5)) + np.eye(classes, 5)[y]).astype(dtype)
    return (sparse.csr_array(X) if layout == "sparse" else X), y


def _fit(rule: str, dtype: str, layout: str) -> None:
    """Fit, continue and predict with each multiclass scheme, and with several labels per row."""
    import numpy as np

    from rosenblatt.estimators.family import estimator_of

    for classes, multiclass in ((2, "ovr"), (3, "ovr"), (3, "joint"), (3, "ovo")):
        X, y = _rows(dtype, layout, classes)
        for keep in ("last", "average", "best"):
            model = estimator_of(rule, multiclass=multiclass, max_iter=3, tol=None)
            if keep != "best" or rule == "perceptron":
                model.set_params(keep=keep)
            model.fit(X, y).predict(X)
        for scale in (None, "auto"):
            estimator_of(rule, multiclass=multiclass, scale=scale).partial_fit(X, y)
    estimator_of(rule, scale="auto", max_iter=3, tol=None).fit(X, y)
    if rule == "perceptron":
        from rosenblatt import Perceptron

        Perceptron(multiclass=multiclass).partial_fit(X, y)
        Perceptron().fit(X, y)
        Perceptron().fit(X, np.eye(3, dtype=int)[y])


def _kernel_perceptrons() -> None:
    from rosenblatt import KernelPerceptron

    for classes, multiclass in ((2, "ovr"), (3, "ovr"), (3, "joint")):
        X, y = _rows("float64", "dense", classes)
        for keep in ("last",) if multiclass == "joint" else ("last", "vote"):
            KernelPerceptron(multiclass=multiclass, keep=keep, max_iter=3).fit(X, y).predict(X)


def _ngrams() -> None:
    from rosenblatt import HashedNgrams

    for analyzer in ("word", "marks", "pieces", "char"):
        HashedNgrams(analyzer=analyzer).fit_transform(["not good", "not bad"])


def _online() -> None:
    from rosenblatt import Perceptron, learn_online

    for classes in (2, 3):
        X, y = _rows("float64", "dense", classes)
        learn_online(Perceptron(), zip(X, y, strict=True))
