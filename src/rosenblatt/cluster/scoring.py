"""Score files by several workers: a task per file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

from rosenblatt.cluster.engines import Task, engine_for
from rosenblatt.cluster.train import working_folder


def on_workers(workers: Any) -> Callable[[Callable[[Any], Any], list[Any]], Iterator[Any]]:
    """What runs a job on files by workers, for :func:`rosenblatt.jobs.scoring.score_files`.

    The workers are those of :func:`rosenblatt.train`; they have to see the files, the models and
    the folder of the outputs under the same paths.
    """
    return partial(_run, workers)


def _run(workers: Any, job: Callable[[Any], Any], items: list[Any]) -> Iterator[Any]:
    with working_folder() as folder, closing(engine_for(workers, folder)) as engine:
        tasks = [Task(job, (item,)) for item in items]
        yield from engine.stream(tasks, ahead=2 * engine.workers)
