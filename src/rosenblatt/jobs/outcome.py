"""What a run ends in: calibration and threshold by held-out rows, the model, and saving it."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rosenblatt.atomic_files import check_output
from rosenblatt.data.labels import sorted_labels
from rosenblatt.errors import OptionError, listed, shown
from rosenblatt.jobs.evaluate import curves
from rosenblatt.jobs.monotone import kept_weights
from rosenblatt.jobs.ordered import ordered_model
from rosenblatt.kernels.packing import used_places
from rosenblatt.kernels.rows import NEAR
from rosenblatt.kernels.text import PIECE
from rosenblatt.learners.pairs import PairWeights
from rosenblatt.learners.problems import Problems, in_order
from rosenblatt.models.calibration import Calibration
from rosenblatt.models.model import Model
from rosenblatt.models.shapes import contributions
from rosenblatt.process import Stopped

if TYPE_CHECKING:
    from rosenblatt.jobs.checkpoint import Checkpoint
    from rosenblatt.jobs.run import Run

_MOST_SCORES = 1 << 20  # to fit to
_FEWEST_POSITIVE = 5  # held-out rows of a label that its threshold is chosen by
METRICS = ("precision", "recall", "f1")
_WORDS = 25  # strongest features per class that a model names
_MOST_WORDS = 50_000  # of all classes, unless there are very many
_MOST_IMPORTANT_ROWS = 2_000  # by which the importance of columns is measured
_MANY_PIECES = 12  # of them are looked at, where most features are pieces of words

ArrayMap = Callable[[Any], Any]


@dataclass(frozen=True)
class Target:
    """The precision, recall or F1 that a decision threshold is to reach for one of two classes.

    >>> Target.parse("precision=0.95"), Target.parse("spam:f1").label
    (Target(metric='precision', value=0.95, label=None), 'spam')
    """

    metric: str
    value: float = math.nan
    label: str | None = None

    @classmethod
    def parse(cls, text: str) -> Target:
        """The target of ``[LABEL:]precision=0.95``, ``recall=0.9`` or ``f1``."""
        label, colon, goal = text.rpartition(":")
        metric, equals, value = goal.partition("=")
        try:
            number = float(value) if equals else math.nan
        except ValueError:
            number = math.nan
        is_goal = not equals if metric == "f1" else metric in METRICS and 0 < number <= 1
        if not is_goal:
            raise OptionError(
                f"{text!r} is not a target: say precision=0.95, recall=0.9 (from 0 to 1) or f1, "
                "with LABEL: before it for a class other than the second"
            )
        return cls(metric, number, label if colon else None)

    def check(self, classes: list[str], multilabel: bool) -> None:
        """Refuse a target that has no meaning for these classes."""
        if len(classes) != 2 and not multilabel:
            raise OptionError(
                f"a target is for two classes, or several labels per row, and there are "
                f"{len(classes)} classes"
            )
        if self.label is not None and self.label not in classes:
            known = listed(sorted_labels(classes))
            raise OptionError(f"the target's label {shown(self.label)} is not a class: {known}")


@dataclass(frozen=True)
class HeldOut:
    """The calibration and the decision threshold, fitted to held-out rows."""

    calibration: Calibration | None = None
    # The second of two classes is predicted above this score; or of several labels each.
    threshold: Any = 0.0
    reached: dict[str, float] | None = None  # precision, recall, F1 of the target's class

    @classmethod
    def of_run(cls, run: Run) -> HeldOut:
        """Fit to the held-out rows of a run, scored by the weights that its first phase chose."""
        options, names = run.options, sorted_labels(run.source.classes)
        target = None if options.target is None else Target.parse(options.target)
        if target is not None:
            target.check(names, run.source.features.multilabel)
        if options.calibrate is None and target is None:
            return cls()
        from rosenblatt.jobs.folds import cross_scores, is_cross_fitted

        calibration, is_crossed = None, is_cross_fitted(run)
        if options.calibrate is not None and is_crossed:
            scores, truth, weights = cross_scores(run, names)
            calibration = Calibration.fit(
                scores, truth, len(names), options.calibrate, weights, fewest=2
            )
        scored = run.rows.held_out_scores(
            run.learner, kept_weights(run), bool(options.average), names, _MOST_SCORES // len(names)
        )
        if scored is None:
            return cls(calibration)
        scores, truth, weights = scored
        if options.calibrate is not None and not is_crossed:
            calibration = Calibration.fit(scores, truth, len(names), options.calibrate, weights)
        if target is None:
            return cls(calibration)
        if run.source.features.multilabel:
            return cls(calibration, *label_thresholds(scores, truth, names, target))
        positive = 1 if target.label is None else names.index(target.label)
        sign = 1.0 if positive == 1 else -1.0
        cut, reached = best_threshold(sign * scores[:, 0], truth == positive, target)
        return cls(calibration, sign * cut, reached)

    def to_json(self) -> dict[str, Any]:
        """The attributes as plain data."""
        plain = None if self.calibration is None else self.calibration.to_json()
        threshold = np.asarray(self.threshold).tolist()
        return {"calibration": plain, "threshold": threshold, "reached": self.reached}

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> HeldOut:
        """What :meth:`to_json` wrote."""
        calibration, threshold = plain["calibration"], plain["threshold"]
        threshold = np.array(threshold, np.float64) if isinstance(threshold, list) else threshold
        if not np.isfinite(threshold).all():
            raise ValueError("a threshold is not finite")
        if calibration is not None:
            calibration = Calibration.from_json(calibration)
        return cls(calibration, threshold, plain["reached"])


def best_threshold(
    scores: np.ndarray, positive: np.ndarray, target: Target
) -> tuple[float, dict[str, float]]:
    """The score above which a row is predicted positive, and its precision, recall and F1.

    Of the thresholds that reach a precision, the one with the largest recall, and the other way
    round; if none does, the one that comes closest.

    >>> scores, positive = np.array([3.0, 2.0, 1.0, 0.0]), np.array([True, False, True, False])
    >>> best_threshold(scores, positive, Target("recall", 1.0))
    (0.5, {'precision': 0.6666666666666666, 'recall': 1.0, 'f1': 0.8})
    """
    curve = curves(scores, positive)
    precision, recall = curve["precision"][1:], curve["true_positive_rate"][1:]
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-300)
    value = precision if target.metric == "precision" else recall
    if target.metric == "f1":
        best = int(f1.argmax())
    elif (value >= target.value).any():
        other = recall if target.metric == "precision" else precision
        best = int(np.where(value >= target.value, other, -1.0).argmax())
    else:
        best = int(value.argmax())
    edges = np.append(curve["score"], curve["score"][-1] - 1.0)
    cut = float(edges[best] + edges[best + 1]) / 2
    reached = {"precision": precision, "recall": recall, "f1": f1}
    return cut, {name: float(values[best]) for name, values in reached.items()}


def label_thresholds(
    scores: np.ndarray, truth: np.ndarray, names: list[str], target: Target
) -> tuple[np.ndarray, dict[str, float]]:
    """The score above which each label is predicted; precision, recall and F1 over all of them.

    Labels of fewer than five rows keep zero: so few do not tell where to cut.
    """
    thresholds = np.zeros(len(names))
    for place, name in enumerate(names):
        if target.label in (None, name) and truth[:, place].sum() >= _FEWEST_POSITIVE:
            thresholds[place] = best_threshold(scores[:, place], truth[:, place], target)[0]
    said = scores > thresholds
    hits, n_said, n_true = (float(part.sum()) for part in (said & truth, said, truth))
    reached = {"precision": hits / max(1.0, n_said), "recall": hits / max(1.0, n_true)}
    return thresholds, reached | {"f1": 2 * hits / max(1.0, n_said + n_true)}


def trained_model(run: Run) -> Model:
    """The current model of a run."""
    multilabel = run.source.features.multilabel
    names = run.source.classes[: max(2, run.learner.n_classes)]
    head = None if multilabel else run.head(len(names))
    classes, reorder = _sorted_classes(names, multilabel, head is not None)
    weights, bias = _model_weights(run)
    known, state = run.rows.columns[: len(weights)], {}
    if isinstance(weights, PairWeights):  # without a state: training goes on from these weights
        places = np.flatnonzero(weights.counts).astype(np.uint32)
        columns, weights = known[places], reorder(weights.take(places))
    else:
        state = state_for_model(run.learner, 1 if head is None else len(bias))
        places, select = _used_features(weights, state)
        columns, weights = select(known), np.ascontiguousarray(reorder(select(weights)))
        state |= {name: reorder(select(state[name])) for name in ("W", "U") if name in state}
        state["bias"] = reorder(state["bias"])
        if head is not None:
            state["clock"] = np.abs(reorder(state["clock"]))
    if run.rows.rarity is not None:
        state |= run.rows.rarity.state(places)
    model = Model(
        classes=classes,
        features=run.source.features,
        columns=np.array(columns),
        weights=weights,
        bias=np.array(reorder(bias), dtype=np.float64),
        parameters=run.options.settings
        | {"stop_reason": run.stop_reason}
        | ({"tuning": run.tuning, "tuned": run.verdict.to_json()} if run.tuning else {})
        | ({"lifts": [trial.to_json() for trial in run.lifts]} if run.lifts else {}),
        history=[_epoch_record(asdict(epoch)) for epoch in run.history],
        words=_words(run, classes, columns[:NEAR], weights),
        state={name: np.ascontiguousarray(array) for name, array in state.items()},
        fingerprint=run.rows.fingerprint(),
        calibration=run.held_out.calibration,
        threshold=run.held_out.threshold,
        head=head,
    )
    order = getattr(run.source, "order", None)
    return model if order is None else ordered_model(model, order)


def _model_weights(run: Run) -> tuple[Any, np.ndarray]:
    """The weights (features, problems) and biases of the model: kept, averaged or last ones."""
    best = kept_weights(run)
    weights, bias = run.learner.weights(run.options.average) if best is None else best
    return weights if isinstance(weights, PairWeights) else np.ascontiguousarray(weights.T), bias


def state_for_model(learner: Any, clocks: int = 1) -> dict[str, Any]:
    """What a model keeps of its learner, to continue training from it; pairs have own clocks."""
    state = learner.state()
    wide = {"W": state.weights} | ({"U": state.sums} if learner.averaging else {})
    bias = np.stack([state.bias, state.bias, state.bias_sums])
    arrays = {name: np.ascontiguousarray(array.T) for name, array in wide.items()}
    return arrays | {"bias": bias, "clock": state.clock[:clocks]}


def _used_features(weights: np.ndarray, state: dict[str, Any]) -> tuple[np.ndarray, ArrayMap]:
    """The indices of features with a nonzero weight or sum, and a function that selects them.

    If these are nearly all features, all are selected, without a copy.
    """
    is_used = np.zeros(len(weights), dtype=bool)
    if (last := state.get("W")) is not None:
        is_used[used_places(last, state.get("U", last))] = True
    is_used[used_places(weights, weights)] = True
    if np.count_nonzero(is_used) > 0.9 * len(is_used):
        return np.arange(len(is_used), dtype=np.uint32), lambda array: array
    places = np.flatnonzero(is_used).astype(np.uint32)
    return places, lambda array: array[places]


def _words(
    run: Run, names: tuple[str, ...], columns: np.ndarray, weights: Any
) -> dict[str, list[tuple[str, float]]]:
    """The strongest features of each class, among those that occur in the first rows.

    Hashed columns have no names, so that the first rows are read again. Columns are numbered in
    order of occurrence: frequent ones come first. Words are named before pieces of words.
    """
    features, table = run.source.features, run.source.first_table()
    has_pieces = any(block.kind >= PIECE for block in features.ngrams.blocks[1:])
    most = min(_WORDS, max(5, _MOST_WORDS // len(names)))
    tops = _strongest(weights, len(names), (_MANY_PIECES if has_pieces else 2) * most)
    columns_to_name = sorted(set(columns[np.concatenate([top for top, _ in tops])].tolist()))
    spelled = features.names(table, columns_to_name, pieces=False)
    pieces = features.names(table, columns_to_name) if has_pieces else {}
    words = {}
    for name, (top, values) in zip(names, tops, strict=True):
        pairs = zip(columns[top].tolist(), values.tolist(), strict=True)
        strong = [(column, round(value, 6)) for column, value in pairs if value > 0]
        words[name] = [(spelled[at], weight) for at, weight in strong if at in spelled]
        for at, weight in strong:
            piece = "" if at in spelled else pieces.get(at, "").strip("_").lower()
            # A piece of a stronger piece, or of a word, says nothing more.
            is_new = piece and not any(piece in other.lower() for other, _ in words[name])
            if is_new and len(words[name]) < most:
                words[name].append((pieces[at], weight))
    return {name: named[:most] for name, named in words.items()}


def _strongest(weights: Any, n_classes: int, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The frequent features of the largest weights of each class, and these weights."""
    if isinstance(weights, PairWeights):
        near = weights.take(np.arange(min(NEAR, len(weights))))
        features = np.repeat(np.arange(len(near)), near.counts)
        order = np.argsort(near.classes, kind="stable")
        cuts = np.searchsorted(near.classes[order], np.arange(1, near.n_classes))
        lists = [(features[at], near.values[at]) for at in np.split(order, cuts)]
    else:
        by_problem = np.ascontiguousarray(weights[:NEAR].T)
        strengths = [-by_problem[0], by_problem[0]] if len(by_problem) == 1 else list(by_problem)
        if len(strengths) != n_classes:  # one for each pair of classes
            strengths = list(Problems(n_classes, "ovo").signs.astype(np.float32) @ by_problem)
        lists = [(np.arange(len(strength)), strength) for strength in strengths]
    tops = ((places, values, _largest(values, count)) for places, values in lists)
    return [(places[top], values[top]) for places, values, top in tops]


def _largest(values: np.ndarray, count: int) -> np.ndarray:
    """The indices of the largest values, largest first."""
    if len(values) == 0:
        return np.empty(0, dtype=np.int64)
    rank = max(0, len(values) - count)
    top = np.flatnonzero(values >= np.partition(values, rank)[rank])
    return top[np.argsort(-values[top], kind="stable")][:count]


def _sorted_classes(
    classes: list[str], multilabel: bool, by_pairs: bool
) -> tuple[tuple[str, ...], ArrayMap]:
    """The sorted classes, and a function that reorders the last axis of an array like them."""
    names = sorted_labels(classes)
    number = {name: code for code, name in enumerate(classes)}
    order = [number[name] for name in names]
    if order == list(range(len(order))):
        return tuple(names), lambda array: array
    if len(classes) == 2 and not multilabel:
        return tuple(names), np.negative

    def reorder(array: Any) -> Any:
        if isinstance(array, PairWeights):
            return array.renumbered(np.argsort(order), len(order))
        return in_order(order, array) if by_pairs else array[..., order]

    return tuple(names), reorder


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
    own_files = () if saved is None else (saved.file, saved.row_cache, saved.lock)
    if target.resolve() in [path.resolve() for path in own_files]:
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
    run.class_shares = run.rows.class_shares()
    features = run.source.features
    has_sums = model.head is None or model.by_pairs
    if features.is_plain_table and has_sums and features.columns:
        parts = contributions(model, run.source.sample().slice(0, _MOST_IMPORTANT_ROWS))
        model.parameters["importance"] = {
            name: float(f"{size:.4g}") for name, size in parts.importance.items() if size > 0
        }
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
