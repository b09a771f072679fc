"""What the how-to shows works: the client, and nginx before the service."""

import re
import shutil
import ssl
import subprocess
import time
from pathlib import Path

import httpx
import pytest

from rosenblatt.lab.server import free_port
from rosenblatt.serve.engine import Engine

from .conftest import caught_up, running, stream
from .test_app import TOKENS

PAGE = (Path(__file__).parents[2] / "docs/how-to/serve.md").read_text()


def block(language, word):
    blocks = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return next(text for text in blocks if word in text)


def test_the_client_of_the_guide_predicts_labels_and_follows_the_model(begun):
    names = {}
    exec(block("python", "class Client"), names)
    with running(Engine(log=begun(), learns=True), tokens=TOKENS) as http:
        client = names["Client"](str(http.base_url), TOKENS.label)
        rows = stream(60)
        answers = client.predict([event.content for event in rows])
        for event, answer in zip(rows, answers, strict=True):
            assert client.label(answer["id"], event.label)["status"] == "accepted"
        caught_up(http, 60)
        texts = [event.content["text"] for event in rows]
        model = client.model()
        assert model is client.model()
        expected = [answer["label"] for answer in client.predict(texts)]
        assert model.predict(texts).tolist() == expected
        client.label("more", "pos", row="new words")
        caught_up(http, 61)
        assert client.model() is not model
        with pytest.raises(ValueError, match="no prediction has the id"):
            client.label("nobody", "pos")
        client.http.close()


@pytest.fixture
def certificate(tmp_path):
    if shutil.which("nginx") is None or shutil.which("openssl") is None:
        pytest.skip("no nginx on this machine: apt-get install nginx-light openssl")
    key, cert = tmp_path / "predict.key", tmp_path / "predict.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj",
         "/CN=predict.example.org", "-addext", "subjectAltName=DNS:localhost",
         "-keyout", key, "-out", cert],
        check=True, capture_output=True,
    )  # fmt: skip
    return cert


def test_nginx_brings_tls_and_bounds_bodies(begun, certificate, tmp_path):
    name = "localhost"
    with running(
        Engine(log=begun(), learns=True), tokens=TOKENS, hosts=[name, "127.0.0.1"]
    ) as http:
        port = free_port()
        server = block("nginx", "proxy_pass")
        for here, there in (
            ("listen 443", f"listen 127.0.0.1:{port}"),
            ("predict.example.org", name),
            ("/etc/ssl/", f"{tmp_path}/"),
            ("127.0.0.1:7674", f"127.0.0.1:{http.base_url.port}"),
        ):
            assert here in server
            server = server.replace(here, there)
        folders = "".join(
            f"{kind}_temp_path {tmp_path}/{kind};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        settings = tmp_path / "nginx.conf"
        settings.write_text(
            f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/errors;"
            f"events {{}} http {{ access_log off; {folders} {server} }}"
        )
        nginx = subprocess.Popen(["nginx", "-c", settings, "-e", tmp_path / "errors"])
        trusted = ssl.create_default_context(cafile=certificate)
        headers = {"Authorization": f"Bearer {TOKENS.label}", "Host": f"{name}:{port}"}
        try:
            with httpx.Client(
                base_url=f"https://localhost:{port}", verify=trusted, headers=headers
            ) as client:
                _wait(client)
                answer = client.post("/v1/predict", json="good").json()
                label = {"id": answer["id"], "label": "pos"}
                origin = {"Origin": f"https://{name}:{port}"}
                taken = client.post("/v1/label", json=label, headers=origin)
                assert taken.json()["status"] == "accepted"
                assert client.post("/v1/predict", json="x" * (9 << 20)).status_code == 413
                stranger = {"Origin": "https://evil.org"}
                refused = client.post("/v1/label", json=label, headers=stranger)
                assert refused.status_code == 403
        finally:
            nginx.terminate()
            nginx.wait(20)


def _wait(client):
    end = time.monotonic() + 20
    while True:
        try:
            assert client.get("/health").status_code == 200
        except httpx.ConnectError:
            assert time.monotonic() < end, "nginx did not start"
            time.sleep(0.1)
        else:
            return
