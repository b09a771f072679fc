"""A bounded parallel map that keeps the order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")

_END: Any = object()


def in_order(
    items: Iterator[Item], work: Callable[[Item], Made], most: int = 8, spare: int = 2
) -> Generator[Made, None, None]:
    """The results of `work` on each item, in order: one thread takes the items, others work.

    There are as many of these as cores, but at most `most`; they are ahead of the use of their
    results by their number and `spare`. An error of items or work is raised in its turn.

    >>> list(in_order(iter([3, 1, 2]), lambda n: n * n))
    [9, 1, 4]
    """
    workers = min(most, os.cpu_count() or 1)

    def done(item: Future[Any]) -> Made:
        taken = item.result()
        return _END if taken is _END else work(taken)

    with ThreadPoolExecutor(1) as taker, ThreadPoolExecutor(workers) as pool:

        def begin() -> Future[Made]:
            return pool.submit(done, taker.submit(next, items, _END))

        begun = deque(begin() for _ in range(workers + spare))
        try:
            # In a list, so that nothing is held on to that is in use elsewhere.
            while (made := [begun.popleft().result()])[0] is not _END:
                begun.append(begin())
                yield made.pop()
        finally:
            taker.shutdown(cancel_futures=True)
            pool.shutdown(cancel_futures=True)
