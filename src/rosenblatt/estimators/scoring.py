"""A file in, the same rows out in the same order, with predicted labels and scores."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa

from rosenblatt.data import Batch, Source
from rosenblatt.data.strings import plain_strings
from rosenblatt.data.writers import writer
from rosenblatt.files import replacing
from rosenblatt.models import Model

LABEL, SCORE = "predicted", "score"


def write_predictions(model: Model, source: Source, out: str | os.PathLike[str]) -> int:
    """Write all columns of a source with the columns ``predicted`` and ``score``.

    The score is that of the predicted class; for two classes the one score there is, which is
    positive for the second class.

    Parameters
    ----------
    model : Model
    source : Source
        Opened with the model's features; needs no labels.
    out : path
        A .csv, .tsv, .jsonl, .parquet or .arrow file; it appears when all rows are written.

    Returns
    -------
    int
        The number of rows.
    """
    source.keep_table = True
    with replacing(out) as file, writer(file, Path(out).suffix.lower(), out) as write:
        for batch in source:
            write(_predicted(model, batch))
    return source.rows


def _predicted(model: Model, batch: Batch) -> pa.Table:
    scores = model.scores(batch.rows)
    codes = model.decide(scores)
    best = scores[:, 0] if len(model.classes) == 2 else scores[np.arange(len(codes)), codes]
    table = batch.table if batch.table is not None else pa.table({})
    for i, name in enumerate(table.column_names):
        if pa.types.is_binary(table[name].type) or pa.types.is_large_binary(table[name].type):
            table = table.set_column(i, name, plain_strings(table[name]))
    table = table.append_column(_free(LABEL, table), pa.array(np.array(model.classes)[codes]))
    return table.append_column(_free(SCORE, table), pa.array(best))


def _free(name: str, table: pa.Table) -> str:
    while name in table.column_names:
        name += "_"
    return name
