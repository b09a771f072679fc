"""The HTTP service: what it answers, to whom, and how much of it."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import time
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

from rosenblatt import __version__
from rosenblatt.errors import MissingExtraError, OptionError
from rosenblatt.serve.engine import Busy, Engine, UnknownId, say
from rosenblatt.serve.log import LogError, new_id
from rosenblatt.serve.online import file_of
from rosenblatt.serve.openapi import PARAMETERS, description
from rosenblatt.serve.rows import (
    Labels,
    NewLabel,
    Predict,
    TooManyRows,
    label_of,
    parse_arrow,
    parse_json,
    parse_lines,
)

if find_spec("starlette") is None or find_spec("uvicorn") is None:
    raise MissingExtraError("the service", "serve")

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from rosenblatt.serve.guard import DEFAULT_LIMITS, LOOPBACK, Guard, Limits, Tokens, refusal

PORT = 7674
_JSON, _LINES = "application/json", ("application/x-ndjson", "application/jsonl")
_ARROW = "application/vnd.apache.arrow.stream"
_STATIC = {
    "/": ("rosenblatt.serve", "static/index.html", "text/html"),
    "/page.js": ("rosenblatt.serve", "static/page.js", "text/javascript"),
    "/page.css": ("rosenblatt.serve", "static/page.css", "text/css"),
    "/style.css": ("rosenblatt.lab", "static/style.css", "text/css"),
}
# What needs no token: they hold no data.
_OPEN = {*_STATIC, "/health", "/openapi.json"}


_STATUS = {Busy: 429, UnknownId: 404, LogError: 503, ValueError: 400}


class Service:
    """The answers of the service, by one engine."""

    def __init__(self, engine: Engine, limits: Limits) -> None:
        self.engine, self.limits = engine, limits
        self.engine.most_waiting = limits.waiting
        self.guard: Guard | None = None

    # Rows and labels

    async def _items(self, request: Request) -> tuple[list[Any], str]:
        """The items in a body, and its form: one, many or lines."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in (_JSON, *_LINES, _ARROW):
            kinds = f"{_JSON}, {_LINES[0]} or {_ARROW}"
            raise HTTPException(415, f"the Content-Type must be {kinds}")
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > self.limits.body:
                raise HTTPException(413, f"a body may have {self.limits.body:,} bytes")
        if kind == _ARROW:
            return parse_arrow(bytes(body), self.limits.rows), "many"
        if kind in _LINES:
            return parse_lines(bytes(body), self.limits.rows), "lines"
        value = parse_json(bytes(body))
        if not isinstance(value, list):
            return [value], "one"
        if len(value) > self.limits.rows:
            raise TooManyRows(self.limits.rows)
        return value, "many"

    @staticmethod
    def _answers(answers: list[Any], form: str) -> Response:
        if form == "lines":
            lines = "".join(json.dumps(answer) + "\n" for answer in answers)
            return Response(lines, media_type=_LINES[0])
        return Response(json.dumps(answers[0] if form == "one" else answers), media_type=_JSON)

    async def predict(self, request: Request) -> Response:
        """The predicted labels of rows."""
        values, form = await self._items(request)
        rows = [self.engine.reader.row(value) for value in values]
        task = Predict(rows, _parameter(request, "top"), _parameter(request, "explain"))
        return self._answers(await self.engine.submit(task, len(rows)), form)

    async def label(self, request: Request) -> Response:
        """Take labels, and say what becomes of each."""
        if self.engine.log is None:
            raise HTTPException(409, "the service does not learn: start it with --learn --log LOG")
        values, form = await self._items(request)
        labels = [self._label_of(value) for value in values]
        return self._answers(await self.engine.submit(Labels(labels), len(labels)), form)

    def _label_of(self, value: Any) -> NewLabel:
        if not isinstance(value, dict) or "label" not in value:
            raise ValueError("a label is an object with the fields id and label")
        strange = sorted(set(value) - {"id", "label", "weight", "row"})
        if strange:
            raise ValueError(f"a label has no field {strange[0][:40]!r}: id, label, weight, row")
        row, id = value.get("row"), value.get("id")
        if "id" not in value and row is not None:
            id = new_id(time.time())
        if not (isinstance(id, str) and 0 < len(id) <= 100 and id.isprintable()):
            raise ValueError("an id is a text of 1 to 100 printable characters")
        weight = value.get("weight", 1.0)
        is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
        if not (is_number and 0 <= weight <= 1e6):
            raise ValueError("a weight is a number from 0 to 1,000,000")
        checked = None if row is None else self.engine.reader.row(row)
        return NewLabel(id, label_of(value["label"]), float(weight), checked)

    # What the service knows

    async def model(self, request: Request) -> Response:
        """The file of the current model, unless the client has it."""
        engine = self.engine
        tag = f'"{engine.identity}-{engine.version}"'
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers={"ETag": tag})

        def copied() -> Any:
            if engine.online is None:
                return engine.current, 0
            if len(engine.online.classes) < 2:
                raise ValueError("there is no model yet: labels of two classes are needed")
            return engine.online.exported(), engine.online.position

        model, version = await engine.submit(copied)
        return Response(
            await asyncio.to_thread(file_of, model.save),
            media_type="application/octet-stream",
            headers={
                "ETag": f'"{engine.identity}-{version}"',
                "X-Model-Version": str(version),
                "Content-Disposition": 'attachment; filename="current.model"',
            },
        )

    async def history(self, request: Request) -> Response:
        """The progressive error over time and by class, alarms, and the latest mistakes."""
        count = _parameter(request, "mistakes")
        return JSONResponse(await self.engine.submit(lambda: self._history(count)))

    def _history(self, count: int) -> dict[str, Any]:
        engine, mistakes = self.engine, []
        plain: dict[str, Any] = {"classes": list(engine.current.classes)}
        if engine.online is not None and engine.log is not None:
            record = engine.online.record
            plain |= asdict(record)
            plain["error"] = record.error if record.labels else None
            for event in engine.log.mistakes(count):
                mistake = {"id": event.id, "time": event.time, "label": event.label}
                mistake |= {"predicted": event.predicted, "row": None, "explanation": []}
                if not isinstance(event.content, bytes):
                    mistake["row"] = event.content
                    if len(engine.online.classes) > 1:
                        mistake["explanation"] = engine.explained(event.content, event.predicted, 8)
                mistakes.append(mistake)
        return plain | {
            "version": engine.version,
            "learns": engine.log is not None,
            "columns": [c.name for c in engine.reader.features.columns],
            "parameters": engine.current.parameters,
            "unseen": engine.unseen,
            "features": len(engine.current.columns),
            "mistaken": mistakes,
        }

    async def health(self, request: Request) -> Response:
        """Whether the service answers and learns."""
        engine = self.engine
        plain = {"status": "ok", "version": engine.version, "package": __version__}
        plain |= {"learner": engine.is_learner, "waiting": engine.waiting}
        if engine.failure is not None:
            plain |= {"status": "the model learns no more", "reason": engine.failure}
        return JSONResponse(plain, 200 if engine.failure is None else 503)

    async def metrics(self, request: Request) -> Response:
        """The numbers of the service in the text format of Prometheus."""
        engine, guard = self.engine, self.guard
        assert guard is not None
        requests, seconds = sorted(guard.requests.items()), sorted(guard.seconds.items())
        samples: dict[str, Any] = {
            "requests_total": {f'{{path="{p}",status="{s}"}}': n for (p, s), n in requests},
            "request_seconds_total": {f'{{path="{p}"}}': n for p, n in seconds},
            "predictions_total": engine.counts["predictions"],
            "labels_accepted_total": engine.counts["accepted"],
            "labels_corrected_total": engine.counts["corrected"],
            "labels_repeated_total": engine.counts["repeated"],
            "errors_total": engine.counts["errors"],
            "waiting_rows": engine.waiting,
            "unseen_share": engine.unseen,
            "version": engine.version,
            "is_learner": int(engine.is_learner),
        }
        if engine.online is not None:
            record = engine.online.record
            samples["counted_labels"] = record.labels
            samples["counted_mistakes"] = record.mistakes
            samples["drift_alarms_total"] = len(record.alarms)
        lines = []
        for name, values in samples.items():
            kind = "counter" if name.endswith("_total") else "gauge"
            lines.append(f"# TYPE rosenblatt_{name} {kind}")
            values = values if isinstance(values, dict) else {"": values}
            lines += [f"rosenblatt_{name}{labels} {value}" for labels, value in values.items()]
        return PlainTextResponse("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")


def _parameter(request: Request, name: str) -> Any:
    """The value of a parameter of the query."""
    value, schema = request.query_params.get(name), PARAMETERS[name]["schema"]
    if value is None:
        return schema["default"]
    if schema["type"] == "boolean":
        if value not in ("true", "false"):
            raise ValueError(f"{name} is true or false")
        return value == "true"
    least, most = schema["minimum"], schema["maximum"]
    is_number = value.isascii() and value.isdigit() and len(value) < 9
    if not (is_number and least <= int(value) <= most):
        raise ValueError(f"{name} is a number from {least} to {most}")
    return int(value)


def make_app(
    engine: Engine,
    *,
    limits: Limits = DEFAULT_LIMITS,
    tokens: Tokens | None = None,
    hosts: Sequence[str] = LOOPBACK,
) -> Guard:
    """The ASGI application of a service.

    Examples
    --------
    >>> from rosenblatt import train
    >>> frame = {"label": ["pos", "neg"] * 20, "text": ["good and fun", "bad and dull"] * 20}
    >>> app = make_app(Engine(train(frame, text="text", epochs=3)))
    >>> sorted(app.hosts)
    ['127.0.0.1', '::1', 'localhost']
    """
    service = Service(engine, limits)

    def wrong(request: Request, error: Exception) -> Response:
        status = next(code for kind, code in _STATUS.items() if isinstance(error, kind))
        return refusal(status, str(error))

    def failed(request: Request, error: Any) -> Response:
        answer = refusal(error.status_code, error.detail)
        answer.headers.update(error.headers or {})
        return answer

    def crashed(request: Request, error: Exception) -> Response:
        say("error", error=type(error).__name__)
        return refusal(500, "the service failed to answer; its log says why")

    def static(place: tuple[str, str, str]) -> Callable[[Request], Response]:
        package, name, kind = place
        content = (files(package) / name).read_bytes()
        return lambda request: Response(content, media_type=kind)

    def openapi(request: Request) -> Response:
        return JSONResponse(description(engine.reader.features, limits.rows, tokens is not None))

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        task = asyncio.create_task(engine.run())
        await asyncio.sleep(0)
        yield
        engine.stop()
        await task
        await asyncio.to_thread(engine.close)
        say("stopped", version=engine.version)

    app = Starlette(
        routes=[
            Route("/v1/predict", service.predict, methods=["POST"]),
            Route("/v1/label", service.label, methods=["POST"]),
            Route("/v1/model", service.model),
            Route("/v1/history", service.history),
            Route("/health", service.health),
            Route("/metrics", service.metrics),
            Route("/openapi.json", openapi),
            *(Route(path, static(place)) for path, place in _STATIC.items()),
        ],
        lifespan=lifespan,
        exception_handlers={
            **dict.fromkeys(_STATUS, wrong),
            HTTPException: failed,
            ClientDisconnect: lambda request, error: Response(status_code=400),
            Exception: crashed,
        },
    )
    app.router.redirect_slashes = False
    service.guard = Guard(app, hosts, tokens, _OPEN, limits.seconds)
    return service.guard


def serve(
    engine: Engine,
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    names: Sequence[str] = (),
    tokens: Tokens | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> None:
    """Serve until SIGTERM or Ctrl-C; what was accepted by then is finished.

    Parameters
    ----------
    engine : Engine
        The model and its log.
    host, port
        Where to listen. Other machines reach an address other than the default, so that it needs
        tokens.
    names
        Further host names that the service is known by.
    tokens, limits
        See :class:`Tokens` and :class:`Limits`.
    """
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            if self.started:
                port = self.servers[0].sockets[0].getsockname()[1]
                name = f"[{config.host}]" if ":" in config.host else config.host
                say("ready", url=f"http://{name}:{port}", port=port, version=engine.version)

    if tokens is None and not _is_loopback(host):
        raise OptionError(
            f"other machines can reach {host}: give --token-file, or listen at 127.0.0.1"
        )
    hosts = [*LOOPBACK, *names, *([] if host in ("0.0.0.0", "::") else [host.strip("[]")])]
    app = make_app(engine, limits=limits, tokens=tokens, hosts=hosts)
    config = uvicorn.Config(
        app,
        host=host.strip("[]"),
        port=port,
        http="h11",  # which bounds headers
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=int(limits.seconds) + 5,
        backlog=1024,
        limit_concurrency=2000,
    )
    logging.getLogger("uvicorn").addHandler(_Said())
    Server(config).run()


class _Said(logging.Handler):
    """Says in lines of JSON what the HTTP server has to say, and where it failed."""

    def emit(self, record: logging.LogRecord) -> None:
        where = traceback.format_tb(record.exc_info[2]) if record.exc_info else []
        say(record.levelname.lower(), message=record.getMessage(), where=where[-1:])


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
