"""Models as files: safetensors with plain data beside the arrays. Loading never runs code."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from rosenblatt import __version__, tensorfile
from rosenblatt.data.features import Features
from rosenblatt.errors import ModelFormatError
from rosenblatt.kernels.compact import Numbering, score
from rosenblatt.kernels.text import Rows

Array = npt.NDArray[Any]

FORMAT = "rosenblatt-model"
VERSION = 2
# Where it is known how each is saved, and what its files call themselves.
_ESTIMATORS = {
    "Perceptron": ("_persistence", "rosenblatt-perceptron"),
    "KernelPerceptron": ("_dual_persistence", "rosenblatt-kernel-perceptron"),
}


@dataclass(frozen=True)
class Model:
    """A linear classifier together with the way from raw rows to its features.

    Attributes
    ----------
    classes : tuple of str
        The labels, sorted. Of two, the second is the positive one.
    features : Features
        How rows become features.
    columns : uint32 array (n,)
        The hashed columns that carry weight.
    weights, bias : arrays (n, problems) and (problems,)
        One problem for two classes, one a class for more.
    parameters : dict
        What training was told.
    history : list of dict
        What happened in each epoch.
    fingerprint : dict
        Which files the model was trained on.
    words : dict
        For each class the features that speak for it most, by name, with their weights.
    state : dict of arrays
        What training needs to go on: last weights, averaging sums, clock. May be empty.
    package : str
        The version of rosenblatt that trained it.

    Examples
    --------
    >>> from rosenblatt.data import Column
    >>> from rosenblatt.kernels.text import column
    >>> features = Features(columns=(Column("text", "text"),), label="label")
    >>> good = np.array([column(["good"], 22)], dtype=np.uint32)
    >>> model = Model(("neg", "pos"), features, good, np.ones((1, 1), np.float32), np.zeros(1))
    >>> model.predict({"text": ["good", "bad"]}).tolist()
    ['pos', 'neg']
    """

    classes: tuple[str, ...]
    features: Features
    columns: Array
    weights: Array
    bias: Array
    parameters: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    fingerprint: dict[str, Any] = field(default_factory=dict)
    words: dict[str, list[tuple[str, float]]] = field(default_factory=dict)
    state: dict[str, Array] = field(default_factory=dict)
    package: str = __version__

    @cached_property
    def _numbering(self) -> Numbering:
        return Numbering(self.features.ngrams.bits, self.columns)

    def scores(self, rows: Rows) -> Array:
        """The scores of sparse rows, (rows, problems)."""
        return score(rows, self._numbering, self.weights, self.bias)

    def decide(self, scores: Array) -> Array:
        """The class numbers that scores stand for: of two the second if the score is positive."""
        if len(self.classes) == 2:
            return (scores[:, 0] > 0).astype(np.int32)
        return scores.argmax(axis=1).astype(np.int32)

    def decision_function(self, X: Any) -> Array:
        """Scores of a table with the columns the model was trained on (dict, Arrow, pandas).

        A list of texts will do for a model of one column of text.
        """
        scores = self.scores(self.features.rows(self._table(X)))
        return scores[:, 0] if len(self.classes) == 2 else scores

    def predict(self, X: Any) -> Array:
        """The labels predicted for the rows of a table."""
        scores = self.scores(self.features.rows(self._table(X)))
        return np.array(self.classes)[self.decide(scores)]

    def _table(self, X: Any) -> Any:
        import pyarrow as pa

        if self.features.origin != "table":
            raise ValueError(f"the model was trained on {self.features.origin} data: use scores()")
        names = [c.name for c in self.features.columns]
        if isinstance(X, dict):
            table = pa.table({name: pa.array(values) for name, values in X.items()})
        elif isinstance(X, pa.Table):
            table = X
        elif hasattr(X, "to_arrow"):
            table = X.to_arrow()
        elif hasattr(X, "columns"):
            table = pa.Table.from_pandas(X, preserve_index=False)
        elif len(names) == 1:
            table = pa.table({names[0]: pa.array(list(X))})
        else:
            raise ValueError(f"a table with the columns {', '.join(names)} is expected")
        absent = [name for name in names if name not in table.column_names]
        if absent:
            raise ValueError(f"the columns {', '.join(absent)} are missing")
        return table

    def sparsified(self) -> Model:
        """The same predictions from a smaller file: weights of zero and the state are dropped.

        >>> features = Features(origin="svmlight")
        >>> weights = np.array([[1.0], [0.0]], np.float32)
        >>> model = Model(("0", "1"), features, np.arange(2, dtype=np.uint32), weights, np.zeros(1))
        >>> len(model.sparsified().columns)
        1
        """
        used = self.weights.any(axis=1)
        return Model(
            self.classes, self.features, self.columns[used], self.weights[used], self.bias,
            self.parameters, self.history, self.fingerprint, self.words, {}, self.package,
        )  # fmt: skip


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model file; it appears whole or not at all.

    Parameters
    ----------
    model : Model, Perceptron or KernelPerceptron
        A model of the command line, or a fitted :class:`rosenblatt.Perceptron` or
        :class:`rosenblatt.KernelPerceptron`.
    path : path
        Where to.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "tiny.model"
    >>> features = Features(origin="svmlight")
    >>> one = np.ones((1, 1), np.float32)
    >>> save(Model(("no", "yes"), features, np.array([7], np.uint32), one, np.zeros(1)), path)
    >>> load(path).classes
    ('no', 'yes')
    """
    if not isinstance(model, Model):
        kind = type(model).__name__
        if kind not in _ESTIMATORS:
            raise TypeError(f"only models can be saved, not {kind}")
        tensorfile.write(path, *_persistence(kind).to_file(model))
        return
    about = {
        "format": FORMAT,
        "version": VERSION,
        "package": model.package,
        "classes": list(model.classes),
        "features": model.features.to_json(),
        "parameters": model.parameters,
        "history": model.history,
        "fingerprint": model.fingerprint,
        "words": model.words,
    }
    arrays = {"columns": model.columns, "weights": model.weights, "bias": model.bias}
    states = {f"state.{name}": array for name, array in model.state.items()}
    tensorfile.write(path, arrays | states, about)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model file, checking everything it says: a :class:`Model` or a fitted estimator.

    Raises
    ------
    ModelFormatError
        If the file is damaged, foreign, or of a format this release does not know.
    """
    arrays, about = tensorfile.read(path)
    name = os.fspath(path)
    for kind, (_, format) in _ESTIMATORS.items():
        if about.get("format") == format:
            return _read(name, _persistence(kind).from_file, arrays, about)
    if about.get("format") != FORMAT:
        raise ModelFormatError(f"{name} is a {about.get('format')!r} file, not a model")
    version = about.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise ModelFormatError(
            f"{name} has format version {version!r}; this release reads up to {VERSION}"
        )
    return _read(name, _checked, arrays, about)


def _read(name: str, make: Any, arrays: dict[str, Array], about: dict[str, Any]) -> Any:
    try:
        return make(arrays, about)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise ModelFormatError(f"{name} is damaged: {error}") from None


def _persistence(kind: str) -> Any:
    """How an estimator is saved is known one floor up; training from files never needs it."""
    return import_module(f"rosenblatt.estimators.{_ESTIMATORS[kind][0]}")


def _checked(arrays: dict[str, Array], about: dict[str, Any]) -> Model:
    classes = tuple(about["classes"])
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise ValueError("at least two different classes are needed")
    if not all(isinstance(name, str) for name in classes):
        raise ValueError("classes are strings")
    features = Features.from_json(about["features"])
    columns, weights, bias = (arrays[name] for name in ("columns", "weights", "bias"))
    n, problems = len(columns), 1 if len(classes) == 2 else len(classes)
    _expect("columns", columns, np.uint32, (n,))
    _expect("weights", weights, np.float32, (n, problems))
    _expect("bias", bias, np.float64, (problems,))
    if n and (int(columns.max()) >> features.ngrams.bits or len(np.unique(columns)) < n):
        raise ValueError("the columns do not fit the feature specification")
    state = {
        name.removeprefix("state."): array
        for name, array in arrays.items()
        if name.startswith("state.")
    }
    shapes: dict[str, Any] = {"W": (np.float32, (n, problems)), "U": (np.float64, (n, problems))}
    shapes |= {"bias": (np.float64, (3, problems)), "clock": (np.float64, (1,))}
    shapes["scale"] = (np.float32, (n,))
    for name, array in state.items():
        _expect(f"state.{name}", array, *shapes[name])
    if about["version"] == 1 and "scale" in state:
        # Then it was rows that were scaled; now it is the features that have learning rates.
        scaled = [name for name in ("W", "U") if name in state]
        state |= {name: state[name] * state["scale"][:, None] for name in scaled}
    for name, kind in (("parameters", dict), ("history", list), ("words", dict)):
        if not isinstance(about[name], kind):
            raise ValueError(f"{name} is no {kind.__name__}")
    words = {
        str(label): [(str(word), float(weight)) for word, weight in pairs]
        for label, pairs in about["words"].items()
    }
    return Model(
        classes, features, columns, weights, bias, about["parameters"], about["history"],
        dict(about["fingerprint"]), words, state, str(about["package"]),
    )  # fmt: skip


def _expect(name: str, array: Array, kind: Any, shape: tuple[int, ...]) -> None:
    if array.dtype != kind or array.shape != shape:
        raise ValueError(f"{name} is {array.dtype}{array.shape}, not {np.dtype(kind)}{shape}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{name} holds numbers that are not finite")
