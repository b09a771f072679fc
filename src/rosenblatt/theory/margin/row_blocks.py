"""Some rows as a dense block, in coordinates that preserve inner products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from rosenblatt.theory.search.matrices import Floats

# From this many sparse rows on, if fewer than their columns, the block is a Cholesky factor.
_MANY_ROWS = 128


class RowBlock(NamedTuple):
    """The block, and a function from weights of its columns to weights of the original columns."""

    values: Floats
    expand: Callable[[Floats], Floats]


def row_block(part: Any) -> RowBlock:
    """Dense rows unchanged; sparse rows without empty columns, or as a Cholesky factor."""
    if not sparse.issparse(part):
        return RowBlock(part, lambda v: v)
    columns, width = np.unique(part.indices), part.shape[1]
    if len(columns) > part.shape[0] >= _MANY_ROWS:
        return _cholesky_block(part)

    def expand(v: Floats) -> Floats:
        w = np.zeros(width)
        w[columns] = v
        return w

    return RowBlock(part[:, columns].toarray(), expand)


def _cholesky_block(part: Any) -> RowBlock:
    """The Cholesky factor L of ``part·part'``: a block with as many columns as rows.

    ``part = LQ'`` with orthonormal columns of Q, which is never formed: only matrices of rows times
    rows are dense.
    """
    K = (part @ part.T).toarray()
    # Equal rows make K singular; this ridge is smaller than the rounding error of K.
    K[np.diag_indices_from(K)] += 4e-16 * len(K) * K.diagonal().max()
    L = linalg.cholesky(K, lower=True, check_finite=False)

    def expand(v: Floats) -> Floats:
        return np.asarray(part.T @ linalg.solve_triangular(L, v, lower=True, trans="T"))

    return RowBlock(L, expand)
