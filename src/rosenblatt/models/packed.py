"""Compact arrays of model files.

Each array `name` becomes one or several arrays of the file, whichever are smallest:

- ``name``: unchanged;
- ``name.mask`` and ``name.values``: a bit mask of the entries that differ from a base, and those
  entries. The base is zero, or another array of the model;
- ``name.places`` and ``name.values``: the same with the indices of the entries that differ;
- ``name.codes`` and ``name.table``: indices of two bytes into a table of distinct values;
- ``columns.bits``: sorted columns as a bit mask;
- ``columns.gaps``: sorted columns as differences, as variable-length integers (LEB128);
- ``weights.scaled`` and ``weights.scale``: weights in float16 or int8, and the largest weight s of
  each problem. A float16 v stands for v·s, an int8 q for ± s·(q/127)², which is finer for small
  weights.

All but rounded weights are read back unchanged, bit for bit. What is read is checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from rosenblatt.kernels.family_cells import BOOK
from rosenblatt.learners.weights import State

Array = npt.NDArray[Any]
Arrays = dict[str, Array]

PRECISIONS = ("float32", "float16", "int8")
_BITS = {4: np.uint32, 8: np.uint64}
_STATE, _OF_FAMILY = ("weights", "bias", "sums", "bias_sums", "clock"), ("cells", "book")


def size_of(arrays: Arrays) -> int:
    """The bytes that arrays take."""
    return sum(array.nbytes for array in arrays.values())


def pack(name: str, array: Array, base: Array | None = None) -> Arrays:
    """The smallest form of an array."""
    forms = [{name: array}]
    if array.size:
        differs = _differs(array, base)
        values = array[differs]
        forms.append({f"{name}.mask": np.packbits(differs), f"{name}.values": values})
        if array.size < 1 << 32:
            places = np.flatnonzero(differs).astype(np.uint32)
            forms.append({f"{name}.places": places, f"{name}.values": values})
    if base is None and array.ndim == 1 and array.size > 1 << 10:
        table, codes = np.unique(array, return_inverse=True)
        if len(table) <= 1 << 16:
            forms.append({f"{name}.codes": codes.astype(np.uint16), f"{name}.table": table})
    return min(forms, key=size_of)


def check(arrays: Arrays, name: str, kind: Any, shape: tuple[int, ...]) -> None:
    """Raise ValueError if :func:`pack` cannot have made these from an array of this kind."""
    if f"{name}.codes" in arrays:
        codes, table = arrays[f"{name}.codes"], arrays[f"{name}.table"]
        expect(f"{name}.codes", codes, np.uint16, shape)
        expect(f"{name}.table", table, kind, (len(table),))
        if codes.max(initial=0) >= len(table):
            raise ValueError(f"{name}.codes lead outside their table")
        return
    if f"{name}.values" not in arrays:
        expect(name, arrays[name], kind, shape)
        return
    values = arrays[f"{name}.values"]
    expect(f"{name}.values", values, kind, (len(values),))
    size = int(np.prod(shape, dtype=np.int64))
    if f"{name}.mask" in arrays:
        mask = arrays[f"{name}.mask"]
        expect(f"{name}.mask", mask, np.uint8, ((size + 7) // 8,))
        spare = int(mask[-1]) & (1 << -size % 8) - 1 if len(mask) else 0
        if spare or int(np.bitwise_count(mask).sum(dtype=np.int64)) != len(values):
            raise ValueError(f"{name}.mask does not fit {name}.values")
        return
    places = arrays[f"{name}.places"]
    expect(f"{name}.places", places, np.uint32, (len(values),))
    if not np.all(places[1:] > places[:-1]) or (len(places) and int(places[-1]) >= size):
        raise ValueError(f"{name}.places are not ascending places of {name}")


def unpack(
    arrays: Arrays, name: str, kind: Any, shape: tuple[int, ...], base: Array | None = None
) -> Array:
    """The inverse of :func:`pack`, with checks; overwrites the `base`."""
    check(arrays, name, kind, shape)
    if f"{name}.codes" in arrays:
        return arrays[f"{name}.table"][arrays[f"{name}.codes"]]
    if f"{name}.values" not in arrays:
        return arrays[name]
    made = np.zeros(shape, kind) if base is None else base
    flat = made.reshape(-1)
    if f"{name}.mask" in arrays:
        chosen = np.unpackbits(arrays[f"{name}.mask"], count=len(flat))
        flat[chosen.view(bool)] = arrays[f"{name}.values"]
    else:
        flat[arrays[f"{name}.places"]] = arrays[f"{name}.values"]
    return made


class PackedState(Mapping[str, Array]):
    """The state of a model, checked when it is read and unpacked on access.

    Prediction needs no state, which takes three times the memory of the weights.
    """

    def __init__(self, arrays: Arrays, n: int, problems: int) -> None:
        shapes: dict[str, Any] = {
            "W": (np.float32, (n, problems)),
            "U": (np.float64, (n, problems)),
            "bias": (np.float64, (3, problems)),
            "clock": (np.float64, (1,)),
            "scale": (np.float32, (n,)),
        }
        self._arrays = {name: a for name, a in arrays.items() if name.startswith("state.")}
        self._shapes = {name: shapes[name] for name in dict.fromkeys(self._names())}
        for name, (kind, shape) in self._shapes.items():
            check(self._arrays, f"state.{name}", kind, shape)

    def _names(self) -> Iterator[str]:
        return (name.split(".")[1] for name in self._arrays)

    def __getitem__(self, name: str) -> Array:
        return unpack(self._arrays, f"state.{name}", *self._shapes[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._shapes)

    def __len__(self) -> int:
        return len(self._shapes)


def expect(name: str, array: Array, kind: Any, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless an array has this type and shape, and only finite numbers."""
    if not np.issubdtype(array.dtype, kind) or array.shape != shape:
        kind = getattr(kind, "__name__", kind)
        raise ValueError(f"{name} is {array.dtype}{array.shape}, not {kind}{shape}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{name} holds numbers that are not finite")


def _differs(array: Array, base: Array | None) -> Array:
    """A mask of the entries of an array that differ from its base, bit for bit."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.dtype.kind == "f" and flat.dtype.itemsize in _BITS:
        flat = flat.view(_BITS[flat.dtype.itemsize])
    if base is None:
        return (flat != 0).reshape(array.shape)
    other = np.ascontiguousarray(base, array.dtype).reshape(-1).view(flat.dtype)
    return (flat != other).reshape(array.shape)


def pack_columns(columns: Array, bits: int) -> Arrays:
    """The smallest form of columns; sorted ones take few bytes.

    >>> pack_columns(np.array([3, 5, 300], np.uint32), 22)["columns.gaps"].tolist()
    [3, 1, 166, 2]
    """
    whole = columns.astype(np.int64)
    if len(whole) == 0 or not np.all(np.diff(whole) > 0):
        return {"columns": columns}
    forms = [{"columns": columns}, {"columns.gaps": _to_leb128(np.diff(whole, prepend=-1) - 1)}]
    if 1 << max(0, bits - 3) < columns.nbytes:
        flags = np.zeros(max(8, 1 << bits), dtype=bool)
        flags[whole] = True
        forms.append({"columns.bits": np.packbits(flags)})
    return min(forms, key=size_of)


def unpack_columns(arrays: Arrays, bits: int) -> Array:
    """The inverse of :func:`pack_columns`; checks that they are distinct and below ``2**bits``."""
    if "columns.bits" in arrays:
        flags = arrays["columns.bits"]
        expect("columns.bits", flags, np.uint8, (max(1, (1 << bits) // 8),))
        columns = np.flatnonzero(np.unpackbits(flags))
    elif "columns.gaps" in arrays:
        gaps = arrays["columns.gaps"]
        expect("columns.gaps", gaps, np.uint8, (len(gaps),))
        columns = np.cumsum(_from_leb128(gaps) + 1) - 1
    else:
        columns = arrays["columns"]
        expect("columns", columns, np.uint32, (len(columns),))
        ordered = np.sort(columns)
        if np.any(ordered[1:] == ordered[:-1]):
            raise ValueError("the columns do not fit the feature specification")
    if len(columns) and int(columns.max()) >> bits:
        raise ValueError("the columns do not fit the feature specification")
    return columns.astype(np.uint32, copy=False)


def _to_leb128(numbers: Array) -> Array:
    """Integers as LEB128: seven bits per byte, lowest first; the highest bit means more."""
    lengths = np.searchsorted(1 << 7 * np.arange(1, 5), numbers, side="right") + 1
    starts = np.cumsum(lengths) - lengths
    made = np.empty(int(lengths.sum()), dtype=np.uint8)
    for k in range(int(lengths.max(initial=0))):
        has = lengths > k
        more = (lengths[has] > k + 1).astype(np.int64) << 7
        made[starts[has] + k] = ((numbers[has] >> 7 * k) & 127) | more
    return made


def _from_leb128(coded: Array) -> Array:
    ends = np.flatnonzero(coded < 128)
    if len(coded) and (len(ends) == 0 or ends[-1] != len(coded) - 1):
        raise ValueError("columns.gaps end within a number")
    starts = np.concatenate([[0], ends[:-1] + 1]).astype(np.int64)[: len(ends)]
    lengths = ends - starts + 1
    if lengths.max(initial=0) > 5:
        raise ValueError("columns.gaps hold a number that is too large")
    numbers = np.zeros(len(ends), dtype=np.int64)
    for k in range(int(lengths.max(initial=0))):
        has = lengths > k
        numbers[has] |= (coded[starts[has] + k].astype(np.int64) & 127) << 7 * k
    return numbers


def pack_weights(weights: Array, precision: str) -> Arrays:
    """Weights in float16 or int8, in their smallest form."""
    scale = np.abs(weights).max(axis=0, initial=0.0).astype(np.float32)
    unit = weights / np.where(scale > 0, scale, 1.0)
    if precision == "int8":
        scaled = np.rint(127 * np.sign(unit) * np.sqrt(np.abs(unit))).astype(np.int8)
    else:
        scaled = unit.astype(np.float16)
    return pack("weights.scaled", scaled) | {"weights.scale": scale}


def unpack_weights(arrays: Arrays, shape: tuple[int, int]) -> Array:
    """The inverse of :func:`pack_weights`, in float32."""
    kind = next(
        arrays[name].dtype for name in ("weights.scaled.values", "weights.scaled") if name in arrays
    )
    if kind not in (np.float16, np.int8):
        raise ValueError(f"weights.scaled is {kind}, not float16 or int8")
    scale = arrays["weights.scale"]
    expect("weights.scale", scale, np.float32, shape[1:])
    unit = unpack(arrays, "weights.scaled", kind, shape).astype(np.float32)
    if kind == np.int8:
        unit /= np.float32(127)
        unit *= np.abs(unit)
    made = unit * scale
    expect("weights", made, np.float32, shape)
    return made


def rounded(weights: Array, precision: str) -> Array:
    """The weights, rounded as in a file of this precision."""
    if precision == "float32":
        return weights
    return unpack_weights(pack_weights(weights, precision), weights.shape)


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
