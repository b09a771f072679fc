"""Ask the fast checker and the plain one about the same proofs, and compare their answers.

Every case is a small data set of hostile numbers (integers around 2^31, 2^53, 2^63 and 2^64 or
longer, decimals, subnormals, fractions), in a container or a file that holds them exactly, and an
honest certificate of it. Asked is about this certificate, about tampered ones, about invented
proofs, and about the certificate of nearly the same data, with seals and fingerprints put right.

The plain checker gets the numbers as fractions, or reads the file. Faults are: a proof that the
fast checker believes and the plain one does not, a proof that the fast one refutes for a reason
about the verdict while the plain one proves it, two proven verdicts about the same classes, an
honest certificate that is not proven, and an exception other than DataError.
"""

from __future__ import annotations

import argparse
import copy
import csv
import io
import json
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from scipy import sparse

from benchmarks.torture_certificates import reseal, tamper
from rosenblatt import certify, verify
from rosenblatt.data import read_arrays
from rosenblatt.errors import DataError
from rosenblatt.theory import Certificate, CertificateSet, CertificateSource
from rosenblatt.theory.plain_check import NotProvenError, _certificates, _check, _read_table, prove

FAULTS = ("believed", "disputed", "contradiction", "honest", "exception")
# What the fast checker says of a verdict that is not proven; all else is about other claims.
_ABOUT_THE_VERDICT = (
    "the hyperplane does not separate every row",
    "the hyperplane has a row on the wrong side",
    "the hyperplane holds every row",
    "a row is not in the span of the contradicting rows",
    "the certificate names a class that the data do not have",
    "a side has no rows",
    "the set is about",
)
_EDGES = [2**31, 2**53, 2**63, 2**64, 2**31 - 1, 2**63 - 1]
_FLOATS = [5e-324, -5e-324, 1e-308, 0.0007, 0.0005, 0.1, 1 / 3, 1e16, 1e300, -1e300, 0.5, -0.0]
_FLOATS += [float(2**53), float(2**63), 1e22, 1e23]
_DIGITS_ALONE = dict.fromkeys(map(ord, "[], "))
Rows = list[list[Any]]


@dataclass(frozen=True)
class Case:
    """Rows of numbers of every kind, their labels, and how checkers are asked.

    `plain` is what the plain checker has read: the file if it reads such files.
    """

    kind: str
    rows: Rows
    labels: list[str]
    X: Any
    y: Any
    record: dict[str, Any]
    plain: tuple[list[list[Fraction]], list[str]]


def _cell(family: int, g: np.random.Generator) -> Any:
    small = int(g.integers(-3, 4))
    if family == 0:
        return small
    if family == 1:
        return _EDGES[g.integers(len(_EDGES))] * int(g.choice([1, 1, -1])) + small
    if family == 2:
        return 10**30 * int(g.integers(0, 2)) + small
    if family == 3:
        return _FLOATS[g.integers(len(_FLOATS))]
    if family == 4:
        return float(np.nextafter(small + 0.0007, g.choice([-np.inf, np.inf])))
    if family == 5:
        return round(float(g.normal()), int(g.integers(1, 6)))
    if family == 6:
        digits = int(g.choice([1, 3, 16, 17, 25]))
        return Decimal(f"{small}.{g.integers(0, 10, digits).tolist()}".translate(_DIGITS_ALONE))
    return Fraction(int(g.integers(-9, 10)), _EDGES[g.integers(len(_EDGES))] + int(g.integers(4)))


def _draw(g: np.random.Generator) -> tuple[Rows, list[str]]:
    """Rows whose columns are of one family or mixed, sometimes on a line, and their labels."""
    n, d = int(g.integers(2, 8)), int(g.integers(1, 4))
    families = g.integers(0, 8 if g.random() < 0.3 else 7, d)
    mixed = g.random() < 0.3
    rows = [[_cell(int(g.choice(families)) if mixed else int(f), g) for f in families]
            for _ in range(n)]  # fmt: skip
    if g.random() < 0.3 and all(type(x) is int for row in rows for x in row):
        step = [int(x) for x in g.integers(-1, 2, d)]
        rows = [[x + k * s for x, s in zip(rows[0], step, strict=True)] for k in range(n)]
    if g.random() < 0.2:
        rows[-1] = rows[0]
    names = [
        ["a", "b"],
        ["0", "1"],
        ["1", "01"],
        ["-1", "1"],
        ["+1", "-1"],
        ["a", "b", "c"],
        ["1", "1.0", "2"],
    ]
    classes = names[g.integers(len(names))]
    labels = [str(g.choice(classes)) for _ in range(n)]
    labels[:2] = classes[:2]
    return rows, labels


def _spelled(x: Any, g: np.random.Generator) -> str:
    """A number as a cell: whole numbers and decimals as they are, doubles by their digits."""
    if not isinstance(x, float):
        return f"{'+' if x >= 0 and g.random() < 0.05 else ''}{x}"
    return str(g.choice([repr(x), f"{x:.17e}", f" {x!r} "]))


def _meant(cells: list[list[str]], exact: bool) -> Rows:
    """The numbers that cells stand for: decimals or, unless `exact`, the nearest doubles."""
    return [[Fraction(Decimal(x.strip()) if exact or x.strip("+-").isdigit() else float(x))
             for x in row] for row in cells]  # fmt: skip


def _table_text(
    cells: list[list[str]], labels: list[str], delimiter: str, g: np.random.Generator
) -> str:
    file = io.StringIO()
    quoting = csv.QUOTE_ALL if delimiter != "\t" and g.random() < 0.2 else csv.QUOTE_MINIMAL
    end = str(g.choice(["\n", "\r\n"]))
    writer = csv.writer(file, delimiter=delimiter, lineterminator=end, quoting=quoting)
    if g.random() < 0.7:
        writer.writerow([*(f"x{j}" for j in range(len(cells[0]))), "class"])
    for row, label in zip(cells, labels, strict=True):
        writer.writerow([*row, label])
    return ("\ufeff" if g.random() < 0.1 else "") + file.getvalue()


def _columns(rows: Rows) -> list[np.ndarray]:
    """Each column as an array of the narrowest type that holds it."""
    columns = []
    for values in zip(*rows, strict=True):
        kinds = set(map(type, values))
        if kinds == {float}:
            columns.append(np.array(values))
        elif kinds == {int} and all(-(2**63) <= x < 2**63 for x in values):
            columns.append(np.array(values, dtype=np.int64))
        elif kinds == {int} and all(0 <= x < 2**64 for x in values):
            columns.append(np.array(values, dtype=np.uint64))
        else:
            columns.append(np.array(values, dtype=object))
    return columns


def _exact(array: Any, rows: Rows) -> bool:
    flat = [x for row in rows for x in row]
    pairs = zip(array.ravel().tolist(), flat, strict=True)
    return all(abs(a) != np.inf and Fraction(a) == Fraction(b) for a, b in pairs)


def container(
    rows: Rows, labels: list[str], folder: Path, exact: bool, g: np.random.Generator
) -> Any:
    """The kind, the rows, the data and the file of a container that holds them, or None.

    The rows of a text file are what is written there: decimals if `exact`, or the nearest doubles.
    """
    kind = str(g.choice([
        "csv", "csv", "semicolons", "tsv", "jsonl", "parquet", "arrow", "svmlight", "list", "tuple",
        "objects", "array", "array", "sparse", "pandas", "pandas objects", "polars", "table",
    ]))  # fmt: skip
    columns = _columns(rows)
    plain = all(column.dtype != object for column in columns)
    decimals = all(type(x) in (int, float, Decimal) for row in rows for x in row)
    names = [f"x{j}" for j in range(len(columns))]
    if kind in ("csv", "semicolons", "tsv") and decimals:
        file = folder / ("rows.tsv" if kind == "tsv" else "rows.csv")
        delimiter = {"csv": ",", "semicolons": ";", "tsv": "\t"}[kind]
        cells = [[_spelled(x, g) for x in row] for row in rows]
        file.write_bytes(_table_text(cells, labels, delimiter, g).encode())
        return kind, _meant(cells, exact), None, file
    if kind == "jsonl" and decimals:
        file, cells = folder / "rows.jsonl", [[str(x) for x in row] for row in rows]
        lines = ["".join(f'"{name}": {x}, ' for name, x in zip(names, row, strict=True))
                 for row in cells]  # fmt: skip
        pairs = zip(lines, labels, strict=True)
        file.write_text("".join(f'{{{line}"class": {json.dumps(y)}}}\n' for line, y in pairs))
        return kind, _meant(cells, exact), None, file
    if kind in ("parquet", "arrow") and plain:
        file, table = folder / f"rows.{kind}", pa.table([*columns, labels], names=[*names, "class"])
        write = pa.parquet.write_table if kind == "parquet" else pa.feather.write_feather
        write(table, str(file))
        return kind, rows, None, file
    if kind == "svmlight" and set(labels) <= {"0", "-1", "1"}:
        doubles = np.array([[float(x) for x in row] for row in rows])
        if _exact(doubles, rows) and doubles[:, -1].any():
            file = folder / "rows.svm"
            lines = [f"{label} " + " ".join(f"{j + 1}:{x!r}" for j, x in enumerate(row) if x)
                     for label, row in zip(labels, doubles.tolist(), strict=True)]  # fmt: skip
            file.write_text("\n".join(lines) + "\n")
            return kind, rows, None, file
    if kind == "list":
        return kind, rows, rows, None
    if kind == "tuple":
        return kind, rows, tuple(map(tuple, rows)), None
    if kind == "objects":
        return kind, rows, np.array(rows, dtype=object), None
    if kind in ("array", "sparse"):
        types = [np.int8, np.int32, np.int64, np.uint64, np.float32, np.float64]
        dtype = np.dtype(types[g.integers(len(types))])
        try:
            with np.errstate(all="ignore"):
                array = np.array([[dtype.type(x) for x in row] for row in rows])
        except (OverflowError, ValueError, TypeError):
            return None
        if not _exact(array, rows):
            return None
        forms = [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.lil_array]
        if kind == "sparse":
            return kind, rows, forms[g.integers(len(forms))](array), None
        return (
            f"array of {dtype}",
            rows,
            np.asfortranarray(array) if g.random() < 0.3 else array,
            None,
        )
    frame = dict(zip(names, columns, strict=True))
    if kind == "pandas objects":
        return kind, rows, pd.DataFrame(frame, dtype=object), None
    if kind == "pandas":
        return kind, rows, pd.DataFrame(frame), None
    if kind in ("polars", "table") and plain:
        return kind, rows, pl.DataFrame(frame) if kind == "polars" else pa.table(frame), None
    return None


def draw_case(folder: Path, g: np.random.Generator) -> Case:
    """A case with its honest certificate."""
    while True:
        rows, labels = _draw(g)
        exact = bool(g.random() < 0.8)
        made = container(rows, labels, folder, exact, g)
        if made is not None:
            break
    kind, rows, X, file = made
    y, source = labels, None
    if file is not None:
        label = None if kind == "svmlight" else "class"
        try:
            table = read_arrays(file, label, exact=exact)
        except DataError:  # without a header
            table = read_arrays(file, -1, exact=exact)
        X, y, numbers = table.X, table.y, "decimals" if exact else "doubles"
        source = CertificateSource(table.label, table.header, table.columns, numbers)
    options = {
        "fit_intercept": bool(g.random() < 0.8),
        "strategy": str(g.choice(["ovr", "ovo"])),
        "minimal": [None, None, True, False][g.integers(4)],
        "margin_rtol": 1e-6 if g.random() < 0.3 else None,
    }
    certificate = certify(X, y, **options)
    if source is None:
        return Case(kind, rows, labels, X, y, certificate.to_dict(), _fractions(rows, labels))
    certificate = certificate.with_source(source)
    plain = _fractions(rows, labels)
    if file.suffix in (".csv", ".tsv"):
        certificate.save(proof := folder / "proof.json")
        try:
            prove(str(proof), str(file))
            plain = _read_table(file, source.label, None if source.header else False, exact)
        except NotProvenError as error:
            print(f"{kind}: {error}\n{file.read_text()}")
            plain = [], []  # so that the question about the honest proof is a fault
    return Case(kind, rows, labels, X, y, certificate.to_dict(), plain)


def _fractions(rows: Rows, labels: list[str]) -> tuple[list[list[Fraction]], list[str]]:
    return [[Fraction(x) for x in row] for row in rows], labels


def plain_answer(case: Case, record: dict[str, Any]) -> str:
    """Why the plain checker does not prove a record of a case; empty if it does."""
    rows, labels = case.plain
    try:
        parts = _certificates(record)
        named = {name for c in parts for name in [*c["positive"], *c["negative"]]}
        if named != set(labels):
            return "other classes"
        for part in parts:
            _check(part, rows, labels)
    except NotProvenError as error:
        return str(error)
    except Exception as error:  # as `prove` does
        return repr(error)
    return ""


def compare(case: Case, record: dict[str, Any]) -> str:
    """What the two checkers say of a record: an outcome, or one of FAULTS."""
    is_set = record.get("format") == "rosenblatt-certificates"
    try:
        loaded = (CertificateSet if is_set else Certificate).from_dict(record)
        result = verify(loaded, case.X, case.y)
    except DataError:
        return "refused by the fast checker"
    except Exception:
        traceback.print_exc()
        return "exception"
    reason = plain_answer(case, record)
    if result.proven:
        if reason:
            return "believed"
        return "proven by both" if _same_verdicts(record, case.record) else "contradiction"
    if reason:
        return "proven by neither"
    if not _same_verdicts(record, case.record):
        return "contradiction"
    disputed = result.reason.startswith(_ABOUT_THE_VERDICT)
    return "disputed" if disputed else "the verdict proven, another claim refuted"


def _same_verdicts(record: dict[str, Any], honest: dict[str, Any]) -> bool:
    """Whether no two certificates about the same hyperplanes and classes differ in the verdict."""
    verdicts: dict[Any, str] = {}
    for part in [*honest.get("certificates", [honest]), *record.get("certificates", [record])]:
        sides = frozenset([frozenset(part["positive"]), frozenset(part["negative"])])
        key = bool(part["fit_intercept"]), sides
        if verdicts.setdefault(key, part["verdict"]) != part["verdict"]:
            return False
    return True


def invent(record: dict[str, Any], g: np.random.Generator) -> dict[str, Any]:
    """A record with another proof of a verdict drawn at random, in one of its parts."""
    forged = json.loads(json.dumps(record))
    parts = forged.get("certificates", [forged])
    part = parts[g.integers(len(parts))]
    nothing = dict.fromkeys(
        ("contradiction", "spanning", "balance", "weights", "augmented", "geometric",
         "mistake_bound")
    )  # fmt: skip
    part.update(nothing, bias="0", columns=[], replaced=[])
    part["verdict"] = str(g.choice(["separable", "quasi-separable", "inseparable"]))
    if part["verdict"] != "inseparable":
        scale = int(g.choice([1, 10, 2**53, 2**64]))
        part["weights"] = [str(int(g.integers(-2, 3)) * scale) for _ in range(part["n_columns"])]
        bias = int(g.integers(-3, 4)) * int(g.choice([0, 1, 2**53, 2**63, 2**64]))
        part["bias"] = str(bias + int(g.integers(-2, 3)) if part["fit_intercept"] else 0)
    if part["verdict"] != "separable":
        size = int(g.integers(1, part["n_rows"] + 1))
        chosen = sorted(g.choice(part["n_rows"], size, replace=False).tolist())
        proof = {"rows": chosen, "signs": g.choice([1, -1], size).tolist()}
        proof["coefficients"] = [str(int(x)) for x in g.integers(1, 3, size)]
        part[str(g.choice(["contradiction", "balance"]))] = proof
        if part["verdict"] == "inseparable" and part["contradiction"]:
            part["spanning"] = proof
    return reseal(forged)


def shifted(case: Case, g: np.random.Generator) -> Case:
    """A case of the same container with one value changed a little, or two labels exchanged."""
    rows, labels = [list(row) for row in case.rows], list(case.labels)
    i, j = int(g.integers(len(rows))), int(g.integers(len(rows[0])))
    x = rows[i][j]
    if g.random() < 0.3:
        labels[i], labels[i - 1] = labels[i - 1], labels[i]
    elif isinstance(x, float):
        rows[i][j] = float(np.nextafter(x, g.choice([-1e308, 1e308])))
    else:
        rows[i][j] = Fraction(x) + int(g.choice([-1, 1]))
    X = np.array(rows, dtype=object)
    with_intercept = case.record.get("certificates", [case.record])[0]["fit_intercept"]
    strategy = case.record.get("strategy", "ovr")
    certificate = certify(X, labels, fit_intercept=with_intercept, strategy=strategy)
    plain = _fractions(rows, labels)
    return Case("objects", rows, labels, X, labels, certificate.to_dict(), plain)


def transplanted(case: Case, other: Case) -> dict[str, Any]:
    """The record of one case with the fingerprint of another."""
    record = copy.deepcopy(case.record)
    mark = other.record.get("certificates", [other.record])[0]["fingerprint"]
    for part in record.get("certificates", [record]):
        part["fingerprint"] = mark
    return reseal(record)


def torture(count: int, seed: int, seconds: float = float("inf")) -> Counter[str]:
    """The outcomes of so many questions, by outcome and by container."""
    g, outcomes = np.random.default_rng(seed), Counter[str]()
    end, asked, earlier = time.monotonic() + seconds, 0, []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        while asked < count and time.monotonic() < end:
            case = draw_case(folder, g)
            earlier = [*earlier[-20:], case]
            neighbour = shifted(case, g)
            questions = [("honest", case, case.record), ("honest", neighbour, neighbour.record)]
            questions += [("moved", neighbour, transplanted(case, neighbour))]
            questions += [("moved", case, transplanted(neighbour, case))]
            for about in (case, neighbour):
                for _ in range(100):
                    questions.append(("tampered", about, tamper(about.record, earlier, g)))
                    questions.append(("invented", about, invent(about.record, g)))
            outcomes[f"container: {case.kind}"] += 1
            for what, about, record in questions[: count - asked]:
                outcome = compare(about, record)
                if what == "honest" and outcome != "proven by both":
                    outcome = "honest"
                if outcome in FAULTS:
                    print(f"{outcome}, {what}, {about.kind}: {about.rows} {about.labels}")
                    print(json.dumps(record)[:3000], "\n", plain_answer(about, record))
                outcomes[outcome] += 1
                asked += 1
    outcomes["asked"] = asked
    return outcomes


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    parser.add_argument("--count", type=int, default=20_000, help="questions to ask")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after these")
    parser.add_argument("--seed", type=int, default=0)


def run(options: argparse.Namespace) -> int:
    """Ask, print the counts, and exit with 1 if there was a fault."""
    outcomes = torture(options.count, options.seed, 60 * options.minutes)
    for name, count in sorted(outcomes.items()):
        print(f"{name}: {count:,}")
    return int(bool(outcomes.keys() & set(FAULTS)))
