"""Train and score on several processes or machines: the same bits on any workers.

``stores``
    Files on this machine or in object stores.
``manifest``
    Cuts files into shards.
``shards``
    Reads a shard, and keeps its hashed rows on a worker's disk.
``processes``, ``engines``
    Run tasks on local processes, executors and Dask clusters with equal bits.
``first_pass``, ``tasks``
    The pure functions that workers call, before and in the epochs.
``mixing``, ``learner``, ``run``, ``train``
    A learner whose walk is an epoch on all shards, and the run that drives it.
``scoring``
    Predictions and evaluations on shards.
"""

from __future__ import annotations

from rosenblatt._lazy import lazily

_HOME: dict[str, str | None] = {
    "Scoring": "rosenblatt.cluster.scoring",
    "ShardWarning": "rosenblatt.cluster.run",
    "WorkerError": "rosenblatt.cluster.engines",
    "evaluate_on_shards": "rosenblatt.cluster.scoring",
    "make_manifest": "rosenblatt.cluster.manifest",
    "predict_on_shards": "rosenblatt.cluster.scoring",
}
__all__ = sorted(_HOME)
__getattr__, __dir__ = lazily(__name__, _HOME, globals())
