"""A training run over the rows of files or of shards: its phases, its plan and its progress."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from rosenblatt.data import Source
from rosenblatt.errors import OptionError
from rosenblatt.jobs.options import TrainOptions
from rosenblatt.jobs.outcome import HeldOut, trained_model
from rosenblatt.learners import Spec
from rosenblatt.learners.parts import ONE_RATE
from rosenblatt.learners.problems import Problems
from rosenblatt.learners.protocol import Array
from rosenblatt.learners.rates import IdfScales
from rosenblatt.models.head import Head
from rosenblatt.models.model import Model
from rosenblatt.rules.perceptron import Thresholds
from rosenblatt.rules.registry import parse
from rosenblatt.training import Epoch, Plan, Progress
from rosenblatt.training.defaults import (
    average_of_files,
    least_refit_epochs,
    least_visits,
    options_for_files,
)
from rosenblatt.training.plan import learning_rate


class Rows(Protocol):
    """What a run trains on: :class:`~rosenblatt.jobs.rows.FileRows`, or shards of files."""

    source: Source
    valid: Any  # validation rows, or None
    start: Model | None  # to go on from
    shards: int  # 1 for the rows of this process
    engine: Any  # which runs the tasks of shards; None for the rows of this process
    bytes: int  # of the files, read so far
    rarity: IdfScales | None  # the scales behind the learner's feature rates
    most_visits: int  # between two points where the run can be saved

    def begin(self) -> None:
        """Prepare the first epoch."""

    def new_learner(self, options: TrainOptions, refit: bool) -> Any:
        """A learner for a phase, at the weights to start from."""

    def follow(self, learner: Any, progress: Progress) -> None:
        """Let the rows tell a learner of new features and classes, and begin its run again."""

    def visited(self, refit: bool) -> Any:
        """The rows of a phase."""

    @property
    def columns(self) -> Array:
        """The number of the column of each feature."""

    @property
    def count(self) -> int:
        """The number of rows read so far."""

    @property
    def held_out_count(self) -> int:
        """The number of held-out rows."""

    def class_shares(self) -> dict[str, float]:
        """The share of the rows that each class has; nothing where that is not known."""

    @property
    def validates(self) -> bool:
        """Whether there are validation rows, or rows held out."""

    @property
    def can_refit(self) -> bool:
        """Whether held-out rows can be learned from in a second run, and it pays."""

    def validation_error(self, learner: Any, averaged: bool) -> float:
        """The share of wrong predictions on validation rows; NaN if there are none."""

    def held_out_scores(
        self, learner: Any, weights: Any, averaged: bool, names: list[str], most: int
    ) -> tuple[Array, Array, Array] | None:
        """Scores, classes and weights of at most `most` held-out rows; None without such rows.

        The scores are by some weights, or by those of the learner; classes are numbered as in
        `names`.
        """

    def fingerprint(self) -> dict[str, Any]:
        """What identifies the rows, for the model."""

    def close(self) -> None:
        """Free the rows and remove temporary files."""


class Run:
    """A training run, as a checkpoint saves it.

    `learner` and `progress` are those of the current phase: the epochs, then perhaps a refit on all
    rows. `done` of `tasks` are the counts of a run by several workers.
    """

    def __init__(self, rows: Any, options: TrainOptions) -> None:
        self.rows: Rows = rows
        self.source = rows.source
        self.is_table = self.source.features.is_plain_table
        defaults = options_for_files(self.is_table, rows.shards, self.source.sampled_classes)
        self.options = replace(
            options, **{k: v for k, v in defaults.items() if getattr(options, k) is None}
        )
        self.eta = rule_of(self.options)[1]
        self.tuning: list[dict[str, Any]] = []  # the trials that chose the options
        self.verdict: Any = None  # on the best of them
        self.lifts: list[Any] = []  # the trials that chose the lift
        self.held_out = HeldOut()  # fitted to held-out rows after the first phase
        self.class_shares: dict[str, float] = {}  # of the rows, known at the end
        self.learner: Any = None
        self.runs = [Progress()]
        self.done = self.tasks = 0

    def begin(self) -> None:
        """Prepare the first epoch."""
        self.rows.begin()
        self.renew_learner()

    def renew_learner(self) -> None:
        """Replace the learner by a new one for the current phase."""
        self.learner = None  # frees its weights first
        self.rows.follow(None, self.progress)
        self.learner = self.rows.new_learner(self.options, self.phase == "refit")
        self.rows.follow(self.learner, self.progress)

    def model(self) -> Model:
        """The current model."""
        return trained_model(self)

    def head(self, n_classes: int) -> Head | None:
        """What makes scores of sums, for so many classes."""
        return head_of(self.options, n_classes)

    @property
    def has_learned(self) -> bool:
        """Whether any row was visited."""
        return self.progress.visits > 0 or len(self.runs) > 1

    @property
    def progress(self) -> Progress:
        """The progress of the current phase."""
        return self.runs[-1]

    @property
    def phase(self) -> str:
        """The current phase: ``"reading"``, ``"epochs"`` or ``"refit"``."""
        if len(self.runs) > 1:
            return "refit"
        return "epochs" if self.progress.epoch else "reading"

    @property
    def history(self) -> list[Epoch]:
        """The epochs of the first phase."""
        return self.runs[0].history

    @property
    def stop_reason(self) -> str | None:
        """Why the first phase ended."""
        return self.runs[0].stop_reason

    @property
    def refit_epochs(self) -> int:
        """The number of epochs of the refit on all rows; 0 without one."""
        return 0 if len(self.runs) == 1 else self.best_epochs()

    def best_epochs(self) -> int:
        """The number of epochs that was given, or that held-out rows decide after the first phase.

        Where none validate, it is the number of epochs of that phase.
        """
        if self.options.epochs is not None or not self.rows.validates:
            return len(self.history)
        least = least_refit_epochs(self.is_table, *self._sizes())
        return max(self.decided_epochs, min(least, self._most_epochs()))

    @property
    def decided_epochs(self) -> int:
        """The epochs after which held-out rows had the least error; a refit may have more."""
        return 1 + int(np.argmin([epoch.validation_error for epoch in self.history]))

    @property
    def validation_error(self) -> float:
        """The least validation error so far."""
        return min((epoch.validation_error for epoch in self.history), default=math.nan)

    def phases(self) -> Iterator[tuple[Any, Plan]]:
        """The data and plan of each remaining phase, for which `learner` and `progress` are set."""
        if self.learner is None:
            self.begin()
        if len(self.runs) == 1:
            yield self.rows.visited(refit=False), self.plan()
            self.held_out = HeldOut.of_run(self)
            if self.options.epochs is not None or not self.rows.can_refit:
                return
            self.runs[0].kept = None
            self.runs.append(Progress())
            self.renew_learner()
        yield self.rows.visited(refit=True), self.plan()

    def plan(self) -> Plan:
        """The plan of the current phase."""
        options, rows = self.options, self.rows
        keep = average_of_files(self.is_table, rows.shards) if options.average else "last"
        plan = Plan.of(
            options,
            eta=self.eta,
            keep=keep,
            tol=None,
            max_epochs=options.epochs or self._most_epochs(),
            patience=options.epochs or options.patience,
            early_stopping=rows.valid is not None or (options.epochs is None and rows.validates),
            validate=rows.validation_error if rows.validates else None,
            most_visits=rows.most_visits,
            least_visits=least_visits(self.is_table, *self._sizes()),
        )
        if self.phase != "refit":
            return plan
        return replace(plan, max_epochs=self.refit_epochs, early_stopping=False, validate=None)

    def _sizes(self) -> tuple[int, int, int]:
        """The numbers of shards, rows and held-out rows, which are counted on shards only."""
        rows = self.rows
        return rows.shards, rows.count, rows.held_out_count if rows.shards > 1 else 0

    def _most_epochs(self) -> int:
        """The largest number of epochs, if held-out rows decide."""
        assert self.options.max_epochs is not None, "options have their defaults by now"
        return self.options.max_epochs


def rule_of(options: TrainOptions) -> tuple[Any, Any]:
    """The numbers of the rule that options name, and its learning rate."""
    try:
        record, parameters = parse(str(options.rule))
        if record.estimator == "Perceptron":
            if parameters:
                raise ValueError(
                    "the perceptron's parameters are the options threshold and average"
                )
            threshold: Any = options.threshold
            return Thresholds(threshold, threshold), 1.0
        defaults = {name: parameter.default for name, parameter in record.parameters.items()}
        values: dict[str, Any] = {"learning_rate": "constant", "eta0": 1.0} | defaults | parameters
        rate = learning_rate(values["learning_rate"], values["eta0"])
        return record.with_parameters(**parameters), rate
    except ValueError as error:
        raise OptionError(str(error)) from None


def spec_of(
    options: TrainOptions,
    rates: np.ndarray,
    multilabel: bool = False,
    threads: int = 1,
    by_pairs: bool = False,
) -> Spec:
    """The learner that options ask for."""
    padding: Any = options.padding
    return Spec(
        rule=rule_of(options)[0],
        multiclass="labels" if multilabel else str(options.multiclass),
        padding=padding,
        averaging=bool(options.average),
        rates=rates,
        dtype=np.float32,
        threads=threads,
        by_pairs=by_pairs,
    )


def head_of(options: TrainOptions, n_classes: int) -> Head | None:
    """The votes of all pairs of classes, if options ask for pairs."""
    thresholds = spec_of(options, ONE_RATE).thresholds
    problems = Problems(n_classes, str(options.multiclass), thresholds)
    return Head.of_pairs(n_classes, problems.unit) if problems.by_pairs else None
