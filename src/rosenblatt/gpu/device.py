"""The CUDA device, through CuPy: what may be missing, arrays that lie there, and rows.

Rows are resident if they fit, else streamed while earlier ones are learned from.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, cached_property
from importlib import import_module, resources
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.learners.examples import Examples
from rosenblatt.learners.protocol import Array

INSTALL = "pip install '.[gpu]' in a clone of rosenblatt (or the cupy package of your CUDA version)"
CUDA, CUDA_MANAGED = 2, 13  # DLPack device types
_RESERVED = 256 << 20  # bytes for what libraries allocate themselves
NO_POINTER = np.intp(0)
_WORKSPACE = 32 << 20  # bytes, as NVIDIA advises for Hopper
_STREAMED_BYTES = 256 << 20  # of each of the two buffers for streamed rows, at most
_SHARE_OF_MEMORY = 0.6  # of the free GPU memory that resident rows may take


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


def is_on_cuda(array: Any) -> bool:
    """Whether an array lies on a CUDA device."""
    if not hasattr(array, "__dlpack_device__"):
        return False
    return int(array.__dlpack_device__()[0]) in (CUDA, CUDA_MANAGED)


def device_of(array: Any) -> Any:
    """The current device; an error if the array lies on another one."""
    device, number = current_device(), int(array.__dlpack_device__()[1])
    if number != device.number:
        raise DeviceError(
            f"Data lie on CUDA device {number}, but the current one is {device.number}: move them "
            "there, or make their device the current one."
        )
    return device


def to_host(array: Any) -> Any:
    """A copy in host memory of an array on a CUDA device; other arrays unchanged."""
    if not is_on_cuda(array):
        return array
    device = device_of(array)
    with translated_errors():
        return device.host(device.xp.from_dlpack(array))


def like_input(result: Any, X: Any) -> Any:
    """The result as the kind of array that X is, which lies on a CUDA device (CuPy, torch, JAX)."""
    with translated_errors():
        result = current_device().xp.asarray(result)
    module = sys.modules.get(type(X).__module__.partition(".")[0])
    if module is None or module.__name__ == "cupy" or not hasattr(module, "from_dlpack"):
        return result
    return module.from_dlpack(result)


class Chunk(NamedTuple):
    """Rows on the GPU: those of visits ``first : first + visits``."""

    X: Any
    first: int
    visits: int
    in_order: bool  # whether row i of X is visit first + i; else the order says which row it is


class Resident:
    """Rows that all lie on the GPU."""

    is_resident = True

    def __init__(self, device: Any, X: Any) -> None:
        self.X = device.xp.ascontiguousarray(device.xp.asarray(X))

    def chunks(self, order: Array) -> Iterator[Chunk]:
        """The rows of an order, in one chunk."""
        first, n = int(order[0]), len(order)
        in_order = np.array_equal(order, np.arange(first, first + n, dtype=order.dtype))
        yield Chunk(self.X[first : first + n] if in_order else self.X, 0, n, in_order)


class Streamed:
    """Rows in host memory or in a mapped file, copied to the GPU in chunks.

    While the GPU learns from one chunk, a thread gathers the next into pinned memory, from where it
    is copied in a stream of its own.
    """

    is_resident = False

    def __init__(self, device: Any, X: Array, chunk_bytes: int) -> None:
        self.device, self.X = device, X
        rows = max(1, chunk_bytes // max(1, X.shape[1] * X.itemsize))
        self.size = min(len(X), max(1024, rows // 1024 * 1024))
        shape = (self.size, X.shape[1])
        self._pinned = [device.pinned(shape, X.dtype) for _ in range(2)]
        self._arrays = [device.xp.empty(shape, X.dtype) for _ in range(2)]
        self._copied = [device.event() for _ in range(2)]
        self._learned = [device.event() for _ in range(2)]

    def chunks(self, order: Array) -> Iterator[Chunk]:
        """The rows of an order, chunk by chunk; a chunk is valid until the next one."""
        starts, begun = range(0, len(order), self.size), self.device.event()
        begun.record(self.device.main)  # earlier work may still read the buffers
        self.device.copies.wait_event(begun)
        with ThreadPoolExecutor(1) as pool:
            gathered = pool.submit(self._gather, order[: self.size], 0)
            for number, start in enumerate(starts):
                slot = number % 2
                count = gathered.result()
                with self.device.copies:
                    if number >= 2:
                        self.device.copies.wait_event(self._learned[slot])
                    self.device.put(self._arrays[slot][:count], self._pinned[slot][:count])
                    self._copied[slot].record(self.device.copies)
                following = order[start + self.size : start + 2 * self.size]
                if following.size:
                    if number >= 1:
                        self._copied[1 - slot].synchronize()
                    gathered = pool.submit(self._gather, following, 1 - slot)
                self.device.main.wait_event(self._copied[slot])
                yield Chunk(self._arrays[slot][:count], start, count, True)
                self._learned[slot].record(self.device.main)

    def _gather(self, some: Array, slot: int) -> int:
        np.take(self.X, some.astype(np.intp), axis=0, out=self._pinned[slot][: len(some)])
        return len(some)


def device_rows(device: Any, examples: Examples) -> Resident | Streamed:
    """The dense rows of examples on the GPU: resident if they fit, else streamed."""
    X = examples.rows.X  # type: ignore[union-attr]
    room = int(_SHARE_OF_MEMORY * device.free_bytes())
    if not isinstance(X, np.ndarray) or X.nbytes <= room:
        return Resident(device, X)
    return Streamed(device, X, min(_STREAMED_BYTES, room // 2))
