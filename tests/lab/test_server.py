"""The lab is for this machine alone, and for its own page."""

import http.client
import socket
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

from rosenblatt import lab
from rosenblatt.errors import DataError, MissingExtraError
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


def test_without_panel_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(lab, "find_spec", lambda name: None)
    for feature in (lab.serve, lab.notebook):
        with pytest.raises(MissingExtraError, match=r'pip install "rosenblatt\[lab\]"'):
            feature()


def test_importing_pictures_and_lab_imports_no_extra():
    code = (
        "import sys, rosenblatt.viz, rosenblatt.lab, rosenblatt.lab.session; "
        "print([name for name in ('matplotlib', 'panel', 'bokeh') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_file_or_an_example_to_begin_with_is_checked_before_anything_is_served(tmp_path):
    (tmp_path / "bad.csv").write_text("a,b,label\n1,x,0\n")
    with pytest.raises(DataError, match="line 2, column 'b'"):
        lab.serve(file=tmp_path / "bad.csv", show=False)
    with pytest.raises(ValueError, match="no example 'nand'"):
        lab.serve(example="nand", show=False)


def test_a_notebook_takes_rows_of_its_own():
    shown = lab.notebook([[0.0, 1.0], [2.0, 3.0]], ["a", "b"], threshold=1.0)
    assert shown.session.data.class_names == ("a", "b")
    assert shown.session.settings.threshold == 1.0
    assert not shown.in_page


@pytest.mark.parametrize(
    "message",
    [None, 7, "step", [], {}, {"do": "sudo"}, {"do": "move"}, {"do": "move", "row": 0, "to": 3},
     {"do": "add", "at": [None, 1], "sign": 1}, {"do": "configure", "changes": 5},
     {"do": "step", "count": "many"}, {"do": "export"}, {"do": "csv"},
     {"do": "example", "name": {}}],
)  # fmt: skip
def test_a_request_that_makes_no_sense_gives_a_message(message):
    shown = Lab()
    before = shown.session.data
    shown.do(message)
    assert shown.view["message"]
    assert shown.session.data == before


def test_every_request_is_answered_by_a_new_view():
    shown = Lab()
    seen = []
    shown.param.watch(lambda event: seen.append(event.new["reply"]), "view")
    for message in ({"do": "back"}, {"do": "back"}, {"do": "nonsense"}):
        shown.do(message)
    assert len(seen) == 3
