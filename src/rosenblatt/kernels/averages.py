"""The mean of the weights over all steps, from the lazy sums kept beside them."""

from __future__ import annotations

import numpy as np

from rosenblatt.compiled.jit import kernel


@kernel
def mean_weights(W: np.ndarray, U: np.ndarray, steps: float) -> np.ndarray:
    """``W - U/steps`` in one pass, without the temporaries of NumPy.

    >>> mean_weights(np.array([[3.0]]), np.array([[4.0]]), 2.0)
    array([[1.]])
    """
    out = np.empty_like(W)
    for i in range(W.shape[0]):
        for c in range(W.shape[1]):
            out[i, c] = W[i, c] - U[i, c] / steps
    return out
