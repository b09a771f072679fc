"""What ``"auto"`` and "average" mean; no other file decides that.

For rows in memory, threshold and padding are in units of the data: an update by a row x moves its
own margin by ``η·(‖x‖² + c²)``. In units of the mean of that gain, the best threshold is much the
same for all data: docs/guide/settings.md has the study. Multiplying X by a number multiplies the
threshold by its square, and predictions do not change (to the last bit if the number is a power of
two). Rows of files have a length of about 1: :func:`options_for_files` says what least errs there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from rosenblatt.kernels.measures import squared_lengths
from rosenblatt.learners import MANY_CLASSES
from rosenblatt.learners.examples import Examples

GAINS = 2.0  # the threshold: how many updates by a typical row it takes to pass it
PADDING = 0.5  # the padding constant, as a share of the root mean square length of the rows
MOST_PAIRWISE = 16  # classes up to which "auto" is one against one
ROWS_THAT_DECIDE = 256  # in online learning, the rows that the mean is taken over
TABLE_VISITS = 20_000  # of a table before held-out rows may end a run, or else the epochs:
TABLE_EPOCHS = 16
MIXED_UPDATES = 4.0  # the threshold for text on shards, in updates as they are mixed
ENOUGH_HELD_OUT = 40_000  # rows; fewer cannot tell one number of epochs from another
USUAL_EPOCHS = 5  # of a fit by default, on many rows
MOST_CELLS = 36_000_000  # weights, a class and a column each, that decide on the bits of columns
SHORT_TEXTS = 500.0  # bytes; pieces of words pay where texts are no longer, on average
LIFTS = ("none", "knots", "pairs")  # of a table, the simple ones first
# The standard errors by which a lift may err more than the best and be taken as the simpler one.
SLACK = {"none": 1.0, "knots": 0.5, "pairs": 0.0}
LIFT_ROWS = 16_384  # of the sample, to compare lifts on
FEWEST_LIFT_ROWS = 60  # below which nothing is compared, and nothing lifted
FEW_LIFT_ROWS = 3000  # below which rows are held out by turns
_BITS = 8


@dataclass(frozen=True)
class MeanSquare:
    """The mean squared length of rows, rounded so that it does not depend on their order."""

    value: float = 1.0
    total: float = 0.0  # the sum so far, in online learning
    rows: int | None = None  # the rows summed so far; None once the mean is final

    @classmethod
    def of(
        cls, examples: Examples, rates: np.ndarray, lengths: np.ndarray | None = None
    ) -> MeanSquare:
        """The weighted mean over all rows; `lengths` are their squared lengths, if known."""
        if lengths is None:
            everything = np.arange(len(examples), dtype=np.uint64)
            lengths = _squared_lengths(examples, everything, rates)
        omega = examples.omega
        if omega.size == 1:
            return cls(_rounded(float(lengths.mean())))
        visited = omega > 0
        return cls(_rounded(float(lengths[visited] @ omega[visited]) / float(omega.sum())))

    @classmethod
    def of_mean(cls, mean: float) -> MeanSquare:
        """A mean that is known."""
        return cls(_rounded(mean))

    def visits(
        self, examples: Examples, order: np.ndarray, rates: np.ndarray
    ) -> Iterator[tuple[np.ndarray, MeanSquare]]:
        """The order in parts, each with the mean to learn by.

        Rows 1, 2, 4, ..., 256 update the mean to that of all rows so far: it depends on the rows in
        their order, and not on how they are divided into calls.
        """
        if self.rows is None or not len(order):
            yield order, self
            return
        first, value = self.rows, self.value
        lengths = _squared_lengths(examples, order[: ROWS_THAT_DECIDE - first], rates)
        totals = np.add.accumulate(np.append(self.total, lengths)).tolist()
        cuts = [(1 << k) - 1 - first for k in range(ROWS_THAT_DECIDE.bit_length())]
        for start, end in pairwise([0, *(cut for cut in cuts if 0 < cut < len(order)), len(order)]):
            row = first + start + 1
            if row & (row - 1) == 0:
                value = _rounded(totals[start + 1] / row)
            rows = first + end if first + end < ROWS_THAT_DECIDE else None
            yield order[start:end], MeanSquare(value, totals[min(end, len(lengths))], rows)


def _squared_lengths(examples: Examples, order: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """The squared lengths of some rows, each feature times its rate."""
    lengths = np.empty(len(order))
    squared_lengths(examples.rows, order, rates, lengths)
    return lengths


def _rounded(number: float) -> float:
    """A positive number to eight binary digits; 1 instead of zero.

    >>> _rounded(1000.0), _rounded(1001.0), _rounded(0.0)
    (1000.0, 1000.0, 1.0)
    """
    if not math.isfinite(number):
        raise ValueError(
            "The squared lengths of the rows overflow. Scale the features (for example with "
            "StandardScaler)."
        )
    if number == 0:
        return 1.0
    mantissa, exponent = math.frexp(number)
    return math.ldexp(round(math.ldexp(mantissa, _BITS)), exponent - _BITS)


def are_in_units(*options: Any) -> bool:
    """Whether any of these options is in units of the data."""
    return "auto" in options


def padding_of(option: Any, square: float) -> float:
    """The padding constant c, where rows have this mean squared length."""
    return float(option) if option != "auto" else _rounded(PADDING * math.sqrt(square))


def threshold_of(option: Any, square: float, padding: float, eta: float, joint: bool) -> float:
    """The threshold δ; a joint update moves two classes, and so its margin twice as far."""
    if option != "auto":
        return float(option)
    return GAINS * eta * (square + padding * padding) * (2.0 if joint else 1.0)


def gamma_of(gamma: Any, X: Any, weights: np.ndarray) -> float:
    """The number that ``"scale"`` and ``"auto"`` stand for, as in :class:`sklearn.svm.SVC`.

    A row of weight 2 counts as two rows.
    """
    if gamma == "auto":
        return 1.0 / X.shape[1]
    if gamma != "scale":
        return float(gamma)
    weights = np.broadcast_to(weights, X.shape[0])
    total = float(weights.sum()) * X.shape[1]
    mean = float(weights @ np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()) / total
    if not isinstance(X, np.ndarray):  # sparse
        squares = X.multiply(X).sum(axis=1, dtype=np.float64)
        variance = float(weights @ np.asarray(squares).ravel()) / total - mean * mean
    else:
        chunks = range(0, X.shape[0], 4096)
        squared = np.concatenate([((X[i : i + 4096] - mean) ** 2).sum(axis=1) for i in chunks])
        variance = float(weights @ squared) / total
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def lifts_of(option: str, is_plain_table: bool) -> tuple[str, ...]:
    """The lifts of a table to compare by held-out rows, or the only one.

    >>> lifts_of("auto", True), lifts_of("auto", False), lifts_of("knots", False)
    (('none', 'knots', 'pairs'), ('none',), ('knots',))
    """
    if option != "auto":
        return (option,)
    return LIFTS if is_plain_table else LIFTS[:1]


def lift_folds(rows: int) -> list[float]:
    """The shares of rows between which each part is held out once, to compare lifts.

    None of too few rows; few rows are all held out, a fifth at a time; of many a quarter.

    >>> lift_folds(59), lift_folds(10_000)
    ([], [0.0, 0.25])
    """
    if rows < FEWEST_LIFT_ROWS:
        return []
    return [0.0, 0.2, 0.4, 0.6, 0.8, 1.0] if rows < FEW_LIFT_ROWS else [0.0, 0.25]


def lift_by_mistakes(mistakes: Mapping[str, np.ndarray]) -> str:
    """The simplest lift that errs little more than the best, by which held-out rows each got wrong.

    The straight line is kept unless another lift errs less by a standard error of the difference;
    knots unless pairs err less by half of one. docs/benchmarks/tables.md has the study.

    >>> lift_by_mistakes({"none": np.array([1, 1, 1, 1, 0]), "knots": np.array([0, 0, 1, 0, 0])})
    'knots'
    """
    best = min(mistakes, key=lambda kind: float(mistakes[kind].mean()))
    for kind, wrong in mistakes.items():
        differ = wrong.astype(float) - mistakes[best]
        if differ.sum() <= SLACK[kind] * math.sqrt(float(np.abs(differ).sum())):
            return kind
    raise AssertionError("the best is as good as itself")


def analyzer_of(mean_length: float, n_classes: float) -> str:
    """How texts are cut, unless that is chosen, by their mean length in bytes and their classes.

    Pieces of words lower the error of short texts by a tenth, and that of topics of long texts, but
    not that of two classes of long texts: docs/benchmarks/text.md has the study.

    >>> analyzer_of(80.0, 2), analyzer_of(1300.0, 2), analyzer_of(1300.0, 20)
    ('pieces', 'marks', 'pieces')
    """
    return "pieces" if mean_length <= SHORT_TEXTS or n_classes > 2 else "marks"


def bits_of(n_classes: float) -> int:
    """The bits of the columns of texts where each has a weight for every class: fewer for many.

    >>> [bits_of(n_classes) for n_classes in (2, 20, 87, 522)]
    [22, 22, 18, 16]
    """
    if n_classes < MANY_CLASSES or math.isinf(n_classes):
        return 22
    return max(14, int(math.log2(MOST_CELLS / n_classes)))


def calibrates_in_training(option: str | None) -> bool:
    """Whether rows are held out by `fit`, or scored by `partial_fit`, for probabilities.

    With "auto" scores are made when they are first asked for.
    """
    return option not in (None, "auto")


def calibration_of(option: str, class_weight: Any) -> tuple[str, bool]:
    """The map from scores to probabilities, and whether a score of 0 has one half.

    It has one half by default, so that no probability contradicts a prediction.
    """
    if option != "auto":
        return option, False
    return "sigmoid", class_weight is None


def averages(keep: str) -> bool:
    """Whether the weights to predict with are an average: over all steps, or over the late ones."""
    return keep in ("average", "late_average")


def expected_visits(threshold: Any, tol: Any, max_iter: int, n_classes: int) -> float:
    """About how often a fit reads a row that its 8-bit copy may decide.

    With a margin runs are short, and copies decide half as many visits.
    """
    if threshold != "auto":
        return max_iter * max(1, n_classes - 1)
    epochs = max_iter if tol is None else min(max_iter, USUAL_EPOCHS)
    return epochs * max(1, n_classes - 1) / 2


def tol_of(option: Any, early_stopping: bool) -> float | None:
    """The least progress that does not end a run; None for no limit."""
    if option != "auto":
        return None if option is None else float(option)
    return 1e-3 if early_stopping else 5e-3


def patience_of(option: Any, early_stopping: bool) -> int:
    """The number of epochs to wait for progress."""
    if option != "auto":
        return int(option)
    return 5 if early_stopping else 3


def multiclass_of(
    option: str, n_classes: int, rows: float, n_features: int, multilabel: bool = False
) -> str:
    """The value of `multiclass_`; "auto" is "ovo" if classes are few and rows many, else "joint".

    A pair learns from its own rows only, two in k: it needs at least as many of them as features.
    """
    if multilabel:
        return "labels"
    if option != "auto":
        return option
    by_pairs = 2 < n_classes <= MOST_PAIRWISE and n_features <= 2 * rows / n_classes
    return "ovo" if by_pairs else "joint"


def options_for_files(is_table: bool, shards: int, n_classes: float = 0) -> dict[str, Any]:
    """The options of training from files where they are not given; a table is without text.

    An update of one of S shards changes the mixed weights by 1/S of it: to reach the threshold of
    one machine would take S times as many epochs. Tables have more epochs, and a threshold between.
    Many classes of text learn jointly: an update moves two of them, at twice the margin.

    >>> [options_for_files(True, shards)["threshold"] for shards in (1, 4, 16)]
    [4.0, 2.0, 1.0]
    >>> [options_for_files(False, shards)["threshold"] for shards in (1, 4, 16)]
    [2.0, 1.0, 0.25]
    """
    threshold = 4.0 / math.sqrt(shards) if is_table else min(2.0, MIXED_UPDATES / shards)
    is_joint = is_table or (shards == 1 and MANY_CLASSES <= n_classes < math.inf)
    if is_joint and not is_table:
        threshold = 4.0
    return {
        "threshold": threshold,
        "padding": 0.5 if is_table else 0.1,
        "multiclass": "joint" if is_joint else "ovr",
        "max_epochs": 20 if shards == 1 else _epochs_on_shards(is_table),
        "average": True,
        "rule": "perceptron",
    }


def auto_rule(epochs: int | None) -> str:
    """What ``"auto"`` is as a rule of training: AROW errs less where each row is seen once.

    With more epochs none errs less than the perceptron: docs/benchmarks/defaults.md has the study.

    >>> auto_rule(1), auto_rule(None)
    ('arow', 'perceptron')
    """
    return "arow" if epochs == 1 else "perceptron"


def options_for_services(is_table: bool, rule: str | None) -> dict[str, Any]:
    """The options of a model that learns its labels one by one and predicts all the while.

    It visits each row once. Of the rules and averages, AROW without an average makes the fewest
    mistakes so; the perceptron makes fewer with its average and a threshold below that of files.

    >>> options_for_services(False, "perceptron")["threshold"]
    0.5
    """
    is_perceptron = rule is not None and rule.partition(":")[0] == "perceptron"
    online = {"rule": "arow", "average": is_perceptron, "threshold": 0.5}
    return options_for_files(is_table, 1) | online


def average_of_files(is_table: bool, shards: int) -> str:
    """The average of a run over files.

    A table takes few epochs: the last half may be a single one. Early weights of a run on shards
    come from one shard alone, so that an average over all steps is worse.
    """
    return "average" if is_table and shards == 1 else "late_average"


def least_visits(is_table: bool, shards: int, rows: int, held_out: int) -> int:
    """The visits before held-out rows may end a run; few of them compare epochs badly."""
    if shards == 1:
        return TABLE_VISITS if is_table else 0
    return 0 if held_out >= ENOUGH_HELD_OUT else _epochs_on_shards(is_table) * rows


def least_refit_epochs(is_table: bool, shards: int, rows: int, held_out: int) -> int:
    """The least number of epochs of a refit: rather too many than what few held-out rows say."""
    least = min(math.ceil(TABLE_VISITS / max(1, rows)), TABLE_EPOCHS) if is_table else 0
    if shards == 1 or held_out >= ENOUGH_HELD_OUT:
        return least
    return max(least, _epochs_on_shards(is_table))


def _epochs_on_shards(is_table: bool) -> int:
    """Between two mixings a shard takes as many steps as it has rows; tables need more of them."""
    return 64 if is_table else 16
