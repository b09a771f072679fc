"""Reading data: files of any format and size, or tables in memory.

:func:`open` yields batches of sparse rows for learning; :func:`read_arrays` returns a whole table
of numbers. Both detect formats, headers and labels by the same rules.
"""

from rosenblatt.data.arrays import Arrays, read_arrays
from rosenblatt.data.columns import Column
from rosenblatt.data.features import Features
from rosenblatt.data.open import open
from rosenblatt.data.source import Batch, Source

__all__ = [
    "Arrays",
    "Batch",
    "Column",
    "Features",
    "Source",
    "open",
    "read_arrays",
]
