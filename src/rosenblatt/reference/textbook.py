"""The textbook perceptron in plain Python: online, batch and joint.

The conventions are stated in :mod:`rosenblatt.reference`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

Vector = tuple[Any, ...]
Order = bool | str | Sequence[int] | Callable[[int], Sequence[int]]
Rate = float | Callable[[int], float]


@dataclass(frozen=True)
class Step:
    """One step: the example, its score and prediction, the weights before and after."""

    step: int
    epoch: int
    row: int
    x: Vector
    y: int
    score: Any
    prediction: int
    mistake: bool
    eta: Any
    weights_before: Vector
    bias_before: Any
    weights_after: Vector
    bias_after: Any


@dataclass(frozen=True)
class BatchStep:
    """One iteration of the batch rule: all mistaken rows are corrected at once."""

    epoch: int
    scores: Vector
    mistaken: tuple[int, ...]
    eta: Any
    weights_before: Vector
    bias_before: Any
    weights_after: Vector
    bias_after: Any


@dataclass(frozen=True)
class JointStep:
    """One step of the joint multiclass rule; weights are one tuple per class."""

    step: int
    epoch: int
    row: int
    x: Vector
    y: int
    scores: Vector
    prediction: int
    rival: int
    mistake: bool
    eta: Any
    weights_after: tuple[Vector, ...]
    bias_after: Vector


def dot(a: Iterable[Any], b: Iterable[Any]) -> Any:
    """The inner product, summed from left to right."""
    return sum(p * q for p, q in zip(a, b, strict=True))


def sign(score: Any) -> int:
    """The prediction for a score: +1 if and only if it is positive."""
    return 1 if score > 0 else -1


def is_mistake(y: int, score: Any, threshold: Any = 0, mistake: str = "margin") -> bool:
    """Whether an example counts as mistaken at this score."""
    return bool(y * score <= threshold) if mistake == "margin" else sign(score) != y


def online(
    X: Sequence[Sequence[Any]],
    y: Sequence[int],
    *,
    weights: Sequence[Any] | None = None,
    bias: Any = 0,
    threshold: Any = 0,
    mistake: str = "margin",
    eta: Rate = 1,
    padding: Any | None = 1,
    order: Order = False,
    sample_weight: Sequence[int] | None = None,
    max_epochs: int = 1000,
    seed: int | None = None,
) -> Iterator[Step]:
    """Run the online perceptron, yielding a :class:`Step` per example visited.

    Parameters
    ----------
    X, y
        Rows of numbers and their labels, -1 or +1.
    weights, bias
        Initial weights; by default zero.
    threshold, mistake
        When an example counts as mistaken; see the conventions.
    eta
        Learning rate: a number, or a function of the visit number t = 1, 2, ... (all copies of a
        weighted row are one visit).
    padding
        The padding constant c; None for a classifier through the origin.
    order
        The order of the rows. False: as given. True: a new permutation per epoch. ``"random"``:
        uniformly with replacement. A sequence of row numbers: the same in every epoch. A function:
        the sequence for the epoch number 1, 2, ...
    sample_weight
        Integer weights: the number of copies of each row.
    max_epochs
        The maximum number of epochs; the run ends sooner after an epoch that visits every row
        without a mistake.
    seed
        Seed for the random orders.

    Examples
    --------
    >>> steps = list(online([[2, 1], [-1, 1]], [1, -1]))
    >>> steps[-1].weights_after, steps[-1].bias_after, sum(s.mistake for s in steps)
    ((3, 0), 0, 2)
    """
    rows = [tuple(row) for row in X]
    w = tuple(weights) if weights is not None else (0,) * len(rows[0])
    b = bias
    copies = list(sample_weight) if sample_weight is not None else [1] * len(rows)
    t, before_epoch = 0, 0
    for epoch, visits in enumerate(_epochs(order, len(rows), max_epochs, seed), start=1):
        mistakes = 0
        for visit, row in _copies(visits, copies, before_epoch):
            t += 1
            x, rate = rows[row], _rate(eta, visit)
            score = dot(w, x) + b
            mistaken = is_mistake(y[row], score, threshold, mistake)
            before = w, b
            if mistaken:
                mistakes += 1
                w = tuple(wj + rate * y[row] * xj for wj, xj in zip(w, x, strict=True))
                b = b + rate * y[row] * padding**2 if padding is not None else b
            yield Step(t, epoch, row, x, y[row], score, sign(score), mistaken, rate, *before, w, b)
        before_epoch += sum(copies[row] > 0 for row in visits)
        if mistakes == 0 and len(set(visits)) == len(rows):
            return


def batch(
    X: Sequence[Sequence[Any]],
    y: Sequence[int],
    *,
    weights: Sequence[Any] | None = None,
    bias: Any = 0,
    threshold: Any = 0,
    mistake: str = "margin",
    eta: Rate = 1,
    padding: Any | None = 1,
    sample_weight: Sequence[Any] | None = None,
    max_epochs: int = 1000,
) -> Iterator[BatchStep]:
    """Run the batch perceptron: in each iteration all mistaken rows are added at once.

    It is gradient descent on :func:`criterion`. If the run separates the rows, the last record has
    no mistaken rows. Parameters as for :func:`online`; `eta` may be a function of the iteration
    number.

    Examples
    --------
    >>> [step.mistaken for step in batch([[2, 1], [-1, 1], [1, 1]], [1, -1, 1])]
    [(0, 1, 2), ()]
    """
    rows = [tuple(row) for row in X]
    w = tuple(weights) if weights is not None else (0,) * len(rows[0])
    b = bias
    copies = list(sample_weight) if sample_weight is not None else [1] * len(rows)
    for epoch in range(1, max_epochs + 1):
        rate = _rate(eta, epoch)
        scores = tuple(dot(w, x) + b for x in rows)
        mistaken = tuple(
            i for i, s in enumerate(scores) if copies[i] and is_mistake(y[i], s, threshold, mistake)
        )
        before = w, b
        for i in mistaken:
            pull = rate * copies[i] * y[i]
            w = tuple(wj + pull * xj for wj, xj in zip(w, rows[i], strict=True))
            b = b + pull * padding**2 if padding is not None else b
        yield BatchStep(epoch, scores, mistaken, rate, *before, w, b)
        if not mistaken:
            return


def joint(
    X: Sequence[Sequence[Any]],
    y: Sequence[int],
    n_classes: int,
    *,
    threshold: Any = 0,
    mistake: str = "margin",
    eta: Rate = 1,
    padding: Any | None = 1,
    order: Order = False,
    sample_weight: Sequence[int] | None = None,
    max_epochs: int = 1000,
    seed: int | None = None,
) -> Iterator[JointStep]:
    """Run the joint multiclass perceptron on labels 0 .. n_classes - 1.

    The *rival* is the wrong class with the largest score (the first of equals). The example is
    mistaken when the score of its class exceeds that of the rival by no more than the threshold
    (with ``mistake="sign"``, when the class with the largest score, the first of equals, is wrong);
    then x is added to the weights of the right class and subtracted from those of the rival. Other
    parameters as for :func:`online`.

    Examples
    --------
    >>> steps = list(joint([[1, 0], [0, 1], [-1, -1]], [0, 1, 2], 3))
    >>> steps[-1].weights_after
    ((2, 0), (-1, 1), (-1, -1))
    """
    rows = [tuple(row) for row in X]
    W = [(0,) * len(rows[0]) for _ in range(n_classes)]
    b = [0] * n_classes
    copies = list(sample_weight) if sample_weight is not None else [1] * len(rows)
    t, before_epoch = 0, 0
    for epoch, visits in enumerate(_epochs(order, len(rows), max_epochs, seed), start=1):
        mistakes = 0
        for visit, row in _copies(visits, copies, before_epoch):
            t += 1
            x, label, rate = rows[row], y[row], _rate(eta, visit)
            scores = tuple(dot(w, x) + bias for w, bias in zip(W, b, strict=True))
            prediction = max(range(n_classes), key=scores.__getitem__)
            rival = max((k for k in range(n_classes) if k != label), key=scores.__getitem__)
            gap = scores[label] - scores[rival]
            mistaken = gap <= threshold if mistake == "margin" else prediction != label
            if mistaken:
                mistakes += 1
                for k, pull in ((label, rate), (rival, -rate)):
                    W[k] = tuple(wj + pull * xj for wj, xj in zip(W[k], x, strict=True))
                    b[k] = b[k] + pull * padding**2 if padding is not None else b[k]
            after = tuple(W), tuple(b)
            yield JointStep(
                t, epoch, row, x, label, scores, prediction, rival, mistaken, rate, *after
            )
        before_epoch += sum(copies[row] > 0 for row in visits)
        if mistakes == 0 and len(set(visits)) == len(rows):
            return


def criterion(
    X: Sequence[Sequence[Any]], y: Sequence[int], w: Sequence[Any], b: Any = 0, threshold: Any = 0
) -> Any:
    """The perceptron criterion: the sum of ``δ - y·s`` over the mistaken rows.

    With δ = 0 this is the notes' ``E_p = -Σ x_m·w``: zero if no row is mistaken, and, unlike the
    number of mistakes, with a useful gradient.

    Examples
    --------
    >>> criterion([[2, 1], [-1, 1]], [1, -1], w=[-1, 0])
    3
    """
    margins = (yi * (dot(w, x) + b) for x, yi in zip(X, y, strict=True))
    return sum(threshold - m for m in margins if m <= threshold)


def criterion_gradient(
    X: Sequence[Sequence[Any]],
    y: Sequence[int],
    w: Sequence[Any],
    b: Any = 0,
    threshold: Any = 0,
    padding: Any | None = 1,
) -> tuple[Vector, Any]:
    """The gradient of :func:`criterion` by w, and by b in the scale of the padded problem.

    Minus this, times η, is the update of the batch rule.

    Examples
    --------
    >>> criterion_gradient([[2, 1], [-1, 1]], [1, -1], w=[-1, 0])
    ((-3, 0), 0)
    """
    mistaken = [(x, yi) for x, yi in zip(X, y, strict=True) if yi * (dot(w, x) + b) <= threshold]
    by_w = tuple(-sum(yi * x[j] for x, yi in mistaken) for j in range(len(w)))
    by_b = -sum(yi * padding**2 for _, yi in mistaken) if padding is not None else 0
    return by_w, by_b


def average(steps: Sequence[Step]) -> tuple[Vector, Any]:
    """The mean of the weights and of the bias after each step.

    Examples
    --------
    >>> average(list(online([[2, 1], [-1, 1]], [1, -1])))
    ((2.75, 0.25), 0.25)
    """
    n = len(steps)
    columns = zip(*(s.weights_after for s in steps), strict=True)
    return tuple(sum(c) / n for c in columns), sum(s.bias_after for s in steps) / n


def _rate(eta: Rate, t: int) -> Any:
    return eta(t) if callable(eta) else eta


def _copies(visits: Sequence[int], copies: Sequence[int], before: int) -> Iterator[tuple[int, int]]:
    """The visit number and the row, once per copy; rows without copies are skipped."""
    shown = (row for row in visits if copies[row] > 0)
    for visit, row in enumerate(shown, start=before + 1):
        yield from repeat((visit, row), copies[row])


def _epochs(order: Order, n: int, max_epochs: int, seed: int | None) -> Iterator[Sequence[int]]:
    """The rows to visit in each epoch."""
    generator = random.Random(seed)
    for epoch in range(1, max_epochs + 1):
        if callable(order):
            yield order(epoch)
        elif order is False:
            yield range(n)
        elif order is True:
            yield generator.sample(range(n), n)
        elif order == "random":
            yield [generator.randrange(n) for _ in range(n)]
        else:
            yield order  # type: ignore[misc]
