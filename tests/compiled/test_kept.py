"""A kept kernel is the kernel: same arguments, same machine code, same bits."""

import gc
import threading
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numba import typeof

from rosenblatt.compiled import abi, compiler, jit, machine
from rosenblatt.compiled import kept as kept_module
from rosenblatt.compiled.jit import kernel
from rosenblatt.compiled.runtime import runtime
from rosenblatt.kernels.averages import mean_weights

pytestmark = pytest.mark.skipif(
    not machine.is_supported(), reason="kernels are kept on x86-64 Linux only"
)

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]
scalars = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.booleans(),
    st.sampled_from(DTYPES).map(lambda name: np.dtype(name).type(1)),
)


@st.composite
def arrays(draw):
    dtype = draw(st.sampled_from(DTYPES))
    array = np.zeros(draw(hnp.array_shapes(max_dims=3, min_side=0, max_side=3)), dtype)
    array = draw(st.sampled_from([array, array.T, array[::2], np.asfortranarray(array)]))
    if draw(st.booleans()):
        array.flags.writeable = False
    return array


class Pair(NamedTuple):
    first: object
    second: object


values = st.recursive(
    scalars | arrays(),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map(tuple) | st.builds(Pair, inner, inner)
    ),
)


@given(st.lists(values, max_size=4).map(tuple))
def test_a_value_is_spelled_as_the_type_numba_sees_in_it(arguments):
    seen = ",".join(compiler.spelled_type(typeof(value)) for value in arguments)
    assert abi.spelled(arguments) == f"({seen})"


@given(values, values)
def test_values_of_one_kind_have_one_spelling(one, other):
    assert (abi.kinds((one,)) == abi.kinds((other,))) <= (
        abi.spelled((one,)) == abi.spelled((other,))
    )


@pytest.mark.parametrize(
    "value",
    [2**63, "text", None, [1], 1j, np.zeros(2, ">i4"), np.zeros(9, "u1")[1:].view("f8"),
     np.ma.zeros(2)],
)  # fmt: skip
def test_what_has_no_spelling_is_left_to_numba(value):
    with pytest.raises(abi.Unspeakable):
        abi.spelled((value,))


@kernel
def everything(X, columns, small, flag, pair, rest):
    """Arguments and results of all kinds; not a kernel of the library, so that it is compiled."""
    total = 0.0
    for i in range(X.shape[0]):
        for j in range(columns.size):
            total += X[i, columns[j]]
        X[i, 0] = rest
    made = np.full((2, 3), total).reshape(3, 2)
    return total, small, flag, np.uint8(pair[0] + 1), made, X.dtype.type(pair[1])


@kernel
def nothing(values):
    for i in range(values.size):
        values[i] = np.log(values[i])


@kernel
def halves(n):
    """Two arrays in one block of memory."""
    whole = np.arange(n)
    return whole[: n // 2], whole[n // 2 :]


@kernel
def named(x):
    return Pair(x, x)


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    """The kernels of this file can be edited without the library noticing."""
    monkeypatch.setattr(kept_module, "_folders", lambda: [tmp_path])
    for function in (everything, nothing, halves, named):
        monkeypatch.setattr(function, "name", f"test.{function.__name__}")


def kept(function, arguments):
    """The kernel as another process would find it."""
    compiler.dispatcher_of(function)(*arguments)
    found = kept_module.find(function.name, function.sources, abi.spelled(arguments))
    assert found is not None
    return found


def test_arguments_and_results_of_all_kinds_arrive():
    X = np.arange(24.0, dtype=np.float32).reshape(4, 6)
    columns = np.array([2, 0], np.uint32)
    columns.flags.writeable = False
    others = (columns, np.int8(-3), True, Pair(254, 0.25), np.float32(0.1))
    again = kept(everything, (X.copy()[:, ::2], *others))
    one, other = X.copy()[:, ::2], X.copy()[:, ::2]
    expected = everything.dispatcher(one, *others)
    got = again(other, *others)
    assert got[:4] == expected[:4]
    assert [type(value) for value in got] == [type(value) for value in expected]
    np.testing.assert_array_equal(got[4], expected[4], strict=True)
    assert got[5] == expected[5]
    np.testing.assert_array_equal(one, other, strict=True)


def test_a_kernel_without_a_result_gives_none_and_the_same_bits():
    values = np.random.default_rng(0).random(1000)
    mine, numbas = values.copy(), values.copy()
    again = kept(nothing, (values.copy(),))
    assert again(mine) is None
    nothing.dispatcher(numbas)
    assert mine.tobytes() == numbas.tobytes()


def test_an_array_made_by_a_kernel_lives_as_long_as_its_views():
    found = kept(halves, (2000,))(2000)[1]
    view = found[::2]
    expected = view.copy()
    del found
    gc.collect()
    more = [kept(halves, (2000,))(2000) for _ in range(10)]
    np.testing.assert_array_equal(view, expected)
    del more


def test_arrays_that_share_their_memory_are_given_back_together():
    apart = kept(halves, (1000,))
    for _ in range(100):
        first, second = apart(1000)
        del first
        gc.collect()
        others = [np.full(1000, -1) for _ in range(10)]
        assert second.tolist() == list(range(500, 1000))
        del others, second


def test_a_kernel_that_names_its_results_is_left_to_numba():
    assert compiler.dispatcher_of(named)(1) == (1, 1)
    assert kept_module.find(named.name, named.sources, "(i8)") is None


def test_memory_of_results_is_given_back():
    W = np.zeros((100_000, 1))
    mean = kept(mean_weights, (W, W, 1.0))
    addresses = {mean(W, W, 1.0).ctypes.data for _ in range(200)}
    assert len(addresses) < 20


def test_threads_may_meet_a_kernel_for_the_first_time_together():
    W = np.ones((1000, 1))
    kept(mean_weights, (W, W, 2.0))
    fresh = kernel(mean_weights.py_func)
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(fresh(W, W, 2.0).sum())) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [500.0] * 8


def test_a_kernel_that_is_called_often_goes_through_numba(monkeypatch):
    W = np.ones((10, 1))
    kept(mean_weights, (W, W, 2.0))
    fresh = kernel(mean_weights.py_func)
    monkeypatch.setattr(jit, "_OFTEN", 3)
    by_numba = []
    for _ in range(5):
        assert fresh(W, W, 2.0).sum() == 5.0
        by_numba.append(fresh._dispatcher is not None)
    assert by_numba == [False, False, False, True, True]


def test_code_that_asks_for_more_than_the_c_library_is_foreign():
    with pytest.raises(machine.Foreign, match="not an object"):
        machine.link([b"MZ" * 40], "main")
    with pytest.raises(machine.Foreign, match="no function"):
        machine.link([runtime()], "main")
    with pytest.raises(machine.Foreign, match="symbol"):
        machine.link([_object_calling("PyErr_Clear")], "f")


def _object_calling(name):
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(
        f"declare void @{name}() \n define void @f() {{ call void @{name}() \n ret void }}"
    )
    target = llvm.Target.from_default_triple()
    made_for = target.create_target_machine(reloc="static", codemodel="jitdefault", jit=True)
    return made_for.emit_object(module)
