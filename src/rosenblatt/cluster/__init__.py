"""Train and score on several processes or machines: the same bits on any workers.

``manifest``
    Files on this machine or in object stores, cut into shards.
``shards``
    Reads a shard, and keeps its hashed rows on a worker's disk.
``processes``, ``engines``
    Run tasks on local processes, executors and Dask clusters with equal bits.
``mixing``
    An epoch on shards, and the learner whose walk is such an epoch.
``rows``, ``train``
    The rows of all shards, for the run that also trains on files (:mod:`rosenblatt.jobs.run`).
``scoring``
    Predictions and evaluations on shards.
"""

from __future__ import annotations

from rosenblatt._lazy import lazily

_HOME: dict[str, str | None] = {
    "ShardWarning": "rosenblatt.cluster.rows",
    "WorkerError": "rosenblatt.cluster.engines",
    "make_manifest": "rosenblatt.cluster.manifest",
}
__all__ = sorted(_HOME)
__getattr__, __dir__ = lazily(__name__, _HOME, globals())
