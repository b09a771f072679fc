"""Scores of new rows by the last weights of a log, by their average, or by vote."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rosenblatt.kernels import gram
from rosenblatt.learners.gram_blocks import BYTES_AN_ENTRY, MIB
from rosenblatt.learners.log import Log
from rosenblatt.learners.protocol import Array


def coefficients(log: Log, clock: Array, keep: str, n_support: int) -> Array:
    """The dual coefficients (problems, support) of the averaged weights, else of the last."""
    if keep == "average":
        return log.averaged(n_support, clock)
    return log.coefficients(clock.size, n_support)


def votes(K: Array, log: Log, clock: Array, joint: bool) -> Array:
    """The votes (rows, problems) of all weights of a run; ``K`` is (rows, support)."""
    found, out = np.column_stack([log.taus, log.times]), np.empty((len(K), clock.size))
    if joint:
        scratch = np.empty(clock.size)
        gram.vote_joint(K, log.problems, log.rows, found, float(clock[0]), out, scratch)
    else:
        starts = np.searchsorted(log.problems, np.arange(clock.size + 1))
        gram.vote(K, starts, log.rows, found, clock, out)
    return out


def scores_by(
    entries: Callable[[slice], Any],
    n: int,
    log: Log,
    clock: Array,
    keep: str,
    n_support: int,
    megabytes: float,
    joint: bool = False,
    *,
    vote: Callable[..., Any] = votes,
    xp: Any = np,
) -> Any:
    """The scores (n, problems) of rows; `entries(slice)` is their kernel with the support rows.

    The kernel is computed once, whatever is kept: all weight vectors that vote are prefix sums of
    the same terms. With joint learning each weight matrix votes for one class. For arrays on a GPU,
    `xp` is their module, and `vote` replaces :func:`votes`.

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
    out = xp.zeros((n, clock.size)) - (keep == "vote")
    if n_support == 0:
        return out
    if keep == "vote":  # the kernels expect updates by problem, or in the order of time
        log = log.in_copies() if joint else log[np.argsort(log.problems, kind="stable")]
    else:
        weights = xp.asarray(coefficients(log, clock, keep, n_support).T)
    size = max(1, int(megabytes * MIB / 2 // (BYTES_AN_ENTRY * n_support)))
    for start in range(0, n, size):
        rows = slice(start, min(start + size, n))
        K = entries(rows)
        if keep == "vote":
            out[rows] = vote(K, log, clock, joint)
        else:
            out[rows] = K.astype(np.float64, copy=False) @ weights
    return out
