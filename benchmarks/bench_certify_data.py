"""Claim: real data sets are decided exactly, with proofs that fit in a file.

Prints the table of docs/benchmarks/certificates.md: verdict, size of the proof, seconds to find it
(with margins) and to check it.

    ROSENBLATT_DATA=../shared/data python benchmarks/bench_certify_data.py
"""

from __future__ import annotations

import gzip
import json
import time

import numpy as np
from sklearn.datasets import load_iris, load_svmlight_file

from common import data_folder, machine, mnist, reviews
from rosenblatt import HashedNgrams, certify, verify

TABLES = ("sonar", "ionosphere", "banknote_authentication", "pima-indians-diabetes")
SVMLIGHT = ("a9a", "w8a", "mushrooms", "splice", "svmguide3", "ijcnn1.val")
PAIRS = ((0, 1), (1, 7), (4, 9), (3, 5))
REVIEWS = (500, 2000)


def data_sets():
    X, y = load_iris(return_X_y=True)
    yield "iris, petals, 0 and 1", X[:100, 2:], y[:100]
    yield "iris, 1 and 2", X[50:], y[50:]
    folder = data_folder()
    for name in TABLES:
        with gzip.open(folder / "tabular" / f"{name}.csv.gz", "rt") as file:
            rows = [line.strip().split(",") for line in file if line.strip()]
        yield name, np.array([r[:-1] for r in rows], dtype=float), np.array([r[-1] for r in rows])
    for name in SVMLIGHT:
        with gzip.open(folder / "libsvm" / f"{name}.gz") as file:
            yield name, *load_svmlight_file(file)
    pixels, digits = mnist()
    pixels = np.rint(pixels * 255).astype(np.uint8)
    for a, b in PAIRS:
        pair = (digits == a) | (digits == b)
        yield f"MNIST {a} and {b}", pixels[pair], digits[pair]
    labels, texts = reviews()
    for count in REVIEWS:
        hashed = HashedNgrams().transform(texts[:count])
        yield f"IMDB, {count:,} reviews as hashed n-grams", hashed, np.array(labels[:count])


def proof(certificate):
    if certificate.separable:
        digits = max(len(str(abs(w))) for w in certificate.weights)
        size = f"up to {digits} digits" if digits > 1 else "1 digit"
        return f"weights of {size}; at most {certificate.mistake_bound:,} mistakes"
    if certificate.balance is not None:
        return f"{len(certificate.balance.rows):,} rows in balance"
    text = f"{len(certificate.contradiction.rows)} rows contradict each other"
    if certificate.spanning is not None:
        text += f"; {len(certificate.spanning.rows)} span all"
    return text


def main():
    print(machine("scipy", "scikit-learn", "python-flint"), "\n")
    print("| data | rows × columns | verdict | proof | file | certify | verify |")
    print("|---|---|---|---|---|---|---|")
    for name, X, y in data_sets():
        start = time.perf_counter()
        certificate = certify(X, y)
        made = time.perf_counter()
        checked = verify(certificate, X, y)
        done = time.perf_counter()
        assert checked, checked.reason
        size = len(json.dumps(certificate.to_dict())) / 1000
        print(
            f"| {name} | {X.shape[0]:,} × {X.shape[1]:,} | {certificate.verdict} | "
            f"{proof(certificate)} | {size:,.0f} kB | {made - start:.2f} s | {done - made:.2f} s |",
            flush=True,
        )


if __name__ == "__main__":
    main()
