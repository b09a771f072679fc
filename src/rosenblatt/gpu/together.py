"""Models that share a row order, trained together: scores and Gram matrices are made once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rosenblatt.gpu.blocks import Blocks
from rosenblatt.gpu.device import in_plain_words
from rosenblatt.gpu.linear import DeviceLinear
from rosenblatt.gpu.table import Settings
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.protocol import Array, Limits, Tally


class Member(DeviceLinear):
    """One of the models that are trained together: its walks are those of the group.

    The group tells it what came of them; it does not know the group, whose arrays would else be
    kept until garbage is collected.
    """

    tally: Tally
    lengths: tuple[float, float]

    def __init__(self, blocks: Blocks, number: int, rates: Array) -> None:
        self._take_part(blocks, number, rates, False)

    def walk(self, examples: Any, order: Array, etas: Any = None, limits: Any = Limits()) -> Tally:  # noqa: B008
        """What came of the group's last walk for this model."""
        assert self.tally.visits == len(order)
        return self.tally

    def mark(self) -> None:
        """The group remembers the weights of all."""

    def measure(self) -> tuple[float, float]:
        """The length of all weights, and of their change in the group's last walk."""
        return self.lengths


class Group:
    """Linear models of the same classes and rows, on a device.

    Parameters
    ----------
    device : Cuda
    models : list of Settings
    kinds : array of int
        The row of weights of each model.
    n_classes, n_features, multiclass, dtype, rates
        As for :class:`rosenblatt.gpu.blocks.Blocks`.
    """

    def __init__(
        self, device: Any, models: Sequence[Settings], kinds: Array, n_classes: int,
        n_features: int, *, multiclass: str, dtype: Any, rates: Array,
    ) -> None:  # fmt: skip
        with in_plain_words():
            self.blocks = Blocks(
                device, models, n_classes, n_features, multiclass=multiclass, dtype=dtype,
                rates=rates,
            )  # fmt: skip
            self.blocks.assign("weights", np.asarray(kinds))
            self.blocks.assign("rates", np.arange(len(models)))
            with device.main:
                self.blocks.mark()
        self.members = [Member(self.blocks, number, rates) for number in range(len(models))]
        self._active = np.ones(len(models), bool)

    def walk(
        self, examples: Examples, order: Array, etas: Array, omega: Array, active: Array
    ) -> None:
        """Visit the rows in this order with all active models.

        `etas` is (models, 1 or visits); `omega` (kinds, rows) holds the rows of weights.
        """
        with in_plain_words():
            if not np.array_equal(active, self._active):
                self.blocks.assign("active", active.astype(np.int32))
                self._active = active.copy()
            tallies = self.blocks.walk(examples, order, etas, omega=omega)
            with self.blocks.device.main:
                lengths = self.blocks.measure().tolist()
            for member, tally, (norm, change) in zip(self.members, tallies, lengths, strict=True):
                member.tally, member.lengths = tally, (norm, change)
