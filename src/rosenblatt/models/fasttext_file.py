"""Read the classifiers of fastText, ``.bin`` and ``.ftz``, as models.

The scores of such a classifier are a matrix times the mean of the vectors of the features of a
text, so that vectors and matrix can be multiplied once for all (Zolotov and Kung 2017): a feature
then has one weight per class, or a single one for two classes.

The file, in little-endian order: magic number and version; twelve integers and a double, the
arguments; the dictionary (entries with their counts and types, buckets kept by pruning); the
vectors; the output matrix. A matrix is dense, or quantised: each row a byte per part, which chooses
one of 256 centroids, and perhaps a byte that chooses its norm.
"""

from __future__ import annotations

import io
import math
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from rosenblatt.data.columns import Column
from rosenblatt.data.features import Features
from rosenblatt.errors import ModelFormatError
from rosenblatt.kernels.fasttext import FastText
from rosenblatt.kernels.packing import MOST_BITS, Numbering
from rosenblatt.kernels.text import Ngrams
from rosenblatt.models.calibration import STEPS, Calibration
from rosenblatt.models.head import Head
from rosenblatt.models.model import Array, Model
from rosenblatt.models.tensorfile import reporting_damage

MAGIC = 793712314
_VERSIONS = (11, 12)
_SUPERVISED = 3
LOSSES = {1: "hs", 2: "ns", 3: "softmax", 4: "ova"}
_PREFIX = "__label__"
_CENTROIDS = 256
_CHUNK = 1 << 24  # bytes of a matrix read at a time
_ROWS = 1 << 16  # of quantised rows decoded at a time
_FREQUENT = 20_000  # words of which the strongest are named
_NAMED = 25  # per class


def from_fasttext(
    path: str | os.PathLike[str], *, text: str = "text", label: str = "label", several: bool = False
) -> Model:
    """Read a classifier that fastText trained, as a model with the same probabilities.

    Parameters
    ----------
    path : path
        A ``.bin`` or ``.ftz`` file.
    text, label : str
        The names of the columns of tables to predict; lines of text have no columns.
    several : bool
        Whether a row may have several labels, or none: those of a probability above one half. Only
        for the losses ``ova`` and ``ns``.

    Returns
    -------
    Model
        Where there are fewer classes than dimensions, the two matrices are multiplied.

    Raises
    ------
    ModelFormatError
        If the file is damaged, of word vectors, or of something else.

    Notes
    -----
    The probabilities are those of fastText, but for 1e-5 that it adds to each (with ``loss=hs``, at
    each level of the tree), which is why it prints 1.00001. Line breaks within a text count as
    spaces. A text without any feature has equal scores, where fastText predicts nothing.

    Examples
    --------
    >>> from_fasttext("pyproject.toml")
    Traceback (most recent call last):
    rosenblatt.errors.ModelFormatError: pyproject.toml is not a fastText model
    """
    with Path(path).open("rb") as file:
        reader = _Reader(file, os.fspath(path))
        with reporting_damage(reader.name):
            return _model(reader, Column(text, "text"), label, several)


def is_fasttext(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as a fastText model does."""
    with Path(path).open("rb") as file:
        return file.read(4) == MAGIC.to_bytes(4, "little")


class _Reader:
    """Reads numbers and arrays, never more than the file has."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self.file, self.name = file, name
        self.left = file.seek(0, io.SEEK_END)
        file.seek(0)

    def numbers(self, form: str) -> tuple[Any, ...]:
        """Numbers by a format of :mod:`struct`."""
        return struct.unpack("<" + form, self.bytes(struct.calcsize("<" + form)))

    def bytes(self, size: int) -> bytes:
        """The next bytes; a ModelFormatError if there are fewer."""
        if not 0 <= size <= self.left:
            raise ModelFormatError(f"{self.name} is damaged: it ends too early")
        self.left -= size
        raw = self.file.read(size)
        if len(raw) < size:
            raise ModelFormatError(f"{self.name} was changed while it was read")
        return raw

    def array(self, kind: Any, *shape: int) -> Array:
        """An array of finite numbers."""
        size = math.prod(shape) * np.dtype(kind).itemsize if min(shape) >= 0 else -1
        array = np.frombuffer(self.bytes(size), kind).reshape(shape)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError("it holds numbers that are not finite")
        return array


class _Arguments(NamedTuple):
    """The arguments of fastText in the order of the file."""

    dim: int
    ws: int
    epoch: int
    min_count: int
    neg: int
    word_ngrams: int
    loss: int
    model: int
    bucket: int
    minn: int
    maxn: int
    lr_update_rate: int
    t: float


@dataclass
class _Dictionary:
    """The entries of a dictionary: words before labels; buckets kept by pruning in row order."""

    spec: FastText
    labels: list[str]
    counts: list[int]  # of labels
    pruned: Array | None


def _model(reader: _Reader, text: Column, label: str, several: bool) -> Model:
    """The model of a file."""
    if reader.left < 8 or reader.numbers("i")[0] != MAGIC:
        raise ModelFormatError(f"{reader.name} is not a fastText model")
    [version] = reader.numbers("i")
    if version not in _VERSIONS:
        raise ModelFormatError(f"{reader.name} has version {version} of fastText's format, not 12")
    arguments = _Arguments(*reader.numbers("12id"))
    if arguments.model != _SUPERVISED:
        raise ModelFormatError(
            f"{reader.name} holds word vectors: only classifiers, which fastText supervised "
            "trains, can be imported"
        )
    if version == 11:
        arguments = arguments._replace(maxn=0)
    loss = LOSSES[arguments.loss]
    if several and loss not in ("ova", "ns"):
        raise ModelFormatError(
            f"{reader.name} was trained with the loss {loss}, which gives a row one label: leave "
            "--several out (several=False)"
        )
    dictionary = _read_dictionary(reader, arguments)
    spec, columns = dictionary.spec, _columns(dictionary)
    [is_quantised] = reader.numbers("?")
    if not is_quantised and dictionary.pruned is not None:
        raise ValueError("it is pruned but not quantised")
    start, left = reader.file.tell(), reader.left
    for _ in _rows(reader, is_quantised, len(columns), arguments.dim, skip=True):
        pass  # the output matrix comes after the vectors
    outputs = _output_matrix(reader, is_quantised, arguments.dim)
    labels = dictionary.labels
    classes = tuple(sorted(name.removeprefix(_PREFIX) for name in labels))
    order = [[name.removeprefix(_PREFIX) for name in labels].index(name) for name in classes]
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise ValueError("at least two different labels are needed")
    outputs, tree = _problems(outputs, loss, order, dictionary.counts)
    is_folded = outputs.shape[1] < arguments.dim
    reader.file.seek(start)
    reader.left = left
    weights = np.empty((len(columns), min(outputs.shape)), np.float32)
    at = 0
    with np.errstate(over="ignore", invalid="ignore"):  # looked for afterwards
        for rows in _rows(reader, is_quantised, len(columns), arguments.dim):
            weights[at : at + len(rows)] = rows @ outputs if is_folded else rows
            at += len(rows)
        _add_subwords(weights, spec, columns)
    matrix = np.empty((0, 0), np.float32) if is_folded else outputs
    head = Head(matrix, tree) if tree.size or not is_folded else None
    if head is not None:
        head.check(weights, len(classes))
    elif not np.isfinite(weights).all():
        raise ValueError("its weights are too large")
    features = Features(
        columns=(text,),
        label=label,
        ngrams=Ngrams(high=max(1, arguments.word_ngrams), bits=spec.bits, unit=False),
        separator=" " if several else None,
        fasttext=spec,
    )
    steps = loss in ("ova", "ns")
    calibration = Calibration(
        STEPS if steps else "sigmoid", len(classes), 0, 1.0, multilabel=several
    )
    problems = 1 if len(classes) == 2 and not steps else len(classes)
    parameters = {"fasttext": arguments._asdict() | {"loss": loss}}
    model = Model(
        classes,
        features,
        columns,
        weights,
        np.zeros(problems),
        parameters,
        fingerprint={"files": [{"name": Path(reader.name).name}]},
        calibration=calibration,
        head=head,
    )
    return replace(model, words=_strongest(model))


def _read_dictionary(reader: _Reader, arguments: _Arguments) -> _Dictionary:
    size, n_words, n_labels, _, n_pruned = reader.numbers("3i2q")
    if not 0 <= n_words <= size or size - n_words != n_labels or size * 10 > reader.left:
        raise ValueError("the numbers of its words make no sense")
    words: list[bytes] = []
    counts = []
    buffer, at, more = b"", 0, reader.left
    for number in range(size):
        end = buffer.find(b"\0", at)
        while end < 0 or end + 10 > len(buffer):
            block = reader.bytes(min(_CHUNK, more))
            more -= len(block)
            if not block:
                raise ValueError("a word has no end")
            buffer, at = buffer[at:] + block, 0
            end = buffer.find(b"\0")
        count, kind = struct.unpack_from("<qb", buffer, end + 1)
        if kind != (number >= n_words):
            raise ValueError("its words and labels are mixed")
        words.append(buffer[at : end + 1])
        counts.append(count)
        at = end + 10
    reader.file.seek(at - len(buffer), io.SEEK_CUR)
    reader.left += len(buffer) - at
    hashes = arguments.word_ngrams > 1 or arguments.maxn > 0
    buckets, pruned = arguments.bucket if hashes else 0, None
    kept = np.empty(0, np.uint8)
    if n_pruned >= 0 and hashes:
        pairs = reader.array(np.int32, n_pruned, 2)
        order = np.argsort(pairs[:, 1], kind="stable")
        pruned = pairs[order, 0]
        known = np.unique(pruned)
        sound = len(known) == n_pruned and np.array_equal(pairs[order, 1], np.arange(n_pruned))
        if not sound or (n_pruned and (known[0] < 0 or known[-1] >= buckets)):
            raise ValueError("its pruned buckets make no sense")
        bits = np.zeros(buckets, bool)
        bits[pruned] = True
        kept = np.packbits(bits, bitorder="little")
    elif n_pruned > 0:
        reader.array(np.int32, n_pruned, 2)
    spec = FastText(
        n_words,
        buckets,
        max(1, arguments.word_ngrams),
        max(0, arguments.minn),
        max(0, arguments.maxn),
        np.frombuffer(b"".join(words), np.uint8),
        kept,
    )
    if spec.bits > MOST_BITS:
        raise ValueError(f"it has {n_words + buckets:,} features, and 2^{MOST_BITS} are possible")
    labels = [word[:-1].decode(errors="replace") for word in words[n_words:]]
    return _Dictionary(spec, labels, counts[n_words:], pruned)


def _columns(dictionary: _Dictionary) -> Array:
    """The column of each row of the vectors."""
    spec, pruned = dictionary.spec, dictionary.pruned
    buckets = np.arange(spec.buckets) if pruned is None else pruned
    return np.concatenate([np.arange(spec.n_words), spec.n_words + buckets]).astype(np.uint32)


def _rows(
    reader: _Reader, quantised: bool, n: int | None, dim: int, skip: bool = False
) -> Iterator[Array]:
    """The rows of a matrix, some at a time; with `skip` none, but the place behind them.

    `n` is how many there must be at least; None for any number. Rows beyond are not read.
    """
    if quantised:
        yield from _quantised_rows(reader, n, dim)
        return
    rows, width = reader.numbers("2q")
    _check_shape(rows, width, n, dim)
    if skip:
        size = rows * width * 4
        if size > reader.left:
            raise ModelFormatError(f"{reader.name} is damaged: it ends too early")
        reader.file.seek(size, io.SEEK_CUR)
        reader.left -= size
        return
    most = max(1, _CHUNK // (4 * width))
    count = rows if n is None else n
    for start in range(0, count, most):
        yield reader.array(np.float32, min(most, count - start), width)


def _check_shape(rows: int, width: int, n: int | None, dim: int) -> None:
    if width != dim or not 0 < width < 1 << 20 or rows < 0 or (n is not None and rows < n):
        raise ValueError(f"a matrix of {rows:,} rows of {width:,} numbers does not fit")


def _quantised_rows(reader: _Reader, n: int | None, dim: int) -> Iterator[Array]:
    with_norm, rows, width, size = reader.numbers("?2qi")
    _check_shape(rows, width, n, dim)
    codes = reader.array(np.uint8, size)
    centroids = _centroids(reader, dim)
    parts = len(centroids)
    if rows * parts != size:
        raise ValueError("its codes do not fit")
    norms = np.ones(1, np.float32)
    norm_codes = np.zeros(rows if with_norm else 0, np.uint8)
    if with_norm:
        norm_codes = reader.array(np.uint8, rows)
        norms = _centroids(reader, 1)[0][:, 0]
    codes = codes.reshape(rows, parts)
    for start in range(0, rows if n is None else n, _ROWS):
        stop = min(start + _ROWS, rows if n is None else n)
        chosen = [part[codes[start:stop, i]] for i, part in enumerate(centroids)]
        decoded = np.concatenate(chosen, axis=1)
        yield decoded * norms[norm_codes[start:stop], None] if with_norm else decoded


def _centroids(reader: _Reader, dim: int) -> list[Array]:
    """The centroids of each part of the rows, (256, numbers)."""
    numbers = reader.numbers("4i")
    width, parts, each, last = numbers
    sound = width == dim and each > 0 and 0 < parts <= dim and 0 < last <= each
    if not sound or (parts - 1) * each + last != dim:
        raise ValueError(f"its quantiser {numbers} makes no sense")
    flat = reader.array(np.float32, dim * _CENTROIDS)
    sizes = [each] * (parts - 1) + [last]
    starts = np.arange(parts) * _CENTROIDS * each
    return [
        flat[start : start + _CENTROIDS * size].reshape(_CENTROIDS, size)
        for start, size in zip(starts.tolist(), sizes, strict=True)
    ]


def _output_matrix(reader: _Reader, is_quantised: bool, dim: int) -> Array:
    """The output matrix, (dim, outputs)."""
    [is_output_quantised] = reader.numbers("?")
    chunks = list(_rows(reader, is_quantised and is_output_quantised, None, dim))
    return np.concatenate(chunks).T if chunks else np.empty((dim, 0), np.float32)


def _problems(
    outputs: Array, loss: str, order: list[int], counts: list[int]
) -> tuple[Array, Array]:
    """The matrix of the outputs of sorted classes, and the tree of the loss hs."""
    n, tree = len(order), np.empty((0, 2), np.int32)
    if outputs.shape[1] != n:
        raise ValueError(f"its output matrix is not of {n} labels")
    if loss == "hs":
        tree = _huffman_tree(counts)
        places = np.concatenate([np.argsort(order), np.arange(n, 2 * n - 1)])
        tree = places[tree].astype(np.int32)
        outputs = outputs[:, : n - 1]
        if n == 2:  # a single decision
            return outputs * np.float32(1 if tree[0, 1] == 1 else -1), tree[:0]
        return np.ascontiguousarray(outputs), tree
    outputs = np.ascontiguousarray(outputs[:, order])
    if n == 2 and loss == "softmax":
        outputs = outputs[:, 1:] - outputs[:, :1]
    return outputs, tree


def _huffman_tree(counts: list[int]) -> Array:
    """The children of each node of the Huffman tree of labels, which are sorted by their counts."""
    n = len(counts)
    sizes = [*counts, *[10**15] * (n - 1)]
    children = np.zeros((n - 1, 2), np.int64)
    leaf, node = n - 1, n
    for parent in range(n, 2 * n - 1):
        for side in (0, 1):
            is_leaf = leaf >= 0 and sizes[leaf] < sizes[node]
            if not is_leaf and node >= parent:
                raise ValueError("the counts of its labels make no sense")
            children[parent - n, side] = leaf if is_leaf else node
            leaf, node = leaf - is_leaf, node + (not is_leaf)
        sizes[parent] = sum(sizes[child] for child in children[parent - n])
    return children


def _add_subwords(weights: Array, spec: FastText, columns: Array) -> None:
    """Add to the weights of each word those of its subwords."""
    if not spec.high:
        return
    numbering, nothing = Numbering(1 << spec.bits, columns), np.zeros(weights.shape[1])
    for first, rows in spec.subwords():
        weights[first : first + len(rows.indptr) - 1] += numbering.score(rows, weights, nothing)


def _strongest(model: Model) -> dict[str, list[tuple[str, float]]]:
    """The frequent words with the largest scores of each class, compared with its other words."""
    spec = model.features.fasttext
    assert spec is not None
    n = min(spec.n_words, _FREQUENT)
    words = spec.spelled()[:n]
    sums = model.weights[:n] / spec.sizes[:n, None]
    scores = sums if model.head is None else model.head.scores(sums)
    scores = np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores
    scores = scores - scores.mean(axis=1, keepdims=True) if scores.shape[1] > 2 else scores
    return {
        name: [(words[i], float(column[i])) for i in np.argsort(-column, kind="stable")[:_NAMED]]
        for name, column in zip(model.classes, scores.T, strict=True)
    }
