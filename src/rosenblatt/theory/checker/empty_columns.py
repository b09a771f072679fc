"""Empty columns, removed before a certificate is checked.

Hashed text has millions of columns, most of them empty. A column that is zero in every row and has
no weight in the certificate changes no score, no length, no rank and no linear dependency.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from rosenblatt.theory.checker.certificate import Certificate


def without_empty_columns(c: Certificate, values: Any) -> tuple[Certificate, Any]:
    """A checked certificate and the rows of a sparse matrix without such columns.

    Rules about single columns are dropped: they must be checked against all columns.
    """
    if not sparse.issparse(values) or c.replaced:
        return c, values
    margins = {name: getattr(c, name) for name in ("augmented", "geometric")}
    used = np.zeros(c.n_columns, dtype=bool)
    used[values.indices] = True
    for weights in (c.weights, *(m and m.weights for m in margins.values())):
        if weights is not None:
            used |= np.fromiter((w != 0 for w in weights), bool, c.n_columns)
    kept = np.flatnonzero(used)
    if not 0 < len(kept) < c.n_columns:
        return c, values

    def narrow(weights: Any) -> Any:
        return weights and tuple(weights[j] for j in kept.tolist())

    narrower = {name: m and replace(m, weights=narrow(m.weights)) for name, m in margins.items()}
    narrowed = replace(
        c, n_columns=len(kept), weights=narrow(c.weights), columns=(), **narrower
    )  # fmt: skip
    return narrowed, values[:, kept]
