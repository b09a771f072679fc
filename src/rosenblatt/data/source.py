"""A source: files as batches of sparse rows with their labels."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from operator import add
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from rosenblatt.data.arrow_tables import (
    Chunk,
    check_chunk,
    labelled_rows,
    stray_message,
    weights_of,
)
from rosenblatt.data.bytes import is_stream
from rosenblatt.data.cells import label_strings, make_strings
from rosenblatt.data.columns import Column, guess_columns
from rosenblatt.data.features import Features
from rosenblatt.data.in_order import in_order
from rosenblatt.data.labels import (
    LabelSets,
    indicator_columns,
    refuse_amounts,
    sorted_labels,
    split_labels,
)
from rosenblatt.data.readers import Piece, Reader
from rosenblatt.data.samples import joined
from rosenblatt.data.sparse_lines import Lines, with_labels
from rosenblatt.errors import DataError, listed, shown
from rosenblatt.kernels.text import Rows

Result = TypeVar("Result")

_MOST_STRAYS = 0.25  # of the cells of a column of numbers or dates may be none
_NAMED_STRAYS = 5  # of each column
MOST_NAMED = 20  # of all
MOST_CLASSES = 1000  # of services, of runs on shards, and of rows that have several labels
MOST_LABELS = 50_000  # of other files
TAG = "tag"  # the column for the tags of Vowpal Wabbit lines
FEWEST_ROWS = 3  # per label, on average, where labels are so many
TOO_MANY = (
    "there are {} different labels, and a model holds weights for each of them; if this column "
    "holds names or amounts rather than classes, name another one as the label, else put rare "
    "labels together, or train one model per group of labels"
)


_MANY_ROWS = 1 << 22
_LESS_THAN_BITS = (
    "there are more than {:,} rows of less than a bit each: if that is meant, write them without "
    "compression"
)


class StrayCellsWarning(UserWarning):
    """Some cells of a column of numbers or dates are neither, and count as missing."""


@dataclass(frozen=True)
class Batch:
    """Some rows: sparse features, labels as codes into ``Source.classes``, and their table.

    Attributes
    ----------
    rows : Rows
        The features, in CSR form.
    labels : int32 array or None
        None if the file has no label column (and none was asked for).
    weights : float array or None
        Importances, from Vowpal Wabbit files.
    table : pyarrow.Table or None
        The columns that were read, for tables; the tags of Vowpal Wabbit lines.
    size : int
        The bytes of input, approximately.
    """

    rows: Rows
    labels: np.ndarray | None
    weights: np.ndarray | None
    table: pa.Table | None
    size: int

    def __len__(self) -> int:
        return len(self.rows.indptr) - 1


class _Hashed(NamedTuple):
    """A batch as a worker thread makes it; its labels are names that are coded later, in order."""

    batch: Batch
    chunk: Chunk | Lines
    names: list[str]
    codes: np.ndarray | None
    missing: Mapping[str, int]
    strays: Mapping[str, np.ndarray]


class Source:
    """Batches of rows; made by :func:`open`. Iterating again reads the files again.

    Attributes
    ----------
    files : list of str
        The files, in order.
    format : str
        Their format.
    features : Features
        How rows become features.
    classes : list of str
        The labels in order of appearance, batch by batch, sorted within a batch.
    labelled : bool
        Whether the file has the label column.
    kept_columns : collection of str, or None
        Further columns of a table for ``Batch.table``, as in the file; None for all.
    rows, bad : int
        Rows read and rows skipped by the latest pass.
    missing, strays : Counter
        Missing values by column, and cells that are no numbers or dates in columns of such, which
        count as missing, of the latest pass. Rows that were left out because they have no label
        count for its column.
    named_strays : list of tuples
        File, line, column and content of the first such cells of each column.
    """

    def __init__(
        self,
        reader: Reader,
        features: Features,
        labelled: bool,
        classes: Iterable[str] | None,
        skip: bool,
    ) -> None:
        self.features, self.labelled = features, labelled
        self._reader, self._skip = reader, skip
        self.files, self.format = reader.files, reader.format
        self.fingerprint, self.last_changes = reader.fingerprint, reader.last_changes
        self.classes: list[str] = list(classes) if classes is not None else self._named_labels()
        self.kept_columns: Collection[str] | None = ()
        self.label_sets = LabelSets()
        self._weight: str | None = None
        self.rows = self.bad = 0
        self.sampled_classes = 0.0  # labels in a sample of the rows; 0 if not known
        self.thresholds = 0  # between ordered classes; a row has a copy in batches for each
        self.missing: Counter[str] = Counter()
        self.strays: Counter[str] = Counter()
        self.named_strays: list[tuple[str, int, str, str]] = []
        self._closed = classes is not None
        self.has_header = reader.kind.names_columns and reader.header is not False

    def take_new_classes(self) -> None:
        """Let labels that are not classes become classes."""
        self._closed = False

    def fix_classes(self, classes: Iterable[str], label_sets: LabelSets | None = None) -> None:
        """Fix the classes and their codes; other labels are errors from now on."""
        self.classes, self._closed = list(classes), True
        self.label_sets = self.label_sets if label_sets is None else label_sets

    def __iter__(self) -> Iterator[Batch]:
        self._begin()
        return self.batches()

    def _begin(self) -> None:
        self.rows, self.bad, self.named_strays = 0, 0, []
        self.missing, self.strays = Counter(), Counter()

    def batches(self, start: int = 0) -> Iterator[Batch]:
        """The batches from number `start` on; counts are not reset."""
        pieces = islice(self._pieces(), start, None)
        # Hashed rows are large: few batches are made ahead.
        with self._reader.unchanged():
            for hashed in in_order(pieces, self._hash, 2, 0):
                yield replace(hashed.batch, labels=self._finish(hashed))
                del hashed

    def map_batches(self, work: Callable[[Batch], Result]) -> Iterator[Result]:
        """The results of `work` on each batch, without labels, in order, by several threads."""
        self._begin()

        def apply(piece: Piece) -> tuple[_Hashed, Result]:
            hashed = self._hash(piece)
            return hashed, work(hashed.batch)

        with self._reader.unchanged():
            for hashed, result in in_order(self._pieces(), apply):
                self._finish(hashed)
                yield result

    def _pieces(self) -> Iterator[Piece]:
        self._reader.bits, self._reader.products = self.features.ngrams.bits, self.features.products
        # Labels that are not used may be several per row.
        self._reader.multilabel = self.features.multilabel or not self.labelled
        kept, numbers = self.kept_columns, _number_names(self.features.columns)
        return self._reader.pieces(
            self._wanted(), set() if kept is None else numbers.difference(kept)
        )

    def _hash(self, piece: Piece) -> _Hashed:
        """Read and hash a chunk."""
        part = piece()
        if isinstance(part, Lines):
            before = len(part.codes)
            part = with_labels(part) if self.labelled else part
            codes = part.codes if self.labelled else None
            table = None
            if self.kept_columns and part.tags is not None:
                table = pa.table({TAG: make_strings(part.tags())})
            batch = Batch(part.rows, None, part.weights, table, part.size)
            unlabelled = before - len(part.codes)
            missing = {"": unlabelled} if unlabelled else {}
            return _Hashed(batch, part, part.names, codes, missing, {})
        label, names, codes = self.features.label if self.labelled else None, [], None
        chunk = self._check(part, label)
        if label is not None:
            labels = label_strings(chunk.table[label])
            labels = labels.fill_null("") if self.features.multilabel else labels
            coded = labels.dictionary_encode()
            names, codes = coded.dictionary.to_pylist(), np.from_dlpack(coded.indices)
        rows, missing, strays = self.features.hashed(chunk.table)
        left_out = part.table.num_rows - chunk.table.num_rows - (chunk.bad - part.bad)
        if label is not None and left_out:
            missing = missing | {label: left_out}
        weights = None if self._weight is None else weights_of(chunk, self._weight)
        batch = Batch(rows, None, weights, chunk.table, part.size)
        return _Hashed(batch, chunk, names, codes, missing, strays)

    def weigh_by(self, name: str) -> None:
        """Use a column for the weights of the rows; it is then not a feature."""
        if self.features.origin != "table":
            message = f"{self.features.origin} rows bring their own weights or have none"
            raise DataError(message, path=self.files[0])
        self._set_aside("weight", name)
        self._weight = name

    def group_by(self, name: str) -> None:
        """Let batches have the column that names groups of rows; it is then not a feature."""
        if self.features.origin != "table":
            raise DataError(f"{self.features.origin} rows have no groups", path=self.files[0])
        self._set_aside("group", name)
        self.kept_columns = (*(self.kept_columns or ()), name)

    def _set_aside(self, what: str, name: str) -> None:
        """Leave a column out of the features."""
        if name not in self.column_names or name in self._label_columns():
            fault = "is the label" if name in self._label_columns() else "is not a column"
            message = f"the {what} {shown(name)} {fault}; the columns are "
            raise DataError(message + listed(self.column_names), path=self.files[0])
        left = tuple(c for c in self.features.columns if c.name != name)
        if not left:
            raise DataError("no column is left to learn from", path=self.files[0])
        self.features = replace(self.features, columns=left)

    def first_table(self) -> pa.Table | None:
        """The first rows as in batches, or the first lines of a Vowpal Wabbit file, or None."""
        if self.features.origin != "table":
            has_lines = self.features.origin == "vw" and not any(map(is_stream, self.files))
            return self._reader.first_lines() if has_lines else None
        columns = self._wanted() or self.column_names
        head = Chunk(self._reader.head().select(columns), self.files[0], partial(add, 1))
        return self._check(head, self.features.label if self.labelled else None).table

    def lines(self) -> Iterator[str]:
        """The lines of files of features, unparsed, without blank lines and comments."""
        for block in self._reader.blocks():
            for _, line in block.filled_lines():
                if self.format != "svmlight" or not line.lstrip().startswith(b"#"):
                    yield line.decode(errors="replace")

    def sample(self) -> pa.Table:
        """Rows from all over the files, with all columns; the first ones, where that is costly."""
        head = self._reader.head()
        columns = joined(self._reader.sample(), head)
        if len({len(cells) for cells in columns.values()}) > 1:  # numbers alone from all over
            columns = joined([head], head)
        return pa.table(columns)

    def first_chunk(self) -> Chunk | None:
        """The first rows with all columns, as in the file; None for sparse formats."""
        return self._reader.head_chunk() if self.features.origin == "table" else None

    @property
    def is_sampled_at_start(self) -> bool:
        """Whether kinds and scales are those of the first rows only, and more rows follow."""
        return self._reader.begins_only

    def _wanted(self) -> list[str] | None:
        """The columns of a table to read; None for all."""
        if self.kept_columns is None or self.features.origin != "table":
            return None
        label = self._label_columns() if self.labelled else ()
        weight = [self._weight] if self._weight is not None else []
        needed = [*label, *weight, *(c.name for c in self.features.columns)]
        return list(dict.fromkeys([*needed, *self.kept_columns]))

    def _named_labels(self) -> list[str]:
        """The names of the label columns, if there is one per label."""
        if not self.labelled or not self.features.multilabel:
            return []
        return list(indicator_columns(self.features.label, self.column_names))

    def _label_columns(self) -> tuple[str, ...]:
        """The label column, or the columns of 0 and 1, one per label."""
        label = self.features.label
        single = () if label is None else (label,)
        return indicator_columns(label, self.column_names) or single

    @property
    def column_names(self) -> list[str]:
        """All columns of a table; of Vowpal Wabbit lines the tags, if there are any."""
        if self.features.origin != "table":
            return [TAG] if self._has_tags else []
        return self._reader.column_names

    @cached_property
    def _has_tags(self) -> bool:
        return self._reader.has_tags()

    def number_columns(self) -> set[str]:
        """The columns of a table that hold numbers, features or not."""
        if not self.column_names:
            return set()
        known, words = self.features.columns, self.features.missing_words
        names, head = {c.name for c in known}, self._reader.head()
        others = {name: head[name] for name in head.column_names if name not in names}
        return _number_names(known + guess_columns(others, self.features.label, missing=words))

    def _check(self, chunk: Chunk, label: str | None) -> Chunk:
        f, skips = self.features, self._reader.kind.skips_unlabelled
        may_lack = f.multilabel or skips
        checked = check_chunk(
            chunk, f.columns, label, self._skip, f.missing_words, may_lack, cells=self._skip
        )
        skips = skips and label is not None and not f.multilabel
        return labelled_rows(checked, str(label)) if skips else checked

    def _finish(self, hashed: _Hashed) -> np.ndarray | None:
        """Code the labels and count: in file order, so that codes do not depend on timing."""
        self.rows += len(hashed.batch)
        self.bad += hashed.chunk.bad
        if self.rows > max(_MANY_ROWS, 8 * self._reader.size):
            raise DataError(_LESS_THAN_BITS.format(_MANY_ROWS), path=self.files[0])
        self.missing.update(hashed.missing)
        for name, rows in hashed.strays.items():
            self._count_strays(name, rows, hashed.chunk)
        if hashed.codes is None:
            return None
        table = np.array(self._class_codes(hashed), dtype=np.int32)
        return table[hashed.codes] if len(table) else np.empty(0, np.int32)

    def _count_strays(self, name: str, rows: np.ndarray, chunk: Any) -> None:
        """Count cells that are no numbers or dates; DataError if they are too many for strays."""
        before = self.strays[name]
        self.strays[name] += len(rows)
        present = self.rows - self.missing[name]
        if self.strays[name] > _MOST_STRAYS * present:
            row, column = int(rows[0]), next(c for c in self.features.columns if c.name == name)
            message = stray_message(column, chunk.table[name][row].as_py())
            if present > 1:
                message += (
                    f"; {self.strays[name]:,} of the first {present:,} cells are none: "
                    f"say --column {name}=category (columns=), or leave the column out"
                )
            raise DataError(message, path=chunk.path, line=chunk.line_of(row), column=name)
        for row in rows[
            : max(0, min(_NAMED_STRAYS - before, MOST_NAMED - len(self.named_strays)))
        ].tolist():
            cell = shown(chunk.table[name][row].as_py())
            self.named_strays.append((chunk.path, chunk.line_of(row), name, cell))

    def warn_of_strays(self) -> None:
        """Warn of the cells that count as missing though there is something in them."""
        if self.strays:
            counts = ", ".join(f"{n:,} in {shown(name)}" for name, n in self.strays.most_common(5))
            named = [
                f"{path}, line {at}, {shown(c)}: {cell}" for path, at, c, cell in self.named_strays
            ]
            warnings.warn(
                f"cells that are no numbers or dates count as missing: {counts} "
                f"({'; '.join(named)}); --skip-bad-rows leaves such rows out",
                StrayCellsWarning,
                stacklevel=2,
            )

    def _class_codes(self, hashed: _Hashed) -> list[int]:
        """The code of each label in a batch; new labels become classes."""
        separator, names = self.features.separator, hashed.names
        cells = [[n] if separator is None else split_labels(n, separator) for n in names]
        known = {name: code for code, name in enumerate(self.classes)}
        new = sorted_labels({name for labels in cells for name in labels} - known.keys())
        if new and self._closed:
            code = next(i for i, labels in enumerate(cells) if new[0] in labels)
            raise self._unknown_class(new[0], hashed, code)
        if new:
            labels, label = [*self.classes, *new], self.features.label
            refuse_amounts(labels, self.rows, self.files[0], label)
        if len(known) + len(new) > (most := MOST_LABELS if separator is None else MOST_CLASSES):
            message = TOO_MANY.format(f"more than {most:,}")
            raise DataError(message, path=self.files[0], column=self.features.label)
        known |= {name: code for code, name in enumerate(new, len(known))}
        self.classes += new
        if separator is None:
            return [known[name] for name in names]
        return [self.label_sets.number(known[label] for label in labels) for labels in cells]

    def _unknown_class(self, name: str, hashed: _Hashed, code: int) -> DataError:
        row = int(np.flatnonzero(hashed.codes == code)[0])
        message = f"the label {shown(name)} is not a class of the model: {listed(self.classes)}"
        chunk, label = hashed.chunk, self.features.label
        return DataError(message, path=chunk.path, line=chunk.line_of(row), column=label)


def _number_names(columns: Iterable[Column]) -> set[str]:
    return {c.name for c in columns if c.kind == "number" and not c.form}
