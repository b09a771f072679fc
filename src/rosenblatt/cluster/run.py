"""A training run on shards: settings, phases, state."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from rosenblatt.cluster.engines import Broadcast, Engine
from rosenblatt.cluster.first_pass import FirstPass, first_pass
from rosenblatt.cluster.learner import MixedLearner, Shards, with_shares
from rosenblatt.cluster.manifest import Manifest
from rosenblatt.cluster.shards import Reading
from rosenblatt.cluster.tasks import Leaf
from rosenblatt.data import Features
from rosenblatt.jobs.held_out import HeldOut
from rosenblatt.jobs.options import TrainOptions
from rosenblatt.jobs.rows import is_held_out
from rosenblatt.jobs.run import FileRun, with_defaults
from rosenblatt.kernels.packing import Numbering
from rosenblatt.learners.parts import ONE_RATE
from rosenblatt.learners.problems import n_problems
from rosenblatt.learners.protocol import UNLIMITED
from rosenblatt.learners.rates import Rarity
from rosenblatt.models.model import Model
from rosenblatt.training import Plan, Progress

FEW_ROWS = 10_000  # of a shard, below which accuracy falls
# Between two mixings a shard takes as many steps as it has rows; tables need more of them.
TEXT_EPOCHS, TABLE_EPOCHS = 16, 64
_MIXED_UPDATES = 4.0  # the threshold for text, in updates as they are mixed
_ENOUGH_HELD_OUT = 40_000  # rows; fewer cannot tell one number of epochs from another
_REFIT_SHARE = 0.05  # of rows held out, from which on a refit on all rows pays


class ShardWarning(UserWarning):
    """Shards are so small that mixing costs accuracy."""


class ClusterRun(FileRun):
    """The state of a training run on shards.

    Shards of `valid`, if given, decide the number of epochs; else a share of the rows is held out,
    which is small for large data sets.
    """

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
        self.options = for_shards(options, reading.features, len(manifest))
        self.start, self.threads, self._member = start, 1, None
        self.held_out = HeldOut()
        self.valid = valid
        self.source = reading.open(tuple(part for shard in manifest.shards for part in shard))
        self.runs, self.tuning = [Progress()], []
        self.shards = len(manifest)
        self.learner: Any = None

    def begin(self) -> None:
        """Run the first pass over all shards."""
        found = first_pass(self.engine, self.manifest, self.reading, self.valid, self.start)
        s = self.options
        self.found = found
        self.source.fix_classes(found.classes)
        self.source.rows, self.source.bad = sum(found.rows), found.bad
        self.source.missing = found.missing
        held_out = s.held_out(self.valid is not None)
        self.rows: Any = ShardedRows(found, held_out, s.seed, self.valid)
        self.held_out_rows = sum(self.rows.held)
        self.learner = self.new_learner(found.rarity)
        mean = sum(found.rows) / len(found.rows)
        if mean < FEW_ROWS and len(found.rows) > 1:
            warnings.warn(
                f"the {len(found.rows)} shards have {mean:,.0f} rows on average; below "
                f"{FEW_ROWS:,} rows per shard mixing costs accuracy: take fewer shards "
                "(--shards), or train without workers",
                ShardWarning,
                stacklevel=2,
            )

    def model(self) -> Model:
        """The model as it stands now."""
        return replace(super().model(), fingerprint=self.manifest.to_json())

    @property
    def has_learned(self) -> bool:
        """Whether weights have been mixed, at the end of an epoch."""
        return self.progress.epoch > 0 or len(self.runs) > 1

    def plan(self) -> Plan:
        """The plan of the present phase."""
        plan = super().plan()
        # Early weights come from one shard alone, so that an average over all steps is worse.
        late = plan.keep == "average" and self.shards > 1
        plan = replace(plan, most_visits=UNLIMITED, keep="late_average" if late else plan.keep)
        if self.shards > 1:
            least = _default_epochs(self.reading.features) * len(self.rows.store)
            plan = replace(
                plan, least_visits=0 if self.held_out_rows >= _ENOUGH_HELD_OUT else least
            )
        return plan

    @property
    def refit_epochs(self) -> int:
        """The number of epochs of the refit on all rows; 0 without a refit."""
        best = super().refit_epochs
        if best == 0 or self.shards == 1 or self.held_out_rows >= _ENOUGH_HELD_OUT:
            return best
        return max(best, min(_default_epochs(self.reading.features), self._most_epochs()))

    def visited(self) -> Shards:
        """The shards with rows to visit in this phase."""
        counts = self.found.rows
        if self.phase != "refit":
            counts = [n - held for n, held in zip(counts, self.rows.held, strict=True)]
        leaves = [leaf for leaf, n in zip(self.found.leaves, counts, strict=True) if n]
        return Shards(with_shares(leaves, [n for n in counts if n]), sum(counts))

    def held_out_scores(self, names: list[str], most: int) -> Any:
        """The scores, class codes and weights of at most so many held-out rows, or None."""
        valid, kept = self.rows.valid is not None, self.progress.kept
        leaves = self.found.valid if valid else self.rows.with_held_out()
        if not leaves:
            return None
        shown = self.learner.weights(self.options.average) if kept is None else kept.weights
        found = self.learner.scores_on(leaves, shown, valid)
        return [array[:most] for array in found] if len(found[1]) else None

    def new_learner(self, rarity: Rarity | None, n_classes: int | None = None) -> MixedLearner:
        """A new learner for the present phase, at the weights of the start model if any."""
        found, s = self.found, self.options
        assert s.multiclass is not None, "options have their defaults by now"
        held_out = 0.0 if self.phase == "refit" else self.rows.held_out
        about = {
            "reading": self.reading.to_json(), "classes": found.classes,
            "bits": self.reading.features.ngrams.bits, "held_out": held_out,
            "seed": s.seed, "memory": s.memory, "threshold": s.threshold, "padding": s.padding,
            "average": s.average, "multiclass": s.multiclass,
        }  # fmt: skip
        rates = ONE_RATE if rarity is None else rarity.rates
        common = Broadcast({"columns": found.columns, "rates": rates}, about)
        shape = (len(found.columns), n_problems(len(found.classes), s.multiclass))
        weights, bias = np.zeros(shape, np.float32), np.zeros(shape[1])
        if self.start is not None:
            weights, bias = _start_weights(self.start, found.columns, weights)
        return MixedLearner(self.engine, common, weights, bias)

    def _is_to_be_refitted(self) -> bool:
        """Whether enough rows were held out for a refit on all rows to pay."""
        return (
            self.options.epochs is None
            and self.rows.valid is None
            and self.held_out_rows >= max(1, _REFIT_SHARE * sum(self.found.rows))
        )


def for_shards(options: TrainOptions, features: Features, shards: int) -> TrainOptions:
    """The options with all defaults filled in, which differ for several shards.

    An update of one of S shards changes the mixed weights by 1/S of it: to reach the threshold of
    one machine would take S times as many epochs. Tables have more epochs, and a threshold between.

    >>> [for_shards(TrainOptions(), Features(), shards).threshold for shards in (1, 4, 16)]
    [4.0, 2.0, 1.0]
    """
    found = with_defaults(options, features)
    if shards == 1:
        return found
    if options.threshold is None:
        assert found.threshold is not None
        least = found.threshold / math.sqrt(shards)
        if not features.is_plain_table:
            least = min(found.threshold, _MIXED_UPDATES / shards)
        found = replace(found, threshold=least)
    if options.max_epochs is None:
        found = replace(found, max_epochs=_default_epochs(features))
    return found


def _default_epochs(features: Features) -> int:
    return TABLE_EPOCHS if features.is_plain_table else TEXT_EPOCHS


class ShardedRows:
    """The rows of all shards, with what a :class:`FileRun` needs of its rows."""

    def __init__(
        self, found: FirstPass, held_out: float, seed: int, valid: Manifest | None
    ) -> None:
        self.found, self.valid, self.held_out = found, valid, held_out
        self.bytes, self.store = found.bytes, range(sum(found.rows))
        self.rarity, self.numbering = found.rarity, SimpleNamespace(columns=found.columns)
        pairs = zip(found.leaves, found.rows, strict=True)
        self.held = [int(is_held_out(leaf.first, n, held_out, seed).sum()) for leaf, n in pairs]

    def validation_error(self, learner: MixedLearner, averaged: bool) -> float:
        """The share of wrong predictions on validation rows; NaN if there are none."""
        if self.valid is not None:
            return learner.error_on(self.found.valid, averaged, whole=True)
        leaves = self.with_held_out()
        return learner.error_on(leaves, averaged) if leaves else math.nan

    def with_held_out(self) -> list[Leaf]:
        """The shards with held-out rows."""
        return [leaf for leaf, n in zip(self.found.leaves, self.held, strict=True) if n]


def _start_weights(model: Model, columns: np.ndarray, weights: np.ndarray) -> tuple[Any, Any]:
    """The last weights and biases of a model, in the numbering of some columns."""
    last = model.state.get("W", model.weights)
    bias = model.state["bias"][0] if "bias" in model.state else model.bias
    numbering = Numbering(1 << model.features.ngrams.bits, columns)
    places = numbering.places_of(model.columns)
    known = places >= 0
    weights[places[known]] = last[known]
    return weights, np.array(bias, np.float64)
