"""The vote of all weights of a log on a device."""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.learners.log import Log
from rosenblatt.learners.protocol import Array
from rosenblatt.learners.votes import votes

MEGABYTES = 6144  # of memory for kernel entries, of which 1 GiB are made at a time


def votes_on_device(device: Any, K: Any, log: Log, clock: Array, joint: bool) -> Any:
    """What :func:`rosenblatt.learners.votes.votes` gives, of entries on a device."""
    xp, problems, rows = device.xp, clock.size, len(K)
    if joint:
        return xp.asarray(votes(np.ascontiguousarray(device.host(K)), log, clock, joint))
    starts = xp.asarray(np.searchsorted(log.problems, np.arange(problems + 1)).astype(np.int64))
    columns = [xp.asarray(c) for c in (log.rows.astype(np.int64), log.taus, log.times, clock)]
    out = xp.empty((rows, problems))
    device.launch(
        "vote", (np.float64, K.dtype), 1024, (-(-rows // 128), problems), (128, 1),
        (xp.ascontiguousarray(K.T), np.int32(rows), starts, *columns, np.int32(problems), out),
    )  # fmt: skip
    return out
