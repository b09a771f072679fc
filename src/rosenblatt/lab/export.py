"""Files the lab can export: an animation, the trace, the data, and Python code."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rosenblatt.lab.session import Session
from rosenblatt.lab.state import LabSettings

MOST_STEPS = 5_000
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
    s, data = session.settings, session.data
    order = {"in order": "False", "shuffled": "True", "random": "'random'"}[s.order]
    rows = "".join(f"    {list(row)},\n" for row in data.X)
    lift = session.lift.code(len(data.X))
    lines = [
        '"""Made by the perceptron lab of rosenblatt."""',
        "",
        "import numpy as np",
        *lift[:1],
        "",
        "from rosenblatt import trace",
        "",
        f"X = np.array([\n{rows}])",
        f"y = np.array({list(data.signs)})",
        *lift[1:],
        *(["X = lift.transform(X)"] if lift else []),
        "run = trace(",
        "    X,",
        "    y,",
        f"    feature_names={list(session.lift.names)},",
        *_rule(s),
        f"    fit_intercept={s.bias!r},",
        f"    intercept_scaling={s.padding!r},",
        f"    order={order},",
        f"    seed={s.seed!r},",
        f"    max_epochs={s.max_epochs!r},",
        *_start(session),
        ")",
        *_kept(session),
        "print(run.stop_reason, w, b)",
        *_estimator(session),
        "",
    ]
    return "\n".join(lines)


def _rule(s: LabSettings) -> list[str]:
    """The arguments of trace that say how to learn."""
    if s.rule != "perceptron":
        return [f"    rule={s.rule!r},", f"    C={s.C!r},", f"    r={s.r!r},"]
    return [
        f"    update={s.update!r},",
        f"    mistake={s.mistake!r},",
        f"    threshold={s.threshold!r},",
        f"    eta={s.eta!r},",
    ]


def _start(session: Session) -> list[str]:
    if not session.settings.start or session.run is None or session.run.rule is not None:
        return []
    weights, bias = session.run.start
    return [f"    weights={list(weights)},", f"    bias={bias},"]


def _estimator(session: Session) -> list[str]:
    """Code that trains a ``Perceptron`` to the same weights, where that is possible.

    The estimator draws random orders from NumPy, keeps its pocket differently, and may detect a
    cycle later.
    """
    s = session.settings
    ended = session.run is not None and session.run.stop_reason in ("separated", "budget")
    ended = ended and not any(s.start)  # an estimator starts at zero
    textbook = s.rule == "perceptron" and s.order == "in order" and s.keep != "best"
    if not (session.ended and ended and textbook):
        return []
    return [
        "",
        "# The same run by the compiled estimator.",
        "from rosenblatt import Perceptron",
        "",
        "model = Perceptron(",
        f"    eta0={s.eta!r},",
        f"    threshold={s.threshold!r},",
        f"    mistake={s.mistake!r},",
        f"    update={s.update!r},",
        f"    keep={s.keep!r},",
        f"    fit_intercept={s.bias!r},",
        f"    intercept_scaling={s.padding!r},",
        "    shuffle=False,",
        f"    max_iter={s.max_epochs!r},",
        "    tol=None,",
        ").fit(X, y)",
        "print(model.stop_reason_, model.coef_, model.intercept_)",
    ]


def _kept(session: Session) -> list[str]:
    """Code that picks the weights on screen from the steps."""
    if not session.position:
        return ["w, b = run.path[0]"]
    if session.settings.keep == "last":
        last = f"run[{session.position - 1}]"
        return [f"w, b = {last}.weights_after, {last}.bias_after"]
    if session.settings.keep == "average":
        return [f"w, b = run.averages[{session.position - 1}]"]
    return [f"pocket = run.pockets[{session.position - 1}]", "w, b = pocket.weights, pocket.bias"]


def _trace(session: Session, write: str) -> bytes:
    run = session.trace()
    if len(run) > MOST_STEPS:
        raise ValueError(
            f"a trace of {len(run)} steps is too long to read; export the Python code instead"
        )
    style = "steps" if len(run) <= 200 else "table"
    return str(getattr(run, f"to_{write}")(style)).encode()


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
    "md": ("text/markdown", lambda session: _trace(session, "markdown")),
    "html": ("text/html", lambda session: _trace(session, "html")),
    "tex": ("text/x-tex", lambda session: _trace(session, "latex")),
    "txt": ("text/plain", lambda session: _trace(session, "text")),
    "py": ("text/x-python", lambda session: python_code(session).encode()),
    "csv": ("text/csv", _table),
}
