"""Certificates: the verdict, its proof, and the data it is about."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

from rosenblatt.theory.checker import certificate_file, report
from rosenblatt.theory.checker.domain import VERDICTS

# The classes of the positive side of a part, then those of the negative side.
Sides = tuple[frozenset[str], frozenset[str]]


@dataclass(frozen=True, repr=False)
class Combination:
    """Row numbers, the side (+1 or -1) of each row, and positive integer coefficients."""

    rows: tuple[int, ...]
    signs: tuple[int, ...]
    coefficients: tuple[int, ...]

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The coefficients divided by their sum."""
        total = sum(self.coefficients)
        return tuple(Fraction(c, total) for c in self.coefficients)

    def __repr__(self) -> str:
        return f"<Combination of {len(self.rows):,} rows>"


@dataclass(frozen=True, repr=False)
class Margin:
    """An interval for the largest margin; see :class:`rosenblatt.theory.MarginInterval`."""

    lower: float
    upper: float
    weights: tuple[int, ...]
    bias: int
    support: Combination

    def __repr__(self) -> str:
        return f"<Margin between {self.lower:.6g} and {self.upper:.6g}>"


@dataclass(frozen=True)
class ColumnRule:
    """Column `column` alone separates the classes.

    `direction` times its value is above `direction` times `threshold` on the positive rows, and
    below on the negative rows.
    """

    column: int
    direction: int
    threshold: Fraction


@dataclass(frozen=True)
class Replacement:
    """Column `column` is replaced by the sum of `columns` times `weights`; it is one of them.

    The column of ones, if there is one, has the number after the last.
    """

    column: int
    columns: tuple[int, ...]
    weights: tuple[int, ...]


@dataclass(frozen=True)
class CertificateSource:
    """The columns of the file: the label's column, and the names of the other columns.

    Names are for readers; the proof does not depend on them. `numbers` says what the decimals of a
    file stand for: ``"decimals"``, the numbers that are written there, or ``"doubles"``, those
    nearest to them, as in certificates of versions 1 to 3. It is empty for a data frame.
    """

    label: str
    header: bool
    columns: tuple[str, ...]
    numbers: str = ""


@dataclass(frozen=True, repr=False)
class Certificate(report.Reported):
    """Whether a hyperplane separates two classes, with the proof.

    Made by :func:`rosenblatt.certify`, checked by :func:`rosenblatt.verify`. ``print`` shows it as
    a short report. Row and column numbers count from 0.

    Attributes
    ----------
    verdict : str
        ``"separable"``: some hyperplane has every row strictly on its side.
        ``"quasi-separable"``: none has, but some has no row on the wrong side, and not all rows on
        it. ``"inseparable"``: not even that. ``"undecided"``: the time limit was reached.
    exact : bool
        Whether the verdict is proven in integers. If not, it rests on floating-point arithmetic.
    n_rows, n_columns, fingerprint
        The data it is about; the fingerprint hashes all values and labels.
    fit_intercept : bool
        Whether hyperplanes may miss the origin.
    positive, negative : tuple of str
        The names of the classes on either side. Rows of other classes are ignored.
    weights, bias
        The hyperplane in integers (only its direction matters), if there is one: strict if
        separable, weak if quasi-separable.
    contradiction : Combination or None
        A minimal set of rows that contradict each other: ``Σ c_i·y_i·(x_i, 1) = 0``. Without any
        one of them, the others can be separated.
    spanning : Combination or None
        If inseparable: contradicting rows of which every row is a linear combination.
    balance : Combination or None
        If there are many columns, instead of the two above: rows that cancel so nearly,
        ``Σ c_i·y_i·(x_i, 1) ≈ 0``, that no hyperplane can have all of them on the right side.
    replaced : tuple of Replacement
        Columns to be replaced, one after the other, before the rows are in balance. Most become
        zero: they are linear combinations of others.
    columns : tuple of ColumnRule
        The columns that alone separate the classes strictly.
    radius : float or None
        R, the length of the longest row ``(x, 1)``; None beyond the range of doubles.
    augmented, geometric : Margin or None
        If separable: intervals for the largest margins.
    mistake_bound : int or None
        If separable: a perceptron that starts at zero with threshold zero makes at most this many
        updates, in any order of the rows (Novikoff).
    source : CertificateSource or None
        Names of columns, if the data come from a file or a data frame.

    Examples
    --------
    >>> from rosenblatt import certify
    >>> certificate = certify([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    >>> certificate
    <Certificate: inseparable, proven, class 0 against class 1, 4 rows, 2 columns>
    >>> certificate.separable
    False
    >>> [str(share) for share in certificate.contradiction.shares]
    ['1/4', '1/4', '1/4', '1/4']
    """

    verdict: str
    exact: bool
    n_rows: int
    n_columns: int
    fingerprint: str
    fit_intercept: bool
    positive: tuple[str, ...]
    negative: tuple[str, ...]
    weights: tuple[int, ...] | None
    bias: int
    contradiction: Combination | None
    spanning: Combination | None
    columns: tuple[ColumnRule, ...]
    radius: float | None
    augmented: Margin | None
    geometric: Margin | None
    mistake_bound: int | None
    source: CertificateSource | None = None
    balance: Combination | None = None
    replaced: tuple[Replacement, ...] = ()

    @property
    def separable(self) -> bool:
        """True if there is a strict separator."""
        return self.verdict == "separable"

    @property
    def speaks_of(self) -> str:
        """The classes on either side, in words."""
        negative, positive = report.side_text(self.negative), report.side_text(self.positive)
        return f"{negative} against {positive}"

    def report(self) -> str:
        """The certificate in plain English."""
        return report.report(self)

    def __repr__(self) -> str:
        proven = "proven, " if self.exact and self.verdict != "undecided" else ""
        rows, columns = report.counted(self.n_rows, "row"), report.counted(self.n_columns, "column")
        return f"<Certificate: {self.verdict}, {proven}{self.speaks_of}, {rows}, {columns}>"

    def to_dict(self) -> dict[str, Any]:
        """The certificate as a JSON object with its seal; see the guide for the format."""
        return certificate_file.to_record(self)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Certificate:
        """The inverse of `to_dict`; a damaged or altered record raises DataError."""
        return certificate_file.from_record(record)

    def with_source(self, source: CertificateSource) -> Certificate:
        """The same certificate with the names of its columns."""
        return replace(self, source=source)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate as JSON."""
        certificate_file.write(self.to_dict(), path)


class CertificateSet(report.Reported, Mapping[Any, Certificate]):
    """Certificates of a problem with several classes: one per class, or one per pair of classes.

    A mapping from the class (or pair, negative class first) to its :class:`Certificate`. A set is
    complete: unless every class, or every pair, has exactly one certificate, making it raises
    ValueError.

    Attributes
    ----------
    strategy : str
        ``"ovr"``, one per class against the rest, or ``"ovo"``, one per pair.
    classes : tuple of str
        The names of all classes.

    Examples
    --------
    >>> from rosenblatt import certify
    >>> parts = certify([[0], [1], [2]], ["a", "b", "c"], strategy="ovr")
    >>> {name: part.verdict for name, part in parts.items()}
    {'a': 'separable', 'b': 'inseparable', 'c': 'separable'}
    >>> certify([[0], [1], [2]], ["a", "b", "c"], strategy="ovo")
    <CertificateSet: separable, every pair of 3 classes>
    """

    def __init__(self, parts: Mapping[Any, Certificate]) -> None:
        self._parts = dict(parts)
        _check_complete(self._parts.values())
        self.strategy = _strategy_of(self._parts.values())
        self.classes = _classes_of(self._parts.values())

    def __getitem__(self, key: Any) -> Certificate:
        return self._parts[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    @property
    def separable(self) -> bool:
        """True if every part is."""
        return all(part.separable for part in self.values())

    @property
    def verdict(self) -> str:
        """The worst verdict of any part."""
        return max((part.verdict for part in self.values()), key=VERDICTS.index)

    @property
    def speaks_of(self) -> str:
        """What is compared, in words."""
        count = len(self.classes)
        if self.strategy == "ovo":
            return f"every pair of {count:,} classes"
        return f"each of {count:,} classes against the rest"

    def report(self) -> str:
        """All reports, one after the other."""
        return "\n\n".join(part.report() for part in self.values())

    def __repr__(self) -> str:
        return f"<CertificateSet: {self.verdict}, {self.speaks_of}>"

    def _repr_html_(self) -> str:
        return "".join(report.as_html(part.report()) for part in self.values())

    def to_dict(self) -> dict[str, Any]:
        """All parts as a JSON object with a seal over all of them."""
        return certificate_file.to_set_record(self)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> CertificateSet:
        """The inverse of `to_dict`, keyed by the names of the classes."""
        return certificate_file.from_set_record(record)

    def with_source(self, source: CertificateSource) -> CertificateSet:
        """The same certificates with the names of their columns."""
        return CertificateSet({key: part.with_source(source) for key, part in self.items()})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all certificates into one JSON file."""
        certificate_file.write(self.to_dict(), path)


def _strategy_of(parts: Collection[Certificate]) -> str:
    """``"ovo"`` if every part has one class on each side, else ``"ovr"``."""
    pairs = all(len(part.positive) == len(part.negative) == 1 for part in parts)
    return "ovo" if pairs else "ovr"


def _classes_of(parts: Collection[Certificate]) -> tuple[str, ...]:
    """The names of all classes, sorted as text."""
    return tuple(sorted({name for part in parts for name in (*part.positive, *part.negative)}))


def _check_complete(parts: Collection[Certificate]) -> None:
    """ValueError unless the parts are complete, each once, and about the same problem."""
    if not parts:
        raise ValueError("a set of certificates without a certificate proves nothing")
    first = next(iter(parts))
    shared = {(p.n_rows, p.n_columns, p.fingerprint, p.fit_intercept) for p in parts}
    if len(shared) > 1:
        raise ValueError("the certificates of the set are about different data or hyperplanes")
    classes, strategy = _classes_of(parts), _strategy_of(parts)
    if len(classes) < 3:
        raise ValueError(f"{first.speaks_of} is one certificate, not a set")
    # Count before listing: a file with one part may name a million classes.
    if len(parts) != (len(classes) if strategy == "ovr" else len(classes) * (len(classes) - 1) / 2):
        kind = "class" if strategy == "ovr" else "pair of classes"
        raise ValueError(
            f"the set has {len(parts):,} certificates for {len(classes):,} classes; "
            f"there must be one per {kind}"
        )
    counts = Counter(_sides(part, strategy) for part in parts)
    for sides in _expected(classes, strategy):
        if counts[sides] != 1:
            text = " and ".join(report.side_text(sorted(side)) for side in sides)
            times = "is missing" if not counts[sides] else "occurs twice"
            raise ValueError(f"the certificate of {text} {times} in the set")


def _sides(part: Certificate, strategy: str) -> Sides:
    positive, negative = frozenset(part.positive), frozenset(part.negative)
    if strategy == "ovo" and min(positive) > min(negative):
        return negative, positive
    return positive, negative


def _expected(classes: tuple[str, ...], strategy: str) -> list[Sides]:
    if strategy == "ovo":
        return [(frozenset([a]), frozenset([b])) for a, b in combinations(classes, 2)]
    every = frozenset(classes)
    return [(frozenset([name]), every - {name}) for name in classes]
