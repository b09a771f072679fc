"""Files from anywhere: tampered certificates are refused, refuted or true, never a traceback.

The long form: ``python -m benchmarks.torture certificates --count 10000``.
"""

from __future__ import annotations

import contextlib
import json

import pytest
from benchmarks import torture_certificates as torture
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt import certify
from rosenblatt.errors import DataError
from rosenblatt.theory import Certificate, CertificateSet, load_certificate
from rosenblatt.theory.checker.certificate_file import seal


def test_resealed_tamperings_are_refused_refuted_or_true():
    outcomes = torture.torture(400, seed=1)
    assert outcomes.keys() == set(torture.OUTCOMES)


def test_an_honest_certificate_of_every_kind_is_accepted(tmp_path):
    *whole, part = torture.cases()
    for case in whole:
        assert torture.outcome(case, json.dumps(case.record), tmp_path / "c.json") == "accepted"
    assert torture.outcome(part, json.dumps(part.record), tmp_path / "c.json") == "refuted"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(certify([[0], [1]], [0, 1]).to_dict())), json_values)
def test_any_json_in_any_field_is_read_or_refused(name, value):
    honest = certify([[0], [1]], [0, 1]).to_dict()
    record = {**honest, name: value}
    if name != "seal":
        record["seal"] = seal(record)
    with contextlib.suppress(DataError):
        Certificate.from_dict(record)


@given(json_values)
def test_any_json_is_refused_by_both_readers(value):
    for reader in (Certificate, CertificateSet):
        with pytest.raises(DataError):
            reader.from_dict(value)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"format": ' * 100_000,
        '{"format": "rosenblatt-certificate", "version": ' + "9" * 5000 + "}",
        '{"format": "rosenblatt-certificates", "version": 4, "certificates": [[]]}',
        '{"format": "rosenblatt-certificates", "version": 4, "certificates": [{}]}',
        '{"format": "rosenblatt-certificates", "version": 4}',
        '{"format": ["rosenblatt-certificates"]}',
        '{"format": "rosenblatt-certificate", "version": [3]}',
        '{"format": "rosenblatt-certificate", "version": 3, "radius": Infinity}',
        '{"format": "rosenblatt-certificate", "format": "rosenblatt-certificate"}',
        "1e999",
        "null",
    ],
)
def test_hostile_files_are_refused_in_one_sentence(tmp_path, text):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(DataError) as refused:
        load_certificate(tmp_path / "c.json")
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_text_is_refused(tmp_path):
    (tmp_path / "c.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(DataError):
        load_certificate(tmp_path / "c.json")
