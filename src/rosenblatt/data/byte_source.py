"""Where bytes come from: a file or standard input, gzip and zstd unpacked ahead by a thread."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from rosenblatt.data.files import STDIN
from rosenblatt.errors import DataError
from rosenblatt.kernels._memory import zeros

BLOCK_BYTES = 4 << 20

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_STEP_BYTES = 1 << 16
# So many pieces are unpacked before they are asked for: whoever unpacks never waits for others.
_AHEAD = 2
# Before the bytes of a piece there is so much room, for the beginning of their first row.
_ROOM = 1 << 16
# Memory for pieces that nobody has, and for how many it is kept.
_FREE: list[np.ndarray] = []
_KEPT = 8


class _Piece(NamedTuple):
    """Bytes of a file as they were read: where they begin and end in an array with room for more.

    The last piece is the only one that is not full; if it is not the true end, `fault` says why.
    """

    data: np.ndarray
    start: int
    end: int
    is_last: bool
    fault: str

    @property
    def content(self) -> np.ndarray:
        return self.data[self.start : self.end]


def _lend(size: int) -> np.ndarray:
    """An array of any content; nobody else has its memory until all that was cut from it is gone.

    Memory is kept to be used again, as memory from the system comes page by page, slowly.
    """
    try:
        memory = _FREE.pop()
    except IndexError:
        memory = zeros((size,), np.uint8)
    if len(memory) < size:
        memory = zeros((size,), np.uint8)
    return np.asarray(_Loan(memory))[:size]


class _Loan:
    """What a lent array stands on: when the last one that does is gone, its memory is free."""

    def __init__(self, memory: np.ndarray) -> None:
        self.__array_interface__ = memory.__array_interface__
        self._memory = memory

    def __del__(self) -> None:
        if len(_FREE) < _KEPT:
            _FREE.append(self._memory)


class ByteSource:
    """The bytes of one file or of standard input, decompressed, with a look at its beginning.

    Parameters
    ----------
    path : str
        A file, or ``"-"`` for standard input.
    size : int
        The bytes are read in pieces of this size.

    Attributes
    ----------
    compression : {"gzip", "zstd"} or None
        Found out from the first bytes.
    is_lasting : bool
        Whether the bytes can be read again: those of standard input cannot.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = str(pathlib.Path(tempfile.mkdtemp()) / "a.csv")
    >>> _ = pathlib.Path(path).write_bytes(b"a,1\\nb,2\\n")
    >>> ByteSource(path).head(3)
    b'a,1'
    """

    def __init__(self, path: str, size: int = BLOCK_BYTES) -> None:
        self.path = "<stdin>" if path == STDIN else path
        self.is_lasting = path != STDIN
        try:
            if path == STDIN:
                self._raw = pa.PythonFile(sys.stdin.buffer, mode="r")
                magic = bytes(sys.stdin.buffer.peek(8)[:8])  # type: ignore[union-attr]
            else:
                self._raw = pa.OSFile(path)
                magic = self._raw.read(8)
                self._raw.seek(0)
        except OSError as error:
            raise DataError(f"cannot be opened: {error.strerror or error}", path=path) from None
        kinds = [kind for start, kind in _MAGIC.items() if magic.startswith(start)]
        self.compression = kinds[0] if kinds else None
        # A second handle, so that lines can be counted while the first reads on, or is closed.
        self._again = pa.OSFile(path) if self.is_lasting else None
        self._stream = self._unpacked(self._raw)
        self._size = max(size, len(_BYTE_ORDER_MARK))
        self._room = min(_ROOM, self._size // 4)
        self._place, self._break = 0, ""
        self._thread = ThreadPoolExecutor(1)
        self._coming: deque[Future[_Piece]] = deque()
        self._looked_at: deque[_Piece] = deque()
        self._is_new, self._mark, self._fault = True, 0, ""

    def head(self, size: int) -> bytes:
        """The first bytes, which stay to be read."""
        pieces = self._take(size)
        self._looked_at.extendleft(reversed(pieces))
        self._fault = pieces[-1].fault
        self.check(lambda: 1 + sum(p.content.tobytes().count(b"\n") for p in pieces))
        found = b"".join(piece.content[:size].tobytes() for piece in pieces)
        return found[:size]

    def read(self, before: np.ndarray, pieces: int = 1) -> tuple[np.ndarray, int, bool]:
        """The next pieces after the bytes of `before`, in an array with room for one byte more.

        Also how many bytes they are, with `before`, and whether they are the last.
        """
        taken = self._take((pieces - 1) * self._size + 1)
        last = taken[-1]
        self._fault = last.fault
        start = last.start - len(before)
        if len(taken) == 1 and start >= 0:
            last.data[start : last.start] = before
            return last.data[start:], last.end - start, last.is_last
        spare = np.empty(1, dtype=np.uint8)
        joined = np.concatenate([before, *(piece.content for piece in taken), spare])
        return joined, len(joined) - 1, last.is_last

    def is_waiting(self) -> bool:
        """Whether the next piece need not be waited for: it is plain, or unpacked already."""
        return not self.compression or bool(self._coming and self._coming[0].done())

    def check(self, reached: Callable[[], int]) -> None:
        """Raise if the bytes came to an end too early; `reached` finds the line they reach to."""
        if self._fault:
            line = reached()
            raise DataError(self._fault, path=self.path, line=line if line > 1 else None)

    def line_at(self, place: int) -> int:
        """The line of a byte, from 1, found by reading all that stands before it once more."""
        line = 1
        for data in self._repeated(0, self._mark + place):
            line += data.count(b"\n")
        return line

    def close(self) -> None:
        """Let go of the file, as far as no block may still ask for its line."""
        self._thread.shutdown(cancel_futures=True)
        self._stream.close()

    def _take(self, size: int) -> list[_Piece]:
        """The next pieces that are so many bytes together, one piece at least."""
        taken: list[_Piece] = []
        while not taken or (size > 0 and not taken[-1].is_last):
            taken.append(self._looked_at.popleft() if self._looked_at else self._next())
            size -= len(taken[-1].content)
        return taken

    def _next(self) -> _Piece:
        """The next piece, without a byte order mark at the very beginning."""
        if self.compression:
            while len(self._coming) <= _AHEAD:
                self._coming.append(self._thread.submit(self._filled))
            piece = self._coming.popleft().result()
        else:
            piece = self._filled()
        if self._is_new:
            self._is_new = False
            if piece.content[: len(_BYTE_ORDER_MARK)].tobytes() == _BYTE_ORDER_MARK:
                self._mark = len(_BYTE_ORDER_MARK)
                piece = piece._replace(start=piece.start + self._mark)
        return piece

    def _filled(self) -> _Piece:
        """The next bytes of the file."""
        room = self._room
        data = _lend(room + self._size + 1)
        count = self._fill(data[room : room + self._size])
        return _Piece(data, room, room + count, count < self._size, self._break)

    def _fill(self, room: np.ndarray) -> int:
        """Put the next bytes of the file into an array; how many there were."""
        # What is read in one go before it fails is lost; where it can be, it is read once more.
        step = len(room) if self.is_lasting else _STEP_BYTES
        filled = 0
        try:
            while filled < len(room) and not self._break:
                count = int(self._stream.readinto(room[filled : filled + step]))
                if count == 0:
                    break
                filled += count
        except OSError as error:
            what = f"{self.compression} data" if self.compression else "file"
            self._break = f"the {what} cannot be read to the end: {error}"
            if self.is_lasting:
                known = b"".join(self._repeated(self._place, self._place + len(room)))
                filled = len(known)
                room[:filled] = np.frombuffer(known, dtype=np.uint8)
        self._place += filled
        return filled

    def _unpacked(self, raw: pa.NativeFile) -> pa.NativeFile:
        return pa.CompressedInputStream(raw, self.compression) if self.compression else raw

    def _repeated(self, start: int, stop: int) -> Iterator[bytes]:
        """The bytes between two places once more, or up to where they cannot be read on."""
        assert self._again is not None, "the bytes cannot be read again"
        stream, place = self._unpacked(self._again.get_stream(0, self._again.size())), 0
        while place < stop:
            try:
                data = stream.read(min(_STEP_BYTES, stop - place))
            except OSError:
                return
            if not data:
                return
            yield data[max(0, start - place) :]
            place += len(data)
