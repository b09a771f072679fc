"""Binary problems from classes, and classes from the scores of binary problems."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any, NamedTuple, cast

import numpy as np

from rosenblatt.learners.examples import Examples
from rosenblatt.learners.protocol import Array

_CHUNK = 4096  # rows scored at a time, or fewer for many scores
_MOST_SCORES = 1 << 22


def module_of(array: Any) -> Any:
    """The module of an array: CuPy if it is on a GPU, else NumPy."""
    name = type(array).__module__.partition(".")[0]
    return np if isinstance(array, np.ndarray) else sys.modules[name]


@dataclass(frozen=True)
class Problems:
    """The binary problems of some classes, and when a row is corrected in them.

    Scores and truth are both NumPy arrays or both CuPy arrays.

    Parameters
    ----------
    n_classes : int
    multiclass : {"ovr", "ovo", "joint", "labels"}
        With three classes or more: one problem per class against the rest, one per pair, or all
        classes jointly. Or multilabel, with one problem per label: the truth of a row is then a
        bool per label, else its class number.
    thresholds : (float, float)
        The largest margin that is corrected, for y = -1 and y = +1.
    """

    n_classes: int
    multiclass: str = "ovr"
    thresholds: tuple[float, float] = (0.0, 0.0)

    def __len__(self) -> int:
        return n_problems(self.n_classes, self.multiclass)

    @property
    def joint(self) -> bool:
        """Whether all classes learn jointly: an update corrects two classes."""
        return self.multiclass == "joint" and self.n_classes > 2

    @property
    def by_pairs(self) -> bool:
        """Whether there is a problem for each pair of classes."""
        return self.multiclass == "ovo" and self.n_classes > 2

    @cached_property
    def signs(self) -> Array:
        """The sign of each class in each problem (classes, problems): -1, +1, or 0 if not in it.

        >>> Problems(3, "ovo").signs
        array([[-1, -1,  0],
               [ 1,  0, -1],
               [ 0,  1,  1]], dtype=int8)
        """
        if self.n_classes <= 2:
            return np.array([[-1], [1]], np.int8)
        if self.multiclass != "ovo":
            return (2 * np.eye(self.n_classes) - 1).astype(np.int8)
        pairs = list(combinations(range(self.n_classes), 2))
        signs = np.zeros((self.n_classes, len(pairs)), np.int8)
        for problem, (negative, positive) in enumerate(pairs):
            signs[negative, problem], signs[positive, problem] = -1, 1
        return signs

    @property
    def unit(self) -> float:
        """The unit of scores: the threshold, or 1 if it is zero."""
        return max(self.thresholds) if max(self.thresholds) > 0 else 1.0

    def decide(self, scores: Array) -> Array:
        """The predicted class numbers, or labels, for scores (rows, problems)."""
        return decided(self.of_classes(scores), multilabel=self.multiclass == "labels")

    def of_classes(self, scores: Array) -> Array:
        """The scores of the classes: their votes where pairs of them have scores."""
        return votes(scores, self) if self.by_pairs else scores

    def is_mistaken(self, scores: Array, truth: Array) -> Array:
        """Which rows are mispredicted."""
        return differ(self.decide(scores), truth)

    def is_wrong(self, scores: Array, truth: Array) -> Array:
        """Which rows are misclassified; with two classes those with ``y·s <= 0``."""
        if self.n_classes <= 2 or self.multiclass == "labels":
            return cast(Array, (self.sides(truth) * scores <= 0).any(axis=1))
        return self.is_mistaken(scores, truth)

    def is_corrected(self, scores: Array, truth: Array) -> Array:
        """Which rows with these scores are corrected in any problem."""
        return (self.directions(scores, truth) != 0).any(axis=1)

    def sides(self, truth: Array) -> Array:
        """The sign of each row in each problem (rows, problems): -1, +1 or 0."""
        if self.multiclass == "labels":
            return 2 * truth.astype(np.int8) - 1
        return cast(Array, module_of(truth).asarray(self.signs)[truth])

    def directions(self, scores: Array, truth: Array) -> Array:
        """The sign by which each row corrects each problem (rows, problems): -1, 0 or +1.

        >>> Problems(2).directions(np.array([[0.5], [0.5]]), np.array([0, 1])).tolist()
        [[-1], [0]]
        """
        xp, (below, above) = module_of(scores), self.thresholds
        if not self.joint:
            sides = self.sides(truth)
            limits = xp.where(sides > 0, above, below)
            return cast(Array, xp.where(within(sides * scores, limits), sides, 0))
        here, others = xp.arange(len(truth)), scores.copy()
        others[here, truth] = -np.inf
        rivals = others.argmax(axis=1)  # the first of equals
        limits = xp.where(truth > rivals, above, below)
        wrong = within(scores[here, truth] - scores[here, rivals], limits)
        signs: Array = xp.zeros(scores.shape, np.int8)
        signs[here[wrong], truth[wrong]], signs[here[wrong], rivals[wrong]] = 1, -1
        return signs

    def updates_of(self, directions: Array, weights: Array) -> int:
        """The number of updates of a batch of corrections: one per copy of a row."""
        if self.joint:
            return int((directions > 0).sum())
        copies = np.maximum(1, np.ceil(weights)).astype(np.int64)
        return int(((directions != 0) * copies[:, None]).sum())


def within(margins: Array, limits: Array) -> Array:
    """Which margins are mistakes: :func:`rosenblatt.rules.perceptron.is_within` for arrays."""
    return cast(Array, (margins < 0.0) | ((limits >= 0.0) & (margins <= limits)))


def own_scores(scores: Array) -> Array:
    """The score of each class (rows, classes); a single score is that of the second of two."""
    return np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores


def decided(scores: Array, threshold: float = 0.0, multilabel: bool = False) -> Array:
    """The predicted class numbers (rows,), or with `multilabel` a bool per row and label.

    Scores of two classes are (rows,) or (rows, 1), and the second class is predicted above the
    threshold; else (rows, classes), and the first of the largest scores wins, or every label above
    the threshold. NumPy or CuPy arrays.

    >>> decided(np.array([0.0, 0.5])).tolist(), decided(np.array([[1.0, 2.0, 2.0]])).tolist()
    ([0, 1], [1])
    """
    if multilabel:
        return scores > threshold
    if scores.ndim == 1 or scores.shape[1] == 1:
        return (scores.reshape(-1) > threshold).astype(np.int32)
    return scores.argmax(axis=1).astype(np.int32)


def differ(predictions: Array, truth: Array) -> Array:
    """Which predictions differ from the truth."""
    wrong = predictions != truth
    return wrong.any(axis=1) if wrong.ndim == 2 else wrong


def rows_of_pairs(
    pairs: Iterable[tuple[int, int]], codes: Array, order: Array, etas: Array
) -> list[tuple[Array, Array]]:
    """The rows of an order that belong to each pair of classes, and their learning rates.

    >>> order, etas = np.array([3, 0, 2, 1]), np.ones(1)
    >>> pairs = rows_of_pairs([(0, 1), (1, 2)], np.array([0, 2, 1, 1]), order, etas)
    >>> [rows.tolist() for rows, _ in pairs]
    [[3, 0, 2], [3, 2, 1]]
    """
    visited, chosen = codes[order], []
    for negative, positive in pairs:
        at = np.flatnonzero((visited == negative) | (visited == positive))
        chosen.append((order[at], etas[at] if etas.size > 1 else etas))
    return chosen


class CountedByScores:
    """Error counts of a learner, computed from scores."""

    problems: Problems

    def _scorer(self, examples: Examples, averaged: bool = False) -> Callable[[Array], Array]:
        """A function that scores rows by the current weights or their average."""
        raise NotImplementedError

    def _weight_where(
        self,
        test: Callable[..., Any],
        examples: Examples,
        rows: Array,
        enough: float = math.inf,
        averaged: bool = False,
    ) -> float:
        """The weight of the rows whose (scores, truth) pass a test; may stop beyond `enough`."""
        total, scores = 0.0, self._scorer(examples, averaged)
        size = max(64, min(_CHUNK, _MOST_SCORES // len(self.problems)))
        for start in range(0, len(rows), size):
            chunk = rows[start : start + size]
            passed = test(scores(chunk), examples.truth_of(chunk))
            total += float(examples.weights_of(chunk)[passed].sum())
            if total > enough:
                break
        return total

    def error(self, examples: Examples, rows: Array, averaged: bool = False) -> float:
        """The share of the rows, by weight, whose class is mispredicted.

        In multilabel problems one minus the micro F1.
        """
        if self.problems.multiclass == "labels":
            truth, weights = examples.truth_of(rows), examples.weights_of(rows)
            said = self._scorer(examples, averaged)(rows) > 0
            hits, total = weights @ (said & truth), weights @ (said.astype(np.int8) + truth)
            return 1.0 - 2.0 * float(hits.sum()) / max(1e-300, float(total.sum()))
        wrong = self._weight_where(self.problems.is_mistaken, examples, rows, averaged=averaged)
        return wrong / examples.weight_of(rows)

    def misclassified(self, examples: Examples, rows: Array, enough: float = math.inf) -> float:
        """The weight of the misclassified rows; counting may stop beyond `enough`."""
        return self._weight_where(self.problems.is_wrong, examples, rows, enough)

    def is_separating(self, examples: Examples, rows: Array) -> bool:
        """Whether no row would be corrected."""
        return self._weight_where(self.problems.is_corrected, examples, rows, 0.0) == 0.0

    def row_updates(
        self, examples: Examples, order: Array, etas: Array, epochs: int
    ) -> Array | None:
        """How often each row is corrected in the next epochs, or None if that is not known."""
        return None


class Moves(NamedTuple):
    """How weight vectors move when classes are added: new index, sign, old index."""

    places: list[int]
    signs: Array
    sources: list[int]
    total: int


def moves(old: Array, new: Array, multiclass: str) -> Moves:
    """How weight vectors move when classes are added, in any order that keeps a pair in its own.

    The single vector of two classes becomes one vector per class: its negative for the first, and
    itself for the second, which is what each would be after the same corrections.

    >>> moves(np.array(["a", "c"]), np.array(["a", "b", "c"]), "ovr").places
    [0, 2]
    """
    order = np.argsort(new)
    where = order[np.searchsorted(new, old, sorter=order)]
    if multiclass == "ovo":
        numbers = {pair: i for i, pair in enumerate(combinations(range(len(new)), 2))}
        places = [numbers[pair] for pair in combinations(where.tolist(), 2)]
        signs, sources = np.ones(len(places)), list(range(len(places)))
    elif len(old) == 2:
        places, signs, sources = where.tolist(), np.array([-1.0, 1.0]), [0, 0]
    else:
        places, signs = where.tolist(), np.ones(len(where))
        sources = list(range(len(where))) if len(old) > 2 else []
    n = len(sources)
    return Moves(places[:n], signs[:n], sources, n_problems(len(new), multiclass))


def votes(scores: Array, problems: Problems) -> Array:
    """Votes per class from the scores of all pairs, plus a tie-break from the summed scores.

    The tie-break lies in (-1/3, 1/3), so that it never outweighs a vote. Sums are divided by the
    unit of the scores: next to 1, very large or small sums would all give the same tie-break.

    >>> votes(np.array([[1.0, -2.0, 3.0]]), Problems(3, "ovo")).round(2)
    array([[1.17, 0.78, 1.17]])
    """
    xp, n_classes = module_of(scores), problems.n_classes
    votes = xp.zeros((scores.shape[0], n_classes))
    sums = xp.zeros_like(votes)
    for column, (negative, positive) in enumerate(combinations(range(n_classes), 2)):
        score = scores[:, column].astype(np.float64)
        votes[:, positive] += score > 0
        votes[:, negative] += score <= 0
        sums[:, positive] += score
        sums[:, negative] -= score
    return cast(Array, votes + sums / (3 * (xp.abs(sums) + problems.unit)))


def in_order(order: list[int], array: Array) -> Array:
    """The columns of pairs of classes as those of the same classes in another order.

    >>> in_order([1, 0, 2], np.array([[5.0, 6.0, 7.0]])).tolist()
    [[-5.0, 7.0, 6.0]]
    """
    places = {pair: i for i, pair in enumerate(combinations(range(len(order)), 2))}
    pairs = list(combinations(order, 2))
    signs = np.array([1 if a < b else -1 for a, b in pairs], array.dtype)
    return np.asarray(array[..., [places[min(p), max(p)] for p in pairs]] * signs)


def n_problems(n_classes: int, multiclass: str) -> int:
    """The number of weight vectors for a number of classes, or of labels.

    >>> n_problems(2, "ovr"), n_problems(4, "ovr"), n_problems(4, "ovo"), n_problems(2, "labels")
    (1, 4, 6, 2)
    """
    if multiclass == "labels":
        return n_classes
    if n_classes <= 2:
        return 1
    return n_classes * (n_classes - 1) // 2 if multiclass == "ovo" else n_classes


def groups_of(n_classes: int, multiclass: str, threads: int) -> list[tuple[tuple[int, int], int]]:
    """The classes and the number of problems of each part."""
    if multiclass == "labels":
        return [((0, 1), 1)] * n_classes
    if n_classes <= 2:
        return [((0, 1), 1)]
    if multiclass == "ovo":
        return [(pair, 1) for pair in combinations(range(n_classes), 2)]
    shares = min(threads, n_classes) if multiclass == "ovr" else 1
    bounds = np.linspace(0, n_classes, shares + 1).astype(int).tolist()
    return [((a, b), b - a) for a, b in pairwise(bounds)]
