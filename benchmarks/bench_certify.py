"""Claim: `certify` decides separability, with a proof, sooner than its peers guess it.

Peers in the same run: `scipy.optimize.linprog` (HiGHS) on the whole problem, and scikit-learn's
`LinearSVC(C=1e10)`, which calls data separable when it makes no training error (and proves nothing;
`?` marks where its answer is wrong). A peer that is not done after the limit is stopped (`linprog`)
or not started for the larger sizes; its time is then given as `>`.

    python benchmarks/bench_certify.py            about four minutes
    python benchmarks/bench_certify.py --quick    under one minute
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from common import machine
from scipy import sparse
from scipy.optimize import linprog
from sklearn.svm import LinearSVC

from rosenblatt import certify

LIMIT = 30.0
SIZES = [
    # rows, columns, density (1: dense), start the peers?
    (10_000, 10, 1.0, True),
    (10_000, 100, 1.0, True),
    (10_000, 1000, 1.0, True),
    (100_000, 10, 1.0, True),
    (100_000, 100, 1.0, True),
    (1_000_000, 20, 1.0, False),
    (10_000, 1000, 0.02, True),
    (100_000, 1000, 0.02, True),
]


def by_linear_program(X, y):
    signs = np.where(y == 1, 1.0, -1.0)
    if sparse.issparse(X):
        Z = sparse.diags_array(signs) @ sparse.hstack([X, np.ones((X.shape[0], 1))])
        A = sparse.hstack([-Z, np.ones((X.shape[0], 1))], format="csr")
    else:
        ones = np.ones((X.shape[0], 1))
        A = np.hstack([-np.hstack([X, ones]) * signs[:, None], ones])
    width = X.shape[1] + 1
    solved = linprog(
        np.append(np.zeros(width), -1.0),
        A_ub=A,
        b_ub=np.zeros(X.shape[0]),
        bounds=[(-1.0, 1.0)] * width + [(0.0, None)],
        options={"time_limit": LIMIT},
    )
    return None if solved.status == 1 or solved.x is None else bool(solved.x[-1] > 1e-9)


def by_support_vectors(X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bool((LinearSVC(C=1e10).fit(X, y).predict(X) == y).all())


def timed(function, *arguments):
    start = time.perf_counter()
    answer = function(*arguments)
    return time.perf_counter() - start, answer


def problems(n, d, density, generator):
    if density < 1:
        X = sparse.random_array((n, d), density=density, rng=generator, format="csr")
    else:
        X = generator.normal(size=(n, d))
    scores = X @ generator.normal(size=d)
    y = (scores > np.median(scores)).astype(int)
    flipped = y.copy()
    flipped[7] = 1 - flipped[7]
    noisy = np.where(generator.random(n) < 0.05, 1 - y, y)
    yield from (("separable", X, y), ("one flipped", X, flipped), ("5 % noise", X, noisy))


def peer(function, X, y, truth):
    seconds, answer = timed(function, X, y)
    if answer is None:
        return f"> {LIMIT:.0f}", ""
    return f"{seconds:.2f}{'?' * (answer != truth)}", f"{seconds:.6f}"


def main():
    quick = "--quick" in sys.argv
    print(machine("scipy", "scikit-learn", "python-flint"))
    print("seconds; ratio = peer / certify (with margins)\n")
    head = "rows columns kind labels verdict certify linprog ratio SVC ratio".split()
    line = "{:>9} {:>7} {:>6} {:<11} {:<15} {:>8} {:>8} {:>7} {:>8} {:>7}"
    print(line.format(*head))
    generator = np.random.default_rng(0)
    for n, d, density, with_peers in SIZES[:2] + SIZES[5:7] if quick else SIZES:
        for name, X, y in problems(n, d, density, generator):
            mine, certificate = timed(certify, X, y)
            cells = ["-", "-", "-", "-"]
            if with_peers:
                for k, function in enumerate((by_linear_program, by_support_vectors)):
                    text, seconds = peer(function, X, y, certificate.separable)
                    ratio = float(seconds) / mine if seconds else LIMIT / mine
                    cells[2 * k : 2 * k + 2] = text, f"{'>' * (not seconds)}{ratio:.1f}"
            kind = "dense" if density == 1 else f"{density:.0%}"
            cells = [n, d, kind, name, certificate.verdict, f"{mine:.2f}", *cells]
            print(line.format(*cells), flush=True)


if __name__ == "__main__":
    main()
