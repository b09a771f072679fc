"""A sparse matrix with an index outside is refused by everything that takes one."""

import numpy as np
import pytest
from scipy import sparse

from rosenblatt import (
    KernelPerceptron,
    Perceptron,
    certify,
    compare,
    find_lift,
    learn_online,
    theory,
    trace,
)
from rosenblatt.learners.examples import check_sparse
from rosenblatt.viz.style import named_rows

N, D = 400, 6
RNG = np.random.default_rng(0)
X = RNG.random((N, D))
Y = np.arange(N) % 2


def sound(dtype=np.float64):
    return sparse.csr_array(X.astype(dtype))


def _pointer(at, value):
    def damage(A):
        A.indptr[at] = value

    return damage


def _index(value, wide=False):
    def damage(A):
        if wide:
            A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
        A.indices[7] = value

    return damage


def _short(name, size):
    def damage(A):
        setattr(A, name, getattr(A, name)[:size].copy())

    return damage


MALFORMED = {
    "a column just outside": _index(D),
    "a negative column": _index(-1),
    "a very negative column": _index(-(10**6)),
    "a column far outside": _index(2**31 - 1),
    "a wide column": _index(2**40, wide=True),
    "a pointer far outside": _pointer(5, 10**7),
    "a negative pointer": _pointer(5, -3),
    "a last pointer outside": _pointer(-1, N * D + 1),
    "a first pointer that is not 0": _pointer(0, 2),
    "pointers that fall": _pointer(5, 1),
    "too few columns": _short("indices", 10),
    "too few values": _short("data", 10),
    "too few pointers": _short("indptr", 10),
}

FITTED = Perceptron(max_iter=2, tol=None).fit(X, Y)
KERNEL = KernelPerceptron(max_iter=2, tol=None).fit(sound()[:50], Y[:50])
OPERATIONS = {
    "fit": lambda A: Perceptron().fit(A, Y),
    "X_val": lambda A: Perceptron().fit(X, Y, X_val=A, y_val=Y),
    "partial_fit": lambda A: Perceptron().partial_fit(A, Y),
    "predict": lambda A: FITTED.predict(A),
    "decision_function": lambda A: FITTED.decision_function(A),
    "learn_online": lambda A: learn_online(Perceptron(), A, Y),
    "kernel fit": lambda A: KernelPerceptron().fit(A, Y),
    "kernel partial_fit": lambda A: KernelPerceptron().partial_fit(A, Y),
    "kernel predict": lambda A: KERNEL.predict(A),
    "find_lift": lambda A: find_lift(A, Y),
    "compare": lambda A: compare(A, Y, ["perceptron"]),
    "trace": lambda A: trace(A, Y),
    "a picture": lambda A: named_rows(A),
    "certify": lambda A: certify(A, Y),
    "radius": lambda A: theory.radius(A),
    "pad": lambda A: theory.pad(A),
    "premultiply": lambda A: theory.premultiply(A, Y),
    "dataset_margin": lambda A: theory.dataset_margin(A, Y, np.ones(D)),
    "mistake_bound": lambda A: theory.mistake_bound(A, Y),
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("malformed", MALFORMED)
def test_a_malformed_csr_matrix_is_refused(malformed, operation):
    A = sound()
    MALFORMED[malformed](A)
    with pytest.raises(ValueError, match=r"[Nn]ot a sound|CSR|ind(ex|ices|ptr)"):
        OPERATIONS[operation](A)


def test_malformed_matrices_of_other_layouts_are_refused():
    csc, bsr, coo, lil = (sound()[:8].asformat(kind) for kind in ("csc", "bsr", "coo", "lil"))
    csc.indices[3] = 9
    bsr.indices[0] = 50
    coo.coords[1][2] = -1
    lil.rows[4] = [*lil.rows[4][:-1], 77]
    dia = sparse.dia_array(sound()[:6])
    dia.offsets = dia.offsets[:2]
    for A in (csc, bsr, coo, lil, dia):
        with pytest.raises(ValueError, match=f"not a sound {A.format.upper()} matrix"):
            FITTED.predict(A)


def test_theory_refuses_malformed_matrices_of_other_layouts():
    csc, bsr, coo, lil = (sound()[:8].asformat(kind) for kind in ("csc", "bsr", "coo", "lil"))
    csc.indices[3] = 9
    bsr.indices[0] = 50
    coo.coords[1][2] = 1000
    lil.data[4] = [1.0] * 1000
    for A in (csc, bsr, coo, lil):
        with pytest.raises(ValueError, match=r"not a sound|ind(ex|ices)"):
            theory.radius(A)


def test_initial_coefficients_are_checked_too():
    coef = sparse.csr_array(np.ones((1, D)))
    coef.indices[2] = 10**6
    with pytest.raises(ValueError, match="not a sound CSR matrix"):
        Perceptron().fit(X, Y, coef_init=coef)


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "lil", "dia", "dok"])
def test_sound_matrices_of_every_layout_pass(kind):
    A = sound()[:40].asformat(kind)
    check_sparse(A)
    assert np.array_equal(FITTED.predict(A), FITTED.predict(X[:40]))
    for empty in ((0, 3), (3, 0), (4, 4)):
        check_sparse(sparse.csr_array(empty).asformat(kind))
