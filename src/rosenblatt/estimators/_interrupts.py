"""Ctrl-C and the signals that end a process, answered between two steps of a run."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

# Sent by batch systems, service managers and closed terminals; Windows has no SIGHUP.
_ENDINGS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Stopped(KeyboardInterrupt):
    """A run was asked to stop, and what was learned is saved; the message says how to go on.

    `signal` is the number of the signal; that of Ctrl-C is 2.
    """

    def __init__(self, message: str, signal: int = signal.SIGINT) -> None:
        super().__init__(message)
        self.signal = int(signal)


@contextmanager
def interrupts(all_signals: bool = True) -> Iterator[list[int]]:
    """Catch the first Ctrl-C: its number is appended to the list; the second one interrupts.

    SIGTERM and SIGHUP are caught in the same way with `all_signals`, unless the process ignores
    them (as after ``nohup``).
    """
    asked: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    before: dict[int, Any] = {}
    try:
        before[signal.SIGINT] = signal.signal(signal.SIGINT, note)
        for number in _ENDINGS if all_signals else ():
            if signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, note)
    except ValueError:  # only the main thread receives signals
        yield asked
        return
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
