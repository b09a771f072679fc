"""What a kernel is given arrives, what it answers comes back, and its code is kept safely."""

import itertools
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import rosenblatt
from rosenblatt.kernels import jit
from rosenblatt.kernels.jit import (
    REORDER,
    by_layout,
    compile_seconds,
    inlined,
    kernel,
    prefetch,
    types_of,
)

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]


class Pair(NamedTuple):
    first: object
    second: object


class Whole(NamedTuple):
    values: object


class Halves(NamedTuple):
    low: object
    high: object


@kernel
def echo(value):
    return value


@kernel
def described(array):
    """The shape of an array, its last element, and how many elements were seen."""
    seen = 0
    last = array.flat[0] if array.size else array.dtype.type(0)
    for value in array.flat:
        last = value
        seen += 1
    return array.ndim, array.shape[0], array.shape[-1], seen, last


@kernel
def unpacked(pair, rest):
    values, number = rest
    for i in range(values.size):
        values[i] = pair.first[i] * number
    return pair.second, number


@kernel
def logarithms(values):
    for i in range(values.size):
        values[i] = np.log(values[i])


@kernel
def results_of_all_kinds(x):
    return np.int8(-x), np.uint64(0) - np.uint64(x), np.float32(0.1), x > 1, x / 2.0, 7


@kernel
def only_one_in_a_tuple(x):
    return (x,)


@kernel(fastmath=REORDER)
def reordered(a, b):
    s = 0.0
    for i in range(a.size):
        s += a[i] * b[i]
    return s, s <= 1.0


@kernel
def whole_total(rows, scale):
    s = 0.0
    for i in range(rows.values.size):
        s += rows.values[i]
    return s * scale


@kernel
def halves_total(rows, scale):
    s = 0.0
    for i in range(rows.low.size):
        s += rows.low[i] + rows.high[i]
    return s * scale


total = by_layout("total", Whole=whole_total, Halves=halves_total)


@inlined
def twice(x):
    return 2 * x


@kernel
def twice_the_total(rows):
    return twice(total(rows, 0.5))


@kernel
def take_long(steps, values):
    x = values[0]
    for i in range(steps):
        prefetch(values, 0)
        x = x * 6364136223846793005 + i
    return x


@pytest.mark.parametrize("dtype", DTYPES)
@given(st.data())
def test_a_number_comes_back_as_it_was_given(dtype, data):
    value = np.dtype(dtype).type(data.draw(hnp.from_dtype(np.dtype(dtype), allow_nan=False)))
    answer = echo(value)
    assert answer == value
    assert type(answer) is type(value.item())


@pytest.mark.parametrize("value", [True, False, -(2**63), 2**63 - 1, 0.1, float("-inf")])
def test_a_number_of_python_comes_back_as_it_was_given(value):
    assert echo(value) == value
    assert type(echo(value)) is type(value)


@pytest.mark.parametrize("dtype", DTYPES)
@given(st.data())
def test_an_array_is_seen_whole(dtype, data):
    most = 3 if dtype in ("f4", "u8") else 1
    shape = data.draw(hnp.array_shapes(min_dims=most, max_dims=most, min_side=0, max_side=3))
    elements = hnp.from_dtype(np.dtype(dtype), allow_nan=False)
    array = data.draw(hnp.arrays(dtype, shape, elements=elements))
    array.flags.writeable = data.draw(st.booleans())
    last = array.flat[-1] if array.size else 0
    assert described(array) == (array.ndim, shape[0], shape[-1], array.size, last)


scalars = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.booleans(),
    st.sampled_from(DTYPES).map(lambda name: np.dtype(name).type(1)),
)
arrays = st.sampled_from(DTYPES).flatmap(
    lambda dtype: hnp.array_shapes(max_dims=3, min_side=0, max_side=2).map(
        lambda shape: np.zeros(shape, dtype)
    )
)
values = scalars | arrays
arguments = st.one_of(
    values, st.lists(values, max_size=3).map(tuple), st.builds(Pair, values, values)
)


@given(st.lists(arguments, max_size=4).map(tuple), st.lists(arguments, max_size=4).map(tuple))
def test_arguments_share_machine_code_just_where_numba_sees_the_same_types(some, others):
    from numba import typeof

    for one, other in [(some, others), *itertools.product(some, others)]:
        same = types_of((one,), []) == types_of((other,), [])
        assert same == (typeof(one) == typeof(other))


@pytest.mark.parametrize(
    "value",
    ["text", None, [1], 1j, np.zeros(2, ">i4"), np.zeros(9, "u1")[1:].view("f8"), np.zeros(4)[::2],
     np.zeros((2, 3)).T, np.zeros((1, 1, 1, 1)), np.zeros(()), np.zeros(2, "f2"), np.zeros(2, "O")],
    ids=str,
)  # fmt: skip
def test_other_arguments_are_refused(value):
    with pytest.raises(TypeError, match="kernel"):
        echo(value)


def test_tuples_are_put_together_again():
    out = np.zeros(3)
    assert unpacked(Pair(np.arange(3), True), (out, 0.5)) == (True, 0.5)
    assert out.tolist() == [0.0, 0.5, 1.0]


def test_results_have_their_types():
    answers = results_of_all_kinds(2)
    assert answers == (-2, 2**64 - 2, float(np.float32(0.1)), True, 1.0, 7)
    assert [type(answer) for answer in answers] == [int, int, float, bool, float, int]
    assert only_one_in_a_tuple(0.5) == (0.5,)


def test_a_kernel_without_a_result_gives_none():
    x = np.linspace(1, 2, 100)
    y = x.copy()
    assert logarithms(y) is None
    np.testing.assert_allclose(y, np.log(x), rtol=1e-15)


def test_reordered_sums_respect_nan():
    assert reordered(np.array([1.0, np.nan]), np.ones(2))[1] is False
    assert reordered(np.arange(10.0), np.ones(10)) == (45.0, False)


def test_the_layout_chooses_in_python_and_in_kernels():
    whole, halves = Whole(np.arange(4.0)), Halves(np.arange(2.0), np.arange(2.0) + 2)
    assert total(whole, 0.5) == total(halves, 0.5) == 3.0
    assert twice_the_total(whole) == twice_the_total(halves) == 6.0
    with pytest.raises(KeyError):
        total(Pair(1, 2), 0.5)


def test_a_function_stays_what_it_is_for_python():
    assert twice(21) == 42
    assert inlined(twice) is twice
    assert twice.__module__ == __name__


@kernel
def allocates(n):
    return np.ones(n)[0]


@kernel
def raises(n):
    if n < 0:
        raise ValueError("negative")
    return n


@pytest.mark.parametrize("broken", [allocates, raises])
def test_a_kernel_that_allocates_or_raises_does_not_compile(broken):
    with pytest.raises(TypeError, match=f"{broken.__name__} allocates, raises"):
        broken(3)


def test_other_threads_go_on_while_a_kernel_runs():
    values, found = np.ones(1, np.int64), []
    take_long(1, values)
    thread = threading.Thread(target=lambda: found.append(take_long(2 * 10**8, values)))
    thread.start()
    assert thread.is_alive()
    assert not found
    thread.join()
    assert len(found) == 1


def test_threads_may_meet_a_kernel_for_the_first_time_together():
    before = compile_seconds()
    fresh, found = kernel(whole_total.py_func), []
    rows = Whole(np.ones(1000, np.float32))
    threads = [threading.Thread(target=lambda: found.append(fresh(rows, 2))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [2000.0] * 8
    assert compile_seconds() >= before


PROBE = """
import math
from rosenblatt import rules
from rosenblatt.kernels.jit import inlined, kernel
power = inlined(rules.power)

@kernel
def probe(x):
    return math.log2(power(2.0)) * x[0]
"""
CALL = """
import sys
import numpy as np
from rosenblatt.kernels.probe import probe
print(probe(np.ones(1)), "numba" in sys.modules)
"""


class Machine:
    """A package of its own with one kernel, a cache folder, and processes that use them."""

    def __init__(self, folder):
        self.folder, self.cache = folder, folder / "cache"
        self.package = folder / "rosenblatt"
        for name in ["kernels", "rules"]:
            (self.package / name).mkdir(parents=True)
        source = Path(rosenblatt.__file__).parent
        for name in ["errors", "atomic_files", "kernels/jit", "kernels/compiler"]:
            (self.package / f"{name}.py").write_bytes((source / f"{name}.py").read_bytes())
        for name in ["__init__.py", "kernels/__init__.py"]:
            (self.package / name).touch()
        (self.package / "rules/__init__.py").write_text("def power(x): return x")
        (self.package / "kernels/probe.py").write_text(PROBE)

    def start(self, program=CALL, **settings):
        own = {"PYTHONPATH": str(self.folder), "ROSENBLATT_CACHE_DIR": str(self.cache)}
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "ROSENBLATT_"))}
        return subprocess.Popen(
            [sys.executable, "-c", program], env={**kept, **own, **settings}, cwd=self.folder,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def run(self, program=CALL, **settings):
        """What the kernel computed, and whether it was compiled for that."""
        answer, error = self.start(program, **settings).communicate()
        assert answer, error
        self.said = error
        number, compiled = answer.split()
        return float(number), compiled == "True"

    def kept(self):
        (file,) = self.cache.glob("kernels-*/probe-*")
        return file


@pytest.fixture
def cold(tmp_path):
    return Machine(tmp_path)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The cache of a machine on which the kernel was run once, and what that said."""
    machine = Machine(tmp_path_factory.mktemp("compiled"))
    assert machine.run() == (1.0, True)
    return machine.kept(), machine.said


@pytest.fixture
def warm(cold, compiled):
    (cold.cache / compiled[0].parent.name).mkdir(parents=True, mode=0o700)
    copy = cold.cache / compiled[0].parent.name / compiled[0].name
    copy.write_bytes(compiled[0].read_bytes())
    copy.chmod(0o600)
    return cold


def test_a_second_process_needs_no_compiler_unless_a_rule_was_edited(warm, compiled):
    assert compiled[1].startswith("rosenblatt: compiling, once on this machine (all at once: ")
    assert warm.run() == (1.0, False)
    assert warm.said == ""
    (warm.package / "rules/__init__.py").write_text("def power(x): return x * x * x")
    assert warm.run(ROSENBLATT_QUIET="1") == (3.0, True)
    assert warm.said == ""


def test_the_message_can_be_replaced(cold):
    hook = "from rosenblatt.kernels import jit\njit.on_compile(lambda name: sys.stderr.write(name))"
    assert cold.run(CALL.replace("import numpy", f"{hook}\nimport numpy")) == (1.0, True)
    assert cold.said == "probe"


@pytest.mark.parametrize("damage", ["cut short", "a bit flipped", "nonsense", "empty"])
def test_a_damaged_file_is_compiled_again_and_mended(warm, damage):
    whole = warm.kept().read_bytes()
    flipped = bytearray(whole)
    flipped[-9] ^= 4
    content = {"cut short": whole[:-100], "a bit flipped": bytes(flipped), "empty": b""}
    warm.kept().write_bytes(content.get(damage, b"\x90" * len(whole)))
    assert warm.run() == (1.0, True)
    assert warm.kept().read_bytes() == whole


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
@pytest.mark.parametrize("mode", [0o020, 0o002])
@pytest.mark.parametrize("place", ["the folder", "the file"])
def test_machine_code_is_not_taken_from_where_others_may_write(warm, place, mode):
    path = warm.kept() if place == "the file" else warm.kept().parent
    path.chmod(path.stat().st_mode | mode)
    assert warm.run() == (1.0, True)
    assert ("others may write in" in warm.said) == (place == "the folder")


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away"
)
@pytest.mark.parametrize("place", ["the folder", "the file"])
def test_machine_code_is_not_taken_from_another_user(warm, place):
    os.chown(warm.kept() if place == "the file" else warm.kept().parent, 12345, 12345)
    assert warm.run() == (1.0, True)


def test_a_cache_folder_that_cannot_be_made_costs_time_and_no_error(cold):
    cold.cache.write_text("not a folder")
    assert cold.run() == (1.0, True)
    assert "compiling, in every process" in cold.said
    assert cold.cache.read_text() == "not a folder"


def test_kernels_are_kept_in_the_users_cache_folder(cold):
    settings = {"ROSENBLATT_CACHE_DIR": "", "XDG_CACHE_HOME": "", "HOME": str(cold.folder)}
    assert cold.run(**settings) == (1.0, True)
    assert cold.run(**settings) == (1.0, False)
    (folder,) = cold.folder.glob(".cache/rosenblatt/kernels-*")
    assert folder.stat().st_mode & 0o777 == 0o755
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o644}


def test_a_relative_path_is_no_cache_folder(cold):
    """An archive may bring such a folder along, and whoever unpacks it owns its files."""
    before = sorted(cold.folder.rglob("*"))
    assert cold.run(ROSENBLATT_CACHE_DIR="here", PYTHONDONTWRITEBYTECODE="1") == (1.0, True)
    assert sorted(cold.folder.rglob("*")) == before


def test_only_the_newest_folders_are_kept(cold):
    for age in range(5):
        old = cold.cache / f"kernels-{age}"
        old.mkdir(parents=True)
        os.utime(old, (1e9 - age, 1e9 - age))
    assert cold.run() == (1.0, True)
    assert sorted(cold.cache.glob("kernels-?")) == [cold.cache / f"kernels-{i}" for i in range(2)]
    assert cold.run() == (1.0, False)


HOSTILE = """
import os, pathlib, pickle, sys
class Code:
    def __reduce__(self):
        return pathlib.Path.touch, (pathlib.Path("PWNED"),)
bomb = pickle.dumps(Code())
for module, name in [("probe", "probe"), ("compiler", "entry"), ("jit", "entry")]:
    for folder in ("numba_cache", "numba_cache/kernels_", "__pycache__"):
        os.makedirs(folder, exist_ok=True)
        for end in (".nbi", ".1.nbc"):
            (pathlib.Path(folder) / f"{module}.{name}-1.py311{end}").write_bytes(bomb)
"""


def test_a_hostile_working_folder_has_no_say(cold):
    """Numba reads its settings, and would unpickle its cache, from there."""
    (cold.folder / ".numba_config.yaml").write_text(
        "cache_dir: numba_cache\ndisable_jit: 1\nopt: 0\n"
    )
    subprocess.run([sys.executable, "-c", HOSTILE], cwd=cold.folder, check=True)
    before = {path.name for path in cold.folder.iterdir()}
    assert cold.run(NUMBA_CACHE_DIR=str(cold.folder / "numba_cache")) == (1.0, True)
    assert {path.name for path in cold.folder.iterdir()} == before | {"cache"}
    assert ".numba_config.yaml in this folder is ignored" in cold.said
    assert "Numba config file" not in cold.said
    program = CALL + "import numba; assert not numba.config.DISABLE_JIT\n"
    program += "import yaml; assert yaml.safe_load('1') == 1\n"
    shutil.rmtree(cold.cache)
    assert cold.run(program) == (1.0, True)


def test_no_kernel_is_compiled_with_the_cache_of_pickles():
    """So no pickle is read, wherever Numba's cache may be."""
    source = Path(rosenblatt.__file__).parent
    for path in source.rglob("*.py"):
        assert "cache=True" not in path.read_text("utf-8"), path


def test_a_setting_of_numba_for_other_code_is_no_obstacle(cold):
    (cold.package / "kernels/probe.py").write_text(
        PROBE.replace("return", "x = x[:1]\n    return")  # a slice, for which Numba counts owners
    )
    assert cold.run(NUMBA_OPT="0") == (1.0, True)


def test_processes_that_compile_at_once_do_not_disturb_each_other(cold):
    processes = [cold.start() for _ in range(3)]
    assert [process.communicate()[0].split()[0] for process in processes] == ["1.0"] * 3
    assert cold.run() == (1.0, False)


def test_an_argument_of_another_process_finds_no_kernel_of_another_spelling(warm):
    program = CALL.replace("np.ones(1)", "np.ones(1, np.float32)")
    assert warm.run(program) == (1.0, True)
    assert len(list(warm.cache.glob("kernels-*/probe-*"))) == 2


def test_a_kernel_that_was_not_declared_in_a_file_is_not_kept():
    names = {"kernel": kernel}
    exec("@kernel\ndef nowhere(x): return x + 1", names)
    assert names["nowhere"](1) == 2
    assert jit._cache_path(names["nowhere"].py_func, "i8") is None


@kernel
def upper_half(number):
    return number >> np.uint64(1)


def test_the_largest_unsigned_numbers_are_passed_whole():
    assert upper_half(np.uint64(2**64 - 1)) == 2**63 - 1
