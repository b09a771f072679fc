"""Values that are too large to be learned from."""

from __future__ import annotations

import numpy as np

from rosenblatt.data.source import Batch
from rosenblatt.errors import DataError

LARGEST = 1e15  # of a value: products of two, added up, are in the range of float32


def check_values(batch: Batch, path: str | None, rows_before: int | None = None) -> None:
    """Raise a DataError for values whose products overflow float32.

    It names the row, if the number of `rows_before` the batch is known.
    """
    values = batch.rows.values
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if largest <= LARGEST:
        return
    bad = int(np.flatnonzero(~(np.abs(values) <= LARGEST))[0])
    who = "a row"
    if rows_before is not None:
        row = rows_before + int(np.searchsorted(batch.rows.indptr, np.uint64(bad), side="right"))
        who = f"row {row:,}"
    raise DataError(
        f"{who} has a value of {values[bad]:g}, scaled; values beyond {LARGEST:g} cannot be "
        "learned from: correct or leave out such rows or columns",
        path=path,
    )
