from __future__ import annotations

import numpy as np
from sklearn.datasets import load_iris

from rosenblatt import certify
from rosenblatt.theory.checker.report import as_html


def iris():
    X, y = load_iris(return_X_y=True)
    return X, y


def test_reports_name_rows_columns_and_classes():
    X, y = iris()
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    text = str(certify(X[:100, 2:], names[:100]))
    assert "class setosa" in text
    assert "at most 410 mistakes" in text
    assert "column 0 - 2 > 0 for class versicolor" in text
    text = str(certify(X[50:], names[50:]))
    assert "These 6 rows contradict each other" in text


def test_every_line_of_a_report_is_on_the_page():
    text = certify([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]).report()
    page = as_html(text)
    assert page.count("<br>") == text.count("\n")
    assert all(line in page for line in text.split("\n"))


def test_a_time_limit_leaves_it_open_what_separates():
    generator = np.random.default_rng(3)
    X, y = generator.normal(size=(300, 20)), generator.integers(0, 2, 300)
    text = certify(X, y, time_limit=0.0).report()
    assert text.startswith("UNDECIDED: the time limit was reached")
