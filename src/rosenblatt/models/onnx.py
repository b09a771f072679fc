"""Export models of numeric features to ONNX."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from rosenblatt.atomic_files import atomic_write
from rosenblatt.errors import MissingExtraError
from rosenblatt.kernels.text import Rows, column
from rosenblatt.models.model import Model

_MOST_WEIGHTS = 10_000_000
_ROWS_COMPARED = 200


def export_onnx(model: Model, out: str | os.PathLike[str]) -> None:
    """Write a model whose features are all numbers, and check it with onnxruntime.

    The input ``X`` is a float matrix, NaN for missing values: the model's columns in their order;
    or, for a model of svmlight files, feature number j in column j. The outputs are ``label``
    (strings) and ``scores``.

    Raises
    ------
    ValueError
        If the model has other or too many features, or if onnxruntime gives other scores.
    """
    if model.features.origin == "vw" or any(c.kind != "number" for c in model.features.columns):
        raise ValueError(
            "only models on numeric columns or svmlight files can be exported to ONNX: text, "
            "categories and features of vw files are hashed, which its operators do not know"
        )
    if model.features.lift is not None:
        raise ValueError("lifted models cannot be exported to ONNX: train with --lift none")
    if model.multilabel:
        raise ValueError("models of several labels per row cannot be exported to ONNX")
    try:
        import onnx
        import onnxruntime
    except ImportError:
        raise MissingExtraError("ONNX export", "onnx") from None
    graph = _graph(onnx, model)
    onnx.checker.check_model(graph)
    content = graph.SerializeToString()
    _check(onnxruntime.InferenceSession(content), model)
    with atomic_write(out) as file:
        file.write(content)


def _linear(model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Column means, weights of raw and of missing values, biases; scaling is folded in."""
    problems = model.weights.shape[1]
    if model.features.origin == "svmlight":
        width = int(model.columns.max(initial=0)) + 1
        if width * problems > _MOST_WEIGHTS:
            raise ValueError(
                f"ONNX models are dense: feature number {width - 1:,} and {problems} scores need "
                f"{width * problems:,} weights, and {_MOST_WEIGHTS:,} are the most; number the "
                "features from 0 without gaps"
            )
        raw = np.zeros((width, problems))
        raw[model.columns] = model.weights
        return np.zeros(len(raw)), raw, np.zeros_like(raw), model.bias
    columns, bits = model.features.columns, model.features.ngrams.bits
    unit = 1.0 / math.sqrt(len(columns))
    places = {int(hashed): place for place, hashed in enumerate(model.columns)}

    def weight(name: str) -> np.ndarray:
        place = places.get(column([name], bits))
        return np.zeros(problems) if place is None else model.weights[place].astype(float)

    raw = np.array([weight(f"{c.name}=") * unit / c.scale for c in columns])
    gone = np.array([weight(f"{c.name}=?") * unit for c in columns])
    means = np.array([c.mean for c in columns])
    return means, raw, gone, model.bias - means @ raw


def _graph(onnx: Any, model: Model) -> Any:
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    means, raw, gone, bias = _linear(model)
    constants = {
        "means": means.astype(np.float32),
        "raw": raw.astype(np.float32),
        "gone": gone.astype(np.float32),
        "bias": bias.astype(np.float32),
        "classes": np.array(model.classes, dtype=object),
    }
    node = helper.make_node
    nodes = [
        node("IsNaN", ["X"], ["absent"]),
        node("Where", ["absent", "means", "X"], ["filled"]),
        node("Cast", ["absent"], ["flags"], to=onnx.TensorProto.FLOAT),
        node("MatMul", ["filled", "raw"], ["from_numbers"]),
        node("MatMul", ["flags", "gone"], ["from_gaps"]),
        node("Add", ["from_numbers", "from_gaps"], ["together"]),
        node("Add", ["together", "bias"], ["scores"]),
    ]
    if len(model.classes) == 2:
        nodes += [
            node("Greater", ["scores", "threshold"], ["positive"]),
            node("Cast", ["positive"], ["codes"], to=onnx.TensorProto.INT64),
            node("Squeeze", ["codes", "last"], ["code"]),
        ]
        constants["last"] = np.array([1], dtype=np.int64)
        constants["threshold"] = np.array([model.threshold], dtype=np.float32)
    else:
        nodes.append(node("ArgMax", ["scores"], ["code"], axis=1, keepdims=0))
    nodes.append(node("Gather", ["classes", "code"], ["label"]))
    problems = raw.shape[1]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "rosenblatt",
        [value("X", onnx.TensorProto.FLOAT, [None, len(means)])],
        [
            value("label", onnx.TensorProto.STRING, [None]),
            value("scores", onnx.TensorProto.FLOAT, [None, problems]),
        ],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=9, producer_name="rosenblatt")


def _check(session: Any, model: Model) -> None:
    """Compare scores and labels with the model's, on random rows with its means and scales."""
    generator = np.random.default_rng(0)
    columns = model.features.columns
    if model.features.origin == "svmlight":
        width = session.get_inputs()[0].shape[1]
        rows = min(_ROWS_COMPARED, max(1, _MOST_WEIGHTS // width))
        X = generator.normal(size=(rows, width)).astype(np.float32)
        X[generator.random(X.shape) >= 0.2] = 0.0
        sparse = csr_array(X)
        indptr, indices = sparse.indptr.astype(np.uint64), sparse.indices.astype(np.uint32)
        expected = model.scores(Rows(indptr, indices, sparse.data))
    else:
        means, scales = [c.mean for c in columns], [c.scale for c in columns]
        X = generator.normal(means, scales, (_ROWS_COMPARED, len(columns))).astype(np.float32)
        X[generator.random(X.shape) < 0.05] = np.nan
        table = {c.name: X[:, j].astype(np.float64) for j, c in enumerate(columns)}
        expected = model.decision_function(table).reshape(len(X), -1)
    label, scores = session.run(None, {"X": X})
    scale = 1.0 + np.abs(expected).max()
    if not np.allclose(scores, expected, atol=1e-4 * scale):
        raise ValueError("onnxruntime gives other scores than the model")
    clear = np.abs(expected - model.threshold).min(axis=1) > 1e-3 * scale
    decided = model.classes_[model.decide(expected)]
    if len(model.classes) == 2 and (label[clear] != decided[clear]).any():
        raise ValueError("onnxruntime gives other labels than the model")
