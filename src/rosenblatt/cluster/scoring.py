"""Predict and evaluate by several workers: one task per shard, results in the order of the rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import lru_cache
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt.cluster.engines import Broadcast, Task, engine_for, tree_sum
from rosenblatt.cluster.manifest import Manifest, Shard
from rosenblatt.cluster.shards import Reading, file_line_numbers
from rosenblatt.cluster.train import open_shards, working_folder
from rosenblatt.data.formats import FORMATS
from rosenblatt.errors import NoRowsError, OptionError
from rosenblatt.jobs.evaluate import Evaluation, evaluate
from rosenblatt.jobs.predict import OutputOptions, write_predictions
from rosenblatt.models import tensorfile
from rosenblatt.models.model import Model
from rosenblatt.models.model_file import model_from

# The formats of predictions for inputs whose own format is not written.
_OUTPUT_FORMATS = {"svmlight": "text", "vw": "text", "fasttext": "text"}

Map = Callable[[Callable[..., Any], Sequence[Any]], Iterator[Any]]


def predict_on_shards(
    model: str | os.PathLike[str],
    files: Any,
    workers: Any,
    out: str | os.PathLike[str],
    options: OutputOptions = OutputOptions(),  # noqa: B008 - it is frozen
    *,
    to: str | None = None,
    shards: int | None = None,
    **reading: Any,
) -> tuple[int, int]:
    """Write predictions into a folder that the workers see, one file per shard.

    The names of the files are in the order of the rows.

    Parameters
    ----------
    model : path
        The model file.
    files, workers, shards
        As for :func:`rosenblatt.train`.
    out : path
        The folder.
    options, to
        As for :func:`rosenblatt.jobs.predict.write_predictions`.
    **reading
        ``format``, ``header`` and ``skip_bad_rows`` of :func:`rosenblatt.data.open`.

    Returns
    -------
    rows, bad : int
        The rows written, and those left out.
    """
    folder = Path(out).resolve()
    is_named_as_folder = os.fspath(out).endswith(os.sep) or folder.is_dir() or not folder.suffix
    if not is_named_as_folder or os.fspath(out) == "-":
        raise OptionError(
            "with --workers predictions go to a folder, one file per shard: name it with --out, "
            "as in --out predicted"
        )
    with _opened(model, files, workers, shards, reading) as (manifest, run):
        format = to or _OUTPUT_FORMATS.get(FORMATS[manifest.format].name, manifest.format)
        ending = "txt" if format == "text" else format
        folder.mkdir(parents=True, exist_ok=True)
        targets = [folder / f"part-{i:05}.{ending}" for i in range(len(manifest))]
        counts = list(run(predict_shard, [(options, format, target) for target in targets]))
        return sum(rows for rows, _ in counts), sum(bad for _, bad in counts)


def evaluate_on_shards(
    model: str | os.PathLike[str],
    files: Any,
    workers: Any,
    *,
    keep_scores: bool = False,
    top: int | None = None,
    shards: int | None = None,
    **reading: Any,
) -> Evaluation:
    """Evaluate a model on files with labels, shard by shard.

    The parameters are those of :func:`predict_on_shards`; with `keep_scores` the result holds what
    curves are drawn from; `top` is that of :func:`rosenblatt.jobs.evaluate.evaluate`.
    """
    with _opened(model, files, workers, shards, reading) as (manifest, run):
        results = run(evaluate_shard, [(keep_scores, top)] * len(manifest))
        parts = [result for result in results if result is not None]
        if not parts:
            raise NoRowsError("the file has no rows", path=manifest.files[0].path)
    reliabilities = [part.reliability for part in parts if part.reliability is not None]
    return replace(
        parts[0],
        confusion=sum(part.confusion for part in parts),
        scores=np.concatenate([part.scores for part in parts]),
        truth=np.concatenate([part.truth for part in parts]),
        bad=sum(part.bad for part in parts),
        unlabelled=sum(part.unlabelled for part in parts),
        among_top={k: sum(part.among_top[k] for part in parts) for k in parts[0].among_top},
        trained_on=list(dict.fromkeys(name for part in parts for name in part.trained_on)),
        reliability=tree_sum(reliabilities, add) if reliabilities else None,
    )


@contextmanager
def _opened(
    model: str | os.PathLike[str],
    files: Any,
    workers: Any,
    shards: int | None,
    reading: dict[str, Any],
) -> Iterator[tuple[Manifest, Map]]:
    """The shards of files, and a function that runs a task on each with arguments of its own."""
    arrays, about = tensorfile.read(model)
    features = model_from(os.fspath(model), arrays, about).features
    with working_folder() as folder, closing(engine_for(workers, folder)) as engine:
        manifest, how = open_shards(files, engine, reading, shards, features)
        shared = engine.share(Broadcast(arrays, about))

        def run(function: Callable[..., Any], arguments: Sequence[Any]) -> Iterator[Any]:
            pairs = zip(manifest.shards, arguments, strict=True)
            tasks = [Task(function, (shard, how, shared, *more)) for shard, more in pairs]
            return engine.stream(tasks, ahead=2 * engine.workers)

        yield manifest, run


def predict_shard(
    shard: Shard, reading: Reading, model: Any, options: OutputOptions, format: str, target: Path
) -> tuple[int, int]:
    """Predict the rows of a shard (a task); returns the number written, and left out."""
    source = reading.open(shard)
    source.labelled = False
    with file_line_numbers(shard):
        return write_predictions(_model(model), source, target, options, format), source.bad


def evaluate_shard(
    shard: Shard, reading: Reading, model: Any, keep_scores: bool, top: int | None
) -> Evaluation | None:
    """Evaluate a model on a shard (a task); None if it has no rows."""
    loaded = _model(model)
    try:
        with file_line_numbers(shard):
            return evaluate(loaded, reading.open(shard, loaded.classes), keep_scores, top)
    except NoRowsError:
        return None


@lru_cache(maxsize=2)
def _model(broadcast: Broadcast) -> Model:
    return model_from("the model", broadcast.arrays, broadcast.about)
