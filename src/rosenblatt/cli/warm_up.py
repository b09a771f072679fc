"""`rosenblatt warm-up`: compile all kernels, by running every algorithm on small data."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import typer

ROWS = 60
CLASSES = ("pos", "neg", "so-so")


def warm_up(
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print nothing but errors."),
) -> None:
    """Compile all kernels now, once on this machine: for container images and class rooms.

    Later runs load them from the folder ROSENBLATT_CACHE_DIR, by default the user's cache folder.

    Examples:

      rosenblatt warm-up

      ROSENBLATT_CACHE_DIR=/opt/kernels rosenblatt warm-up --quiet
    """
    from rosenblatt.kernels import jit

    cache, seconds = jit.cache_folder(), 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name, job in tiny_jobs(Path(folder)):
            job()
            if not quiet and jit.compile_seconds() > seconds:
                typer.echo(f"{name}: compiled in {jit.compile_seconds() - seconds:.1f} s")
            seconds = jit.compile_seconds()
    if not quiet:
        count = len(list(cache.glob("*"))) if cache else 0
        nothing = "nothing kept: there is no private folder for it"
        typer.echo(f"{seconds:.1f} s, {f'{count} kernels in {cache}' if count else nothing}")


def tiny_jobs(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Names and functions of small jobs that together compile every kernel."""
    for classes in (2, 3):
        for format, rows in _files(classes).items():
            path = folder / f"{classes}.{format}"
            path.write_text("".join(rows))
            yield f"{format}, {classes} classes", partial(_file_job, path)
    for dtype in ("float64", "float32"):
        for layout in ("dense", "sparse"):
            yield f"Perceptron, {layout} {dtype}", partial(_perceptrons, dtype, layout)
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
        lines["fasttext"].append(f"__label__{name} a {name} film {i}\n")
    return lines


def _file_job(path: Path) -> None:
    """Train on a file, evaluate and inspect; prediction has no further kernels."""
    from rosenblatt.cli import app

    format, model = path.suffix[1:], path.with_suffix(".model")
    label = ["--label", "label"] if format in ("tsv", "csv") else []
    commands = [
        ["train", path, "--format", format, *label, "--epochs", 3, "--quiet", "--out", model],
        ["train", path, "--format", format, *label, "--last", "--quiet", "--out", model],
        ["evaluate", model, path, "--format", format],
        ["inspect", model],
    ]
    for command in commands:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            app([str(word) for word in command], standalone_mode=False)


def _rows(dtype: str, layout: str, classes: int) -> tuple[Any, Any]:
    import numpy as np
    from scipy import sparse

    generator = np.random.default_rng(0)
    y = np.arange(ROWS) % classes
    X = (generator.random((ROWS, 5)) + np.eye(classes, 5)[y]).astype(dtype)
    return (sparse.csr_array(X) if layout == "sparse" else X), y


def _perceptrons(dtype: str, layout: str) -> None:
    """Fit, continue and predict with each multiclass scheme."""
    from rosenblatt import Perceptron

    for classes, multiclass in ((2, "ovr"), (3, "ovr"), (3, "joint"), (3, "ovo")):
        X, y = _rows(dtype, layout, classes)
        for keep in ("last", "average"):
            model = Perceptron(multiclass=multiclass, keep=keep, max_iter=3, tol=None).fit(X, y)
            model.predict(X)
        Perceptron(multiclass=multiclass).partial_fit(X, y)


def _kernel_perceptrons() -> None:
    from rosenblatt import KernelPerceptron

    for classes, multiclass in ((2, "ovr"), (3, "ovr"), (3, "joint")):
        X, y = _rows("float64", "dense", classes)
        for keep in ("last", "vote"):
            KernelPerceptron(multiclass=multiclass, keep=keep, max_iter=3).fit(X, y).predict(X)


def _ngrams() -> None:
    from rosenblatt import HashedNgrams

    for analyzer in ("word", "char"):
        HashedNgrams(analyzer=analyzer).fit_transform(["not good", "not bad"])


def _online() -> None:
    from rosenblatt import Perceptron, learn_online

    for classes in (2, 3):
        X, y = _rows("float64", "dense", classes)
        learn_online(Perceptron(), zip(X, y, strict=True))
