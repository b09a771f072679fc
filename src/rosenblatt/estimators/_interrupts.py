"""Ctrl-C, heard between two steps of a run."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Stopped(KeyboardInterrupt):
    """Ctrl-C was pressed, and what was learned is saved; the message says how to go on."""


@contextmanager
def interrupts() -> Iterator[list[int]]:
    """A list that is no longer empty once Ctrl-C was pressed; a second time it interrupts."""
    asked: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:  # not in the main thread, which alone hears signals
        yield asked
        return
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)
