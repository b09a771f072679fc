"""One look at all rows before training: are they finite, which are equal, and a copy in 8 bits."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from rosenblatt.kernels import row_keys, screen
from rosenblatt.kernels._memory import zeros
from rosenblatt.kernels.rows import Csr, Dense, Screened
from rosenblatt.learners.examples import Examples, key_multipliers
from rosenblatt.learners.protocol import Array

_WORTH_A_THREAD = 1 << 20  # stored numbers for each thread
# Of a copy in 8 bits: rows shorter than this are as quick to read themselves, and so are all rows
# if they fit into the caches.
_WORTH_A_COPY = 128
_LARGE = 16 << 20  # bytes
# A copy is made in the time of an epoch or less, and saves half of each.
_VISITS = 3.0


@dataclass(frozen=True)
class Survey:
    """What a look at all rows found.

    Attributes
    ----------
    is_finite : bool
        Whether no number is NaN or infinite; if one is, the rest is not to be used.
    keys : array or None
        A number for each row that tells rows apart, if asked for.
    screened : Screened or None
        The rows with a copy in 8 bits, if asked for.
    squares : array or None
        The squared lengths of dense rows, if asked for.
    """

    is_finite: bool
    keys: Array | None = None
    screened: Screened | None = None
    squares: Array | None = None


def survey(
    examples: Examples,
    *,
    keys: bool,
    copies: bool = False,
    squares: bool = False,
    threads: int = 1,
) -> Survey:
    """Look at all rows, dense or CSR, once.

    Examples
    --------
    >>> from rosenblatt.learners.examples import examples_of
    >>> found = survey(examples_of(np.eye(2), [0, 1]), keys=False, copies=True)
    >>> found.is_finite, found.screened.small.tolist()
    (True, [[127, 0], [0, 127]])
    """
    rows = examples.rows
    assert isinstance(rows, Dense | Csr), "rows are told apart before they are packed"
    values = rows.X if isinstance(rows, Dense) else rows.data
    word = np.dtype(f"u{values.itemsize}")
    n, words = len(examples), values.reshape(-1).view(word)
    multipliers = key_multipliers(examples.n_features, word)[0] if keys else np.empty(0, word)
    found = np.empty(n if keys else 0, word)
    lengths = np.empty(n if squares and isinstance(rows, Dense) else 0)
    screened = _room_for_copies(rows) if copies and isinstance(rows, Dense) else None

    def look(first: int, last: int) -> bool:
        if isinstance(rows, Csr):
            part = values[int(rows.pointers[first]) : int(rows.pointers[last])]
            if keys:
                chosen, out = np.arange(first, last, dtype=np.uint64), found[first:last]
                tops = np.empty(last - first, word)
                row_keys.keys(rows._replace(data=words), chosen, multipliers, out, tops)
            return bool(np.isfinite(part).all())
        peak = np.empty(1, values.dtype)
        small, errors = (screened.small, screened.errors) if screened else _NO_COPIES
        return bool(
            screen.dense_survey(
                rows.X, words, first, last, multipliers, found, lengths, small, errors, peak,
                peak.view(word),
            )
        )  # fmt: skip

    shares = max(1, min(threads, values.size // _WORTH_A_THREAD, n))
    bounds = np.linspace(0, n, shares + 1).astype(int).tolist()
    if shares == 1:
        finite = look(0, n)
    else:
        with ThreadPoolExecutor(shares) as pool:
            finite = all(list(pool.map(look, bounds[:-1], bounds[1:])))
    return Survey(finite, found if keys else None, screened, lengths if lengths.size else None)


_NO_COPIES = np.empty((0, 0), np.int8), np.empty((0, 2))


def _room_for_copies(rows: Dense) -> Screened | None:
    """Room for a copy of the rows in 8 bits; None where there is no memory for it."""
    try:
        return Screened(rows.X, zeros(rows.X.shape, np.int8), np.empty((len(rows.X), 2)))
    except (MemoryError, OSError):
        return None


def is_worth_a_copy(examples: Examples, epochs: int, visits: float = 1.0) -> bool:
    """Whether a copy of the rows in 8 bits saves more time than it takes.

    Parameters
    ----------
    examples : Examples
    epochs : int
        The most epochs that may come.
    visits : float
        How often an epoch visits each row.
    """
    rows = examples.rows
    if not isinstance(rows, Dense) or rows.X.shape[1] < _WORTH_A_COPY:
        return False
    return rows.X.nbytes >= _LARGE and epochs * visits >= _VISITS
