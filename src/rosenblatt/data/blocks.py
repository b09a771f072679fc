"""Files of lines, cut into blocks of whole rows that know their line numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from rosenblatt.data.byte_source import ByteSource
from rosenblatt.errors import DataError
from rosenblatt.kernels.row_ends import count_newlines, last_row_end, row_starts

_LONGEST_ROW = 512 << 20
_NEWLINE = ord("\n")
_PEEK = 1 << 10


class Block(NamedTuple):
    """Whole rows of one file, ending in a line break.

    Attributes
    ----------
    array : uint8 array
        The rows.
    path : str
        The file.
    begin : function without arguments
        Finds the line on which they begin, from 1; it may read the file again for that.
    """

    array: np.ndarray
    path: str
    begin: Callable[[], int]

    @classmethod
    def of(cls, data: bytes, path: str, line: int = 1) -> Block:
        """The rows written in `data`.

        >>> Block.of(b"a,1\\nb,2\\n", "a.csv").lines
        2
        """
        return cls(np.frombuffer(data, dtype=np.uint8), path, partial(int, line))

    @property
    def line(self) -> int:
        """The line on which the rows begin: to be asked only when a line has to be named."""
        return self.begin()

    @property
    def lines(self) -> int:
        """How many lines they are."""
        return int(count_newlines(self.array))

    @property
    def data(self) -> bytes:
        """A copy of the rows, for the ways that are seldom gone."""
        return self.array.tobytes()

    def line_at(self, place: int) -> int:
        """The line of a byte."""
        return self.line + int(count_newlines(self.array[:place]))

    def line_of(self, row: int, quoting: int = 0) -> int:
        """The line on which a row begins; empty lines are no rows. `quoting`: as for reading."""
        return self.line_at(int(row_starts(self.array, quoting)[row]))

    def after(self, place: int) -> Block:
        """The rows from a byte on."""
        return Block(self.array[place:], self.path, partial(self.line_at, place))


def read_blocks(source: ByteSource, quoting: int = 0) -> Iterator[Block]:
    """Cut a file into blocks that end where its last row ends in each piece.

    Parameters
    ----------
    source : ByteSource
        Where the bytes come from, piece by piece. A row that is longer makes a block of several.
    quoting : int
        The code of the delimiter of a format in which line breaks between double quotes belong
        to a value, as in CSV; 0 for others.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = str(pathlib.Path(tempfile.mkdtemp()) / "a.csv")
    >>> _ = pathlib.Path(path).write_bytes(b'1,2\\n"3\\n",4\\n5,6')
    >>> [(block.data, block.line) for block in read_blocks(ByteSource(path, 6), quoting=ord(","))]
    [(b'1,2\\n', 1), (b'"3\\n",4\\n', 2), (b'5,6\\n', 4)]
    """
    place, line, pieces, rest = 0, 1, 1, np.empty(0, dtype=np.uint8)
    while True:
        data, end, is_last = source.read(rest, pieces)
        # There is room for one byte more: a last line without a line break is given one.
        data[end] = _NEWLINE
        data.setflags(write=False)
        # Bytes that cannot be read again are counted now; all others only if a line is asked for.
        begin = partial(source.line_at, place) if source.is_lasting else partial(int, line)
        if is_last:
            rows = Block(data[:end], source.path, begin)
            source.check(partial(rows.line_at, end))
            # The second look, at all of them, is for a long blank beginning.
            if data[:_PEEK].tobytes()[:end].strip() or rows.data.strip():
                yield rows._replace(array=data[: end + int(data[end - 1] != _NEWLINE)])
            return
        cut = int(last_row_end(data[:end], quoting))
        if cut == 0:
            if end > _LONGEST_ROW:
                message = "a row is longer than 512 MB; is a quote left open?"
                raise DataError(message, path=source.path, line=begin())
            # Doubling keeps the work linear when one row spans many reads.
            rest, pieces = data[:end], 2 * pieces
            continue
        block = Block(data[:cut], source.path, begin)
        rest, pieces, place = data[cut:end], 1, place + cut
        line += 0 if source.is_lasting else block.lines
        yield block
