"""Write predictions: the rows of the input with labels, scores and probabilities."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rosenblatt.atomic_files import atomic_write
from rosenblatt.data import Batch, Source
from rosenblatt.data.bytes import STDIN
from rosenblatt.data.cells import make_strings, plain_strings, to_numbers
from rosenblatt.data.formats import FORMATS
from rosenblatt.data.writers import (
    LINE_FORMATS,
    compressed,
    header_of,
    lines_of,
    output_format,
    writer,
)
from rosenblatt.errors import DataError, OptionError, listed, shown
from rosenblatt.learners.problems import decided, own_scores
from rosenblatt.models.model import Model

LABEL, SCORE, PROBABILITY = "predicted", "score", "probability"
STDOUT = STDIN


@dataclass(frozen=True)
class OutputOptions:
    """Which columns are written, and of which rows."""

    top: int = 1  # the number of labels per row, the best first
    scores: bool = False  # also a column per class
    proba: bool = False  # probabilities instead of scores
    columns: tuple[str, ...] | None = None  # of the input; all by default
    only: tuple[str, ...] | None = None  # all columns of the output, in order
    keep_if: tuple[str, ...] = ()  # write only rows predicted to have one of these labels
    # Write only rows in which the probability, or the score, of one of these labels (by default of
    # the predicted one) is at least this, whatever is predicted.
    at_least: float | None = None
    min_score: float | None = None

    def check(self, model: Model) -> None:
        """Refuse options that the model does not support."""
        classes = model.classes
        for label in self.keep_if:
            if label not in classes:
                message = f"the label {shown(label)} is not a class of the model: {listed(classes)}"
                raise OptionError(message)
        if not 1 <= self.top <= len(classes):
            raise OptionError(f"--top is from 1 to {len(classes)}, the number of classes")
        if self.at_least is not None and not 0 <= self.at_least <= 1:
            raise OptionError(f"--at-least is a probability, from 0 to 1, not {self.at_least:g}")
        if self.at_least is not None and self.min_score is not None:
            raise OptionError("--at-least and --min-score exclude each other")
        if (self.proba or self.at_least is not None) and model.calibration is None:
            model.probabilities(np.empty((0, len(model.bias))))  # says why there are none
        if self.columns is not None and self.only is not None:
            raise OptionError("--columns and --only exclude each other: --only names all columns")


def write_predictions(
    model: Model,
    source: Source,
    out: str | os.PathLike[str],
    options: OutputOptions = OutputOptions(),
    to: str | None = None,
) -> int:
    """Write the rows of a source with the columns ``predicted`` and ``score``.

    The score is that of the predicted class; for two classes the single score, which is positive
    for the second class. With `top`, each label has its own score. For multilabel models, all
    predicted labels are written, with the largest score.

    The source was opened with the model's features and needs no labels. Files are written
    atomically; standard output, ``"-"``, gets rows as they come. `to` is the format, if not that of
    the name. Standard output has the format of the input where possible; lines of plain text become
    label, score and line, separated by tabs.

    Returns the number of rows written.
    """
    options.check(model)
    if out == STDOUT:
        format, packing = to or FORMATS[source.format].printed, None
        output_format("-", format)
    else:
        format, packing = output_format(out, to)
    predict = _Predict(model, source, options, format)
    in_lines, numbers = format in LINE_FORMATS, frozenset(predict.numbers)

    def output(batch: Batch) -> tuple[Any, int]:
        table = predict(batch)
        return lines_of(table, format, numbers) if in_lines else table, table.num_rows

    with ExitStack() as stack:
        file = stack.enter_context(_standard_output() if out == STDOUT else atomic_write(out))
        stream = stack.enter_context(compressed(file, packing))
        write = stream.write if in_lines else stack.enter_context(writer(stream, format))
        if in_lines and source.has_header:
            write(header_of(predict.names, format))
        rows = 0
        for rows_written, count in source.map_batches(output):
            write(rows_written)
            rows += count
            if out == STDOUT:
                file.flush()
        source.warn_of_strays()
        return rows


def write_nothing(out: str | os.PathLike[str], to: str | None = None) -> None:
    """Write an output without rows, for an input without rows."""
    if out == STDOUT:
        return
    format, packing = output_format(out, to)
    with atomic_write(out) as file, compressed(file, packing) as stream:
        if format not in LINE_FORMATS:
            with writer(stream, format) as write:
                write(pa.table({LABEL: pa.array([], pa.string())}))


@contextmanager
def _standard_output() -> Iterator[Any]:
    file = sys.stdout.buffer
    yield file
    file.flush()


class _Predict:
    """Turns a batch into an output table; called by several threads.

    The columns are `names`; `numbers` are those of a text input that hold numbers.
    """

    def __init__(self, model: Model, source: Source, options: OutputOptions, format: str) -> None:
        self._model, self._options = model, options
        self._codes = {name: i for i, name in enumerate(model.classes)}
        inputs, new = (
            source.column_names,
            list(self._new_columns(np.empty((0, len(model.bias))))[0]),
        )
        input_names = set(inputs)
        if options.only is None:
            copied = inputs if options.columns is None else list(options.columns)
            self._new = {name: _unused_name(name, copied) for name in new}
            # Text has no quotes: columns that may contain tabs come last.
            self.names = [*copied, *self._new.values()]
            if format == "text":
                self.names = [*self._new.values(), *copied]
        else:
            self._new = {name: name for name in new if name in options.only}
            copied = [name for name in options.only if name not in self._new]
            self.names = list(options.only)
        for name in copied:
            if name not in input_names:
                known = listed(inputs + new)
                message = f"there is no column {shown(name)}; the columns are {known}"
                raise DataError(message, path=source.files[0])
        self._copied = source.kept_columns = copied
        is_cells = bool(FORMATS[source.format].delimiters)
        self.numbers = source.number_columns() & set(copied) if is_cells else set()
        # In the text of fastText lines, labels were replaced by blanks.
        is_fasttext = FORMATS[source.format].name == "fasttext"
        trim = pc.utf8_trim if is_fasttext else pc.utf8_rtrim
        self._trim = partial(trim, characters=" \t\r\n" if is_fasttext else "\r\n")
        self._typed = self.numbers if format in ("parquet", "arrow") else set()

    def __call__(self, batch: Batch) -> pa.Table:
        """The output table of a batch."""
        new, rows = self._new_columns(self._model.scores(batch.rows))
        columns = {name: new[old] for old, name in self._new.items()}
        for name in self._copied:
            assert batch.table is not None, "only tables have columns to copy"
            columns[name] = self._copied_column(batch.table[name], name, rows)
        return pa.table({name: columns[name] for name in self.names})

    def _new_columns(self, scores: np.ndarray) -> tuple[dict[str, pa.Array], np.ndarray | None]:
        """The new columns by name, and the indices of the rows that are written; None for all."""
        model, options = self._model, self._options
        labels = model.decide(scores) if model.multilabel else None
        codes, values = decided(scores, model.threshold), own_scores(scores)
        probabilities = np.empty(0)
        if options.proba or options.at_least is not None:
            probabilities = model.probabilities(scores)
        rows = self._selected(codes, labels, values, probabilities)
        values = probabilities if options.proba else values
        if rows is not None:
            scores, codes = scores[rows], codes[rows]
            values = values[rows]
            labels = None if labels is None else labels[rows]
        kind = PROBABILITY if options.proba else SCORE
        every, columns = np.arange(len(codes)), {}
        if options.top == 1:
            columns[LABEL] = self._labels(codes) if labels is None else self._label_sets(labels)
            single = len(model.bias) == 1 and not options.proba and not options.scores
            columns[kind] = _floats(scores[:, 0] if single else values[every, codes])
        else:
            best = model.ranked(scores, values)[:, : options.top].T
            for rank, at in enumerate(best, start=1):
                ending = "" if rank == 1 else f"_{rank}"
                columns[LABEL + ending] = self._labels(at)
                columns[kind + ending] = _floats(values[every, at])
        if options.scores:
            for name, column in zip(model.classes, values.T, strict=True):
                columns[f"{kind}_{name}"] = _floats(column)
        return columns, rows

    def _selected(
        self, codes: np.ndarray, labels: np.ndarray | None, scores: np.ndarray, probabilities: Any
    ) -> np.ndarray | None:
        """The indices of the rows that are written; None for all."""
        options = self._options
        asked = [self._codes[label] for label in options.keep_if]
        if options.at_least is None and options.min_score is None:
            if not asked:
                return None
            has = np.isin(codes, asked) if labels is None else labels[:, asked].any(axis=1)
            return np.flatnonzero(has)
        values, least = scores, options.min_score
        if options.at_least is not None:
            values, least = probabilities, options.at_least
        best = values[:, asked].max(axis=1) if asked else values[np.arange(len(codes)), codes]
        return np.flatnonzero(best >= least)

    def _label_sets(self, labels: np.ndarray) -> pa.Array:
        """The labels of each row, joined by the separator of the training files."""
        names, separator = self._model.classes, self._model.features.separator or " "
        sets, codes = np.unique(labels, axis=0, return_inverse=True)
        cells = [separator.join(names[c] for c in np.flatnonzero(row)) for row in sets]
        return make_strings([cells[code] for code in codes.reshape(-1).tolist()])

    def _labels(self, codes: np.ndarray) -> pa.Array:
        names = make_strings(list(self._model.classes))
        return names.take(pa.array(codes.astype(np.int32)))

    def _copied_column(self, column: pa.ChunkedArray, name: str, rows: np.ndarray | None) -> Any:
        """A column of the input for the output."""
        if rows is not None:
            column = column.take(pa.array(rows))
        if name in self._typed:
            return pa.array(to_numbers(column)[0], from_pandas=True)
        if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
            return self._trim(plain_strings(column))
        return column


def _floats(values: np.ndarray) -> pa.Array:
    plain = np.ascontiguousarray(values)
    kind = pa.float32() if plain.dtype == np.float32 else pa.float64()
    return pa.Array.from_buffers(kind, len(plain), [None, pa.py_buffer(plain)])


def _unused_name(name: str, used: list[str]) -> str:
    while name in used:
        name += "_"
    return name


def output_beside(path: str, folder: Path, to: str | None) -> Path:
    """The output path in a folder for one of several input files.

    >>> output_beside("new/a.csv.gz", Path("out"), None).as_posix()
    'out/a.csv.gz'
    >>> output_beside("a.ft", Path("out"), None).as_posix()
    'out/a.txt'
    """
    name = Path(path).name
    try:
        format, _ = output_format(name)
    except DataError:
        format = ""
    if to in (None, format) and format:
        return folder / name
    ending = {"text": "txt"}.get(to or "text", to or "txt")
    return folder / f"{name.split('.')[0]}.{ending}"
