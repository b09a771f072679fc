"""The lab as a Panel component: messages in, a view out."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from importlib.resources import files
from typing import Any, ClassVar

import param
from panel.custom import JSComponent

from rosenblatt import teaching_sets
from rosenblatt.lab.export import export
from rosenblatt.lab.plane import frame_for, holds
from rosenblatt.lab.scenes import SCENES
from rosenblatt.lab.session import Session
from rosenblatt.lab.state import CLOUDS, MOST_CHARACTERS
from rosenblatt.lab.view import view

LONGEST_MESSAGE = 1000
FARTHEST = 1e7  # an edge of the plane that is shown

_STATIC = files("rosenblatt.lab") / "static"

# Removed by the page when it is drawn.
_WITHOUT_KERNEL = (
    '<p class="rosenblatt-lab-without-kernel">The perceptron lab needs a running kernel: '
    "run this cell to see it.</p>"
)


def _static(name: str) -> str:
    return (_STATIC / name).read_text("utf-8")


class Lab(JSComponent):
    """The perceptron lab, to be served as a page or shown in a notebook.

    Parameters
    ----------
    session : Session, optional
        The session to start with; a new one by default.

    Examples
    --------
    >>> lab = Lab()
    >>> lab.do({"do": "finish"})
    >>> lab.view["stop_reason"], lab.view["message"]
    ('separated', None)
    >>> lab.do({"do": "configure", "changes": {"eta": -1}})
    >>> lab.view["message"]
    'the learning rate must be between 0.001 and 1000'
    """

    shown = param.String(default="", doc="What the page draws, as JSON: Bokeh is slow on dicts.")
    examples = param.List(default=list(teaching_sets.NAMES), doc="The examples to choose from.")
    scenes = param.List(default=list(SCENES), doc="The scenes to choose from.")
    clouds = param.List(default=list(CLOUDS), doc="The clouds of points to choose from.")
    upload_limit = param.Integer(default=MOST_CHARACTERS, doc="The largest upload in bytes.")
    in_page = param.Boolean(default=False, doc="Whether the lab may write to the address bar.")

    _esm = _static("draw.js") + _static("page.js")
    _stylesheets: ClassVar[list[str]] = [_static("style.css")]

    def __init__(self, session: Session | None = None, **params: Any) -> None:
        self.session = session or Session()
        self._frame = frame_for(self.session)
        self._replies = 0
        super().__init__(shown=self._view(None), **params)

    @property
    def view(self) -> dict[str, Any]:
        """What the page draws."""
        view: dict[str, Any] = json.loads(self.shown)
        return view

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        """The notebook output, with a note that saved notebooks show without a kernel."""
        shown = super()._repr_mimebundle_(include, exclude)
        bundle = shown[0] if isinstance(shown, tuple) else shown
        if bundle and "text/html" in bundle:
            bundle["text/html"] += _WITHOUT_KERNEL
        return shown

    def _handle_msg(self, data: Any) -> None:
        self.do(data)

    def do(self, request: Any) -> None:
        """Carry out a request of the page; one that fails becomes a message and changes nothing."""
        runs = [run for run in (self.session, self.session.beside) if run is not None]
        before, frame = [(run, dict(vars(run))) for run in runs], self._frame
        try:
            self._carry_out(request)
            answer = self._view(None)
        except _FAILURES as error:
            for run, state in before:
                vars(run).clear()
                vars(run).update(state)
            self._frame = frame
            is_plain = isinstance(error, ValueError | ImportError)
            unclear = "the page sent a request that the lab does not understand"
            answer = self._view(str(error)[:LONGEST_MESSAGE] if is_plain else unclear)
        self.shown = answer

    def _view(self, message: str | None) -> str:
        # The number makes each view differ from the last, so that each request is answered.
        self._replies += 1
        shown = {**view(self.session, self._frame), "message": message, "reply": self._replies}
        return json.dumps(shown, default=float, separators=(",", ":"))

    def _carry_out(self, request: Any) -> None:
        known = (*_REQUESTS, "fit", "export")
        if not isinstance(request, dict) or request.get("do") not in known:
            raise ValueError("the page sent a request that the lab does not know")
        name = request["do"]
        if name in ("add", "move") and not self.session.data.planar:
            raise ValueError("points can be added and moved when there are two features")
        if name == "export":
            self._export(str(request["kind"]))
        elif name != "fit":
            _REQUESTS[name](self.session, request)
        # The frame stays still unless the points are replaced, or one has left it.
        if name in _REFRAMING or self._frame is None or not holds(self._frame, self.session):
            self._frame = frame_for(self.session, with_line=name == "fit")
        if name == "restore" and self._frame and request.get("frame"):
            x0, x1, y0, y1 = map(float, request["frame"])
            is_frame = -FARTHEST < x0 < x1 < FARTHEST and -FARTHEST < y0 < y1 < FARTHEST
            if is_frame and holds((x0, x1, y0, y1), self.session):
                self._frame = (x0, x1, y0, y1)

    def _export(self, kind: str) -> None:
        name, media_type, content = export(self.session, kind)
        encoded = base64.b64encode(content).decode()
        self._send_msg({"name": name, "type": media_type, "base64": encoded})


_FAILURES = (ValueError, LookupError, TypeError, ImportError, ArithmeticError, RecursionError)
_REFRAMING = ("example", "cloud", "scene", "csv", "restore", "clear", "undo", "fit")
_REQUESTS: dict[str, Callable[[Session, dict[str, Any]], None]] = {
    "step": lambda session, request: session.step(int(request.get("count", 1))),
    "mistake": lambda session, request: session.next_mistake(),
    "epoch": lambda session, request: session.end_of_epoch(),
    "live": lambda session, request: session.set_live(request["on"]),
    "compare": lambda session, request: session.compare(bool(request["on"])),
    "back": lambda session, request: session.back(),
    "restart": lambda session, request: session.restart(),
    "finish": lambda session, request: session.finish(),
    "configure": lambda session, request: (
        session.configure_beside if request.get("beside") else session.configure
    )(**request["changes"]),
    "choose": lambda session, request: session.choose_class(request["target"]),
    "add": lambda session, request: session.add(
        request["at"], request.get("sign", 1), request.get("label"), int(request.get("stroke", 0))
    ),
    "move": lambda session, request: session.move(
        request["row"], request["to"], live=bool(request.get("live"))
    ),
    "flip": lambda session, request: session.flip(request["row"]),
    "delete": lambda session, request: session.delete(request["row"]),
    "clear": lambda session, request: session.clear(),
    "undo": lambda session, request: session.undo(),
    "example": lambda session, request: session.load_example(str(request["name"])),
    "cloud": lambda session, request: session.load_cloud(
        str(request["name"]), float(request["noise"]), int(request["seed"])
    ),
    "scene": lambda session, request: session.load_scene(str(request["name"])),
    "csv": lambda session, request: session.load_csv(
        str(request["text"]), str(request.get("name", "your file"))[:80]
    ),
    "restore": lambda session, request: session.restore(str(request["link"])),
}
