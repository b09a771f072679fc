"""Calibration: probabilities from scores, fitted to rows held out from training."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

METHODS = ("sigmoid", "isotonic")
STEPS = "fasttext-sigmoid"  # a table of the logistic function, as fastText has it
FEWEST_ROWS = 10  # held out, to fit two parameters
PRIOR = 5.0  # rows that the smooth map counts for in each step of an isotonic regression
_MOST_KNOTS = 100_000
_STEPS, _SMALLEST_STEP, _SMALLEST_SIZE = 50, 1e-8, 1e-6  # of Newton's method
_TINY = 1e-12
_PAIRS = ((0, 0), (0, 1), (1, 1))


@dataclass(frozen=True)
class Calibration:
    """A map from scores to probabilities.

    Two classes: ``p = 1 / (1 + exp(-(scale·s + offset)))`` (Platt 1999). More: the softmax of
    ``scale·sign(s)·|s|^power``, for a power of 1 temperature scaling (Guo et al. 2017); the order
    of the classes stays that of their scores. With ``centred=True`` two classes are fitted so as
    well, with -s and s as scores: a score of zero then means one half. ``"isotonic"`` adds an
    isotonic regression, one for all classes, and normalizes (Zadrozny and Elkan 2002). Each step is
    the mean of its rows and of five more with the probability of the smooth map, so that no step of
    few rows is certain.

    For multilabel scores, each label has its own probability, by one sigmoid for all labels.
    Ordered classes have that of being above each threshold, whose differences are those of classes
    (McCullagh 1980). Models of fastText whose labels were learned one by one have a sigmoid for
    each as well, in steps of 1/32 of the score, from 0 below -8 to 1 above 8:
    ``"fasttext-sigmoid"``.

    Examples
    --------
    >>> scores = np.array([-2.0, -1.0, 0.5, -0.5, 1.0, 2.0] * 5)
    >>> calibration = Calibration.fit(scores, np.array([0, 0, 0, 1, 1, 1] * 5), 2)
    >>> calibration.probabilities(np.array([0.0, 2.0]))[:, 1].round(2).tolist()
    [0.5, 0.9]
    """

    method: str
    n_classes: int
    rows: int  # that it was fitted to
    scale: float
    offset: float = 0.0
    power: float = 1.0
    knots: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())  # of the isotonic regression
    multilabel: bool = False  # whether a row may have several labels
    centred: bool = False  # whether two classes have 1/2 each at a score of zero
    ordered: bool = False  # whether it is of being above a threshold between ordered classes

    @classmethod
    def fit(
        cls,
        scores: Array,
        codes: Array,
        n_classes: int,
        method: str = "sigmoid",
        weights: Array | None = None,
        fewest: int = FEWEST_ROWS,
        centred: bool = False,
    ) -> Calibration | None:
        """Fit to held-out rows; None if they are fewer than `fewest`.

        Scores are (rows,) or (rows, 1) for two classes, else (rows, classes). For multilabel rows,
        `codes` is an indicator matrix (rows, classes).

        >>> scores = np.array([[1.0, -1.0, 0.5], [-1.0, 2.0, -0.5]] * 9)
        >>> Calibration.fit(scores, scores > 0, 3).probabilities(scores)[0].round(2).tolist()
        [0.97, 0.02, 0.86]
        """
        if codes.ndim == 2:
            each, n = codes.reshape(-1).astype(np.int64), len(codes)
            repeated = None if weights is None else np.repeat(weights, n_classes)
            of_labels = cls.fit(scores.reshape(-1), each, 2, method, repeated, fewest, centred)
            if of_labels is None or n < fewest:
                return None
            return replace(of_labels, n_classes=n_classes, rows=n, multilabel=True)
        if len(codes) < fewest or not np.isfinite(scores).all() or np.ptp(codes) == 0:
            return None
        ones = np.ones(len(codes)) if weights is None else np.asarray(weights, np.float64)
        plain = np.asarray(scores, np.float64)
        if n_classes == 2 and centred:
            scale, power = _fit_softmax(_both_sides(plain), codes, ones)
            smooth = cls(method, 2, len(codes), scale, power=power, centred=True)
        elif n_classes == 2:
            scale, offset = _fit_sigmoid(plain.reshape(-1), codes == 1, ones)
            smooth = cls(method, 2, len(codes), scale, offset)
        else:
            scale, power = _fit_softmax(plain, codes, ones)
            smooth = cls(method, n_classes, len(codes), scale, 0.0, power)
        return smooth if method == "sigmoid" else smooth._with_steps(plain, codes, ones)

    def probabilities(self, scores: Array) -> Array:
        """The probability of each class, (rows, classes), from the scores of rows."""
        plain = np.asarray(scores, np.float64)
        if self.method == STEPS:
            steps = _logistic(np.floor(np.clip(plain, -8, 8) * 32) / 32)
            return np.where(plain < -8, 0.0, np.where(plain > 8, 1.0, steps))
        if self.multilabel:
            smooth = self._second(plain)
            return np.interp(smooth, *self.knots) if self.knots[0] else smooth
        if self.ordered:  # the difference of two classes is the distance above their threshold
            above = replace(self, n_classes=2, ordered=False)
            steps = np.diff(plain, axis=1)
            beyond = above.probabilities(steps.reshape(-1))[:, 1].reshape(steps.shape)
            ends = np.ones(len(plain)), np.zeros(len(plain))
            return -np.diff(np.column_stack([ends[0], beyond, ends[1]]), axis=1)
        smooth = self._smooth(plain)
        if not self.knots[0]:
            return smooth
        if self.n_classes == 2:
            second = np.interp(smooth[:, 1], *self.knots)
            return np.column_stack([1.0 - second, second])
        # A little of the smooth map, so that classes on the same step keep their order.
        steps = np.interp(smooth, *self.knots) + 1e-6 * smooth
        return np.asarray(steps / steps.sum(axis=1, keepdims=True))

    def _smooth(self, scores: Array) -> Array:
        if self.n_classes == 2:
            second = self._second(scores.reshape(-1))
            return np.column_stack([1.0 - second, second])
        return _softmax(self.scale * _powers(scores, self.power))

    def _second(self, scores: Array) -> Array:
        """The probability of the second class, or of each label."""
        if self.centred:
            return _logistic(2.0 * self.scale * _powers(scores, self.power))
        return _logistic(self.scale * scores + self.offset)

    def _with_steps(self, scores: Array, codes: Array, weights: Array) -> Calibration:
        """With an isotonic regression on the probabilities of the smooth map."""
        from sklearn.isotonic import IsotonicRegression

        smooth, k = self._smooth(scores), self.n_classes
        if k == 2:
            probabilities, is_right = smooth[:, 1], codes == 1
        else:
            probabilities = smooth.reshape(-1)
            is_right = (codes[:, None] == np.arange(k)).reshape(-1)
            weights = np.repeat(weights, k)
        steps = IsotonicRegression().fit(probabilities, is_right.astype(np.float64), weights)
        ends, heights = steps.X_thresholds_, steps.y_thresholds_
        heights, step = np.unique(heights, return_inverse=True)
        step_of = step[np.minimum(np.searchsorted(ends, probabilities), len(ends) - 1)]
        sizes, guesses = (np.bincount(step_of, weights * x) for x in (1.0, probabilities))
        heights = (heights * sizes + PRIOR * guesses / sizes) / (sizes + PRIOR)
        raised = np.maximum.accumulate(heights)[step]
        return replace(self, knots=(tuple(ends.tolist()), tuple(raised.tolist())))

    def to_json(self) -> dict[str, Any]:
        """The map as plain data."""
        return asdict(self) | {"knots": [list(side) for side in self.knots]}

    @classmethod
    def from_json(cls, plain: Any) -> Calibration:
        """What :meth:`to_json` wrote; anything else raises ValueError."""
        try:
            made = cls(**plain)
            xs, ys = (tuple(float(x) for x in side) for side in made.knots)
            numbers = [x + 0.0 for x in (made.scale, made.offset, made.power)]
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"the calibration cannot be read: {error!r}") from None
        sound = (
            made.method in (*METHODS, STEPS)
            and type(made.n_classes) is int
            and made.n_classes >= 2
            and type(made.rows) is int
            and type(made.multilabel) is bool
            and type(made.centred) is bool
            and type(made.ordered) is bool
            and made.rows >= 0
            and len(xs) == len(ys) <= _MOST_KNOTS
            and (len(xs) > 0) == (made.method == "isotonic")
            and all(math.isfinite(x) and type(x) is float for x in (*xs, *ys))
            and all(math.isfinite(x) for x in numbers)
            and numbers[0] >= 0
            and 0 < numbers[2] <= 10
            and all(0 <= y <= 1 for y in ys)
            and all(a <= b for side in (xs, ys) for a, b in pairwise(side))
        )
        if not sound:
            raise ValueError(f"the calibration makes no sense: {plain!r:.200}")
        scale, offset, power = numbers
        return replace(made, scale=scale, offset=offset, power=power, knots=(xs, ys))


def _logistic(z: Array) -> Array:
    return np.exp(-np.logaddexp(0.0, -z))


def _softmax(Z: Array) -> Array:
    E = np.exp(Z - Z.max(axis=1, keepdims=True))
    return np.asarray(E / E.sum(axis=1, keepdims=True))


def _both_sides(scores: Array) -> Array:
    """The scores of two classes, which are each other's negatives."""
    return np.column_stack([-scores.reshape(-1), scores.reshape(-1)])


def _powers(scores: Array, power: float) -> Array:
    return np.sign(scores) * np.abs(scores) ** power


def _fit_sigmoid(scores: Array, positive: Array, weights: Array) -> tuple[float, float]:
    """Slope and offset of the logistic function with the least loss (Platt 1999; Lin et al. 2007).

    The targets are a little off 0 and 1, which keeps the slope of separated classes finite. Scores
    are divided by their root mean square.
    """
    n1, n0 = float(weights[positive].sum()), float(weights[~positive].sum())
    target = np.where(positive, (n1 + 1) / (n1 + 2), 1 / (n0 + 2))
    unit = float(np.sqrt(np.mean(scores * scores))) or 1.0
    X = np.column_stack([scores / unit, np.ones(len(scores))])

    def loss(ab: Array) -> float:
        z = X @ ab
        return float(weights @ (np.logaddexp(0.0, z) - target * z))

    def derivatives(ab: Array) -> tuple[Array, Array]:
        p = _logistic(X @ ab)
        return X.T @ (weights * (p - target)), (X * (weights * p * (1 - p))[:, None]).T @ X

    start = np.array([1.0, math.log((n1 + 1) / (n0 + 1))])
    slope, offset = _minimized(loss, derivatives, start, (1e3, 1e3))
    # A falling curve would contradict the predictions.
    return max(0.0, slope) / unit, offset


def _fit_softmax(scores: Array, codes: Array, weights: Array) -> tuple[float, float]:
    """Scale and power with the least log loss, by generalised Gauss-Newton steps on their logs."""
    n, k = scores.shape
    unit = float(np.sqrt(np.mean(scores * scores))) or 1.0
    S, here = scores / unit, np.arange(n)
    logs = np.log(np.maximum(np.abs(S), _TINY))
    slack = 2.0 / (float(weights.sum()) + 2.0)  # as Platt's targets
    target = np.full((n, k), slack / k)
    target[here, codes] += 1.0 - slack

    def loss(ab: Array) -> float:
        Z = np.exp(ab[0]) * _powers(S, float(np.exp(ab[1])))
        top = Z.max(axis=1)
        whole = top + np.log(np.exp(Z - top[:, None]).sum(axis=1))
        return float(weights @ (whole - (target * Z).sum(axis=1)))

    def derivatives(ab: Array) -> tuple[Array, Array]:
        power = float(np.exp(ab[1]))
        Z = np.exp(ab[0]) * _powers(S, power)
        P = _softmax(Z)
        moves = np.stack([Z, Z * logs * power], axis=2)  # of Z, by the logs of scale and power
        means = (P[:, :, None] * moves).sum(axis=1)
        gradient = weights @ ((P - target)[:, :, None] * moves).sum(axis=1)
        squares = [(P * moves[:, :, i] * moves[:, :, j]).sum(axis=1) for i, j in _PAIRS]
        products = [means[:, i] * means[:, j] for i, j in _PAIRS]
        sums = [weights @ (s - p) for s, p in zip(squares, products, strict=True)]
        return gradient, np.array([[sums[0], sums[1]], [sums[1], sums[2]]])

    log_scale, log_power = _minimized(loss, derivatives, np.zeros(2), (20.0, 2.0))
    power = float(np.exp(log_power))
    return float(np.exp(log_scale)) / unit**power, power


def _minimized(
    loss: Any, derivatives: Any, at: Array, limits: tuple[float, float]
) -> tuple[float, float]:
    """Where a loss of two parameters is least, by Newton's method with backtracking.

    The absolute values of the parameters stay within their limits. By hand, as the import of
    scipy.optimize would take longer than many a training that ends in a calibration.
    """
    for _ in range(_STEPS):
        gradient, hessian = derivatives(at)
        damping = 1e-9 * float(np.trace(hessian)) + _TINY
        step = np.linalg.solve(hessian + damping * np.eye(2), gradient)
        before, size = loss(at), 1.0
        while not (np.all(np.abs(at - size * step) <= limits) and loss(at - size * step) <= before):
            size /= 2
            if size <= _SMALLEST_SIZE:
                return float(at[0]), float(at[1])
        at = at - size * step
        if size * np.abs(step).max() < _SMALLEST_STEP:
            break
    return float(at[0]), float(at[1])
