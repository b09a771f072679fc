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
    items: Iterator[Item],
    work: Callable[[Item], Made],
    most: int = 8,
    spare: int = 2,
    is_waiting: Callable[[], bool] = lambda: True,
) -> Generator[Made, None, None]:
    """The results of `work` on each item, in order, while threads are at the next ones.

    Parameters
    ----------
    items : iterator
        What is worked on. One thread at a time gets an item, and works on what it got, which is
        still in its cache then.
    work : function
        What is done with an item.
    most : int
        There are as many threads as cores, but not more than so many.
    spare : int
        They are never ahead by more than their number and `spare`: memory stays bounded.
    is_waiting : function without arguments
        Whether there is a next item to be got at once. While there is none, the thread that got
        the last one will be back in time: to wake another would only disturb.

    Yields
    ------
    result
        An error is raised in its turn, after all that came before it.

    Examples
    --------
    >>> list(in_order(iter([3, 1, 2]), lambda n: n * n))
    [9, 1, 4]
    """
    workers = min(most, os.cpu_count() or 1)
    queue = _Queue(items, work, is_waiting)
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

    def __init__(
        self, items: Iterator[Item], work: Callable[[Item], Made], is_waiting: Callable[[], bool]
    ) -> None:
        self.turns: SimpleQueue[None] = SimpleQueue()
        self.begun: SimpleQueue[Future[Made]] = SimpleQueue()
        self.is_over = Event()
        self._items, self._work, self._is_waiting = items, work, is_waiting
        # Who holds this takes the next item.
        self._taking = Lock()

    def run(self) -> None:
        """Take items and work on them, until there are no more or nobody wants more."""
        while True:
            with self._taking:
                taken = self._take()
                while taken and not self._is_waiting():
                    self._do(taken)
                    taken = self._take()
            if not taken:
                return
            self._do(taken)

    def _take(self) -> list[Any]:
        """The next item, after the result that is to come of it; nothing at the end."""
        self.turns.get()
        if self.is_over.is_set():
            return []
        future: Future[Made] = Future()
        self.begun.put(future)
        try:
            item: Any = next(self._items, _END)
        except BaseException as error:
            future.set_exception(error)
            # The error knows this frame, which is not to know the error.
            del future
            return []
        if item is _END:
            future.set_result(_END)
            return []
        return [future, item]

    def _do(self, taken: list[Any]) -> None:
        """Work on an item, and hold on to nothing of it."""
        item, future = taken.pop(), taken.pop()
        try:
            future.set_result(self._work(item))
        except BaseException as error:
            future.set_exception(error)
            del future
