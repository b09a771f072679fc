"""The file format of certificates: one JSON object, sealed by a hash.

Integers that may be long are decimal text. Row numbers, signs and doubles stay JSON numbers.

Files are not trusted: reading one gives a certificate whose fields have their types, ranges and
shapes (`domain`), or raises DataError. A seal detects accidents, not forgeries, since anyone can
compute it; the verifier trusts nothing but the data.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

import flint

from rosenblatt.atomic_files import atomic_write
from rosenblatt.errors import DataError, shown
from rosenblatt.theory.checker.domain import check_fields
from rosenblatt.theory.checker.input_data import decimal_text

if TYPE_CHECKING:
    from rosenblatt.theory.checker.certificate import Certificate, CertificateSet

FORMAT = "rosenblatt-certificate"
SET_FORMAT = "rosenblatt-certificates"
VERSION = 4
READABLE = (1, 2, 3, 4)
# Sets of older versions have no seal: parts may be missing.
SET_VERSION = 4
# Fields added by each version, and their values in files of older versions.
_SINCE: dict[int, dict[str, Any]] = {2: {"balance": None}, 3: {"replaced": []}}
_LONGEST = 100 << 20  # bytes of a file
_ENVELOPE = ("format", "version", "seal")
_INTEGER = re.compile(r"-?[0-9]+", re.ASCII)


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
        with Path(path).open("rb") as file:
            content = file.read(_LONGEST + 1)
        if len(content) > _LONGEST:
            raise ValueError("this is not a rosenblatt certificate: it is longer than 100 MB")
        text = content.decode()
        record = json.loads(text, object_pairs_hook=_distinct, parse_constant=_no_number)
        if isinstance(record, dict) and record.get("format") == SET_FORMAT:
            return from_set_record(record)
        return from_record(record)
    except (RecursionError, UnicodeDecodeError, json.JSONDecodeError):
        raise DataError("this is not a rosenblatt certificate", path=path) from None
    except ValueError as error:
        raise DataError(str(error), path=path) from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object without duplicate names, which JSON parsers treat differently."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a field occurs twice in one object")
    return fields


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def write(record: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a record as JSON."""
    with atomic_write(path, "w") as file:
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


def to_set_record(parts: CertificateSet) -> dict[str, Any]:
    """A set of certificates as plain JSON values, sealed as a whole."""
    record = {
        "format": SET_FORMAT,
        "version": SET_VERSION,
        "strategy": parts.strategy,
        "classes": list(parts.classes),
        "certificates": [to_record(part) for part in parts.values()],
    }
    record["seal"] = seal_of_set(record)
    return record


def seal_of_set(record: Mapping[str, Any]) -> str:
    """As `seal`, of the set with its certificates replaced by their seals."""
    return seal({**record, "certificates": [part["seal"] for part in record["certificates"]]})


def from_record(record: Mapping[str, Any]) -> Certificate:
    """The inverse of `to_record`; a damaged or altered record raises DataError."""
    from rosenblatt.theory.checker.certificate import Certificate

    with _malformed("the certificate"):
        if not isinstance(record, Mapping) or record.get("format") != FORMAT:
            raise DataError("this is not a rosenblatt certificate")
        version = record.get("version")
        if type(version) is not int or version not in READABLE:
            raise DataError(f"certificate version {shown(version)}, expected {VERSION}")
        if record.get("seal") != seal(record):
            raise DataError("the certificate was altered after it was made: its seal is broken")
        known = {name: value for name, value in record.items() if name not in _ENVELOPE}
        for since, added in _SINCE.items():
            if version < since:
                known = _with_added(known, added, version)
        if version < 4 and known["source"] is not None:
            known["source"] = _with_added(known["source"], {"numbers": "doubles"}, version)
        certificate: Certificate = _reader(Certificate)(known)
        check_fields(certificate)
    return certificate


def _with_added(
    record: Mapping[str, Any], added: Mapping[str, Any], version: int
) -> dict[str, Any]:
    """A record of an older version with fields that were added later, which it must not have."""
    if early := sorted(record.keys() & added.keys()):
        raise DataError(f"there is no field {early[0]} in certificates of version {version}")
    return {**record, **added}


def from_set_record(record: Mapping[str, Any]) -> CertificateSet:
    """The inverse of `to_set_record`, keyed by the names of the classes."""
    from rosenblatt.theory.checker.certificate import CertificateSet

    with _malformed("the set of certificates"):
        if not isinstance(record, Mapping) or record.get("format") != SET_FORMAT:
            raise DataError("this is not a set of rosenblatt certificates")
        version = record.get("version")
        if type(version) is int and version < SET_VERSION:
            raise DataError(
                f"a set of certificates of version {version} does not say whether parts of it are "
                "missing: make it again with rosenblatt certify"
            )
        if type(version) is not int or version != SET_VERSION:
            raise DataError(f"set of certificates, version {shown(version)}, not {SET_VERSION}")
        records = record.get("certificates")
        if not isinstance(records, list):
            raise DataError("the set of certificates does not list its parts")
        parts = [from_record(item) for item in records]
        if record.get("seal") != seal_of_set(record):
            raise DataError("the set was altered after it was made: its seal is broken")
        certificates = CertificateSet({_key(part): part for part in parts})
        claimed = {name: value for name, value in record.items() if name not in _ENVELOPE}
        if len(certificates) != len(parts):
            raise DataError("a certificate occurs twice in the set")
        if claimed.keys() != {"strategy", "classes", "certificates"}:
            raise DataError("the set has fields that are not known, or lacks some")
        if (claimed["strategy"], claimed["classes"]) != (
            certificates.strategy,
            list(certificates.classes),
        ):
            raise DataError("the set does not consist of the parts that it claims to have")
    return certificates


def _key(part: Certificate) -> Any:
    """The pair of classes, negative first, or the class compared with the rest."""
    pair = len(part.negative) == len(part.positive) == 1
    return (*part.negative, *part.positive) if pair else part.positive[0]


@contextmanager
def _malformed(what: str) -> Iterator[None]:
    """Turn any error raised by a malformed record into a DataError."""
    try:
        yield
    except DataError:
        raise
    except RecursionError:
        raise DataError(f"{what} is malformed: its lists are nested too deeply") from None
    except KeyError as error:
        raise DataError(f"{what} is malformed: there is no field {error}") from None
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        raise DataError(f"{what} is malformed: {error}") from None


def _plain(value: Any) -> Any:
    """A field of a certificate as a JSON value."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _TEXT.get(f.name, _plain)(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _texts(values: tuple[int, ...] | None) -> list[str] | None:
    # Most are long; FLINT is faster than Python for those.
    return None if values is None else [str(flint.fmpz(x)) for x in values]


def _fraction_text(value: Fraction) -> str:
    whole = decimal_text(value.numerator)
    return whole if value.denominator == 1 else f"{whole}/{decimal_text(value.denominator)}"


_TEXT: dict[str, Callable[[Any], Any]] = {
    "weights": _texts,
    "coefficients": _texts,
    "bias": decimal_text,
    "threshold": _fraction_text,
}


def _integer(text: Any) -> int:
    if not isinstance(text, str) or not _INTEGER.fullmatch(text):
        raise ValueError(f"expected an integer as text, found {shown(text)}")
    return int(flint.fmpz(text))


def _fraction(text: Any) -> Fraction:
    # The text must not be left to Fraction: "1e999999999" would fill the memory.
    numerator, _, denominator = _text(text).partition("/")
    return Fraction(_integer(numerator), _integer(denominator) if "/" in text else 1)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected text, found {shown(value)}")
    value.encode()  # half of a surrogate pair cannot be printed
    return value


def _double(value: Any) -> float:
    if type(value) not in (int, float):
        raise ValueError(f"expected a number, found {shown(value)}")
    return float(value)


@cache
def _reader(hint: Any, as_text: bool = False) -> Callable[[Any], Any]:
    """The function that converts a JSON value to a field with this type hint.

    What needs no conversion is passed on: `check_fields` checks the types of all fields.
    """
    if isinstance(hint, UnionType):  # with None
        read = _reader(get_args(hint)[0], as_text)
        return lambda value: None if value is None else read(value)
    if get_origin(hint) is tuple:
        return partial(_tuple, _reader(get_args(hint)[0], as_text))
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        return partial(_object, hint, {name: _reader(hints[name], name in _TEXT) for name in hints})
    if hint is int and as_text:
        return _integer
    readers = {str: _text, float: _double, Fraction: _fraction}
    return readers.get(hint, lambda value: value)


def _tuple(read: Callable[[Any], Any], values: Any) -> tuple[Any, ...]:
    if not isinstance(values, list):
        raise ValueError(f"expected a list, found {shown(values)}")
    return tuple(map(read, values))


def _object(cls: Any, readers: Mapping[str, Callable[[Any], Any]], record: Any) -> Any:
    """A dataclass from a JSON object with the same field names."""
    if not isinstance(record, Mapping):
        raise ValueError(f"expected an object, found {shown(record)}")
    if unknown := record.keys() - readers.keys():
        raise ValueError(f"there is no field {shown(min(unknown))} in a certificate")
    return cls(**{name: read(record[name]) for name, read in readers.items()})
