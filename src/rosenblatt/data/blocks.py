"""Files of lines, cut into blocks of whole rows that know their line numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rosenblatt.data.files import ByteSource
from rosenblatt.engine.parsers import last_row_end, row_starts
from rosenblatt.errors import DataError

BLOCK_BYTES = 4 << 20
_LONGEST_ROW = 512 << 20


class Block(NamedTuple):
    """Whole rows of one file, ending in a line break."""

    data: bytes
    path: str
    line: int

    def line_of(self, row: int, quoting: int = 0) -> int:
        """The line on which a row begins; empty lines are no rows. `quoting`: as for reading."""
        starts = row_starts(np.frombuffer(self.data, dtype=np.uint8), quoting)
        return self.line + self.data.count(b"\n", 0, int(starts[row]))


def read_blocks(source: ByteSource, size: int = BLOCK_BYTES, quoting: int = 0) -> Iterator[Block]:
    """Cut a file into blocks of about `size` bytes.

    Parameters
    ----------
    source : ByteSource
        Where the bytes come from.
    size : int
        A block holds at least this many bytes, but for the last.
    quoting : int
        The code of the delimiter of a format in which line breaks between double quotes belong
        to a value, as in CSV; 0 for others.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = str(pathlib.Path(tempfile.mkdtemp()) / "a.csv")
    >>> _ = pathlib.Path(path).write_bytes(b'1,2\\n"3\\n",4\\n5,6')
    >>> [(block.data, block.line) for block in read_blocks(ByteSource(path), 5, quoting=ord(","))]
    [(b'1,2\\n', 1), (b'"3\\n",4\\n5,6\\n', 2)]
    """
    line, rest = 1, b""
    while True:
        try:
            more = source.read(max(1, size - len(rest)))
        except DataError as error:
            at = line + rest.count(b"\n")
            raise DataError(str(error), line=None if at == 1 else at) from None
        data = rest + more
        if not more:
            if data.strip():
                yield Block(data if data.endswith(b"\n") else data + b"\n", source.path, line)
            return
        if len(data) < size:
            rest = data
            continue
        cut = _end_of_rows(data, quoting)
        if cut == 0:
            if len(data) > _LONGEST_ROW:
                message = "a row is longer than 512 MB; is a quote left open?"
                raise DataError(message, path=source.path, line=line)
            # Doubling keeps the work linear when one row spans many reads.
            more = source.read(len(data))
            rest = data + more
            if not more:
                yield Block(data + b"\n", source.path, line)
                return
            continue
        rest = data[cut:]
        yield Block(data[:cut], source.path, line)
        line += data.count(b"\n", 0, cut)


def _end_of_rows(data: bytes, quoting: int) -> int:
    if quoting and b'"' in data:
        return int(last_row_end(np.frombuffer(data, dtype=np.uint8), quoting))
    return data.rfind(b"\n") + 1
