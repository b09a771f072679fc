"""The lab as a Panel component: messages in, a view out."""

from __future__ import annotations

import base64
from importlib.resources import files
from typing import Any, ClassVar

import param
from panel.custom import JSComponent

from rosenblatt import examples
from rosenblatt.lab.export import export
from rosenblatt.lab.scenes import SCENES
from rosenblatt.lab.session import Session
from rosenblatt.lab.state import MOST_CHARACTERS
from rosenblatt.lab.view import frame_for, holds, view

MOST_OF_A_MESSAGE = 1000

_STATIC = files("rosenblatt.lab") / "static"

# The page removes it when it is drawn.
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

    view = param.Dict(default={}, doc="What the page draws.")
    examples = param.List(default=list(examples.NAMES), doc="The examples to choose from.")
    scenes = param.List(default=list(SCENES), doc="The scenes to choose from.")
    upload_limit = param.Integer(default=MOST_CHARACTERS, doc="The largest upload in bytes.")
    picture_css = param.String(default=_static("picture.css"), doc="The style of the picture.")
    in_page = param.Boolean(default=False, doc="Whether the lab may write to the address bar.")

    _esm = _static("draw.js") + _static("page.js")
    _stylesheets: ClassVar[list[str]] = [_static("style.css"), _static("picture.css")]

    def __init__(self, session: Session | None = None, **params: Any) -> None:
        self.session = session or Session()
        self._frame = frame_for(self.session)
        self._replies = 0
        super().__init__(view=self._view(None), **params)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        """What a notebook shows; a saved one, in which no kernel runs, says what is missing."""
        shown = super()._repr_mimebundle_(include, exclude)
        bundle = shown[0] if isinstance(shown, tuple) else shown
        if bundle and "text/html" in bundle:
            bundle["text/html"] += _WITHOUT_KERNEL
        return shown

    def _handle_msg(self, data: Any) -> None:
        self.do(data)

    def do(self, request: Any) -> None:
        """Carry out a request of the page; one that fails becomes a message and changes nothing."""
        before = dict(vars(self.session)), self._frame
        try:
            if not isinstance(request, dict) or request.get("do") not in _REQUESTS:
                raise ValueError("the page sent a request that the lab does not know")
            _REQUESTS[request["do"]](self, request)
            answer = self._view(None)
        except (
            ValueError,
            LookupError,
            TypeError,
            ImportError,
            ArithmeticError,
            RecursionError,
        ) as e:
            vars(self.session).clear()
            vars(self.session).update(before[0])
            self._frame = before[1]
            is_plain = isinstance(e, ValueError | ImportError)
            unclear = "the page sent a request that the lab does not understand"
            answer = self._view(str(e)[:MOST_OF_A_MESSAGE] if is_plain else unclear)
        self.view = answer

    def _view(self, message: str | None) -> dict[str, Any]:
        # The number makes each view differ from the last, so that each request is answered.
        self._replies += 1
        return {**view(self.session, self._frame), "message": message, "reply": self._replies}

    def _refit(self) -> None:
        self._frame = frame_for(self.session)

    def _grow(self) -> None:
        """Keep the frame still unless a point has left it."""
        if self._frame is None or not holds(self._frame, self.session):
            self._refit()

    def _load(self, request: dict[str, Any]) -> None:
        if request["do"] == "example":
            self.session.load_example(str(request["name"]))
        elif request["do"] == "scene":
            self.session.load_scene(str(request["name"]))
        elif request["do"] == "undo":
            self.session.undo()
        elif request["do"] == "csv":
            self.session.load_csv(str(request["text"]), str(request.get("name", "your file"))[:80])
        elif request["do"] == "restore":
            self.session.restore(str(request["link"]))
        else:
            self.session.clear()
        self._refit()

    def _edit(self, request: dict[str, Any]) -> None:
        if not self.session.data.planar and request["do"] in ("add", "move"):
            raise ValueError("points can be added and moved when there are two features")
        if request["do"] == "add":
            self.session.add(request["at"], request["sign"])
        elif request["do"] == "move":
            self.session.move(request["row"], request["to"])
        elif request["do"] == "flip":
            self.session.flip(request["row"])
        else:
            self.session.delete(request["row"])
        self._grow()

    def _export(self, request: dict[str, Any]) -> None:
        name, kind, content = export(self.session, str(request["kind"]))
        packed = base64.b64encode(content).decode()
        self._send_msg({"name": name, "type": kind, "base64": packed})


_REQUESTS: dict[str, Any] = {
    "step": lambda lab, request: lab.session.step(int(request.get("count", 1))),
    "back": lambda lab, request: lab.session.back(),
    "restart": lambda lab, request: lab.session.restart(),
    "finish": lambda lab, request: lab.session.finish(),
    "configure": lambda lab, request: lab.session.configure(**request["changes"]),
    "choose": lambda lab, request: lab.session.choose_class(request["target"]),
    "fit": lambda lab, request: lab._refit(),
    "export": Lab._export,
    **dict.fromkeys(("example", "scene", "csv", "restore", "clear", "undo"), Lab._load),
    **dict.fromkeys(("add", "move", "flip", "delete"), Lab._edit),
}
