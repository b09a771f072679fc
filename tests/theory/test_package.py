"""What importing rosenblatt.theory costs, and how its results show themselves."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Perceptron

from rosenblatt import certify, error_bracket, max_margin, risk_report, theory, verify
from rosenblatt.theory import load_certificate, run_certificate

XOR = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
LINE = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]


def test_certify_imports_neither_a_compiler_nor_statistics():
    program = (
        "import sys; from rosenblatt import certify, verify; import numpy as np;"
        "from scipy import sparse; X, y = sparse.csr_array(np.eye(4)), [0, 1, 0, 1];"
        "assert verify(certify(X, y), X, y);"
        "print(*sorted({'numba', 'llvmlite', 'scipy.stats', 'sklearn'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.strip() == ""


def test_every_public_name_is_there_and_no_other():
    for name in theory.__all__:
        assert getattr(theory, name).__module__.startswith("rosenblatt.theory.")
    assert dir(theory) == sorted(theory.__all__)
    with pytest.raises(AttributeError, match="no attribute 'blind'"):
        theory.blind  # noqa: B018


RESULTS = {
    "Certificate": lambda: certify(*XOR),
    "CertificateSet": lambda: certify([[0], [1], [2]], ["a", "b", "c"]),
    "MarginInterval": lambda: max_margin(*LINE),
    "ErrorBracket": lambda: error_bracket(*XOR),
    "RiskReport": lambda: risk_report(Perceptron().fit(*LINE), *LINE, *LINE),
    "RunCertificate": lambda: run_certificate(*LINE, [1.0], -2.0, updates=3),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_short_in_a_console_and_whole_in_a_notebook(name):
    result = RESULTS[name]()
    assert len(repr(result)) < 120
    assert repr(result).startswith(f"<{name}: ")
    assert "\n" not in repr(result)
    page = result._repr_html_()
    for line in filter(None, str(result).split("\n")):
        assert line.split()[0].replace("<", "&lt;") in page


def test_names_in_a_notebook_are_escaped():
    page = certify([[0], [1]], ["<b>", "c"])._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page


def test_the_column_names_of_a_data_frame_are_kept(tmp_path):
    frame = pd.DataFrame({"height": [1.0, 2.0, 5.0, 6.0], "width": [3.0, 3.0, 1.0, 4.0]})
    y = pd.Series([0, 0, 1, 1], name="kind")
    certificate = certify(frame, y)
    assert "height" in certificate.report()
    assert certificate.source.columns == ("height", "width")
    assert certificate.source.label == "kind"
    assert verify(certificate, frame.to_numpy(), y)
    certificate.save(tmp_path / "c.json")
    assert load_certificate(tmp_path / "c.json") == certificate
    assert certify(pd.DataFrame(np.eye(4)), y).source is None
    assert certify(frame.to_numpy(), y).source is None
