"""Work done ahead of its use, by threads, and handed over in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from threading import Event, Lock
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")

_END: Any = object()


def in_order(
    items: Iterator[Item], work: Callable[[Item], Made], most: int = 8, spare: int = 2
) -> Generator[Made, None, None]:
    """The results of `work` on each item, in order, while threads are at the next ones.

    There are as many threads as cores, but `most` at most. One at a time gets an item, and works
    on what it got, which is still in its cache then. They are never ahead by more than that many
    items and `spare`: memory stays bounded. An error is raised in its turn, after all that came
    before it.

    >>> list(in_order(iter([3, 1, 2]), lambda n: n * n))
    [9, 1, 4]
    """
    workers = min(most, os.cpu_count() or 1)
    queue = _Queue(items, work)
    with ThreadPoolExecutor(workers) as pool:
        for _ in range(workers):
            pool.submit(queue.run)
        for _ in range(workers + spare):
            queue.turns.put(None)
        try:
            # Nothing is held on to that is at work elsewhere.
            while (made := [queue.begun.get().result()])[0] is not _END:
                queue.turns.put(None)
                yield made.pop()
        finally:
            queue.is_over.set()
            for _ in range(workers):
                queue.turns.put(None)


class _Queue(Generic[Item, Made]):
    """Items that threads take, each when it gets a turn, and what becomes of them, in order."""

    def __init__(self, items: Iterator[Item], work: Callable[[Item], Made]) -> None:
        self.turns: SimpleQueue[None] = SimpleQueue()
        self.begun: SimpleQueue[Future[Made]] = SimpleQueue()
        self.is_over = Event()
        self._items, self._work, self._taking = items, work, Lock()

    def run(self) -> None:
        """Take items and work on them, until there are no more or nobody wants more."""
        self.turns.get()
        while not self.is_over.is_set() and self._do_one():
            self.turns.get()

    def _do_one(self) -> bool:
        future: Future[Made] = Future()
        try:
            with self._taking:
                # Results stand in the order in which the items are taken.
                self.begun.put(future)
                item: Any = next(self._items, _END)
            future.set_result(_END if item is _END else self._work(item))
        except BaseException as error:
            future.set_exception(error)
            # The error knows this frame, which is not to know the error.
            del future
            return False
        return item is not _END
