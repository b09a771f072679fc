"""A set of certificates proves something only if it is complete."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rosenblatt import certify, verify
from rosenblatt.errors import DataError
from rosenblatt.theory import CertificateSet, load_certificate
from rosenblatt.theory.checker.certificate_file import seal, seal_of_set

X, Y = [[0], [1], [2]], ["a", "b", "c"]
STRATEGIES = ["ovr", "ovo"]


def resealed(record):
    record["seal"] = seal_of_set(record)
    return record


def test_a_set_without_its_inseparable_part_is_refused():
    record = certify(X, Y).to_dict()
    kept = [part for part in record["certificates"] if part["verdict"] == "separable"]
    with pytest.raises(DataError, match="altered"):
        CertificateSet.from_dict({**record, "certificates": kept})
    with pytest.raises(DataError, match="2 certificates for 3 classes"):
        CertificateSet.from_dict(resealed({**record, "certificates": kept}))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_part_is_needed_exactly_once(strategy):
    record = certify(X, Y, strategy=strategy).to_dict()
    parts = record["certificates"]
    for k in range(3):
        rest = parts[:k] + parts[k + 1 :]
        for wrong in (rest, [*parts, parts[k]], [*rest, rest[0]]):
            with pytest.raises(DataError):
                CertificateSet.from_dict(resealed({**record, "certificates": wrong}))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_empty_set_is_refused(tmp_path, strategy):
    record = certify(X, Y, strategy=strategy).to_dict()
    for empty in ([], None, {}, "", 0):
        try:
            changed = resealed({**record, "certificates": empty})
        except TypeError:
            changed = {**record, "certificates": empty}
        (tmp_path / "empty.json").write_text(json.dumps(changed))
        with pytest.raises(DataError):
            load_certificate(tmp_path / "empty.json")
    with pytest.raises(ValueError, match="proves nothing"):
        CertificateSet({})


def test_parts_about_different_data_or_hyperplanes_are_no_set():
    parts = dict(certify(X, Y))
    other = dict(certify([[0], [1], [3]], Y))
    through = dict(certify(X, Y, fit_intercept=False))
    for foreign in (other, through):
        with pytest.raises(ValueError, match="different"):
            CertificateSet({**parts, "b": foreign["b"]})


@pytest.mark.parametrize(
    "change",
    [
        {"strategy": "ovo"},
        {"classes": ["a", "b"]},
        {"classes": ["a", "b", "c", "d"]},
        {"classes": None},
        {"strategy": []},
        {"more": 1},
        {"version": 5},
        {"version": True},
    ],
)
def test_what_a_set_claims_to_have_is_what_it_has(change):
    with pytest.raises(DataError):
        CertificateSet.from_dict(resealed({**certify(X, Y).to_dict(), **change}))


def test_an_old_set_without_a_seal_must_be_made_again():
    record = certify(X, Y).to_dict()
    old = {"format": record["format"], "version": 3, "certificates": record["certificates"]}
    with pytest.raises(DataError, match="make it again with rosenblatt certify"):
        CertificateSet.from_dict(old)


def test_a_complete_set_of_fewer_classes_does_not_prove_data_of_more():
    four, names = [*X, [3]], [*Y, "d"]
    record = certify(four, names, strategy="ovo").to_dict()
    parts = [p for p in record["certificates"] if "d" not in (*p["positive"], *p["negative"])]
    smaller = CertificateSet.from_dict(resealed({**record, "classes": Y, "certificates": parts}))
    found = verify(smaller, four, names)
    assert not found
    assert found.reason == "the set is about 3 classes, the data have 4"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_lone_part_names_its_classes_and_is_not_proven_for_more(strategy):
    part = next(p for p in certify(X, Y, strategy=strategy).values() if p.separable)
    sides = part.speaks_of
    assert sides in repr(part)
    assert all(f"class {name}" in part.report() for name in part.positive)
    found = verify(part, X, Y)
    assert not found
    assert found.holds
    assert sides in found.reason
    assert not verify(replace(part, bias=part.bias + 100), X, Y).holds


def test_a_certificate_of_two_classes_is_proven():
    found = verify(certify(X[:2], Y[:2]), X[:2], Y[:2])
    assert found.proven
    assert found.holds


def test_the_seal_of_a_set_covers_its_parts():
    record = certify(X, Y).to_dict()
    part = record["certificates"][0]
    part["radius"] += 1.0
    part["seal"] = seal(part)
    with pytest.raises(DataError, match="the set was altered"):
        CertificateSet.from_dict(record)
