"""Models that share a row order, trained together: one product for all scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rosenblatt.gpu.blocks import Blocks
from rosenblatt.gpu.device import translated_errors
from rosenblatt.gpu.linear import DeviceLinear
from rosenblatt.gpu.problem_table import ModelSettings
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.protocol import Array, Limits, Tally


class GroupMember(DeviceLinear):
    """A model that is trained in a group, which sets its tally and norms after each walk.

    It has no reference to the group: a cycle would keep the arrays until garbage is collected.
    """

    tally: Tally
    norms: tuple[float, float]

    def __init__(self, blocks: Blocks, number: int, rates: Array) -> None:
        self._attach(blocks, number, rates, False)

    def walk(self, examples: Any, order: Array, etas: Any = None, limits: Any = Limits()) -> Tally:  # noqa: B008
        """The tally of the group's last walk for this model."""
        assert self.tally.visits == len(order)
        return self.tally

    def mark(self) -> None:
        """Done by the group for all members."""

    def measure(self) -> tuple[float, float]:
        """The norm of all weights, and of their change in the group's last walk."""
        return self.norms


class ModelGroup:
    """Linear models of the same classes and rows, on the GPU.

    `weightings` holds for each model the row of `omega` with its row weights. Other parameters are
    as for :class:`rosenblatt.gpu.blocks.Blocks`.
    """

    def __init__(
        self, device: Any, models: Sequence[ModelSettings], weightings: Array, n_classes: int,
        n_features: int, *, multiclass: str, dtype: Any, rates: Array,
    ) -> None:  # fmt: skip
        with translated_errors():
            self.blocks = Blocks(
                device, models, n_classes, n_features, multiclass=multiclass, dtype=dtype,
                rates=rates,
            )  # fmt: skip
            self.blocks.assign("weights", np.asarray(weightings))
            self.blocks.assign("rates", np.arange(len(models)))
            with device.main:
                self.blocks.mark()
        self.members = [GroupMember(self.blocks, number, rates) for number in range(len(models))]
        self._active = np.ones(len(models), bool)

    def walk(
        self, examples: Examples, order: Array, etas: Array, omega: Array, active: Array
    ) -> None:
        """Visit the rows in this order with all active models.

        `etas` is (models, 1 or visits), `omega` (weightings, rows).
        """
        with translated_errors():
            if not np.array_equal(active, self._active):
                self.blocks.assign("active", active.astype(np.int32))
                self._active = active.copy()
            tallies = self.blocks.walk(examples, order, etas, omega=omega)
            with self.blocks.device.main:
                norms = self.blocks.measure().tolist()
            for member, tally, (norm, change) in zip(self.members, tallies, norms, strict=True):
                member.tally, member.norms = tally, (norm, change)
