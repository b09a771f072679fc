"""Checkpoints of training runs: a resumed run ends in the same model, bit for bit.

The rows are in a folder beside the checkpoint file, which says how many of them belong to it. The
file is replaced atomically, so that a kill or a full disk leaves the previous one. Both have
checksums, and damage is refused.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from rosenblatt.atomic_files import acquire_lock, remove_leftovers
from rosenblatt.data import Features
from rosenblatt.data.labels import LabelSets
from rosenblatt.data.store import Store
from rosenblatt.errors import DataError, ModelFormatError
from rosenblatt.jobs.held_out import Leaders
from rosenblatt.jobs.outcome import HeldOut
from rosenblatt.jobs.rows import FileRows, known_classes
from rosenblatt.jobs.run import Run
from rosenblatt.kernels.packing import Numbering
from rosenblatt.learners.pairs import PairWeights
from rosenblatt.learners.problems import n_problems
from rosenblatt.learners.rates import IdfScales
from rosenblatt.learners.weights import State, Weights
from rosenblatt.models import tensorfile
from rosenblatt.models.model_file import check_columns
from rosenblatt.models.tensorfile import (
    expect,
    reporting_damage,
    state_arrays,
    state_from,
    weights_arrays,
    weights_from,
)
from rosenblatt.training import Epoch, Progress
from rosenblatt.training.progress import Counts, Kept

_PLAIN = [f.name for f in fields(Progress) if f.type in ("int", "float", "str | None")]


class Checkpoint:
    """A folder with a saved run, which is saved again after `seconds`, or after `rows` visits."""

    format, version = "rosenblatt-checkpoint", 7
    unreadable = "a checkpoint that this release can read"
    rows_name = "rows"

    def __init__(self, folder: Path, seconds: float = 60.0, rows: int | None = None) -> None:
        self.folder = Path(folder)
        self.seconds, self.rows = seconds, rows
        self.file, self.row_cache = self.folder / "checkpoint", self.folder / self.rows_name
        self.lock = self.folder / "lock"  # held by the run that uses the folder
        self._last, self._visits = monotonic(), 0

    @contextmanager
    def locked(self, resume: bool) -> Iterator[None]:
        """Lock the folder, and remove temporary files of killed runs.

        Raises DataError if another run uses the folder, or a saved run is not to be resumed.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = acquire_lock(self.lock)
        if lock is None:
            raise DataError(
                "another run uses this checkpoint folder; wait for it, or take another folder",
                path=self.folder,
            )
        with lock:
            remove_leftovers(self.file)
            try:
                if self.file.exists() and not resume:
                    message = "a run is saved here; add --resume (resume=True)"
                    raise DataError(message, path=self.file)
                yield
            finally:
                self.lock.unlink(missing_ok=True)

    def step(self, run: Run) -> None:
        """Save the run if it is due."""
        visits = run.rows.count + sum(progress.visits for progress in run.runs)
        enough = self.rows is not None and abs(visits - self._visits) >= self.rows
        if enough or monotonic() - self._last >= self.seconds:
            self.save(run)
            self._visits = visits

    def save(self, run: Run) -> None:
        """Save the run: the rows first, then the file that refers to them."""
        self.folder.mkdir(parents=True, exist_ok=True)
        arrays, contents = self._contents(run)
        if run.progress.kept is not None:
            weights, bias = run.progress.kept.weights
            arrays |= weights_arrays(weights, "kept.") | {"kept.bias": bias}
        about: dict[str, Any] = {
            "format": self.format,
            "version": self.version,
            "settings": run.options.settings,
            "features": run.source.features.to_json(),
            "runs": [_plain_progress(progress) for progress in run.runs],
            "held_out": run.held_out.to_json(),
        }
        tensorfile.write(self.file, arrays, about | contents)
        self._last = monotonic()

    def stopped(self, run: Run) -> str:
        """Save an interrupted run; returns the message for the user."""
        self.save(run)
        return f"stopped; go on with the same command and --resume ({self.file})"

    def _contents(self, run: Run) -> tuple[dict[str, Any], dict[str, Any]]:
        """The arrays and the plain data of a run, once its rows are on disk."""
        source, rows = run.source, _file_rows(run)
        rows.store.flush(sync=True)
        state = run.learner.state()
        arrays = {"columns": rows.numbering.columns} | state_arrays(state, "learner.")
        if state.before is not None:
            arrays |= {f"before.{name}": array for name, array in state.before._asdict().items()}
        about: dict[str, Any] = {
            "fingerprint": source.fingerprint(),
            "changes": source.last_changes(),
            "classes": source.classes,
            "counts": [source.rows, source.bad, dict(source.missing), dict(source.strays)],
            "named_strays": source.named_strays,
            "read": [rows.batches, rows.bytes, rows.restarts],
            "store": rows.store.summary(),
            "n_classes": run.learner.n_classes,
            "label_sets": source.label_sets.members,
        }
        held, about["groups"] = rows.leaders.state()
        arrays |= held
        if rows.rarity is not None:
            arrays["scales"] = rows.rarity.scales
            about["rest"] = [rows.rarity.rest, rows.rarity.usual]
        return arrays, about

    def resume(self, run: Run) -> bool:
        """Begin a run, and restore the saved one, if any; returns whether there was one.

        Raises ModelFormatError if the file is damaged, or of a run with other data or settings.
        """
        if not self.file.exists():
            run.begin()
            return False
        arrays, about = tensorfile.read(self.file)
        if about.get("format") != self.format or about.get("version") != self.version:
            raise ModelFormatError(f"{self.file} is not {self.unreadable}")
        with reporting_damage(str(self.file)):
            self._must_match(run, about)
        run.begin()
        with reporting_damage(str(self.file)):
            self._restore(run, arrays, about)
        return True

    def _restore(self, run: Run, arrays: dict[str, Any], about: dict[str, Any]) -> None:
        """Restore a run, once all parts are known to fit together."""
        source, rows = run.source, _file_rows(run)
        columns = arrays["columns"]
        check_columns(columns, rows.n_columns)
        classes, n_classes = [str(name) for name in about["classes"]], int(about["n_classes"])
        multilabel = source.features.multilabel
        multiclass = "labels" if multilabel else str(run.options.multiclass)
        problems = n_problems(n_classes, multiclass)
        state = _state_of(arrays, problems, len(columns))
        rows.store.close()
        sets = _label_sets(about["label_sets"], len(classes))
        n_codes = len(sets) if multilabel else len(classes)
        rows.store = Store.restored(self.row_cache, about["store"], len(columns), max(1, n_codes))
        rows.numbering = Numbering(rows.n_columns, columns)
        if "scales" in arrays:
            known = min(len(arrays["scales"]), len(columns))
            expect("scales", arrays["scales"], np.floating, (known,))
            rows.rarity = IdfScales(arrays["scales"], *map(float, about["rest"]))
        source.classes, source.label_sets = classes, sets
        source.rows, source.bad, missing, strays = about["counts"]
        source.missing, source.strays = Counter(missing), Counter(strays)
        source.named_strays = [
            (str(path), int(line), str(name), str(cell))
            for path, line, name, cell in about["named_strays"]
        ]
        rows.batches, rows.bytes, rows.restarts = map(int, about["read"])
        rows.leaders = Leaders.restored(len(rows.store) // rows.copies, arrays, about["groups"])
        self._restore_progress(run, arrays, about)
        if not 0 <= run.progress.position <= len(rows.store):
            raise ValueError(f"it has visited {run.progress.position} of {len(rows.store)} rows")
        if run.progress.kept is not None:
            weights = run.progress.kept.weights.weights
            if isinstance(weights, PairWeights):
                expect("kept", weights.values, np.floating, weights.values.shape)
            else:
                expect("kept", weights, np.floating, (problems, weights.shape[1]))
        run.learner = rows.new_learner(run.options, n_classes=n_classes)
        run.learner.restore(state)
        if run.phase != "reading":  # while reading, classes and features may still turn up
            if n_classes != known_classes(source):
                raise ValueError(f"it knows {len(classes)} classes, its learner {n_classes}")
            run.learner.reserve(len(columns))
        rows.follow(run.learner, run.runs[0])

    @staticmethod
    def _restore_progress(run: Run, arrays: dict[str, Any], about: dict[str, Any]) -> None:
        """Restore the progress of all phases, and what held-out rows decided."""
        run.runs = [_progress_from(plain) for plain in about["runs"]]
        run.held_out = HeldOut.from_json(about["held_out"])
        if len(run.runs) not in (1, 2):
            raise ValueError(f"it has {len(run.runs)} phases")
        if "kept.weights" in arrays:
            bias = arrays["kept.bias"]
            weights = Weights(weights_from(arrays, "kept.", len(bias)), bias)
            run.progress.kept = Kept(weights, *about["runs"][-1]["kept"])

    def remove(self) -> None:
        """Remove the saved run, once the model is saved."""
        self.file.unlink(missing_ok=True)
        shutil.rmtree(self.row_cache, ignore_errors=True)

    def _must_match(self, run: Run, about: dict[str, Any]) -> None:
        self._must_have_same_data(run, about)
        now, then = run.options.settings, dict(about["settings"])
        if then != now:
            changed = [name for name in {**now, **then} if now.get(name) != then.get(name)]
            raise ModelFormatError(
                f"{self.file} is of a run with other settings: {', '.join(changed)} differ"
            )
        if Features.from_json(about["features"]) != run.source.features:
            raise ModelFormatError(f"{self.file} is of a run with other columns")

    def _must_have_same_data(self, run: Run, about: dict[str, Any]) -> None:
        if about["fingerprint"] != run.source.fingerprint():
            raise ModelFormatError(f"{self.file} is of a run on other files")
        changes = zip(run.source.last_changes(), about["changes"], strict=True)
        for path, (last, known) in zip(run.source.files, changes, strict=True):
            if last != known:
                raise ModelFormatError(f"{path} was written again since {self.file} was saved")


def _file_rows(run: Run) -> FileRows:
    assert isinstance(run.rows, FileRows), "the rows of this checkpoint are in one store"
    return run.rows


def _label_sets(members: Any, n_classes: int) -> LabelSets:
    """The label sets of a checkpoint, checked."""
    for codes in members:
        if not all(type(code) is int and 0 <= code < n_classes for code in codes):
            raise ValueError("a set of labels names a label that is not there")
    sets = LabelSets(members)
    if len(sets) != len(members):
        raise ValueError("a set of labels occurs twice")
    return sets


def _state_of(arrays: dict[str, Any], problems: int, features: int) -> State:
    """The checked state of a learner; it may have fewer features than there are by now."""
    state = state_from(arrays, "learner.", problems)
    n = state.n_features
    if n > features:
        raise ValueError(f"there are weights of {n} features, but {features} features")
    if "before.weights" not in arrays:
        return state
    before = Weights(arrays["before.weights"], arrays["before.bias"])
    expect("before", before.weights, np.floating, (problems, min(before.weights.shape[1], n)))
    expect("before", before.bias, np.floating, (problems,))
    return replace(state, before=before)


def _plain_progress(progress: Progress) -> dict[str, Any]:
    """The progress of a phase as plain data, without weights."""
    kept = progress.kept
    return {name: getattr(progress, name) for name in _PLAIN} | {
        "counts": asdict(progress.counts),
        "history": [asdict(epoch) for epoch in progress.history],
        "kept": None if kept is None else [kept.error, kept.run],
    }


def _progress_from(plain: dict[str, Any]) -> Progress:
    """The inverse of :func:`_plain_progress`."""
    return Progress(
        **{name: plain[name] for name in _PLAIN},
        counts=Counts(**plain["counts"]),
        history=[Epoch(**epoch) for epoch in plain["history"]],
    )
