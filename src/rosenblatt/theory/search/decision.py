"""What the steps of the search hand to each other: proposals in doubles, decisions with proofs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rosenblatt.theory.checker.certificate import Combination
from rosenblatt.theory.search.column_dependencies import NullVector, Reduced
from rosenblatt.theory.search.exact_numbers import primitive
from rosenblatt.theory.search.matrices import Floats, Indices
from rosenblatt.theory.search.problem import BinaryProblem
from rosenblatt.theory.search.single_column_separators import ColumnSeparator


@dataclass(frozen=True)
class Proposal:
    """What doubles suggest: scaled weights `v`, and `rows` with positive dual `weights`.

    `clear` says that every row certainly has a positive score under v; otherwise the rows are a
    contradiction, perhaps, and certainly a balance if `balanced`. If `weak` is given, they are a
    balance except for their `null_vectors`, and these exact weights separate weakly. `reduced` is
    the problem without columns that are combinations of others, to be solved instead.
    """

    v: Floats
    clear: bool
    rows: Indices
    weights: Floats
    balanced: bool = False
    null_vectors: tuple[NullVector, ...] = ()
    weak: tuple[int, ...] | None = None
    reduced: Reduced | None = None


@dataclass(frozen=True)
class Decision:
    """A verdict and its proof, as in a certificate but numbered within the problem.

    `weights` are exact, the offset last. `null_vectors` replace the column of their lead by their
    combination of columns, one after the other, before the rows of `balance` are in balance.
    """

    verdict: str
    weights: tuple[int, ...] | None = None
    contradiction: Combination | None = None
    spanning: Combination | None = None
    columns: tuple[ColumnSeparator, ...] = ()
    balance: Combination | None = None
    null_vectors: tuple[NullVector, ...] = ()


def combination(problem: BinaryProblem, rows: Indices, coefficients: Sequence[int]) -> Combination:
    """Rows of a problem in rising order, with their sides and their coefficients."""
    order = np.argsort(rows, kind="stable")
    weights = primitive([coefficients[k] for k in order.tolist()])
    rows = rows[order]
    signs = problem.y[rows].astype(int).tolist()
    return Combination(tuple(rows.tolist()), tuple(signs), tuple(weights))


def renumbered(found: Combination, rows: Indices) -> Combination:
    """A combination of rows that are some `rows` of a larger problem, numbered there."""
    return replace(found, rows=tuple(rows[list(found.rows)].tolist()))
