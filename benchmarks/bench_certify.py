"""Claim: `certify` decides separability, with a proof, sooner than its peers guess it.

Peers in the same run: `scipy.optimize.linprog` (HiGHS) on the whole problem, and scikit-learn's
`LinearSVC(C=1e10)`, which calls data separable when it makes no training error (and proves nothing;
`?` marks where its answer is wrong). Peers run in processes of their own, stopped after the limit;
their time is then given as `>`. Where both are short, `certify` and `LinearSVC` take turns, as the
speed of a machine may change from one second to the next. A number picks one size of the list.

    python benchmarks/bench_certify.py            about twelve minutes, most of them the peers'
    python benchmarks/bench_certify.py --quick    about a minute and a half
    python benchmarks/bench_certify.py 2          10,000 x 1,000
"""

from __future__ import annotations

import multiprocessing
import sys
import time
import warnings

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from sklearn.svm import LinearSVC

from common import machine
from rosenblatt import certify

LIMIT = 30.0
SHORT, TURNS = 0.3, 5
SIZES = [
    # rows, columns, density (1: dense)
    (10_000, 10, 1.0),
    (10_000, 100, 1.0),
    (10_000, 1000, 1.0),
    (100_000, 10, 1.0),
    (100_000, 100, 1.0),
    (100_000, 1000, 1.0),
    (1_000_000, 20, 1.0),
    (10_000, 1000, 0.02),
    (100_000, 1000, 0.02),
    (1_000_000, 1000, 0.005),
]
QUICK = SIZES[:2] + SIZES[7:8]


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
    )
    return bool(solved.x[-1] > 1e-9)


def by_support_vectors(X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bool((LinearSVC(C=1e10).fit(X, y).predict(X) == y).all())


def decide(X, y):
    return certify(X, y, margin_rtol=None, time_limit=LIMIT)


def timed(function, *arguments):
    """Seconds and answer; of short ones the least of five."""
    least = np.inf
    for _ in range(5):
        start = time.perf_counter()
        answer = function(*arguments)
        least = min(least, time.perf_counter() - start)
        if least > SHORT:
            break
    return least, answer


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


def apart(function, X, y):
    """Seconds and answer of a peer in a process of its own, stopped after the limit."""
    fork = multiprocessing.get_context("fork")
    inner, outer = fork.Pipe()
    process = fork.Process(target=lambda: outer.send(timed(function, X, y)))
    process.start()
    found = inner.recv() if inner.poll(LIMIT) else (np.inf, None)
    process.kill()
    process.join()
    return found


def in_turns(X, y):
    """Seconds and answers of `certify` and of `LinearSVC`; of short ones the least of all turns."""
    ours, theirs = timed(decide, X, y), apart(by_support_vectors, X, y)
    for _ in range(TURNS - 1):
        if max(ours[0], theirs[0]) > SHORT:
            break
        ours = min(ours, timed(decide, X, y), key=lambda found: found[0])
        theirs = min(theirs, apart(by_support_vectors, X, y), key=lambda found: found[0])
    return ours, theirs


def cells(found, truth, mine):
    """The seconds of a peer, and their ratio to ours."""
    seconds, answer = found
    if seconds == np.inf:
        return f"> {LIMIT:.0f}", f"> {LIMIT / mine:.0f}"
    return f"{seconds:.4f}{'?' * (answer != truth)}", f"{seconds / mine:.2f}"


def main():
    sizes = QUICK if "--quick" in sys.argv else SIZES
    if sys.argv[1:] and sys.argv[1].isdigit():
        sizes = [SIZES[int(sys.argv[1])]]
    print(machine("scipy", "scikit-learn", "python-flint"))
    print("seconds; ratio = peer / certify (which proves its answer; margins left out)\n")
    head = ["rows", "columns", "kind", "labels", "verdict", "certify"]
    head += ["linprog", "ratio", "SVC", "ratio"]
    line = "{:>9} {:>7} {:>6} {:<11} {:<15} {:>8} {:>8} {:>7} {:>9} {:>7}"
    print(line.format(*head))
    decide(sparse.csr_array(np.eye(4)), [0, 1, 0, 1])  # imports are not measured
    generator = np.random.default_rng(0)
    for n, d, density in sizes:
        for name, X, y in problems(n, d, density, generator):
            (mine, certificate), theirs = in_turns(X, y)
            program = apart(by_linear_program, X, y)
            row = [n, d, "dense" if density == 1 else f"{density:.1%}", name, certificate.verdict]
            row.append(f"{mine:.4f}")
            for found in (program, theirs):
                row += cells(found, certificate.separable, mine)
            print(line.format(*row), flush=True)


if __name__ == "__main__":
    main()
