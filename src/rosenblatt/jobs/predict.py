"""Write predictions: the rows of the input with labels, scores and probabilities."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rosenblatt.atomic_files import atomic_write
from rosenblatt.data import Batch, Source
from rosenblatt.data.bytes import STDIN
from rosenblatt.data.cells import label_strings, make_strings, plain_strings, to_numbers
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
from rosenblatt.jobs.conditions import Condition, judged
from rosenblatt.learners.pairs import PairWeights
from rosenblatt.learners.problems import decided, own_scores
from rosenblatt.models.model import Model, rank_scores

LABEL, SCORE, PROBABILITY = "predicted", "score", "probability"
STDOUT = STDIN
COLUMNAR = ("parquet", "arrow")


def among(model: Model, labels: tuple[str, ...]) -> Model:
    """A model that decides among some of its labels alone; not to be saved."""
    absent = [label for label in labels if label not in model.classes]
    if absent or len(set(labels)) < 2:
        what = f"{shown(absent[0])} is not one of" if absent else "name at least two of"
        raise OptionError(f"--labels: {what} the classes of the model: {listed(model.classes)}")
    if len(model.bias) == 1:
        return model
    if model.is_ordered:
        raise OptionError("--labels is for classes without an order; keep rows by --keep instead")
    chosen = [c for c, name in enumerate(model.classes) if name in labels]
    classes = tuple(model.classes[c] for c in chosen)
    bias = model.bias if model.by_pairs else model.bias[chosen]
    if model.head is None:
        is_listed = isinstance(model.weights, PairWeights)
        weights = model.weights.among(chosen) if is_listed else model.weights[:, chosen].copy()
        return replace(model, classes=classes, bias=bias, weights=weights)
    return replace(
        model, classes=classes, bias=bias, head=replace(model.head, chosen=tuple(chosen))
    )


@dataclass(frozen=True)
class OutputOptions:
    """Which columns are written, and of which rows."""

    top: int = 1  # the number of labels per row, the best first
    scores: bool = False  # also a column per class
    proba: bool = False  # probabilities instead of scores
    only: tuple[str, ...] | None = None  # the columns of the output, in order
    keep: tuple[Condition, ...] = ()  # write only rows for which all hold
    # Write only rows in which the value of the first model is at least that of its group: the cell
    # of a column, or "" without one.
    least: tuple[tuple[str, float], ...] | None = None
    by: str | None = None

    def check(self, model: Model) -> None:
        """Refuse options that the model does not support."""
        classes = model.classes
        if not 1 <= self.top <= len(classes):
            raise OptionError(f"--top is from 1 to {len(classes)}, the number of classes")
        if self.proba and model.calibration is None:
            model.probabilities(np.empty((0, model.n_scores)))  # says why there are none


def write_predictions(
    models: Model | Mapping[str, Model],
    source: Source,
    out: str | os.PathLike[str],
    options: OutputOptions = OutputOptions(),
    to: str | None = None,
) -> int:
    """Write the rows of a source with the columns ``predicted`` and ``score``.

    The score is that of the predicted class; for two classes the single score, which is positive
    for the second class; for ordered classes the larger, the higher the class. With `top`, each
    label has its own score. For multilabel models, all predicted labels are written, with the
    largest score.

    Several models, by name, are given in a mapping. Then there is a column for each: the
    probability of the second of its two classes, or of several the predicted label, and in a second
    column ``NAME_probability`` its probability. Models without probabilities write scores.

    The source was opened with the first model's features and needs no labels. Files are written
    atomically; standard output, ``"-"``, gets rows as they come. `to` is the format, if not that of
    the name. Standard output has the format of the input where possible; lines of plain text become
    label, score and line, separated by tabs.

    Returns the number of rows written.
    """
    models = {"": models} if isinstance(models, Model) else models
    for model in models.values():
        options.check(model)
    for condition in options.keep:
        condition.check(models)
    if out == STDOUT:
        format, packing = to or FORMATS[source.format].printed, None
        output_format("-", format)
    else:
        format, packing = output_format(out, to)
    predict = _Predict(models, source, options, format)
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

    def __init__(
        self, models: Mapping[str, Model], source: Source, options: OutputOptions, format: str
    ) -> None:
        self._models, self._model, self._options = models, next(iter(models.values())), options
        nothing = {name: np.empty((0, model.n_scores)) for name, model in models.items()}
        inputs, new = source.column_names, list(self._new_columns(nothing, None)[0])
        input_names = set(inputs)
        if options.only is None:
            copied, self._new = inputs, {name: _unused_name(name, inputs) for name in new}
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
        self._copied, source.kept_columns = copied, columns_read(models, copied, options.by)
        for name in source.kept_columns:
            if name not in input_names:
                message = f"there is no column {shown(name)}; the columns are {listed(inputs)}"
                raise DataError(message, path=source.files[0])
        is_cells = bool(FORMATS[source.format].delimiters)
        self.numbers = source.number_columns() & set(copied) if is_cells else set()
        self._copies_bytes = bool(FORMATS[source.format].parts) and format in COLUMNAR
        # In the text of fastText lines, labels were replaced by blanks.
        is_fasttext = FORMATS[source.format].name == "fasttext"
        trim = pc.utf8_trim if is_fasttext else pc.utf8_rtrim
        self._trim = partial(trim, characters=" \t\r\n" if is_fasttext else "\r\n")
        self._typed = self.numbers if format in COLUMNAR else set()

    def __call__(self, batch: Batch) -> pa.Table:
        """The output table of a batch."""
        new, rows = self._new_columns(scores_of(self._models, batch), batch)
        columns = {name: new[old] for old, name in self._new.items()}
        for name in self._copied:
            assert batch.table is not None, "only tables have columns to copy"
            columns[name] = self._copied_column(batch.table[name], name, rows)
        return pa.table({name: columns[name] for name in self.names})

    def _new_columns(
        self, scored: Mapping[str, np.ndarray], batch: Batch | None
    ) -> tuple[dict[str, pa.Array], np.ndarray | None]:
        """The new columns by name, and the indices of the rows that are written; None for all."""
        rows = self._kept(scored, batch)
        if rows is not None:
            scored = {name: scores[rows] for name, scores in scored.items()}
        if len(self._models) == 1:
            return self._columns_of_one(next(iter(scored.values()))), rows
        columns: dict[str, pa.Array] = {}
        for name, model in self._models.items():
            codes, values = judged(model, scored[name])
            if len(model.classes) == 2:
                columns[name] = _floats(values)
            else:
                no_probability = model.calibration is None or model.is_ordered
                kind = SCORE if no_probability else PROBABILITY
                columns |= {name: _labels(model, codes), f"{name}_{kind}": _floats(values)}
        return columns, rows

    def _columns_of_one(self, scores: np.ndarray) -> dict[str, pa.Array]:
        """The new columns of a single model."""
        model, options = self._model, self._options
        labels = model.decide(scores) if model.multilabel else None
        codes = decided(scores, model.threshold)
        values = model.probabilities(scores) if options.proba else own_scores(scores)
        kind = PROBABILITY if options.proba else SCORE
        every, columns = np.arange(len(codes)), {}
        if options.top == 1:
            columns[LABEL] = _labels(model, codes) if labels is None else self._label_sets(labels)
            single = not options.proba and not options.scores
            of_row = values[every, codes]
            if single and model.is_ordered:
                of_row = rank_scores(scores)
            elif single and len(model.bias) == 1:
                of_row = scores[:, 0]
            columns[kind] = _floats(of_row)
        else:
            best = model.ranked(scores, values)[:, : options.top].T
            for rank, at in enumerate(best, start=1):
                ending = "" if rank == 1 else f"_{rank}"
                columns[LABEL + ending] = _labels(model, at)
                columns[kind + ending] = _floats(values[every, at])
        if options.scores:
            for name, column in zip(model.classes, values.T, strict=True):
                columns[f"{kind}_{name}"] = _floats(column)
        return columns

    def _kept(self, scored: Mapping[str, np.ndarray], batch: Batch | None) -> np.ndarray | None:
        """The indices of the rows that are written; None for all."""
        options, model = self._options, self._model
        scores = next(iter(scored.values()))
        if batch is None or not (options.keep or options.least):
            return None
        fit = np.ones(len(scores), bool)
        for condition in options.keep:
            fit &= condition.holds(self._models, scored)
        if options.least is not None:
            least = dict(options.least)
            groups = groups_of(batch, options.by)
            values = judged(model, scores)[1].astype(np.float32)  # as those they were taken from
            fit &= values >= np.array([least[group] for group in groups], np.float32)
        return np.flatnonzero(fit)

    def _label_sets(self, labels: np.ndarray) -> pa.Array:
        """The labels of each row, joined by the separator of the training files."""
        names, separator = self._model.classes, self._model.features.separator or " "
        sets, codes = np.unique(labels, axis=0, return_inverse=True)
        cells = [separator.join(names[c] for c in np.flatnonzero(row)) for row in sets]
        return make_strings([cells[code] for code in codes.reshape(-1).tolist()])

    def _copied_column(self, column: pa.ChunkedArray, name: str, rows: np.ndarray | None) -> Any:
        """A column of the input for the output."""
        if rows is not None:
            column = column.take(pa.array(rows))
        if name in self._typed:
            return pa.array(to_numbers(column)[0], from_pandas=True)
        is_bytes = pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)
        if self._copies_bytes or not is_bytes:
            return column
        try:
            return self._trim(plain_strings(column))
        except pa.ArrowInvalid:
            raise DataError(
                f"the column {shown(name)} holds bytes that are no text: write Parquet "
                "(--to parquet), or leave it out (--only)"
            ) from None


def columns_read(models: Mapping[str, Model], copied: list[str], by: str | None) -> list[str]:
    """The columns that are read: those to copy, to group by, and of all models but the first."""
    others = [c.name for model in list(models.values())[1:] for c in model.features.columns]
    return list(dict.fromkeys([*copied, *([] if by is None else [by]), *others]))


def scores_of(models: Mapping[str, Model], batch: Batch) -> dict[str, np.ndarray]:
    """The scores of a batch by each model; those of the same features share the hashed rows."""
    made: list[tuple[Any, Any]] = []
    scored = {}
    for name, model in models.items():
        # The name of the label, and the order of labels, do not concern the features.
        features = replace(model.features, label=None, separator=None)
        rows = batch.rows if not made else next((r for f, r in made if f == features), None)
        if rows is None:
            if batch.table is None:
                raise OptionError(f"the models have different features: predict with {name} alone")
            rows = features.rows(batch.table)
        made.append((features, rows))
        scored[name] = model.scores(rows)
    return scored


def groups_of(batch: Batch, by: str | None) -> list[str]:
    """The group of each row: the cell of a column as text, "" for all rows without a column."""
    if by is None:
        return [""] * len(batch)
    assert batch.table is not None, "only tables have columns"
    return [str(value or "") for value in label_strings(batch.table[by]).to_pylist()]


def _labels(model: Model, codes: np.ndarray) -> pa.Array:
    return make_strings(list(model.classes)).take(pa.array(codes.astype(np.int32)))


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
