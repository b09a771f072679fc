"""Scenes recorded ahead, for pages that no program stands behind: the static course."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from rosenblatt.lab.plane import frame_for
from rosenblatt.lab.scenes import SCENES, load_scene
from rosenblatt.lab.session import Session
from rosenblatt.lab.view import view

MOST_STEPS = 160  # of a run that are recorded one by one; of a longer one also the end
_LEFT_OUT = ("link", "settings", "can_undo", "live", "beside")  # a recording cannot be changed

_STATIC = files("rosenblatt.lab") / "static"


def record(name: str) -> dict[str, Any]:
    """The views of a scene at each step, for each of its variants.

    Examples
    --------
    >>> recording = record("offset")
    >>> [variant["name"] for variant in recording["variants"]]
    ['without a bias', 'with a bias']
    >>> [variant["steps"][-1].get("solved") for variant in recording["variants"]]
    [None, True]
    """
    variants = []
    for title, change in load_scene(name).variants:
        session = Session()
        session.load_scene(name)
        change(session)
        session.restart()
        first, steps = _shown(session), []
        while True:
            now = _shown(session)
            steps.append({key: value for key, value in now.items() if value != first[key]})
            if session.ended:
                break
            if len(steps) < MOST_STEPS:
                session.step()
            else:
                session.finish()
        variants.append({"name": title, "first": first, "steps": steps})
    return {"name": name, "variants": variants}


def _shown(session: Session) -> dict[str, Any]:
    shown = view(session, frame_for(session, with_line=True))
    return {key: value for key, value in shown.items() if key not in _LEFT_OUT}


def write(folder: Path) -> None:
    """Write the recordings, and the lab that plays them, as scripts that need no server."""
    folder.mkdir(parents=True, exist_ok=True)
    script = "".join(_text(name) for name in ("draw.js", "page.js", "recorded.js"))
    script = script.replace("export function render", "function render")
    style = json.dumps(_text("style.css"))
    (folder / "scenes.js").write_text(f"(() => {{\nconst STYLE = {style}\n{script}}})()\n", "utf-8")
    for name in SCENES:
        content = json.dumps(record(name), separators=(",", ":"), default=float)
        (folder / f"{name}.js").write_text(f"rosenblattScene({content})\n", "utf-8")


def _text(name: str) -> str:
    return (_STATIC / name).read_text("utf-8")


def box(name: str, opened: bool = False) -> str:
    """The HTML of a scene in a page that loads ``scenes.js``; its picture is `opened` at once."""
    at_once, hidden = (" data-open", " hidden") if opened else ("", "")
    task = f'<b class="done-mark" hidden>✓</b> <b>In the lab:</b> {load_scene(name).task}'
    return (
        f'<div class="rosenblatt-scene" data-scene="{name}"{at_once}><p{hidden}>{task}</p>'
        f'<button type="button">open the scene</button>'
        f"<noscript><code>rosenblatt lab --scene {name}</code></noscript></div>"
    )
