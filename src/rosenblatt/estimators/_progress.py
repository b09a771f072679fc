"""A progress bar for `verbose`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rosenblatt.training import Epoch


@contextmanager
def progress_bar(
    name: str, epochs: int, verbose: int
) -> Iterator[tuple[Callable[[Epoch], None], ...]]:
    """The callbacks that draw a bar with updates and validation error; none when not verbose."""
    if not verbose:
        yield ()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("epochs"),
        TimeElapsedColumn(), TextColumn("{task.fields[said]}"),
    )  # fmt: skip
    with Progress(*columns) as bar:
        task = bar.add_task(name, total=epochs, said="")

        def show(epoch: Epoch) -> None:
            said = f"{epoch.updates:,} updates"
            if not math.isnan(epoch.validation_error):
                said += f", validation error {epoch.validation_error:.2%}"
            bar.update(task, completed=epoch.epoch, said=said)

        yield (show,)
        bar.update(task, total=bar.tasks[0].completed)
