"""Tamper with certificates, seal them again, and count what is believed.

Each try takes an honest certificate, or a set, changes one to three places of its JSON, computes
the seals again, writes the file, reads it back and verifies it against its data. Every try must be

* *refused*: reading it raises a DataError,
* *refuted*: `verify` does not prove it, or
* *accepted*: proven, and all that it claims agrees with the honest certificate.

Anything else is a fault: a false claim that is proven, or an exception other than DataError.
"""

from __future__ import annotations

import argparse
import copy
import json
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt import certify, verify
from rosenblatt.errors import DataError
from rosenblatt.theory import Certificate, CertificateSet, load_certificate
from rosenblatt.theory.checker.certificate_file import seal, seal_of_set

OUTCOMES = ("refused", "refuted", "accepted")
_HOSTILE: list[Any] = [
    None, True, False, 0, 1, -1, 2, 10**6, -(10**6), 2**63, 2**70, 10**400, 0.0, -0.0, 0.5, -1.5,
    5e-324, 1e308, -1e308, float("inf"), float("-inf"), float("nan"), "", "0", "-1", "1", "x",
    "1/0", "1/2", "1e999999999", " 1", "1_0", "٣", "9" * 5000, "\ud800", "NaN", [], {}, [[]],
    [[0]], [0], [1, -1], ["0"], ["a"], [None], {"rows": []}, "separable", "inseparable",
    "quasi-separable", "undecided", "ovr", "ovo",
]  # fmt: skip


@dataclass(frozen=True)
class Case:
    """Data, an honest certificate of them, and its record."""

    X: Any
    y: Any
    certificate: Any
    record: dict[str, Any]


def cases() -> list[Case]:
    """Certificates of every kind, of small data."""
    g = np.random.default_rng(0)
    three = g.normal(size=(12, 2)).round(2), np.repeat(["a", "b", "c"], 4)
    tied = g.normal(size=(60, 4)).round(2)
    tied = np.hstack([tied, tied.sum(axis=1, keepdims=True)])
    noise = g.integers(0, 2, 60)
    points = np.array([[0.0, 1.0], [0.5, 3.0], [2.0, 1.5], [3.0, 1.0]])
    wide = np.array([[5e-324, 1e300], [-5e-324, 1.0], [1e-16, -1e300], [0.0, 1e-300]])
    made = [
        (points, [0, 0, 1, 1], {}),
        (points, [0, 0, 1, 1], {"fit_intercept": False}),
        (points, [0, 1, 1, 0], {"margin_rtol": None}),
        (wide, [0, 1, 1, 0], {}),
        ([[10**400, 1], [1, 10**400]], [0, 1], {}),
        ([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], {}),
        ([[0, 1], [1, 1], [1, 1], [3, 1]], [0, 0, 1, 1], {}),
        (tied, noise, {"minimal": False}),
        (tied, noise, {"minimal": True}),
        ([[0], [1], [2]], ["a", "b", "c"], {}),
        ([[0], [1], [2]], ["a", "b", "c"], {"strategy": "ovo"}),
        (*three, {}),
        (*three, {"strategy": "ovo", "fit_intercept": False}),
    ]
    found = []
    for X, y, options in made:
        certificate = certify(np.array(X), y, **options)
        found.append(Case(np.array(X), y, certificate, certificate.to_dict()))
    whole = found[-2]
    part = whole.certificate["a"]
    return [*found, Case(whole.X, whole.y, part, part.to_dict())]


def tamper(record: dict[str, Any], others: list[Case], g: np.random.Generator) -> dict[str, Any]:
    """A copy of a record with one to three changes, sealed again."""
    changed = json.loads(json.dumps(record))
    for _ in range(int(g.choice([1, 1, 1, 2, 3]))):
        places = [place for place in _places(changed) if place[1] != "seal"]
        # Most places are entries of long lists: choose the depth first.
        depths = sorted({depth for _, _, depth in places})
        depth = depths[g.integers(len(depths))]
        level = [(box, key) for box, key, there in places if there == depth]
        with suppress(RecursionError):  # of a copy of lists that were nested deeply before
            _change(*level[g.integers(len(level))], others, g)
    return reseal(changed)


def _places(value: Any, depth: int = 0) -> Iterator[tuple[Any, Any, int]]:
    """Every object or list of a record with each of its keys."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in inside:
        yield value, key, depth
        if isinstance(item, (dict, list)):
            yield from _places(item, depth + 1)


def _change(box: Any, key: Any, others: list[Case], g: np.random.Generator) -> None:
    # Half of the changes are small, as these are the hardest to notice.
    kind = g.integers(14)
    value = box[key]
    if kind == 0:
        del box[key]
    elif kind == 1 and isinstance(box, list):
        box.insert(int(g.integers(len(box) + 1)), copy.deepcopy(value))
    elif kind == 2 and isinstance(box, list):
        other = int(g.integers(len(box)))
        box[key], box[other] = box[other], box[key]
    elif kind == 3:
        places = list(_places(others[g.integers(len(others))].record))
        there, name, _ = places[g.integers(len(places))]
        same = [(b, k) for b, k, _ in places if k == key]
        there, name = same[g.integers(len(same))] if same else (there, name)
        box[key] = copy.deepcopy(there[name])
    elif kind == 4:
        box[key] = copy.deepcopy(_HOSTILE[g.integers(len(_HOSTILE))])
    elif kind == 5 and isinstance(box, dict):
        box[str(g.integers(100))] = value
    elif kind == 6:
        for _ in range(int(g.choice([1, 2, 50, 300]))):
            value = [value]
        box[key] = value
    else:
        box[key] = _nudged(value, g)


def _nudged(value: Any, g: np.random.Generator) -> Any:
    """A value that is nearly the same."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return [value + 1, value - 1, -value, 2 * value, str(value)][g.integers(5)]
    if isinstance(value, float):
        up, down = float(np.nextafter(value, np.inf)), float(np.nextafter(value, -np.inf))
        return [-value, up, down, value * 2, value / 2, value * (1 + 1e-12)][g.integers(6)]
    if isinstance(value, str) and value.lstrip("-").isdigit() and len(value) < 4000:
        whole = int(value)
        return str([whole + 1, whole - 1, -whole, 2 * whole, 0][g.integers(5)])
    if isinstance(value, str):
        return [value[::-1], value + "x", value[:-1]][g.integers(3)]
    if isinstance(value, list):
        return [value[::-1], value[1:], value[:-1], value + value, []][g.integers(5)]
    return [value]


def reseal(record: dict[str, Any]) -> dict[str, Any]:
    """The same with the seals that belong to it, as far as that is possible."""
    try:
        for part in record.get("certificates", []):
            part["seal"] = seal(part)
        record["seal"] = seal_of_set(record) if "certificates" in record else seal(record)
    except (TypeError, KeyError, AttributeError, ValueError, RecursionError, DataError):
        pass
    return record


def outcome(case: Case, text: str, path: Path) -> str:
    """What becomes of a file with this text: one of OUTCOMES, or the fault."""
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    try:
        loaded = load_certificate(path)
        str(loaded), repr(loaded)
        if not verify(loaded, case.X, case.y):
            return "refuted"
    except DataError:
        return "refused"
    except Exception as error:
        traceback.print_exc()
        return f"exception {type(error).__name__}"
    return "accepted" if agrees(loaded, case.certificate) else "false claim"


def agrees(found: Any, honest: Any) -> bool:
    """Whether all claims of a certificate are compatible with those of an honest one."""
    if isinstance(honest, CertificateSet) != isinstance(found, CertificateSet):
        return False
    if isinstance(honest, Certificate):
        return _agrees(found, honest)
    by_sides = {_sides(part): part for part in honest.values()}
    return {_sides(part) for part in found.values()} == by_sides.keys() and all(
        _agrees(part, by_sides[_sides(part)]) for part in found.values()
    )


def _sides(c: Certificate) -> frozenset[frozenset[str]]:
    return frozenset([frozenset(c.positive), frozenset(c.negative)])


def _agrees(found: Certificate, honest: Certificate) -> bool:
    if _sides(found) != _sides(honest) or found.fit_intercept != honest.fit_intercept:
        # Statements about other hyperplanes: only a witness of the same kind can prove them.
        return False
    same = found.verdict == honest.verdict and found.fingerprint == honest.fingerprint
    same = same and {r.column for r in found.columns} == {r.column for r in honest.columns}
    if (found.radius is None) != (honest.radius is None):
        return False
    if found.radius is not None and honest.radius is not None:
        same = same and abs(found.radius - honest.radius) <= 1e-8 * honest.radius + 5e-324
    for name in ("augmented", "geometric"):
        one, other = getattr(found, name), getattr(honest, name)
        if one is not None and other is not None:
            same = same and one.lower <= other.upper and other.lower <= one.upper
    if found.mistake_bound is not None and honest.augmented is not None:
        least = (honest.radius / honest.augmented.upper) ** 2 if honest.augmented.upper else 0.0
        same = same and found.mistake_bound >= np.floor(least * (1 - 1e-6))
    return bool(same)


def torture(count: int, seed: int) -> Counter[str]:
    """The outcomes of so many tamperings."""
    g = np.random.default_rng(seed)
    every = cases()
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json"
        for _ in range(count):
            case = every[g.integers(len(every))]
            if g.random() < 0.02:
                text = json.dumps(case.record)
                place = int(g.integers(len(text)))
                noise = chr(int(g.integers(1, 256))) if g.random() < 0.8 else "[" * 100_000
                text = text[:place] + noise + text[place + 1 :]
            else:
                text = json.dumps(tamper(case.record, every, g))
            result = outcome(case, text, path)
            if result not in OUTCOMES:
                print(f"{result}:\n{text[:2000]}\n")
            outcomes[result] += 1
    return outcomes


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    parser.add_argument("--count", type=int, default=10_000, help="tamperings to try")
    parser.add_argument("--seed", type=int, default=0)


def run(options: argparse.Namespace) -> int:
    """Try them, print the counts, and exit with 1 if there was a fault."""
    outcomes = torture(options.count, options.seed)
    for name, count in sorted(outcomes.items()):
        print(f"{name}: {count:,}")
    return int(bool(outcomes.keys() - set(OUTCOMES)))
