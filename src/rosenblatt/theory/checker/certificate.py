"""The record of a proof: what was decided, by what witness, about which data."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import flint

from rosenblatt.errors import DataError
from rosenblatt.files import replacing

VERDICTS = ("separable", "quasi-separable", "inseparable", "undecided")
FORMAT = "rosenblatt-certificate"
SET_FORMAT = "rosenblatt-certificates"
VERSION = 3
READABLE = (1, 2, 3)
# What older versions do not have, and what it is for them.
_SINCE: dict[int, dict[str, Any]] = {2: {"balance": None}, 3: {"replaced": []}}


@dataclass(frozen=True)
class Combination:
    """Rows, the side (+1 or -1) each is on, and positive whole coefficients."""

    rows: tuple[int, ...]
    signs: tuple[int, ...]
    coefficients: tuple[int, ...]

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The coefficients divided by their sum."""
        total = sum(self.coefficients)
        return tuple(Fraction(c, total) for c in self.coefficients)


@dataclass(frozen=True)
class Margin:
    """An interval for the largest margin; see :class:`rosenblatt.theory.MarginInterval`."""

    lower: float
    upper: float
    weights: tuple[int, ...]
    bias: int
    support: Combination


@dataclass(frozen=True)
class ColumnRule:
    """Column `column` alone separates: `direction` times its value is above `threshold`'s on the
    positive rows, and below on the negative ones."""

    column: int
    direction: int
    threshold: Fraction


@dataclass(frozen=True)
class Replacement:
    """Column `column` is replaced by the sum of `columns` times `weights`; it is one of them.

    The column of ones, if there is one, counts as the one after the last.
    """

    column: int
    columns: tuple[int, ...]
    weights: tuple[int, ...]


@dataclass(frozen=True)
class Source:
    """Where in a file the data stand: the label's column, and the names of the other columns.

    Names are for readers; the proof does not depend on them.
    """

    label: str
    header: bool
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Certificate:
    """Whether a hyperplane separates two classes, with the proof.

    Made by :func:`rosenblatt.certify`, checked by :func:`rosenblatt.verify`. ``print`` shows it as
    a short report. Row and column numbers count from 0.

    Attributes
    ----------
    verdict : str
        ``"separable"``: some hyperplane has every row strictly on its side.
        ``"quasi-separable"``: none has, but some has no row on the wrong side, and not all rows on
        it. ``"inseparable"``: not even that. ``"undecided"``: the time limit came first.
    exact : bool
        Whether the verdict is proven in whole numbers. If not, it is what doubles suggest.
    n_rows, n_columns, fingerprint
        The data it speaks about; the fingerprint hashes all values and labels.
    fit_intercept : bool
        Whether hyperplanes may miss the origin.
    positive, negative : tuple of str
        The names of the classes on either side. Rows of other classes are left out.
    weights, bias
        The hyperplane in whole numbers (only its direction matters), if there is one: strict if
        separable, weak if quasi-separable.
    contradiction : Combination or None
        A minimal set of rows that contradict each other: ``Σ c_i·y_i·(x_i, 1) = 0``. Drop any, and
        the rest of them can be separated.
    spanning : Combination or None
        If inseparable: contradicting rows of which every row is a linear combination.
    balance : Combination or None
        If there are many columns, in place of the two above: rows that cancel so nearly,
        ``Σ c_i·y_i·(x_i, 1) ≈ 0``, that no hyperplane can have them on its right sides.
    replaced : tuple of Replacement
        Columns to be replaced, one after the other, before the rows are in balance. Most become
        zero: they are combinations of others.
    columns : tuple of ColumnRule
        The columns that alone separate the classes strictly.
    radius : float or None
        R, the length of the longest row ``(x, 1)``; None beyond the range of doubles.
    augmented, geometric : Margin or None
        If separable: intervals for the largest margins.
    mistake_bound : int or None
        If separable: a perceptron that starts at zero with threshold zero makes at most this many
        updates, in any order of the rows (Novikoff).
    source : Source or None
        Names of columns, if the data come from a file.

    Examples
    --------
    >>> from rosenblatt import certify
    >>> certificate = certify([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    >>> certificate.verdict, certificate.separable
    ('inseparable', False)
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
    source: Source | None = None
    balance: Combination | None = None
    replaced: tuple[Replacement, ...] = ()

    @property
    def separable(self) -> bool:
        """True if a strict separator is at hand."""
        return self.verdict == "separable"

    def report(self) -> str:
        """The certificate in plain English."""
        from rosenblatt.theory.checker.report import report

        return report(self)

    def __str__(self) -> str:
        return self.report()

    def to_dict(self) -> dict[str, Any]:
        """The certificate as plain JSON values, sealed; see the format's page in the guide."""
        record: dict[str, Any] = {"format": FORMAT, "version": VERSION}
        for field in fields(self):
            record[field.name] = _EXACT.get(field.name, plain)(getattr(self, field.name))
        record["seal"] = seal(record)
        return record

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Certificate:
        """The inverse of `to_dict`; a damaged or altered record raises DataError."""
        if not isinstance(record, Mapping) or record.get("format") != FORMAT:
            raise DataError("this is not a rosenblatt certificate")
        if record.get("version") not in READABLE:
            raise DataError(f"certificate version {record.get('version')!r}, expected {VERSION}")
        if record.get("seal") != seal(record):
            raise DataError("the certificate was altered after it was made: its seal is broken")
        try:
            known = dict(record)
            for version, added in _SINCE.items():
                known |= added if record["version"] < version else {}
            return cls(**{f.name: _READERS[f.name](known[f.name]) for f in fields(cls)})
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"the certificate is malformed: {error!r}") from None

    def with_source(self, source: Source) -> Certificate:
        """The same certificate with the names of its columns."""
        return replace(self, source=source)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate as JSON."""
        _write(self.to_dict(), path)


class CertificateSet(Mapping[Any, Certificate]):
    """Certificates of a problem of several classes: one a class, or one a pair of classes.

    A mapping from the class (or pair, negative class first) to its :class:`Certificate`.

    Examples
    --------
    >>> from rosenblatt import certify
    >>> parts = certify([[0], [1], [2]], ["a", "b", "c"], strategy="ovr")
    >>> {name: part.verdict for name, part in parts.items()}
    {'a': 'separable', 'b': 'inseparable', 'c': 'separable'}
    >>> certify([[0], [1], [2]], ["a", "b", "c"], strategy="ovo").separable
    True
    """

    def __init__(self, parts: Mapping[Any, Certificate]) -> None:
        self._parts = dict(parts)

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
        order = ("separable", "quasi-separable", "undecided", "inseparable")
        return max((part.verdict for part in self.values()), key=order.index)

    def report(self) -> str:
        """All reports, one after the other."""
        return "\n\n".join(part.report() for part in self.values())

    def __str__(self) -> str:
        return self.report()

    def to_dict(self) -> dict[str, Any]:
        """All parts as plain JSON values."""
        return {
            "format": SET_FORMAT,
            "version": VERSION,
            "certificates": [part.to_dict() for part in self.values()],
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> CertificateSet:
        """The inverse of `to_dict`, keyed by the names of the classes."""
        if record.get("version") not in READABLE or not isinstance(
            record.get("certificates"), list
        ):
            raise DataError("the set of certificates is malformed")
        parts = {}
        for item in record["certificates"]:
            part = Certificate.from_dict(item)
            one = len(part.negative) == 1 and len(part.positive) == 1
            parts[(*part.negative, *part.positive) if one else part.positive[0]] = part
        return cls(parts)

    def with_source(self, source: Source) -> CertificateSet:
        """The same certificates with the names of their columns."""
        return CertificateSet({key: part.with_source(source) for key, part in self.items()})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all certificates into one JSON file."""
        _write(self.to_dict(), path)


def load_certificate(path: str | os.PathLike[str]) -> Certificate | CertificateSet:
    """Read a certificate, or a set of them, from a JSON file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from rosenblatt import certify
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "certificate.json"
    >>> certify([[0], [1]], [0, 1]).save(path)
    >>> load_certificate(path).verdict
    'separable'
    """
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
        if isinstance(record, dict) and record.get("format") == SET_FORMAT:
            return CertificateSet.from_dict(record)
        return Certificate.from_dict(record)
    except (DataError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DataError(str(error), path=path) from None


def seal(record: Mapping[str, Any]) -> str:
    """SHA-256 of the record without its seal, as JSON with sorted keys, ASCII and no spaces."""
    body = {key: value for key, value in record.items() if key != "seal"}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def plain(value: Any) -> Any:
    """A field of a certificate as a JSON value; whole numbers and fractions become text.

    (Row numbers and signs are small and stay numbers, as doubles do.)
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _EXACT.get(f.name, plain)(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    return value


def _texts(values: tuple[int, ...] | None) -> list[str] | None:
    # Python refuses to spell whole numbers of more than 4300 digits; FLINT does not.
    return None if values is None else [str(flint.fmpz(x)) for x in values]


_EXACT: dict[str, Callable[[Any], Any]] = {
    "weights": _texts,
    "coefficients": _texts,
    "bias": lambda x: str(flint.fmpz(x)),
    "threshold": str,
}


def whole(text: Any) -> int:
    """A whole number from its decimal text."""
    if not isinstance(text, str):
        raise TypeError(f"expected a whole number as text, found {text!r}")
    return int(flint.fmpz(text))


def _wholes(texts: Any) -> tuple[int, ...]:
    return tuple(whole(t) for t in texts)


def _small(values: Any) -> tuple[int, ...]:
    if not all(type(v) is int for v in values):
        raise TypeError("expected small whole numbers")
    return tuple(values)


def _combination(r: Any) -> Combination | None:
    if r is None:
        return None
    return Combination(_small(r["rows"]), _small(r["signs"]), _wholes(r["coefficients"]))


def _margin(r: Any) -> Margin | None:
    if r is None:
        return None
    support = _combination(r["support"])
    if support is None:
        raise TypeError("a margin needs support rows")
    return Margin(
        float(r["lower"]), float(r["upper"]), _wholes(r["weights"]), whole(r["bias"]), support
    )


def _column(r: Any) -> ColumnRule:
    column, direction = _small([r["column"], r["direction"]])
    return ColumnRule(column, direction, Fraction(r["threshold"]))


def _replacement(r: Any) -> Replacement:
    (column,) = _small([r["column"]])
    return Replacement(column, _small(r["columns"]), _wholes(r["weights"]))


def _source(r: Any) -> Source | None:
    return None if r is None else Source(r["label"], bool(r["header"]), tuple(r["columns"]))


def _same(value: Any) -> Any:
    return value


_READERS: dict[str, Callable[[Any], Any]] = {
    "verdict": str,
    "exact": _same,
    "n_rows": int,
    "n_columns": int,
    "fingerprint": str,
    "fit_intercept": _same,
    "positive": tuple,
    "negative": tuple,
    "weights": lambda v: None if v is None else _wholes(v),
    "bias": whole,
    "contradiction": _combination,
    "spanning": _combination,
    "balance": _combination,
    "replaced": lambda v: tuple(_replacement(r) for r in v),
    "columns": lambda v: tuple(_column(r) for r in v),
    "radius": lambda x: None if x is None else float(x),
    "augmented": _margin,
    "geometric": _margin,
    "mistake_bound": _same,
    "source": _source,
}


def _write(record: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    with replacing(path, "w") as file:
        json.dump(record, file, indent=1)
        file.write("\n")
