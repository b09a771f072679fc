"""The description of the service by the OpenAPI standard, for clients and tests that read it."""

from __future__ import annotations

from typing import Any

from rosenblatt import __version__
from rosenblatt.data.features import Features

_ERRORS = {
    "400": "The request cannot be read, has too many rows, or one that makes no sense.",
    "401": "A token is needed.",
    "403": "Pages of other sites may not use the service.",
    "404": "No prediction has the id of a label.",
    "405": "The path takes another method.",
    "409": "The service does not learn.",
    "413": "The body is too long.",
    "415": "The Content-Type is not one of those listed.",
    "421": "The service is not known by the name in the Host header.",
    "429": "Too much waits already; ask again later.",
    "503": "The log cannot be written now; nothing was taken.",
    "504": "There was no answer in time.",
}
_EVERYWHERE = ("400", "401", "403", "405", "421", "429", "503", "504")
_LINES, _ARROW = "application/x-ndjson", "application/vnd.apache.arrow.stream"


def description(features: Features, limits: Any, tokens: bool) -> dict[str, Any]:
    """The document of a service whose model has these features.

    >>> from rosenblatt.data import Column
    >>> from rosenblatt.serve.guard import Limits
    >>> document = description(Features(columns=(Column("text", "text"),)), Limits(), False)
    >>> sorted(document["paths"])[-1], document["openapi"]
    ('/v1/predict', '3.1.0')
    """
    cell = {"type": ["string", "number", "boolean", "null"]}
    columns: dict[str, Any] = {
        c.name: {"type": ["number", "null"], "minimum": -1e9, "maximum": 1e9}
        if c.kind == "number"
        else {"type": ["string", "null"]} if c.kind == "date" else cell
        for c in features.columns
    }  # fmt: skip
    row: dict[str, Any] = {"type": "object", "properties": columns, "required": list(columns)}
    if features.is_one_text:
        row = {"anyOf": [{"type": "string"}, row]}
    text = {"type": "string"}
    identity = {"type": "string", "minLength": 1, "maxLength": 100, "pattern": "^[!-~]+$"}
    scored = {"type": "object", "properties": {"label": text, "score": {"type": "number"}}}
    prediction = {
        "type": "object",
        "properties": {
            "id": identity,
            "label": {"type": ["string", "null"]},
            "labels": {"type": "array", "items": text},
            "score": {"type": "number"},
            "probability": {"type": "number"},
            "version": {"type": "integer"},
            "unseen": {"type": "number"},
            "top": {"type": "array", "items": scored},
            "explanation": {"type": "array", "items": {"type": "object"}},
        },
        "required": ["version"],
    }
    label = {
        "type": "object",
        "properties": {
            "id": identity,
            "label": {
                "anyOf": [
                    {"type": "string", "maxLength": 200, "pattern": "^[!-~]+$"},
                    {"type": ["number", "boolean"]},
                ]
            },
            "weight": {"type": "number", "minimum": 0, "maximum": 1e6},
            "row": {"anyOf": [{"$ref": "#/components/schemas/Row"}, {"type": "null"}]},
        },
        "required": ["label"],
        "anyOf": [
            {"required": ["id"]},
            {"required": ["row"], "properties": {"row": {"$ref": "#/components/schemas/Row"}}},
        ],
        "additionalProperties": False,
    }
    taken = {
        "type": "object",
        "properties": {
            "id": identity,
            "status": {"enum": ["accepted", "repeated", "corrected"]},
            "predicted": {"type": ["string", "null"]},
            "replaced": text,
        },
        "required": ["id", "status", "predicted"],
    }
    paths = {
        "/v1/predict": {
            "post": _operation(
                "The predicted labels of rows. With a log each has an id, to be labelled later. "
                "Of a request the first 100 rows are explained.",
                _one_or_many("Prediction"),
                _body("Row", limits.rows),
                ["413", "415"],
                [
                    _parameter("top", {"type": "integer", "minimum": 1, "maximum": 1000}),
                    _parameter("explain", {"type": "boolean"}),
                    _parameter("keep", {"type": "boolean"}),
                ],
            )
        },
        "/v1/label": {
            "post": _operation(
                "Labels of predictions, at any time and in any order; all of a request or none. "
                "Repeating one changes nothing, another label for an id corrects the former.",
                _one_or_many("Taken"),
                _body("Label", limits.rows),
                ["404", "409", "413", "415"],
            )
        },
        "/v1/model": {"get": _operation("The file of the current model.", {}, None, [])},
        "/v1/history": {
            "get": _operation(
                "The progressive error over time and by class, alarms, and the latest mistakes.",
                {"application/json": {"schema": {"type": "object"}}},
                None,
                [],
                [_parameter("mistakes", {"type": "integer", "minimum": 0, "maximum": 100})],
            )
        },
        "/health": {
            "get": _operation(
                "Whether the service answers and learns.",
                {"application/json": {"schema": {"type": "object"}}},
            )
        },
        "/metrics": {"get": _operation("The numbers of the service, for Prometheus.", {})},
    }
    schemas = {"Row": row, "Prediction": prediction, "Label": label, "Taken": taken}
    components: dict[str, Any] = {"schemas": schemas}
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "rosenblatt", "version": __version__},
        "paths": paths,
        "components": components,
    }
    if tokens:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
    return document


def _parameter(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "schema": schema}


def _one_or_many(name: str) -> dict[str, Any]:
    one = {"$ref": f"#/components/schemas/{name}"}
    many = {"type": "array", "items": one}
    schema = {"schema": {"anyOf": [one, many]}}
    return {"application/json": schema, _LINES: {"schema": {"type": "string"}}}


def _body(name: str, most: int) -> dict[str, Any]:
    one = {"$ref": f"#/components/schemas/{name}"}
    many = {"type": "array", "items": one, "maxItems": most}
    return {"application/json": {"schema": {"anyOf": [one, many]}}}


def _operation(
    summary: str,
    answer: dict[str, Any],
    body: dict[str, Any] | None = None,
    errors: list[str] | None = None,
    parameters: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    text = {"type": "string"}
    error = {"type": "object", "properties": {"error": text}, "required": ["error"]}
    content = {"application/json": {"schema": error}}
    responses = {
        code: {"description": _ERRORS[code], "content": content}
        for code in sorted({*_EVERYWHERE, *(errors or [])})
    }
    good: dict[str, Any] = {"description": "The answer."} | ({"content": answer} if answer else {})
    operation: dict[str, Any] = {"summary": summary, "responses": {"200": good} | responses}
    if body is not None:
        operation["requestBody"] = {"required": True, "content": body}
    return operation | ({"parameters": parameters} if parameters else {})
