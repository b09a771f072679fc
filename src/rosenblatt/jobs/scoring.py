"""Score many files by one or several models into a folder: the job of a filter.

Each input file has an output of its own, which appears whole. A second start of the same job leaves
out what is done: outputs that are younger than the note in which the folder says what job it is of,
and than their input.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt import __version__, data
from rosenblatt.atomic_files import atomic_write, check_output, remove_leftovers
from rosenblatt.data import Source
from rosenblatt.data.bytes import BLOCK_BYTES
from rosenblatt.data.in_order import in_order
from rosenblatt.errors import NoRowsError, OptionError, counted
from rosenblatt.jobs.conditions import judged
from rosenblatt.jobs.predict import (
    OutputOptions,
    among,
    columns_read,
    groups_of,
    output_beside,
    scores_of,
    write_nothing,
    write_predictions,
)
from rosenblatt.models.model import Model
from rosenblatt.models.model_file import read_model

_NOTE = ".rosenblatt.json"
_MOST_VALUES = 1 << 24  # of a group, from which its threshold is taken
Run = Callable[[Callable[[tuple[str, Path]], "Done"], list[tuple[str, Path]]], Iterator["Done"]]


@dataclass(frozen=True)
class Done:
    """An output: the rows written and the bad rows left out, or why there are none."""

    target: Path
    rows: int = 0
    bad: int = 0
    note: str = ""


@dataclass(frozen=True)
class Job:
    """How files are scored. It is sent to the processes that do so: models go by their paths.

    Attributes
    ----------
    paths : tuple of str
        The model files. In conditions and columns a model has the name of its file.
    options : OutputOptions
        What is written.
    to : str or None
        The format of the outputs, if it is not that of the inputs.
    reading : tuple of pairs
        Options of :func:`rosenblatt.data.open`.
    labels : tuple of str
        The labels among which models of more than two classes decide; empty for all.
    """

    paths: tuple[str, ...]
    options: OutputOptions
    to: str | None = None
    reading: tuple[tuple[str, Any], ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def models(self) -> dict[str, Model]:
        """The models by name."""
        changed = tuple(os.stat(path).st_mtime_ns for path in self.paths)  # noqa: PTH116
        return _models(self.paths, self.labels, changed)

    def open(self, paths: str | list[str], **more: Any) -> Source:
        """The rows of files, without labels."""
        features = next(iter(self.models.values())).features
        source = data.open(paths, features=features, **dict(self.reading), **more)
        source.labelled = False
        return source

    def __call__(self, item: tuple[str, Path]) -> Done:
        """Score one file."""
        path, target = item
        try:
            source = self.open(path)
            rows = write_predictions(self.models, source, target, self.options, self.to)
        except NoRowsError as error:
            write_nothing(target, self.to)
            return Done(target, note=str(error))
        return Done(target, rows, source.bad)

    def digest(self) -> str:
        """What decides about the outputs: the models, the options and this release."""
        parts = [Path(path).read_bytes() for path in self.paths]
        plain = replace(self, paths=tuple(Path(path).name for path in self.paths))
        parts += [repr(plain).encode(), __version__.encode()]
        return hashlib.sha256(
            b"\0".join(hashlib.sha256(part).digest() for part in parts)
        ).hexdigest()


@lru_cache(maxsize=4)
def _models(
    paths: tuple[str, ...], labels: tuple[str, ...], changed: tuple[int, ...]
) -> dict[str, Model]:
    """Models by the names of their files, which were changed at these times."""
    models = {Path(path).name.removesuffix(".model"): read_model(path) for path in paths}
    if len(models) < len(paths):
        raise OptionError("two model files have the same name; name others")
    if labels:
        several = {name: m for name, m in models.items() if len(m.bias) > 1} or models
        models |= {name: among(model, labels) for name, model in several.items()}
    return models


def targets_of(files: Iterable[str], folder: Path, to: str | None) -> list[tuple[str, Path]]:
    """Each input with its output in a folder; an OptionError if two would be the same."""
    pairs = [(path, output_beside(path, folder, to)) for path in files]
    if len({target for _, target in pairs}) < len(pairs):
        raise OptionError(f"two files would have the same output in {folder}; name others")
    return pairs


def score_files(
    job: Job,
    files: list[str],
    folder: str | os.PathLike[str],
    top: float | None = None,
    run: Run | None = None,
) -> Iterator[Done]:
    """Score files into a folder, and yield what was done, in the order of the files.

    With `top`, only this share of the rows is written, those of the largest values of the first
    model, in all or per group (``options.by``): the files are scored twice, first to find the least
    value of each group, which the folder's note then holds. `run` calls the job on the files that
    are left, by default by threads of this process.
    """
    target_folder = Path(folder)
    pairs = targets_of(files, target_folder, job.to)
    target_folder.mkdir(parents=True, exist_ok=True)
    for path, target in pairs:
        check_output(target, [path, *job.paths])
    note = target_folder / _NOTE
    remove_leftovers(note)
    digest = job.digest()
    if top is not None:  # the thresholds are of all files as they are now
        stamps = sorted((path, Path(path).stat().st_mtime_ns) for path in files)
        digest += f" {top!r} {stamps!r}"
    begun = _begun(note, digest)
    if top is not None:
        least = None if begun is None else begun.get("least")
        if least is None:
            least = least_values(job, files, top)
            begun = None
        job = replace(job, options=replace(job.options, least=tuple(map(tuple, least))))
    if begun is None:
        about = {"job": digest} | ({} if top is None else {"least": job.options.least})
        with atomic_write(note, "w") as file:
            json.dump(about, file)
    since = note.stat().st_mtime_ns
    left = [pair for pair in pairs if not _is_done(*pair, since)]
    if len(left) < len(pairs):
        yield Done(target_folder, note=f"{counted(len(pairs) - len(left), 'file')} done before")
    if run is not None:
        yield from run(job, left)
    else:  # batches of a large file are spread over threads; several files at once take memory
        is_large = any(Path(path).stat().st_size > BLOCK_BYTES for path, _ in left)
        # In this thread a signal ends a file at once.
        yield from map(job, left) if len(left) == 1 or is_large else in_order(iter(left), job)


def _begun(note: Path, digest: str) -> dict[str, Any] | None:
    """What the note of a folder says, if it is of the same job."""
    try:
        about = json.loads(note.read_text())
    except (OSError, ValueError):
        return None
    return about if isinstance(about, dict) and about.get("job") == digest else None


def _is_done(path: str, target: Path, since: int) -> bool:
    """Whether an output was finished by this job, after the last change of its input."""
    try:
        finished = target.stat().st_mtime_ns
        # Clocks of file systems tick: an input changed in the same tick may be newer.
        return finished >= since and finished > Path(path).stat().st_mtime_ns
    except OSError:
        return False


def least_values(job: Job, files: list[str], share: float) -> list[tuple[str, float]]:
    """The least value of the first model in each group among the share of the largest.

    Exact for up to 2^24 rows per group; beyond that from every second row, every fourth and so on.

    >>> from rosenblatt.jobs.scoring import _Largest
    >>> values = _Largest()
    >>> values.add(np.arange(10.0))
    >>> values.least(0.3)
    7.0
    """
    models, by = job.models, job.options.by
    name, model = next(iter(models.items()))
    groups: dict[str, _Largest] = {}
    for path in files:
        try:
            source = job.open(path)
        except NoRowsError:
            continue
        source.kept_columns = columns_read(models, [], by)

        def values_of(batch: data.Batch) -> tuple[np.ndarray, list[str]]:
            scores = scores_of({name: model}, batch)[name]
            return judged(model, scores)[1], groups_of(batch, by)

        for values, cells in source.map_batches(values_of):
            names = np.array(cells)
            for group in dict.fromkeys(cells):
                groups.setdefault(group, _Largest()).add(values[names == group])
    return [(group, values.least(share)) for group, values in sorted(groups.items())]


class _Largest:
    """The values of a group, or every second of them, every fourth and so on."""

    def __init__(self) -> None:
        self._parts: list[np.ndarray] = []
        self._every, self._seen, self._count = 1, 0, 0

    def add(self, values: np.ndarray) -> None:
        """Add values."""
        part = np.array(values[-self._seen % self._every :: self._every], np.float32)
        self._seen += len(values)
        self._parts.append(part)
        self._count += len(part)
        if self._count > _MOST_VALUES:
            self._parts = [np.concatenate(self._parts)[::2]]
            self._every, self._count = 2 * self._every, len(self._parts[0])

    def least(self, share: float) -> float:
        """The least of the share of the largest."""
        values = np.concatenate(self._parts)
        rank = len(values) - max(1, round(share * len(values)))
        return float(np.partition(values, rank)[rank])


def write_one(job: Job, files: list[str], out: str, live: bool = False) -> Mapping[str, Any]:
    """Score files into one output; returns the numbers of rows, and of bad ones."""
    source = job.open(files, live=live)
    rows = write_predictions(job.models, source, out, job.options, job.to)
    return {"rows": rows, "bad": source.bad}
