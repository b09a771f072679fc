"""The file format of certificates: one JSON object, sealed by a hash.

Integers that may be long are decimal text. Row numbers, signs and doubles stay JSON numbers.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import flint

from rosenblatt.errors import DataError
from rosenblatt.files import replacing

if TYPE_CHECKING:
    from rosenblatt.theory.checker.certificate import Certificate, CertificateSet

FORMAT = "rosenblatt-certificate"
SET_FORMAT = "rosenblatt-certificates"
VERSION = 3
READABLE = (1, 2, 3)
# Fields that older versions lack, and their values there.
_SINCE: dict[int, dict[str, Any]] = {2: {"balance": None}, 3: {"replaced": []}}


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
            return from_set_record(record)
        return from_record(record)
    except (DataError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DataError(str(error), path=path) from None


def write(record: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a record as JSON."""
    with replacing(path, "w") as file:
        json.dump(record, file, indent=1)
        file.write("\n")


def seal(record: Mapping[str, Any]) -> str:
    """SHA-256 of the record without its seal, as JSON with sorted keys, ASCII and no spaces."""
    body = {key: value for key, value in record.items() if key != "seal"}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def to_record(certificate: Certificate) -> dict[str, Any]:
    """A certificate as plain JSON values, sealed."""
    record = {"format": FORMAT, "version": VERSION, **_plain(certificate)}
    record["seal"] = seal(record)
    return record


def to_set_record(parts: Iterable[Certificate]) -> dict[str, Any]:
    """Several certificates as plain JSON values."""
    records = [to_record(part) for part in parts]
    return {"format": SET_FORMAT, "version": VERSION, "certificates": records}


def from_record(record: Mapping[str, Any]) -> Certificate:
    """The inverse of `to_record`; a damaged or altered record raises DataError."""
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
        found: Certificate = _readers()["Certificate"](known)
        return found
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"the certificate is malformed: {error!r}") from None


def from_set_record(record: Mapping[str, Any]) -> CertificateSet:
    """The inverse of `to_set_record`, keyed by the names of the classes."""
    from rosenblatt.theory.checker.certificate import CertificateSet

    if record.get("version") not in READABLE or not isinstance(record.get("certificates"), list):
        raise DataError("the set of certificates is malformed")
    parts = {}
    for item in record["certificates"]:
        part = from_record(item)
        one = len(part.negative) == 1 and len(part.positive) == 1
        parts[(*part.negative, *part.positive) if one else part.positive[0]] = part
    return CertificateSet(parts)


def _plain(value: Any) -> Any:
    """A field of a certificate as a JSON value."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _TEXT.get(f.name, _plain)(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _texts(values: tuple[int, ...] | None) -> list[str] | None:
    # Python refuses to print integers of more than 4300 digits; FLINT does not.
    return None if values is None else [str(flint.fmpz(x)) for x in values]


_TEXT: dict[str, Callable[[Any], Any]] = {
    "weights": _texts,
    "coefficients": _texts,
    "bias": lambda x: str(flint.fmpz(x)),
    "threshold": str,
}


def _whole(text: Any) -> int:
    if not isinstance(text, str):
        raise TypeError(f"expected an integer as text, found {text!r}")
    return int(flint.fmpz(text))


def _wholes(texts: Any) -> tuple[int, ...]:
    return tuple(_whole(t) for t in texts)


def _small(value: Any) -> int:
    if type(value) is not int:
        raise TypeError("expected a small integer")
    return value


def _many(read: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    return lambda values: tuple(read(v) for v in values)


def _optional(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


def _same(value: Any) -> Any:
    return value


@cache
def _readers() -> dict[str, Callable[[Any], Any]]:
    """How each record is read: the field names in the file are those of the dataclass."""
    from rosenblatt.theory.checker import certificate as records

    def reader(cls: Any, **read: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda r: cls(**{name: convert(r[name]) for name, convert in read.items()})

    smalls = _many(_small)
    combination = reader(records.Combination, rows=smalls, signs=smalls, coefficients=_wholes)
    margin = reader(
        records.Margin, lower=float, upper=float, weights=_wholes, bias=_whole, support=combination
    )
    rule = reader(records.ColumnRule, column=_small, direction=_small, threshold=Fraction)
    replacement = reader(records.Replacement, column=_small, columns=smalls, weights=_wholes)
    source = reader(records.CertificateSource, label=_same, header=bool, columns=tuple)
    certificate = reader(
        records.Certificate,
        verdict=str, exact=_same, n_rows=int, n_columns=int, fingerprint=str, fit_intercept=_same,
        positive=tuple, negative=tuple, weights=_optional(_wholes), bias=_whole,
        contradiction=_optional(combination), spanning=_optional(combination),
        balance=_optional(combination), replaced=_many(replacement), columns=_many(rule),
        radius=_optional(float), augmented=_optional(margin), geometric=_optional(margin),
        mistake_bound=_same, source=_optional(source),
    )  # fmt: skip
    return {"Certificate": certificate}
