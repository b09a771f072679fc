"""What many tasks need: arrays and plain data, named by the hash of their content."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from rosenblatt import tensorfile


@dataclass(frozen=True)
class Parcel:
    """Arrays and plain data that many tasks need; the name, a hash of them, stands for all."""

    name: str
    arrays: dict[str, np.ndarray] = field(compare=False)
    about: dict[str, Any] = field(compare=False)

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> Parcel:
        """A parcel with its name."""
        digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
        for name, array in sorted(arrays.items()):
            digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data if array.size else b"")
        return cls(digest.hexdigest()[:32], arrays, about)

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        return sum(array.nbytes for array in self.arrays.values())


class InFile(NamedTuple):
    """A parcel that lies in a file, for processes that share a disk."""

    path: str
    name: str


def taken(parcel: Parcel | InFile) -> Parcel:
    """A parcel, wherever it lies."""
    return parcel if isinstance(parcel, Parcel) else _from_file(parcel)


@lru_cache(maxsize=4)
def _from_file(parcel: InFile) -> Parcel:
    arrays, about = tensorfile.read(parcel.path, sealed=True)
    return Parcel(parcel.name, arrays, about)
