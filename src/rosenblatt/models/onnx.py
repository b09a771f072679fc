"""Export models of tables and of svmlight files to ONNX."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from rosenblatt.atomic_files import atomic_write
from rosenblatt.errors import MissingExtraError
from rosenblatt.kernels.text import Rows, column
from rosenblatt.learners.problems import Problems
from rosenblatt.models.model import Model
from rosenblatt.models.rows import hashed_rows

_MOST_WEIGHTS = 10_000_000
_ROWS_COMPARED = 200
_UNSEEN = "\uffff"  # stands for the values of a category that training did not see


def export_onnx(model: Model, out: str | os.PathLike[str], tables: Iterable[Any] = ()) -> None:
    """Write a model of numbers and categories, and check it with onnxruntime.

    Where all columns are numbers, the input ``X`` is a float matrix, NaN for missing values: the
    model's columns in their order; or, for a model of svmlight files, feature number j in column
    j. Else each column is an input (rows, 1) of its own: floats, or strings, empty where missing.
    The outputs are ``label`` (strings), ``scores`` and, if the model is calibrated by a sigmoid,
    ``probabilities`` (rows, classes).

    Parameters
    ----------
    model : Model
    out : path
    tables : iterable of pyarrow.Table
        Rows whose categories the exported model is to know; the model itself has hashes of them.
        Others count as values that training did not see.

    Raises
    ------
    ValueError
        If the model has other or too many features, or if onnxruntime gives other scores.
    """
    features = model.features
    kinds = {c.kind for c in features.columns}
    if features.origin == "vw" or kinds & {"text", "date"}:
        raise ValueError(
            "only models of numeric columns, categories or svmlight files can be exported to "
            "ONNX: text, dates and features of vw files are hashed, which its operators do not know"
        )
    if features.lift is not None:
        raise ValueError("lifted models cannot be exported to ONNX: train with --lift none")
    if model.multilabel or model.is_ordered:
        what = "several labels per row" if model.multilabel else "ordered classes"
        raise ValueError(f"models of {what} cannot be exported to ONNX")
    values = _categories(model, tables)
    if "category" in kinds and not any(values.values()):
        raise ValueError(
            "the model has categories as hashes only: name a file of rows that has them, such as "
            "the training file (--names FILE)"
        )
    try:
        import onnx
        import onnxruntime
    except ImportError:
        raise MissingExtraError("ONNX export", "onnx") from None
    graph = _graph(onnx, model, values)
    onnx.checker.check_model(graph)
    content = graph.SerializeToString()
    _check(onnxruntime.InferenceSession(content), model, values)
    with atomic_write(out) as file:
        file.write(content)


def _categories(model: Model, tables: Iterable[Any]) -> dict[str, list[str]]:
    """The values of each category in some rows, as they stand there, in order of appearance."""
    from rosenblatt.data.cells import plain_strings

    values: dict[str, dict[str, None]] = {
        c.name: {} for c in model.features.columns if c.kind == "category"
    }
    for table in tables if values else ():
        for name, seen in values.items():
            distinct = plain_strings(table[name]).unique().to_pylist()
            seen.update(dict.fromkeys(value for value in distinct if value))
    return {name: list(seen) for name, seen in values.items()}


class _Numbers(NamedTuple):
    """Scores of columns of numbers: ``(x - mean)·raw``, or ``gone`` where x is missing."""

    means: np.ndarray
    raw: np.ndarray
    gone: np.ndarray


def _numbers(model: Model) -> _Numbers:
    """The weights of numbers, with their scales folded in."""
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
        return _Numbers(np.zeros(width), raw, np.zeros_like(raw))
    bits = model.features.ngrams.bits
    unit = 1.0 / math.sqrt(len(model.features.columns))
    places = {int(hashed): place for place, hashed in enumerate(model.columns)}

    def weights(name: str) -> np.ndarray:
        place = places.get(column([name], bits))
        return np.zeros(problems) if place is None else model.weights[place].astype(float)

    columns = [c for c in model.features.columns if c.kind == "number"]
    shape = len(columns), problems
    raw = np.array([weights(f"{c.name}=") * unit / c.scale for c in columns]).reshape(shape)
    gone = np.array([weights(f"{c.name}=?") * unit for c in columns]).reshape(shape)
    return _Numbers(np.array([c.mean for c in columns]), raw, gone)


def _scores_of(model: Model, name: str, values: Sequence[str | None]) -> np.ndarray:
    """The sums of rows that have these values in one category, and nothing else."""
    table: dict[str, Any] = {
        c.name: [None] * len(values) if c.kind == "category" else np.full(len(values), np.nan)
        for c in model.features.columns
    }
    table[name] = values
    return model.sums(hashed_rows(model.features, model.table(table))).astype(np.float64)


def _graph(onnx: Any, model: Model, values: Mapping[str, list[str]]) -> Any:
    """The sum over columns, the decision and the probabilities as an ONNX model.

    The terms of columns are what they add to the score of a row of which all is missing.
    """
    helper, types = onnx.helper, onnx.TensorProto
    numbers, columns = _numbers(model), model.features.columns
    base = model.bias.astype(np.float64)
    constants: dict[str, np.ndarray] = {"classes": np.array(model.classes, dtype=object)}
    nodes, terms = [], ["base"]

    def node(kind: str, inputs: list[str], output: str, **attributes: Any) -> None:
        nodes.append(helper.make_node(kind, inputs, [output], **attributes))

    inputs = [("X", types.FLOAT, len(numbers.means))]
    if values:
        text = {"number": types.FLOAT, "category": types.STRING}
        inputs = [(c.name, text[c.kind], 1) for c in columns]
        if len(numbers.means):
            node("Concat", [c.name for c in columns if c.kind == "number"], "X", axis=1)
    for place, (name, known) in enumerate(values.items()):
        added = _scores_of(model, name, [None, _UNSEEN, "", *known])
        base = added[0]
        constants[f"values_{place}"] = (added[1:] - base).astype(np.float32)
        node(
            "LabelEncoder", [name], f"code_{place}", domain="ai.onnx.ml", default_int64=0,
            keys_strings=["", *known], values_int64s=list(range(1, len(known) + 2)),
        )  # fmt: skip
        node("Squeeze", [f"code_{place}", "second"], f"row_{place}")
        node("Gather", [f"values_{place}", f"row_{place}"], f"category_{place}")
        terms.append(f"category_{place}")
    if len(numbers.means):
        if not values:
            base = base + numbers.gone.sum(axis=0)
        constants["means"] = numbers.means.astype(np.float32)
        constants["raw"] = numbers.raw.astype(np.float32)
        constants["gone"] = numbers.gone.astype(np.float32)
        node("IsNaN", ["X"], "absent")
        node("Where", ["absent", "means", "X"], "filled")
        node("Cast", ["absent"], "flags", to=types.FLOAT)
        node("MatMul", ["filled", "raw"], "from_numbers")
        node("MatMul", ["flags", "gone"], "from_gaps")
        terms += ["from_numbers", "from_gaps"]
        base = base - numbers.gone.sum(axis=0) - numbers.means @ numbers.raw
    constants["base"] = base.astype(np.float32)
    node("Sum", terms, "sums" if model.by_pairs else "scores")
    if model.by_pairs:
        _votes(model, node, constants)
    if values or len(model.classes) == 2:
        constants["second"] = np.array([1], dtype=np.int64)
    if len(model.classes) == 2:
        constants["threshold"] = np.array([model.threshold], dtype=np.float32)
        node("Greater", ["scores", "threshold"], "positive")
        node("Cast", ["positive"], "codes", to=types.INT64)
        node("Squeeze", ["codes", "second"], "code")
    else:
        node("ArgMax", ["scores"], "code", axis=1, keepdims=0)
    node("Gather", ["classes", "code"], "label")
    outputs = [("label", types.STRING, None), ("scores", types.FLOAT, model.n_scores)]
    if _has_smooth_probabilities(model):
        _probabilities(model, node, constants)
        outputs.append(("probabilities", types.FLOAT, len(model.classes)))
    graph = helper.make_graph(
        nodes,
        "rosenblatt",
        [helper.make_tensor_value_info(name, kind, [None, width]) for name, kind, width in inputs],
        [
            helper.make_tensor_value_info(name, kind, [None] if width is None else [None, width])
            for name, kind, width in outputs
        ],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opset = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opset, ir_version=9, producer_name="rosenblatt")


def _votes(model: Model, node: Any, constants: dict[str, np.ndarray]) -> None:
    """Add the nodes of :func:`~rosenblatt.learners.problems.votes`."""
    assert model.head is not None
    signs = Problems(len(model.classes), "ovo").signs.T.astype(np.float32)
    constants |= {"second_of_pairs": np.maximum(signs, 0), "sides": signs}
    constants["first_of_pairs"] = np.maximum(-signs, 0)
    constants |= {"zero": np.zeros(1, np.float32), "three": np.full(1, 3, np.float32)}
    constants["unit"] = np.full(1, model.head.unit, np.float32)
    node("Greater", ["sums", "zero"], "is_second")
    node("Not", ["is_second"], "is_first")
    for side in ("second", "first"):
        node("Cast", [f"is_{side}"], f"{side}_wins", to=1)  # 1 is float
        node("MatMul", [f"{side}_wins", f"{side}_of_pairs"], f"votes_by_{side}")
    node("MatMul", ["sums", "sides"], "totals")
    node("Abs", ["totals"], "total_sizes")
    node("Add", ["total_sizes", "unit"], "over_unit")
    node("Mul", ["over_unit", "three"], "thrice")
    node("Div", ["totals", "thrice"], "tie_break")
    node("Sum", ["votes_by_second", "votes_by_first", "tie_break"], "scores")


def _has_smooth_probabilities(model: Model) -> bool:
    return model.calibration is not None and not model.calibration.knots[0]


def _probabilities(model: Model, node: Any, constants: dict[str, np.ndarray]) -> None:
    """Add the nodes of :class:`~rosenblatt.models.calibration.Calibration`."""
    calibration = model.calibration
    assert calibration is not None
    two = len(model.classes) == 2
    factor = 2.0 if two and calibration.centred else 1.0
    constants["scale"] = np.array([factor * calibration.scale], dtype=np.float32)
    constants["offset"] = np.array([calibration.offset], dtype=np.float32)
    constants["power"] = np.array([calibration.power], dtype=np.float32)
    node("Abs", ["scores"], "sizes")
    node("Pow", ["sizes", "power"], "powers")
    node("Sign", ["scores"], "signs")
    node("Mul", ["powers", "signs"], "bent")
    node("Mul", ["bent", "scale"], "stretched")
    node("Add", ["stretched", "offset"], "logits")
    if two:
        constants["one"] = np.array([1.0], dtype=np.float32)
        node("Sigmoid", ["logits"], "of_second")
        node("Sub", ["one", "of_second"], "of_first")
        node("Concat", ["of_first", "of_second"], "probabilities", axis=1)
    else:
        node("Softmax", ["logits"], "probabilities", axis=1)


def _check(session: Any, model: Model, values: Mapping[str, list[str]]) -> None:
    """Compare scores, labels and probabilities with the model's, on random rows."""
    generator = np.random.default_rng(0)
    if model.features.origin == "svmlight":
        width = session.get_inputs()[0].shape[1]
        rows = min(_ROWS_COMPARED, max(1, _MOST_WEIGHTS // width))
        X = generator.normal(size=(rows, width)).astype(np.float32)
        X[generator.random(X.shape) >= 0.2] = 0.0
        sparse = csr_array(X)
        indptr, indices = sparse.indptr.astype(np.uint64), sparse.indices.astype(np.uint32)
        features, inputs = Rows(indptr, indices, sparse.data), {"X": X}
    else:
        table: dict[str, Any] = {}
        for c in model.features.columns:
            if c.kind == "number":
                cells = generator.normal(c.mean, c.scale, _ROWS_COMPARED).astype(np.float32)
                cells[generator.random(_ROWS_COMPARED) < 0.05] = np.nan
                table[c.name] = cells.astype(np.float64)
            else:
                names = np.array(["", _UNSEEN, *values[c.name]], dtype=object)
                table[c.name] = names[generator.integers(len(names), size=_ROWS_COMPARED)]
        features = hashed_rows(model.features, model.table(table))
        if values:
            inputs = {
                name: cells.astype(np.float32 if cells.dtype == np.float64 else object)[:, None]
                for name, cells in table.items()
            }
        else:
            inputs = {"X": np.column_stack(list(table.values())).astype(np.float32)}
    label, scores, *probabilities = session.run(None, inputs)
    expected, sums = model.scores(features), model.sums(features)
    scale = 1.0 + np.abs(sums).max()
    if model.by_pairs:  # a vote at a score of nearly zero may go either way
        safe = np.abs(sums).min(axis=1) > 1e-4 * scale
        label, scores, expected = label[safe], scores[safe], expected[safe]
        probabilities = [each[safe] for each in probabilities]
    if not np.allclose(scores, expected, atol=1e-4 * scale):
        raise ValueError("onnxruntime gives other scores than the model")
    clear = np.abs(expected - model.threshold).min(axis=1) > 1e-3 * scale
    decided = model.classes_[model.decide(expected)]
    if len(model.classes) == 2 and (label[clear] != decided[clear]).any():
        raise ValueError("onnxruntime gives other labels than the model")
    if probabilities and not np.allclose(
        probabilities[0], model.probabilities(expected), atol=1e-3
    ):
        raise ValueError("onnxruntime gives other probabilities than the model")
