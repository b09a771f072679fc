"""A second thread that scores rows ahead of the walk of a single problem."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import numpy as np

from rosenblatt.kernels import learn
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.protocol import Array


@contextmanager
def scout(examples: Examples, order: Array, W: Array, seen: Array) -> Iterator[Array]:
    """Score rows into `seen` ahead of the walk that is taken meanwhile; yields their board."""
    board = np.full(learn.STAMPS + len(order), -1, np.int64)
    board[: learn.STAMPS] = 0
    thread = Thread(target=learn.scout, args=(examples.rows, order, W, seen, board))
    thread.start()
    try:
        yield board
    finally:
        board[learn.PLACE] = len(order)
        thread.join()
