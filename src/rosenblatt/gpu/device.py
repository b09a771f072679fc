"""The CUDA device, through CuPy, with a message for each way in which it may be missing."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from importlib import import_module, resources
from typing import Any

import numpy as np

INSTALL = "pip install '.[gpu]' in a clone of rosenblatt (or the cupy package of your CUDA version)"
CUDA, CUDA_MANAGED = 2, 13  # DLPack device types
_RESERVED = 256 << 20  # bytes for what libraries allocate themselves
NO_POINTER = np.intp(0)
_WORKSPACE = 32 << 20  # bytes, as NVIDIA advises for Hopper


class DeviceError(RuntimeError):
    """The CUDA device cannot be used; the message says what to install or change."""


@cache
def _cupy() -> Any:
    try:
        return import_module("cupy")
    except ModuleNotFoundError as error:
        if error.name != "cupy":
            raise DeviceError(
                f"CuPy cannot be loaded, as {error.name} is missing: {INSTALL}."
            ) from error
        raise DeviceError(f"The GPU needs CuPy: {INSTALL}.") from error
    except ImportError as error:
        raise DeviceError(
            f"CuPy does not fit this machine ({_first_line(error)}): install the build for the "
            "CUDA version that nvidia-smi shows, cupy-cuda12x or cupy-cuda13x."
        ) from error


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip(" =")]
    return (lines[0] if lines else type(error).__name__).rstrip(".")


def usable_cupy() -> Any:
    """CuPy, if it is installed and finds a device; else a DeviceError says what to do."""
    cupy = _cupy()
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:
        raise _translate(error) from error
    if count == 0:
        raise DeviceError("No CUDA device is visible: check nvidia-smi and CUDA_VISIBLE_DEVICES.")
    return cupy


def is_usable() -> bool:
    """Whether there are a CUDA device and a CuPy that can use it."""
    try:
        usable_cupy()
    except DeviceError:
        return False
    return True


def _translate(error: BaseException) -> DeviceError:
    """The DeviceError for an error of CUDA or CuPy."""
    text, kind = str(error), type(error).__name__
    if kind == "OutOfMemoryError" or "cudaErrorMemoryAllocation" in text or "out of memory" in text:
        return DeviceError(
            "The CUDA device is out of memory: free what other programs hold there, train on fewer "
            "rows or models at a time, or train on the processor."
        )
    if "InsufficientDriver" in text:
        return DeviceError(
            "No NVIDIA driver, or one older than this CuPy needs: install a newer driver, or the "
            "CuPy build for the CUDA version that nvidia-smi shows."
        )
    if "NoDevice" in text or "InvalidDevice" in text:
        return DeviceError("No CUDA device is visible: check nvidia-smi and CUDA_VISIBLE_DEVICES.")
    if kind in ("ImportError", "CompileException") or "NVRTC" in text or "Failure finding" in text:
        return DeviceError(
            f"CuPy lacks a CUDA library ({_first_line(error)}): install it with its toolkit, "
            "pip install 'cupy-cuda13x[ctk]' or 'cupy-cuda12x[ctk]'."
        )
    return DeviceError(f"The CUDA device failed ({_first_line(error)}): see nvidia-smi.")


@contextmanager
def translated_errors() -> Iterator[None]:
    """Turn errors of CUDA and CuPy into a DeviceError of one sentence."""
    try:
        yield
    except DeviceError:
        raise
    except Exception as error:
        home = type(error).__module__.partition(".")[0]
        lacking = isinstance(error, ImportError) and "Failure finding" in str(error)
        if home in ("cupy", "cupy_backends") or lacking:
            raise _translate(error) from error
        raise


class Cublas:
    """Matrix products of cuBLAS, called directly: CuPy refuses them while a graph is captured."""

    def __init__(self, cupy: Any) -> None:
        cupy.cuda.cublas.getVersion(cupy.cuda.device.get_cublas_handle())  # loads the library
        major = cupy.cuda.runtime.runtimeGetVersion() // 1000
        name = f"cublas64_{major}.dll" if sys.platform == "win32" else f"libcublas.so.{major}"
        library = ctypes.CDLL(name)
        pointer, number = ctypes.c_void_p, ctypes.c_int
        self._handle, self._stream = pointer(), -1
        self._check(library.cublasCreate_v2(ctypes.byref(self._handle)))
        self._set_stream = library.cublasSetStream_v2
        self._set_stream.argtypes = [pointer, pointer]
        self._gemm = library.cublasGemmEx
        self._gemm.argtypes = [
            pointer, number, number, number, number, number, pointer, pointer, number, number,
            pointer, number, number, pointer, pointer, number, number, number, number,
        ]  # fmt: skip
        # One workspace per stream: products of two streams run at the same time.
        self._workspaces: dict[int, Any] = {}
        self._set_workspace = library.cublasSetWorkspace_v2
        self._set_workspace.argtypes = [pointer, pointer, ctypes.c_size_t]
        self._cupy = cupy

    def gemm(self, stream: int, m: int, n: int, k: int, *rest: Any) -> None:
        """``C = α·A'·B + β·C`` of column-major matrices in a stream."""
        if stream != self._stream:
            if stream not in self._workspaces:
                self._workspaces[stream] = self._cupy.empty(_WORKSPACE, np.uint8)
            memory = self._workspaces[stream].data.ptr
            self._check(self._set_stream(self._handle, stream))
            self._check(self._set_workspace(self._handle, memory, _WORKSPACE))
            self._stream = stream
        self._check(self._gemm(self._handle, 1, 0, m, n, k, *rest, -1))

    @staticmethod
    def _check(status: int) -> None:
        if status:
            raise DeviceError(
                f"A matrix product on the CUDA device failed (cuBLAS status {status})."
            )


class Cuda:
    """A CUDA device: arrays, products, kernels and streams.

    Kernels are compiled per type of scores, type of rows and size of a block. Work that does not
    depend on weights runs ahead of the `main` stream in the stream `ahead`.
    """

    captures = True  # whether launches can be captured as a graph

    def __init__(self) -> None:
        self.xp = usable_cupy()
        with translated_errors():
            self.number = int(self.xp.cuda.Device().id)
            self.main = self.xp.cuda.Stream(non_blocking=True)
            self.ahead = self.xp.cuda.Stream(non_blocking=True)
            self.copies = self.xp.cuda.Stream(non_blocking=True)
        self._functions: dict[tuple[Any, ...], Any] = {}
        self._numbers = {
            (kind, value): np.array(value, kind) for kind in "fd" for value in (0.0, 1.0)
        }

    @contextmanager
    def after_caller(self) -> Iterator[None]:
        """Use the main stream, after the work queued in the caller's stream and before later work.

        Streams do not wait for each other by themselves: data that the caller's stream is still
        computing or copying would be read too early.
        """
        caller = self.xp.cuda.get_current_stream()
        self.main.wait_event(caller.record())
        with self.main:
            yield
        caller.wait_event(self.main.record())

    @cached_property
    def _source(self) -> str:
        return resources.files("rosenblatt.gpu").joinpath("kernels.cu").read_text("utf-8")

    def launch(
        self, name: str, types: tuple[Any, Any], block_rows: int, grid: tuple[int, int],
        threads: tuple[int, int], arguments: tuple[Any, ...],
    ) -> None:  # fmt: skip
        """Launch a kernel in the current stream."""
        key = (name, *types, block_rows)
        if key not in self._functions:
            self._functions[key] = self._compiled(types, block_rows).get_function(name)
        self._functions[key](grid, threads, arguments)

    def _compiled(self, types: tuple[Any, Any], block_rows: int) -> Any:
        key = (*types, block_rows)
        if key not in self._functions:
            score, data = ({"f": "float", "d": "double"}[np.dtype(t).char] for t in types)
            self._functions[key] = self.xp.RawModule(
                code=self._source,
                options=(
                    f"-DSCORE={score}", f"-DDATA={data}", f"-DROWS={-(-block_rows // 32)}",
                    "-std=c++17",
                ),
            )  # fmt: skip
        return self._functions[key]

    def product(self, A: Any, B: Any, out: Any, tf32: bool = False) -> None:
        """``out = A·B'`` for C-contiguous A (m, k) and B (n, k); rows of `out` may be longer.

        In the precision of the arrays; `tf32` rounds single-precision entries to 10 bits first.
        """
        char, width = A.dtype.char, out.strides[0] // out.itemsize
        kind = {"f": 0, "d": 1}[char]  # CUDA_R_32F, CUDA_R_64F
        compute = 77 if tf32 else {"f": 68, "d": 70}[char]  # CUBLAS_COMPUTE_32F_FAST_TF32, 32F, 64F
        one, zero = self._numbers[char, 1.0], self._numbers[char, 0.0]
        self._cublas.gemm(
            self.xp.cuda.get_current_stream().ptr, B.shape[0], A.shape[0], A.shape[1],
            one.ctypes.data, B.data.ptr, kind, B.shape[1], A.data.ptr, kind, A.shape[1],
            zero.ctypes.data, out.data.ptr, kind, width, compute,
        )  # fmt: skip

    @cached_property
    def _cublas(self) -> Cublas:
        return Cublas(self.xp)

    def event(self) -> Any:
        """An event that one stream records and another waits for."""
        return self.xp.cuda.Event(disable_timing=True)

    def put(self, array: Any, values: np.ndarray) -> None:
        """Copy values to an array on the GPU; asynchronously if they lie in pinned memory."""
        array.set(values)

    def host(self, array: Any) -> np.ndarray:
        """A copy in host memory."""
        return np.asarray(self.xp.asnumpy(array))

    def pinned(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """An array in pinned host memory, which can be copied asynchronously."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        memory = self.xp.cuda.alloc_pinned_memory(max(1, size))
        return np.frombuffer(memory, dtype, int(np.prod(shape))).reshape(shape)

    def free_bytes(self) -> int:
        """The GPU memory that is left for new arrays."""
        free = int(self.xp.cuda.Device().mem_info[0])
        return max(0, free + self.xp.get_default_memory_pool().free_bytes() - _RESERVED)

    def captured(self, launches: Any) -> Any:
        """The graph of what a function launches in the main stream and in streams that join it."""
        with self.main:
            self.main.begin_capture()
            try:
                launches()
            except BaseException:
                self.main.end_capture()
                raise
            return self.main.end_capture()


_devices: dict[int, Cuda] = {}


def current_device() -> Cuda:
    """CuPy's current CUDA device."""
    cupy = usable_cupy()
    number = int(cupy.cuda.Device().id)
    if number not in _devices:
        _devices[number] = Cuda()
    return _devices[number]
