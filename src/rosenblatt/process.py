"""The process: the threads it may use and the signals it receives."""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

_MMAP_THRESHOLD = -3  # the number of the parameter, from malloc.h
# `signal.signal` without its search for a member of an enumeration, which takes several µs.
_set_handler: Any = importlib.import_module("_signal").signal
# Sent by batch systems, service managers and closed terminals; Windows has no SIGHUP.
_TERMINATIONS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def threads_of(n_jobs: int | None) -> int:
    """The number of threads for `n_jobs`, as in scikit-learn: None is 1, -1 all cores.

    >>> threads_of(None), threads_of(3)
    (1, 3)
    """
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning: use None for one thread, -1 for all cores.")
    if n_jobs > 0:
        return n_jobs
    # The process may be allowed fewer cores than the machine has.
    has_affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return max(1, cores + 1 + n_jobs)


def release_freed_arrays() -> None:
    """Let the memory of large arrays go back to the system as these are freed.

    The C library of Linux would keep more and more of it for new ones, 75 MB when training.
    """
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, 1 << 20)


class Stopped(KeyboardInterrupt):
    """A run was asked to stop, and what was learned is saved; the message says how to resume.

    `signal` is the number of the signal; that of Ctrl-C is 2.
    """

    def __init__(self, message: str, signal: int = signal.SIGINT) -> None:
        super().__init__(message)
        self.signal = int(signal)


@contextmanager
def interrupts(all_signals: bool = True) -> Iterator[list[int]]:
    """Append the number of the first Ctrl-C to the list; the second one interrupts.

    With `all_signals` the same goes for SIGTERM and SIGHUP, unless the process ignores them (as
    after ``nohup``).
    """
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)

    before: dict[int, Any] = {}
    try:
        before[signal.SIGINT] = signal.signal(signal.SIGINT, note)
        for number in _TERMINATIONS if all_signals else ():
            if signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, note)
    except ValueError:  # only the main thread receives signals
        yield received
        return
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C until the block is done.

    The handler is replaced, as a signal that the main thread masks would go to another thread, and
    Python would interrupt the main thread all the same.
    """
    received: list[FrameType | None] = []
    try:
        handler = _set_handler(signal.SIGINT, lambda number, frame: received.append(frame))
    except ValueError:  # only the main thread is interrupted
        yield
        return
    try:
        yield
    finally:
        _set_handler(signal.SIGINT, handler if handler is not None else signal.SIG_DFL)
        if received and callable(handler):
            handler(signal.SIGINT, received[0])
