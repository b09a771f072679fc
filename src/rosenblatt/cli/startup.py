"""What keeps the commands quick to start."""

from __future__ import annotations

import sys


def skip_blas() -> None:
    """Let Numba start without looking for BLAS, which costs it the import of SciPy's algebra.

    No kernel of the engine calls BLAS. This is for the program's own process only: a library must
    not take BLAS away from the kernels of others.
    """
    if "scipy.linalg" in sys.modules or "numba.np.arraymath" in sys.modules:
        return
    sys.modules["scipy.linalg"] = None  # type: ignore[assignment]
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        del sys.modules["scipy.linalg"]


def load_kernels() -> None:
    """Bring the kernels that training needs from the disk cache, by training on nothing much."""
    import numpy as np
    import pyarrow as pa

    from rosenblatt.data.features import Features
    from rosenblatt.data.kinds import Column
    from rosenblatt.engine.compact import Numbering, Rarity, used_places
    from rosenblatt.training.stream import Examples, Learner

    features = Features(columns=(Column("text", "text"),))
    texts = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), 1, [None, pa.py_buffer(np.array([0, 3])), pa.py_buffer(b"a b")]
    )
    rows = features.rows(pa.table({"text": texts}))
    features.names(pa.table({"text": texts}), [0])
    numbering = Numbering(features.ngrams.bits)
    numbering.number(rows.indices)
    Rarity.of(rows).apply(rows)
    for classes in (2, 3):
        learner = Learner(classes, 1.0, 1.0)
        learner.reserve(len(numbering))
        entries = (rows.values, rows.indices, rows.indptr)
        examples = Examples(entries, np.zeros(1, np.int32), np.ones(1))
        learner.learn(examples, np.zeros(1, np.uint64))
        learner.weights(averaged=True)
        used_places(learner.W, learner.U)
