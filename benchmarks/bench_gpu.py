"""The perceptron on a GPU: MNIST, features of ImageNet's size, a thousand models, the 1999 table.

    python benchmarks/bench_gpu.py                    # all of it: a minute on an H200
    python benchmarks/bench_gpu.py mnist big many kernel peers
    python benchmarks/bench_gpu.py profile            # time per kernel; needs torch's profiler
    python benchmarks/bench_gpu.py counts 1 2         # the 1999 table on the processor, d = 1, 2

Needs ``rosenblatt[gpu]`` and a CUDA device; MNIST as in the other benchmarks. The large data are
generated on the device: 1,281,167 rows of 2,048 features, 1,000 class centres with noise. Times are
minima of several epochs after one that compiles, and wall time of the whole call where it says so.
"""

from __future__ import annotations

import copy
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

import rosenblatt
from common import machine, mnist
from rosenblatt import gpu
from rosenblatt.atomic_files import atomic_write
from rosenblatt.gpu import KernelPerceptron, Perceptron, fit_many
from rosenblatt.gpu.blocks import Blocks
from rosenblatt.gpu.device import current_device, is_usable
from rosenblatt.learners import Spec, make
from rosenblatt.learners.examples import examples_of
from rosenblatt.rules.perceptron import Thresholds

COUNTS = Path(__file__).parent / "results" / "mnist_1999_counts.json"
MOMENTS = (0.1, 1, 2, 3, 4, 10, 30)  # epochs after which the 1999 table looks at a model
ROWS, FEATURES, CLASSES = 1_281_167, 2_048, 1_000


def timed(work, times: int = 5) -> tuple[float, object]:
    """The least time of several calls, the device idle before and after, and the last result."""
    device, least, found = current_device(), np.inf, None
    for _ in range(times):
        device.xp.cuda.Device().synchronize()
        began = time.perf_counter()
        found = work()
        device.xp.cuda.Device().synchronize()
        least = min(least, time.perf_counter() - began)
    return least, found


def peaks() -> tuple[float, float, float]:
    """What the device reaches: float32 and tf32 products in TFLOP/s, copies in TB/s."""
    device = current_device()
    xp, n = device.xp, 8192
    A = xp.random.standard_normal((n, n), dtype=np.float32)
    out, rates = xp.empty((n, n), np.float32), []
    for tf32 in (False, True):
        device.product(A, A, out, tf32=tf32)
        seconds, _ = timed(lambda tf32=tf32: device.product(A, A, out, tf32=tf32))
        rates.append(2 * n**3 / seconds / 1e12)
    big = xp.zeros(1 << 29, np.float32)
    other = xp.empty_like(big)
    seconds, _ = timed(lambda: xp.copyto(other, big))
    rates.append(2 * big.nbytes / seconds / 1e12)
    print("peaks: float32 {:.1f}, tf32 {:.1f} TFLOP/s, copies {:.2f} TB/s".format(*rates))
    return rates[0], rates[1], rates[2]


def epochs(blocks: Blocks, examples, count: int, seed: int = 0) -> tuple[list[float], list]:
    """The times and tallies of some epochs in permuted orders, drawn before the clock starts."""
    seconds, tallies = [], []
    for epoch in range(seed, seed + count):
        order = np.random.default_rng(epoch).permutation(len(examples)).astype(np.uint64)
        size = examples.rows_per_call
        began = time.perf_counter()
        parts = [
            blocks.walk(examples, order[at : at + size], np.ones(1))
            for at in range(0, len(order), size)
        ]
        seconds.append(time.perf_counter() - began)
        tallies.append(sum(tally.updates for part in parts for tally in part))
    return seconds, tallies


def thresholds(models: int) -> list[Spec]:
    """One-vs-rest models that differ in their thresholds."""
    return [Spec(rule=Thresholds(t, t), dtype=np.float32) for t in np.linspace(0, 50, models)]


def bench_mnist() -> None:
    """MNIST, 10 classes one-vs-rest, epoch by epoch."""
    X, y = mnist()
    device = current_device()
    examples = examples_of(device.xp.asarray(X), y)
    host, order = examples_of(X, y), np.random.default_rng(0).permutation(60_000).astype(np.uint64)
    for multiclass in ("ovr", "ovo", "joint"):
        for averaging in (False, True):
            for size in (512, 1024) if multiclass == "ovr" else (None,):
                spec = Spec(multiclass=multiclass, averaging=averaging, dtype=np.float32)
                blocks = Blocks(device, [spec], 10, 784, block_rows=size)
                seconds, updates = epochs(blocks, examples, 12)
                shown = " ".join(f"{1e3 * s:.2f}" for s in seconds)
                print(f"MNIST {multiclass} averaging={averaging} block {blocks.size}: ms {shown}")
    learner = make(Spec(dtype=np.float32, dense=True), 10, 784)
    learner.walk(host, order)
    began = time.perf_counter()
    found = learner.walk(host, np.random.default_rng(1).permutation(60_000).astype(np.uint64))
    print(f"MNIST ovr on one core of the processor: {1e3 * (time.perf_counter() - began):.0f} ms, "
          f"{found.updates} updates in the second epoch; device {updates[1]} (joint)")  # fmt: skip
    model = Perceptron.textbook(random_state=0, max_iter=20, tol=None)
    rows = device.xp.asarray(X)
    model.fit(rows[:5000], y[:5000])  # what a first fit compiles
    began = time.perf_counter()
    model.fit(rows, y)
    whole = time.perf_counter() - began
    print(f"Perceptron.fit, 20 epochs, rows on the device: {whole:.3f} s, "
          f"epochs {1e3 * min(model.history_['seconds']):.2f} ms each at best")  # fmt: skip


def generated(rows: int = ROWS):
    """Rows on the device and labels: class centres with noise."""
    xp = current_device().xp
    xp.random.seed(0)
    y = np.random.default_rng(0).integers(0, CLASSES, rows)
    centres = xp.random.standard_normal((CLASSES, FEATURES), dtype=np.float32)
    X, labels = xp.empty((rows, FEATURES), np.float32), xp.asarray(y)
    for at in range(0, rows, 65_536):
        part = X[at : at + 65_536]
        part[...] = xp.random.standard_normal(part.shape, dtype=np.float32)
        part += np.float32(0.1) * centres[labels[at : at + 65_536]]
    return X, y


def bench_big() -> None:
    """Features of ImageNet's size, 1,000 classes one-vs-rest, float32 and with a tf32 screen."""
    single, _, copies = peaks()
    X, y = generated()
    examples, device = examples_of(X, y), current_device()
    for screens, size in ((False, 512), (False, 1024), (True, 512), (True, 1024)):
        blocks = Blocks(device, [Spec(dtype=np.float32)], CLASSES, FEATURES, block_rows=size)
        blocks.screens = screens
        seconds, updates = epochs(blocks, examples, 4)
        flops = 2 * ROWS * FEATURES * (CLASSES + size)
        share = flops / min(seconds[1:]) / 1e12 / single
        moved = ROWS * FEATURES * 4 * (1 + 1 + 2 + 1)  # read, gathered, both products, updates
        print(
            f"big screen={screens} block {size}: s {[round(s, 3) for s in seconds]}, updates "
            f"{updates}; {flops / 1e12:.1f} TFLOP of products, {share:.0%} of the float32 peak; "
            f"{moved / min(seconds[1:]) / 1e12 / copies:.0%} of the copy rate"
        )
    del blocks
    model = Perceptron.textbook(shuffle=False, max_iter=2, tol=None)
    model.fit(X[:5000], y[:5000])  # what a first fit compiles
    began = time.perf_counter()
    model.fit(X, y)
    print(f"Perceptron.fit, 2 epochs: {time.perf_counter() - began:.2f} s in all, epochs "
          f"{[round(s, 3) for s in model.history_['seconds']]}")  # fmt: skip
    rows = 20_000
    learner = make(Spec(dtype=np.float32, dense=True, threads=16), CLASSES, FEATURES)
    part, order = examples_of(device.host(X[:rows]), y[:rows]), np.arange(rows, dtype=np.uint64)
    learner.walk(part, order[:100])
    began = time.perf_counter()
    learner.walk(part, order)
    seconds = time.perf_counter() - began
    print(f"big on 16 threads of the processor: {seconds:.2f} s for {rows:,} rows, "
          f"{seconds * ROWS / rows:.0f} s an epoch at that rate")  # fmt: skip


def bench_many() -> None:
    """A thousand models of 10 classes on MNIST."""
    X, y = mnist()
    device = current_device()
    rows = device.xp.asarray(X)
    examples = examples_of(rows, y)
    for models in (100, 1000):
        for size in (512, 1024):
            settings = thresholds(models)
            blocks = Blocks(device, settings, 10, 784, block_rows=size)
            seconds, updates = epochs(blocks, examples, 6)
            print(f"{models} models of 10 classes, block {size}: ms "
                  f"{[round(1e3 * s, 1) for s in seconds]}, updates {updates[-1]}")  # fmt: skip
    del blocks
    grid = {"threshold": np.linspace(0, 50, 200).tolist()}
    ends: list[float] = []
    model = Perceptron.textbook(
        random_state=0, max_iter=12, tol=None, callbacks=lambda epoch: ends.append(time.time())
    )
    fits = fit_many(model, rows, y, grid=grid, cv=5)
    ends.sort()
    first = [ends[1000 * epoch] for epoch in range(12)]  # when the first model ended each epoch
    between = [round(1e3 * s) for s in np.diff(first)]
    print(f"fit_many, 200 settings x 5 folds: ms between epochs of all {between}")
    print(f"best: {fits.best_params}")


def voted(degree: int, home=gpu, **options) -> tuple[KernelPerceptron, Callable]:
    """A model of the 1999 table, and what makes its rows of pixels.

    With d = 1 these are whole numbers in double precision: scores stay close to zero, and rounding
    would be felt (see bench_mnist_1999.py).
    """
    model = home.KernelPerceptron.textbook(
        degree=degree, gamma=1, coef0=1 if degree == 1 else 1 / 255**2,
        shuffle=np.random.default_rng(1).permutation(60_000), max_iter=max(MOMENTS), tol=None,
        **options,
    )  # fmt: skip
    return model, lambda X: np.rint(255 * X.astype(np.float64)) if degree == 1 else X


def moments_of(model: KernelPerceptron):
    """The model after each number of epochs; a run that ended separated stays as it was."""
    for T in MOMENTS:
        steps, then = min(round(T * 60_000), model.t_), copy.copy(model)
        rows, log = model.state_.log[model.state_.log.times < steps].by_row()
        then.support_, then.support_vectors_ = model.support_[rows], model.support_vectors_[rows]
        clock, updates = np.full(10, float(steps)), log.updates(10)
        state = replace(model.state_, log=log, clock=clock, updates=updates, kept=None)
        then._describe(state, model._progress)
        yield T, then


def counts_of(model: KernelPerceptron) -> list[int]:
    """Support vectors and mistakes, as the table has them."""
    return [int(model.support_.size), int(model.problem_updates_.sum())]


def count_on_processor(degrees: list[int]) -> None:
    """The counts of the 1999 table on the processor: minutes per degree, up to 25 GB."""
    X, y = mnist()
    for degree in degrees:
        model, rows = voted(degree, rosenblatt, cache_size=24_000 if degree == 1 else 8_000)
        began = time.perf_counter()
        model.fit(rows(X), y)
        found = {f"{T:g}": counts_of(then) for T, then in moments_of(model)}
        cells = json.loads(COUNTS.read_text())["cells"] if COUNTS.exists() else {}
        with atomic_write(COUNTS, "w") as file:
            cells = dict(sorted((cells | {str(degree): found}).items()))
            json.dump({"machine": machine(), "cells": cells}, file, indent=1)
        print(f"d={degree}: {time.perf_counter() - began:.0f} s, {model.n_iter_} epochs, {found}")


def bench_kernel() -> None:
    """The 1999 table: d = 1..6, up to 30 epochs, counts beside the processor's."""
    X, y = mnist()
    X_test, y_test = mnist("t10k")
    device = current_device()
    known = json.loads(COUNTS.read_text())["cells"] if COUNTS.exists() else {}
    for kind in (np.float32, np.float64):  # compile
        small = KernelPerceptron.textbook(max_iter=1, tol=None)
        small.fit(X[:3000].astype(kind), y[:3000])
    whole = walks = predicting = 0.0
    for degree in range(1, 7):
        model, rows = voted(degree)
        here, test = rows(X), device.xp.asarray(rows(X_test))
        began = time.perf_counter()
        model.fit(here, y)
        seconds = time.perf_counter() - began
        whole, walks = whole + seconds, walks + float(np.sum(model.history_["seconds"]))
        for T, then in moments_of(model):
            began, errors = time.perf_counter(), []
            for keep in ("vote", "average", "last"):
                guesses = device.host(then.set_params(keep=keep).predict(test))
                errors.append(100 * float(np.mean(guesses != y_test)))
            predicting += time.perf_counter() - began
            mine, theirs = counts_of(then), known.get(str(degree), {}).get(f"{T:g}")
            print(f"d={degree} T={T:g}: {'vote {:.2f} average {:.2f} last {:.2f}'.format(*errors)} "
                  f"SupVec, Mistake {mine}, on the processor {theirs}: "
                  f"{'unknown' if theirs is None else 'same' if mine == theirs else 'OTHER'}"
                  )  # fmt: skip
        print(f"d={degree}: fit {seconds:.2f} s, walks {np.sum(model.history_['seconds']):.2f} s, "
              f"{model.n_iter_} epochs, {model.stop_reason_}")  # fmt: skip
    print(f"1999 table: fits {whole:.2f} s, of which walks {walks:.2f} s; predictions "
          f"{predicting:.2f} s")  # fmt: skip


def bench_peers() -> None:
    """What others take on this machine's processor for one pass over MNIST."""
    from sklearn.linear_model import Perceptron as Theirs
    from sklearn.svm import LinearSVC

    X, y = mnist()
    for name, model, rows in (
        ("scikit-learn Perceptron, 1 epoch", Theirs(max_iter=1, tol=None, n_jobs=-1), 60_000),
        ("LinearSVC, 10,000 rows, to its end", LinearSVC(dual=True), 10_000),
    ):
        began = time.perf_counter()
        model.fit(X[:rows], y[:rows])
        print(f"{name}: {time.perf_counter() - began:.2f} s")


def per_kernel(title: str, work: Callable[[], object], warm: int = 3) -> None:
    """Print where the device's time goes in a call, by kernel; also inside graphs."""
    from torch.profiler import ProfilerActivity, profile

    for _ in range(warm):
        work()
    current_device().xp.cuda.Device().synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as found:
        work()
        current_device().xp.cuda.Device().synchronize()
    kernels = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        found.export_chrome_trace(f"{folder}/trace.json")
        events = json.loads(Path(folder, "trace.json").read_text())["traceEvents"]
    spans = []
    for event in events:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            kernels[event["name"][:60]].append(event["dur"] / 1e3)
            spans.append((event["ts"] / 1e3, (event["ts"] + event["dur"]) / 1e3))
    busy, end = 0.0, 0.0
    for begun, ended in sorted(spans):
        busy, end = busy + max(0.0, ended - max(begun, end)), max(end, ended)
    print(f"{title}: device busy {busy:.2f} ms of {end - min(spans)[0]:.2f}")
    for name, took in sorted(kernels.items(), key=lambda item: -sum(item[1]))[:8]:
        print(f"  {sum(took):8.2f} ms  {len(took):5d} x {1e3 * np.mean(took):7.1f} us  {name}")


def bench_profile() -> None:
    """Where the time of the other benchmarks goes."""
    X, y = mnist()
    device = current_device()
    examples, seeds = examples_of(device.xp.asarray(X), y), iter(range(1000))

    def epoch(blocks: Blocks, examples) -> Callable[[], object]:
        return lambda: epochs(blocks, examples, 1, next(seeds))

    for multiclass in ("ovr", "joint"):
        blocks = Blocks(device, [Spec(multiclass=multiclass, dtype=np.float32)], 10, 784)
        per_kernel(f"MNIST {multiclass}, block {blocks.size}", epoch(blocks, examples))
    for screens in (True, False):
        blocks = Blocks(device, thresholds(1000), 10, 784)
        blocks.screens = screens
        per_kernel(f"1000 models, screens={screens}", epoch(blocks, examples))
    for degree in (1, 2):
        model, rows = voted(degree)
        here = rows(X)
        per_kernel(f"1999 table, d = {degree}", lambda m=model, X=here: m.fit(X, y), warm=1)
    X, y = generated()
    for screens in (True, False):
        blocks = Blocks(device, [Spec(dtype=np.float32)], CLASSES, FEATURES)
        blocks.screens = screens
        per_kernel(f"big, screens={screens}", epoch(blocks, examples_of(X, y)))


def main() -> None:
    parts = {"mnist": bench_mnist, "big": bench_big, "many": bench_many, "kernel": bench_kernel,
             "peers": bench_peers, "profile": bench_profile}  # fmt: skip
    if sys.argv[1:2] == ["counts"]:
        count_on_processor([int(degree) for degree in sys.argv[2:]] or list(range(1, 7)))
        return
    if not is_usable():
        print("No CUDA device, or CuPy is not installed: nothing to measure.")
        return
    xp = current_device().xp
    name = xp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(machine(), f"CuPy {xp.__version__}, {name}")
    for part in sys.argv[1:] or list(parts)[:-1]:
        parts[part]()
        xp.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    main()
