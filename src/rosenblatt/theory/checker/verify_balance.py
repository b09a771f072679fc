"""Check a balance in integers: that ``B'B - rr'`` is positive definite.

(The theorem and its proof are in the guide to certificates. B holds the signed rows times their
coefficients, r is the sum of its rows, and columns may be multiplied by any positive numbers.)

B is rounded to integers B̃ of about 24 bits, each entry off by at most 1/2, and r to r̃. For v
of length one, ``‖Bv‖ >= ‖B̃v‖ - e`` and ``|r·v| <= |r̃·v| + e'`` with ``e = √n/2`` for the n numbers
that are rounded and ``e' = √k/2`` for the k columns. So ``‖Bv‖ > |r·v|`` follows from
``‖B̃v‖² > 2(r̃·v)² + 2(e + e')²``, and what is to be shown is that the integer matrix
``M = B̃'B̃ - 2r̃r̃'`` has eigenvalues above ``2(e + e')²``.

For this a Cholesky factor of ``M - s`` is guessed in doubles, rounded to integers L (over
2^10), and the integer matrix ``F = 2^20·(M - s) - LL'`` computed. As LL' has no negative
eigenvalue, those of M are at least ``s - ‖F‖/2^20``, and the largest sum of absolute values in a
row bounds ‖F‖.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import Any

import numpy as np

from rosenblatt.theory.checker.certificate import Combination, Replacement
from rosenblatt.theory.checker.checker_rows import SignedRows, require

_FAILS = "the rows of the balance do not cancel well enough"


def check_balance(
    combination: Combination, replaced: Sequence[Replacement], data: SignedRows, everyone: bool
) -> None:
    """That a hyperplane with no row of the balance on the wrong side contains all of them.

    With `everyone`, that it then contains all rows of the data.
    """
    B = data.signed(combination.rows, combination.coefficients)
    for r in replaced:
        _check_replacement(r, B.shape[1])
        B[:, r.column] = B[:, list(r.columns)] @ np.array(r.weights, dtype=object)
    top = np.abs(B).max(axis=0)
    if everyone:
        _check_unseen(np.flatnonzero(top == 0).tolist(), replaced, data)
    B, top = B[:, top > 0], top[top > 0]
    require(B.shape[1] > 0, _FAILS)
    m, k = B.shape
    bits = (61 - m.bit_length()) // 2
    shifts = np.array([bits - int(x).bit_length() for x in top], dtype=object)
    total = _rounded(B.sum(axis=0), shifts)
    require(max(map(abs, total.tolist())) < 2**29, _FAILS)
    r = total.astype(np.int64)
    M = _gram(_rounded(B, shifts).astype(np.float64)) - 2 * np.outer(r, r)
    inexact = int(np.count_nonzero(B[:, shifts < 0]))
    require(_eigenvalues_above(M, (isqrt(inexact) + isqrt(k) + 2) ** 2 // 2 + 1), _FAILS)


def _check_replacement(r: Replacement, width: int) -> None:
    """That a replacement is invertible."""
    require(len(set(r.columns)) == len(r.columns), "a replacement names a column twice")
    require(all(0 <= j < width for j in r.columns), "a column is out of range")
    weights = dict(zip(r.columns, r.weights, strict=True))
    require(weights.get(r.column, 0) != 0, "a column is replaced by others alone")


def _check_unseen(columns: list[int], replaced: Sequence[Replacement], data: SignedRows) -> None:
    """That columns which are zero in the rows of a balance are zero in all rows of the data."""
    changed = {r.column for r in replaced}
    plain = np.array([j for j in columns if j not in changed], dtype=np.intp)
    require(not data.occurs(plain), "a column has no row in the balance")
    for j in columns:
        if j in changed:
            vector = {j: 1}
            for r in reversed(replaced):
                share = vector.pop(r.column, 0)
                for i, w in zip(r.columns, r.weights, strict=True):
                    vector[i] = vector.get(i, 0) + share * w
            weights = [vector.get(i, 0) for i in range(data.d)]
            for score, _ in data.scores(weights, vector.get(data.d, 0)):
                require(score == 0, "a replaced column has no row in the balance")


def _rounded(values: Any, shifts: Any) -> Any:
    """Integers times ``2**shifts``, rounded to the nearest integer."""
    up, down = np.maximum(shifts, 0), np.maximum(-shifts, 0)
    half = np.left_shift(1, down) >> 1
    return np.right_shift(np.left_shift(values, up) + half, down)


def _gram(B: Any) -> Any:
    """``B'B`` for doubles that are integers of up to 26 bits, exactly."""
    high = np.rint(B / 2**13)
    low = B - high * 2**13
    mixed = _product(high.T, low.T)
    highest = _product(high.T, high.T) * 2**26
    return highest + (mixed + mixed.T) * 2**13 + _product(low.T, low.T)


def _product(A: Any, B: Any) -> Any:
    """``AB'`` for doubles that are integers, exactly: no partial sum can reach 2^53."""
    largest = (A * A).sum(axis=1).max() * (B * B).sum(axis=1).max()
    require(largest < 2.0**104, "the numbers of the balance are too large to be checked")
    return (A @ B.T).astype(np.int64)


def _eigenvalues_above(M: Any, floor: int) -> bool:
    """Whether all eigenvalues of an integer matrix are proven to be above an integer."""
    k = len(M)
    for power in (12, 10, 8, 6, 5, 4, 3, 2, 1):
        s = floor * 4**power
        if s >= 2**62:
            continue
        shifted = M.copy()
        shifted[np.diag_indices(k)] -= s
        try:
            L = np.rint(np.linalg.cholesky(shifted.astype(np.float64)) * 2**10)
        except np.linalg.LinAlgError:
            continue
        high = np.rint(L / 2**20)
        low = L - high * 2**20
        mixed = _product(high, low)
        F = shifted - _product(high, high) * 2**20 - mixed - mixed.T
        if np.abs(F).max() >= 2**40:
            continue
        F = F * 2**20 - _product(low, low)
        if np.abs(F).astype(object).sum(axis=1).max() < (s - floor) * 2**20:
            return True
    return False
