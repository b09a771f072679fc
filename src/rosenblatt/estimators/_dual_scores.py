"""Scores by the last, the averaged, or the vote of all weight vectors of a log of updates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rosenblatt.kernels.gram import vote, vote_joint
from rosenblatt.learners.gram_blocks import BYTES_AN_ENTRY, MIB
from rosenblatt.learners.log import Log


def coefficients(log: Log, clock: np.ndarray, keep: str, n_support: int) -> np.ndarray:
    """The dual coefficients (problems, support) of the averaged weights, else of the last."""
    if keep == "average":
        return log.averaged(n_support, clock)
    return log.coefficients(clock.size, n_support)


def scores_by(
    entries: Callable[[slice], np.ndarray],
    n: int,
    log: Log,
    clock: np.ndarray,
    keep: str,
    n_support: int,
    megabytes: float,
    joint: bool = False,
) -> np.ndarray:
    """The scores (n, problems) of rows whose kernel with the support rows `entries` makes.

    One product with the support rows, whatever is kept: all the weight vectors that vote are prefix
    sums of the same terms. If learned jointly, each weight matrix votes for one of the classes.

    Examples
    --------
    Two updates, at the first and third of four steps; the first vector has two votes, the second
    two:

    >>> log = Log(np.array([0, 0]), np.array([0, 1]), np.array([1.0, -1.0]), np.array([0.0, 2.0]))
    >>> K = np.array([[1.0, 3.0]])
    >>> for keep in ("last", "average", "vote"):
    ...     print(keep, scores_by(lambda rows: K, 1, log, np.array([4.0]), keep, 2, 1.0))
    last [[-2.]]
    average [[-0.5]]
    vote [[0.]]
    """
    if n_support == 0:
        return np.zeros((n, clock.size)) - (keep == "vote")
    out, scratch = np.empty((n, clock.size)), np.empty(clock.size)
    if keep == "vote" and joint:
        log = log.in_copies()
    elif keep == "vote":
        log = log[np.argsort(log.problems, kind="stable")]
        starts = np.searchsorted(log.problems, np.arange(clock.size + 1))
    else:
        weights = coefficients(log, clock, keep, n_support).T
    found = np.column_stack([log.taus, log.times])
    size = max(1, int(megabytes * MIB / 2 // (BYTES_AN_ENTRY * n_support)))
    for start in range(0, n, size):
        rows = slice(start, min(start + size, n))
        K = np.ascontiguousarray(entries(rows))
        if keep == "vote" and joint:
            vote_joint(K, log.problems, log.rows, found, float(clock[0]), out[rows], scratch)
        elif keep == "vote":
            vote(K, starts, log.rows, found, clock, out[rows])
        else:
            out[rows] = K.astype(np.float64, copy=False) @ weights
    return out
