"""Save and load models and fitted estimators. Loading never runs code."""

from __future__ import annotations

import os
from typing import Any

from rosenblatt import tensorfile
from rosenblatt.models import Model
from rosenblatt.models.files import damage_is_named, model_from

_PERCEPTRON, _KERNEL_PERCEPTRON = "rosenblatt-perceptron", "rosenblatt-kernel-perceptron"


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model file; it appears whole or not at all.

    Parameters
    ----------
    model : Model or fitted classifier
        What :func:`rosenblatt.train` returned, or a fitted :class:`rosenblatt.Perceptron`,
        :class:`rosenblatt.KernelPerceptron` or another member of the family.
    path : path
        Where to.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from rosenblatt import train
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "tiny.model"
    >>> save(train({"label": ["no", "yes"] * 9, "x": [1.0, 2.0] * 9}, epochs=1), path)
    >>> load(path).classes
    ('no', 'yes')
    """
    if isinstance(model, Model):
        model.save(path)
        return
    name = type(model).__name__
    for format in (_PERCEPTRON, _KERNEL_PERCEPTRON):
        files = _estimator_files(format)
        if name in files.WRITTEN:
            tensorfile.write(path, *files.to_file(model))
            return
    raise TypeError(f"only models can be saved, not {type(model).__name__}")


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model file, checking everything it says: a :class:`Model` or a fitted estimator.

    Raises
    ------
    ModelFormatError
        If the file is damaged, foreign, or of a format this release does not know.
    """
    arrays, about = tensorfile.read(path)
    name, format = os.fspath(path), about.get("format")
    if format not in (_PERCEPTRON, _KERNEL_PERCEPTRON):
        return model_from(name, arrays, about)
    with damage_is_named(name):
        return _estimator_files(format).from_file(arrays, about)


def _estimator_files(format: Any) -> Any:
    """How an estimator is written and read; models of files never need scikit-learn."""
    if format == _PERCEPTRON:
        from rosenblatt.estimators import _persistence

        return _persistence
    from rosenblatt.estimators import _dual_persistence

    return _dual_persistence
