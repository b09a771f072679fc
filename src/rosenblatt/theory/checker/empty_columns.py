"""Columns that no claim of a certificate is about, left out before the check.

Hashed text has millions of columns, most of them empty. A column that is zero in every row and has
no weight in the certificate changes no score, no length, no rank and no linear dependency.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from rosenblatt.theory.checker.certificate import Certificate
from rosenblatt.theory.checker.checker_rows import require


def without_empty_columns(c: Certificate, values: Any) -> tuple[Certificate, Any]:
    """The certificate and the rows of a sparse matrix without such columns.

    Rules about single columns are left out: they are checked against all columns.
    """
    if not sparse.issparse(values) or c.replaced:
        return c, values
    margins = [m for m in (c.augmented, c.geometric) if m is not None]
    used = np.zeros(c.n_columns, dtype=bool)
    used[values.indices] = True
    for weights in [m.weights for m in margins] + ([] if c.weights is None else [c.weights]):
        require(len(weights) == c.n_columns, "the hyperplane has another number of columns")
        used |= np.fromiter((w != 0 for w in weights), bool, c.n_columns)
    kept = np.flatnonzero(used)
    if not 0 < len(kept) < c.n_columns:
        return c, values
    places = kept.tolist()

    def narrow(weights: Sequence[int]) -> tuple[int, ...]:
        return tuple(weights[j] for j in places)

    def narrowed(margin: Any) -> Any:
        return None if margin is None else replace(margin, weights=narrow(margin.weights))

    return replace(
        c,
        n_columns=len(places),
        weights=None if c.weights is None else narrow(c.weights),
        augmented=narrowed(c.augmented),
        geometric=narrowed(c.geometric),
        columns=(),
    ), values[:, kept]
