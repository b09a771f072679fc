"""The scores of rows that a model had not learned from: its probabilities are fitted to them."""

from __future__ import annotations

import warnings
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rosenblatt.estimators._input import Targets
from rosenblatt.learners.examples import ONE, distinct, examples_of
from rosenblatt.training.defaults import calibration_of

if TYPE_CHECKING:
    from rosenblatt.models.calibration import Calibration

MOST_RECENT = 10_000  # scores that a calibration is fitted to
FOLDS = 5
_MOST_CROSS_FITTED = 5_000  # rows; of more a single fold is scored
_MOST_KEPT = 1 << 24  # numbers of the rows that a model refers to
_SEALED = 4096  # numbers, evenly over the rows, that tell whether the caller changed them
_ROWS_PER_WEIGHT = 100  # from which on rows that were learned from score as new ones do


@dataclass(frozen=True)
class Fitted:
    """What a fit learned from: rows, labels, and the weights that the caller gave.

    The rows are those of the caller, as a copy would double the memory: the seal of some of their
    numbers tells whether they still are what was learned from.
    """

    X: Any
    targets: Targets
    copies: np.ndarray
    seal: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "seal", self._seal())

    @property
    def is_intact(self) -> bool:
        """Whether the rows still are those of the fit."""
        return self.seal == self._seal()

    def _seal(self) -> int:
        numbers = self.X.data if hasattr(self.X, "nnz") else self.X.ravel(order="K")
        return zlib.crc32(numbers[:: max(1, numbers.size // _SEALED)].tobytes())

    def cross_scores(self, model: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Rows, their scores by copies of the model that did not learn from them, and weights.

        None if no class has two different rows.

        Equal rows are in the same fold, and folds depend on the values of the rows alone. Of many
        rows one fold is scored, which costs one more fit.
        """
        targets, n = self.targets, len(self.targets.codes)
        rows, weights = distinct(examples_of(self.X, targets.codes, self.copies, targets.sets))
        whole = np.zeros(n)
        whole[rows] = np.broadcast_to(weights, whole.shape)[rows]
        n_folds = max(FOLDS, rows.size // MOST_RECENT)
        strata = targets.codes[rows] if targets.sets is None else np.zeros(rows.size, np.int32)
        fold = _folds(strata, n_folds)
        options: dict[str, Any] = {"calibrate": None, "warm_start": False, "early_stopping": False}
        copy = model._host_clone().set_params(**options, callbacks=None, verbose=0)
        if not isinstance(copy.random_state, int):
            copy.set_params(random_state=0)
        truth = targets.truth()
        y = targets.classes[truth] if targets.sets is None else truth.astype(np.int64)
        chosen, scores = [], []
        for number in range(n_folds if rows.size <= _MOST_CROSS_FITTED else 1):
            held_out, weights = rows[fold == number], whole.copy()
            weights[held_out] = 0.0
            if held_out.size:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    copy.fit(self.X, y, sample_weight=weights)
                chosen.append(held_out)
                scores.append(copy.decision_function(self.X[held_out]))
        if not chosen:
            return None
        everything = np.concatenate(chosen)
        return everything, np.concatenate(scores), whole[everything]


def _folds(strata: np.ndarray, n_folds: int) -> np.ndarray:
    """The fold of each row, the classes spread evenly; -1 for the only row of a class.

    >>> _folds(np.array([0, 0, 1, 0, 2, 1]), 2).tolist()
    [0, 1, 1, 0, -1, 0]
    """
    by_class = np.argsort(strata, kind="stable")
    counts = np.bincount(strata)
    ranks = np.empty(len(strata), np.int64)
    ranks[by_class] = np.arange(len(strata)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.where(counts[strata] > 1, (ranks + strata) % n_folds, -1)


class Unseen:
    """Scores, class numbers and weights of rows a model had not learned from.

    Those of a fit are made when they are first asked for: until then this refers to its rows.
    """

    def __init__(
        self,
        scores: Any = None,
        codes: Any = None,
        weights: np.ndarray | None = None,
        fitted: Fitted | None = None,
    ) -> None:
        self.scores = None if scores is None else np.array(scores[-MOST_RECENT:], np.float64)
        self.codes = None if codes is None else codes[-MOST_RECENT:].astype(np.int64)
        self.weights = None if weights is None else weights[-MOST_RECENT:]
        self._fitted = fitted
        self._calibration: Calibration | None = None

    @classmethod
    def after_fit(cls, model: Any, fitted: Fitted, n_weights: int) -> Unseen:
        """Refer to the rows of a fit if they are few; of many rows per weight, score some."""
        X, n = fitted.X, len(fitted.targets.codes)
        stored = X.nnz if hasattr(X, "nnz") else X.size
        if stored <= _MOST_KEPT:
            return cls(fitted=fitted)
        if n < _ROWS_PER_WEIGHT * n_weights:
            return cls()
        some = np.arange(0, n, -(-n // MOST_RECENT))
        weights = None if fitted.copies is ONE else np.broadcast_to(fitted.copies, n)[some]
        return cls(model._scores_of(X[some]), fitted.targets.truth(some), weights)

    def followed_by(self, scores: np.ndarray, codes: np.ndarray) -> Unseen:
        """These scores and more, of rows that came later; rows of a fit are forgotten."""
        if self.scores is None:
            return Unseen(scores, codes)
        weights = None
        if self.weights is not None:
            weights = np.append(self.weights, np.ones(len(codes)))
        return Unseen(
            np.concatenate([self.scores, scores]), np.concatenate([self.codes, codes]), weights
        )

    def settle(self, model: Any) -> None:
        """Score the rows of the fit, and let them go; rows that were changed have no scores."""
        if self._fitted is None:
            return
        crossed = self._fitted.cross_scores(model) if self._fitted.is_intact else None
        if crossed is None:
            self._fitted = None
            return
        rows, scores, weights = crossed
        truth, copies = self._fitted.targets.truth(rows), self._fitted.copies
        is_even = copies is ONE and bool((weights == 1.0).all())
        settled = Unseen(scores, truth, None if is_even else weights)
        self.__dict__.update(settled.__dict__)

    def calibration(self, model: Any) -> Calibration:
        """The map from the scores of a model to probabilities."""
        from rosenblatt.models.calibration import Calibration

        self.settle(model)
        if self.scores is None or self.codes is None:
            raise AttributeError(
                "There are no scores of held-out rows to calibrate on: fit had too many rows to "
                "keep, X was changed since, or partial_fit scores no rows (a new class begins "
                "anew). Set calibrate='sigmoid', which holds rows out in fit and scores the rows "
                "of partial_fit before it learns from them; or give fit X_val and y_val."
            )
        if self._calibration is None:
            method, centred = calibration_of(model.calibrate, model.class_weight)
            self._calibration = Calibration.fit(
                self.scores,
                self.codes,
                len(model.classes_),
                method,
                self.weights,
                fewest=2,
                centred=centred,
            )
        if self._calibration is None:
            raise ValueError(
                "Probabilities need rows of two classes that the model had not learned from, but "
                f"the {len(self.codes)} there are have one class. Give more rows, or X_val and "
                "y_val."
            )
        return self._calibration
