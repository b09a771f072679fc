"""Work on the items of an iterator by several threads, with the results in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
_END: Any = object()


def in_order(
    items: Iterator[Item], work: Callable[[Item], Result], most: int = 8, spare: int = 2
) -> Generator[Result, None, None]:
    """The results of `work` on each item, in order, by a thread per core, at most `most`.

    Another thread iterates over the items. At most `spare` items more than there are threads are
    started ahead. Errors of `items` and `work` are raised in order.
    """
    workers = min(most, os.cpu_count() or 1)

    def apply(item: Future[Any]) -> Result:
        taken = item.result()
        return _END if taken is _END else work(taken)

    with ThreadPoolExecutor(1) as taker, ThreadPoolExecutor(workers) as pool:

        def start() -> Future[Result]:
            return pool.submit(apply, taker.submit(next, items, _END))

        started = deque(start() for _ in range(workers + spare))
        try:
            # The list is popped, so that no reference to the result is left here.
            while (result := [started.popleft().result()])[0] is not _END:
                started.append(start())
                yield result.pop()
        finally:
            taker.shutdown(cancel_futures=True)
            pool.shutdown(cancel_futures=True)
