"""The rows of a training run over files: read and stored in the first epoch, then shuffled."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt.data import Batch, Source
from rosenblatt.data.labels import sorted_labels
from rosenblatt.data.limits import check_values
from rosenblatt.data.source import FEWEST_ROWS, MOST_CLASSES, TOO_MANY
from rosenblatt.data.store import Store
from rosenblatt.errors import DataError, counted
from rosenblatt.jobs.goals import Goal, HeldRows
from rosenblatt.jobs.held_out import Leaders, is_held_out
from rosenblatt.jobs.options import TrainOptions
from rosenblatt.jobs.run import spec_of
from rosenblatt.jobs.start import state_from
from rosenblatt.kernels.packing import Numbering
from rosenblatt.kernels.rows import Packed
from rosenblatt.learners import make
from rosenblatt.learners.examples import ONE, Examples
from rosenblatt.learners.pairs import PairWeights
from rosenblatt.learners.parts import ONE_RATE
from rosenblatt.learners.rates import SAMPLE, IdfScales, packed_frequencies, rarity_of
from rosenblatt.learners.weights import State, Weights
from rosenblatt.models.model import Model
from rosenblatt.training import Drawn
from rosenblatt.training.order import shuffled
from rosenblatt.training.progress import Progress

_MOST_RESTARTS = 10
_HELD_AT_A_TIME = 1024  # rows of a store on disk
_ROWS_AT_A_TIME = 1 << 20  # of which numbers are made
_NO_ROWS = np.empty(0, np.uint64)


class FileRows:
    """The data of a run over files (:class:`rosenblatt.training.order.Data`).

    The first epoch visits the rows in the order of the files while these are read, and stores them,
    packed, in a :class:`~rosenblatt.data.store.Store`. Later epochs visit the stored rows in an
    order that depends only on the seed and the epoch. When a new class turns up, training restarts
    with the rows stored so far, so that the model is the same as if all classes had been known from
    the first row on.
    """

    repeats, visits_all = False, True
    shards, engine = 1, None
    most_visits = 1 << 16

    def __init__(
        self,
        source: Source,
        options: TrainOptions,
        *,
        valid: Source | None = None,  # validation rows, instead of held-out ones
        start: Model | None = None,  # initial weights; the source has its features and classes
        threads: int = 1,
        folder: Path | None = None,  # store all rows on disk, here
    ) -> None:
        self.source, self.valid = source, valid
        self.start, self.threads = start, threads
        self.learner: Any = None  # see `follow`
        self.progress = Progress()
        self.store = Store(options.rows_memory, folder)
        columns = None if start is None else start.columns
        self.copies = max(1, source.thresholds)
        # Thresholds between ordered classes have columns behind those of features.
        self.n_columns = (1 << source.features.ngrams.bits) + source.thresholds
        self.numbering = Numbering(self.n_columns, columns)
        self.goal = None if options.tune_for is None else Goal.parse(options.tune_for)
        self.held_out, self.seed = options.held_out(valid is not None), options.seed
        self.leaders, self.group = Leaders(), options.group
        self.finds_copies = self.held_out > 0 and source.features.is_text and self.copies == 1
        self.batches = self.bytes = self.restarts = 0
        # The scales behind the learner's feature rates. Without a start model, sources that need
        # rates get them from their first 4,096 rows.
        self.rarity = None if start is None else IdfScales.of_state(start.state)
        takes_rates = start is None and options.rates != "none"
        self._gets_rates = takes_rates and source.features.need_rates
        self._handed = 0  # rows that were visited or held out in the first epoch
        self._validation: Store | None = None
        self._shares: dict[str, float] | None = None  # once the rows are closed
        # Class weights multiply the weights of rows. Balanced ones are known after the last row.
        self._class_weight, self._factors = options.class_weight, np.empty(0)

    def begin(self) -> None:
        """Prepare the first epoch; here nothing, as that epoch reads the rows."""

    def new_learner(
        self, options: TrainOptions, refit: bool = False, n_classes: int | None = None
    ) -> Any:
        """A learner of the classes known so far, with the weights of the start model."""
        multilabel = self.source.features.multilabel
        rates = ONE_RATE if self.rarity is None else self.rarity.rates
        spec = spec_of(options, rates, multilabel, self.threads, self.source.features.is_text)
        learner = make(spec, n_classes or known_classes(self.source), 0)
        if self.start is not None:
            learner.restore(state_from(self.start, learner))
        learner.reserve(len(self.numbering))
        return learner

    def follow(self, learner: Any, progress: Progress) -> None:
        """Tell this learner of new features and classes, and let its run begin again with them."""
        self.learner, self.progress = learner, progress

    def visited(self, refit: bool) -> Any:
        """The rows as they are read, or all of them for a refit."""
        if not refit:
            return self
        examples = self.examples()
        everything, weights = np.arange(len(examples), dtype=np.uint64), examples.omega
        rows = everything if weights.size == 1 else everything[weights > 0]
        return Drawn(examples, rows, "after_first", self.seed)

    def parts(self, epoch: int, position: int = 0) -> Iterator[tuple[Examples, np.ndarray]]:
        """Examples and the order in which to visit them, from a position in the epoch on."""
        if epoch == 1:
            yield from self._read(position)
            return
        if self.fit_in_memory:
            orders = iter([shuffled(self._everything(), self.seed, epoch)])
        else:
            orders = map(self._visited, self.store.orders([self.seed, epoch]))
        for order in orders:
            if position < len(order):
                yield self.examples(), order[position:]
            position = max(0, position - len(order))

    def examples(self) -> Examples:
        """All rows stored so far."""
        return self._weighted(self._examples(*self.store.arrays()))

    def _examples(self, rows: Packed, codes: np.ndarray, omega: np.ndarray) -> Examples:
        """Packed rows as examples, with all features and label sets known by now."""
        source, numbering = self.source, self.numbering
        sets = None
        if source.features.multilabel:
            sets = source.label_sets.matrix(known_classes(source))
        return Examples(rows, codes, omega, len(numbering), numbering.columns, sets=sets)

    def _weighted(self, examples: Examples) -> Examples:
        """Examples whose weights are multiplied by their class weights."""
        if self._class_weight is None or not self._factors.size:
            return examples
        by_class = self._factors[examples.codes]
        return examples.reweighted(np.ascontiguousarray(examples.omega * by_class))

    def _everything(self) -> np.ndarray:
        """The numbers of the stored rows that are visited."""
        return self._visited(np.arange(len(self.store), dtype=np.uint64))

    def close(self) -> None:
        """Free the rows and remove temporary files."""
        with suppress(OSError):  # on a full disk, which was reported by then
            self._shares = self.class_shares()
        for store in (self.store, self._validation):
            if store is not None:
                store.close()

    @property
    def fit_in_memory(self) -> bool:
        """Whether all rows fit in memory, so that an epoch can visit them in any order."""
        return self.store.size <= self.store.memory

    @property
    def columns(self) -> np.ndarray:
        """The number of the column of each feature."""
        return self.numbering.columns

    @property
    def count(self) -> int:
        """The number of rows stored so far."""
        return len(self.store) // self.copies

    @property
    def held_out_count(self) -> int:
        """The number of held-out rows."""
        return len(self.held_out_rows()) // self.copies

    @property
    def validates(self) -> bool:
        """Whether there are validation rows, or rows held out."""
        return self.valid is not None or self.held_out > 0

    @property
    def can_refit(self) -> bool:
        """Whether held-out rows can be learned from in a second run, all rows in memory."""
        return self.fit_in_memory and self.valid is None and self.held_out_count > 0

    def class_shares(self) -> dict[str, float]:
        """The share of the rows that each class has; nothing where rows have several labels."""
        if self._shares is not None:
            return self._shares
        if self.source.features.multilabel or not len(self.store):
            return {}
        codes = self.store.arrays()[1]
        classes = self.source.classes
        counts = np.zeros(len(classes))
        for start in range(0, len(codes), _ROWS_AT_A_TIME):
            part = codes[start : start + _ROWS_AT_A_TIME]
            counts += np.bincount(part, minlength=len(classes))
        return dict(zip(classes, (counts / len(codes)).tolist(), strict=True))

    def fingerprint(self) -> dict[str, Any]:
        """What identifies the files."""
        return self.source.fingerprint()

    def held_out_scores(
        self, learner: Any, weights: Weights | None, averaged: bool, names: list[str], most: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Scores, classes and weights of at most `most` held-out rows; None without such rows."""
        rows = self.validation_examples(learner)[1]
        if not len(rows):
            return None
        rows = np.ascontiguousarray(rows[:: -(-len(rows) // most)])
        return self.scored(learner, averaged, names, rows, weights)

    def scored(
        self,
        learner: Any,
        averaged: bool,
        names: list[str],
        rows: np.ndarray,
        weights: Weights | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scores, classes and weights of rows, of the validation rows if there are such.

        By some weights, or by those of the learner; classes are numbered as in `names`.
        """
        examples = self.validation_examples(learner)[0]
        if weights is not None:
            learner, averaged = _with_weights(learner, weights), False
        blocks = [learner.scores(examples, part, averaged) for part in self._parts_of(rows)]
        scores = learner.problems.of_classes(np.concatenate(blocks))
        truth = examples.codes[rows]
        number = {name: code for code, name in enumerate(self.source.classes)}
        order = [number[name] for name in names]
        if self.source.features.multilabel:
            truth = self.source.label_sets.matrix(len(names))[truth][:, order]
        else:
            truth = np.argsort(order)[truth]
        if scores.shape[1] > 1:
            scores = scores[:, order]
        elif order != [0, 1]:
            scores = -scores
        return scores, truth, examples.weights_of(rows)

    def validation_error(self, learner: Any, averaged: bool) -> float:
        """The share of wrong predictions on validation rows, or what the goal says of them.

        NaN if there are none.
        """
        examples, rows = self.validation_examples(learner)
        if self.goal is not None and len(rows):
            names = sorted_labels(self.source.classes)
            held = HeldRows(*self.scored(learner, averaged, names, rows), names, self.copies)
            return self.goal.error(held)
        if not len(rows):
            return math.nan
        examples = self._weighted(examples)
        if examples.omega.size > 1 or self.source.features.multilabel:
            return learner.error(examples, rows, averaged)
        errors = (
            round(learner.error(examples, part, averaged) * len(part))
            for part in self._parts_of(rows)
        )
        return sum(errors) / len(rows)

    def _parts_of(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        """Held-out rows, which are all over a store on disk, little of it in memory at a time."""
        if self.valid is not None or self.fit_in_memory:
            yield rows
            return
        for part in np.array_split(rows, -(-len(rows) // _HELD_AT_A_TIME)):
            yield part
            self.store.release()

    def validation_examples(self, learner: Any) -> tuple[Examples, np.ndarray]:
        """Examples without class weights, and the numbers of the validation rows."""
        if self.valid is None:
            return self._examples(*self.store.arrays()), self.held_out_rows()
        store = self._validation_rows(self.valid)
        learner.reserve(len(self.numbering))
        return self._examples(*store.arrays()), np.arange(len(store), dtype=np.uint64)

    def held_out_rows(self) -> np.ndarray:
        """The numbers of the stored rows that are held out."""
        parts, count = [np.empty(0, np.int64)], len(self.store)
        for start in range(0, count, _ROWS_AT_A_TIME):
            rows = np.arange(start, min(start + _ROWS_AT_A_TIME, count))
            parts.append(rows[self._is_held_out(rows)])
        return np.concatenate(parts).astype(np.uint64)

    def _is_held_out(self, rows: np.ndarray) -> np.ndarray:
        """Which rows are held out; the copies of a row together, and those with one leader."""
        return is_held_out(
            self.leaders.of(rows // rows.dtype.type(self.copies)), self.held_out, self.seed
        )

    def _read(self, position: int) -> Iterator[tuple[Examples, np.ndarray]]:
        """The first epoch: read and store batches, and visit their rows in order."""
        self._handed = int(self._everything()[position - 1]) + 1 if position else 0
        for batch in self.source.batches(self.batches):
            before, n_known = len(self.store), len(self.numbering)
            examples = self._keep(batch, self.store)
            self._measure(examples.rows, len(batch), n_known)
            self._find_leaders(batch)
            self.batches += 1
            self.bytes += batch.size
            if not self._is_ready():
                yield examples, _NO_ROWS
                continue
            examples = self._weighted(examples)
            if self._handed == before:  # the usual case: the rows are still in memory
                self._handed += len(batch)
                order = self._visited(np.arange(before, self._handed, dtype=np.uint64))
                for part in _cut_at_doublings(order, self.progress.visits):
                    yield examples, part - np.uint64(before)
            else:
                yield from self._hand_out()
        self.source.warn_of_strays()
        if len(self.source.classes) < 2:
            message = f"at least two classes are needed, but {self._what_was_found()}"
            raise DataError(message, path=self.source.files[0], column=self.source.features.label)
        count = len(self.source.classes)
        if count > MOST_CLASSES and len(self.store) < FEWEST_ROWS * self.copies * count:
            message = TOO_MANY.format(f"{count:,}") + f": there are {len(self.store):,} rows"
            raise DataError(message, path=self.source.files[0], column=self.source.features.label)
        self._is_ready(ended=True)
        yield from self._hand_out()

    def _is_ready(self, ended: bool = False) -> bool:
        """Give the learner its rates, features and classes; False if more rows are needed for that.

        Rates need a sample of rows. Balanced class weights, and a learner that restarted too often,
        wait for the end of the files.
        """
        if not self._has_class_weights(ended):
            return False
        if self._gets_rates and self.rarity is None:
            if len(self.store) < SAMPLE and not ended:
                return False
            stored, rows = self.store.arrays()[0], len(self.store)
            is_text = self.source.features.is_text
            self.rarity = rarity_of(stored, rows, len(self.numbering), is_text)
            self.learner.change(rates=self.rarity.rates)
            self._measure(stored, rows, 0)
        n_classes = known_classes(self.source)
        if n_classes != self.learner.n_classes:
            if self.restarts >= _MOST_RESTARTS and not ended:
                return False
            self.restarts += 1
            self.learner.restart(n_classes)
            if self.start is not None:
                self.learner.restore(state_from(self.start, self.learner))
            self.learner.mark()
            self.progress.begin_again()
            self._handed = 0
        self.learner.reserve(len(self.numbering))
        return True

    def _measure(self, rows: Any, count: int, n_known: int) -> None:
        """Let new features in other units than most learn at a rate by the size of their values."""
        if self.rarity is None or not self.rarity.usual:
            return
        sizes = packed_frequencies(rows, count, len(self.numbering), n_known)
        if (rarity := self.rarity.with_sizes(*sizes, n_known)) is not self.rarity:
            self.rarity = rarity
            self.learner.change(rates=rarity.rates)

    def _has_class_weights(self, ended: bool) -> bool:
        """Set the class weights, if any; False if they are not known yet."""
        weights, classes = self._class_weight, self.source.classes
        if weights == "balanced":
            if ended:
                codes, omega = self.store.arrays()[1:]
                copies = np.broadcast_to(omega, codes.shape)
                counts = np.bincount(codes, copies, minlength=len(classes))
                self._factors = counts.sum() / (len(classes) * np.maximum(counts, 1e-300))
                self._factors[counts == 0] = 0.0
            return ended
        if isinstance(weights, dict):
            unknown = [name for name in weights if name not in classes]
            if ended and unknown:
                message = f"no row has the label {unknown[0]!r}, which was given a weight"
                raise DataError(message, path=self.source.files[0])
            self._factors = np.array([float(weights.get(name, 1.0)) for name in classes])
        return True

    def _hand_out(self) -> Iterator[tuple[Examples, np.ndarray]]:
        """The stored rows that were not visited yet."""
        first, end = self._handed, len(self.store)
        self._handed = end
        if first == end:
            return
        for order in self.store.orders(None):
            rows = self._visited(order[order >= first])
            for part in _cut_at_doublings(rows, self.progress.visits):
                yield self.examples(), part

    def _visited(self, rows: np.ndarray) -> np.ndarray:
        """The given rows without those held out or of weight zero."""
        if self.held_out > 0 and len(rows):
            rows = rows[~self._is_held_out(rows)]
        omega, at = self.store.weights, rows.astype(np.int64)
        is_visited = np.ones(len(rows), bool) if omega.size == 1 else omega[at] > 0
        if self._factors.size and not self._factors.all():
            is_visited &= self._factors[self.store.arrays()[1][at]] > 0
        return rows[is_visited]

    def _keep(self, batch: Batch, store: Store) -> Examples:
        """Pack a batch and append it to a store."""
        assert batch.labels is not None, "training needs labels"
        if not self.source.features.is_text:
            files = self.source.files
            check_values(batch, files[0] if files else None, self.source.rows - len(batch))
        room = store.reserve(len(batch), len(batch.rows.indices))
        rows = self.numbering.pack(batch.rows, room, self.source.features.common_value)
        store.commit(rows, batch.labels, batch.weights)
        return self._examples(rows, batch.labels, ONE if batch.weights is None else batch.weights)

    def _find_leaders(self, batch: Batch) -> None:
        """Note which rows of a batch belong together."""
        if self.group is not None:
            assert batch.table is not None, "groups are a column of a table"
            self.leaders.add_groups(batch.table[self.group].to_pylist()[:: self.copies])
        elif self.finds_copies:
            self.leaders.add(batch.rows)

    def _validation_rows(self, valid: Source) -> Store:
        if self._validation is None:
            self._validation = Store(self.store.memory)
            valid.fix_classes(self.source.classes, self.source.label_sets)
            for batch in valid:
                if batch.labels is None:
                    raise DataError("the validation file has no labels", path=valid.files[0])
                self._keep(batch, self._validation)
        return self._validation

    def _what_was_found(self) -> str:
        """Why there are fewer than two classes."""
        if len(self.store):
            labels = " and ".join(repr(name) for name in self.source.classes)
            return f"all rows have the label {labels}"
        if self.source.bad:
            left_out = counted(self.source.bad, "bad row")
            return f"{left_out} left out and none kept: without skipping, the first is named"
        if self.source.missing[self.source.features.label or ""]:
            return "no row has a label"
        return "there are no rows"


def _cut_at_doublings(order: np.ndarray, visits: int) -> list[np.ndarray]:
    """Parts of an order after which 1,000 rows were visited, 2,000, 4,000 ..., to report then.

    >>> [part.tolist() for part in _cut_at_doublings(np.arange(4), visits=1998)]
    [[0, 1], [2, 3]]
    """
    doublings = 1000 << np.arange((visits + len(order)).bit_length())
    cuts = doublings[(doublings > visits) & (doublings < visits + len(order))] - visits
    return [part for part in np.split(order, cuts) if len(part)]


def known_classes(source: Source) -> int:
    """The number of classes found so far, at least two."""
    return max(2, len(source.classes))


def _with_weights(learner: Any, weights: Weights) -> Any:
    """A learner like another one, with other weights and without an average."""
    matrix, problems = weights.weights, len(weights.bias)
    n_features = len(matrix) if isinstance(matrix, PairWeights) else matrix.shape[1]
    other = learner.untrained(n_features, dense=False, averaging=False)
    zeros = np.zeros(problems)
    other.restore(State(matrix, weights.bias, np.zeros((0, 0)), zeros, zeros))
    other.reserve(learner.n_features)
    return other
