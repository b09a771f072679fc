"""Where a model is to be written: checked before hours of training, not after."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from rosenblatt.errors import OptionError
from rosenblatt.estimators.checkpoint import Checkpoint
from rosenblatt.files import check_output
from rosenblatt.models import Model


def check_target(target: Path, files: Iterable[str], saved: Checkpoint | None) -> None:
    """Refuse a model file that cannot be written, or that would replace what is read.

    The folder that the run is saved in is not a place for models.
    """
    if saved is not None and target.resolve() in (
        saved.file.resolve(), saved.row_folder.resolve(), saved.lock.resolve(),
    ):  # fmt: skip
        raise OptionError(f"{target} is a place of the checkpoint; name another file")
    check_output(target, files, "model")


def save_somewhere(model: Model, target: Path) -> None:
    """Save a model; if that fails, as on a full disk, in the folder of temporary files.

    The OSError that it was not saved where it should be says where it is, if anywhere.
    """
    try:
        model.save(target)
    except OSError as error:
        try:
            refuge = Path(tempfile.mkdtemp(prefix="model-")) / target.name
            model.save(refuge)
        except OSError:
            raise error from None
        message = f"{error.strerror} (the model was saved as {refuge} instead)"
        raise OSError(error.errno, message, os.fspath(target)) from None
