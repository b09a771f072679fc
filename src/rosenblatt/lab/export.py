"""Files the lab can export: an animation, the data, and Python code."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt.lab.session import Session
from rosenblatt.lab.state import ORDERS

MOST_FRAMES = 40


def export(session: Session, kind: str) -> tuple[str, str, bytes]:
    """Name, media type and content of an exported file of this kind.

    Examples
    --------
    >>> name, media, content = export(Session(), "csv")
    >>> name, content.decode().splitlines()[:2]
    ('perceptron.csv', ['row,p,q,label', 'neither,0.0,0.0,false'])
    """
    if kind not in _KINDS:
        raise ValueError(f"the lab exports {', '.join(_KINDS)}, not {kind!r}")
    media, make = _KINDS[kind]
    return f"perceptron.{kind}", media, make(session)


def python_code(session: Session) -> str:
    """Python code that ends with the weights on screen, in ``w`` and ``b``.

    The whole run is in ``run``.
    """
    data = session.data
    lift = session.lift.code()
    lines = [
        '"""Made by the perceptron lab of rosenblatt."""',
        "",
        "import numpy as np",
        *lift[:1],
        "",
        "from rosenblatt import trace",
        "",
        "X = np.array([",
        *(f"    {list(row)}," for row in data.X),
        "])",
        f"y = np.array({list(data.signs)})",
        *lift[1:],
        *_call("run = trace(", _trace_arguments(session), "X", "y"),
        *_weights(session),
        "print(run.stop_reason, w, b)",
        *_estimator(session),
        "",
    ]
    return "\n".join(lines)


def _call(opening: str, arguments: dict[str, Any], *positional: str) -> list[str]:
    """The lines of a call, one argument per line."""
    keywords = [f"{name}={value!r}" for name, value in arguments.items()]
    return [opening, *(f"    {argument}," for argument in [*positional, *keywords]), ")"]


def _trace_arguments(session: Session) -> dict[str, Any]:
    s = session.settings
    arguments: dict[str, Any] = {"feature_names": list(session.lift.names)}
    if s.rule == "perceptron":
        arguments |= {"update": s.update, "mistake": s.mistake}
        arguments |= {"threshold": s.threshold, "eta": s.eta}
    else:
        arguments |= {"rule": s.rule, "C": s.C, "r": s.r}
    arguments |= {"fit_intercept": s.bias, "intercept_scaling": s.padding}
    arguments |= {"order": ORDERS[s.order], "seed": s.seed, "max_epochs": s.max_epochs}
    if s.start and session.run is not None and session.run.rule is None:
        weights, bias = session.run.start
        arguments |= {"weights": list(weights), "bias": bias}
    return arguments


def _weights(session: Session) -> list[str]:
    """Code that picks the weights on screen from the run."""
    if not session.position:
        return ["w, b = run.path[0]"]
    at = session.position - 1
    if session.settings.keep == "last":
        return [f"w, b = run[{at}].weights_after, run[{at}].bias_after"]
    if session.settings.keep == "average":
        return [f"w, b = run.averages[{at}]"]
    return [f"pocket = run.pockets[{at}]", "w, b = pocket.weights, pocket.bias"]


def _estimator(session: Session) -> list[str]:
    """Code that trains a ``Perceptron`` to the weights on screen; nothing where that is impossible.

    The estimator starts at zero, draws random orders from NumPy, keeps its pocket differently, and
    may detect a cycle later.
    """
    s = session.settings
    textbook = s.rule == "perceptron" and s.order == "in order" and s.keep != "best"
    if session.run is None or not session.ended or not textbook or any(s.start):
        return []
    if session.run.stop_reason == "cycle":
        return []
    arguments = {"eta0": s.eta, "threshold": s.threshold, "mistake": s.mistake, "update": s.update}
    arguments |= {"keep": s.keep, "fit_intercept": s.bias, "intercept_scaling": s.padding}
    arguments |= {"scale": None, "shuffle": False, "max_iter": s.max_epochs, "tol": None}
    return [
        "",
        "# The same run by the compiled estimator.",
        "from rosenblatt import Perceptron",
        "",
        *_call("model = Perceptron(", arguments),
        "model.fit(X, y)",
        "print(model.stop_reason_, model.coef_, model.intercept_)",
    ]


def _animation(session: Session) -> bytes:
    from rosenblatt.viz import animate

    if not session.data.planar:
        raise ValueError("an animation needs two features")
    points = np.array(session.data.X)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "run.gif"
        run = session.trace()
        lift = session.lift if session.settings.lift != "none" else None
        animate(run, target, max_frames=MOST_FRAMES, dpi=80, points=points, lift=lift)
        return target.read_bytes()


def _table(session: Session) -> bytes:
    data, file = session.data, io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    names = [] if data.row_names is None else ["row"]
    writer.writerow([*names, *data.feature_names, "label"])
    for i, (row, sign) in enumerate(zip(data.X, data.signs, strict=True)):
        named = [] if data.row_names is None else [data.row_names[i]]
        label = data.class_names[sign > 0] if data.class_names != ("-1", "+1") else sign
        if data.labels is not None:
            label = data.all_classes[data.labels[i]]
        writer.writerow([*named, *row, label])
    return file.getvalue().encode()


_KINDS: dict[str, tuple[str, Callable[[Session], bytes]]] = {
    "gif": ("image/gif", _animation),
    "py": ("text/x-python", lambda session: python_code(session).encode()),
    "csv": ("text/csv", _table),
}
