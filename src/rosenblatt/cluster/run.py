"""The rows of a training run on shards: what all tasks of a run share, and the first pass."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from rosenblatt.cluster.engines import Broadcast, Engine
from rosenblatt.cluster.first_pass import FirstPass, first_pass
from rosenblatt.cluster.learner import MixedLearner, Shards, with_shares
from rosenblatt.cluster.manifest import Manifest
from rosenblatt.cluster.shards import Reading
from rosenblatt.cluster.tasks import Leaf
from rosenblatt.jobs.options import TrainOptions
from rosenblatt.jobs.rows import is_held_out
from rosenblatt.kernels.packing import Numbering
from rosenblatt.learners.parts import ONE_RATE
from rosenblatt.learners.problems import n_problems
from rosenblatt.learners.protocol import UNLIMITED
from rosenblatt.learners.rates import Rarity
from rosenblatt.models.model import Model
from rosenblatt.training import Progress

FEW_ROWS = 10_000  # of a shard, below which accuracy falls
_REFIT_SHARE = 0.05  # of rows held out, from which on a refit on all rows pays


class ShardWarning(UserWarning):
    """Shards are so small that mixing costs accuracy."""


class ShardedRows:
    """The rows of all shards (:class:`rosenblatt.jobs.run.Rows`).

    Shards of `valid`, if given, decide the number of epochs; else a share of the rows is held out,
    which is small for large data sets.
    """

    most_visits = UNLIMITED  # an epoch of all shards is one step

    def __init__(
        self,
        engine: Engine,
        manifest: Manifest,
        reading: Reading,
        options: TrainOptions,
        *,
        valid: Manifest | None = None,
        start: Model | None = None,
    ) -> None:
        self.engine, self.manifest, self.reading = engine, manifest, reading
        self.valid, self.start = valid, start
        self.shards = len(manifest)
        self.source = reading.open(tuple(part for shard in manifest.shards for part in shard))
        self.held_out, self.seed = options.held_out(valid is not None), options.seed
        self.first_pass: FirstPass
        self.held: list[int] = []  # held-out rows of each shard

    def begin(self) -> None:
        """Run the first pass over all shards."""
        result = first_pass(self.engine, self.manifest, self.reading, self.valid, self.start)
        self.first_pass, source = result, self.source
        source.fix_classes(result.classes)
        source.rows, source.bad = sum(result.rows), result.bad
        source.missing = result.missing
        self.held = [
            int(is_held_out(leaf.first, rows, self.held_out, self.seed).sum())
            for leaf, rows in zip(result.leaves, result.rows, strict=True)
        ]
        mean = self.count / self.shards
        if mean < FEW_ROWS and self.shards > 1:
            warnings.warn(
                f"the {self.shards} shards have {mean:,.0f} rows on average; below "
                f"{FEW_ROWS:,} rows per shard mixing costs accuracy: take fewer shards "
                "(--shards), or train without workers",
                ShardWarning,
                stacklevel=2,
            )

    def new_learner(self, options: TrainOptions, rule: Any, refit: bool = False) -> MixedLearner:
        """A learner of the mixed weights, at those of the start model if there is one."""
        columns, classes = self.columns, self.first_pass.classes
        about = {
            "reading": self.reading.to_json(),
            "classes": classes,
            "bits": self.reading.features.ngrams.bits,
            "held_out": 0.0 if refit else self.held_out,
            "options": options.settings,
        }
        rates = ONE_RATE if self.rarity is None else self.rarity.rates
        common = Broadcast({"columns": columns, "rates": rates}, about)
        shape = (len(columns), n_problems(len(classes), str(options.multiclass)))
        weights, bias = np.zeros(shape, np.float32), np.zeros(shape[1])
        if self.start is not None:
            weights, bias = _start_weights(self.start, columns, weights)
        return MixedLearner(self.engine, common, weights, bias)

    def follow(self, learner: Any, progress: Progress) -> None:
        """Nothing: features and classes are known before the first epoch."""

    def visited(self, refit: bool) -> Shards:
        """The shards with rows to visit in a phase."""
        result = self.first_pass
        held = [0] * self.shards if refit else self.held
        counts = [rows - left_out for rows, left_out in zip(result.rows, held, strict=True)]
        leaves = [leaf for leaf, count in zip(result.leaves, counts, strict=True) if count]
        return Shards(with_shares(leaves, [count for count in counts if count]), sum(counts))

    @property
    def columns(self) -> np.ndarray:
        """The number of the column of each feature."""
        return self.first_pass.columns

    @property
    def rarity(self) -> Rarity | None:
        """The scales behind the learner's feature rates."""
        return self.first_pass.rarity

    @property
    def bytes(self) -> int:
        """The bytes of the files."""
        return self.first_pass.bytes

    @property
    def count(self) -> int:
        """The number of rows."""
        return sum(self.first_pass.rows)

    @property
    def held_out_count(self) -> int:
        """The number of held-out rows."""
        return sum(self.held)

    @property
    def validates(self) -> bool:
        """Whether there are validation rows, or rows held out."""
        return self.valid is not None or self.held_out > 0

    @property
    def can_refit(self) -> bool:
        """Whether enough rows were held out for a refit on all rows to pay."""
        enough = max(1, _REFIT_SHARE * self.count)
        return self.valid is None and self.held_out_count >= enough

    def validation_error(self, learner: MixedLearner, averaged: bool) -> float:
        """The share of wrong predictions on validation rows; NaN if there are none."""
        leaves, whole = self._validation_leaves()
        return learner.error_on(leaves, averaged, whole) if leaves else math.nan

    def held_out_scores(
        self, learner: MixedLearner, weights: Any, averaged: bool, names: list[str], most: int
    ) -> Any:
        """The scores, classes and weights of at most `most` held-out rows, or None."""
        leaves, whole = self._validation_leaves()
        if not leaves:
            return None
        shown = learner.weights(averaged) if weights is None else weights
        scored = learner.scores_on(leaves, shown, whole)
        return [array[:most] for array in scored] if len(scored[1]) else None

    def _validation_leaves(self) -> tuple[list[Leaf], bool]:
        """The shards to validate on, and whether all of their rows are."""
        result = self.first_pass
        if self.valid is not None:
            return result.valid, True
        pairs = zip(result.leaves, self.held, strict=True)
        return [leaf for leaf, held in pairs if held], False

    def fingerprint(self) -> dict[str, Any]:
        """The shards, by the content of their files."""
        return self.manifest.to_json()

    def close(self) -> None:
        """Nothing: the engine owns the rows."""


def _start_weights(model: Model, columns: np.ndarray, weights: np.ndarray) -> tuple[Any, Any]:
    """The last weights and biases of a model, in the numbering of some columns."""
    last = model.state.get("W", model.weights)
    bias = model.state["bias"][0] if "bias" in model.state else model.bias
    numbering = Numbering(1 << model.features.ngrams.bits, columns)
    places = numbering.places_of(model.columns)
    known = places >= 0
    weights[places[known]] = last[known]
    return weights, np.array(bias, np.float64)
