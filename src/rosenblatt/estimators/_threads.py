"""How many threads are meant."""

from __future__ import annotations

import os


def threads_of(n_jobs: int | None) -> int:
    """The threads that n_jobs stands for, as in scikit-learn: None is 1, -1 all cores.

    >>> threads_of(None), threads_of(3)
    (1, 3)
    """
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning: use None for one thread, -1 for all cores.")
    return n_jobs if n_jobs > 0 else max(1, cores() + 1 + n_jobs)


def cores() -> int:
    """The cores that this process may use, which may be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
