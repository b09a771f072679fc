"""The lab is for this machine alone, and for its own page."""

import http.client
import socket
from urllib.parse import urlsplit

import pytest

from rosenblatt.lab.component import Lab
from rosenblatt.lab.server import serve


def upgrade(address, origin):
    """The status of a websocket handshake of a page from `origin`."""
    at = urlsplit(address)
    connection = http.client.HTTPConnection(at.hostname, at.port, timeout=10)
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Protocol": "bokeh, token",
        "Origin": origin,
    }
    connection.request("GET", "/ws", headers=headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_the_websocket_of_a_page_from_elsewhere_is_refused(address):
    assert upgrade(address, "http://evil.example") == 403
    assert upgrade(address, "http://127.0.0.1:1") == 403
    assert upgrade(address, address.rstrip("/")) != 403


def test_it_listens_on_loopback_only(address):
    port = urlsplit(address).port
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        outside = probe.getsockname()[0]
    if outside.startswith("127."):
        pytest.skip("this machine has no address but loopback")
    with pytest.raises(OSError, match=r"refused|timed out"):
        socket.create_connection((outside, port), timeout=2)


def test_a_port_that_is_taken_is_said_so(address):
    with pytest.raises(OSError, match="cannot listen at"):
        serve(port=urlsplit(address).port, show=False)


@pytest.mark.parametrize(
    "wish",
    [None, 7, "step", [], {}, {"do": "sudo"}, {"do": "move"}, {"do": "move", "row": 0, "to": 3},
     {"do": "add", "at": [None, 1], "sign": 1}, {"do": "configure", "changes": 5},
     {"do": "step", "count": "many"}, {"do": "export"}, {"do": "csv"},
     {"do": "example", "name": {}}],
)  # fmt: skip
def test_a_wish_that_makes_no_sense_gives_a_message(wish):
    lab = Lab()
    before = lab.session.data
    lab.do(wish)
    assert lab.view["message"]
    assert lab.session.data == before


def test_every_wish_is_answered_by_a_new_view():
    lab = Lab()
    seen = []
    lab.param.watch(lambda event: seen.append(event.new["reply"]), "view")
    for wish in ({"do": "back"}, {"do": "back"}, {"do": "nonsense"}):
        lab.do(wish)
    assert len(seen) == 3
