"""One BLAS thread where several would only wait for each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

# From this many columns on, the matrices that are factorised keep several threads busy; with sparse
# rows, BLAS does little else. For fewer numbers than these, switching costs more than it gains.
_MANY_COLUMNS, _MANY_SPARSE_COLUMNS, _NUMBERS = 900, 1200, 1 << 19


@contextmanager
def few_threads(n: int, width: int, is_sparse: bool = False) -> Iterator[None]:
    """Limit BLAS to one thread for work on n rows and `width` columns, if that is not slower.

    Waiting BLAS threads spin, and take processor time from others.
    """
    many = width >= (_MANY_SPARSE_COLUMNS if is_sparse else _MANY_COLUMNS)
    if many or n * width < _NUMBERS or not _ALONE.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _ALONE.release()


# The limit is process-wide, and limits of two threads do not nest: the last to leave would restore
# what it found, which is one. So only the thread that holds this sets a limit.
_ALONE = Lock()


@cache
def _controller() -> Any:
    return ThreadpoolController()
