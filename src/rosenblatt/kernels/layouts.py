"""What a walk asks of rows, answered for each layout when the walk is compiled.

Dense rows are one array, sparse rows a tuple of three; a row of them, x, is an array or a pair. The
functions below have no body: the compiler puts in their place what
:mod:`rosenblatt.kernels.answers` says for that layout.
"""

from __future__ import annotations

from rosenblatt.compiled.jit import explained_in

explained_in("rosenblatt.kernels.answers")


def row_at(rows, row):
    """A row, by its number."""


def score(x, w):
    """The inner product with one weight vector."""


def scores(x, W, s):
    """The inner products with the weight vectors of all problems, into s."""


def square(x):
    """The squared length of a row."""


def add(x, w, tau):
    """``w += tau·x``."""


def the_only(rows, W):
    """The weight vector of the only problem."""


def weights_of(rows, W, p):
    """The weight vector of problem p."""


def fetch(rows, order, i, W):
    """Ask for what a later step of the order will read."""
