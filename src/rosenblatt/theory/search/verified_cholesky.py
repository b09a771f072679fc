"""Proofs that a matrix is positive definite, by Cholesky factors in floating point.

Where the factorisation of H runs to its end, ``LL' = H + E`` with ``|E| <= (k + 1)·u·|L||L|'``,
entry by entry, for k columns and the unit roundoff u, in whatever order sums are taken (N. Higham,
2002, Accuracy and Stability of Numerical Algorithms, theorem 10.3; S. Rump, 2006, Verification of
positive definiteness). As LL' has no negative eigenvalue, those of H are at least ``-‖E‖``. So
something larger than ‖E‖ is taken off the diagonal of H first.

In doubles, the trace bounds ‖E‖ well enough. In single precision, which takes half the time, one
has to look at L: of a symmetric matrix M without negative numbers, no eigenvalue exceeds the
largest ratio of ``Mx`` to x, whatever the positive x (L. Collatz, 1942).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from rosenblatt.theory.search.matrices import Floats, combine, gram, times, with_values

_DOUBLE, _SINGLE = 2.0**-53, 2.0**-24
# With fewer columns there is little to gain by single precision, with more it hardly ever proves.
_FEWEST, _MOST = 512, 1536
# What is taken off then, as a share of k²u, which would be enough in any case.
_SHARE = 0.125
# Roundings of a number besides those of the sum that it is.
_BESIDES = 8


class Factor(NamedTuple):
    """A Cholesky factor of nearly H."""

    L: NDArray[Any]
    #: Whether H is positive definite beyond doubt. (To be asked last: it may spoil the factor.)
    proves: Callable[[], bool]

    def solve(self, right: Floats) -> Floats:
        """About ``H⁻¹·right``."""
        trsv = linalg.blas.dtrsv if self.L.dtype == np.float64 else linalg.blas.strsv
        inner = trsv(self.L, right, lower=True)
        return np.asarray(trsv(self.L, inner, lower=True, trans=True), dtype=np.float64)


def factors(P: Any, floor: Floats) -> Iterator[Factor]:
    """Factors of ``H = P'P - diag(floor)``, those that are found, the cheaper one first.

    No column of P is longer than one, but for roundings.

    Examples
    --------
    >>> P = np.array([[0.6, 0.0], [0.8, 0.6], [0.0, 0.8]])
    >>> [found.proves() for found in factors(P, np.full(2, 0.5))]
    [True]
    >>> list(factors(P, np.full(2, 0.6)))
    []
    """
    if sparse.issparse(P) and _FEWEST <= P.shape[1] <= _MOST:
        yield from _in_single(P, floor)
    m, k = P.shape
    H = gram(P)
    trace = float(H.diagonal().sum())
    H[np.diag_indices(k)] -= floor + (m + 4 * k + 64) * 2 * _DOUBLE * trace
    L, failed = linalg.lapack.dpotrf(H.T, lower=True, overwrite_a=True, clean=False)
    if not failed:
        yield Factor(L, lambda: True)


def _in_single(P: Any, floor: Floats) -> Iterator[Factor]:
    k = P.shape[1]
    taken = _SHARE * k * k * _SINGLE
    H = gram(with_values(P, P.data.astype(np.float32)))
    H[np.diag_indices(k)] -= floor + taken
    L, failed = linalg.lapack.spotrf(H.T, lower=True, overwrite_a=True, clean=False)
    if failed:
        return

    def proves() -> bool:
        # A sum for P'P has no more terms than a column has numbers, one for L no more than columns.
        size, trmv = with_values(P, np.abs(P.data)), linalg.blas.strmv
        most = np.bincount(P.indices, minlength=k)
        products = _norm(lambda x: combine(size, times(size, x)), most, 1)
        np.abs(L, out=L)
        factor = _norm(
            lambda x: trmv(L, trmv(L, x, lower=True, trans=True), lower=True), np.arange(k), 2
        )
        return 1.01 * (products + factor) < taken

    yield Factor(L, proves)


def _norm(product: Callable[[Floats], Any], terms: NDArray[np.intp], looks: int) -> float:
    """A bound for the norm of the roundings in sums of so many terms, better with more `looks`.

    `product` multiplies by the sums of the terms' absolute values. The sum in row i and column j
    has at most ``min(terms_i, terms_j)`` terms, which is not more than the root of their product.
    """
    x = root = np.sqrt(_SINGLE * (terms + _BESIDES))
    for _ in range(looks):
        y = np.asarray(root * product(root * x))
        bound, x = float((y / x).max()), y
    return bound
