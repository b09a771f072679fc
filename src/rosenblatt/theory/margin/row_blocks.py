"""Some rows as a dense block, in coordinates that keep all products of rows with weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from rosenblatt.theory.search.matrices import Floats

# From this many sparse rows on, fewer than their columns, they are rotated.
_MANY_ROWS = 128


class RowBlock(NamedTuple):
    """The block, and the function from weights of its columns to weights of the data's columns."""

    values: Floats
    spread: Callable[[Floats], Floats]


def row_block(part: Any) -> RowBlock:
    """A block of dense rows as they are, of sparse ones without their empty columns."""
    if not sparse.issparse(part):
        return RowBlock(part, lambda v: v)
    columns, width = np.unique(part.indices), part.shape[1]
    if len(columns) > part.shape[0] >= _MANY_ROWS:
        return _rotated(part)

    def spread(v: Floats) -> Floats:
        w = np.zeros(width)
        w[columns] = v
        return w

    return RowBlock(part[:, columns].toarray(), spread)


def _rotated(part: Any) -> RowBlock:
    """Fewer sparse rows than columns: as many columns as rows, by a Cholesky factor.

    ``part = LQ'`` with orthonormal columns of Q, for ``LL' = part·part'``. Nothing of the size of
    the columns squared, or of rows times columns, is made.
    """
    K = (part @ part.T).toarray()
    # Equal rows make K singular; what this adds is below the roundings of K itself.
    K[np.diag_indices_from(K)] += 4e-16 * len(K) * K.diagonal().max()
    L = linalg.cholesky(K, lower=True, check_finite=False)

    def spread(v: Floats) -> Floats:
        return np.asarray(part.T @ linalg.solve_triangular(L, v, lower=True, trans="T"))

    return RowBlock(L, spread)
