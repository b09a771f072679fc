"""The loop over epochs: order, stopping rules, weights to keep, callbacks.

:func:`run` is the only loop over epochs. A learner (:mod:`rosenblatt.learners`) walks over rows in
the order of :mod:`rosenblatt.training.order`, until a rule of :mod:`rosenblatt.training.plan`
ends the run.
"""

from rosenblatt.training.order import Drawn
from rosenblatt.training.plan import Plan, learning_rate
from rosenblatt.training.progress import Epoch, History, Progress
from rosenblatt.training.run import kept_weights, refuse_overflow, run

__all__ = [
    "Drawn",
    "Epoch",
    "History",
    "Plan",
    "Progress",
    "kept_weights",
    "learning_rate",
    "refuse_overflow",
    "run",
]
