"""A training run over files: its settings, its phases and its progress."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt.data import Source
from rosenblatt.data.features import Features
from rosenblatt.errors import OptionError
from rosenblatt.jobs.held_out import HeldOut
from rosenblatt.jobs.options import TrainOptions
from rosenblatt.jobs.rows import FileRows, known_classes, rarity_of_model
from rosenblatt.jobs.trained_model import trained_model
from rosenblatt.learners import Spec, make
from rosenblatt.learners.parts import ONE_RATE
from rosenblatt.learners.rates import Rarity
from rosenblatt.learners.weights import State
from rosenblatt.models.model import Model
from rosenblatt.training import Drawn, Epoch, Plan, Progress

_VISITS_PER_STEP = 1 << 16
# The visits, or else the epochs, of a table before held-out rows may end a run.
_VISITS_ENOUGH = 20_000
EPOCHS_ENOUGH = 16

Scored = tuple[np.ndarray, np.ndarray, np.ndarray]


def with_defaults(options: TrainOptions, features: Features) -> TrainOptions:
    """The options with all defaults: those with the least error on text or on tables.

    They are in units of the data, as rows have a length of about 1.
    """
    usual: dict[str, Any] = {"threshold": 2.0, "padding": 0.1, "multiclass": "ovr"}
    if features.is_plain_table:
        usual = {"threshold": 4.0, "padding": 0.5, "multiclass": "joint"}
    usual |= {"max_epochs": 20, "average": True, "rule": "perceptron"}
    return replace(options, **{n: v for n, v in usual.items() if getattr(options, n) is None})


class FileRun:
    """A training run over files, as a checkpoint saves it.

    `learner` and `progress` are those of the current phase: the epochs, then perhaps a refit on all
    rows. `shards`, and `done` of `tasks`, are the counts of a run by several workers.
    """

    shards = done = tasks = 0

    def __init__(
        self,
        source: Source,
        options: TrainOptions,
        *,
        valid: Source | None = None,  # validation rows, instead of held-out ones
        start: Model | None = None,  # initial weights; the source has its features and classes
        threads: int = 1,
        folder: Path | None = None,  # store the rows on disk, for runs to be resumed
    ) -> None:
        self.source, self.options = source, with_defaults(options, source.features)
        self._member = _member_of(self.options.rule)
        self.start, self.threads = start, threads
        self.tuning: list[dict[str, Any]] = []  # the trials that chose the settings
        self.held_out = HeldOut()  # fitted to held-out rows after the first phase
        self.learner = self.new_learner(rarity_of_model(start))
        self.runs = [Progress()]
        self.rows = FileRows(
            source, options, self.learner, self.progress, valid=valid, start=start, folder=folder
        )

    def begin(self) -> None:
        """Prepare the first epoch; here nothing, as that epoch reads the rows."""

    def model(self) -> Model:
        """The current model."""
        return trained_model(self)

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
        if len(self.runs) == 1:
            return 0
        best = 1 + int(np.argmin([epoch.validation_error for epoch in self.history]))
        if not self.source.features.is_plain_table:
            return best
        # Few held-out rows cannot compare numbers of epochs: rather too many epochs.
        enough = math.ceil(_VISITS_ENOUGH / max(1, len(self.rows.store)))
        return max(best, min(enough, EPOCHS_ENOUGH, self._most_epochs()))

    @property
    def validation_error(self) -> float:
        """The least validation error so far."""
        return min((epoch.validation_error for epoch in self.history), default=math.nan)

    def phases(self) -> Iterator[tuple[Any, Plan]]:
        """The data and plan of each remaining phase, for which `learner` and `progress` are set."""
        if len(self.runs) == 1:
            yield self.visited(), self.plan()
            self.held_out = HeldOut.of_run(self)
            if not self._is_to_be_refitted():
                return
            self.runs[0].kept = None
            self.runs.append(Progress())
            self.learner = self.rows.learner = None  # frees its weights first
            self.learner = self.new_learner(self.rows.rarity)
        yield self.visited(), self.plan()

    def visited(self) -> Any:
        """The data of the current phase: the rows as they are read, or all of them for a refit."""
        if self.phase != "refit":
            return self.rows
        examples = self.rows.examples()
        everything, weights = np.arange(len(examples), dtype=np.uint64), examples.omega
        rows = everything if weights.size == 1 else everything[weights > 0]
        return Drawn(examples, rows, "after_first", self.options.seed)

    def held_out_scores(self, names: list[str], most: int) -> Scored | None:
        """Scores, classes and weights of at most `most` held-out rows, or None if there are none.

        Classes are numbered as in `names`. The scores are those of the weights kept so far.
        """
        examples, rows = self.rows.validation_examples(self.learner)
        rows = rows[:most]
        if not len(rows):
            return None
        learner, kept, averaged = self.learner, self.progress.kept, self.options.average
        if kept is not None:
            weights, bias = kept.weights
            learner = self.learner.untrained(weights.shape[1], dense=False, averaging=False)
            zero = State.zero(len(bias), weights.shape[1], averaging=False)
            learner.restore(replace(zero, weights=weights, bias=bias))
            learner.reserve(self.learner.n_features)
            averaged = False
        scores, truth = learner.scores(examples, rows, averaged), examples.codes[rows]
        order = [self.source.classes.index(name) for name in names]
        if self.source.features.multilabel:
            truth = self.source.label_sets.matrix(len(names))[truth][:, order]
        else:
            truth = np.argsort(order)[truth]
        if scores.shape[1] > 1:
            scores = scores[:, order]
        elif order != [0, 1]:
            scores = -scores
        return scores, truth, examples.weights_of(rows)

    def plan(self) -> Plan:
        """The plan of the current phase."""
        s, rows = self.options, self.rows
        # A table takes few epochs: the last half may be a single one.
        averages = "average" if self.source.features.is_plain_table else "late_average"
        keep = averages if s.average else "last"
        eta = 1.0 if self._member is None else self._member._plan().eta
        plan = Plan(
            eta=eta, keep=keep, max_epochs=self.refit_epochs, tol=None, most_visits=_VISITS_PER_STEP
        )
        if self.phase == "refit":
            return plan
        return replace(
            plan,
            max_epochs=s.epochs or self._most_epochs(),
            patience=s.epochs or s.patience,
            early_stopping=rows.valid is not None or (s.epochs is None and rows.held_out > 0),
            validate=rows.validation_error if rows.valid or rows.held_out > 0 else None,
            least_visits=_VISITS_ENOUGH if self.source.features.is_plain_table else 0,
        )

    def _most_epochs(self) -> int:
        """The largest number of epochs, if held-out rows decide."""
        assert self.options.max_epochs is not None, "options have their defaults by now"
        return self.options.max_epochs

    def new_learner(self, rarity: Rarity | None, n_classes: int | None = None) -> Any:
        """A learner of the classes known so far, with the weights of the start model."""
        s, multilabel = self.options, self.source.features.multilabel
        threshold: Any = s.threshold
        spec = Spec(
            rule=None if self._member is None else self._member._member_rule(),
            multiclass="labels" if multilabel else s.multiclass,
            thresholds=(threshold, threshold),
            padding=s.padding,
            averaging=s.average,
            rates=ONE_RATE if rarity is None else rarity.rates,
            dtype=np.float32,
            threads=self.threads,
        )
        learner = make(spec, n_classes or known_classes(self.source), 0)
        if self.start is not None:
            learner.restore(_state_of(self.start))
        if hasattr(self, "rows"):
            learner.reserve(len(self.rows.numbering))
        return learner

    def _is_to_be_refitted(self) -> bool:
        """Whether held-out rows can be learned from in a second run, all rows in memory."""
        rows = self.rows
        return (
            self.options.epochs is None
            and rows.fit_in_memory
            and rows.valid is None
            and len(rows.held_out_rows()) > 0
        )


def _member_of(rule: Any) -> Any:
    """The estimator of a rule; None for the perceptron, which needs no import of scikit-learn."""
    if rule == "perceptron":
        return None
    from rosenblatt.estimators.rule_names import estimator_of

    try:
        member = estimator_of(rule)
    except ValueError as error:  # scikit-learn's InvalidParameterError is one
        raise OptionError(str(error)) from None
    if type(member).__name__ == "Perceptron":
        raise OptionError("the perceptron's parameters are threshold and average, not of its rule")
    if member._is_full():
        raise OptionError("files have too many features for covariance=full")
    return member


def _state_of(model: Model) -> State:
    """The state of a learner that continues from a model."""
    problems = len(model.bias)
    if not model.state:
        weights, bias = model.weights, model.bias
        sums, bias_sums, clock = np.zeros(weights.shape), np.zeros(problems), 0.0
    else:
        weights, (bias, _, bias_sums) = model.state["W"], model.state["bias"]
        sums, clock = model.state.get("U", np.zeros((0, 0))), float(model.state["clock"][0])
        if not sums.size:
            sums, bias_sums, clock = np.zeros(weights.shape), np.zeros(problems), 0.0
    return State(weights.T, bias, sums.T, bias_sums, np.full(problems, clock))
