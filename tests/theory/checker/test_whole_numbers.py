"""The source of the checker computes in whole numbers: its syntax trees are searched for floats."""

from __future__ import annotations

import ast
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import rosenblatt.theory.checker as checker
from rosenblatt import certify, verify

SOURCES = sorted(Path(checker.__path__[0]).glob("*.py"))
LITERALS = ast.List | ast.ListComp | ast.Tuple | ast.GeneratorExp | ast.SetComp | ast.Set
# The functions that compute with floats: integers below 2^53, or proven bounds of their errors.
FLOATS = {
    "checker_rows.py": set(),
    "verify.py": {"_check_radius"},  # the double before the radius, as a fraction
    "verify_balance.py": {"check_balance", "_gram", "_product", "_eigenvalues_above"},
}


def _calls(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("np."):
            yield node


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_numpy_never_chooses_the_type_of_a_python_container(path):
    """Given a list with 2^63 and with 1, NumPy chooses doubles, and every later sum is rounded."""
    for call in _calls(path):
        literal = any(isinstance(argument, LITERALS) for argument in call.args)
        typed = any(keyword.arg == "dtype" for keyword in call.keywords)
        typed = typed or ast.unparse(call.func) == "np.fromiter"
        assert typed or not literal, f"line {call.lineno}: {ast.unparse(call)}"


def _float_operations(tree):
    for node in ast.walk(tree):
        text = ast.unparse(node)
        divides = isinstance(getattr(node, "op", None), ast.Div) and "Fraction(" not in text
        typed = getattr(node, "attr", None) in ("float64", "float32", "longdouble")
        literal = isinstance(getattr(node, "value", None), float)
        if divides or typed or literal or text.startswith(("float(", "math.sqrt(")):
            yield text


@pytest.mark.parametrize("name", FLOATS)
def test_floats_are_used_where_they_are_proven_harmless_only(name):
    path = next(path for path in SOURCES if path.name == name)
    functions = {
        function.name: list(_float_operations(function))
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef)
    }
    assert {function for function, floats in functions.items() if floats} == FLOATS[name]


def _collinear():
    """The second of three points on a line is their middle; its class is another than theirs."""
    first = [Fraction(2**53 + k) for k in (0, 2, 4)]
    return [[x, Fraction(0.0007)] for x in first], ["a", "b", "a"]


def test_a_forged_certificate_is_refuted_whatever_the_denominators():
    """The denominator of 0.0007 is 2^63."""
    X, y = _collinear()
    certificate = certify(X, y)
    assert certificate.verdict == "inseparable"
    assert verify(certificate, X, y)
    for weight in (1, -1):
        forged = replace(
            certificate, verdict="separable", weights=(weight, 0), bias=-weight * (2**53 + 2),
            contradiction=None, spanning=None, balance=None, columns=(),
        )  # fmt: skip
        assert not verify(forged, X, y)


def test_a_right_certificate_of_fine_fractions_is_proven():
    X = [[2**53 + 1, 0.0007], [2**53 + 3, 0.0006], [2**53 + 5, 3]]
    y = ["a", "b", "b"]
    certificate = certify(X, y)
    assert verify(certificate, X, y), verify(certificate, X, y).reason
    y = ["a", "b", "a"]
    assert verify(certify(X, y), X, y)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(2**62, 2**64 + 2)), min_size=4, max_size=12),
    st.data(),
)
def test_certificates_of_fractions_with_large_denominators_are_proven(cells, data):
    X = [[Fraction(p, q), Fraction(q % 7, 3)] for p, q in cells]
    y = data.draw(st.lists(st.sampled_from([0, 1]), min_size=len(X), max_size=len(X)))
    assume(len(set(y)) == 2)
    result = verify(certify(X, y), X, y)
    assert result, result.reason
