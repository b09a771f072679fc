"""Time limits."""

from __future__ import annotations

import time


class OutOfTimeError(Exception):
    """The time limit has passed, or would before the next piece of work is done."""


class StuckError(Exception):
    """What is left to be tried takes too long, and there may be other ways."""


class Clock:
    """Counts down a time limit in seconds; None never ends.

    Without patience, exact work that would take more than a second is not begun either. (How long
    it would take is computed, not measured: so the same is begun on every machine.)
    """

    def __init__(self, limit: float | None) -> None:
        self.end = None if limit is None else time.monotonic() + limit
        self.patient = True

    def impatient(self) -> Clock:
        """The same clock without patience."""
        other = Clock(None)
        other.end, other.patient = self.end, False
        return other

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
        if seconds > _PATIENCE:
            self.need_patience()

    def need_patience(self) -> None:
        """Raise unless there is patience for work of any length."""
        if not self.patient:
            raise StuckError


_PATIENCE = 1.0
ENDLESS = Clock(None)
