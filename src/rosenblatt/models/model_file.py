"""Save and load models and estimators as safetensors with JSON metadata. Loading runs no code."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from rosenblatt.data.features import Features
from rosenblatt.errors import ModelFormatError
from rosenblatt.models import tensorfile
from rosenblatt.models.arrays import (
    PRECISIONS,
    Arrays,
    CompressedState,
    check_columns,
    compressed,
    decompressed,
    scaled,
    unscaled,
)
from rosenblatt.models.calibration import Calibration
from rosenblatt.models.model import Array, Model
from rosenblatt.models.tensorfile import reporting_damage

FORMAT = "rosenblatt-model"
VERSION = 5
_ESTIMATORS = ("rosenblatt-perceptron", "rosenblatt-kernel-perceptron")


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
    if format not in _ESTIMATORS:
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
        "n_features": len(model.columns),
        "parameters": model.parameters,
        "history": model.history,
        "fingerprint": model.fingerprint,
        "words": model.words,
        "precision": model.precision,
        "calibration": None if model.calibration is None else model.calibration.to_json(),
        "threshold": model.threshold,
    }
    # Differences modulo 2**32: those of sorted columns are small and compress to a quarter.
    arrays = {"columns": np.diff(model.columns, prepend=np.uint32(0)), "bias": model.bias}
    if model.precision == "float32":
        arrays["weights"] = model.weights
    else:
        arrays["weights"], arrays["scale"] = scaled(model.weights, model.precision)
    arrays |= {f"state.{name}": array for name, array in model.state.items()}
    return {name: compressed(array) for name, array in arrays.items()}, about


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
    if version != VERSION:
        raise ModelFormatError(
            f"{name} has format version {version!r}, and this release reads version {VERSION}: "
            "train the model again, or use the release that wrote it"
        )
    with reporting_damage(name):
        return _checked(arrays, about)


def _checked(arrays: dict[str, Array], about: dict[str, Any]) -> Model:
    classes = tuple(about["classes"])
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise ValueError("at least two different classes are needed")
    if not all(isinstance(name, str) for name in classes):
        raise ValueError("classes are strings")
    features = Features.from_json(about["features"])
    alone = len(classes) == 2 and features.separator is None
    n, problems = about["n_features"], 1 if alone else len(classes)
    if type(n) is not int or n < 0:
        raise ValueError(f"{n!r} is not a number of features")

    def array(name: str, kind: Any, shape: tuple[int, ...]) -> Array:
        return decompressed(name, arrays[name], kind, shape)

    columns = np.cumsum(array("columns", np.uint32, (n,)), dtype=np.uint32)
    check_columns(columns, features.ngrams.bits)
    precision = about["precision"]
    if precision not in PRECISIONS:
        raise ValueError(f"{precision!r} is not a precision")
    weights = array("weights", precision, (n, problems))
    if precision != "float32":
        weights = unscaled(weights, array("scale", np.float32, (problems,)))
    bias = array("bias", np.float64, (problems,))
    for name, kind in (("parameters", dict), ("history", list), ("words", dict)):
        if not isinstance(about[name], kind):
            raise ValueError(f"{name} is not a {kind.__name__}")
    words = {
        str(label): [(str(word), float(weight)) for word, weight in pairs]
        for label, pairs in about["words"].items()
    }
    return Model(
        classes=classes,
        features=features,
        columns=columns,
        weights=weights,
        bias=bias,
        parameters=about["parameters"],
        history=about["history"],
        fingerprint=dict(about["fingerprint"]),
        words=words,
        state=CompressedState(arrays, n, problems),
        package=str(about["package"]),
        precision=precision,
        calibration=_calibration(about, len(classes), features.separator is not None),
        threshold=_threshold(about),
    )


def _calibration(about: dict[str, Any], n_classes: int, multilabel: bool) -> Calibration | None:
    if about["calibration"] is None:
        return None
    calibration = Calibration.from_json(about["calibration"])
    if calibration.n_classes != n_classes or calibration.multilabel != multilabel:
        raise ValueError("the calibration is of another number of classes")
    return calibration


def _threshold(about: dict[str, Any]) -> float:
    threshold = about["threshold"]
    if type(threshold) not in (int, float) or not math.isfinite(threshold):
        raise ValueError("the threshold is not a finite number")
    return float(threshold)
