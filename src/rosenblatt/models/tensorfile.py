"""Arrays and JSON metadata in one safetensors file, checked. Reading one never runs code."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple
from typing import Any

import numpy as np
import numpy.typing as npt

from rosenblatt.atomic_files import atomic_write
from rosenblatt.errors import DataError, ModelFormatError
from rosenblatt.learners.pairs import PairWeights
from rosenblatt.learners.weights import State
from rosenblatt.rules.storage import BOOK
from rosenblatt.training import Epoch

# What checking the content of a damaged file may raise.
_CONTENT_ERRORS = (
    ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError,
)  # fmt: skip
_KEY, _CHECKSUM = "rosenblatt", "checksum"
Array = npt.NDArray[Any]
Arrays = Mapping[str, Array]
_STATE, _OF_FAMILY = ("weights", "bias", "sums", "bias_sums", "clock"), ("cells", "book")


@contextmanager
def reporting_damage(name: str) -> Iterator[None]:
    """Turn errors from checking the content of a file into a ModelFormatError that names it."""
    try:
        yield
    except (DataError, ModelFormatError):
        raise
    except _CONTENT_ERRORS as error:
        raise ModelFormatError(f"{name} is damaged: {error}") from None


def write(path: str | os.PathLike[str], arrays: Arrays, metadata: Mapping[str, Any]) -> None:
    """Write arrays and metadata atomically, without copying contiguous arrays."""
    aligned = _aligned(arrays)
    head = _header(aligned, metadata)
    with atomic_write(path) as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for array in aligned.values():
            file.write(array.data if array.size else b"")


def size(arrays: Arrays, metadata: Mapping[str, Any]) -> int:
    """The bytes of the file that :func:`write` would write."""
    aligned = _aligned(arrays)
    return 8 + len(_header(aligned, metadata)) + sum(array.nbytes for array in aligned.values())


def _aligned(arrays: Arrays) -> dict[str, Array]:
    """Arrays in the layout of a file: those with the largest items first, so that all align."""
    return {
        name: np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        for name, array in sorted(arrays.items(), key=lambda item: (-item[1].itemsize, item[0]))
    }


def _header(aligned: Arrays, metadata: Mapping[str, Any]) -> bytes:
    plain, start = json.dumps(metadata), 0
    header: dict[str, Any] = {"__metadata__": {_KEY: plain, _CHECKSUM: _checksum(plain, aligned)}}
    for name, array in aligned.items():
        header[name] = {
            "dtype": f"{array.dtype.kind.upper()}{8 * array.itemsize}",
            "shape": list(array.shape),
            "data_offsets": [start, start + array.nbytes],
        }
        start += array.nbytes
    head = json.dumps(header).encode()
    return head + b" " * (-len(head) % 8)


def _checksum(plain: str, arrays: Arrays) -> str:
    """A checksum of the metadata and of the names, types, shapes and data of all arrays."""
    total = zlib.crc32(plain.encode())
    for name, array in sorted(arrays.items()):
        total = zlib.crc32(f"{name} {array.dtype.str} {array.shape}".encode(), total)
        total = zlib.crc32(array.data if array.size else b"", total)
    return f"{total:08x}"


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Array], dict[str, Any]]:
    """Read arrays and metadata; raises ModelFormatError if the file is damaged or not ours.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.model"
    >>> write(path, {"w": np.ones(2)}, {"epochs": 3})
    >>> arrays, metadata = read(path)
    >>> arrays["w"].tolist(), metadata
    ([1.0, 1.0], {'epochs': 3})
    """
    from safetensors import SafetensorError, safe_open

    if not os.path.exists(path):  # noqa: PTH110 - the file may be named by bytes or str
        raise FileNotFoundError(f"there is no file {os.fspath(path)!r}")
    try:
        with safe_open(path, framework="numpy") as file:
            texts = file.metadata() or {}
            metadata = json.loads(texts[_KEY])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, *_CONTENT_ERRORS) as error:
        reason = "its header is missing" if isinstance(error, KeyError) else str(error)
        raise ModelFormatError(f"{os.fspath(path)} is not a rosenblatt file: {reason}") from None
    if not isinstance(metadata, dict):
        raise ModelFormatError(f"{os.fspath(path)} is not a rosenblatt file")
    if texts.get(_CHECKSUM) != _checksum(texts[_KEY], arrays):
        raise ModelFormatError(
            f"{os.fspath(path)} is damaged: it is not what was written (its checksum differs)"
        )
    return arrays, metadata


def expect(name: str, array: Array, kind: Any, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless an array has this type and shape, and only finite numbers."""
    if not np.issubdtype(array.dtype, kind) or array.shape != shape:
        kind = getattr(kind, "__name__", kind)
        raise ValueError(f"{name} is {array.dtype}{array.shape}, not {kind}{shape}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{name} holds numbers that are not finite")


def check_number(name: str, number: Any, *kinds: type, most: float = 2**53) -> None:
    """Raise ValueError unless this is a number from 0 to `most`, and of one of these types."""
    if type(number) not in (kinds or (int, float)) or not 0 <= number <= most:
        raise ValueError(f"{name} is {number!r}")


def epochs_from(history: list[dict[str, Any]]) -> list[Epoch]:
    """The epochs of a file; a ValueError if an entry is none, or has something but numbers."""
    epochs = [Epoch(**epoch) for epoch in history]
    for epoch in epochs:
        for name in ("epoch", "updates", "updated_rows"):
            check_number(name, getattr(epoch, name), int)
        if not all(type(number) in (int, float) for number in astuple(epoch)):
            raise ValueError(f"the history holds {epoch}")
    return epochs


def state_arrays(state: State, prefix: str) -> dict[str, Array]:
    """The state of a linear learner as arrays of a file."""
    names = (*_STATE, *(_OF_FAMILY if state.book.size else ()))
    arrays = {prefix + name: getattr(state, name) for name in names}
    return arrays | weights_arrays(state.weights, prefix)


def weights_arrays(weights: Any, prefix: str) -> dict[str, Array]:
    """Weights, which may be pairs, as arrays of a file."""
    if not isinstance(weights, PairWeights):
        return {f"{prefix}weights": weights}
    lists = {f"{prefix}pointers": weights.pointers, f"{prefix}classes": weights.classes}
    return lists | {f"{prefix}weights": weights.values}


def weights_from(arrays: Arrays, prefix: str, problems: int) -> Any:
    """The inverse of :func:`weights_arrays`; raises ValueError if the pairs do not fit."""
    if f"{prefix}pointers" not in arrays:
        return arrays[f"{prefix}weights"]
    pointers, classes = arrays[f"{prefix}pointers"], arrays[f"{prefix}classes"]
    return PairWeights(pointers, classes, arrays[f"{prefix}weights"], problems).checked()


def state_from(arrays: Arrays, prefix: str, problems: int) -> State:
    """The inverse of :func:`state_arrays`; raises ValueError if shapes do not fit."""
    names = (*_STATE, *(_OF_FAMILY if f"{prefix}book" in arrays else ()))
    entries: dict[str, Any] = {name: arrays[prefix + name] for name in names}
    weights, sums = weights_from(arrays, prefix, problems), entries["sums"]
    if isinstance(weights, PairWeights):
        if len(sums) not in (0, len(weights.values)):
            raise ValueError("there are not as many sums as weights")
        for name, array in entries.items():
            size = array.shape if name in ("weights", "sums") else (problems,)
            expect(name, array, np.floating, size)
        return State(**entries | {"weights": weights})
    shape = (problems, weights.shape[1])
    averages = sums.size > 0 or sums.shape == shape
    shapes: dict[str, Any] = {"weights": shape, "sums": shape if averages else (0, 0)}
    if "book" in entries:
        n, depth = entries["cells"].shape[1:]
        shapes |= {"book": (BOOK, problems), "cells": (problems, n, depth)}
        if entries["cells"].size and n != shape[1]:
            raise ValueError(f"cells is {entries['cells'].shape}, for {shape[1]} features")
    for name, array in entries.items():
        expect(name, array, np.floating, shapes.get(name, (problems,)))
    return State(**entries)
