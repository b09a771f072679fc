"""Rows in, the same rows out in the same order, with predicted labels, scores, probabilities."""

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

from rosenblatt.data import Batch, Source
from rosenblatt.data.cells import make_strings, plain_strings, to_numbers
from rosenblatt.data.files import STDIN
from rosenblatt.data.writers import (
    LINE_FORMATS,
    compressed,
    header_of,
    lines_of,
    output_format,
    writer,
)
from rosenblatt.errors import DataError, OptionError, listed, shown
from rosenblatt.files import atomic_write
from rosenblatt.models.model import Model

LABEL, SCORE, PROBABILITY = "predicted", "score", "probability"
STDOUT = STDIN

# What lines of standard output are, by the format of the input.
_ALIKE = {"csv": "csv", "tsv": "tsv", "parquet": "jsonl", "arrow": "jsonl", "jsonl": "jsonl"}


@dataclass(frozen=True)
class OutputOptions:
    """What is written, and of which rows."""

    top: int = 1  # so many labels of each row, the best first
    scores: bool = False  # a column for every class, too
    proba: bool = False  # probabilities in the place of scores
    columns: tuple[str, ...] | None = None  # of the input; all by default
    only: tuple[str, ...] | None = None  # columns of the input or made here, in this order
    keep_if: tuple[str, ...] = ()  # write only rows predicted to have one of these labels
    # Write only rows in which the probability, or the score, of one of these labels (by default of
    # the predicted one) is at least this, whatever is predicted.
    at_least: float | None = None
    min_score: float | None = None

    def check(self, model: Model) -> None:
        """Refuse what a model cannot give."""
        known = model.classes
        for label in self.keep_if:
            if label not in known:
                message = f"the label {shown(label)} is not a class of the model: {listed(known)}"
                raise OptionError(message)
        if not 1 <= self.top <= len(known):
            raise OptionError(f"--top is from 1 to {len(known)}, the number of classes")
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
    wanted: OutputOptions = OutputOptions(),  # noqa: B008 - immutable
    to: str | None = None,
) -> int:
    """Write the rows of a source with the columns ``predicted`` and ``score``.

    The score is that of the predicted class; for two classes the one score there is, which is
    positive for the second class. Where several labels are wanted, each has a score of its own.
    Where a row may have several labels, all that are predicted are written, with the largest score.

    The source was opened with the model's features and needs no labels. A file appears when all
    rows are written; standard output, ``"-"``, gets rows as they come. `to` is the format, where
    the name does not tell it. Standard output has that of the input where it can; lines of plain
    text become the label, the score and the line, separated by tabs.

    Returns the number of rows written.
    """
    wanted.check(model)
    if out == STDOUT:
        format, packing = to or _ALIKE.get(source.format, "text"), None
        output_format("-", format)
    else:
        format, packing = output_format(out, to)
    predict = _Predict(model, source, wanted, format)
    in_lines, numbers = format in LINE_FORMATS, frozenset(predict.numbers)

    def made(batch: Batch) -> tuple[Any, int]:
        table = predict(batch)
        return lines_of(table, format, numbers) if in_lines else table, table.num_rows

    with ExitStack() as stack:
        file = stack.enter_context(_standard_output() if out == STDOUT else atomic_write(out))
        stream = stack.enter_context(compressed(file, packing))
        write = stream.write if in_lines else stack.enter_context(writer(stream, format))
        if in_lines and source.has_header:
            write(header_of(predict.names, format))
        rows = 0
        for part, count in source.map_batches(made):
            write(part)
            rows += count
            if out == STDOUT:
                file.flush()
        return rows


def write_nothing(out: str | os.PathLike[str], to: str | None = None) -> None:
    """Write an output without rows, where the input has none."""
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
    """From a batch to the table that is written; threads call it at the same time.

    Its columns are `names`, of which `numbers` are cells of a text file that hold numbers.
    """

    def __init__(self, model: Model, source: Source, wanted: OutputOptions, format: str) -> None:
        self._model, self._wanted = model, wanted
        self._places = {name: i for i, name in enumerate(model.classes)}
        given, made = source.column_names, list(self._made(np.empty((0, len(model.bias))))[0])
        kept = given if wanted.columns is None else list(wanted.columns)
        own: dict[str, str] = {}  # the name of a column that is made, where it is not its own
        if wanted.only is None:
            own = {name: _free(name, kept) for name in made}
            # Text has no quotes: what may hold tabs comes last.
            self.names = [*kept, *own.values()]
            if format == "text":
                self.names = [*own.values(), *kept]
        else:
            own = {name: name for name in made if name in wanted.only}
            kept = [name for name in wanted.only if name not in own]
            self.names = list(wanted.only)
        for name in kept:
            if name not in given:
                message = (
                    f"there is no column {shown(name)}; the columns are {listed(given + made)}"
                )
                raise DataError(message, path=source.files[0])
        self._own, self._kept = own, kept
        source.kept_columns = kept
        is_cells = source.format in ("csv", "tsv")
        self.numbers = source.number_columns() & set(kept) if is_cells else set()
        # The text of fastText lines begins with the blanks that its labels were replaced by.
        trim = pc.utf8_trim if source.format == "fasttext" else pc.utf8_rtrim
        self._trim = partial(trim, characters=" \t\r\n" if source.format == "fasttext" else "\r\n")
        self._typed = self.numbers if format in ("parquet", "arrow") else set()

    def __call__(self, batch: Batch) -> pa.Table:
        """The predictions of a batch."""
        made, passed = self._made(self._model.scores(batch.rows))
        columns = {new: made[old] for old, new in self._own.items()}
        for name in self._kept:
            assert batch.table is not None, "columns are kept of tables only"
            columns[name] = self._given(batch.table[name], name, passed)
        return pa.table({name: columns[name] for name in self.names})

    def _passed(
        self, codes: np.ndarray, own: np.ndarray, values: np.ndarray, said: np.ndarray | None
    ) -> np.ndarray | None:
        """The rows that are written; None for all."""
        wanted = self._wanted
        labels = [self._places[label] for label in wanted.keep_if]
        least = wanted.min_score if wanted.at_least is None else wanted.at_least
        if least is None and said is not None and labels:
            return np.flatnonzero(said[:, labels].any(axis=1))
        if least is None:
            return np.flatnonzero(np.isin(codes, labels)) if labels else None
        looked_at = own if wanted.at_least is None else values
        if labels:
            return np.flatnonzero(looked_at[:, labels].max(axis=1) >= least)
        return np.flatnonzero(looked_at[np.arange(len(codes)), codes] >= least)

    def _made(self, scores: np.ndarray) -> tuple[dict[str, pa.Array], np.ndarray | None]:
        """The columns that are made of scores, by name, and the rows that are written."""
        model, wanted = self._model, self._wanted
        said = model.decide_labels(scores) if model.has_several_labels else None
        codes, own = model.decide(scores), own_scores(scores)
        needs_probabilities = wanted.proba or wanted.at_least is not None
        values = model.probabilities(scores) if needs_probabilities else own
        passed = self._passed(codes, own, values, said)
        if passed is not None:
            scores, codes, own, values = (array[passed] for array in (scores, codes, own, values))
            said = None if said is None else said[passed]
        kind, values = (PROBABILITY, values) if wanted.proba else (SCORE, own)
        rows, made = np.arange(len(codes)), {}
        if wanted.top == 1:
            made[LABEL] = self._labels(codes) if said is None else self._label_sets(said)
            alone = len(model.bias) == 1 and not wanted.proba and not wanted.scores
            made[kind] = _floats(scores[:, 0] if alone else values[rows, codes])
        else:
            first = values.copy()
            first[rows, codes] = np.inf  # the predicted label comes first, whatever was chosen by
            best = np.argsort(-first, axis=1, kind="stable")[:, : wanted.top].T
            for rank, at in enumerate(best, start=1):
                ending = "" if rank == 1 else f"_{rank}"
                made[LABEL + ending] = self._labels(at)
                made[kind + ending] = _floats(values[rows, at])
        if wanted.scores:
            for name, column in zip(model.classes, values.T, strict=True):
                made[f"{kind}_{name}"] = _floats(column)
        return made, passed

    def _label_sets(self, said: np.ndarray) -> pa.Array:
        """The labels of each row, separated as in the files the model was trained on."""
        names, mark = self._model.classes, self._model.features.separator or " "
        patterns, place = np.unique(said, axis=0, return_inverse=True)
        cells = [mark.join(names[c] for c in np.flatnonzero(row)) for row in patterns]
        return make_strings([cells[at] for at in place.reshape(-1).tolist()])

    def _labels(self, codes: np.ndarray) -> pa.Array:
        names = make_strings(list(self._model.classes))
        return names.take(pa.Array.from_buffers(
            pa.int32(), len(codes), [None, pa.py_buffer(codes.astype(np.int32))]
        ))  # fmt: skip

    def _given(self, column: pa.ChunkedArray, name: str, passed: np.ndarray | None) -> Any:
        """A column of the input as it is written."""
        if passed is not None:
            column = column.take(pa.array(passed))
        if name in self._typed:
            return pa.array(to_numbers(column)[0], from_pandas=True)
        if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
            return self._trim(plain_strings(column))
        return column


def own_scores(scores: np.ndarray) -> np.ndarray:
    """The score of each class (rows, classes): of two, that of the first is minus the other.

    >>> own_scores(np.array([[1.5], [-2.0]])).tolist()
    [[-1.5, 1.5], [2.0, -2.0]]
    """
    return np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores


def _floats(values: np.ndarray) -> pa.Array:
    plain = np.ascontiguousarray(values)
    kind = pa.float32() if plain.dtype == np.float32 else pa.float64()
    return pa.Array.from_buffers(kind, len(plain), [None, pa.py_buffer(plain)])


def _free(name: str, taken: list[str]) -> str:
    while name in taken:
        name += "_"
    return name


def output_beside(path: str, folder: Path, to: str | None) -> Path:
    """Where the predictions of one of several files go: a file of its name in a folder.

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
