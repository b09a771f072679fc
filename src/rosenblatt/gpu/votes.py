"""Scores of new rows on a device, by the last, the averaged or the vote of all weights of a log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rosenblatt.kernels.gram import vote_joint
from rosenblatt.learners.log import Log
from rosenblatt.learners.protocol import Array

_CHUNK_BYTES = 1 << 30  # of kernel entries made at a time


def scores_on_device(
    device: Any, entries: Callable[[slice], Any], n: int, log: Log, weights: Array | None,
    clock: Array, n_support: int, joint: bool,
) -> Any:  # fmt: skip
    """The scores (n, problems) of rows whose kernel with the support rows `entries` makes.

    `weights` are the dual coefficients (problems, support) to score by; None: all weights vote.
    `entries` returns the block (support, rows).
    """
    xp, problems = device.xp, clock.size
    out = xp.zeros((n, problems)) - (weights is None)
    if n_support == 0:
        return out
    size = max(1, _CHUNK_BYTES // (8 * n_support))
    if weights is None:
        log = log.in_copies() if joint else log[np.argsort(log.problems, kind="stable")]
    starts = xp.asarray(np.searchsorted(log.problems, np.arange(problems + 1)).astype(np.int64))
    columns = [xp.asarray(c) for c in (log.rows.astype(np.int64), log.taus, log.times, clock)]
    for first in range(0, n, size):
        rows = slice(first, min(first + size, n))
        K, some = xp.ascontiguousarray(entries(rows)), rows.stop - rows.start
        if weights is not None:
            out[rows] = K.T.astype(np.float64) @ xp.asarray(weights.T)
        elif joint:
            found, scratch = np.column_stack([log.taus, log.times]), np.empty(problems)
            shares, here = np.empty((some, problems)), np.ascontiguousarray(device.host(K).T)
            vote_joint(here, log.problems, log.rows, found, float(clock[0]), shares, scratch)
            out[rows] = xp.asarray(shares)
        else:
            votes = xp.empty((some, problems))
            device.launch(
                "vote", (np.float64, K.dtype), 1024, (-(-some // 128), problems), (128, 1),
                (K, np.int32(some), starts, *columns, np.int32(problems), votes),
            )  # fmt: skip
            out[rows] = votes
    return out
