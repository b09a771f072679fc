"""Save and load models and estimators as safetensors with JSON metadata. Loading runs no code."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rosenblatt import rules
from rosenblatt.data.features import Features
from rosenblatt.errors import ModelFormatError
from rosenblatt.kernels.fasttext import FastText
from rosenblatt.learners.pairs import PairWeights
from rosenblatt.learners.problems import n_problems
from rosenblatt.models import tensorfile
from rosenblatt.models.calibration import Calibration
from rosenblatt.models.head import Head
from rosenblatt.models.model import Array, Model
from rosenblatt.models.tensorfile import Arrays, epochs_from, expect, reporting_damage

FORMAT = "rosenblatt-model"
VERSION = 8
PRECISIONS = ("float32", "float16", "int8")
# The most bytes that one byte of a file stands for: limits what a small file can allocate.
_MOST_PER_BYTE = 1024
_PADDING = bytes.fromhex("502a4d18")  # starts a frame that zstd skips
Shape = tuple[int, ...]
_ESTIMATORS = ("rosenblatt-perceptron", "rosenblatt-kernel-perceptron")


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model file atomically.

    Parameters
    ----------
    model : Model or fitted classifier
        What :func:`rosenblatt.train` returned, or a fitted :class:`rosenblatt.TableClassifier`,
        :class:`rosenblatt.Perceptron`, :class:`rosenblatt.KernelPerceptron` or another member of
        the family. The commands read all of them, but for kernels and votes of pairs of classes.
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
    model = getattr(model, "model_", model)  # of a TableClassifier
    if isinstance(model, Model):
        tensorfile.write(path, *_content(model))
        return
    from rosenblatt.models import estimator_file

    if type(model).__name__ not in (*rules.estimators(), estimator_file.KERNEL):
        raise TypeError(
            f"only models and classifiers of rosenblatt can be saved, not {type(model).__name__}: "
            "joblib.dump saves any estimator; train and TableClassifier make a model of raw rows"
        )
    tensorfile.write(path, *estimator_file.to_file(model))


def load(path: str | os.PathLike[str]) -> Any:
    """Read a :class:`Model` or a fitted estimator from a file, and check its content.

    Raises
    ------
    ModelFormatError
        If the file is damaged, foreign, or of a format this release does not know.
    """
    arrays, about = tensorfile.read(path)
    name = os.fspath(path)
    is_model = about.get("format") not in _ESTIMATORS
    return model_from(name, arrays, about) if is_model else _estimator_from(name, arrays, about)


def _estimator_from(name: str, arrays: dict[str, Array], about: dict[str, Any]) -> Any:
    """The estimator of a file."""
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
        "threshold": np.asarray(model.threshold).tolist(),
    }
    # Differences modulo 2**32: those of sorted columns are small and compress to a quarter.
    arrays = {"columns": np.diff(model.columns, prepend=np.uint32(0)), "bias": model.bias}
    weights = model.weights
    if isinstance(weights, PairWeights):
        about["pairs"] = len(weights.values)
        arrays |= {"counts": weights.counts.astype(np.uint16), "numbers": weights.classes}
    arrays["weights"] = getattr(weights, "values", weights)
    if model.precision != "float32":
        arrays["weights"], arrays["scale"] = scaled(weights, model.precision)
    arrays |= {f"state.{name}": array for name, array in model.state.items()}
    fasttext, head = model.features.fasttext, model.head
    if fasttext is not None:
        arrays |= {"words": fasttext.words, "kept": fasttext.kept}
        about["problems"] = len(model.bias)
    if head is not None:
        arrays |= {"matrix": head.matrix, "tree": head.tree}
        about["head"] = [list(head.matrix.shape), list(head.tree.shape)]
        about["votes"] = head.unit if head.pairs else None
    return {name: compressed(array) for name, array in arrays.items()}, about


def read_model(path: str | os.PathLike[str]) -> Model:
    """Read a model of raw rows from a file, also from that of an estimator, and check it.

    Raises
    ------
    ModelFormatError
        If the file is damaged, foreign, or of a format this release does not know.
    """
    return model_from(os.fspath(path), *tensorfile.read(path))


def model_from(name: str, arrays: dict[str, Array], about: dict[str, Any]) -> Model:
    """The model of a file with these arrays and metadata; the name is for error messages."""
    if about.get("format") in _ESTIMATORS:
        from rosenblatt.models.estimator_file import as_model

        return as_model(_estimator_from(name, arrays, about))
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
    if features.origin == "table" and not features.columns:
        raise ValueError("a model of tables has columns")
    alone = len(classes) == 2 and not features.multilabel
    n, problems = about["n_features"], 1 if alone else len(classes)
    if about.get("problems") == len(classes):
        problems = len(classes)  # also of two classes, if they were learned one by one
    if type(n) is not int or n < 0:
        raise ValueError(f"{n!r} is not a number of features")

    def array(name: str, kind: Any, shape: Shape) -> Array:
        return decompressed(name, arrays[name], kind, shape)

    fasttext, head, width = about["features"].get("fasttext"), None, problems
    if fasttext is not None:
        sizes = {name: fasttext[name] for name in ("words", "kept")}
        blobs = {name: array(name, np.uint8, (size,)) for name, size in sizes.items()}
        spec = FastText(**{**fasttext, **blobs})
        features = replace(features, fasttext=spec)
        if spec.bits != features.ngrams.bits:
            raise ValueError("the columns do not fit the words")
    if "head" in about:
        shapes = [tuple(shape) for shape in about["head"]]
        head = Head(array("matrix", np.float32, shapes[0]), array("tree", np.int32, shapes[1]))
        width = shapes[0][0] or shapes[1][0]
        if about["votes"] is not None:
            head = Head.of_pairs(len(classes), float(about["votes"]))
            width = problems = n_problems(len(classes), "ovo")
    columns = np.cumsum(array("columns", np.uint32, (n,)), dtype=np.uint32)
    check_columns(columns, 1 << features.ngrams.bits)
    precision = about["precision"]
    if precision not in PRECISIONS:
        raise ValueError(f"{precision!r} is not a precision")
    shape: Shape = (n, width)
    places = None
    if "pairs" in about:
        shape = (about["pairs"],)
        counts, places = array("counts", np.uint16, (n,)), array("numbers", np.uint16, shape)
    weights: Any = array("weights", precision, shape)
    if precision != "float32":
        weights = unscaled(weights, array("scale", np.float32, (width,)), places)
    if places is not None:
        pointers = np.append(0, np.cumsum(counts, dtype=np.int64)).astype(np.uint64)
        weights = PairWeights(pointers, places, weights, width).checked()
    if head is not None:
        head.check(weights, len(classes))
    bias = array("bias", np.float64, (problems,))
    epochs_from(about["history"])
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
        state=CompressedState(
            arrays, n, problems, problems if head is not None and head.pairs else 1
        ),
        package=str(about["package"]),
        precision=precision,
        calibration=_calibration(about, len(classes), features.multilabel),
        threshold=_threshold(about, len(classes) if features.multilabel else 0),
        head=head,
    )


def _calibration(about: dict[str, Any], n_classes: int, multilabel: bool) -> Calibration | None:
    if about["calibration"] is None:
        return None
    calibration = Calibration.from_json(about["calibration"])
    if calibration.n_classes != n_classes or calibration.multilabel != multilabel:
        raise ValueError("the calibration is of another number of classes")
    return calibration


def _threshold(about: dict[str, Any], labels: int) -> float | Array:
    """The threshold, or with several labels per row perhaps that of each."""
    threshold = about["threshold"]
    each = threshold if isinstance(threshold, list) else [threshold]
    if isinstance(threshold, list) and len(threshold) != labels:
        raise ValueError(f"{len(threshold)} thresholds are not those of {labels} labels")
    if not all(type(number) in (int, float) and math.isfinite(number) for number in each):
        raise ValueError("the threshold is not a finite number")
    return np.array(each, np.float64) if isinstance(threshold, list) else float(threshold)


def check_columns(columns: Array, count: int) -> None:
    """Raise ValueError unless these are distinct columns below `count`."""
    expect("columns", columns, np.uint32, (columns.size,))
    ordered = np.sort(columns)
    if np.any(ordered[1:] == ordered[:-1]) or (len(ordered) and int(ordered[-1]) >= count):
        raise ValueError("the columns do not fit the feature specification")


class CompressedState(Mapping[str, Array]):
    """The state of a model, decompressed on access.

    Prediction needs no state, which takes three times the memory of the weights.
    """

    def __init__(self, arrays: Arrays, n: int, problems: int, clocks: int = 1) -> None:
        shapes: dict[str, tuple[Any, Shape]] = {
            "W": (np.float32, (n, problems)),
            "U": (np.float64, (n, problems)),
            "bias": (np.float64, (3, problems)),
            "clock": (np.float64, (clocks,)),
            "scale": (np.float32, (n,)),
            "rest": (np.float64, (2,)),
        }
        names = [name.split(".")[1] for name in arrays if name.startswith("state.")]
        self._arrays = {name: (arrays[f"state.{name}"], *shapes[name]) for name in names}
        for name, (coded, kind, shape) in self._arrays.items():
            check_size(f"state.{name}", coded, kind, shape)

    def __getitem__(self, name: str) -> Array:
        coded, kind, shape = self._arrays[name]
        with reporting_damage("the state of the model"):
            return decompressed(f"state.{name}", coded, kind, shape)

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)


def compressed(array: Array) -> Array:
    """The bytes of an array, compressed by zstd.

    >>> len(compressed(np.zeros(1_000_000)))
    7812
    """
    import pyarrow as pa

    raw = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    coded = pa.compress(raw.reshape(-1).view(np.uint8), codec="zstd", asbytes=True)
    missing = raw.nbytes // _MOST_PER_BYTE - len(coded) - 8
    if missing > 0:
        coded += _PADDING + missing.to_bytes(4, "little") + bytes(missing)
    return np.frombuffer(coded, np.uint8)


def decompressed(name: str, coded: Array, kind: Any, shape: Shape) -> Array:
    """The inverse of :func:`compressed`; raises ValueError unless this array was compressed."""
    import pyarrow as pa

    check_size(name, coded, kind, shape)
    size = math.prod(shape) * np.dtype(kind).itemsize
    try:
        raw = pa.decompress(coded, size, codec="zstd") if size else b""
    except OSError as error:
        raise ValueError(f"{name} is not compressed {np.dtype(kind)}{shape}: {error}") from None
    # By its name, as the cache of kernels goes by the spelling of dtypes: "float32", not "<f4".
    little = np.dtype(np.dtype(kind).newbyteorder("<").str)
    array: Array = np.frombuffer(raw, little).reshape(shape)
    expect(name, array, kind, shape)
    return array


def check_size(name: str, coded: Array, kind: Any, shape: Shape) -> None:
    """Raise ValueError if so few bytes cannot be a compressed array of this type and shape."""
    expect(name, coded, np.uint8, (coded.size,))
    if math.prod(shape) * np.dtype(kind).itemsize >= _MOST_PER_BYTE * (coded.size + 9):
        raise ValueError(f"{name} of shape {shape} cannot be in so small a file")


def scaled(weights: Any, precision: str) -> tuple[Array, Array]:
    """Weights in float16 or int8, and the largest absolute weight s of each problem.

    A float16 v stands for v·s, an int8 q for ± s·(q/127)², which is finer for small weights.

    >>> scaled(np.array([[4.0], [-1.0]], np.float32), "int8")[0].ravel().tolist()
    [127, -64]
    """
    if isinstance(weights, PairWeights):
        scale = np.zeros(weights.n_classes, np.float32)
        np.maximum.at(scale, weights.classes, np.abs(weights.values))
        unit = weights.values / np.where(scale > 0, scale, 1.0)[weights.classes]
    else:
        scale = np.abs(weights).max(axis=0, initial=0.0).astype(np.float32)
        unit = weights / np.where(scale > 0, scale, 1.0)
    if precision == "int8":
        return np.rint(127 * np.sign(unit) * np.sqrt(np.abs(unit))).astype(np.int8), scale
    return unit.astype(np.float16), scale


def unscaled(numbers: Array, scale: Array, classes: Array | None = None) -> Array:
    """The inverse of :func:`scaled`, in float32; raises ValueError if it is not finite.

    Of pairs, these are the weights, and `classes` their classes.
    """
    unit = numbers.astype(np.float32)
    if numbers.dtype == np.int8:
        unit /= np.float32(127)
        unit *= np.abs(unit)
    weights: Array = unit * (scale if classes is None else scale[classes])
    expect("weights", weights, np.float32, numbers.shape)
    return weights


def rounded(weights: Any, precision: str) -> Any:
    """The weights, rounded as in a file of this precision."""
    if precision == "float32":
        return weights
    if isinstance(weights, PairWeights):
        values = unscaled(*scaled(weights, precision), weights.classes)
        return replace(weights, values=values)
    return unscaled(*scaled(weights, precision))
