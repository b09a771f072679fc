"""Serve the lab to a browser on this machine."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from rosenblatt.lab.session import Session
from rosenblatt.lab.state import MOST_CHARACTERS, Data, LabSettings

LOOPBACK = ("127.0.0.1", "localhost")

# {% extends base %} brings Panel's own scripts, from this server: the page needs no network.
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


def page(data: Data | None = None, settings: LabSettings | None = None) -> Any:
    """A page with its own session: Panel makes one per browser tab."""
    import panel as pn

    from rosenblatt.lab.component import Lab

    template = pn.Template(_PAGE)
    lab = Lab(Session(data, settings), in_page=True, sizing_mode="stretch_width")
    template.add_panel("lab", lab)
    return template


def serve(
    data: Data | None = None,
    settings: LabSettings | None = None,
    *,
    port: int = 0,
    address: str = "127.0.0.1",
    origins: Sequence[str] = (),
    show: bool = True,
    threaded: bool = False,
) -> Any:
    """Serve the lab.

    Parameters
    ----------
    data, settings
        What each tab starts with.
    port
        The port; 0 picks a free one.
    address
        The address to listen at. The default, loopback, cannot be reached from other machines.
    origins
        Further hosts, as ``name`` or ``name:port``, whose pages may connect. Websockets of pages
        from any other origin are refused.
    show
        Whether to open a browser.
    threaded
        Whether to return immediately, with the server running in a thread.
    """
    import panel as pn

    port = free_port(address, port)
    hosts = [f"{host}:{port}" for host in LOOPBACK]
    if address not in ("0.0.0.0", "::", *LOOPBACK):
        hosts.append(f"{address}:{port}")
    hosts += [origin if ":" in origin else f"{origin}:{port}" for origin in origins]
    server = pn.serve(
        {"/": lambda: page(data, settings)},
        port=port,
        address=address,
        websocket_origin=hosts,
        # An upload travels as JSON, in which a character may take six bytes.
        websocket_max_message_size=6 * MOST_CHARACTERS + 10_000,
        show=show,
        threaded=threaded,
        title="Perceptron lab",
    )
    if threaded:
        _wait_until_open(address, port)
    return server


def _wait_until_open(address: str, port: int, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with suppress(OSError), socket.create_connection((address.strip("[]"), port), timeout=1):
            return
        time.sleep(0.02)
    raise OSError(f"the lab did not start to listen at {address}:{port}")


def free_port(address: str = "127.0.0.1", port: int = 0) -> int:
    """The port if it is free, or any free one for 0."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address.strip("[]"), port))
        except OSError as error:
            raise OSError(f"cannot listen at {address}:{port}: {error.strerror}") from None
        return int(probe.getsockname()[1])
