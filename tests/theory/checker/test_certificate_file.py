from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from rosenblatt import certify, verify
from rosenblatt.errors import DataError
from rosenblatt.theory import Certificate, CertificateSet, load_certificate
from rosenblatt.theory.checker.certificate_file import seal

XOR = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])


def test_a_certificate_survives_its_file(tmp_path):
    certificate = certify(*XOR)
    certificate.save(tmp_path / "c.json")
    assert load_certificate(tmp_path / "c.json") == certificate


def test_a_file_that_was_edited_is_refused(tmp_path):
    certify(*XOR).save(tmp_path / "c.json")
    text = (tmp_path / "c.json").read_text()
    (tmp_path / "c.json").write_text(text.replace("inseparable", "separable"))
    with pytest.raises(DataError, match="altered"):
        load_certificate(tmp_path / "c.json")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "rosenblatt-certificate"}', "nul"])
def test_what_is_not_a_certificate_is_refused(tmp_path, text):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(DataError):
        load_certificate(tmp_path / "c.json")


def test_a_record_without_a_field_is_refused():
    record = certify(*XOR).to_dict()
    del record["radius"]
    record["seal"] = seal(record)
    with pytest.raises(DataError, match="malformed"):
        Certificate.from_dict(record)


@pytest.mark.parametrize(("version", "later"), [(1, ["balance", "replaced"]), (2, ["replaced"])])
def test_files_of_older_versions_are_still_read(version, later):
    record = certify([[0], [1], [2]], [0, 1, 0]).to_dict()
    for name in later:
        del record[name]
    record["version"] = version
    record["seal"] = seal(record)
    assert verify(Certificate.from_dict(record), [[0], [1], [2]], [0, 1, 0])


@pytest.mark.parametrize(
    ("field", "value"), [("balance", [None]), ("replaced", []), ("numbers", "")]
)
def test_fields_that_came_later_are_refused_in_files_of_older_versions(field, value):
    rows = pd.DataFrame({"x": [0, 1, 2]})
    record = certify(rows, [0, 1, 0]).to_dict()
    del record["balance"], record["replaced"], record["source"]["numbers"]
    (record["source"] if field == "numbers" else record)[field] = value
    record["version"] = 1
    record["seal"] = seal(record)
    with pytest.raises(DataError, match=f"no field {field} in certificates of version 1"):
        Certificate.from_dict(record)


def test_a_set_survives_its_file_by_the_names_of_its_classes(tmp_path):
    found = certify([[0], [1], [2]], ["a", "b", "c"], strategy="ovo")
    found.save(tmp_path / "set.json")
    again = load_certificate(tmp_path / "set.json")
    assert isinstance(again, CertificateSet)
    assert dict(again) == dict(found)


def test_integers_of_any_length_survive(tmp_path):
    certificate = certify(*XOR)
    long = replace(certificate.contradiction, coefficients=(10**5000 + 1, 1, 1, 1))
    certificate = replace(certificate, contradiction=long)
    certificate.save(tmp_path / "long.json")
    assert load_certificate(tmp_path / "long.json") == certificate
