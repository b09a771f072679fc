"""Time limits."""

from __future__ import annotations

import time


class OutOfTimeError(Exception):
    """The time limit has passed, or would before the next piece of work is done."""


class Clock:
    """Counts down a time limit in seconds; None never ends."""

    def __init__(self, limit: float | None) -> None:
        self.end = None if limit is None else time.monotonic() + limit

    def left(self) -> float | None:
        """Seconds left, or None; raises when there are none."""
        if self.end is None:
            return None
        left = self.end - time.monotonic()
        if left <= 0:
            raise OutOfTimeError
        return left

    def allow(self, seconds: float) -> None:
        """Raise unless work of about so many seconds, which nothing can stop, ends in time."""
        left = self.left()
        if left is not None and seconds > left:
            raise OutOfTimeError


ENDLESS = Clock(None)
