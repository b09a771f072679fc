"""Brent's search for a cycle: a run whose weights come back to what they were never ends.

R. Brent (1980), An improved Monte Carlo factorization algorithm, BIT 20. The weights at every end
of an epoch are compared with those kept at the last power of two, so that one copy is enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class CycleFinder:
    """What to compare the next weights with.

    Attributes
    ----------
    anchor : object
        The weights to compare with.
    power, length : int
        The anchor moves when `length`, the epochs since it was set, comes to `power`.

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
        """The length of the cycle if the weights are at the anchor again, else 0.

        Parameters
        ----------
        is_at : callable
            Whether the present weights equal some that `snapshot` gave.
        snapshot : callable
            A copy of the present weights; called when the anchor moves.
        """
        self.length += 1
        if is_at(self.anchor):
            length, self.length = self.length, 0
            return length
        if self.length == self.power:
            self.anchor, self.power, self.length = snapshot(), 2 * self.power, 0
        return 0
