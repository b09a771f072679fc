"""Work done ahead of its use, by threads, and handed over in order."""

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
    """The results of `work` on each item, in order, while threads are at the next ones.

    One thread gets the items, one after the other, and hands them to as many as there are cores,
    but to `most` at most. It is never ahead by more than that many items and `spare`: memory stays
    bounded. An error is raised in its turn, after all that came before it.

    >>> list(in_order(iter([3, 1, 2]), lambda n: n * n))
    [9, 1, 4]
    """
    workers = min(most, os.cpu_count() or 1)
    with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(workers) as pool:

        def step() -> Future[Made] | None:
            item = next(items, _END)
            return None if item is _END else pool.submit(work, item)

        coming = deque(reader.submit(step) for _ in range(workers + spare))
        try:
            while (future := coming.popleft().result()) is not None:
                made = [future.result()]
                coming.append(reader.submit(step))
                # Nothing is held on to that is at work elsewhere.
                del future
                yield made.pop()
        finally:
            for step_ahead in coming:
                step_ahead.cancel()
