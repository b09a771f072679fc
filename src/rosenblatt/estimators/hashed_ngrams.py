"""Text to hashed n-grams, as a scikit-learn transformer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rosenblatt.data.cells import string_buffers
from rosenblatt.kernels.spelling import spell
from rosenblatt.kernels.text import ANALYZERS, Ngrams, Rows, hash_ngrams
from rosenblatt.kernels.weighting import WEIGHTINGS
from rosenblatt.process import threads_of

_BYTES_PER_THREAD = 1 << 18  # with fewer, a second thread costs more than it gains


class HashedNgrams(TransformerMixin, BaseEstimator):
    """Turn texts into rows of hashed n-gram weights, at several hundred MB/s.

    Words are runs of letters, marks and numbers of any script, in lower case. The hash is defined
    in :mod:`rosenblatt.kernels.text` and stable for ever.

    Parameters
    ----------
    ngrams : int or (int, int), default=2
        The longest n-gram, or the shortest and the longest.
    analyzer : {"word", "marks", "char", "pieces"}, default="word"
        N-grams of words; of words, and beside them of marks such as ``!``; of the characters of a
        word with a space on either side; or of words and marks in their order, and beside them 1
        to 5 characters of what stands between spaces, case and all (what ``train`` takes for short
        texts).
    bits : int, default=22
        There are ``2**bits`` columns.
    weighting : {"binary", "log", "raw"}, default="log"
        The value of an n-gram that occurs c times: 1, log(1 + c), or c.
    norm : {"l2", None}, default="l2"
        Whether rows are scaled to Euclidean length 1.
    n_jobs : int or None, default=-1
        Threads. None is 1, -1 all cores.
    keep_names : bool, default=False
        Whether `fit` keeps the n-grams of its texts as names of columns: see
        :meth:`get_feature_names_out`. A sample of rows is enough.

    Attributes
    ----------
    n_features_out_ : int
        ``2**bits``.
    names_ : dict of int to str
        With `keep_names`, the first n-gram of each column in the texts of `fit`; in n-grams of
        characters ``_`` stands for the edge of a word.

    Examples
    --------
    >>> from rosenblatt import HashedNgrams
    >>> X = HashedNgrams().fit_transform(["not good", "good, not bad"])
    >>> X.shape, X.nnz, round(float(X[0].max()), 4)
    ((2, 4194304), 8, 0.5774)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "ngrams": [Interval(Integral, 1, 100, closed="both"), tuple],
        "analyzer": [StrOptions(set(ANALYZERS))],
        "bits": [Interval(Integral, 1, 31, closed="both")],
        "weighting": [StrOptions(set(WEIGHTINGS))],
        "norm": [StrOptions({"l2"}), None],
        "n_jobs": [Integral, None],
        "keep_names": ["boolean"],
    }

    def __init__(
        self,
        ngrams: int | tuple[int, int] = 2,
        *,
        analyzer: str = "word",
        bits: int = 22,
        weighting: str = "log",
        norm: str | None = "l2",
        n_jobs: int | None = -1,
        keep_names: bool = False,
    ) -> None:
        self.ngrams = ngrams
        self.analyzer = analyzer
        self.bits = bits
        self.weighting = weighting
        self.norm = norm
        self.n_jobs = n_jobs
        self.keep_names = keep_names

    def fit(self, X: Any = None, y: Any = None) -> HashedNgrams:
        """Check the parameters; with `keep_names` also learn the names of columns.

        >>> HashedNgrams(bits=10).fit().n_features_out_
        1024
        >>> HashedNgrams(bits=10, keep_names=True).fit(["not good"]).names_
        {231: 'not', 244: 'good', 732: 'not good'}
        """
        spec = self._spec()
        if self.keep_names:
            if X is None:
                raise ValueError("keep_names takes the names from texts: call fit with some")
            self.names_ = _names(_arrow_strings(X), spec)
        return self

    def _spec(self) -> Ngrams:
        """The checked parameters, as the kernels take them."""
        self._validate_params()
        low, high = self.ngrams if isinstance(self.ngrams, tuple) else (1, self.ngrams)
        if not 1 <= low <= high:
            raise ValueError(f"ngrams must be n >= 1 or 1 <= low <= high, got {self.ngrams!r}")
        self.n_features_out_ = 1 << self.bits
        unit = self.norm == "l2"
        return Ngrams(int(low), int(high), self.analyzer, self.bits, self.weighting, unit)

    @available_if(lambda self: self.keep_names)
    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The name of every column, for a transformer made with ``keep_names=True``.

        A column without an n-gram in the texts of `fit` is called ``column 17``.

        >>> names = HashedNgrams(bits=10, keep_names=True).fit(["not good"])
        >>> names.get_feature_names_out()[[244, 245]].tolist()
        ['good', 'column 245']
        """
        check_is_fitted(self, "names_")
        names = [self.names_.get(at, f"column {at}") for at in range(1 << self.bits)]
        return np.array(names, dtype=object)

    def transform(self, X: Any) -> sparse.csr_matrix:
        """Hash the texts.

        Parameters
        ----------
        X : list of str, or an array or column of strings (NumPy, pandas, polars, Arrow)
            One text per row; a missing one (None) is an empty text.

        Returns
        -------
        csr_matrix of float32, one row per text

        Examples
        --------
        >>> HashedNgrams(ngrams=1, weighting="raw", norm=None).transform(["a b a"]).data.tolist()
        [2.0, 1.0]
        """
        spec = self._spec()
        threads, chunks = threads_of(self.n_jobs), _arrow_strings(X).chunks
        parts = [part for chunk in chunks for part in _split(*string_buffers(chunk), threads)]
        with ThreadPoolExecutor(threads) as pool:
            each = map if len(parts) == 1 else pool.map
            hashed = list(each(lambda part: hash_ngrams(part[0], part[1], spec), parts))
        return _stack(hashed, 1 << self.bits)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.requires_fit = False
        return tags


def _names(texts: pa.ChunkedArray, spec: Ngrams) -> dict[int, str]:
    """The columns of some texts, with the first n-gram that was hashed to each."""
    names: dict[int, str] = {}
    for chunk in texts.chunks:
        offsets, data = string_buffers(chunk)
        columns = set(hash_ngrams(offsets, data, spec).indices.tolist())
        new = np.array(sorted(columns - names.keys()), dtype=np.int64)
        names |= spell(offsets, data, spec, new)
    return dict(sorted(names.items()))


def _arrow_strings(X: Any) -> pa.ChunkedArray:
    """Any kind of sequence of strings as an Arrow column."""
    if isinstance(X, str | bytes):
        raise ValueError("a list of texts is expected, not one text: write [text]")
    if getattr(X, "ndim", 1) == 2 and X.shape[1] == 1:
        X = X.iloc[:, 0] if hasattr(X, "iloc") else X[:, 0]
    if isinstance(X, pa.Array | pa.ChunkedArray):
        strings = X
    elif hasattr(X, "to_arrow"):
        strings = X.to_arrow()
    elif hasattr(X, "__arrow_array__"):
        strings = pa.array(X)
    else:
        strings = pa.array([None if isinstance(s, float) and s != s else s for s in X])
    if pa.types.is_null(strings.type):
        strings = strings.cast(pa.string())
    if not _is_string(strings.type):
        raise ValueError(f"texts are expected, found values of type {strings.type}")
    return strings if isinstance(strings, pa.ChunkedArray) else pa.chunked_array([strings])


def _is_string(kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_dictionary(kind):
        return _is_string(kind.value_type)
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _split(offsets: np.ndarray, data: np.ndarray, jobs: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows cut into parts of about equal size, two per thread; one part if they are small."""
    size = int(offsets[-1] - offsets[0])
    parts = min(2 * jobs, size // _BYTES_PER_THREAD) if jobs > 1 else 1
    if parts < 2:
        return [(offsets, data)]
    cuts = np.searchsorted(offsets, offsets[0] + size * np.arange(1, parts) // parts)
    edges = np.unique([0, *cuts, len(offsets) - 1])
    return [(offsets[a : b + 1], data) for a, b in pairwise(edges)]


def _stack(parts: list[Rows], columns: int) -> sparse.csr_matrix:
    blocks = [
        sparse.csr_matrix(
            (part.values, part.indices.view(np.int32), part.indptr.astype(np.int64)),
            shape=(len(part.indptr) - 1, columns),
        )
        for part in parts
    ]
    empty = sparse.csr_matrix((0, columns), dtype=np.float32)
    return sparse.vstack(blocks or [empty], format="csr")
