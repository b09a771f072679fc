"""Squared lengths of rows, one pass at memory speed."""

from __future__ import annotations

from rosenblatt.kernels.jit import kernel
from rosenblatt.kernels.rows import square


@kernel
def squared_lengths(rows, order, rates, out):
    """What one update by each row of an order adds to its own margin, padding aside."""
    for i in range(order.size):
        out[i] = square(rows, order[i], rates)
