"""A run on shards on disk: saved after every epoch, continued as if nothing had happened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rosenblatt.errors import DataError, ModelFormatError
from rosenblatt.estimators.checkpoint import Checkpoint
from rosenblatt.models.files import damage_is_named


class ClusterCheckpoint(Checkpoint):
    """A folder that holds a run on shards.

    What the first pass found is not saved: the rows are on the disk, and it is found again.
    """

    format, version = "rosenblatt-cluster-checkpoint", 2
    unreadable = (
        "the checkpoint of a run with workers that this release can read; take another folder"
    )

    @property
    def row_folder(self) -> Path:
        """Where processes of this machine keep the rows."""
        return self.folder / "shards"

    def _told(self, run: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        about = {
            "fingerprint": run.manifest.to_json(),
            "valid": None if run.valid is None else run.valid.to_json(),
            "digests": [leaf.digest for leaf in run.found.leaves + run.found.valid],
        }
        return run.learner.arrays(), about

    def _must_have_same_data(self, run: Any, about: dict[str, Any]) -> None:
        valid = None if run.valid is None else run.valid.to_json()
        if about["fingerprint"] != run.manifest.to_json() or about["valid"] != valid:
            raise ModelFormatError(f"{self.file} is of a run on other files, or on other shards")

    def resume(self, run: Any) -> bool:
        """Begin a run, and put it where the saved one was; False if there is none yet."""
        found = self._read(run)
        run.begin()
        if found is not None:
            with damage_is_named(str(self.file)):
                self._restore(run, *found)
        return found is not None

    def _restore(self, run: Any, arrays: dict[str, Any], about: dict[str, Any]) -> None:
        leaves = run.found.leaves + run.found.valid
        for leaf, digest in zip(leaves, about["digests"], strict=True):
            if leaf.digest != digest:
                raise DataError("was changed since the run began", path=leaf.shard[0].file.path)
        self._restore_progress(run, arrays, about)
        run.learner = run.mixed_learner()
        run.learner.restore(arrays)
        kept = run.progress.kept
        if kept is not None and kept.weights.weights.shape != run.learner.W.T.shape:
            raise ValueError("the kept weights do not fit the columns")
