"""The members of the perceptron's family as scikit-learn classifiers."""

from __future__ import annotations

from dataclasses import field, make_dataclass
from inspect import get_annotations
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from rosenblatt import rules
from rosenblatt.estimators._classifier import CONSTRAINTS
from rosenblatt.estimators._linear import LinearClassifier
from rosenblatt.rules import gradient, passive_aggressive, projected, second_order


class FamilyClassifier(LinearClassifier):
    """The base of the family: a subclass has its own parameters and rule (`_member_rule`).

    The other parameters and the attributes are those of :class:`rosenblatt.Perceptron`. Annotated
    fields are parameters. (Not a dataclass: Dask, for one, would hash a fitted model by its
    parameters alone.)
    """

    multiclass: str = "ovr"
    shuffle: Any = True
    max_iter: int = 1000
    tol: Any = 1e-3
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: Any = 5
    class_weight: Any = None
    random_state: Any = None
    warm_start: bool = False
    verbose: int = 0
    callbacks: Any = None
    calibrate: str | None = None
    keep: str = "last"
    fit_intercept: bool = True
    intercept_scaling: Any = 1.0
    feature_rates: Any = None
    n_jobs: int | None = None

    def __init_subclass__(cls, kw_only: bool = True) -> None:
        """Make the constructor from the shared parameters and the class's own."""
        super().__init_subclass__()
        fields = {
            name: (kind, field(default=source.__dict__[name], kw_only=kw_only or source is not cls))
            for source in (FamilyClassifier, cls)
            for name, kind in get_annotations(source).items()
            if not name.startswith("_")
        }
        made: Any = make_dataclass(
            cls.__name__,
            [(name, *rest) for name, rest in fields.items()],
            repr=False,
            eq=False,
            match_args=False,
        )
        cls.__init__ = made.__init__  # type: ignore[method-assign]

    @property
    def variances_(self) -> np.ndarray:
        """The variances of the weights, (problems, features); the covariances if they are full.

        Only members that keep variances have them.
        """
        if type(self._member_rule()).__name__ not in rules.SECOND_ORDER:
            raise AttributeError(f"{type(self).__name__} keeps no variances.")
        cells = self.state_.cells
        return cells if self._is_full() else cells[..., 1]


class PassiveAggressive(FamilyClassifier, kw_only=False):
    """Passive-aggressive learning: the smallest change that gives an example margin 1.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: the largest step of variant I; the weight of the squared loss in variant II.
    variant : {"", "I", "II"}, default="I"
        "" has no limit: every margin is raised to 1.
    **others : as for :class:`Perceptron` (`multiclass`, `keep`, `shuffle`, `max_iter`, `tol` ...)

    Notes
    -----
    Condition, update, bound and paper are in :mod:`rosenblatt.rules.passive_aggressive`. The weight
    of an example multiplies C.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rosenblatt import PassiveAggressive
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PassiveAggressive(random_state=0).fit(X[:100], y[:100])
    >>> model.n_updates_, model.score(X[:100], y[:100])
    (180, 1.0)
    """

    C: float = 1.0
    variant: str = "I"

    _parameter_constraints = CONSTRAINTS | {"variant": [StrOptions({"", "I", "II"})]}

    def _member_rule(self) -> Any:
        return passive_aggressive.passive_aggressive(float(self.C), self.variant)


class AROW(FamilyClassifier, kw_only=False):
    """Adaptive regularisation of weights: variances shrink as features are seen.

    It is robust to wrong labels: an example is never fitted in full. A good first choice for
    one pass over many sparse features.

    Parameters
    ----------
    r : float, default=1.0
        The larger, the smaller the influence of a single example.
    covariance : {"diagonal", "full"}, default="diagonal"
        A variance for each weight, or a matrix for all of them (2,048 features at most).
    **others : as for :class:`Perceptron` (`multiclass`, `keep`, `shuffle`, `max_iter`, `tol` ...)

    Attributes
    ----------
    variances_ : array (n_problems, n_features)
        Of the weights; with a full covariance (n_problems, n_features + 1, n_features + 1), the
        last for the intercept.

    Notes
    -----
    Condition, update, bound and paper are in :mod:`rosenblatt.rules.second_order`. The weight of an
    example divides r.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rosenblatt import AROW
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AROW(max_iter=1, tol=None, random_state=0).fit(X[:100], y[:100])
    >>> model.score(X[:100], y[:100]), model.variances_.round(2)
    (1.0, array([[0.  , 0.  , 0.  , 0.03]]))
    """

    r: float = 1.0
    covariance: str = "diagonal"

    def _member_rule(self) -> Any:
        return second_order.Arow(float(self.r))


class NAROW(FamilyClassifier, kw_only=False):
    """Narrow AROW: only examples of large variance cause updates.

    Parameters
    ----------
    b : float, default=1.0
        Examples of variance at most 1/b change nothing.
    covariance : {"diagonal", "full"}, default="diagonal"
        As for :class:`AROW`.
    **others : as for :class:`Perceptron`

    Examples
    --------
    >>> from rosenblatt import NAROW
    >>> NAROW(random_state=0).fit([[2.0, 1.0], [-1.0, 1.0]], [1, 0]).coef_.round(2)
    array([[ 0.53, -0.04]])
    """

    b: float = 1.0
    covariance: str = "diagonal"

    def _member_rule(self) -> Any:
        return second_order.Narow(float(self.b))


class ConfidenceWeighted(FamilyClassifier, kw_only=False):
    """Confidence-weighted learning: each example is fitted until it is right with a probability.

    Every example is fitted in full, so that wrong labels do harm: see :class:`SCW` and
    :class:`AROW`.

    Parameters
    ----------
    confidence : float, default=0.9
        That probability, above 0.5 and below 1.
    covariance : {"diagonal", "full"}, default="diagonal"
        As for :class:`AROW`.
    **others : as for :class:`Perceptron`

    Examples
    --------
    >>> from rosenblatt import ConfidenceWeighted
    >>> ConfidenceWeighted(random_state=0).fit([[2.0, 1.0], [-1.0, 1.0]], [1, 0]).coef_.round(2)
    array([[ 1.2 , -0.18]])
    """

    confidence: float = 0.9
    covariance: str = "diagonal"

    def _member_rule(self) -> Any:
        return second_order.Cw(second_order.quantile(float(self.confidence)))


class SCW(FamilyClassifier, kw_only=False):
    """Soft confidence-weighted learning: :class:`ConfidenceWeighted` with limited steps.

    Parameters
    ----------
    C : float, default=1.0
        The weight of the loss against the change of the weights.
    confidence : float, default=0.9
        The probability with which an example should be right, above 0.5 and below 1.
    variant : {"I", "II"}, default="I"
        With a linear or a squared loss.
    covariance : {"diagonal", "full"}, default="diagonal"
        As for :class:`AROW`.
    **others : as for :class:`Perceptron`

    Examples
    --------
    >>> from rosenblatt import SCW
    >>> SCW(random_state=0).fit([[2.0, 1.0], [-1.0, 1.0]], [1, 0]).coef_.round(2)
    array([[ 1.2 , -0.18]])
    """

    C: float = 1.0
    confidence: float = 0.9
    variant: str = "I"
    covariance: str = "diagonal"

    _parameter_constraints = CONSTRAINTS | {"variant": [StrOptions({"I", "II"})]}

    def _member_rule(self) -> Any:
        kind = second_order.Scw1 if self.variant == "I" else second_order.Scw2
        return kind(second_order.quantile(float(self.confidence)), float(self.C))


class NormalHerd(FamilyClassifier, kw_only=False):
    """Gaussian herding: a linear map moves a normal distribution of weights past an example.

    Parameters
    ----------
    C : float, default=1.0
        The weight of the loss.
    covariance : {"diagonal", "full"}, default="diagonal"
        As for :class:`AROW`.
    **others : as for :class:`Perceptron`

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rosenblatt import NormalHerd
    >>> X, y = load_iris(return_X_y=True)
    >>> NormalHerd(max_iter=5, tol=None, random_state=0).fit(X[:100], y[:100]).score(X, y > 0)
    1.0
    """

    C: float = 1.0
    covariance: str = "diagonal"

    def _member_rule(self) -> Any:
        return second_order.Nherd(float(self.C))


class SecondOrderPerceptron(FamilyClassifier, kw_only=False):
    """The perceptron on whitened examples: it corrects mistakes only.

    Parameters
    ----------
    whiten : {"mistakes", "all"}, default="mistakes"
        Which examples the covariance is updated by. The paper proves its bound for the mistakes.
    covariance : {"full", "diagonal"}, default="full"
        The paper keeps the full matrix (2,048 features at most); the diagonal approximates it.
    **others : as for :class:`Perceptron`

    Examples
    --------
    >>> from rosenblatt import SecondOrderPerceptron
    >>> SecondOrderPerceptron(random_state=0).fit([[2.0, 1.0], [-1.0, 1.0]], [1, 0]).coef_.round(2)
    array([[ 0.54, -0.11]])
    """

    whiten: str = "mistakes"
    covariance: str = "full"

    def _member_rule(self) -> Any:
        return second_order.Sop(1.0 if self.whiten == "all" else 0.0)


class ALMA(FamilyClassifier, kw_only=False):
    """ALMA: approximates the largest margin, with weights in the unit ball.

    Parameters
    ----------
    alpha : float, default=0.9
        The margin found is at least 1 - alpha times the largest, if a line separates the classes.
    B : float or None, default=None
        The B of γ_k = B/sqrt(k); None is the paper's sqrt(8)/alpha. Others use 1/alpha.
    C : float, default=sqrt(2)
        The size of the steps.
    normalize : bool, default=True
        Learn from examples scaled to length 1, as the paper does.
    **others : as for :class:`Perceptron`

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rosenblatt import ALMA
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ALMA(random_state=0).fit(X[:100], y[:100])
    >>> model.score(X[:100], y[:100]), float((model.coef_**2).sum().round(2))
    (1.0, 0.99)
    """

    alpha: float = 0.9
    B: float | None = None
    C: float = 2**0.5
    normalize: bool = True

    _parameter_constraints = CONSTRAINTS | {"alpha": [Interval(Real, 0, 1, closed="right")]}

    def _member_rule(self) -> Any:
        alpha = float(self.alpha)
        B = 8**0.5 / alpha if self.B is None else float(self.B)
        return projected.Alma(1 - alpha, B, float(self.C), float(self.normalize))


class ROMMA(FamilyClassifier, kw_only=False):
    """The relaxed online maximum margin algorithm: the shortest weights under two constraints.

    Parameters
    ----------
    aggressive : bool, default=False
        Correct every example of margin below 1, not only mistakes.
    **others : as for :class:`Perceptron`

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rosenblatt import ROMMA
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ROMMA(random_state=0).fit(X[:100], y[:100])
    >>> model.stop_reason_, model.score(X[:100], y[:100])
    ('separated', 1.0)
    """

    aggressive: bool = False

    def _member_rule(self) -> Any:
        return projected.Romma(1.0 if self.aggressive else 0.0)


class OnlineGradient(FamilyClassifier, kw_only=False):
    """Stochastic gradient steps on the loss of each example.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge", "perceptron"}, default="hinge"
    method : {"sgd", "adagrad", "ftrl"}, default="sgd"
        Plain steps; dual averaging with a rate for each feature (AdaGrad); or the proximally
        regularised leader (FTRL-proximal). The last two keep unused weights at zero by λ₁.
    eta0 : float, default=1.0
        The learning rate η; for FTRL its α.
    learning_rate : {"sqrt", "constant", "inverse"} or callable, default="sqrt"
        η/√t, η, η/t, or a function of the visit number t. Only for ``"sgd"``.
    penalty : {"l1", "l2", "elasticnet"} or None, default=None
    alpha : float, default=1e-4
        The weight of the penalty.
    l1_ratio : float, default=0.15
        The share of L1 in ``"elasticnet"``.
    delta : float, default=1.0
        AdaGrad's δ, FTRL's β: added to the root of the sum of squared gradients.
    **others : as for :class:`Perceptron`

    Notes
    -----
    Penalties do not touch the intercept. They are applied lazily, when a weight is next used, with
    the same result; an average takes the weight as it was when last used.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rosenblatt import OnlineGradient
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OnlineGradient(method="ftrl", penalty="l1", alpha=40.0, random_state=0)
    >>> int((model.fit(X[:100], y[:100]).coef_ != 0).sum())
    2
    """

    loss: str = "hinge"
    method: str = "sgd"
    eta0: float = 1.0
    learning_rate: Any = "sqrt"
    penalty: str | None = None
    alpha: float = 1e-4
    l1_ratio: float = 0.15
    delta: float = 1.0

    def _member_rule(self) -> Any:
        loss = gradient.loss_of(self.loss)
        l1, l2 = gradient.penalties(self.penalty, float(self.alpha), float(self.l1_ratio))
        if self.method == "adagrad":
            return gradient.AdaGrad(*loss, float(self.eta0), float(self.delta), l1)
        if self.method == "ftrl":
            return gradient.Ftrl(*loss, float(self.eta0), float(self.delta), l1, l2)
        return gradient.Truncated(*loss, l2, l1) if l1 > 0 else gradient.Descent(*loss, l2)

    def _check_options(self) -> None:
        super()._check_options()
        if self.method == "adagrad" and self.penalty in ("l2", "elasticnet"):
            raise ValueError("method='adagrad' has no L2 penalty: use penalty='l1' or None.")
        if self.method != "sgd" and self.warm_start:
            raise ValueError(
                f"method={self.method!r} cannot start from weights, as it keeps sums of gradients: "
                "use partial_fit to continue, or method='sgd'."
            )
