"""Model files: safetensors with plain data beside the arrays. Reading one never runs code."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from rosenblatt import tensorfile
from rosenblatt.data.features import Features
from rosenblatt.errors import DataError, ModelFormatError
from rosenblatt.models.calibration import Calibration
from rosenblatt.models.model import Array, Model

FORMAT = "rosenblatt-model"
VERSION = 3
# Up to version 2 rows that were corrected were called mistakes.
_RENAMED = {"online_error": "progressive_error", "mistakes": "updated_rows"}


def write_model(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model file; it appears whole or not at all."""
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
        "calibration": None if model.calibration is None else model.calibration.to_json(),
        "threshold": model.threshold,
    }
    arrays = {"columns": model.columns, "weights": model.weights, "bias": model.bias}
    states = {f"state.{name}": array for name, array in model.state.items()}
    tensorfile.write(path, arrays | states, about)


def read_model(path: str | os.PathLike[str]) -> Model:
    """Read a model file, checking everything it says.

    Raises
    ------
    ModelFormatError
        If the file is damaged, foreign, or of a format this release does not know.
    """
    return model_from(os.fspath(path), *tensorfile.read(path))


def model_from(name: str, arrays: dict[str, Array], about: dict[str, Any]) -> Model:
    """The model of a file of this name that holds these arrays and plain data."""
    if about.get("format") != FORMAT:
        raise ModelFormatError(f"{name} is a {about.get('format')!r} file, not a model")
    version = about.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise ModelFormatError(
            f"{name} has format version {version!r}; this release reads up to {VERSION}"
        )
    with damage_is_named(name):
        return _checked(arrays, about)


@contextmanager
def damage_is_named(name: str) -> Iterator[None]:
    """Turn what goes wrong while a file's content is looked at into an error that names it."""
    try:
        yield
    except (DataError, ModelFormatError):
        raise
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
        OverflowError,
        RecursionError,
    ) as error:
        raise ModelFormatError(f"{name} is damaged: {error}") from None


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
        dict(about["fingerprint"]), words, state, str(about["package"]), *_decision(about),
    )  # fmt: skip


def _decision(about: dict[str, Any]) -> tuple[Calibration | None, float]:
    """The calibration and the threshold; earlier releases had neither."""
    plain, threshold = about.get("calibration"), about.get("threshold", 0.0)
    if type(threshold) not in (int, float) or not math.isfinite(threshold):
        raise ValueError("the threshold is not a finite number")
    if plain is None:
        return None, float(threshold)
    calibration = Calibration.from_json(plain)
    if calibration.n_classes != len(about["classes"]):
        raise ValueError("the calibration is of another number of classes")
    return calibration, float(threshold)


def _expect(name: str, array: Array, kind: Any, shape: tuple[int, ...]) -> None:
    if array.dtype != kind or array.shape != shape:
        raise ValueError(f"{name} is {array.dtype}{array.shape}, not {np.dtype(kind)}{shape}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{name} holds numbers that are not finite")
