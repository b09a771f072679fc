"""Learners: they own arrays in the layout of the kernels and update them in place.

All follow :class:`rosenblatt.learners.protocol.Learner`. :class:`rosenblatt.learners.linear.Linear`
has weights, :class:`rosenblatt.learners.dual.Dual` the log of all updates.
"""
