"""Work done ahead of its use, by threads, and handed over in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")

_MOST_WORKERS = 8
_END: Any = object()


def in_order(items: Iterator[Item], work: Callable[[Item], Made]) -> Iterator[Made]:
    """The results of `work` on each item, in order, while threads are at the next ones.

    One thread gets the items, one after the other, as many as there are cores (eight at most) work
    on them. No more than that many results, and one, wait to be taken: memory stays bounded. An
    error is raised in its turn, after all that came before it.

    >>> list(in_order(iter([3, 1, 2]), lambda n: n * n))
    [9, 1, 4]
    """
    workers = min(_MOST_WORKERS, os.cpu_count() or 1)
    waiting: deque[Future[Made]] = deque()
    with ThreadPoolExecutor(workers + 1) as pool:
        coming = pool.submit(next, items, _END)
        try:
            while coming.exception() is None and coming.result() is not _END:
                waiting.append(pool.submit(work, coming.result()))
                coming = pool.submit(next, items, _END)
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
            coming.result()
        finally:
            for future in waiting:
                future.cancel()
