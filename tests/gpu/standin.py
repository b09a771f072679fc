"""A device without a GPU: arrays are NumPy's, kernels.cu is compiled for the processor."""

import ctypes
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import rosenblatt.gpu

HERE = Path(__file__).parent
SOURCE = Path(rosenblatt.gpu.__file__).parent / "kernels.cu"
COMPILER = shutil.which("g++") or shutil.which("clang++")
KERNELS = (
    "walk", "walk_joint", "apply", "apply_dual", "gather", "gather_gram", "gather_scores",
    "count_mistakes", "row_norms", "vote",
)  # fmt: skip

needs_compiler = pytest.mark.skipif(
    COMPILER is None, reason="needs a C++ compiler (g++) to run the CUDA kernels on the processor"
)


class OnDevice(np.ndarray):
    """An array that says it lies on a CUDA device."""

    number = 0

    def __dlpack_device__(self):
        return 2, self.number


def on_device(array):
    return np.array(array, order="C").view(OnDevice)


class Arrays:
    """NumPy as a device's array module: what comes from a device array stays one."""

    def __getattr__(self, name):
        return getattr(np, name)

    @staticmethod
    def from_dlpack(array):
        return array

    @staticmethod
    def asarray(array, dtype=None):
        return np.asarray(array, dtype).view(OnDevice)

    @staticmethod
    def ascontiguousarray(array, dtype=None):
        return np.asanyarray(array, dtype, order="C")


class Stream:
    def __enter__(self):
        return self

    def __exit__(self, *failure):
        pass

    def wait_event(self, event):
        pass


class Event:
    def record(self, stream):
        pass

    def synchronize(self):
        pass


@cache
def library(score, data, block_rows):
    """kernels.cu compiled with the emulator."""
    names = {"f": "float", "d": "double"}
    folder = Path(tempfile.mkdtemp())
    source = folder / "kernels.cpp"
    source.write_text(
        f'#include "{HERE / "emulator.h"}"\n#define SCORE {names[score]}\n'
        f"#define DATA {names[data]}\n#define ROWS {-(-block_rows // 32)}\n"
        f'#include "{SOURCE}"\n' + "\n".join(f"EMULATED({name})" for name in KERNELS)
    )
    target = folder / "kernels.so"
    command = [COMPILER, "-std=c++17", "-O1", "-shared", "-fPIC", "-w", "-ffp-contract=off"]
    # The emulator jumps from stack to stack, which fortified libraries take for an error.
    subprocess.run([*command, "-U_FORTIFY_SOURCE", "-o", target, source], check=True)
    loaded = ctypes.CDLL(str(target))
    shutil.rmtree(folder)
    return loaded


class StandIn:
    """The interface of :class:`rosenblatt.gpu.device.Cuda` on the processor."""

    xp, captures, number = Arrays(), False, 0
    memory = 1 << 40

    def __init__(self):
        self.main = self.ahead = self.copies = Stream()
        self.after_caller = Stream
        self.launched = []

    def launch(self, name, types, block_rows, grid, threads, arguments):
        self.launched.append(name)
        score, data = (np.dtype(t).char for t in types)
        kept, pointers = [], []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                argument = np.intp(argument.ctypes.data)
            value = np.array(argument)
            kept.append(value)
            pointers.append(value.ctypes.data)
        shape = np.array([*grid, *threads], np.int32)
        call = getattr(library(score, data, block_rows), f"launch_{name}")
        call(ctypes.c_void_p(shape.ctypes.data), (ctypes.c_void_p * len(pointers))(*pointers))

    def product(self, A, B, out, tf32=False):
        assert A.flags.c_contiguous
        assert B.flags.c_contiguous
        if tf32:  # as tensor cores see them: the last 13 of 23 bits are cut
            A, B = (M.view(np.uint32) & np.uint32(0xFFFFE000) for M in (A, B))
            A, B = A.view(np.float32), B.view(np.float32)
        out[...] = A @ B.T

    def event(self):
        return Event()

    def put(self, array, values):
        array[...] = values

    def host(self, array):
        return np.array(array).view(np.ndarray)

    def pinned(self, shape, dtype):
        return np.empty(shape, dtype)

    def free_bytes(self):
        return self.memory
