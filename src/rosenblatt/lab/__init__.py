"""The perceptron lab: the reference algorithm step by step, in a browser or a notebook.

``rosenblatt lab`` serves it; :func:`notebook` shows it in a notebook. It needs Panel:
``pip install ".[lab]"``. The session itself (:mod:`rosenblatt.lab.session`) needs no
browser.
"""

from __future__ import annotations

import os
from functools import partial
from importlib.util import find_spec
from typing import Any

from rosenblatt.errors import MissingExtraError, OptionError


def _need_panel() -> None:
    if find_spec("panel") is None:
        raise MissingExtraError("the lab", "lab")


def serve(
    *,
    file: str | os.PathLike[str] | None = None,
    label: str | int | None = None,
    header: bool | None = None,
    example: str | None = None,
    scene: str | None = None,
    **options: Any,
) -> Any:
    """Serve the lab to a browser.

    Parameters
    ----------
    file, label, header
        A small file of numbers to start with; label and header as for :func:`rosenblatt.data.open`.
    example
        An example of :mod:`rosenblatt.teaching_sets` to start with instead.
    scene
        A scene of the course to start with, one of :data:`rosenblatt.lab.scenes.SCENES`.
    **options
        The options of :func:`rosenblatt.lab.server.serve`: port, address, origins, show, threaded.
    """
    _need_panel()
    if sum(start is not None for start in (file, example, scene)) > 1:
        raise OptionError("give one of a file, an example and a scene")
    from rosenblatt.lab.server import serve
    from rosenblatt.lab.state import Data

    data = None if file is None else Data.file(file, label, header)
    start = partial(_session, data, example, scene)
    start()  # raise for an unknown name before anything is served
    return serve(start, **options)


def notebook(
    X: Any = None,
    y: Any = None,
    *,
    example: str | None = None,
    scene: str | None = None,
    **settings: Any,
) -> Any:
    """Show the lab in a notebook cell.

    Parameters
    ----------
    X, y
        Up to 500 rows with labels of two classes, to start with.
    example
        An example of :mod:`rosenblatt.teaching_sets` to start with instead.
    scene
        A scene of the course to start with instead.
    **settings
        Settings of the lab, such as ``threshold=1.0`` or ``lift="products"``.

    Examples
    --------
    >>> lab = notebook(example="xor", lift="products")
    >>> lab.session.finish()
    >>> lab.session.run.stop_reason
    'separated'
    """
    _need_panel()
    if sum(start is not None for start in (X, example, scene)) > 1:
        raise OptionError("give one of rows, an example and a scene")
    import panel as pn

    from rosenblatt.lab.component import Lab
    from rosenblatt.lab.state import Data

    pn.extension(inline=True)
    session = _session(None if X is None else Data.arrays(X, y), example, scene, **settings)
    return Lab(session, sizing_mode="stretch_width")


def _session(data: Any, example: str | None, scene: str | None, **settings: Any) -> Any:
    from rosenblatt.lab.session import Session
    from rosenblatt.lab.state import LabSettings

    session = Session(data, LabSettings(**settings))
    if example is not None:
        session.load_example(example)
    if scene is not None:
        session.load_scene(scene)
    if settings and session.loaded:
        session.configure(**settings)
    return session


__all__ = ["notebook", "serve"]
