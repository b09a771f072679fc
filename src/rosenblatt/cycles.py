"""Brent's cycle detection: if the weights repeat, the run never ends.

R. Brent (1980), An improved Monte Carlo factorization algorithm, BIT 20. The weights at the end of
each epoch are compared with a copy from an earlier one, which is renewed after 1, 2, 4, ... epochs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class CycleFinder:
    """The state of the search for a cycle.

    Attributes
    ----------
    anchor : object
        The copy of earlier weights to compare with.
    power, length : int
        The anchor is renewed when `length`, the epochs since the last time, reaches `power`.

    Examples
    --------
    >>> finder = CycleFinder(0)
    >>> steps = [1, 2, 3, 1, 2, 3]
    >>> [finder.length_at(lambda anchor, x=x: anchor == x, lambda x=x: x) for x in steps]
    [0, 0, 0, 0, 0, 3]
    """

    anchor: Any
    power: int = 1
    length: int = 0

    def length_at(self, is_at: Callable[[Any], bool], snapshot: Callable[[], Any]) -> int:
        """The length of the cycle if the weights equal the anchor, else 0.

        Parameters
        ----------
        is_at : callable
            Whether the current weights equal an earlier result of `snapshot`.
        snapshot : callable
            Returns a copy of the current weights; called when the anchor is renewed.
        """
        self.length += 1
        if is_at(self.anchor):
            length, self.length = self.length, 0
            return length
        if self.length == self.power:
            self.anchor, self.power, self.length = snapshot(), 2 * self.power, 0
        return 0
