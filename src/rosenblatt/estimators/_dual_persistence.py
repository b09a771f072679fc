"""A fitted KernelPerceptron as arrays and plain data, and back; nothing in a file can run."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
from scipy import sparse

from rosenblatt import __version__
from rosenblatt.estimators._kernel_functions import FixedKernel
from rosenblatt.estimators._persistence import (
    classes_from,
    give_names,
    give_recent,
    names_of,
    parameters_from,
    plain_parameters,
    recent_arrays,
)
from rosenblatt.estimators.kernel_perceptron import KernelPerceptron
from rosenblatt.learners.log import MOST_COPIES, DualState, Log, Moment
from rosenblatt.training import Epoch, Progress

FORMAT = "rosenblatt-kernel-perceptron"
VERSION = 2
WRITTEN = ("KernelPerceptron",)
LOG = ("problems", "rows", "taus", "times")
STATE_ARRAYS = ("clock", "squares", "updates", "damage", "longest")
PROGRESS = ("epoch", "steps", "visits", "updates", "stop_reason")
CSR = ("data", "indices", "indptr")


def to_file(model: KernelPerceptron) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the plain data of a fitted model."""
    if not hasattr(model, "state_"):
        raise ValueError("The KernelPerceptron is not fitted; there is nothing to save yet.")
    parameters = plain_parameters(model)
    if callable(parameters["kernel"]):
        raise ValueError("A kernel that is a function cannot be saved: model files hold no code.")
    state, vectors = model.state_, getattr(model, "support_vectors_", None)
    arrays = {"support": model.support_}
    arrays |= {f"log.{name}": getattr(state.log, name) for name in LOG}
    arrays |= {f"state.{name}": getattr(state, name) for name in STATE_ARRAYS}
    if state.kept is not None:
        arrays |= {"kept.clock": state.kept.clock, "kept.squares": state.kept.squares}
    arrays |= recent_arrays(model)
    if sparse.issparse(vectors):
        arrays |= {f"vectors.{name}": getattr(vectors, name) for name in CSR}
    elif vectors is not None:
        arrays["vectors"] = np.ascontiguousarray(vectors)
    about = {
        "format": FORMAT,
        "version": VERSION,
        "package": __version__,
        "parameters": parameters,
        **names_of(model),
        "n_features": model.n_features_in_,
        "gamma": float(model._fixed.gamma),
        "unit": float(model._fixed.unit),
        "precision": model._fixed.dtype.name,
        "rows_seen": model._rows_seen,
        "marked": state.marked,
        "kept": None if state.kept is None else state.kept.lines,
        "removals": state.removals,
        "progress": {name: getattr(model._progress, name) for name in PROGRESS},
        "history": [asdict(epoch) for epoch in model.history_],
    }
    return arrays, about


def from_file(arrays: dict[str, np.ndarray], about: dict[str, Any]) -> KernelPerceptron:
    """The model that :func:`to_file` described; whatever does not fit is a ValueError."""
    if about["version"] != VERSION:
        raise ValueError(f"format version {about['version']!r}; this release reads {VERSION}")
    model = KernelPerceptron(**parameters_from(about))
    model._check_parameters()
    model.classes_ = classes_from(about)
    give_names(model, about, int(about["n_features"]))
    if about["precision"] not in ("float32", "float64"):
        raise ValueError(f"{about['precision']!r} is not a precision of this package")
    fixed = FixedKernel.of(model, float(about["gamma"]), about["precision"])
    model._fixed = replace(fixed, unit=float(about.get("unit", 1.0)))
    if not 0 < model._fixed.unit < np.inf:
        raise ValueError(f"{about['unit']!r} is not a mean of Gram entries")
    model._rows_seen, model.support_ = int(about["rows_seen"]), arrays["support"]
    if model.support_.ndim != 1 or model.support_.dtype != np.int64:
        raise ValueError("the support is not a list of rows")
    if model.kernel != "precomputed":
        model.support_vectors_ = _vectors(arrays, (model.support_.size, model.n_features_in_))
        if model.support_vectors_.dtype != model._fixed.dtype:
            raise ValueError("the support vectors are not of the precision the file says")
    state = _state(arrays, about, len(model._problems()), model.support_.size)
    if model.keep == "vote" and np.max(np.abs(state.log.taus), initial=0.0) > MOST_COPIES:
        raise ValueError(f"the log has an update of more than {MOST_COPIES:,} copies")
    history = [Epoch(**epoch) for epoch in about["history"]]
    counts = {name: about["progress"][name] for name in PROGRESS}
    model._describe(state, Progress(history=history, **counts))
    give_recent(model, arrays)
    return model


def _vectors(arrays: dict[str, np.ndarray], shape: tuple[int, int]) -> Any:
    if "vectors" in arrays:
        vectors: Any = arrays["vectors"]
        values = vectors
    else:
        vectors = sparse.csr_array(tuple(arrays[f"vectors.{name}"] for name in CSR), shape=shape)
        vectors.check_format(full_check=True)
        values = vectors.data
    if vectors.shape != shape or values.dtype.kind != "f" or not np.isfinite(values).all():
        raise ValueError("the support vectors do not fit the support or are not finite")
    return vectors


def _state(
    arrays: dict[str, np.ndarray], about: dict[str, Any], problems: int, n_support: int
) -> DualState:
    log = Log(**{name: arrays[f"log.{name}"] for name in LOG})
    for name, limit in (("problems", problems), ("rows", n_support)):
        places = getattr(log, name)
        if places.dtype != np.int64 or (
            places.size and not 0 <= places.min() <= places.max() < limit
        ):
            raise ValueError(f"the log names {name} that are not there")
    if any(getattr(log, name).shape != (len(log),) for name in LOG):
        raise ValueError("the log is not of one length")
    if not np.isfinite(log.taus).all() or not np.isfinite(log.times).all():
        raise ValueError("the log holds numbers that are not finite")
    found = {name: arrays[f"state.{name}"] for name in STATE_ARRAYS}
    kept = None
    if about["kept"] is not None:
        kept = Moment(int(about["kept"]), arrays["kept.clock"], arrays["kept.squares"])
    for name, array in [*found.items(), *(enumerate(kept[1:]) if kept else ())]:
        if array.shape != ((2, problems) if name == "squares" else (problems,)):
            raise ValueError("the state does not fit the classes")
        if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
            raise ValueError("the state holds what is not a finite number")
    if kept is not None and not 0 <= kept.lines <= len(log):
        raise ValueError("the kept model is not of the log")
    return DualState(
        log=log, kept=kept, marked=int(about["marked"]), removals=about["removals"], **found
    )
