"""Train on shards by several workers: what ``rosenblatt.train(..., workers=...)`` calls."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from rosenblatt.atomic_files import remove_leftovers, temporary_folder
from rosenblatt.cluster.engines import Engine, engine_for
from rosenblatt.cluster.manifest import Manifest, is_remote, make_manifest
from rosenblatt.cluster.rows import ShardedRows
from rosenblatt.cluster.shards import Reading, detect_reading
from rosenblatt.data.arrow_tables import is_table_in_memory
from rosenblatt.data.formats import refuse_unused_options
from rosenblatt.data.open import names_in_options
from rosenblatt.data.source import Source
from rosenblatt.errors import DataError, ModelFormatError, OptionError
from rosenblatt.jobs.checkpoint import Checkpoint
from rosenblatt.jobs.lift import LiftTrial, lift_source
from rosenblatt.jobs.options import TrainOptions
from rosenblatt.jobs.outcome import check_model_path, stopped
from rosenblatt.jobs.run import Run
from rosenblatt.jobs.sources import reading as reading_of
from rosenblatt.jobs.train import complete
from rosenblatt.models.model import Model
from rosenblatt.process import interrupts

_MULTILABEL = "workers learn one label per row, and here a row may have several; leave workers out"
_COLUMN_OPTIONS = ("label", "text", "columns", "missing", "header", "decimal")


def train_on_shards(source: Any, options: TrainOptions) -> Model:
    """Train on shards of files; the model is the same bits for any number and kind of workers."""
    if is_table_in_memory(source) or isinstance(source, Source):
        raise OptionError(
            "workers read shards of files; train on a table in memory without workers"
        )
    for name in ("rule", "class_weight", "weight"):
        if getattr(options, name) not in (None, "perceptron"):
            raise OptionError(f"{name} is not supported with workers; leave one of them out")
    separator = options.label_separator
    if options.start is not None and separator is None:
        separator = options.start.features.separator  # type: ignore[union-attr]
    if separator is not None:
        raise OptionError(_MULTILABEL)
    saved = ClusterCheckpoint(Path(options.checkpoint)) if options.checkpoint is not None else None
    with (
        saved.locked(options.resume) if saved is not None else nullcontext(),
        working_folder(saved) as folder,
        closing(engine_for(options.workers, folder)) as engine,
        interrupts(all_signals=saved is not None or options.out is not None) as signals,
    ):
        return _train(source, options, engine, saved, signals)


@contextmanager
def working_folder(saved: ClusterCheckpoint | None = None) -> Iterator[Path]:
    """The folder that processes of this machine share: that of a checkpoint, or a temporary one."""
    remove_leftovers()
    if saved is not None:
        try:
            yield saved.folder
        finally:
            for broadcast in saved.folder.glob("*.broadcast"):
                broadcast.unlink(missing_ok=True)
        return
    folder, lock = temporary_folder()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.close()


def open_shards(
    paths: Any,
    engine: Engine,
    reading: dict[str, Any],
    shards: int | None = None,
    features: Any = None,
) -> tuple[Manifest, Reading]:
    """Cut files into shards and detect how to read them."""
    label, text, columns = (reading.get(name) for name in ("label", "text", "columns"))
    manifest = make_manifest(
        paths,
        format=reading.get("format"),
        header=reading.get("header"),
        mentioned=names_in_options(label, text, columns, features),
        shards=shards,
        spread=engine.spread,
    )
    return manifest, detect_reading(manifest, features, **reading)


def _train(
    source: Any,
    options: TrainOptions,
    engine: Engine,
    saved: ClusterCheckpoint | None,
    signals: list[int],
) -> Model:
    """Run to the end, or until a signal asks to stop; saves and returns the model."""
    start: Any = options.start
    out = None if options.out is None else Path(options.out)
    how, features = reading_of(options, start), None if start is None else start.features
    manifest, reading = open_shards(source, engine, how, options.shards, features)
    refuse_unused_options(manifest.format, {name: how.get(name) for name in _COLUMN_OPTIONS})
    if reading.features.multilabel:
        raise OptionError(_MULTILABEL)
    if not reading.labelled:
        message = f"there is no column {reading.features.label!r}"
        raise DataError(message, path=manifest.files[0].path)
    lifts: list[LiftTrial] = []
    if start is None:
        features, lifts = lift_source(reading.everything(manifest), options)
        reading = replace(reading, features=features)
    valid = None
    if options.valid is not None:
        valid, _ = open_shards(options.valid, engine, how, options.shards, reading.features)
        if valid.format != manifest.format:
            raise DataError(
                f"is {valid.format}; rows for validation must have the format of the others, "
                f"{manifest.format}",
                path=valid.files[0].path,
            )
    if out is not None:
        files = [*manifest.files, *(valid.files if valid else ())]
        check_model_path(out, [f.path for f in files if not is_remote(f.path)], saved)
    run = Run(ShardedRows(engine, manifest, reading, options, valid=valid, start=start), options)
    run.lifts = lifts

    def tick(done: int, tasks: int) -> None:
        run.done, run.tasks = done, tasks
        if options.report is not None:
            options.report(run)
        if signals:
            raise stopped(run, saved, out, signals[0])

    engine.tick = tick
    if saved is not None:
        saved.resume(run)
    return complete(run, saved, signals)


class ClusterCheckpoint(Checkpoint):
    """A folder that holds a run on shards.

    The result of the first pass is not saved but computed again from the rows on the disk.
    """

    format, version = "rosenblatt-cluster-checkpoint", 3
    unreadable = (
        "the checkpoint of a run with workers that this release can read; take another folder"
    )
    rows_name = "shards"  # see Engine.row_cache

    def step(self, run: Run) -> None:
        """Save the run at the end of an epoch."""
        if run.progress.position == 0:
            self.save(run)

    def stopped(self, run: Run) -> str:
        """The message for a run that was asked to stop; it was saved at the end of an epoch."""
        if not self.file.exists():
            return "stopped before the first epoch ended: nothing is saved"
        return f"stopped; go on with the same command and --resume ({self.file})"

    def _contents(self, run: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        digests = [leaf.digest for leaf in run.rows.leaves + run.rows.valid_leaves]
        return run.learner.arrays(), _data_of(run) | {"digests": digests}

    def _must_have_same_data(self, run: Any, about: dict[str, Any]) -> None:
        data = _data_of(run)
        if {name: about[name] for name in data} != data:
            raise ModelFormatError(f"{self.file} is of a run on other files, or on other shards")

    def _restore(self, run: Any, arrays: dict[str, Any], about: dict[str, Any]) -> None:
        leaves = run.rows.leaves + run.rows.valid_leaves
        for leaf, digest in zip(leaves, about["digests"], strict=True):
            if leaf.digest != digest:
                raise DataError("was changed since the run began", path=leaf.shard[0].file.path)
        self._restore_progress(run, arrays, about)
        run.renew_learner()
        run.learner.restore(arrays)
        kept = run.progress.kept
        if kept is not None and kept.weights.weights.shape != run.learner.W.T.shape:
            raise ValueError("the kept weights do not fit the columns")


def _data_of(run: Any) -> dict[str, Any]:
    """What identifies the rows of a run, for training and for validation."""
    valid = run.rows.valid
    return {
        "fingerprint": run.rows.manifest.to_json(),
        "valid": None if valid is None else valid.to_json(),
    }
