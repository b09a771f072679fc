"""A fitted linear classifier as arrays and plain data, and back; nothing in a file can run."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from rosenblatt import __version__, estimators
from rosenblatt.estimators._classifier import MOST_RECENT
from rosenblatt.estimators._linear_training import LinearTraining
from rosenblatt.estimators._units import MeanSquare
from rosenblatt.kernels.family_cells import BOOK
from rosenblatt.learners.examples import examples_of
from rosenblatt.learners.problems import n_problems
from rosenblatt.learners.weights import State, Weights
from rosenblatt.training import Epoch, History, Progress

FORMAT = "rosenblatt-perceptron"
VERSION = 2
# The estimators that are written so; a file without a name is of the first.
WRITTEN = (
    "Perceptron", "ALMA", "AROW", "ConfidenceWeighted", "NAROW", "NormalHerd", "OnlineGradient",
    "PassiveAggressive", "ROMMA", "SCW", "SecondOrderPerceptron",
)  # fmt: skip
STATE_ARRAYS = ("weights", "bias", "sums", "bias_sums", "clock")
FAMILY_ARRAYS = ("cells", "book")
PROGRESS = ("steps", "visits", "updates", "epoch", "run", "stop_reason")
LABELS = {"i": int, "u": int, "b": bool, "f": float, "U": str, "O": str}


def plain_parameters(model: Any) -> dict[str, Any]:
    """The parameters of an estimator as plain data; callbacks and generators stay behind."""
    parameters: dict[str, Any] = model.get_params()
    parameters["callbacks"] = None
    if not isinstance(parameters["shuffle"], bool | str):
        parameters["shuffle"] = np.asarray(parameters["shuffle"]).tolist()
    if not isinstance(parameters["random_state"], int | None):
        parameters["random_state"] = None
    if isinstance(parameters["class_weight"], dict):
        parameters["class_weight"] = [
            [np.asarray(k).item(), float(v)] for k, v in parameters["class_weight"].items()
        ]
    return parameters


def parameters_from(about: dict[str, Any]) -> dict[str, Any]:
    """The parameters that :func:`plain_parameters` wrote."""
    parameters = dict(about["parameters"])
    if isinstance(parameters["class_weight"], list):
        parameters["class_weight"] = {label: float(w) for label, w in parameters["class_weight"]}
    return parameters


def names_of(model: Any) -> dict[str, Any]:
    """The names of classes and features as plain data."""
    return {
        "classes": model.classes_.tolist(),
        "label_kind": model.classes_.dtype.kind,
        "feature_names": getattr(model, "feature_names_in_", np.empty(0)).tolist() or None,
    }


def classes_from(about: dict[str, Any]) -> np.ndarray:
    """The classes that :func:`names_of` wrote."""
    kind = LABELS[about["label_kind"]]
    if not all(type(label) is kind for label in about["classes"]):
        raise ValueError("the classes are not of the kind the file says")
    return np.array(about["classes"], dtype=object if about["label_kind"] == "O" else kind)


def give_names(model: Any, about: dict[str, Any], n_features: int) -> None:
    """Give a model its number of features and, where they have them, their names."""
    model.n_features_in_ = n_features
    if about["feature_names"]:
        model.feature_names_in_ = np.array([str(n) for n in about["feature_names"]], dtype=object)
        if len(model.feature_names_in_) != n_features:
            raise ValueError("there are not as many feature names as features")


def to_file(model: LinearTraining) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the plain data of a fitted model."""
    name = type(model).__name__
    if not hasattr(model, "coef_"):
        raise ValueError(f"The {name} is not fitted; there is nothing to save yet.")
    parameters = plain_parameters(model)
    if callable(parameters.get("learning_rate")):
        raise ValueError(
            "A learning rate that is a function cannot be saved: model files hold no code. Set "
            "learning_rate='constant' (or 'inverse', 'sqrt') before saving."
        )
    state, progress = model.state_, model._progress
    coefficients = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    arrays = {"coef": coefficients, "intercept": model.intercept_}
    own = FAMILY_ARRAYS if state.book.size else ()
    arrays |= {f"state.{array}": getattr(state, array) for array in (*STATE_ARRAYS, *own)}
    arrays |= recent_arrays(model)
    about = {
        "format": FORMAT,
        "version": VERSION,
        "package": __version__,
        "estimator": name,
        "parameters": parameters,
        **names_of(model),
        "state": {field: getattr(progress, field) for field in PROGRESS},
        "history": [asdict(epoch) for epoch in model.history_],
        "n_iter": model.n_iter_,
        "stop_reason": model.stop_reason_,
        "multiclass": model.multiclass_,
        "mean_square": asdict(model._square),
    }
    return {key: np.ascontiguousarray(array) for key, array in arrays.items()}, about


def from_file(arrays: dict[str, np.ndarray], about: dict[str, Any]) -> LinearTraining:
    """The model that :func:`to_file` described; whatever does not fit is a ValueError."""
    if about["version"] not in (1, VERSION):
        raise ValueError(f"format version {about['version']!r}; this release reads {VERSION}")
    name = about.get("estimator", WRITTEN[0])
    if name not in WRITTEN:
        raise ValueError(f"{name!r} is not an estimator that this release knows")
    model = getattr(estimators, name)(**parameters_from(about))
    model._check_parameters()
    model.classes_ = classes_from(about)
    model.multiclass_ = _multiclass_from(about, model)
    model._square = MeanSquare(**about.get("mean_square", {}))
    state = _checked_state(arrays, model)
    if arrays["coef"].shape != state.weights.shape or arrays["coef"].dtype.kind != "f":
        raise ValueError("the coefficients do not fit the state")
    shown = Weights(arrays["coef"], arrays["intercept"])
    if shown.bias.shape != state.bias.shape or shown.bias.dtype.kind != "f":
        raise ValueError("the intercepts do not fit the state")
    if not all(np.isfinite(array).all() for array in shown):
        raise ValueError("the coefficients hold numbers that are not finite")
    give_names(model, about, arrays["coef"].shape[1])
    empty = np.empty((0, state.weights.shape[1]), state.weights.dtype)
    examples = examples_of(empty, np.empty(0, np.int32))
    model._learner = model._new_learner(examples, len(model.classes_))
    model._learner.restore(state)
    model._places = model._base = None
    model._shown = shown
    model._progress = Progress(**{name: about["state"][name] for name in PROGRESS})
    model.history_ = History([epoch_from(epoch) for epoch in about["history"]])
    model.n_iter_, model.stop_reason_ = int(about["n_iter"]), about["stop_reason"]
    model.n_updates_, model.t_ = model._progress.updates, round(model._progress.steps)
    model.converged_ = model.stop_reason_ == "separated"
    give_recent(model, arrays)
    return model


def epoch_from(plain: dict[str, Any]) -> Epoch:
    """An epoch of a file; version 1 called updated rows mistakes."""
    if "online_error" in plain:
        plain = dict(plain)
        plain["progressive_error"] = plain.pop("online_error")
        plain["updated_rows"] = plain.pop("mistakes")
    return Epoch(**plain)


def _multiclass_from(about: dict[str, Any], model: LinearTraining) -> str:
    """How classes are told apart; files of before the option "auto" have the parameter only."""
    found = about.get("multiclass", model.multiclass)
    given = ("auto", "ovr" if found == "labels" else found)
    if found not in ("ovr", "ovo", "joint", "labels") or model.multiclass not in given:
        raise ValueError(f"multiclass is {found!r}, which the parameters do not allow")
    return str(found)


def _checked_state(arrays: dict[str, np.ndarray], model: LinearTraining) -> State:
    own = FAMILY_ARRAYS if "state.book" in arrays else ()
    found: dict[str, Any] = {name: arrays[f"state.{name}"] for name in (*STATE_ARRAYS, *own)}
    problems = n_problems(len(model.classes_), model.multiclass_)
    shape = (problems, found["weights"].shape[1])
    wanted: dict[str, Any] = {
        "weights": shape, "sums": shape if found["sums"].size else (0, 0), "book": (BOOK, problems)
    }  # fmt: skip
    if own:
        cells = found["cells"]
        wanted["cells"] = (problems, cells.shape[1], cells.shape[2])
        if cells.size and cells.shape[1] not in (shape[1], shape[1] + 1):
            raise ValueError(f"cells is {cells.shape}, for {shape[1]} features")
    for name, array in found.items():
        fits = array.shape == wanted.get(name, (problems,)) and array.dtype.kind == "f"
        if not fits or not np.isfinite(array).all():
            raise ValueError(f"{name} is {array.shape} or holds numbers that are not finite")
    return State(**found)


def recent_arrays(model: Any) -> dict[str, np.ndarray]:
    """What a model file holds of the scores that a model is calibrated by."""
    recent = getattr(model, "_recent", None)
    if recent is None:
        return {}
    return {"recent.scores": np.ascontiguousarray(recent[0]), "recent.codes": recent[1]}


def give_recent(model: Any, arrays: dict[str, np.ndarray]) -> None:
    """Give a model what :func:`recent_arrays` wrote; what does not fit is a ValueError."""
    model._recent = model._calibration = None
    if "recent.scores" not in arrays:
        return
    scores, codes, k = arrays["recent.scores"], arrays["recent.codes"], len(model.classes_)
    several = getattr(model, "multiclass_", None) == "labels"
    fits = (
        scores.shape == (len(codes), *(() if k == 2 and not several else (k,)))
        and scores.dtype == np.float64
        and codes.dtype == np.int64
        and codes.shape == (scores.shape if several else (len(codes),))
        and 0 < len(codes) <= MOST_RECENT
        and np.isfinite(scores).all()
        and 0 <= codes.min() <= codes.max() < (2 if several else k)
    )
    if not fits:
        raise ValueError("the scores to calibrate by do not fit the classes")
    model._recent = scores, codes
