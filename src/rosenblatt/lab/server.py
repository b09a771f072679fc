"""Serve the lab to a browser on this machine."""

from __future__ import annotations

import logging
import re
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from rosenblatt.lab.session import Session
from rosenblatt.lab.state import MOST_CHARACTERS

PORT = 7673
COURSE = "rosenblatt-course"  # where pages are served; their script knows the lab by this name
LOOPBACK = ("127.0.0.1", "localhost")
# A page connects within moments of being served; sessions without a connection are then closed.
SECONDS_UNCONNECTED = 10.0
_MOST_LOGGED = 2000  # characters of a record, and of its traceback

# {% extends base %} includes Panel's scripts, from this server: the page needs no network.
_PAGE = """
{% extends base %}
{% block postamble %}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<style>
  html, body { height: auto; min-height: 100vh; background: var(--lab-ground, #f3f4f6); }
  html[data-lab-theme="dark"] { --lab-ground: #121519; }
  @media (prefers-color-scheme: dark) {
    html:not([data-lab-theme="light"]) { --lab-ground: #121519; }
  }
  main { max-width: 1500px; margin: auto; }
</style>
{% endblock %}
{% block contents %}<main>{{ embed(roots.lab) }}</main>{% endblock %}
"""


def page(start: Callable[[], Session] = Session) -> Any:
    """A page with its own session, made by `start`; called by Panel for each browser tab."""
    import panel as pn

    from rosenblatt.lab.component import Lab

    template = pn.Template(_PAGE)
    template.add_panel("lab", Lab(start(), in_page=True, sizing_mode="stretch_width"))
    return template


def serve(
    start: Callable[[], Session] = Session,
    *,
    port: int | None = None,
    address: str = "127.0.0.1",
    origins: Sequence[str] = (),
    show: bool = True,
    threaded: bool = False,
    pages: Path | None = None,
) -> Any:
    """Serve the lab.

    Parameters
    ----------
    start
        Makes the session that a tab starts with.
    port
        The port; 0 picks a free one. By default 7673 (ROSE on a telephone), so that links and
        bookmarks stay valid; a free one if that is taken.
    address
        The address to listen at. The default, loopback, cannot be reached from other machines.
    origins
        Further hosts, as ``name`` or ``name:port``, whose pages may connect and by whose names
        the lab may be reached. Websockets from other origins and requests for other hosts are
        refused (DNS rebinding).
    show
        Whether to open a browser.
    threaded
        Whether to return immediately, with the server running in a thread.
    pages
        A folder of pages to serve too, which come first; the lab is then at ``/lab``.
    """
    port = _default_port(address) if port is None else free_port(address, port)
    names = list(LOOPBACK)
    if address not in ("0.0.0.0", "::", *LOOPBACK):
        names.append(f"[{address.strip('[]')}]" if ":" in address else address)
    # Bokeh's list takes no IPv6 addresses; Tornado accepts pages of the same host without it.
    hosts = [f"{name}:{port}" for name in names if "[" not in name]
    hosts += [origin if ":" in origin else f"{origin}:{port}" for origin in origins]
    run = partial(
        _run,
        lambda: page(start),
        [*names, *(origin.partition(":")[0] for origin in origins)],
        port=port,
        address=address,
        websocket_origin=hosts,
        # An upload travels as JSON, in which a quote or a line break takes two bytes.
        websocket_max_message_size=2 * MOST_CHARACTERS + 10_000,
        check_unused_sessions_milliseconds=int(200 * SECONDS_UNCONNECTED),
        unused_session_lifetime_milliseconds=int(1000 * SECONDS_UNCONNECTED),
        show=show,
        verbose=True,
        title="Perceptron lab",
        pages=pages,
    )
    if not threaded:
        return run()
    from panel.io.server import StoppableThread
    from tornado.ioloop import IOLoop

    loop = IOLoop(make_current=False)
    server = StoppableThread(loop, owns_loop=True, target=run, kwargs={"loop": loop}, daemon=True)
    server.start()
    _wait_until_open(address, port)
    return server


def _run(
    app: Callable[[], Any], names: Sequence[str], *, pages: Path | None, **options: Any
) -> Any:
    """Serve an app under these host names until the server's event loop is stopped."""
    from panel.io.server import get_server
    from tornado.web import RedirectHandler

    place = "/"
    if pages is not None:
        place, first = "/lab", ("/", RedirectHandler, {"url": f"/{COURSE}/index.html"})
        options |= {"static_dirs": {COURSE: str(pages)}, "extra_patterns": [first]}
        options |= {"use_index": False, "redirect_root": False}
    server = get_server({place: app}, start=False, **options)
    # Tornado accepts a websocket whose Origin equals its Host without asking for allowed origins,
    # so requests for a foreign Host are refused first: handlers for a host pattern take precedence.
    others = rf"(?!(?:{'|'.join(map(re.escape, names))})$).*"
    server._tornado.add_handlers(others, [(".*", _refusal(names[0], options["port"]))])
    for rule in server._tornado.wildcard_router.rules:
        if isinstance(rule.target, type) and rule.target.__name__ == "WSHandler":
            rule.target = _for_a_page(rule.target)
    for part in ("views.ws", "protocol_handler"):
        logging.getLogger(f"bokeh.server.{part}").addFilter(_cut)
    server.start()
    with suppress(RuntimeError):  # a notebook runs the loop already
        server.io_loop.start()
    return server


def _for_a_page(handler: Any) -> Any:
    """A websocket handler whose messages leave at once, and which takes text alone.

    A view travels in three messages. By default the kernel holds the second back until the browser
    has acknowledged the first, which takes up to 40 ms: a third of the pictures of a drag.

    The page sends no binary messages. Bokeh keeps as many of them as a header announces.
    """

    class Prompt(handler):
        def open(self) -> None:
            super().open()
            self.set_nodelay(True)

        async def on_message(self, fragment: str | bytes) -> None:
            if isinstance(fragment, bytes):
                self._protocol_error("the lab takes no binary messages")
            else:
                await super().on_message(fragment)

    return Prompt


def _cut(record: logging.LogRecord) -> bool:
    """Shorten what Bokeh logs of a message that it cannot read: it logs all of it."""
    record.msg, record.args = record.getMessage()[:_MOST_LOGGED], ()
    if record.exc_info:
        record.exc_text = logging.Formatter().formatException(record.exc_info)[-_MOST_LOGGED:]
    return True


def _refusal(name: str, port: int) -> Any:
    """A handler that refuses requests for a host that is not the lab's."""
    from tornado.web import RequestHandler

    class Refusal(RequestHandler):
        def prepare(self) -> None:
            self.set_status(403)
            self.set_header("Content-Type", "text/plain; charset=utf-8")
            self.finish(
                f"The lab is served at http://{name}:{port}. To serve it under another name, "
                "start it with --origin NAME.\n"
            )

    return Refusal


def _wait_until_open(address: str, port: int, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with suppress(OSError), socket.create_connection((address.strip("[]"), port), timeout=1):
            return
        time.sleep(0.02)
    raise OSError(f"the lab did not start to listen at {address}:{port}")


def _default_port(address: str) -> int:
    """The port that bookmarks expect, or a free one."""
    try:
        return free_port(address, PORT)
    except OSError:
        port = free_port(address)
        print(f"port {PORT} is taken; the lab is at port {port} this time")
        return port


def free_port(address: str = "127.0.0.1", port: int = 0) -> int:
    """The port if it is free, or any free one for 0."""
    if not 0 <= port <= 65_535:
        raise OSError(f"cannot listen at {address}:{port}: a port is a number from 0 to 65535")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address.strip("[]"), port))
        except OSError as error:
            raise OSError(f"cannot listen at {address}:{port}: {error.strerror}") from None
        return int(probe.getsockname()[1])
