"""Models on numeric columns as ONNX, for programs that know nothing of Python."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from rosenblatt.errors import MissingExtraError
from rosenblatt.files import replacing
from rosenblatt.kernels.text import column
from rosenblatt.models.model import Model


def export_onnx(model: Model, out: str | os.PathLike[str]) -> None:
    """Write a model whose features are all numbers, and check it with onnxruntime.

    The input ``X`` is a float matrix with the model's columns in their order, NaN for missing
    values; the outputs are ``label`` (strings) and ``scores``.

    Raises
    ------
    ValueError
        If the model has other features, or if onnxruntime does not give the same scores.
    """
    if model.features.origin != "table" or any(c.kind != "number" for c in model.features.columns):
        raise ValueError(
            "only models on numeric columns can be exported to ONNX: text and categories are "
            "hashed, and rows of svmlight or vw files are sparse, which its operators do not know"
        )
    if model.has_several_labels:
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
    with replacing(out) as file:
        file.write(content)


def _linear(model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights on raw numbers, weights of missing ones, and biases, scaling folded in."""
    columns, bits = model.features.columns, model.features.ngrams.bits
    unit = 1.0 / math.sqrt(len(columns))
    known = {int(at): i for i, at in enumerate(model.columns)}
    problems = model.weights.shape[1]

    def weight(name: str) -> np.ndarray:
        place = known.get(column([name], bits))
        return np.zeros(problems) if place is None else model.weights[place].astype(float)

    raw = np.array([weight(f"{c.name}=") * unit / c.scale for c in columns])
    gone = np.array([weight(f"{c.name}=?") * unit for c in columns])
    means = np.array([c.mean for c in columns])
    return raw, gone, model.bias - means @ raw


def _graph(onnx: Any, model: Model) -> Any:
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    raw, gone, bias = _linear(model)
    means = np.array([c.mean for c in model.features.columns], dtype=np.float32)
    n = len(means)
    constants = {
        "means": means,
        "raw": raw.astype(np.float32),
        "gone": gone.astype(np.float32),
        "bias": bias.astype(np.float32),
        "classes": np.array(model.classes, dtype=object),
        "zero": np.zeros(1, dtype=np.float32),
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
            node("Greater", ["scores", "zero"], ["positive"]),
            node("Cast", ["positive"], ["codes"], to=onnx.TensorProto.INT64),
            node("Squeeze", ["codes", "last"], ["code"]),
        ]
        constants["last"] = np.array([1], dtype=np.int64)
    else:
        nodes.append(node("ArgMax", ["scores"], ["code"], axis=1, keepdims=0))
    nodes.append(node("Gather", ["classes", "code"], ["label"]))
    problems = raw.shape[1]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "rosenblatt",
        [value("X", onnx.TensorProto.FLOAT, [None, n])],
        [
            value("label", onnx.TensorProto.STRING, [None]),
            value("scores", onnx.TensorProto.FLOAT, [None, problems]),
        ],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=9, producer_name="rosenblatt")


def _check(session: Any, model: Model) -> None:
    """The exported model must say what the model says, on numbers like those it was trained on."""
    generator = np.random.default_rng(0)
    columns = model.features.columns
    X = generator.normal(
        [c.mean for c in columns], [c.scale for c in columns], (200, len(columns))
    ).astype(np.float32)
    X[generator.random(X.shape) < 0.05] = np.nan
    label, scores = session.run(None, {"X": X})
    table = {c.name: X[:, j].astype(np.float64) for j, c in enumerate(columns)}
    expected = model.decision_function(table).reshape(len(X), -1)
    scale = 1.0 + np.abs(expected).max()
    if not np.allclose(scores, expected, atol=1e-4 * scale):
        raise ValueError("onnxruntime gives other scores than the model")
    clear = np.abs(expected).min(axis=1) > 1e-3 * scale
    if len(model.classes) == 2 and (label[clear] != model.predict(table)[clear]).any():
        raise ValueError("onnxruntime gives other labels than the model")
