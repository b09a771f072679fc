"""The lab is for this machine alone, and for its own page."""

import asyncio
import base64
import gc
import http.client
import json
import logging
import socket
import subprocess
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from urllib.parse import urlsplit

import pytest

from rosenblatt import lab
from rosenblatt.errors import DataError, MissingExtraError
from rosenblatt.lab import server as server_module
from rosenblatt.lab.component import Lab
from rosenblatt.lab.server import free_port, serve
from rosenblatt.lab.session import Session
from rosenblatt.lab.state import MOST_CHARACTERS, Data, LabSettings, encode


def upgrade(address, origin, **more):
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
        **more,
    }
    connection.request("GET", "/ws", headers=headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_the_websocket_of_a_page_from_elsewhere_is_refused(address):
    assert upgrade(address, "http://evil.example") == 403
    assert upgrade(address, "http://127.0.0.1:1") == 403
    assert upgrade(address, address.rstrip("/")) != 403


def got(address, host):
    at = urlsplit(address)
    connection = http.client.HTTPConnection(at.hostname, at.port, timeout=10)
    connection.request("GET", "/", headers={"Host": host})
    answer = connection.getresponse()
    found = answer.status, answer.read().decode()
    connection.close()
    return found


def test_a_host_name_that_is_not_the_labs_is_refused(address):
    """DNS rebinding: a foreign name that points here, with an Origin that fits it."""
    port = urlsplit(address).port
    for name in (
        "evil.example",
        "127.0.0.1.evil.example",
        "evil-localhost",
        "localhost.",
        "2130706433",
    ):
        assert upgrade(address, f"http://{name}:{port}", Host=f"{name}:{port}") == 403
        status, page = got(address, f"{name}:{port}")
        assert status == 403
        assert "--origin" in page
    for name in ("127.0.0.1", "localhost", "LOCALHOST"):
        assert got(address, f"{name}:{port}")[0] == 200
    assert upgrade(address, f"http://localhost:{port}", Host=f"localhost:{port}") != 403


def test_a_further_host_can_be_allowed():
    port = free_port()
    server = serve(
        port=port, origins=["lab.example", "proxy.example:443"], show=False, threaded=True
    )
    try:
        at = f"http://127.0.0.1:{port}/"
        for name in (f"lab.example:{port}", "proxy.example:443", "proxy.example"):
            assert got(at, name)[0] == 200
        assert upgrade(at, f"http://lab.example:{port}", Host=f"lab.example:{port}") != 403
        assert got(at, f"other.example:{port}")[0] == 403
    finally:
        server.stop()


def sessions():
    gc.collect()
    return sum(type(thing) is Session for thing in gc.get_objects())


def test_sessions_are_given_back_after_visits(monkeypatch):
    monkeypatch.setattr(server_module, "SECONDS_UNCONNECTED", 0.5)
    port, before = free_port(), sessions()
    server = serve(port=port, show=False, threaded=True)
    try:
        for _ in range(20):
            assert got(f"http://127.0.0.1:{port}/", f"127.0.0.1:{port}")[0] == 200
        end = time.monotonic() + 20
        while sessions() > before and time.monotonic() < end:
            time.sleep(0.2)
        assert sessions() <= before
    finally:
        server.stop()


@pytest.mark.parametrize("port", [-1, 65_536, 99_999, 10**30])
def test_a_port_that_cannot_be_is_a_plain_message(port):
    with pytest.raises(OSError, match="a port is a number from 0 to 65535"):
        serve(port=port, show=False)


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
        with pytest.raises(MissingExtraError, match=r'pip install "\.\[lab\]"'):
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


@pytest.mark.parametrize("wrapped", [True, False])
def test_a_saved_notebook_says_that_the_lab_needs_a_kernel(monkeypatch, wrapped):
    bundle = {"text/html": "<div></div>"}  # as Panel makes it in a notebook
    base = type(lab.notebook()).__mro__[1]
    monkeypatch.setattr(
        base, "_repr_mimebundle_", lambda *rest: (bundle, {}) if wrapped else bundle
    )
    lab.notebook()._repr_mimebundle_()
    assert "needs a running kernel" in bundle["text/html"]


def test_a_notebook_takes_rows_of_its_own():
    shown = lab.notebook([[0.0, 1.0], [2.0, 3.0]], ["a", "b"], threshold=1.0)
    assert shown.session.data.class_names == ("a", "b")
    assert shown.session.settings.threshold == 1.0
    assert not shown.in_page


def test_a_notebook_takes_rows_or_an_example_but_not_both():
    with pytest.raises(ValueError, match="give one of rows, an example and a scene"):
        lab.notebook([[0.0], [1.0]], [0, 1], example="xor")


def link(text):
    return base64.urlsafe_b64encode(zlib.compress(text.encode())).decode()


@pytest.mark.parametrize(
    "message",
    [None, 7, "step", [], {}, {"do": "sudo"}, {"do": "move"}, {"do": "move", "row": 0, "to": 3},
     {"do": "add", "at": [None, 1], "sign": 1}, {"do": "configure", "changes": 5},
     {"do": "step", "count": "many"}, {"do": "export"}, {"do": "csv"},
     {"do": "example", "name": {}}, {"do": []}, {"do": "step", "count": float("inf")},
     {"do": "add", "at": [10**400, 1], "sign": 1}, {"do": "add", "at": [1, 2], "sign": True},
     {"do": "move", "row": 10**400, "to": [1, 2]}, {"do": "move", "row": 0, "to": [1e308, 10**400]},
     {"do": "configure", "changes": {"eta": 10**400}},
     {"do": "configure", "changes": {"threshold": float("inf")}},
     {"do": "configure", "changes": {"seed": [[]] * 3}},
     {"do": "restore", "link": 10**400}, {"do": "restore", "link": link("[" * 100_000)},
     {"do": "restore", "link": link('{"data": {"X": [[1' + "0" * 400 + "]]}}")},
     {"do": "restore", "link": link("Infinity")}],
)  # fmt: skip
def test_a_request_that_makes_no_sense_gives_a_message(message):
    shown = Lab()
    before = shown.session.data
    shown.do(message)
    assert shown.view["message"]
    assert len(shown.view["message"]) <= 1000
    assert shown.session.data == before


def test_a_link_whose_lift_is_too_large_changes_nothing():
    wide = Data(tuple(f"x{j}" for j in range(60)), ((1.0,) * 60, (2.0,) * 60), (-1, 1))
    shown = Lab()
    before = shown.session.data, shown.session.settings
    text = encode(wide, LabSettings(lift="polynomial", degree=4), 0)
    shown.do({"do": "restore", "link": text})
    assert "choose a lower degree" in shown.view["message"]
    assert (shown.session.data, shown.session.settings) == before


@pytest.mark.parametrize("frame", [[-1, 5, -2, 3], [0, 1, 0, 1e9], [5, -1, 0, 1], [4, 5, 4, 5]])
def test_a_link_may_say_what_part_of_the_plane_is_shown(frame):
    shown = Lab()
    standard, link = shown.view["frame"], shown.session.link()
    shown.do({"do": "restore", "link": link, "frame": frame})
    assert shown.view["frame"] == (frame if frame[:2] == [-1, 5] else standard)
    for broken in ([1, 2, 3], ["a"] * 4, [float("nan")] * 4, 5):
        shown.do({"do": "restore", "link": link, "frame": broken})
        assert len(shown.view["frame"]) == 4


async def exchange(address, *parts):
    """What the websocket answers to a message: the type of its reply, or a closing code."""
    from tornado.httpclient import HTTPRequest  # needs the extra "lab"
    from tornado.websocket import WebSocketClosedError, websocket_connect

    at = urlsplit(address)
    connection = http.client.HTTPConnection(at.hostname, at.port, timeout=10)
    connection.request("GET", "/")
    page = connection.getresponse().read().decode()
    connection.close()
    token = page.split('"token":"', 1)[1].split('"', 1)[0]
    request = HTTPRequest(f"ws://{at.netloc}/ws", headers={"Origin": address.rstrip("/")})
    socket = await websocket_connect(request, subprotocols=["bokeh", token])
    stream = socket.protocol.stream
    try:
        for _ in range(3):
            await asyncio.wait_for(socket.read_message(), 20)  # the server is ready
        with suppress(WebSocketClosedError):
            for part in parts:
                await socket.write_message(part, binary=isinstance(part, bytes))
        head = await asyncio.wait_for(socket.read_message(), 20)
        return socket.close_code if head is None else json.loads(head)["msgtype"]
    finally:
        socket.close()
        stream.close()
        await asyncio.sleep(0)


HEADER = json.dumps({"msgid": "1", "msgtype": "PATCH-DOC"})
MANY_BUFFERS = json.dumps({"msgid": "1", "msgtype": "PATCH-DOC", "num_buffers": 10**9})
NESTED = '{"events":[{"kind":"MessageSent","msg_type":"bokeh_event","msg_data":%s}]}'


def answer_to(*arguments):
    """What :func:`exchange` returns, by a thread: a browser's event loop may run in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(exchange(*arguments))).result()


def test_huge_messages_are_refused_and_do_not_fill_the_log(address, caplog):
    refused = {
        "50 MB": ("x" * 50_000_000,),
        "4 MB": (HEADER, "{}", '"' + "x" * (2 * MOST_CHARACTERS + 10_000) + '"'),
        "nested": (HEADER, "{}", "[" * 3_900_000),
        "nested header": ("[" * 3_900_000, "{}", "{}"),
        "digits": (HEADER, "{}", "9" * 3_900_000),
        "bytes": (b"\0" * 3_900_000,),
        "buffers": (MANY_BUFFERS, "{}", '{"events":[]}', '{"id":"a"}', b"\1" * 3_900_000),
    }
    for name, parts in refused.items():
        closed = answer_to(address, *parts)
        assert closed is None or isinstance(closed, int), name
    answered = answer_to(address, HEADER, "{}", NESTED % ("[" * 900 + "]" * 900))
    assert answered == "ERROR"
    assert answer_to(address, HEADER, "{}", '{"events":[]}') == "OK"
    logged = [logging.Formatter().format(record) for record in caplog.records]
    assert max(map(len, logged)) < 5000


def test_every_request_is_answered_by_a_new_view():
    shown = Lab()
    seen = []
    shown.param.watch(lambda event: seen.append(json.loads(event.new)["reply"]), "shown")
    for message in ({"do": "back"}, {"do": "back"}, {"do": "nonsense"}):
        shown.do(message)
    assert len(seen) == 3
