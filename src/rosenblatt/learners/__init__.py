"""What learns: it owns arrays in the kernels' layout and changes them in place.

The protocol is small (:class:`rosenblatt.learners.protocol.Learner`): walk over rows in an order,
say what the weights are, take them up again. :class:`rosenblatt.learners.linear.Linear` keeps
weights, :class:`rosenblatt.learners.dual.Dual` the log of the updates that made them,
:class:`rosenblatt.learners.budget.Budget` no more than a budget of these.
"""
