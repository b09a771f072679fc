"""Limits of a search: its time, and one BLAS thread where several would be slower."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

# Longer steps (in estimated seconds) are slow.
_SLOW_SECONDS = 1.0


class OutOfTimeError(Exception):
    """The time limit has passed, or would pass during the next step."""


class TooSlowError(Exception):
    """The next step is slow, and another method may be faster."""


class Clock:
    """A time limit in seconds, or None for no limit, and whether slow steps are allowed.

    A step is slow if it is estimated to take more than a second. (The estimate does not depend on
    the machine, so that all machines take the same steps.)
    """

    def __init__(self, limit: float | None) -> None:
        self.end = None if limit is None else time.monotonic() + limit
        self.slow_steps = True

    def without_slow_steps(self) -> Clock:
        """The same time limit, without slow steps."""
        other = Clock(None)
        other.end, other.slow_steps = self.end, False
        return other

    def seconds_left(self) -> float | None:
        """Seconds left, or None without a limit; raises OutOfTimeError if the limit has passed."""
        if self.expired:
            raise OutOfTimeError
        return None if self.end is None else self.end - time.monotonic()

    @property
    def expired(self) -> bool:
        """Whether the time limit has passed."""
        return self.end is not None and self.end <= time.monotonic()

    def has_time_for(self, seconds: float) -> bool:
        """Whether an uninterruptible step of about this many seconds would end in time."""
        return self.end is None or time.monotonic() + seconds < self.end

    def require(self, seconds: float) -> None:
        """Raise unless an uninterruptible step of about this many seconds may be started."""
        if not self.has_time_for(seconds):
            raise OutOfTimeError
        if seconds > _SLOW_SECONDS:
            self.require_slow_steps()

    def require_slow_steps(self) -> None:
        """Raise TooSlowError unless slow steps are allowed."""
        if not self.slow_steps:
            raise TooSlowError


NO_LIMIT = Clock(None)

# From this many columns on, factorising the Gram matrix keeps several threads busy (with sparse
# rows, BLAS does little else). For smaller matrices, setting the limit costs more than it saves.
_MANY_COLUMNS, _MANY_SPARSE_COLUMNS = 900, 1200
_NUMBERS = 1 << 19


@contextmanager
def limit_blas_threads(n: int, width: int, is_sparse: bool = False) -> Iterator[None]:
    """Limit BLAS to one thread for work on n rows and `width` columns, unless that is slower.

    Idle BLAS threads spin and take processor time from other threads.
    """
    many = width >= (_MANY_SPARSE_COLUMNS if is_sparse else _MANY_COLUMNS)
    if many or n * width < _NUMBERS or not _LIMIT_LOCK.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _LIMIT_LOCK.release()


# The limit is process-wide. If two threads set it, the second would find a limit of one and might
# restore that last. So only the thread that holds this lock sets the limit.
_LIMIT_LOCK = Lock()


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController  # not needed for the clock

    return ThreadpoolController()
