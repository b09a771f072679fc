"""Save and load models and fitted estimators. Loading never runs code."""

from __future__ import annotations

import os
from typing import Any

from rosenblatt import tensorfile
from rosenblatt.models.files import model_from, reporting_damage
from rosenblatt.models.model import Model

_OF_ESTIMATORS = ("rosenblatt-perceptron", "rosenblatt-kernel-perceptron")


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model file atomically.

    Parameters
    ----------
    model : Model or fitted classifier
        What :func:`rosenblatt.train` returned, or a fitted :class:`rosenblatt.Perceptron`,
        :class:`rosenblatt.KernelPerceptron` or another member of the family.
    path : path

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
    from rosenblatt.estimators import _persistence as files

    if type(model).__name__ not in (*files.LINEAR, files.KERNEL):
        raise TypeError(f"only models can be saved, not {type(model).__name__}")
    tensorfile.write(path, *files.to_file(model))


def load(path: str | os.PathLike[str]) -> Any:
    """Read a :class:`Model` or a fitted estimator from a file, and check its content.

    Raises
    ------
    ModelFormatError
        If the file is damaged, foreign, or of a format this release does not know.
    """
    arrays, about = tensorfile.read(path)
    name, format = os.fspath(path), about.get("format")
    if format not in _OF_ESTIMATORS:
        return model_from(name, arrays, about)
    from rosenblatt.estimators import _persistence as files  # models never need scikit-learn

    with reporting_damage(name):
        return files.from_file(arrays, about)
