"""Time limits."""

from __future__ import annotations

import time

# Seconds of exact work that an impatient clock allows at a time.
_PATIENCE = 1.0


class OutOfTimeError(Exception):
    """The time limit has passed, or would pass before the next step is done."""


class TooSlowError(Exception):
    """The next step would take too long, and another way may be faster."""


class Clock:
    """Counts down a time limit in seconds; None has no end.

    An impatient clock does not begin exact work that would take more than a second either. (The
    time is estimated, not measured, so that every machine begins the same work.)
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
        if self.passed:
            raise OutOfTimeError
        return None if self.end is None else self.end - time.monotonic()

    @property
    def passed(self) -> bool:
        """Whether the limit has passed."""
        return self.end is not None and self.end <= time.monotonic()

    def has(self, seconds: float) -> bool:
        """Whether uninterruptible work of about this many seconds would end in time."""
        return self.end is None or time.monotonic() + seconds < self.end

    def allow(self, seconds: float) -> None:
        """Raise unless uninterruptible work of about this many seconds would end in time."""
        if not self.has(seconds):
            raise OutOfTimeError
        if seconds > _PATIENCE:
            self.need_patience()

    def need_patience(self) -> None:
        """Raise unless work of any length may be begun."""
        if not self.patient:
            raise TooSlowError


ENDLESS = Clock(None)
