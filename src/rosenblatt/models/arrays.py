"""Arrays of files: compression, rounding of weights, states of learners, and checks of them all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from rosenblatt.kernels.family_cells import BOOK
from rosenblatt.learners.weights import State
from rosenblatt.models.tensorfile import reporting_damage

Array = npt.NDArray[Any]
Arrays = dict[str, Array]
Shape = tuple[int, ...]

PRECISIONS = ("float32", "float16", "int8")
# The most bytes that one byte of a file stands for: limits what a small file can allocate.
_MOST_PER_BYTE = 1024
_PADDING = bytes.fromhex("502a4d18")  # starts a frame that zstd skips
_STATE, _OF_FAMILY = ("weights", "bias", "sums", "bias_sums", "clock"), ("cells", "book")


def compressed(array: Array) -> Array:
    """The bytes of an array, compressed by zstd.

    >>> len(compressed(np.zeros(1_000_000)))
    7812
    """
    import pyarrow as pa

    raw = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    coded = pa.compress(raw.reshape(-1).view(np.uint8), codec="zstd", asbytes=True)
    missing = raw.nbytes // _MOST_PER_BYTE - len(coded) - 8
    if missing > 0:
        coded += _PADDING + missing.to_bytes(4, "little") + bytes(missing)
    return np.frombuffer(coded, np.uint8)


def decompressed(name: str, coded: Array, kind: Any, shape: Shape) -> Array:
    """The inverse of :func:`compressed`; raises ValueError unless this array was compressed."""
    import pyarrow as pa

    check_size(name, coded, kind, shape)
    size = math.prod(shape) * np.dtype(kind).itemsize
    try:
        raw = pa.decompress(coded, size, codec="zstd") if size else b""
    except OSError as error:
        raise ValueError(f"{name} is not compressed {np.dtype(kind)}{shape}: {error}") from None
    array: Array = np.frombuffer(raw, np.dtype(kind).newbyteorder("<")).reshape(shape)
    expect(name, array, kind, shape)
    return array


def check_size(name: str, coded: Array, kind: Any, shape: Shape) -> None:
    """Raise ValueError if so few bytes cannot be a compressed array of this type and shape."""
    expect(name, coded, np.uint8, (coded.size,))
    if math.prod(shape) * np.dtype(kind).itemsize >= _MOST_PER_BYTE * (coded.size + 9):
        raise ValueError(f"{name} of shape {shape} cannot be in so small a file")


def expect(name: str, array: Array, kind: Any, shape: Shape) -> None:
    """Raise ValueError unless an array has this type and shape, and only finite numbers."""
    if not np.issubdtype(array.dtype, kind) or array.shape != shape:
        kind = getattr(kind, "__name__", kind)
        raise ValueError(f"{name} is {array.dtype}{array.shape}, not {kind}{shape}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{name} holds numbers that are not finite")


def check_columns(columns: Array, bits: int) -> None:
    """Raise ValueError unless these are distinct hashed columns, below ``2**bits``."""
    expect("columns", columns, np.uint32, (columns.size,))
    ordered = np.sort(columns)
    if np.any(ordered[1:] == ordered[:-1]) or (len(ordered) and int(ordered[-1]) >> bits):
        raise ValueError("the columns do not fit the feature specification")


class CompressedState(Mapping[str, Array]):
    """The state of a model, decompressed on access.

    Prediction needs no state, which takes three times the memory of the weights.
    """

    def __init__(self, arrays: Arrays, n: int, problems: int) -> None:
        shapes: dict[str, tuple[Any, Shape]] = {
            "W": (np.float32, (n, problems)),
            "U": (np.float64, (n, problems)),
            "bias": (np.float64, (3, problems)),
            "clock": (np.float64, (1,)),
            "scale": (np.float32, (n,)),
        }
        names = [name.split(".")[1] for name in arrays if name.startswith("state.")]
        self._arrays = {name: (arrays[f"state.{name}"], *shapes[name]) for name in names}
        for name, (coded, kind, shape) in self._arrays.items():
            check_size(f"state.{name}", coded, kind, shape)

    def __getitem__(self, name: str) -> Array:
        coded, kind, shape = self._arrays[name]
        with reporting_damage("the state of the model"):
            return decompressed(f"state.{name}", coded, kind, shape)

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)


def scaled(weights: Array, precision: str) -> tuple[Array, Array]:
    """Weights in float16 or int8, and the largest absolute weight s of each problem.

    A float16 v stands for v·s, an int8 q for ± s·(q/127)², which is finer for small weights.

    >>> scaled(np.array([[4.0], [-1.0]], np.float32), "int8")[0].ravel().tolist()
    [127, -64]
    """
    scale = np.abs(weights).max(axis=0, initial=0.0).astype(np.float32)
    unit = weights / np.where(scale > 0, scale, 1.0)
    if precision == "int8":
        return np.rint(127 * np.sign(unit) * np.sqrt(np.abs(unit))).astype(np.int8), scale
    return unit.astype(np.float16), scale


def unscaled(numbers: Array, scale: Array) -> Array:
    """The inverse of :func:`scaled`, in float32; raises ValueError if it is not finite."""
    unit = numbers.astype(np.float32)
    if numbers.dtype == np.int8:
        unit /= np.float32(127)
        unit *= np.abs(unit)
    weights: Array = unit * scale
    expect("weights", weights, np.float32, numbers.shape)
    return weights


def rounded(weights: Array, precision: str) -> Array:
    """The weights, rounded as in a file of this precision."""
    return weights if precision == "float32" else unscaled(*scaled(weights, precision))


def state_arrays(state: State, prefix: str) -> Arrays:
    """The state of a linear learner as arrays of a file."""
    names = (*_STATE, *(_OF_FAMILY if state.book.size else ()))
    return {prefix + name: getattr(state, name) for name in names}


def state_from(arrays: Arrays, prefix: str, problems: int, full: bool = False) -> State:
    """The inverse of :func:`state_arrays`; raises ValueError if shapes do not fit.

    With `full`, members of the family may have a full covariance matrix.
    """
    own = _OF_FAMILY if f"{prefix}book" in arrays else ()
    found: dict[str, Any] = {name: arrays[prefix + name] for name in (*_STATE, *own)}
    sums, shape = found["sums"], (problems, found["weights"].shape[1])
    averages = sums.size > 0 or sums.shape == shape
    wanted: dict[str, Any] = {
        "weights": shape, "sums": shape if averages else (0, 0), "book": (BOOK, problems)
    }  # fmt: skip
    if own:
        n, depth = found["cells"].shape[1:]
        wanted["cells"] = (problems, n, depth)
        if found["cells"].size and not shape[1] <= n <= shape[1] + full:
            raise ValueError(f"cells is {found['cells'].shape}, for {shape[1]} features")
    for name, array in found.items():
        expect(name, array, np.floating, wanted.get(name, (problems,)))
    return State(**found)
