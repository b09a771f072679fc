"""Who may use the service, for how much and how long: tokens, hosts, origins and limits."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.responses import JSONResponse, Response

from rosenblatt.errors import OptionError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_HEADERS = [
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; script-src 'self'; style-src 'self'; "
     b"connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
     b"frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]  # fmt: skip


@dataclass(frozen=True)
class Limits:
    """What a request may ask for."""

    body: int = 8 << 20  # bytes
    rows: int = 10_000  # or labels
    seconds: float = 30.0  # for the body to arrive, and then for the answer
    waiting: int = 20_000  # rows of all requests that may wait; more are refused


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True)
class Tokens:
    """Who may do what: one token for predicting and looking, one for labelling too."""

    predict: str
    label: str

    @classmethod
    def read(cls, path: Path) -> Tokens:
        """The tokens of a file with the lines ``predict TOKEN`` and ``label TOKEN``."""
        tokens: dict[str, str] = {}
        for line in path.read_text().splitlines():
            name, _, token = line.strip().partition(" ")
            if not name or name.startswith("#"):
                continue
            token = token.strip()
            if name not in ("predict", "label") or len(token) < 16 or not token.isascii():
                raise OptionError(
                    f"{path}: expected lines 'predict TOKEN' and 'label TOKEN', with tokens of at "
                    "least 16 characters (python -c 'import secrets; print(secrets.token_hex())')"
                )
            tokens[name] = token
        if set(tokens) != {"predict", "label"} or tokens["predict"] == tokens["label"]:
            raise OptionError(f"{path}: two different tokens are needed, for predict and label")
        return cls(**tokens)

    def allow(self, header: str, labels: bool) -> bool:
        """Whether an Authorization header allows predicting, or labelling."""
        kind, _, token = header.partition(" ")
        sent = token.strip().encode() if kind.lower() == "bearer" else b""
        # Both are always compared, each in constant time.
        may_label = hmac.compare_digest(sent, self.label.encode())
        may_predict = hmac.compare_digest(sent, self.predict.encode())
        return bool(sent) and (may_label or (may_predict and not labels))


class Guard:
    """Refuses requests for other hosts, from other origins or without a token; counts and ends all.

    A page of another site can send requests to this machine through the user's browser. So a
    request must name a host that the service is known by (or its name may be one that a stranger
    points here), and if it comes from a page, that must be a page of the service.
    """

    def __init__(
        self,
        app: Any,
        hosts: Collection[str],
        tokens: Tokens | None,
        open_to_all: Collection[str],
        patience: float,
    ) -> None:
        self.app, self.tokens, self.open_to_all = app, tokens, open_to_all
        self.patience = patience
        self.paths = {route.path for route in app.routes}
        self.hosts = {host.lower() for host in hosts}
        self.requests: Counter[tuple[str, int]] = Counter()
        self.seconds: dict[str, float] = defaultdict(float)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, path = time.perf_counter(), scope["path"]

        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                if not timeout.expired():
                    timeout.reschedule(None)  # a slow client may take a model
                message["headers"] = [*message["headers"], *_HEADERS]
                known = path if path in self.paths else "other"
                self.requests[known, message["status"]] += 1
                self.seconds[known] += time.perf_counter() - began
            await send(message)

        try:
            async with asyncio.timeout(self.patience) as timeout:
                await (self._refused(scope) or self.app)(scope, receive, sending)
        except TimeoutError:
            message = f"there was no answer within {self.patience:g} seconds"
            await refusal(504, message)(scope, receive, sending)

    def _refused(self, scope: Any) -> Response | None:
        headers = dict(scope["headers"])  # the last of several
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        if name not in self.hosts:
            return refusal(421, "the service is not known by this name: start it with --name NAME")
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").lower().partition("://")[2] != host:
            return refusal(403, "pages of other sites may not use the service")
        if self.tokens is None or scope["path"] in self.open_to_all:
            return None
        header = headers.get(b"authorization", b"").decode("latin-1")
        if self.tokens.allow(header, labels=scope["path"] == "/v1/label"):
            return None
        return refusal(401, "a token is needed: Authorization: Bearer TOKEN", "Bearer")


def refusal(status: int, message: str, challenge: str | None = None) -> JSONResponse:
    """An answer that says what is wrong.

    >>> refusal(429, "ask again later").headers["Retry-After"]
    '1'
    """
    headers = {} if challenge is None else {"WWW-Authenticate": challenge}
    if status == 429:
        headers["Retry-After"] = "1"
    return JSONResponse({"error": message}, status, headers)
