"""The textbook algorithms in plain Python: the specification, and the oracle of the tests.

Conventions, stated here once for the whole package
----------------------------------------------------
- *Labels* are -1 and +1 here; estimators map ``classes_[0]`` to -1 and ``classes_[1]`` to +1.
- *Score* ``s = w·x + b``. The prediction is +1 if and only if ``s > 0``; so ``sign(0) = -1``.
- An example is *mistaken* when ``y·s <= δ`` (``mistake="margin"``, δ = ``threshold`` >= 0). With
  ``mistake="sign"`` it is mistaken when the predicted sign differs from y. At δ = 0 the two
  differ only at s = 0, y = -1.
- *Update* on a mistake: ``w += η·y·x`` and ``b += η·y·c²``, where c is the *padding constant*:
  exactly the perceptron on the padded vector (x, c), whose last weight is b/c. Through the
  origin (``padding=None``) there is no b.
- A *step* visits one example; an *update* corrects one mistake; an *epoch* is one pass over the
  rows, n steps.
- The *average* is the mean of the weights after each step, over all steps of all epochs. It has
  no 0/1 mistake guarantee of its own.
- An example of *weight* ω is equivalent to ω copies of it shown in a row, ω steps.

Numbers may be int, float or :class:`fractions.Fraction`; with fractions every step is exact. The
other members of the family need square roots and quotients: :func:`family` works with floats.

Examples
--------
The worked example of the notes, "movie good" against "movie bad" and "not good" over the words
movie, good, bad, not, with the sign rule and no bias:

>>> X = [[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1]]
>>> for s in online(X, [1, -1, -1], mistake="sign", padding=None):
...     print(s.epoch, s.row, s.score, s.prediction, s.mistake, s.weights_after)
1 0 0 -1 True (1, 1, 0, 0)
1 1 1 1 True (0, 1, -1, 0)
1 2 1 1 True (0, 0, -1, -1)
2 0 0 -1 True (1, 1, -1, -1)
2 1 0 -1 False (1, 1, -1, -1)
2 2 0 -1 False (1, 1, -1, -1)
3 0 2 1 False (1, 1, -1, -1)
3 1 0 -1 False (1, 1, -1, -1)
3 2 0 -1 False (1, 1, -1, -1)
"""

from __future__ import annotations

from rosenblatt.reference.family import FamilyStep, family, family_average
from rosenblatt.reference.ranking import RankStep, prank
from rosenblatt.reference.textbook import (
    BatchStep,
    JointStep,
    Order,
    Rate,
    Step,
    Vector,
    average,
    batch,
    criterion,
    criterion_gradient,
    dot,
    is_mistake,
    joint,
    online,
    sign,
)

__all__ = [
    "BatchStep",
    "FamilyStep",
    "JointStep",
    "Order",
    "RankStep",
    "Rate",
    "Step",
    "Vector",
    "average",
    "batch",
    "criterion",
    "criterion_gradient",
    "dot",
    "family",
    "family_average",
    "is_mistake",
    "joint",
    "online",
    "prank",
    "sign",
]
