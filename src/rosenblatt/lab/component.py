"""The lab as a Panel component: messages in, a view out."""

from __future__ import annotations

import base64
from importlib.resources import files
from typing import Any, ClassVar

import param
from panel.custom import JSComponent

from rosenblatt import examples
from rosenblatt.lab.export import export
from rosenblatt.lab.session import Session
from rosenblatt.lab.state import MOST_CHARACTERS
from rosenblatt.lab.view import frame_for, holds, view

_STATIC = files("rosenblatt.lab") / "static"


def _static(name: str) -> str:
    return (_STATIC / name).read_text("utf-8")


class Lab(JSComponent):
    """The perceptron lab, to be served as a page or shown in a notebook.

    Parameters
    ----------
    session : Session, optional
        What to begin with.

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
    examples = param.List(default=list(examples.NAMES), doc="The examples one can choose.")
    upload_limit = param.Integer(default=MOST_CHARACTERS, doc="The largest upload in bytes.")
    picture_css = param.String(default=_static("picture.css"), doc="The style of the picture.")
    in_page = param.Boolean(default=False, doc="Whether the address bar is ours to use.")

    _esm = _static("draw.js") + _static("page.js")
    _stylesheets: ClassVar[list[str]] = [_static("style.css"), _static("picture.css")]

    def __init__(self, session: Session | None = None, **params: Any) -> None:
        self.session = session or Session()
        self._frame = frame_for(self.session)
        self._replies = 0
        super().__init__(view=self._view(None), **params)

    def _handle_msg(self, data: Any) -> None:
        self.do(data)

    def do(self, wish: Any) -> None:
        """Do what the page asks for; what cannot be done becomes a message on the page."""
        message = None
        try:
            if not isinstance(wish, dict) or wish.get("do") not in _WISHES:
                raise ValueError("the page asked for something the lab does not know")
            _WISHES[wish["do"]](self, wish)
        except (ValueError, ImportError) as error:
            message = str(error)
        except (KeyError, TypeError):
            message = "the page asked for something the lab does not understand"
        self.view = self._view(message)

    def _view(self, message: str | None) -> dict[str, Any]:
        # The number makes each view differ from the last, so that each wish is answered.
        self._replies += 1
        return {**view(self.session, self._frame), "message": message, "reply": self._replies}

    def _refit(self) -> None:
        self._frame = frame_for(self.session)

    def _grow(self) -> None:
        """Keep the frame still unless a point has left it."""
        if self._frame is None or not holds(self._frame, self.session):
            self._refit()

    def _load(self, wish: dict[str, Any]) -> None:
        if wish["do"] == "example":
            self.session.load_example(str(wish["name"]))
        elif wish["do"] == "csv":
            self.session.load_csv(str(wish["text"]), str(wish.get("name", "your file"))[:80])
        elif wish["do"] == "restore":
            self.session.restore(str(wish["link"]))
        else:
            self.session.clear()
        self._refit()

    def _edit(self, wish: dict[str, Any]) -> None:
        if not self.session.data.planar and wish["do"] in ("add", "move"):
            raise ValueError("points can be added and moved when there are two features")
        if wish["do"] == "add":
            self.session.add(wish["at"], wish["sign"])
        elif wish["do"] == "move":
            self.session.move(wish["row"], wish["to"])
        elif wish["do"] == "flip":
            self.session.flip(wish["row"])
        else:
            self.session.delete(wish["row"])
        self._grow()

    def _export(self, wish: dict[str, Any]) -> None:
        name, kind, content = export(self.session, str(wish["kind"]))
        packed = base64.b64encode(content).decode()
        self._send_msg({"name": name, "type": kind, "base64": packed})


_WISHES: dict[str, Any] = {
    "step": lambda lab, wish: lab.session.step(int(wish.get("count", 1))),
    "back": lambda lab, wish: lab.session.back(),
    "restart": lambda lab, wish: lab.session.restart(),
    "finish": lambda lab, wish: lab.session.finish(),
    "configure": lambda lab, wish: lab.session.configure(**wish["changes"]),
    "fit": lambda lab, wish: lab._refit(),
    "export": Lab._export,
    **dict.fromkeys(("example", "csv", "restore", "clear"), Lab._load),
    **dict.fromkeys(("add", "move", "flip", "delete"), Lab._edit),
}
