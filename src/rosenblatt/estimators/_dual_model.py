"""A model in the dual form, however it was trained: what its log of mistakes decides and shows."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rosenblatt.estimators._judging import coefficients, judged
from rosenblatt.estimators._kernels import kernel_of
from rosenblatt.estimators._options import show_run
from rosenblatt.kernels.tasks import votes
from rosenblatt.training import History
from rosenblatt.training.log import DualState


class DualModel:
    """Predictions from the log of mistakes and the support rows."""

    classes_: np.ndarray
    dual_coef_: np.ndarray
    n_mistakes_: np.ndarray
    state_: DualState
    support_: np.ndarray
    support_vectors_: Any

    kernel: Any
    degree: Any
    coef0: Any
    keep: Any
    multiclass: Any
    cache_size: Any
    max_support: Any
    _gamma: float

    def decision_function(self, X):
        """The scores: of the last or averaged weights, or votes from -1 (all against) to +1.

        With ``multiclass="joint"`` each weight matrix votes for one class: the votes are shares.

        Parameters
        ----------
        X : array, sparse matrix or data frame (n, d); (n, n_fit) if precomputed

        Returns
        -------
        scores : array (n,) for two classes, else (n, n_classes)
        """
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        state = self.state_.at_best()
        scores = self._judged(X, state.log, state.clock, self._support_rows())
        if self.multiclass == "ovo" and len(self.classes_) > 2:
            return votes(scores, len(self.classes_))
        return scores if len(self.classes_) > 2 else scores[:, 0]

    def predict(self, X):
        """The class of each row.

        Parameters
        ----------
        X : array, sparse matrix or data frame (n, d); (n, n_fit) if precomputed

        Returns
        -------
        labels : array (n,)
        """
        scores = self.decision_function(X)
        return self.classes_[scores.argmax(axis=1) if scores.ndim > 1 else (scores > 0).astype(int)]

    def rewound(self, steps: float) -> Self:
        """The model as it stood after so many steps (examples looked at).

        The log of mistakes holds every model there was on the way.

        Parameters
        ----------
        steps : float
            At most `t_`.

        Returns
        -------
        model : KernelPerceptron
            A copy; without `history_` and with no stop reason.

        Examples
        --------
        >>> from rosenblatt import KernelPerceptron
        >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
        >>> model = KernelPerceptron(degree=2, gamma=1, shuffle=False, keep="last").fit(X, y)
        >>> model.rewound(4).dual_coef_
        array([[-1.,  1.,  1., -1.]])
        """
        check_is_fitted(self)
        if self.max_support is not None:
            raise ValueError("rewound needs all mistakes, but max_support has forgotten some.")
        if self.multiclass == "ovo" and len(self.classes_) > 2:
            raise ValueError(
                "rewound is not for multiclass='ovo', where each pair has its own time."
            )
        if not 0 <= steps <= self.state_.steps:
            raise ValueError(f"steps={steps} is not between 0 and t_={self.state_.steps:g}.")
        log, model = self.state_.log, copy.copy(self)
        chosen = log[log.times < steps]
        rows, places = np.unique(chosen.rows, return_inverse=True)
        model.support_ = self.support_[rows]
        if self.kernel != "precomputed":
            model.support_vectors_ = self.support_vectors_[rows]
        n = self.state_.n_problems
        mistakes = (chosen.raised() if self._jointly else chosen).updates(n)
        state = replace(
            self.state_, log=replace(chosen, rows=places), clock=np.full(n, float(steps)),
            steps=float(steps), visits=round(steps), kept=None, stop_reason=None,
            updates=int(mistakes.sum()), mistakes=mistakes,
            squares=np.full(n, np.nan),
        )  # fmt: skip
        model._describe(state, History())
        return model

    def _function(self) -> Any:
        """The kernel of two matrices; None if precomputed."""
        if self.kernel == "precomputed":
            return None
        return kernel_of(self.kernel, self._gamma, self.coef0, self.degree)

    @property
    def _jointly(self) -> bool:
        return self.multiclass == "joint" and len(self.classes_) > 2

    def _support_rows(self) -> Any:
        return self.support_ if self.kernel == "precomputed" else self.support_vectors_

    def _judged(self, X, log, clock, support) -> np.ndarray:
        """Scores by what is kept; support is the rows, or their numbers if precomputed."""
        function, n_support = self._function(), support.shape[0]

        def entries(rows: slice) -> np.ndarray:
            return X[rows][:, support] if function is None else function(X[rows], support)

        if n_support == 0:
            return np.zeros((X.shape[0], clock.size)) - (self.keep == "vote")
        return judged(
            entries, X.shape[0], log, clock, self.keep, n_support, self.cache_size, self._jointly
        )

    def _describe(self, state, history) -> None:
        """The attributes that follow from the state."""
        show_run(self, state, history)
        kept = state.at_best()
        self.dual_coef_ = coefficients(kept.log, kept.clock, self.keep, self.support_.size)
        self.n_mistakes_ = state.mistakes
