"""The results of the steps of the search: proposals in doubles, decisions with proofs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rosenblatt.theory.checker.certificate import Combination
from rosenblatt.theory.search.column_dependencies import NullVector, ReducedProblem
from rosenblatt.theory.search.exact_numbers import primitive
from rosenblatt.theory.search.matrices import Floats, Indices
from rosenblatt.theory.search.problem import BinaryProblem
from rosenblatt.theory.search.single_column_separators import ColumnSeparator


@dataclass(frozen=True)
class Proposal:
    """A result in doubles: scaled weights `v`, and `rows` with positive dual `weights`.

    If `separates`, every row has a score above its rounding error under v, so v is a separator. If
    not, the rows may contain a contradiction; if `balanced`, they are a proven balance. If
    `weak_separator` is given, they are a balance except for their `null_vectors`, and it is a weak
    separator in exact weights. `reduced` is the problem without linearly dependent columns, to be
    solved instead.
    """

    v: Floats
    separates: bool
    rows: Indices
    weights: Floats
    balanced: bool = False
    null_vectors: tuple[NullVector, ...] = ()
    weak_separator: tuple[int, ...] | None = None
    reduced: ReducedProblem | None = None


@dataclass(frozen=True)
class Decision:
    """A verdict and its proof, as in a certificate, but with row and column indices of the problem.

    `weights` are exact, the offset last. `null_vectors` belong to `balance`: its rows are a balance
    after each vector, in turn, replaced its dependent column by its combination of columns.
    """

    verdict: str
    weights: tuple[int, ...] | None = None
    contradiction: Combination | None = None
    spanning: Combination | None = None
    columns: tuple[ColumnSeparator, ...] = ()
    balance: Combination | None = None
    null_vectors: tuple[NullVector, ...] = ()


def combination(problem: BinaryProblem, rows: Indices, coefficients: Sequence[int]) -> Combination:
    """Rows of a problem in ascending order, with their signs and coprime coefficients."""
    order = np.argsort(rows, kind="stable")
    weights = primitive([coefficients[k] for k in order.tolist()])
    rows = rows[order]
    signs = problem.y[rows].astype(int).tolist()
    return Combination(tuple(rows.tolist()), tuple(signs), tuple(weights))


def renumbered(combination: Combination, rows: Indices) -> Combination:
    """A combination with its row i replaced by `rows[i]`, the index in a larger problem."""
    return replace(combination, rows=tuple(rows[list(combination.rows)].tolist()))
