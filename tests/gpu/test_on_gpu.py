"""On a CUDA device: the same models as on the processor. `make test-gpu` runs these."""

from itertools import product

import numpy as np
import pytest

import rosenblatt
from rosenblatt import gpu, training
from rosenblatt.gpu import blocks as blocks_module
from rosenblatt.gpu import many
from rosenblatt.gpu.blocks import Blocks, screen_error
from rosenblatt.gpu.device import current_device, is_usable, usable_cupy
from rosenblatt.gpu.linear import DeviceLinear
from rosenblatt.learners import Spec, make
from rosenblatt.learners.examples import examples_of
from rosenblatt.rules.perceptron import Thresholds
from tests.members import weights_of

pytestmark = pytest.mark.skipif(not is_usable(), reason="needs a CUDA device and CuPy")


def whole_numbers(n=3000, d=37, classes=4, dtype=np.float32, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.integers(-4, 5, (n, d)).astype(dtype)
    noise = 3 * generator.normal(size=(n, classes))
    y = (X @ generator.normal(size=(d, classes)) + noise).argmax(axis=1)
    return X, y.astype(np.int32)


def real_numbers(n=6000, d=256, classes=300):
    generator = np.random.default_rng(7)
    X = generator.normal(size=(n, d)).astype(np.float32)
    return X, generator.integers(0, classes, n).astype(np.int32)


def assert_same(here, there):
    for name in ("weights", "bias", "sums", "bias_sums", "clock"):
        one, other = getattr(here.state(), name), getattr(there.state(), name)
        np.testing.assert_array_equal(one, other, name)


@pytest.mark.parametrize("block_rows", [64, 512, 1024])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("classes", "multiclass"),
    [(2, "ovr"), (4, "ovr"), (4, "ovo"), (4, "joint"), (300, "ovr"), (40, "joint")],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_learners_take_the_same_steps(classes, multiclass, dtype, block_rows, weighted):
    X, y = whole_numbers(classes=classes, dtype=dtype)
    weights = np.random.default_rng(1).integers(0, 9, len(y)) / 4.0 if weighted else np.ones(1)
    options = {"multiclass": multiclass, "averaging": True, "dtype": dtype}
    spec = Spec(dense=True, **options)
    here, there = make(spec, classes, 37), DeviceLinear(spec, classes, 37, block_rows=block_rows)
    examples = examples_of(X, y, weights)
    rows = np.flatnonzero(np.broadcast_to(weights, y.shape) > 0).astype(np.uint64)
    for learner in (here, there):
        learner.mark()
    for epoch in range(5):  # the third is the first that is launched as a graph
        order = np.random.default_rng(epoch).permutation(rows)
        one, other = (learner.walk(examples, order, np.ones(1)) for learner in (here, there))
        assert one[:4] == other[:4]
        np.testing.assert_equal(one.mistakes, other.mistakes)
        np.testing.assert_allclose(here.measure(), there.measure(), rtol=1e-12)
    assert_same(here, there)
    assert here.error(examples, rows, True) == there.error(examples, rows, True)


def test_a_screen_by_tensor_cores_changes_no_step():
    generator = np.random.default_rng(0)
    X = np.rint(generator.normal(size=(4000, 64)) * 40).astype(np.float32) / 16 + 1
    y = generator.integers(0, 300, 4000)
    counts, found, spec = [], [], Spec(rule=Thresholds(1.0, 1.0), dtype=np.float32)
    for screens in (False, True):
        blocks = Blocks(current_device(), [spec], 300, 64)
        blocks.screens = screens
        examples = examples_of(X, y)
        for epoch in range(3):
            order = np.random.default_rng(epoch).permutation(4000).astype(np.uint64)
            counts.append(blocks.walk(examples, order, np.ones(1))[0][:5])
        found.append(blocks.device.host(blocks.W))
    assert counts[:3] == counts[3:]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_screened_run_takes_the_steps_of_one_that_scores_every_row_again(weighted, monkeypatch):
    X, y = real_numbers()
    omega = np.random.default_rng(2).uniform(0.1, 3, (1, len(y))) if weighted else None
    found, updates = [], []
    spec = Spec(rule=Thresholds(1.0, 1.0), averaging=True, dtype=np.float32)
    for error in (screen_error(X.shape[1]), 1e30, 1e-12):
        monkeypatch.setattr(blocks_module, "screen_error", lambda features, error=error: error)
        blocks = Blocks(current_device(), [spec], 300, 256)
        blocks.screens = True
        for epoch in range(4):
            order = np.random.default_rng(epoch).permutation(len(y)).astype(np.uint64)
            walked = blocks.walk(examples_of(X, y), order, np.ones(1), omega=omega)
            updates.append(walked[0].updates)
        found.append([blocks.device.host(part) for part in (blocks.W, blocks.U, blocks.bias)])
    assert updates[:4] == updates[4:8]
    for screened, scored in zip(*found[:2], strict=True):
        np.testing.assert_array_equal(screened, scored)
    assert not np.array_equal(found[1][0], found[2][0])  # the screen taken as it is


def test_products_on_tensor_cores_keep_their_bound():
    device, generator = current_device(), np.random.default_rng(3)
    W, X = (generator.lognormal(0, 2, (400, 1000)).astype(np.float32) for _ in range(2))
    X *= generator.choice([-1, 1], X.shape)
    out = device.xp.empty((400, 400), np.float32)
    with device.main:
        device.product(*(device.xp.asarray(part) for part in (W, X)), out, tf32=True)
        found = device.host(out).astype(np.float64)
    exact = W.astype(np.float64) @ X.T.astype(np.float64)
    lengths = np.outer(*(np.linalg.norm(part.astype(np.float64), axis=1) for part in (W, X)))
    share = np.abs(found - exact) / (screen_error(1000) * lengths)
    assert 0.001 < share.max() < 1


def test_where_float32_products_decide_otherwise_the_score_is_within_rounding():
    """Block by block from the same weights: the first other decision of each problem."""
    X, y = real_numbers()
    n, threshold = 300, 1.0
    spec = Spec(rule=Thresholds(threshold, threshold), dtype=np.float32)
    plain, screened = (Blocks(current_device(), [spec], n, 256) for _ in range(2))
    size = plain.size
    plain.screens, screened.screens, host, others = False, True, plain.device.host, 0
    for at in range(0, len(y), size):
        before = [host(part) for part in (plain.W, plain.bias)]
        order = np.arange(at, min(at + size, len(y)), dtype=np.uint64)
        lists = []
        for blocks in (plain, screened):
            blocks.walk(examples_of(X, y), order, np.ones(1))
            lists.append([host(part) for part in (blocks._buffers.count, blocks._buffers.place)])
        for c in range(n):
            one, other = (place[c, : count[c]].tolist() for count, place in lists)
            if one == other:
                continue
            same = next(k for k in range(size) if one[k : k + 1] != other[k : k + 1])
            i = min(places[same] for places in (one, other) if same < len(places))
            made = at + np.array(one[:same], int)
            signs = np.where(y[made] == c, 1.0, -1.0)
            w = before[0][c] + signs @ X[made].astype(np.float64)
            x, b = X[at + i].astype(np.float64), before[1][c] + signs.sum()
            margin = (w @ x + b) * (1 if y[at + i] == c else -1)
            sizes = np.abs(before[0][c]) @ np.abs(x) + np.abs(X[made]).sum(axis=0) @ np.abs(x)
            assert abs(margin - threshold) <= (256 + same + 2) * 2.0**-23 * (sizes + abs(b) + same)
            others += 1
        screened.W[...], screened.bias[...] = plain.W, plain.bias
    assert others < 0.001 * len(y)


def test_streamed_rows_give_the_same_model(monkeypatch):
    from rosenblatt.gpu import device as devices

    X, y = whole_numbers(n=20_000)
    spec = Spec(dtype=np.float32, dense=True, averaging=True)
    here, there = make(spec, 4, 37), DeviceLinear(spec, 4, 37)
    monkeypatch.setattr(devices, "_SHARE_OF_MEMORY", 0.0)
    monkeypatch.setattr(devices, "_STREAMED_BYTES", 1 << 18)
    examples, order = examples_of(X, y), np.random.default_rng(0).permutation(20_000)
    for learner in (here, there):
        for _ in range(3):
            learner.walk(examples, order.astype(np.uint64), np.ones(1))
    assert not there.blocks.on_device(examples)[0].is_resident
    assert_same(here, there)


def test_a_mapped_file_larger_than_the_free_memory_gives_the_same_model(tmp_path, monkeypatch):
    """Most of the device's memory is taken by somebody else; the file takes more than the rest."""
    from rosenblatt.gpu import device as devices

    cupy, streamed = usable_cupy(), []
    X, y = whole_numbers(n=300_000, d=512, classes=10)
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    options = {"random_state": 0, "max_iter": 2, "tol": None, "multiclass": "ovr"}
    here = rosenblatt.Perceptron.textbook(**options).fit(X, y)
    chunks = devices.Streamed.chunks
    monkeypatch.setattr(
        devices.Streamed, "chunks", lambda self, order: streamed.append(self) or chunks(self, order)
    )
    cupy.get_default_memory_pool().free_all_blocks()
    free = int(cupy.cuda.Device().mem_info[0])
    taken = cupy.cuda.runtime.malloc(free - (900 << 20))
    try:
        assert mapped.nbytes > current_device().free_bytes() * 0.6
        there = gpu.Perceptron.textbook(**options).fit(mapped, y)
    finally:
        cupy.cuda.runtime.free(taken)
    assert len(streamed[0].X) == len(y)
    assert streamed[0].X.base is not None  # still the file
    np.testing.assert_array_equal(weights_of(here), weights_of(there))
    assert here.n_updates_ == there.n_updates_


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_data_that_the_callers_stream_has_yet_to_make_are_waited_for(dtype):
    cupy = usable_cupy()
    X, y = whole_numbers(dtype=dtype)
    linear = make(Spec(dtype=dtype, dense=True), 4, 37)
    order = np.random.default_rng(0).permutation(len(y)).astype(np.uint64)
    linear.walk(examples_of(X, y), order)
    kernel = gpu.KernelPerceptron.textbook(degree=2, max_iter=2, tol=None, random_state=0)
    kernel.fit(X, y)
    scores, busy = kernel.decision_function(X), cupy.ones((8192, 8192), np.float64)
    rows = [cupy.zeros(X.shape, dtype) for _ in range(2)]
    for _ in range(2):  # the first time compiles, which takes longer than what is waited for
        learner = make(Spec(dtype=dtype, dense=True, device="cuda"), 4, 37)
        for there in rows:
            there[...] = 0
        ready = cupy.asarray(X)
        cupy.cuda.Device().synchronize()
        for _ in range(3):
            busy @ busy  # tens of milliseconds of the caller's stream
        rows[0][...] = ready
        learner.walk(examples_of(rows[0], y), order)
        busy @ busy
        rows[1][...] = ready
        late = cupy.asnumpy(kernel.decision_function(rows[1]))
    np.testing.assert_array_equal(linear.weights().weights, learner.weights().weights)
    np.testing.assert_allclose(late, scores, rtol=1e-5)


@pytest.mark.parametrize("multiclass", ["ovr", "ovo", "joint"])
@pytest.mark.parametrize("options", [{"keep": "average"}, {"threshold": 3.0}])
def test_estimators_give_the_same_model_wherever_rows_lie(multiclass, options):
    cupy = usable_cupy()
    X, y = whole_numbers()
    here = rosenblatt.Perceptron.textbook(
        multiclass=multiclass, random_state=0, max_iter=6, tol=None, **options
    ).fit(X, y)
    coef, scores = weights_of(here).copy(), here.decision_function(X)
    for rows in (X, cupy.asarray(X)):
        there = gpu.Perceptron(**here.get_params()).fit(rows, y)
        np.testing.assert_array_equal(coef, weights_of(there))
    found = there.decision_function(cupy.asarray(X))
    assert isinstance(found, cupy.ndarray)
    np.testing.assert_allclose(cupy.asnumpy(found), scores, rtol=1e-4, atol=1e-4)
    assert isinstance(there.predict(cupy.asarray(X)), cupy.ndarray)


def test_torch_tensors_are_taken_and_given():
    torch = pytest.importorskip("torch", reason="needs torch")
    X, y = whole_numbers()
    model = gpu.Perceptron.textbook(random_state=0).fit(torch.from_numpy(X).cuda(), y)
    guesses = model.predict(torch.from_numpy(X).cuda())
    assert isinstance(guesses, torch.Tensor)
    assert guesses.is_cuda
    here = rosenblatt.Perceptron.textbook(random_state=0).fit(X, y)
    np.testing.assert_array_equal(weights_of(here), weights_of(model))
    np.testing.assert_array_equal(here.predict(X), guesses.cpu().numpy())


@pytest.mark.parametrize(
    ("multiclass", "keep"),
    [*product(("ovr", "ovo", "joint"), ("last", "average")), ("ovr", "vote"), ("ovo", "vote")],
)
def test_kernel_models_are_the_same(multiclass, keep):
    cupy = usable_cupy()
    X, y = whole_numbers(n=1500, d=9)
    options = {"degree": 2, "gamma": 1, "multiclass": multiclass, "keep": keep, "random_state": 0}
    options |= {"max_iter": 5, "tol": None}
    here = rosenblatt.KernelPerceptron.textbook(**options).fit(X, y)
    there = gpu.KernelPerceptron.textbook(**options).fit(X, y)
    np.testing.assert_array_equal(here.support_, there.support_)
    np.testing.assert_array_equal(here.dual_coef_, there.dual_coef_)
    np.testing.assert_array_equal(here.predict(X), cupy.asnumpy(there.predict(cupy.asarray(X))))


def test_many_models_are_the_same(monkeypatch):
    def one_by_one(runs, there):
        for run in runs:
            for _ in training.run(run.learner, run.data, run.plan, run.progress):
                pass

    X, y = whole_numbers()
    model = gpu.Perceptron.textbook(random_state=0, max_iter=5, tol=None)
    grid = {"threshold": [0.0, 4.0], "keep": ["last", "average"], "eta0": [1.0, 0.5]}
    there = gpu.fit_many(model, X, y, grid=grid, cv=3)
    monkeypatch.setattr(many, "train_together", one_by_one)
    here = gpu.fit_many(model, X, y, grid=grid, cv=3)
    for rows, others in zip(here.models, there.models, strict=True):
        for one, other in zip(rows, others, strict=True):
            np.testing.assert_array_equal(weights_of(one), weights_of(other))
    np.testing.assert_array_equal(here.results["mean_test_score"], there.results["mean_test_score"])


def test_out_of_memory_is_one_sentence_and_the_model_stays():
    cupy = usable_cupy()
    X, y = whole_numbers()
    model = gpu.Perceptron.textbook(random_state=0).fit(X, y)
    before, pool = weights_of(model).copy(), cupy.get_default_memory_pool()
    pool.free_all_blocks()
    try:
        pool.set_limit(size=1 << 10)
        with pytest.raises(gpu.DeviceError, match="out of memory"):
            model.set_params(threshold=1.0).fit(X.astype(np.float64), y)
    finally:
        pool.set_limit(size=0)
    np.testing.assert_array_equal(weights_of(model), before)


def test_probabilities_lie_on_the_device_and_labels_that_are_words_do_not():
    cupy = usable_cupy()
    X, codes = whole_numbers()
    words = np.array(["ant", "bee", "cat", "dog"])[codes]
    model = gpu.Perceptron.textbook(random_state=0, calibrate="sigmoid").fit(X, words)
    there = cupy.asarray(X)
    probabilities = model.predict_proba(there)
    assert isinstance(probabilities, cupy.ndarray)
    np.testing.assert_allclose(cupy.asnumpy(probabilities), model.predict_proba(X), rtol=1e-4)
    assert type(model.predict(there)) is np.ndarray  # there are no device arrays of strings
    np.testing.assert_array_equal(model.predict(there), model.predict(X))
    numbers = gpu.Perceptron.textbook(random_state=0).fit(there, cupy.asarray(codes))
    assert isinstance(numbers.predict(there), cupy.ndarray)
