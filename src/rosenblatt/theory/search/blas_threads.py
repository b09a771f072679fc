"""Limit BLAS to one thread where several would be slower."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

# From this many columns on, factorising the Gram matrix keeps several threads busy (with sparse
# rows, BLAS does little else). For smaller matrices, setting the limit costs more than it saves.
_MANY_COLUMNS, _MANY_SPARSE_COLUMNS, _NUMBERS = 900, 1200, 1 << 19


@contextmanager
def limit_blas_threads(n: int, width: int, is_sparse: bool = False) -> Iterator[None]:
    """Limit BLAS to one thread for work on n rows and `width` columns, unless that is slower.

    Idle BLAS threads spin and take processor time from other threads.
    """
    many = width >= (_MANY_SPARSE_COLUMNS if is_sparse else _MANY_COLUMNS)
    if many or n * width < _NUMBERS or not _LIMIT_LOCK.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _LIMIT_LOCK.release()


# The limit is process-wide. If two threads set it, the second would find a limit of one and might
# restore that last. So only the thread that holds this lock sets the limit.
_LIMIT_LOCK = Lock()


@cache
def _controller() -> Any:
    return ThreadpoolController()
