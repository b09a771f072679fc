"""What the steps of the search hand to each other: proposals in doubles, decisions with proofs."""

from __future__ import annotations

from dataclasses import dataclass

from rosenblatt.theory.search.column_dependencies import Reduced
from rosenblatt.theory.search.matrices import Floats, Indices
from rosenblatt.theory.search.rounded_dependencies import NullVector
from rosenblatt.theory.search.single_column_separators import ColumnSeparator


@dataclass(frozen=True)
class Proposal:
    """What doubles suggest.

    Attributes
    ----------
    v
        Scaled weights: the best for the working set.
    clear
        Whether every row certainly has a positive score under `v`.
    rows, weights
        The rows with positive dual values and these values: a contradiction unless `clear`.
    balanced
        Whether these rows and weights are proven to be a balance.
    null_vectors, weak
        Vectors that these rows are proven to be orthogonal to; except for them, they are a balance.
        And exact weights that have no row of the problem on the wrong side, and not all on it.
    reduced
        The problem without columns that are combinations of others: to be solved instead.
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
    """A verdict and its proof.

    Attributes
    ----------
    verdict
        ``separable``, ``quasi-separable``, ``inseparable`` or ``undecided``.
    weights
        Exact weights (integers; the offset last): positive on every row if separable, nowhere
        negative and somewhere positive if quasi-separable.
    contradiction
        Minimal set of rows that contradict each other, unless separable.
    spanning
        If inseparable: contradicting rows whose span contains every row.
    columns
        Columns that separate the classes alone, strictly.
    balance
        Unless separable, instead of the contradiction: rows that cancel nearly enough
        (:mod:`rosenblatt.theory.search.approximate_gordan`).
    null_vectors
        Vectors whose combination of columns replaces the column of their lead, one after the other,
        before the rows are in balance (:mod:`rosenblatt.theory.search.column_dependencies`).
    """

    verdict: str
    weights: tuple[int, ...] | None = None
    contradiction: Contradiction | None = None
    spanning: Contradiction | None = None
    columns: tuple[ColumnSeparator, ...] = ()
    balance: Contradiction | None = None
    null_vectors: tuple[NullVector, ...] = ()
