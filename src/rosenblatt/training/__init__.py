"""The loop over epochs: order, stopping, what to keep, callbacks.

:func:`run` is the only loop. It asks a learner to walk (:mod:`rosenblatt.learners`), a source of
rows for the next part of an order (:mod:`rosenblatt.training.order`), and the rules of
:mod:`rosenblatt.training.stopping` whether to go on.
"""

from rosenblatt.training.history import Epoch, History
from rosenblatt.training.order import Drawn
from rosenblatt.training.plan import Plan
from rosenblatt.training.run import kept_weights, run
from rosenblatt.training.state import Progress

__all__ = ["Drawn", "Epoch", "History", "Plan", "Progress", "kept_weights", "run"]
