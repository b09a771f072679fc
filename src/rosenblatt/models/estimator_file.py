"""Fitted estimators as arrays and JSON data of a file, and back; and as models of raw rows."""

from __future__ import annotations

import math
import sys
from dataclasses import asdict, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from rosenblatt import __version__, estimators, rules
from rosenblatt.data.cells import spelled_labels
from rosenblatt.data.columns import Column
from rosenblatt.data.features import Features
from rosenblatt.errors import ModelFormatError
from rosenblatt.estimators._classifier import Classifier, describe_run
from rosenblatt.estimators._kernel_functions import ModelKernel
from rosenblatt.estimators._unseen import MOST_RECENT, Unseen
from rosenblatt.kernels.packing import MOST_BITS
from rosenblatt.kernels.text import Ngrams, column
from rosenblatt.learners.column_scale import ColumnScale, RunningScale
from rosenblatt.learners.examples import examples_of
from rosenblatt.learners.log import MOST_COPIES, DualState, Log, Moment
from rosenblatt.learners.problems import n_problems
from rosenblatt.learners.weights import Weights
from rosenblatt.models.head import Head
from rosenblatt.models.model import Model
from rosenblatt.models.tensorfile import (
    check_number,
    epochs_from,
    expect,
    state_arrays,
    state_from,
)
from rosenblatt.training import Progress
from rosenblatt.training.defaults import ROWS_THAT_DECIDE, MeanSquare

Arrays = dict[str, np.ndarray]
About = dict[str, Any]

VERSION = 4
KERNEL = "KernelPerceptron"
FORMATS = {False: "rosenblatt-perceptron", True: "rosenblatt-kernel-perceptron"}  # by is_kernel
_COUNTS = ("steps", "visits", "updates", "epoch", "run", "stop_reason")
_LABELS = {"i": int, "u": int, "b": bool, "f": float, "U": str, "O": str}
_LOG = ("problems", "rows", "taus", "times")
_DUAL = ("clock", "squares", "updates")
_NAMED = 25  # strongest columns per class that a model names
_CSR = ("data", "indices", "indptr")


def to_file(model: Classifier) -> tuple[Arrays, About]:
    """The arrays and the JSON data of a fitted model."""
    name = type(model).__name__
    if not hasattr(model, "_progress"):
        raise ValueError(f"The {name} is not fitted; there is nothing to save yet.")
    is_kernel = name == KERNEL
    about = {
        "format": FORMATS[is_kernel],
        "version": VERSION,
        "package": __version__,
        "estimator": name,
        "parameters": _plain_parameters(model),
        "classes": model.classes_.tolist(),
        "label_kind": model.classes_.dtype.kind,
        "feature_names": getattr(model, "feature_names_in_", np.empty(0)).tolist() or None,
        "history": [asdict(epoch) for epoch in model.history_],
        "progress" if is_kernel else "state": {n: getattr(model._progress, n) for n in _COUNTS},
    }
    arrays, more = (_dual_arrays if is_kernel else _linear_arrays)(model)
    unseen = model._unseen
    if unseen is not None:
        unseen.settle(model)
        named = {"scores": unseen.scores, "codes": unseen.codes, "weights": unseen.weights}
        arrays |= {f"recent.{name}": array for name, array in named.items() if array is not None}
    return {key: np.ascontiguousarray(array) for key, array in arrays.items()}, about | more


def from_file(arrays: Arrays, about: About) -> Classifier:
    """The model that :func:`to_file` wrote; a ValueError if the file is inconsistent."""
    is_kernel = about["format"] == FORMATS[True]
    if about["version"] != VERSION:
        version = about["version"]
        raise ValueError(f"format version {version!r}; this release reads {VERSION}: fit it again")
    name = KERNEL if is_kernel else about["estimator"]
    if name not in (*rules.estimators(), KERNEL):
        raise ValueError(
            f"{name!r} is not an estimator of this release: if its rule is your own, call "
            "rosenblatt.rules.register before"
        )
    parameters = dict(about["parameters"])
    if isinstance(parameters["class_weight"], list):
        parameters["class_weight"] = {label: float(w) for label, w in parameters["class_weight"]}
    model = getattr(estimators, name)(**parameters)
    model._check_parameters()
    model.classes_ = _classes_from(about)
    model.n_features_in_ = about["n_features"] if is_kernel else arrays["coef"].shape[1]
    check_number("n_features", model.n_features_in_, int)
    if about["feature_names"]:
        model.feature_names_in_ = np.array([str(n) for n in about["feature_names"]], dtype=object)
        if len(model.feature_names_in_) != model.n_features_in_:
            raise ValueError("there are not as many feature names as features")
    progress = _progress_from(about["progress" if is_kernel else "state"], about["history"])
    if is_kernel:
        _restore_dual(model, arrays, about)
        model._describe(_dual_state(model, arrays, about), progress)
    else:
        _restore_linear(model, arrays, about)
        model._progress = progress
        describe_run(model, progress)
        check_number("n_iter", about["n_iter"], int)
        model.n_iter_ = about["n_iter"]
        progress.history = []
    _restore_recent(model, arrays)
    return model


def as_model(estimator: Classifier) -> Model:
    """A fitted estimator as a model of rows of files, for the commands.

    Columns are those of the data frame that it was fitted to, by name; else it reads svmlight
    files, with feature number j for column j of X. The label is in the column ``label``.
    """
    name, n_classes = type(estimator).__name__, len(estimator.classes_)
    if name == KERNEL:
        raise ModelFormatError(
            f"this {name} scores rows by its support vectors, in Python only: rosenblatt.load "
            "reads it, and the commands read linear models"
        )
    if n_classes < 2:
        raise ModelFormatError(f"this {name} knows one class only: there is nothing to predict")
    problems = estimator._learner.problems
    of = "pair_" if problems.by_pairs else ""
    d, coef = estimator.n_features_in_, getattr(estimator, f"{of}coef_")
    columns, features = _columns_in_files(estimator, d)
    weights = (coef.toarray() if hasattr(coef, "toarray") else np.asarray(coef)).T
    order = np.argsort(columns)
    try:
        calibration = estimator.calibration_ if estimator.calibrate is not None else None
    except (AttributeError, ValueError):  # nothing to calibrate on
        calibration = None
    parameters = {"estimator": name, **_plain_parameters(estimator)}
    labels = tuple(spelled_labels(estimator.classes_).tolist())
    return Model(
        classes=labels,
        features=features,
        columns=columns[order].astype(np.uint32),
        weights=np.ascontiguousarray(weights[order], dtype=np.float32),
        bias=np.asarray(getattr(estimator, f"{of}intercept_"), dtype=np.float64),
        parameters=parameters,
        words=_strongest(estimator, labels, weights @ problems.signs.T if of else weights),
        calibration=calibration,
        head=Head.of_pairs(n_classes, problems.unit) if of else None,
    )


def _columns_in_files(estimator: Classifier, d: int) -> tuple[np.ndarray, Features]:
    """The hashed column of each column of X, and how rows of files become features."""
    names = getattr(estimator, "feature_names_in_", None)
    multilabel = "," if estimator.multiclass_ == "labels" else None
    if names is None:
        bits = max(1, (d - 1).bit_length())
        return np.arange(d), Features("svmlight", ngrams=Ngrams(bits=bits), separator=multilabel)
    # Numbers are multiplied by 1 / (scale·√d): they enter as they are.
    kinds = tuple(Column(str(name), "number", scale=1.0 / math.sqrt(d)) for name in names)
    for bits in range(Ngrams().bits, MOST_BITS + 1):
        hashed = np.array([column([f"{kind.name}="], bits) for kind in kinds])
        gaps = np.array([column([f"{kind.name}=?"], bits) for kind in kinds])
        if len(set(hashed.tolist()) | set(gaps.tolist())) == 2 * d:
            ngrams = Ngrams(bits=bits)
            return hashed, Features("table", kinds, "label", ngrams, separator=multilabel)
    raise ModelFormatError(
        f"the names of {d:,} columns collide when they are hashed: fit an array, whose columns are "
        "numbers in svmlight files"
    )


def _strongest(
    estimator: Classifier, labels: tuple[str, ...], weights: np.ndarray
) -> dict[str, list[tuple[str, float]]]:
    """The strongest columns of each class by name, with their weights."""
    names = getattr(estimator, "feature_names_in_", np.arange(len(weights)))
    by_class = [-weights[:, 0], weights[:, 0]] if weights.shape[1] == 1 else list(weights.T)
    tops = [np.argsort(-strength, kind="stable")[:_NAMED] for strength in by_class]
    return {
        label: [(str(names[i]), float(strength[i])) for i in top if strength[i] > 0]
        for label, strength, top in zip(labels, by_class, tops, strict=True)
    }


def _plain_parameters(model: Classifier) -> dict[str, Any]:
    """The parameters of an estimator as JSON data, without callbacks and random generators."""
    parameters: dict[str, Any] = {
        name: value.tolist() if isinstance(value, np.generic) else value
        for name, value in model.get_params().items()
    }
    if callable(parameters.get("learning_rate")):
        raise ValueError(
            "A learning rate that is a function cannot be saved: model files hold no code. Set "
            "learning_rate='constant' (or 'inverse', 'sqrt') before saving."
        )
    if callable(parameters.get("kernel")):
        raise ValueError("A kernel that is a function cannot be saved: model files hold no code.")
    parameters["callbacks"] = None
    if not isinstance(parameters.get("shuffle"), bool | str | None):
        parameters["shuffle"] = np.asarray(parameters["shuffle"]).tolist()
    if not isinstance(parameters["random_state"], int | None):
        parameters["random_state"] = None
    if isinstance(parameters["class_weight"], dict):
        parameters["class_weight"] = [
            [np.asarray(k).item(), float(v)] for k, v in parameters["class_weight"].items()
        ]
    return parameters


def _classes_from(about: About) -> np.ndarray:
    labels, kind = about["classes"], _LABELS[about["label_kind"]]
    if not labels or not all(type(label) is kind for label in labels):
        raise ValueError("the classes are not of the type that the file names")
    if any(a >= b for a, b in pairwise(labels)):
        raise ValueError("the classes are not in order")
    return np.array(labels, dtype=object if about["label_kind"] == "O" else kind)


def _progress_from(counts: dict[str, Any], history: list[dict[str, Any]]) -> Progress:
    """The progress of a run and its epochs; a ValueError if their numbers are none."""
    reason = counts["stop_reason"]
    if not isinstance(reason, str | None):
        raise ValueError(f"{reason!r} is not the reason why a run stops")
    for name in ("visits", "updates", "epoch", "run"):
        check_number(name, counts[name], int)
    check_number("steps", counts["steps"])
    return Progress(history=epochs_from(history), **{name: counts[name] for name in _COUNTS})


def _restore_recent(model: Any, arrays: Arrays) -> None:
    """Set the scores that a model is calibrated on."""
    if "recent.scores" not in arrays:
        return
    scores, codes, k = arrays["recent.scores"], arrays["recent.codes"], len(model.classes_)
    weights = arrays.get("recent.weights", np.ones(len(codes)))
    multilabel = getattr(model, "multiclass_", None) == "labels"
    fits = (
        scores.shape == (len(codes), *(() if k == 2 and not multilabel else (k,)))
        and scores.dtype == np.float64
        and codes.dtype == np.int64
        and codes.shape == (scores.shape if multilabel else (len(codes),))
        and 0 < len(codes) <= MOST_RECENT
        and np.isfinite(scores).all()
        and 0 <= codes.min() <= codes.max() < (2 if multilabel else k)
        and np.isfinite(weights).all()
        and weights.shape == (len(codes),)
        and weights.min() >= 0
    )
    if not fits:
        raise ValueError("the scores to calibrate by do not fit the classes")
    model._unseen = Unseen(scores, codes, weights)


# Linear classifiers


def _linear_arrays(model: Any) -> tuple[Arrays, About]:
    weights, bias = model._predicting()
    coefficients = weights.toarray() if hasattr(weights, "toarray") else weights
    arrays = {"coef": coefficients, "intercept": bias.astype(weights.dtype)}
    about = {
        "n_iter": model.n_iter_,
        "stop_reason": model.stop_reason_,
        "multiclass": model.multiclass_,
        "mean_square": asdict(model._square),
        "scaled": None if model._running is None else [model._running.rows, model._running.square],
    }
    arrays |= _scale_arrays(model.scale_)
    if model._running is not None:
        arrays |= {"scale.sums": model._running.sums, "scale.first": model._running.first}
    return arrays | state_arrays(model.state_, "state."), about


def _restore_linear(model: Any, arrays: Arrays, about: About) -> None:
    model.multiclass_ = _multiclass_from(about, model)
    model._square = _mean_square_from(about["mean_square"])
    problems = n_problems(len(model.classes_), model.multiclass_)
    state = state_from(arrays, "state.", problems)
    _restore_scale(model, arrays, about, state.weights.shape[1])
    shown = Weights(arrays["coef"], arrays["intercept"])
    expect("coef", shown.weights, np.floating, state.weights.shape)
    expect("intercept", shown.bias, np.floating, state.bias.shape)
    if len(model.classes_) == 1 and (shown.weights.any() or shown.bias.any()):
        raise ValueError("there are weights, but no second class")
    empty = np.empty((0, state.weights.shape[1]), state.weights.dtype)
    examples = examples_of(empty, np.empty(0, np.int32))
    model._learner = model._new_learner(examples, len(model.classes_))
    model._learner.restore(state)
    model._places = model._base = None
    model._shown = shown


def _scale_arrays(scale: ColumnScale | None) -> Arrays:
    """What the columns are scaled by."""
    return {} if scale is None else {f"scale.{name}": x for name, x in asdict(scale).items()}


def _scale_from(arrays: Arrays, width: int) -> ColumnScale | None:
    """What the columns are scaled by; a ValueError if that is not possible."""
    if "scale.factors" not in arrays:
        return None
    named = {name: arrays[f"scale.{name}"] for name in ("centre", "factors")}
    for name, array in named.items():
        expect(f"scale.{name}", array, np.float64, (width,))
    if not (named["factors"] >= 0).all():
        raise ValueError("a column has a negative factor")
    return ColumnScale(**named)


def _restore_scale(model: Any, arrays: Arrays, about: About, width: int) -> None:
    """Set what the columns are scaled by, with the sums of a stream."""
    model.scale_, model._running = _scale_from(arrays, width), None
    if model.scale_ is not None and about["scaled"] is not None:
        rows, square = about["scaled"]
        check_number("the number of scaled rows", rows, int)
        check_number("their mean square", square, most=sys.float_info.max)
        running = RunningScale(width, bool(model.fit_intercept))
        expect("scale.sums", arrays["scale.sums"], np.float64, running.sums.shape)
        expect("scale.first", arrays["scale.first"], np.float64, (width,))
        running.sums, running.first = arrays["scale.sums"].copy(), arrays["scale.first"].copy()
        running.rows, running.square, running.scale = rows, square, model.scale_
        model._running = running


def _multiclass_from(about: About, model: Any) -> str:
    """The value of `multiclass_`, if the parameters allow it."""
    multiclass = about["multiclass"]
    parameters = ("auto", "ovr" if multiclass == "labels" else multiclass)
    if multiclass not in ("ovr", "ovo", "joint", "labels") or model.multiclass not in parameters:
        raise ValueError(f"multiclass is {multiclass!r}, which the parameters do not allow")
    return str(multiclass)


def _mean_square_from(plain: dict[str, Any]) -> MeanSquare:
    square = MeanSquare(**plain)
    check_number("the mean square", square.value, most=sys.float_info.max)
    check_number("the sum of squares", square.total, most=sys.float_info.max)
    if square.rows is not None:
        check_number("the number of rows that decide", square.rows, int, most=ROWS_THAT_DECIDE - 1)
    return square


# Kernel perceptrons


def _dual_arrays(model: Any) -> tuple[Arrays, About]:
    state, vectors = model.state_, getattr(model, "support_vectors_", None)
    arrays = {"support": model.support_}
    arrays |= {f"log.{name}": getattr(state.log, name) for name in _LOG}
    arrays |= {f"state.{name}": getattr(state, name) for name in _DUAL}
    if state.kept is not None:
        arrays |= {"kept.clock": state.kept.clock, "kept.squares": state.kept.squares}
    if sparse.issparse(vectors):
        arrays |= {f"vectors.{name}": getattr(vectors, name) for name in _CSR}
    elif vectors is not None:
        arrays["vectors"] = vectors
    arrays |= _scale_arrays(model.scale_)
    about = {
        "n_features": model.n_features_in_,
        "gamma": float(model._kernel.gamma),
        "unit": float(model._kernel.unit),
        "precision": model._kernel.dtype.name,
        "rows_seen": model._rows_seen,
        "marked": state.marked,
        "kept": None if state.kept is None else state.kept.lines,
    }
    return arrays, about


def _restore_dual(model: Any, arrays: Arrays, about: About) -> None:
    if about["precision"] not in ("float32", "float64"):
        raise ValueError(f"{about['precision']!r} is not a precision of this package")
    fixed = ModelKernel.of(model, float(about["gamma"]), about["precision"])
    scale = _scale_from(arrays, model.n_features_in_)
    model._kernel = replace(fixed, unit=float(about["unit"]), scale=scale)
    if not 0 < model._kernel.unit < np.inf:
        raise ValueError(f"{about['unit']!r} is not a mean of Gram entries")
    check_number("rows_seen", about["rows_seen"], int)
    model._rows_seen, model.support_ = about["rows_seen"], arrays["support"]
    expect("support", model.support_, np.int64, (len(model.support_),))
    if model.kernel == "precomputed":
        return
    shape = (model.support_.size, model.n_features_in_)
    values = vectors = arrays.get("vectors", np.empty(0))
    if "vectors" not in arrays:
        vectors = sparse.csr_array(tuple(arrays[f"vectors.{name}"] for name in _CSR), shape=shape)
        vectors.check_format(full_check=True)
        values = vectors.data
    expect("vectors", values, model._kernel.dtype, values.shape)
    if vectors.shape != shape:
        raise ValueError("the support vectors do not fit the support")
    model.support_vectors_ = vectors


def _dual_state(model: Any, arrays: Arrays, about: About) -> DualState:
    problems = len(model._problems())
    log = Log(**{name: arrays[f"log.{name}"] for name in _LOG})
    for name, limit in (("problems", problems), ("rows", model.support_.size)):
        places = getattr(log, name)
        expect(name, places, np.int64, (len(log),))
        if places.size and not 0 <= places.min() <= places.max() < limit:
            raise ValueError(f"the log names {name} that are not there")
    expect("taus", log.taus, np.number, (len(log),))
    expect("times", log.times, np.number, (len(log),))
    if model.keep == "vote" and np.max(np.abs(log.taus), initial=0.0) > MOST_COPIES:
        raise ValueError(f"the log has an update of more than {MOST_COPIES:,} copies")
    entries: dict[str, Any] = {name: arrays[f"state.{name}"] for name in _DUAL}
    kept = None
    if about["kept"] is not None:
        kept = Moment(int(about["kept"]), arrays["kept.clock"], arrays["kept.squares"])
        if not 0 <= kept.lines <= len(log):
            raise ValueError("the kept model is not of the log")
    for name, array in [*entries.items(), *(enumerate(kept[1:]) if kept else ())]:
        expect(str(name), array, np.number, (2, problems) if name == "squares" else (problems,))
    return DualState(log=log, kept=kept, marked=int(about["marked"]), **entries)
