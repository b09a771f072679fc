"""Raw tables in scikit-learn's tools: `train` as an estimator."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Self

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from rosenblatt.data.arrow_tables import is_table_in_memory, to_arrow_table
from rosenblatt.data.cells import make_strings, spelled_labels
from rosenblatt.jobs.options import TrainOptions
from rosenblatt.jobs.train import train
from rosenblatt.models.model import Model

# The label is `y`, and a row has one.
_OPTIONS = {
    entry.name: entry.default
    for entry in fields(TrainOptions)
    if entry.name not in ("label", "label_separator")
}


def _gives_probabilities(estimator: Any) -> bool:
    if estimator.calibrate in (None, "none"):
        raise AttributeError(
            "There are no probabilities with calibrate=None: set calibrate='sigmoid'."
        )
    return True


class TableClassifier(ClassifierMixin, BaseEstimator):
    """:func:`rosenblatt.train` as a scikit-learn estimator of raw tables.

    The rows are those of a data frame of pandas or polars, an Arrow table, a dict of columns, a
    list of records or a 2D array, with text, categories, numbers, dates and missing values as they
    are: for cross-validation, grid search, pipelines and whatever else takes an estimator. Equal
    rows, labels and options give the model of `train`, bit for bit.

    Parameters
    ----------
    **options
        Those of :class:`TrainOptions`, but for the label.

    Attributes
    ----------
    model_ : Model
        What `train` returned: it explains, compresses and saves.
    classes_ : array
        The labels, as they are in `y`.
    n_features_in_, feature_names_in_
        The number of the columns of X, and their names.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.model_selection import cross_validate
    >>> from rosenblatt import TableClassifier
    >>> ages, jobs = [70, 5, None, 8] * 50, ["none", "none", "retired", "pupil"] * 50
    >>> frame, y = pd.DataFrame({"age": ages, "job": jobs}), ["old", "new"] * 100
    >>> result = cross_validate(TableClassifier(), frame, y, scoring=["accuracy", "neg_log_loss"])
    >>> float(result["test_accuracy"].mean())
    1.0
    """

    def __init__(self, **options: Any) -> None:
        for name in options.keys() - _OPTIONS.keys():
            raise TypeError(f"{name!r} is not an option: they are those of rosenblatt.train")
        for name, default in _OPTIONS.items():
            setattr(self, name, options.get(name, default))

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on a table.

        Parameters
        ----------
        X : data frame, Arrow table, dict of columns, list of records, or array (n, d)
            The columns of an array are named by number, from 1 on.
        y : array (n,)
            The labels, of any type.
        sample_weight : array (n,), optional
            The copies that each row counts for.
        """
        table, options = _table(X), {name: getattr(self, name) for name in _OPTIONS}
        classes, names, labels = _labels(y)
        if table.num_rows != len(labels):
            check_consistent_length(np.empty(table.num_rows), labels)
        label = _new_name(table, getattr(y, "name", None) or "label")
        table = table.append_column(label, make_strings(labels))
        if sample_weight is not None:
            if options["weight"] is not None:
                raise ValueError("the option weight and sample_weight exclude each other")
            options["weight"] = _new_name(table, "weight")
            weights = np.asarray(sample_weight, dtype=np.float64)
            check_consistent_length(weights, labels)
            table = table.append_column(options["weight"], pa.array(weights))
        model = train(table, label=label, **options)
        self.model_, self.classes_ = model, classes
        self._places = [model.classes.index(name) for name in names]
        self.feature_names_in_ = np.array(_table(X).column_names, dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        return self

    def decision_function(self, X: Any) -> Any:
        """The scores of rows: one per row for two classes, else one per row and class."""
        scores = self._fitted().decision_function(_readable(X))
        if scores.ndim == 1:
            return scores if self._places == [0, 1] else -scores
        return scores[:, self._places]

    def predict(self, X: Any) -> Any:
        """The predicted labels of rows."""
        model = self._fitted()
        names = dict(zip(model.classes, np.argsort(self._places).tolist(), strict=True))
        return self.classes_[[names[label] for label in model.predict(_readable(X))]]

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """The probability of each class (rows, classes), in the order of `classes_`."""
        return self._fitted().predict_proba(_readable(X))[:, self._places]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as a file that :func:`rosenblatt.load` and every command read."""
        self._fitted().save(path)

    def _fitted(self) -> Model:
        check_is_fitted(self)
        return self.model_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags


# scikit-learn takes the names of the parameters, and their defaults, from the signature.
TableClassifier.__init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [
        inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        *(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
            for name, default in _OPTIONS.items()
        ),
    ]
)


def _readable(X: Any) -> Any:
    """Rows in a form that a model reads: the columns of an array are named by number."""
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return {str(j + 1): column for j, column in enumerate(X.T.tolist())}
    return X


def _table(X: Any) -> pa.Table:
    """The rows to train on as an Arrow table."""
    X = _readable(X)
    if hasattr(X, "to_frame"):
        X = X.to_frame()
    if is_table_in_memory(X):
        return to_arrow_table(X)
    rows = list(X)
    if rows and all(isinstance(row, Mapping) for row in rows):
        return pa.Table.from_pylist(rows)
    if rows and all(isinstance(row, str) for row in rows):
        return pa.table({"text": rows})
    raise ValueError(
        "a table is expected: a data frame, an Arrow table, a dict of columns, records, texts, "
        "or an array of two dimensions"
    )


def _labels(y: Any) -> tuple[np.ndarray, list[str], list[str]]:
    """The classes, their names in a model, and the names of the labels of all rows."""
    if y is None:
        raise ValueError("a classifier requires y to be passed, but the target y is None")
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y should be a 1d array of labels, got the shape {labels.shape}")
    names = spelled_labels(labels).tolist()
    if None in names:
        raise ValueError(f"y has no label in row {names.index(None)}: leave such rows out")
    classes = np.unique(labels)
    of_classes = spelled_labels(classes).tolist()
    if len(set(of_classes)) < len(of_classes):
        raise ValueError(f"two labels are written alike: {', '.join(map(repr, of_classes))}")
    return classes, of_classes, names


def _new_name(table: pa.Table, name: str) -> str:
    """A name for one more column."""
    while name in table.column_names:
        name += "_"
    return name
