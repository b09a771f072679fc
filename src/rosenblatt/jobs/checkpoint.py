"""A training run on disk: saved between two steps, continued as if nothing had happened.

The rows lie in a folder beside the checkpoint file, which knows how much of them there was. The
file is replaced as a whole, so that a kill or a full disk at any moment leaves the one before.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import Any

from rosenblatt import tensorfile
from rosenblatt.data import Features, Source
from rosenblatt.data.store import Store
from rosenblatt.errors import ModelFormatError
from rosenblatt.jobs.train import Progress, Settings, Trainer
from rosenblatt.kernels.compact import Numbering, Rarity
from rosenblatt.training.history import Epoch
from rosenblatt.training.stream import Outcome

FORMAT = "rosenblatt-checkpoint"
VERSION = 2


class Checkpoint:
    """A folder that holds a run, written every so often.

    Parameters
    ----------
    folder : path
        Created if needed.
    seconds : float
        The least time between two writes.
    rows : int or None
        Write, too, when so many rows were visited since the last time.
    """

    def __init__(self, folder: Path, seconds: float = 60.0, rows: int | None = None) -> None:
        self.folder, self.seconds, self.rows = Path(folder), seconds, rows
        self._last, self._visits = monotonic(), 0

    @property
    def file(self) -> Path:
        """The checkpoint itself."""
        return self.folder / "checkpoint"

    @property
    def row_folder(self) -> Path:
        """Where the rows lie."""
        return self.folder / "rows"

    def step(self, trainer: Trainer) -> None:
        """Save the run if it is time to."""
        visits = (trainer.progress.epoch - 1) * len(trainer.store) + trainer.progress.visits
        enough = self.rows is not None and abs(visits - self._visits) >= self.rows
        if enough or monotonic() - self._last >= self.seconds:
            self.save(trainer)
            self._visits = visits

    def save(self, trainer: Trainer) -> None:
        """Write the run down; the rows first, then what refers to them."""
        trainer.store.flush(sync=True)
        arrays = {"columns": trainer.numbering.columns}
        if trainer.learner is not None:
            arrays |= {f"learner.{k}": v for k, v in trainer.learner.arrays().items()}
        if trainer.best is not None:
            arrays |= {"best.weights": trainer.best[0], "best.bias": trainer.best[1]}
        about: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "settings": asdict(trainer.settings),
            "fingerprint": trainer.source.fingerprint(),
            "changes": trainer.source.last_changes(),
            "features": trainer.source.features.to_json(),
            "classes": trainer.source.classes,
            "counts": [trainer.source.rows, trainer.source.bad, dict(trainer.source.missing)],
            "progress": asdict(trainer.progress),
            "outcome": asdict(trainer.outcome),
            "history": [asdict(epoch) for epoch in trainer.history],
            "store": trainer.store.summary(),
            "learner": None if trainer.learner is None else trainer.learner.n_classes,
            "nameable": trainer.nameable,
        }
        if trainer.rarity is not None:
            arrays["scales"] = trainer.rarity.scales
            about["rest"] = trainer.rarity.rest
        tensorfile.write(self.file, arrays, about)
        self._last = monotonic()

    def resume(self, trainer: Trainer) -> bool:
        """Put a fresh trainer where the saved run was; False if there is none yet.

        Raises
        ------
        ModelFormatError
            If the file is damaged, or of a run with other data or other settings.
        """
        if not self.file.exists():
            return False
        arrays, about = tensorfile.read(self.file)
        if about.get("format") != FORMAT or about.get("version") != VERSION:
            raise ModelFormatError(f"{self.file} is no checkpoint that this release can read")
        self._must_match(trainer, about)
        trainer.store.close()
        trainer.store = Store.restored(self.row_folder, about["store"])
        trainer.numbering = Numbering(trainer.source.features.ngrams.bits, arrays["columns"])
        if "scales" in arrays:
            trainer.rarity = Rarity(arrays["scales"], float(about["rest"]))
        _restore_source(trainer.source, about)
        trainer.progress = Progress(**about["progress"])
        trainer.outcome = Outcome(**about["outcome"])
        trainer.history = [Epoch(**epoch) for epoch in about["history"]]
        trainer.nameable = int(about["nameable"])
        if about["learner"] is not None:
            trainer.learner = trainer.new_learner(about["learner"])
            trainer.learner.restore(
                {
                    k.removeprefix("learner."): v
                    for k, v in arrays.items()
                    if k.startswith("learner.")
                }
            )
        if "best.weights" in arrays:
            trainer.best = arrays["best.weights"], arrays["best.bias"]
        return True

    def _must_match(self, trainer: Trainer, about: dict[str, Any]) -> None:
        if Settings(**about["settings"]) != trainer.settings:
            now, then = asdict(trainer.settings), about["settings"]
            changed = [name for name in now if now[name] != then.get(name)]
            raise ModelFormatError(
                f"{self.file} is of a run with other settings: {', '.join(changed)} differ"
            )
        if about["fingerprint"] != trainer.source.fingerprint():
            raise ModelFormatError(f"{self.file} is of a run on other files")
        changes = zip(trainer.source.last_changes(), about["changes"], strict=True)
        for path, (last, known) in zip(trainer.source.files, changes, strict=True):
            if last != known:
                raise ModelFormatError(f"{path} was written again since {self.file} was saved")
        if Features.from_json(about["features"]) != trainer.source.features:
            raise ModelFormatError(f"{self.file} is of a run with other columns")


def _restore_source(source: Source, about: dict[str, Any]) -> None:
    source.classes = list(about["classes"])
    rows, bad, missing = about["counts"]
    source.rows, source.bad, source.missing = rows, bad, Counter(missing)
