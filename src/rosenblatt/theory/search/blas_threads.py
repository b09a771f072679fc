"""One thread for BLAS where several would only wait for each other."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

# With so many columns, matrices are factorised that keep several threads busy; of sparse rows,
# little else is left to BLAS. With fewer numbers than these, the change takes more time than it
# gains.
_MANY_COLUMNS, _MANY_SPARSE_COLUMNS, _NUMBERS = 900, 1200, 1 << 19


def few_threads(n: int, width: int, is_sparse: bool = False) -> AbstractContextManager[None]:
    """Keep BLAS to one thread for work on so many rows and columns, if that is faster.

    Or if it is as fast: threads that wait for work keep the other processors busy.

    Examples
    --------
    >>> with few_threads(10_000, 100):
    ...     pass
    """
    many = _MANY_SPARSE_COLUMNS if is_sparse else _MANY_COLUMNS
    return nullcontext() if width >= many or n * width < _NUMBERS else one_thread


class _OneThread:
    """BLAS keeps to one thread in the whole process, from the first entry to the last exit.

    (The limits of threadpoolctl do not count: of two threads that enter and leave in turn, the last
    would restore what it found, which is one.)
    """

    def __init__(self) -> None:
        self._lock, self._inside, self._before = Lock(), 0, list[int]()

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._before = [library.get_num_threads() for library in _libraries()]
                for library in _libraries():
                    library.set_num_threads(1)
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                for library, number in zip(_libraries(), self._before, strict=True):
                    library.set_num_threads(number)


one_thread = _OneThread()


@cache
def _libraries() -> list[Any]:
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)
