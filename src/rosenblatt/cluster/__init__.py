"""Train and score on several processes or machines: the same bits whoever computes them.

``stores``
    Files here or in a store.
``manifest``
    Which shards a data set has, and where files can be cut.
``shards``
    A shard as a source of batches, and its hashed rows on a worker's disk.
``first_pass``
    Classes, features, scales and held-out rows, by map and reduce.
``tasks``, ``facts``
    What workers compute: pure functions, refused where they would give other bits.
``engines``, ``dask_engine``
    Who computes.
``scoring``, ``collections``
    Predictions and evaluations on shards; estimators on Dask's arrays and data frames.
``learner``, ``run``, ``bound``, ``train``
    The epoch on all shards as the walk of a learner, and the run that drives it.
"""

from __future__ import annotations

from rosenblatt._lazy import lazily

_HOME: dict[str, str | None] = {
    "Scoring": "rosenblatt.cluster.scoring",
    "ShardWarning": "rosenblatt.cluster.run",
    "WorkerError": "rosenblatt.cluster.facts",
    "evaluate_on_shards": "rosenblatt.cluster.scoring",
    "fit": "rosenblatt.cluster.collections",
    "make_manifest": "rosenblatt.cluster.manifest",
    "predict_on_shards": "rosenblatt.cluster.scoring",
}
__all__ = sorted(_HOME)
__getattr__, __dir__ = lazily(__name__, _HOME, globals())
