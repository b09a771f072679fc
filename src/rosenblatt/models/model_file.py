"""Save and load models and estimators as safetensors with JSON metadata. Loading runs no code."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from rosenblatt.data.features import Features
from rosenblatt.errors import DataError, ModelFormatError
from rosenblatt.models import tensorfile
from rosenblatt.models.calibration import Calibration
from rosenblatt.models.model import Array, Model
from rosenblatt.models.packed import (
    PRECISIONS,
    Arrays,
    PackedState,
    expect,
    pack,
    pack_columns,
    pack_weights,
    size_of,
    unpack,
    unpack_columns,
    unpack_weights,
)

FORMAT = "rosenblatt-model"
VERSION = 4
_OF_ESTIMATORS = ("rosenblatt-perceptron", "rosenblatt-kernel-perceptron")
# Weights per byte of the file, most of them zero: limits the memory that a small file can ask for.
_MOST_PER_BYTE = 256
# Keys of epochs up to version 2.
_RENAMED = {"online_error": "progressive_error", "mistakes": "updated_rows"}


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model file atomically.

    Parameters
    ----------
    model : Model or fitted classifier
        What :func:`rosenblatt.train` returned, or a fitted :class:`rosenblatt.Perceptron`,
        :class:`rosenblatt.KernelPerceptron` or another member of the family.
    path : path

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from rosenblatt import train
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "tiny.model"
    >>> save(train({"label": ["no", "yes"] * 9, "x": [1.0, 2.0] * 9}, epochs=1), path)
    >>> load(path).classes
    ('no', 'yes')
    """
    if isinstance(model, Model):
        tensorfile.write(path, *_content(model))
        return
    from rosenblatt.models import estimator_file

    if type(model).__name__ not in (*estimator_file.LINEAR, estimator_file.KERNEL):
        raise TypeError(f"only models can be saved, not {type(model).__name__}")
    tensorfile.write(path, *estimator_file.to_file(model))


def load(path: str | os.PathLike[str]) -> Any:
    """Read a :class:`Model` or a fitted estimator from a file, and check its content.

    Raises
    ------
    ModelFormatError
        If the file is damaged, foreign, or of a format this release does not know.
    """
    arrays, about = tensorfile.read(path)
    name, format = os.fspath(path), about.get("format")
    if format not in _OF_ESTIMATORS:
        return model_from(name, arrays, about)
    from rosenblatt.models import estimator_file  # a Model never needs scikit-learn

    with reporting_damage(name):
        return estimator_file.from_file(arrays, about)


def file_size(model: Model) -> int:
    """The bytes that the file of a model would have."""
    return tensorfile.size(*_content(model))


def _content(model: Model) -> tuple[Arrays, dict[str, Any]]:
    """The arrays and the plain data of a model file."""
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
        "precision": model.precision,
        "calibration": None if model.calibration is None else model.calibration.to_json(),
        "threshold": model.threshold,
    }
    last = model.state.get("W")
    arrays = pack_columns(model.columns, model.features.ngrams.bits) | {"bias": model.bias}
    if model.precision == "float32":
        # Averages of weights that no longer change equal the last weights.
        arrays |= pack("weights", model.weights, last)
    else:
        arrays |= pack_weights(model.weights, model.precision)
    for name, array in model.state.items():
        arrays |= pack(f"state.{name}", array)
    return arrays, about


def read_model(path: str | os.PathLike[str]) -> Model:
    """Read a model file and check its content.

    Raises
    ------
    ModelFormatError
        If the file is damaged, foreign, or of a format this release does not know.
    """
    return model_from(os.fspath(path), *tensorfile.read(path))


def model_from(name: str, arrays: dict[str, Array], about: dict[str, Any]) -> Model:
    """The model of a file with these arrays and metadata; the name is for error messages."""
    if about.get("format") != FORMAT:
        raise ModelFormatError(f"{name} is a {about.get('format')!r} file, not a model")
    version = about.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise ModelFormatError(
            f"{name} has format version {version!r}; this release reads up to {VERSION}"
        )
    with reporting_damage(name):
        return _checked(arrays, about)


@contextmanager
def reporting_damage(name: str) -> Iterator[None]:
    """Turn errors from checking the content of a file into a ModelFormatError that names it."""
    try:
        yield
    except (DataError, ModelFormatError):
        raise
    except tensorfile.CONTENT_ERRORS as error:
        raise ModelFormatError(f"{name} is damaged: {error}") from None


def _checked(arrays: dict[str, Array], about: dict[str, Any]) -> Model:
    classes = tuple(about["classes"])
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise ValueError("at least two different classes are needed")
    if not all(isinstance(name, str) for name in classes):
        raise ValueError("classes are strings")
    features = Features.from_json(about["features"])
    columns, bias = unpack_columns(arrays, features.ngrams.bits), arrays["bias"]
    alone = len(classes) == 2 and features.separator is None
    n, problems = len(columns), 1 if alone else len(classes)
    if n * problems > _MOST_PER_BYTE * size_of(arrays):
        raise ValueError(f"{n} features of {problems} problems cannot be in so small a file")
    state: Mapping[str, Array] = PackedState(arrays, n, problems)
    precision = about.get("precision", "float32")
    if precision == "float32":
        last = state.get("W")
        if last is arrays.get("state.W", False):
            last = np.array(last)  # the weights are made of a copy
        weights = unpack(arrays, "weights", np.float32, (n, problems), last)
    elif precision in PRECISIONS:
        weights = unpack_weights(arrays, (n, problems))
    else:
        raise ValueError(f"{precision!r} is not a precision")
    expect("bias", bias, np.float64, (problems,))
    if about["version"] == 1 and "scale" in state:
        # In version 1 rows were scaled; now features have learning rates.
        scaled = [name for name in ("W", "U") if name in state]
        state = dict(state) | {name: state[name] * state["scale"][:, None] for name in scaled}
    for name, kind in (("parameters", dict), ("history", list), ("words", dict)):
        if not isinstance(about[name], kind):
            raise ValueError(f"{name} is not a {kind.__name__}")
    words = {
        str(label): [(str(word), float(weight)) for word, weight in pairs]
        for label, pairs in about["words"].items()
    }
    history = about["history"]
    if about["version"] < 3:
        history = [{_RENAMED.get(name, name): v for name, v in epoch.items()} for epoch in history]
    return Model(
        classes, features, columns, weights, bias, about["parameters"], history,
        dict(about["fingerprint"]), words, state, str(about["package"]), precision,
        *_decision(about),
    )  # fmt: skip


def _decision(about: dict[str, Any]) -> tuple[Calibration | None, float]:
    """The calibration and the threshold, which files of earlier releases do not have."""
    plain, threshold = about.get("calibration"), about.get("threshold", 0.0)
    if type(threshold) not in (int, float) or not math.isfinite(threshold):
        raise ValueError("the threshold is not a finite number")
    if plain is None:
        return None, float(threshold)
    calibration = Calibration.from_json(plain)
    several = about["features"].get("separator") is not None
    if calibration.n_classes != len(about["classes"]) or calibration.several != several:
        raise ValueError("the calibration is of another number of classes")
    return calibration, float(threshold)
