"""Where a file of lines can be cut: after a line break that ends a row, not within quotes.

A line break near the wanted place is a candidate. Whether the quotes before it are all closed is
a question to all bytes before it; each part between two candidates is looked at on its own, by
whoever has time, supposing that it begins with a row. A part that ends within quotes moves the
candidate behind it to the next row end, and the part that begins there is looked at again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import numpy as np

from rosenblatt.cluster.stores import Part
from rosenblatt.data.bytes import quoted_values

_WINDOW = 1 << 16

Look = Callable[[list[tuple[int, int]]], Iterable[bool]]


def row_ends(path: str, wanted: list[int], size: int, delimiter: str, look: Look) -> list[int]:
    """The places nearest after the wanted ones at which a row begins.

    Parameters
    ----------
    path : str
    wanted : list of int
        Places within the file, increasing.
    size : int
        Of the file.
    delimiter : str
        Where quotes mean something, else empty.
    look : callable
        Tells of parts, given by begin and end, whether they end within quotes.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = str(pathlib.Path(tempfile.mkdtemp()) / "a.csv")
    >>> _ = pathlib.Path(path).write_bytes(b'1,2\\n"3\\n",4\\n5,6\\n')
    >>> look = lambda parts: [ends_within_quotes(path, *part, ",") for part in parts]
    >>> row_ends(path, [5], 15, ",", look), row_ends(path, [5], 15, "", look)
    ([11], [7])
    """
    cuts = sorted({cut for at in wanted if (cut := _next_line(path, at, size)) < size})
    if not delimiter or not cuts:
        return cuts
    edges, open_at_end = [0, *cuts, size], dict[tuple[int, int], bool]()
    while True:
        parts = list(itertools.pairwise(edges))
        unknown = [part for part in parts[:-1] if part not in open_at_end]
        open_at_end |= dict(zip(unknown, look(unknown), strict=True))
        inside = next((part for part in parts[:-1] if open_at_end[part]), None)
        if inside is None:
            return edges[1:-1]
        moved = _row_end_after_quotes(path, inside[1], size, delimiter)
        edges = [edge for edge in edges if edge <= inside[0] or edge > max(inside[1], moved)]
        edges = sorted({*edges, *([moved] if moved < size else []), size})


def ends_within_quotes(path: str, start: int, end: int, delimiter: str) -> bool:
    """Whether a part of a file that begins with a row and ends with a line break ends in quotes."""
    data = np.frombuffer(Part(path, start, end).read(), np.uint8)
    values = quoted_values(data, delimiter)
    return len(values) > 0 and int(values[-1][1]) >= len(data)


def _next_line(path: str, at: int, size: int) -> int:
    """The place after the next line break."""
    file = Part(path, at, size)
    while data := file.read(_WINDOW):
        if (found := data.find(b"\n")) >= 0:
            return at + file.tell() - len(data) + found + 1
    return size


def _row_end_after_quotes(path: str, at: int, size: int, delimiter: str) -> int:
    """The end of the first row after a place within quotes."""
    window = _WINDOW
    while True:
        data = np.frombuffer(b'"' + Part(path, at, min(size, at + window)).read(), np.uint8)
        edges = [int(edge) for value in quoted_values(data, delimiter) for edge in value]
        for begin, stop in zip(edges[1::2], [*edges[2::2], len(data)], strict=True):
            if begin < len(data) and (found := data[begin:stop].tobytes().find(b"\n")) >= 0:
                return at + begin + found  # one less for the quote in front, one more to be after
        if at + window >= size:
            return size
        window *= 4
