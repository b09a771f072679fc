"""The model of a training run, and saving it at the end or after an interrupt."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rosenblatt.atomic_files import check_output
from rosenblatt.data.labels import sorted_labels
from rosenblatt.errors import OptionError
from rosenblatt.kernels.packing import used_places
from rosenblatt.kernels.rows import NEAR
from rosenblatt.models.model import Model
from rosenblatt.process import Stopped

if TYPE_CHECKING:
    from rosenblatt.jobs.checkpoint import Checkpoint
    from rosenblatt.jobs.run import Run

_WORDS = 25  # strongest features per class that a model names

ArrayMap = Callable[[np.ndarray], np.ndarray]


def trained_model(run: Run) -> Model:
    """The current model of a run."""
    multilabel = run.source.features.multilabel
    classes, reorder = _sorted_classes(
        run.source.classes[: max(2, run.learner.n_classes)], multilabel
    )
    weights, bias = _model_weights(run)
    state = _state(run)
    places, select = _used_features(weights, state)
    columns, weights = select(run.rows.columns[: len(weights)]), reorder(select(weights))
    state |= {name: reorder(select(state[name])) for name in ("W", "U") if name in state}
    state["bias"] = reorder(state["bias"])
    if run.rows.rarity is not None:
        state["scale"] = run.rows.rarity.of_places(places)
    return Model(
        classes=classes,
        features=run.source.features,
        columns=np.array(columns),
        weights=np.ascontiguousarray(weights),
        bias=np.array(reorder(bias), dtype=np.float64),
        parameters=run.options.settings
        | {"stop_reason": run.stop_reason}
        | ({"tuning": run.tuning} if run.tuning else {}),
        history=[_epoch_record(asdict(epoch)) for epoch in run.history],
        words=_words(run, classes, columns[:NEAR], weights[:NEAR]),
        state={name: np.ascontiguousarray(array) for name, array in state.items()},
        fingerprint=run.rows.fingerprint(),
        calibration=run.held_out.calibration,
        threshold=run.held_out.threshold,
    )


def _model_weights(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """The weights (features, problems) and biases of the model: kept, averaged or last ones."""
    kept, averaged = run.progress.kept, run.options.average
    weights, bias = run.learner.weights(averaged) if kept is None else kept.weights
    return np.ascontiguousarray(weights.T), bias


def _state(run: Run) -> dict[str, Any]:
    """What is needed to continue training from the model."""
    state = run.learner.state()
    wide = {"W": state.weights} | ({"U": state.sums} if run.learner.averaging else {})
    bias = np.stack([state.bias, state.bias, state.bias_sums])
    own = {"bias": bias, "clock": state.clock[:1]}
    return {name: np.ascontiguousarray(array.T) for name, array in wide.items()} | own


def _used_features(weights: np.ndarray, state: dict[str, Any]) -> tuple[np.ndarray, ArrayMap]:
    """The indices of features with a nonzero weight or sum, and a function that selects them.

    If these are nearly all features, all are selected, without a copy.
    """
    last = state["W"]
    found = np.zeros(len(last), dtype=bool)
    found[used_places(last, state.get("U", last))] = True
    found[used_places(weights, weights)] = True
    if np.count_nonzero(found) > 0.9 * len(found):
        return np.arange(len(found), dtype=np.uint32), lambda array: array
    places = np.flatnonzero(found).astype(np.uint32)
    return places, lambda array: array[places]


def _words(
    run: Run, names: tuple[str, ...], columns: np.ndarray, weights: np.ndarray
) -> dict[str, list[tuple[str, float]]]:
    """The strongest features of each class, among those that occur in the first rows.

    Hashed columns have no names, so that the first rows are read again. Columns are numbered in
    order of occurrence: frequent ones come first.
    """
    by_problem = np.ascontiguousarray(weights.T)
    strengths = [-by_problem[0], by_problem[0]] if len(by_problem) == 1 else list(by_problem)
    tops = [_largest(strength, 2 * _WORDS) for strength in strengths]
    columns_to_name = columns[np.concatenate(tops)].tolist()
    spelled = run.source.features.names(run.source.first_table(), columns_to_name)
    return {
        name: [
            (spelled[int(columns[i])], round(float(strength[i]), 6))
            for i in top
            if int(columns[i]) in spelled and strength[i] > 0
        ][:_WORDS]
        for name, strength, top in zip(names, strengths, tops, strict=True)
    }


def _largest(values: np.ndarray, count: int) -> np.ndarray:
    """The indices of the largest values, largest first."""
    if len(values) == 0:
        return np.empty(0, dtype=np.int64)
    rank = max(0, len(values) - count)
    top = np.flatnonzero(values >= np.partition(values, rank)[rank])
    return top[np.argsort(-values[top], kind="stable")][:count]


def _sorted_classes(classes: list[str], multilabel: bool) -> tuple[tuple[str, ...], ArrayMap]:
    """The sorted classes, and a function that reorders the last axis of an array like them."""
    names = sorted_labels(classes)
    order = [classes.index(name) for name in names]
    if order == list(range(len(order))):
        return tuple(names), lambda array: array
    if len(classes) == 2 and not multilabel:
        return tuple(names), np.negative
    return tuple(names), lambda array: array[..., order]


def _epoch_record(record: dict[str, Any]) -> dict[str, Any]:
    """An epoch for the model file, which must be the same for the same run, byte for byte.

    So it leaves out the time, and lengths of weights, whose last digits depend on the number of
    threads; and NaN, which JSON does not have.
    """
    left_out = {k for k, v in record.items() if isinstance(v, float) and math.isnan(v)}
    left_out |= {"seconds", "weight_norm", "relative_change"}
    return {k: v for k, v in record.items() if k not in left_out}


def check_model_path(target: Path, files: Iterable[str], saved: Checkpoint | None) -> None:
    """Refuse a model file that cannot be written, or would replace an input or the checkpoint."""
    if saved is not None and target.resolve() in (
        saved.file.resolve(), saved.row_cache.resolve(), saved.lock.resolve(),
    ):  # fmt: skip
        raise OptionError(f"{target} belongs to the checkpoint; name another file")
    check_output(target, files, "model")


def save_or_fall_back(model: Model, target: Path) -> None:
    """Save a model; if that fails, save it in a temporary folder and name that in the OSError."""
    try:
        model.save(target)
    except OSError as error:
        try:
            fallback = Path(tempfile.mkdtemp(prefix="model-")) / target.name
            model.save(fallback)
        except OSError:
            raise error from None
        message = f"{error.strerror} (the model was saved as {fallback} instead)"
        raise OSError(error.errno, message, os.fspath(target)) from None


def finished(run: Run, saved: Checkpoint | None, out: str | os.PathLike[str] | None) -> Model:
    """The model of a run that is over; it is saved, then the checkpoint is removed."""
    model = run.model()
    if out is not None:
        save_or_fall_back(model, Path(out))
    if saved is not None:
        saved.remove()
    return model


def stopped(
    run: Run, saved: Checkpoint | None, out: str | os.PathLike[str] | None, signal: int
) -> BaseException:
    """Save an interrupted run or its model; returns the exception that says how to continue."""
    if saved is not None:
        return Stopped(saved.stopped(run), signal)
    if out is None:
        return KeyboardInterrupt()
    if not run.has_learned:
        return Stopped("stopped before anything was learned", signal)
    save_or_fall_back(run.model(), Path(out))
    return Stopped(f"stopped; what was learned is in {out}, go on with --from {out}", signal)
