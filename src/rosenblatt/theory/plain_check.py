"""What a proof is: check a certificate about a CSV or TSV file in fractions, plainly and slowly.

This file needs the standard library alone, can be copied anywhere and read in ten minutes::

    python plain_check.py proof.json data.csv [LABEL]

Numbers are those that stand in the cells (or the nearest doubles; then the answer says so), labels
are text. A row x of a class on the side s, 1 or -1, stands for z = s·(x, 1), or s·x without an
intercept. It is on the right side of a hyperplane v if z·v > 0, on its wrong side if z·v < 0, and
lies on it if z·v = 0. The verdicts are:

- separable: some v has all rows on their right sides;
- quasi-separable: none has, but some has no row on its wrong side, and not all rows lie on it;
- inseparable: a v that has no row on its wrong side has all rows on it.

Only the verdict is proven, from the rows alone: for margins and bounds see `rosenblatt.verify`.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from operator import mul
from pathlib import Path
from typing import Any

Row = list[Fraction]
_DELIMITERS = {".csv": ",\t;|", ".tsv": "\t"}


class NotProvenError(Exception):
    """The first claim that does not hold, or what cannot be read."""


def _require(condition: Any, otherwise: str) -> None:
    if not condition:
        raise NotProvenError(otherwise)


# 1. The proof is JSON, in which numbers that may be long are text.
def _whole(text: str) -> int:
    _require(re.fullmatch("[+-]?[0-9]+", text), "a whole number is expected")
    return int(Decimal(text))  # `int` alone refuses more than 4,300 digits


def _certificates(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The certificates of a file; those of a set cover every class, or every pair of classes."""
    is_set = record["format"] == "rosenblatt-certificates"
    parts = record["certificates"] if is_set else [record]
    kinds = {(c["format"], c["version"]) for c in parts}
    _require(kinds <= {("rosenblatt-certificate", v) for v in range(1, 5)}, "its format is unknown")
    if is_set:
        _require(record["version"] == 4, "the set does not say whether it is complete")
        sides = [sorted(c["positive"] + c["negative"]) for c in parts]
        against_all, classes = record["strategy"] == "ovr", record["classes"]
        compared = [c["positive"] for c in parts] if against_all else sides
        expected = list(map(list, combinations(classes, 1 if against_all else 2)))
        complete = not against_all or all(side == classes for side in sides)
        _require(complete and sorted(compared) == expected, "a part is missing, or is another")
    return list(parts)


# 2. The rows.
def _number(cell: str, exact: bool) -> Fraction:
    text = cell.strip()
    spelled = re.fullmatch("[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?0*[0-9]{1,3})?", text)
    _require(spelled and abs(float(text)) < float("inf"), f"{cell!a} is not a finite number")
    return Fraction(Decimal(text) if exact or text.lstrip("+-").isdigit() else float(text))


def _is_number(name: str) -> bool:
    try:
        return isinstance(float(name), float)
    except ValueError:
        return False


def _read_table(path: Path, label: str, header: Any, exact: bool) -> tuple[list[Row], list[str]]:
    """The numbers of every row of a file, and its label."""
    text, delimiters = path.read_bytes().decode("utf-8-sig"), _DELIMITERS[path.suffix.lower()]
    _require("\0" not in text and (len(delimiters) > 1 or '"' not in text), "quotes or zero bytes")
    readers = (csv.reader(io.StringIO(text, newline=""), delimiter=d) for d in delimiters)
    tables = [[row for row in reader if row] for reader in readers]
    table = max(tables, key=lambda rows: (len({*map(len, rows)}) == 1 < len(rows[0]), len(rows[0])))
    names = [name.strip() for name in table[0]]
    if header is None:  # a row of numbers is data, unless it names the column "label"
        header = "label" in names or not any(map(_is_number, names))
    names = names if header else [str(j + 1) for j in range(len(names))]
    _require(label in names and len(set(names)) == len(names), f"{label!a} is no column, or two")
    rows, place = table[int(header) :], names.index(label)
    whole = all(len(row) == len(names) > 1 and row[place].strip() for row in rows)
    _require(whole, "a row is too short or too long, or its label is missing")
    labels = [row.pop(place).strip() for row in rows]
    return [[_number(cell, exact) for cell in row] for row in rows], labels


# 3. The verdict.
def _basis(vectors: list[Row]) -> list[Row]:
    """As many vectors as are independent, which span the same space."""
    basis: list[Row] = []
    for vector in vectors:
        for base in basis:
            pivot = next(j for j, x in enumerate(base) if x)
            factor = vector[pivot] / base[pivot]
            vector = [x - factor * y for x, y in zip(vector, base, strict=True)]
        basis += [vector] if any(vector) else []
    return basis


def _contradict(rows: list[Row]) -> bool:
    """Whether a v that has none of these rows on its wrong side has all of them on it.

    Let u be the products of the rows with v. If none is negative, their sum is at least the length
    of u. So u is zero if all other u, which the columns span, are longer than their sum: if the
    quadratic form |u|² - (Σu)² is positive definite, that is, if elimination has positive pivots.
    """
    columns = [list(column) for column in zip(*rows, strict=True)]
    if not any(map(sum, columns)):  # then every Σu is zero
        return True
    basis = _basis(columns)
    form = [[sum(map(mul, p, q)) - sum(p) * sum(q) for q in basis] for p in basis]
    while form and form[0][0] > 0:
        (pivot, *first), *others = form
        form = [[x - a * y / pivot for x, y in zip(row, first, strict=True)] for a, *row in others]
    return not form


def _check(c: dict[str, Any], rows: list[Row], labels: list[str]) -> None:
    sides = dict.fromkeys(c["positive"], 1) | dict.fromkeys(c["negative"], -1)
    _require(len(sides) == len(c["positive"]) + len(c["negative"]), "a class is named twice")
    _require(set(sides.values()) == {1, -1} and sides.keys() <= set(labels), "a side has no rows")
    pad = [Fraction(1)] if c["fit_intercept"] else []
    signs = {i: sides[y] for i, y in enumerate(labels) if y in sides}
    z = {i: [sign * value for value in rows[i] + pad] for i, sign in signs.items()}
    if c["verdict"] != "inseparable":
        v = [Fraction(_whole(weight)) for weight in [*c["weights"], c["bias"]]]
        _require(pad or v.pop() == 0, "an intercept where there should be none")
        _require(len(v) == len(rows[0] + pad), "there is not one weight per column")
        products = [sum(map(mul, row, v)) for row in z.values()]
        _require(min(products) >= 0 < max(products), "a row is on the wrong side, or all on it")
        _require(min(products) > 0 or c["verdict"] != "separable", "a row lies on the hyperplane")
    if c["verdict"] != "separable":
        _require(c["verdict"] in ("quasi-separable", "inseparable"), "the verdict is unknown")
        proof = c.get("balance") or c["spanning"] or c["contradiction"]
        coefficients = [_whole(text) for text in proof["coefficients"]]
        _require(coefficients and min(coefficients) > 0, "a coefficient is not positive")
        pairs = zip(proof["rows"], coefficients, strict=True)
        contradicting = [[k * value for value in z[i]] for i, k in pairs]
        _require(_contradict(contradicting), "the rows do not contradict each other")
    if c["verdict"] == "inseparable":  # a v that has these rows on it has all rows on it
        spanned = len(_basis(contradicting)) == len(_basis([*z.values()]))
        _require(spanned, "a row does not depend on those that contradict each other")


def prove(proof: str, data: str, label: str | None = None, *, header: Any = None) -> str:
    """What a proof proves about the rows of a file; raises NotProvenError if it does not.

    >>> prove("proof.json", "rows.parquet")
    Traceback (most recent call last):
    rosenblatt.theory.plain_check.NotProvenError: only CSV and TSV files are read here
    """
    try:
        _require(Path(data).suffix.lower() in _DELIMITERS, "only CSV and TSV files are read here")
        for path in (Path(proof), Path(data)):
            _require(path.is_file() and path.stat().st_size <= 10**8, "files of 100 MB at most")
        parts = _certificates(json.loads(Path(proof).read_bytes().decode()))
        source = parts[0]["source"] or {"label": "", "header": True, "numbers": "decimals"}
        named, exact = source["label"] or label or "label", source.get("numbers") == "decimals"
        _require(label in (None, named), f"the proof is about column {named!a}, not {label!a}")
        header = header if header is not None or source["header"] else False
        rows, labels = _read_table(Path(data), named, header, exact)
        classes = {name for c in parts for name in [*c["positive"], *c["negative"]]}
        _require(set(labels) == classes, f"the proof is about the classes {sorted(classes)!a}")
        for certificate in parts:
            _check(certificate, rows, labels)
    except NotProvenError:
        raise
    except Exception as error:  # the files are not what they should be
        raise NotProvenError(f"the proof or the rows cannot be read: {error!a}") from None
    of_numbers = "" if exact else ", decimals as the nearest doubles"
    lines = [f"{data!a}, {len(rows)} rows, label column {named!a}{of_numbers}:"]
    for c in parts:
        origin = "" if c["fit_intercept"] else " through the origin"
        lines += [f"{c['verdict']}{origin}: {[*c['positive']]!a} against {[*c['negative']]!a}"]
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    try:
        print(f"PROVEN for {prove(sys.argv[1], sys.argv[2], *sys.argv[3:4])}")
    except NotProvenError as error:
        sys.exit(f"NOT PROVEN: {error}")
