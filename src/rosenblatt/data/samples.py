"""Samples from all over files, from which the kinds of columns and their scales are taken.

The first rows alone would mislead: files are often in the order of time, and sorted by something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from rosenblatt.data.bytes import Block, ByteSource
from rosenblatt.data.text_tables import Dialect

PLACES = 32  # at most, in all files together
PLACE_BYTES = 1 << 16  # read at each
_PLACE_ROWS = 512  # of files that hold columns, and of tables in memory
_MANY_NAMES = 1 << 9  # columns from which on a place is larger, to hold some rows
Open = Callable[[str], pa.NativeFile]


class Sampled(NamedTuple):
    """A file to take samples of; its size is in bytes, or in row groups."""

    path: str
    size: int
    dialect: Dialect | None = None
    only_begin: bool = False  # where it is costly to read on: compressed files


def places(files: Sequence[Sampled], step: int) -> Iterator[tuple[Sampled, int]]:
    """Evenly spaced places: files, and where in them; `step` is what is read at each.

    >>> [(f.path, at) for f, at in places([Sampled("a", 80), Sampled("b", 40)], 40)]
    [('a', 0), ('a', 40), ('b', 0)]
    """
    total = sum(file.size for file in files)
    count = max(2, min(PLACES, total // step))
    starts = [(total - step) * k // (count - 1) for k in range(count)]
    begin = 0
    for file in files:
        inside = [at - begin for at in starts if begin <= at < begin + file.size]
        # Each file has a place, if there are not too many of them.
        if not inside and len(files) <= PLACES:
            inside = [0]
        begin += file.size
        for at in dict.fromkeys([0] if file.only_begin and inside else inside):
            yield file, max(0, at)


def place_bytes(dialect: Dialect | None) -> int:
    """The bytes read at a place: more of a table of many columns."""
    return PLACE_BYTES * max(1, (len(dialect.names) if dialect else 0) // _MANY_NAMES)


def block_at(file: Sampled, at: int, open_file: Open) -> Block | None:
    """The whole lines of a file of text from about a place on; None if there are none."""
    size = place_bytes(file.dialect)
    start = file.dialect.start if file.dialect else 0
    if at <= start or file.only_begin:
        data = ByteSource(file.path, open_file(file.path)).head(start + size)[start:]
    else:
        with open_file(file.path) as opened:
            data = bytes(opened.read_at(size, at))
        data = data[data.find(b"\n") + 1 :]
    whole = data[: data.rfind(b"\n") + 1]
    return Block.of(whole, file.path) if whole.strip() else None


def slices(table: pa.Table) -> list[pa.Table]:
    """Evenly spaced parts of a table; a small one as it is."""
    if table.num_rows <= PLACES * _PLACE_ROWS:
        return [table]
    starts = [(table.num_rows - _PLACE_ROWS) * k // (PLACES - 1) for k in range(PLACES)]
    return [table.slice(start, _PLACE_ROWS) for start in starts]


def joined(sample: Sequence[pa.Table], head: pa.Table) -> dict[str, pa.ChunkedArray]:
    """The columns of the samples, and those of the head that they lack, without string views.

    Arrow cannot pick rows of string views, which frames of Polars consist of.
    """
    try:
        table = pa.concat_tables(sample, promote_options="permissive")
    except (pa.ArrowException, TypeError):  # the types of a column do not fit together
        table = head
    known = set(table.column_names)
    columns = {name: (table if name in known else head)[name] for name in head.column_names}
    return {
        name: cells.cast(pa.string()) if pa.types.is_string_view(cells.type) else cells
        for name, cells in columns.items()
    }
