"""Proof that a matrix is positive definite, by a Cholesky factor in floating point.

If the factorisation of H succeeds, ``LL' = H + E`` with ``|E| <= (k + 1)·u·|L||L|'``, entry by
entry, for k columns and the unit roundoff u, in whatever order sums are taken (N. Higham, 2002,
Accuracy and Stability of Numerical Algorithms, theorem 10.3; S. Rump, 2006, Verification of
positive definiteness). LL' has no negative eigenvalue, so those of H are at least ``-‖E‖``.
Therefore something larger than ‖E‖, which the trace bounds, is subtracted from the diagonal first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from rosenblatt.theory.search.matrices import Floats, gram

_UNIT = 2.0**-53


class Factor(NamedTuple):
    """The lower Cholesky factor of nearly H; what is above the diagonal is not defined."""

    L: Floats

    def solve(self, right: Floats) -> Floats:
        """About ``H⁻¹·right``."""
        inner = linalg.blas.dtrsv(self.L, right, lower=True)
        return np.asarray(linalg.blas.dtrsv(self.L, inner, lower=True, trans=True))


def verified_factor(P: Any, floor: Floats) -> Factor | None:
    """A factor that proves ``H = P'P - diag(floor)`` to be positive definite, or None.

    No column of P may be longer than one, except by rounding.

    Examples
    --------
    >>> P = np.array([[0.6, 0.0], [0.8, 0.6], [0.0, 0.8]])
    >>> verified_factor(P, np.full(2, 0.5)).solve(np.full(2, 0.98)).round(6).tolist()
    [1.0, 1.0]
    >>> verified_factor(P, np.full(2, 0.6)) is None
    True
    """
    m, k = P.shape
    H = gram(P)
    trace = float(H.diagonal().sum())
    H[np.diag_indices(k)] -= floor + (m + 4 * k + 64) * 2 * _UNIT * trace
    L, failed = linalg.lapack.dpotrf(H.T, lower=True, overwrite_a=True, clean=False)
    return None if failed else Factor(L)
