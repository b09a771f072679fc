"""What the steps of the search hand to each other: proposals in doubles, decisions with proofs."""

from __future__ import annotations

from dataclasses import dataclass

from rosenblatt.theory.search.column_dependencies import Reduced
from rosenblatt.theory.search.matrices import Floats, Indices
from rosenblatt.theory.search.rounded_dependencies import NullVector
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
class Contradiction:
    """Rows and positive integers c with ``Σ c_i·y_i·(x_i, 1) = 0`` for the original values.

    (In a balance, nearly zero.)
    """

    rows: tuple[int, ...]
    coefficients: tuple[int, ...]


@dataclass(frozen=True)
class Decision:
    """A verdict and its proof, as in a certificate but numbered within the problem.

    `weights` are exact, the offset last. `null_vectors` replace the column of their lead by their
    combination of columns, one after the other, before the rows of `balance` are in balance.
    """

    verdict: str
    weights: tuple[int, ...] | None = None
    contradiction: Contradiction | None = None
    spanning: Contradiction | None = None
    columns: tuple[ColumnSeparator, ...] = ()
    balance: Contradiction | None = None
    null_vectors: tuple[NullVector, ...] = ()
