"""A run on shards on disk: saved after every epoch, continued as if nothing had happened."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from rosenblatt import tensorfile
from rosenblatt.cluster.first_pass import restored, summary
from rosenblatt.cluster.run import ClusterRun
from rosenblatt.data import Features
from rosenblatt.errors import ModelFormatError
from rosenblatt.estimators.checkpoint import Checkpoint, plain_progress, progress_from
from rosenblatt.estimators.file_run import Settings
from rosenblatt.estimators.held_out import HeldOut
from rosenblatt.learners.weights import Weights
from rosenblatt.models.files import damage_is_named
from rosenblatt.training.state import Kept

FORMAT = "rosenblatt-cluster-checkpoint"
VERSION = 1


class ClusterCheckpoint(Checkpoint):
    """A folder that holds a run on shards."""

    @property
    def row_folder(self) -> Path:
        """Where processes of this machine keep the rows."""
        return self.folder / "shards"

    def save(self, run: Any) -> None:
        """Write the run down as it is after an epoch."""
        assert isinstance(run, ClusterRun)
        arrays = {"columns": run.found.columns} | run.learner.arrays()
        if run.found.rarity is not None:
            arrays["scales"] = run.found.rarity.scales
        kept = run.progress.kept
        if kept is not None:
            arrays |= {"kept.weights": kept.weights.weights, "kept.bias": kept.weights.bias}
        about: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "settings": asdict(run.settings),
            "manifest": run.manifest.to_json(),
            "valid": None if run.valid is None else run.valid.to_json(),
            "features": run.reading.features.to_json(),
            "found": summary(run.found),
            "runs": [plain_progress(progress) for progress in run.runs],
            "held_out": run.held_out.to_json(),
        }
        tensorfile.write(self.file, arrays, about)

    def resume(self, run: Any) -> bool:
        """Put a fresh run where the saved one was; False if there is none yet.

        Raises
        ------
        ModelFormatError
            If the file is damaged, or of a run with other data or other settings.
        """
        assert isinstance(run, ClusterRun)
        if not self.file.exists():
            return False
        arrays, about = tensorfile.read(self.file, sealed=True)
        if about.get("format") != FORMAT or about.get("version") != VERSION:
            raise ModelFormatError(
                f"{self.file} is not the checkpoint of a run with workers that this release can "
                "read; take another folder"
            )
        with damage_is_named(str(self.file)):
            self._must_be_of(run, about)
            self._continue(run, arrays, about)
        return True

    def _must_be_of(self, run: ClusterRun, about: dict[str, Any]) -> None:
        valid = None if run.valid is None else run.valid.to_json()
        if about["manifest"] != run.manifest.to_json() or about["valid"] != valid:
            raise ModelFormatError(f"{self.file} is of a run on other files, or on other shards")
        now, then = asdict(run.settings), about["settings"]
        if Settings(**then) != run.settings:
            changed = [name for name in now if now[name] != then.get(name)]
            raise ModelFormatError(
                f"{self.file} is of a run with other settings: {', '.join(changed)} differ"
            )
        if Features.from_json(about["features"]) != run.reading.features:
            raise ModelFormatError(f"{self.file} is of a run with other columns")

    def _continue(self, run: ClusterRun, arrays: dict[str, Any], about: dict[str, Any]) -> None:
        bits = run.reading.features.ngrams.bits
        run.begin(restored(about["found"], arrays, run.manifest, run.valid, bits))
        run.runs = [progress_from(plain) for plain in about["runs"]]
        run.held_out = HeldOut.from_json(about["held_out"])
        if len(run.runs) not in (1, 2):
            raise ValueError(f"it has {len(run.runs)} phases")
        run.learner = run.mixed_learner()
        run.learner.restore(arrays)
        if "kept.weights" in arrays:
            weights = Weights(arrays["kept.weights"], arrays["kept.bias"])
            if weights.weights.shape != run.learner.W.T.shape:
                raise ValueError("the kept weights do not fit the columns")
            run.progress.kept = Kept(weights, *about["runs"][-1]["kept"])
