"""Predict and evaluate by several workers: one task per shard, results in the order of the rows."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rosenblatt.atomic_files import atomic_write
from rosenblatt.cluster.engines import Broadcast, Task, engine_for
from rosenblatt.cluster.manifest import Manifest, Shard
from rosenblatt.cluster.mixing import tree_sum
from rosenblatt.cluster.shards import Reading, file_line_numbers
from rosenblatt.cluster.train import open_shards, working_folder
from rosenblatt.data.writers import LINE_FORMATS, compressed, output_format, writer
from rosenblatt.errors import NoRowsError, OptionError
from rosenblatt.jobs.evaluate import Evaluation, evaluate
from rosenblatt.jobs.predict import STDOUT, OutputOptions, write_predictions
from rosenblatt.models import tensorfile
from rosenblatt.models.model import Model
from rosenblatt.models.model_file import model_from

Tick = Callable[[int, int], None]
_ENDINGS = {None: "", "gzip": ".gz", "zstd": ".zst", "bz2": ".bz2", "lz4": ".lz4"}
# The formats of predictions for inputs whose own format is not written.
_OUTPUT_FORMATS = {"svmlight": "text", "vw": "text", "fasttext": "text"}


@dataclass(frozen=True)
class Scoring:
    """A model and files that workers score.

    Attributes
    ----------
    model : path
        The model file.
    files
        Files and patterns, on this machine or in a store.
    workers
        As for :func:`rosenblatt.train`.
    reading : dict
        ``format``, ``header`` and ``skip_bad_rows`` of :func:`rosenblatt.data.open`.
    shards : int, optional
        About how many.
    tick : callable, optional
        Called with the number of shards done and of all shards.
    """

    model: str | os.PathLike[str]
    files: Any
    workers: Any
    reading: dict[str, Any]
    shards: int | None = None
    tick: Tick | None = None

    @contextmanager
    def opened(self) -> Iterator[tuple[Manifest, Callable[..., Iterator[Any]]]]:
        """The shards, and a function that runs a task on each with its own further arguments."""
        arrays, about = tensorfile.read(self.model)
        model = model_from(os.fspath(self.model), arrays, about)
        with working_folder() as folder, closing(engine_for(self.workers, folder)) as engine:
            if self.tick is not None:
                engine.tick = self.tick
            manifest, reading = open_shards(
                self.files, engine, self.reading, self.shards, model.features
            )
            shared = engine.share(Broadcast(arrays, about))

            def run(
                function: Callable[..., Any], arguments: list[tuple[Any, ...]]
            ) -> Iterator[Any]:
                tasks = [
                    Task(function, (shard, reading, shared, *own), shard[0])
                    for shard, own in zip(manifest.shards, arguments, strict=True)
                ]
                return engine.stream(tasks, ahead=2 * engine.workers)

            yield manifest, run


def predict_on_shards(
    scoring: Scoring, out: str, wanted: OutputOptions = OutputOptions(), to: str | None = None  # noqa: B008
) -> tuple[int, int]:  # fmt: skip
    """Write predictions, in order into one file, or one file per shard into a folder.

    A folder must be one that the workers see.

    Parameters
    ----------
    scoring : Scoring
    out : str
        A file, or a folder if it ends in a slash or is one.
    wanted, to
        As for :func:`rosenblatt.jobs.predict.write_predictions`.

    Returns
    -------
    rows, bad : int
        The rows written, and those left out.
    """
    if out == STDOUT:
        raise OptionError("with --workers predictions go to a file or a folder: name it with --out")
    with scoring.opened() as (manifest, run):
        if out.endswith(os.sep) or Path(out).is_dir():
            format = to or _OUTPUT_FORMATS.get(manifest.format, manifest.format)
            folder = Path(out).resolve()
            folder.mkdir(parents=True, exist_ok=True)
            targets = [f"{folder}/part-{i:05}.{_ending(format)}" for i in range(len(manifest))]
            arguments = [(wanted, format, target, True) for target in targets]
            counts = list(run(predict_shard, arguments))
            return sum(rows for _, rows, _ in counts), sum(bad for _, _, bad in counts)
        format, packing = output_format(out, to)
        made = format if format in LINE_FORMATS else "arrow"
        ending = _ending(made) + (_ENDINGS[packing] if made == format else "")
        arguments = [(wanted, made, f".{ending}", i == 0) for i in range(len(manifest))]
        with atomic_write(out) as file:
            return _write_joined(run(predict_shard, arguments), file, format, packing)


def evaluate_on_shards(scoring: Scoring, keep_scores: bool = False) -> Evaluation:
    """Evaluate a model on files with labels, shard by shard."""
    with scoring.opened() as (manifest, run):
        arguments = [(keep_scores,)] * len(manifest)
        parts = [part for part in run(evaluate_shard, arguments) if part is not None]
        if not parts:
            raise NoRowsError("the file has no rows", path=manifest.files[0].path)
        return _merge(parts)


def _merge(parts: list[Evaluation]) -> Evaluation:
    """The evaluation of all rows from those of parts of the rows."""
    first, changed = parts[0], {}
    for field in fields(first):
        values = [getattr(part, field.name) for part in parts]
        if field.name == "confusion":
            changed[field.name] = np.sum(values, axis=0)
        elif field.name == "reliability" and values[0] is not None:
            changed[field.name] = tree_sum(values, add)
        elif field.name == "trained_on":
            changed[field.name] = list(dict.fromkeys(name for value in values for name in value))
        elif isinstance(values[0], np.ndarray):
            changed[field.name] = np.concatenate(values)
        elif type(values[0]) is int:
            changed[field.name] = sum(values)
    return replace(first, **changed)


def _ending(format: str) -> str:
    return "txt" if format == "text" else format


def _write_joined(
    parts: Iterator[Any], file: Any, format: str, packing: str | None
) -> tuple[int, int]:
    """Write the parts in their order; returns the rows written, and left out."""
    rows = bad = 0
    if format in LINE_FORMATS:
        for content, count, left in parts:  # concatenated compressed parts are a compressed file
            file.write(content)
            rows, bad = rows + count, bad + left
        return rows, bad
    with compressed(file, packing) as stream, writer(stream, format) as write:
        for content, count, left in parts:
            if content:
                write(pa.ipc.open_file(pa.py_buffer(content)).read_all())
            rows, bad = rows + count, bad + left
    return rows, bad


def predict_shard(
    shard: Shard, reading: Reading, model: Any, wanted: OutputOptions, format: str, target: str,
    named: bool,
) -> tuple[bytes, int, int]:  # fmt: skip
    """Predict the rows of a shard (a task); returns the output, and the rows written and left out.

    The output is empty if `target` is a file and not a file name extension. `named` files begin
    with the names of columns.
    """
    source = reading.open(shard)
    source.labelled, source.has_header = False, source.has_header and named
    with file_line_numbers(shard), tempfile.TemporaryDirectory(prefix="rosenblatt-part-") as folder:
        is_extension = target.startswith(".")
        path = Path(folder) / f"part{target}" if is_extension else Path(target)
        rows = write_predictions(_model(model), source, path, wanted, format)
        return path.read_bytes() if is_extension else b"", rows, source.bad


def evaluate_shard(
    shard: Shard, reading: Reading, model: Any, keep_scores: bool
) -> Evaluation | None:
    """Evaluate a model on a shard (a task); None if it has no rows."""
    found = _model(model)
    try:
        with file_line_numbers(shard):
            return evaluate(found, reading.open(shard, found.classes), keep_scores)
    except NoRowsError:
        return None


@lru_cache(maxsize=2)
def _model(broadcast: Broadcast) -> Model:
    return model_from("the model", broadcast.arrays, broadcast.about)
