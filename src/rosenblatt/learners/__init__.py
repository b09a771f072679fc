"""Learners: they own arrays in the layout of the kernels and update them in place.

All follow :class:`rosenblatt.learners.protocol.Learner`. :class:`rosenblatt.learners.linear.Linear`
has weights, :class:`rosenblatt.learners.dual.Dual` the log of all updates. :func:`make` is the only
constructor of a learner with weights.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rosenblatt.learners.protocol import Array
from rosenblatt.rules.perceptron import Thresholds

MANY_CLASSES = 32  # of text: from here on they learn jointly, and have weights by pairs
PLAIN_MISTAKES = Thresholds()  # every margin of at most zero


@dataclass(frozen=True, eq=False)
class Spec:
    """What a learner is, apart from the numbers of its classes and features.

    Parameters
    ----------
    rule : named tuple
        The numbers of a rule, such as ``second_order.Arow(r=1.0)``; for the perceptron
        ``Thresholds(below, above)``, the largest margins that it corrects.
    multiclass : {"ovr", "ovo", "joint", "labels"}
        With three classes or more: one problem per class against the rest, one per pair, or all
        classes jointly. Or multilabel, with one problem per label: the class numbers of examples
        are those of their sets of labels
        (:attr:`~rosenblatt.learners.examples.Examples.sets`).
    padding : float
        The padding constant c; 0 for classifiers through the origin.
    averaging : bool
        Whether to keep averaging sums.
    rates : float32 array
        The learning rate of each feature, the last for all further features. Second-order members
        use them as initial variances; adaptive members ignore them.
    dtype : dtype
        That of the weights and of the rows.
    dense : bool
        Whether rows are dense, which determines the layout of the weights.
    batch : bool
        Whether to correct all mistakes of a walk together, at its end (the perceptron only).
    threads : int
        The number of threads that classes or pairs are distributed over.
    device : {"cpu", "cuda"}
        Where the learner has its weights.
    by_pairs : bool
        Whether a perceptron of many classes keeps weights by pairs of feature and class, bit for
        bit the same ones: of packed rows of text.
    """

    rule: Any = PLAIN_MISTAKES
    multiclass: str = "ovr"
    padding: float = 1.0
    averaging: bool = False
    rates: Array = field(default_factory=lambda: np.ones(1, np.float32))
    dtype: Any = np.float64
    dense: bool = False
    batch: bool = False
    threads: int = 1
    device: str = "cpu"
    by_pairs: bool = False

    @property
    def is_perceptron(self) -> bool:
        """Whether the rule is the perceptron's, whose scores determine its updates."""
        return isinstance(self.rule, Thresholds)

    @property
    def thresholds(self) -> Thresholds:
        """The largest margins that are corrected; zero where scores do not tell."""
        return self.rule if self.is_perceptron else PLAIN_MISTAKES


def make(spec: Spec, n_classes: int, n_features: int) -> Any:
    """A learner with zero weights.

    Parameters
    ----------
    spec : Spec
    n_classes : int
        Two classes have one problem, for class 1.
    n_features : int
        May grow later if rows are sparse.

    Examples
    --------
    >>> from rosenblatt.learners.examples import examples_of
    >>> from rosenblatt.rules.second_order import Arow
    >>> examples = examples_of(np.array([[2.0, 1.0], [-1.0, 1.0]]), np.array([1, 0]))
    >>> learner = make(Spec(rule=Arow(1.0), dense=True), 2, 2)
    >>> learner.walk(examples, np.arange(2, dtype=np.uint64)).updates
    2
    >>> learner.weights().weights.round(3)
    array([[ 0.422, -0.13 ]])
    """
    if spec.device == "cuda":
        from rosenblatt.gpu.linear import DeviceLinear

        return DeviceLinear(spec, n_classes, n_features)
    from rosenblatt.learners.linear import Linear

    return Linear(spec, n_classes, n_features)
