"""A training run from the command line: open, resume, train, save; and stop in good order."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from rosenblatt import data
from rosenblatt.data import Source
from rosenblatt.errors import DataError
from rosenblatt.jobs.checkpoint import Checkpoint
from rosenblatt.jobs.train import Settings, Trainer
from rosenblatt.models import Model, load, save


@dataclass(frozen=True)
class Request:
    """What is to be trained on what.

    `reading` are the options of :func:`rosenblatt.data.open`; `start` is a model to go on from.
    """

    files: list[str]
    out: Path
    settings: Settings
    reading: dict[str, Any] = field(default_factory=dict)
    valid: list[str] | None = None
    start: Path | None = None
    checkpoint: Path | None = None
    every: float = 60.0
    every_rows: int | None = None
    resume: bool = False


class Stopped(Exception):  # noqa: N818 - it is no error
    """The user asked to stop, and what was learned is saved; the message says how to go on."""


def run(request: Request, report: Callable[[Trainer], None]) -> tuple[Model, Trainer]:
    """Train, save the model, and return both it and the trainer that made it.

    Raises
    ------
    Stopped
        After Ctrl-C, when the checkpoint (or else the model so far) is on disk.
    """
    start = load(request.start) if request.start else None
    source = _open(request.files, request, start)
    valid = _open(request.valid, request, start, source) if request.valid else None
    checkpoint = None
    if request.checkpoint:
        checkpoint = Checkpoint(request.checkpoint, request.every, request.every_rows)
    resuming = checkpoint is not None and request.resume and checkpoint.file.exists()
    if checkpoint is not None:
        checkpoint.folder.mkdir(parents=True, exist_ok=True)
        if checkpoint.file.exists() and not request.resume:
            raise DataError(
                "a run is saved here; add --resume to go on with it", path=checkpoint.file
            )
    folder = checkpoint.row_folder if checkpoint is not None and not resuming else None
    trainer = Trainer(source, request.settings, valid=valid, folder=folder, start=start)
    if resuming and checkpoint is not None:
        checkpoint.resume(trainer)
    with _interrupts() as asked:
        for _ in trainer.steps():
            if checkpoint is not None:
                checkpoint.step(trainer)
            report(trainer)
            if asked:
                raise _stop(trainer, checkpoint, request)
    model = trainer.model()
    save(model, request.out)
    trainer.store.close()
    if checkpoint is not None:
        checkpoint.file.unlink(missing_ok=True)
        shutil.rmtree(checkpoint.row_folder, ignore_errors=True)
    return model, trainer


def _open(
    files: list[str], request: Request, start: Model | None, first: Source | None = None
) -> Source:
    """A source; one for validation reads as the first one does, one to go on as the model does."""
    features = start.features if start is not None else first.features if first else None
    options = dict(request.reading)
    if features is not None:
        for name in ("label", "text", "columns", "ngrams"):
            options.pop(name, None)
        options["features"] = features
        options["classes"] = start.classes if start is not None else None
    return data.open(files, **options)


def _stop(trainer: Trainer, checkpoint: Checkpoint | None, request: Request) -> Stopped:
    if checkpoint is not None:
        checkpoint.save(trainer)
        return Stopped(f"stopped; go on with the same command and --resume ({checkpoint.file})")
    if trainer.learner is None:
        return Stopped("stopped before anything was learned")
    save(trainer.model(), request.out)
    return Stopped(
        f"stopped; what was learned is in {request.out}, go on with --from {request.out}"
    )


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """A list that is no longer empty once Ctrl-C was pressed; a second time it interrupts."""
    asked: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:  # not in the main thread: nobody presses keys here
        yield asked
        return
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)
