"""The registry: rules of the package are records, and rules of users become estimators."""

import doctest
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator
from tests.invariants.strategies import data_sets

import rosenblatt
from rosenblatt import reference, rules
from rosenblatt.learners import Spec, make
from rosenblatt.learners.examples import examples_of
from rosenblatt.rules.storage import BIAS, BIAS_A, PADDING, SCALES

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "write-your-own-rule.md"
SCRIPT = """
import math
from rosenblatt import rules

def raised(p, z):
    return math.sinh(p.rate * z)

def step(p, margin, square, weight, eta):
    return weight if margin <= p.margin else 0.0

def weight(p, z, n, penalty):
    return -2.0 * raised(p, z)

Winnow = rules.register(
    "winnow", step, storage="adaptive", weight=weight, parameters={"rate": 0.25, "margin": 0.0}
)
"""


def bold(p, margin, square, weight, eta):
    return p.size * weight if margin <= 0.0 and square > 0.0 else 0.0


def wary(p, margin, variance, weight, eta):
    if margin >= 1.0 or variance <= 0.0:
        return 0.0, 0.0
    beta = weight / (variance + p.r)
    return (1.0 - margin) * beta, beta


def weight_of_sums(p, z, n, penalty):
    return -z / (1.0 + n)


def taken(p, margin, square, weight, eta):
    return weight if margin <= 1.0 else 0.0


def counted(rule, cell, x, tau, beta):
    """The n-th update of a feature is divided by n."""
    w, n = cell
    return w + tau * x / (n + 1.0), n + 1.0 if x else n


def counted_update(rule, cells, sums, i, x, tau, beta, book, penalty):
    if x != 0:
        at = np.int64(i) * 2
        cells[at + 1] += 1.0
        change = cells.dtype.type(tau) * x / cells[at + 1]
        cells[at] += change
        if sums.size > 0:
            sums[np.int64(i)] += book[SCALES, 0] * change


def counted_read(rule, cells, sums, i, book, penalty):
    return cells[np.int64(i) * 2], cells.dtype.type(0)


def counted_bias(rule, book, c, tau, beta):
    if book[PADDING, 0] > 0.0:
        book[BIAS_A, c] += 1.0
        book[BIAS, c] += tau * book[PADDING, 0] / book[BIAS_A, c]


COUNTS = rules.Storage("counts", 2, counted, counted_update, counted_bias, read=counted_read)
OWN = {
    "counts": rules.register("slower", taken, storage=COUNTS),
    "plain": rules.register("bold", bold, parameters={"size": 2.0}),
    "variances": rules.register("wary", wary, storage="variances", parameters={"r": 1.0}),
    "adaptive": rules.register("sums", taken, storage="adaptive", weight=weight_of_sums),
}
NAMES = {"counts": "slower", "plain": "bold", "variances": "wary", "adaptive": "sums"}


@pytest.mark.parametrize("storage", OWN)
@settings(max_examples=15, deadline=None)
@given(data=data_sets(max_rows=12))
def test_a_registered_rule_takes_the_steps_of_the_reference(storage, data):
    X, y = data
    X, y = np.rint(X), y.astype(np.int32)
    numbers = rules.rules()[NAMES[storage]].with_parameters()
    signs = (2 * y - 1).tolist()
    order = {"order": lambda epoch: range(len(X)), "max_epochs": 2}
    *_, last = reference.family(X.tolist(), signs, numbers, **order)
    for rows in (X, sparse.csr_array(X)):
        learner = make(Spec(rule=numbers, dense=rows is X), 2, X.shape[1])
        examples = examples_of(rows, y)
        for _ in range(2):
            if not learner.walk(examples, np.arange(len(X), dtype=np.uint64)).updates:
                break
        weights, bias = learner.weights()
        if storage == "plain":  # whole numbers: no rounding
            assert weights[0].tolist() == list(last.weights_after)
        assert weights[0] == pytest.approx(last.weights_after, rel=1e-9, abs=1e-12)
        assert bias[0] == pytest.approx(last.bias_after, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("storage", OWN)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_registered_rule_is_an_estimator_like_the_others(storage, classes, tmp_path):
    generator = np.random.default_rng(0)
    X = generator.integers(-2, 3, (80, 4)).astype(float)
    y = (X @ generator.normal(size=(4, classes))).argmax(axis=1)
    bare = {"scale": None, "keep": "last", "multiclass": "ovr", "intercept_scaling": 1.0}
    model = clone(OWN[storage](max_iter=8, tol=None, random_state=0, **bare)).fit(X, y)
    assert model.score(X, y) > 0.8
    assert np.allclose(clone(model).fit(sparse.csr_array(X), y).coef_, model.coef_)
    parts, whole = clone(model), clone(model)
    parts.partial_fit(X[:30], y[:30], classes=range(classes)).partial_fit(X[30:], y[30:])
    assert np.array_equal(parts.coef_, whole.partial_fit(X, y, classes=range(classes)).coef_)
    rosenblatt.save(model, tmp_path / "model")
    again = rosenblatt.load(tmp_path / "model")
    assert np.array_equal(again.partial_fit(X, y).coef_, model.partial_fit(X, y).coef_)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).coef_, model.coef_)


def test_scikit_learns_checks_pass_for_a_registered_rule():
    check_estimator(OWN["variances"](), on_skip=None)


def _run(folder, code):
    (folder / "winnow.py").write_text(SCRIPT)
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    return run.stdout + run.stderr


def test_a_rule_of_a_script_is_trained_from_a_file_saved_and_loaded_elsewhere(tmp_path):
    rows = ["pos,good fun\n", "neg,bad dull\n", "mixed,good dull odd\n"] * 20
    (tmp_path / "rows.csv").write_text("label,text\n" + "".join(rows))
    made = _run(
        tmp_path,
        "from winnow import Winnow\n"
        "from rosenblatt import compare, save, train\n"
        "model = train('rows.csv', rule='winnow:rate=0.5', epochs=3)\n"
        "model.save('text.model')\n"
        "print(model.predict(['good fun', 'bad dull']).tolist())\n"
        "X, y = [[2, 1], [-1, 1]] * 9, [1, 0] * 9\n"
        "print(compare(X, y, ['winnow', 'arow']).names)\n"
        "save(Winnow(rate=0.125, random_state=0).fit(X, y), 'estimator.model')\n",
    )
    assert "['pos', 'neg']" in made
    assert "['winnow', 'arow']" in made
    loaded = _run(
        tmp_path,
        "from rosenblatt import load\n"
        "print(load('text.model').predict(['good fun', 'bad dull']).tolist())\n"
        "try:\n"
        "    load('estimator.model')\n"
        "except ValueError as error:\n"
        "    print(error)\n"
        "import winnow\n"
        "print(load('estimator.model'), load('estimator.model').predict([[3, 1]]))\n",
    )
    assert "['pos', 'neg']" in loaded
    assert "rosenblatt.rules.register" in loaded
    assert "Winnow(random_state=0, rate=0.125) [1]" in loaded


def test_changed_code_of_a_rule_is_compiled_again(tmp_path):
    fit = (
        "from winnow import Winnow\n"
        "options = {'max_iter': 1, 'tol': None, 'shuffle': False, 'scale': None}\n"
        "options |= {'keep': 'last', 'intercept_scaling': 1.0}\n"
        "print(Winnow(**options).fit([[1.0], [-1.0]], [1, 0]).coef_)\n"
    )
    before = _run(tmp_path, fit)
    (tmp_path / "other").mkdir()
    changed = SCRIPT.replace("math.sinh(p.rate * z)", "p.rate * z")
    (tmp_path / "other" / "winnow.py").write_text(changed)
    run = subprocess.run(
        [sys.executable, "-c", fit], cwd=tmp_path / "other", capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert "[[1.]]" in run.stdout
    assert "[[1.04" in before


def test_the_page_about_rules_of_your_own_runs():
    assert doctest.testfile(str(PAGE), module_relative=False).failed == 0


def test_what_cannot_be_a_rule_is_refused():
    def inner():
        factor = 2.0

        def step(p, margin, square, weight, eta):
            return factor

        return step

    for arguments, options, said in [
        (("arow", bold), {}, "a name of its own"),
        (("Arrow!", bold), {}, "a name of its own"),
        (("deep", bold), {"storage": "deep"}, "storage must be one of"),
        (("lone", taken), {"storage": "adaptive"}, "needs weight"),
        (("pair", wary), {"parameters": {"r": 1.0}}, "must return a float"),
        (("flat", taken), {"storage": "variances"}, "a tuple of two floats"),
        (("closure", inner()), {}, "variables of another function"),
        (("clash", taken), {"estimator": "AROW"}, "There is an estimator AROW"),
    ]:
        with pytest.raises(ValueError, match=said):
            rules.register(*arguments, **options)
    with pytest.raises(ValueError, match="'size' parameter"):
        OWN["plain"](size="large").fit([[1.0], [2.0]], [0, 1])


def test_every_rule_names_its_condition_its_promise_and_its_source():
    for name, record in rules.rules().items():
        if not hasattr(record.numbers, "code_digest"):  # not registered
            assert all((record.condition, record.update, record.bound, record.paper)), name


def test_the_guide_lists_every_rule_of_the_package():
    guide = (PAGE.parents[1] / "guide" / "family.md").read_text()
    for name, record in rules.rules().items():
        if not hasattr(record.numbers, "code_digest"):
            assert f"`{name}`" in guide
            assert f"~rosenblatt.{record.estimator}`" in guide
