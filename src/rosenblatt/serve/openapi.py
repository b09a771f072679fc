"""The description of the service by the OpenAPI standard, for clients and tests that read it."""

from __future__ import annotations

from typing import Any

from rosenblatt import __version__
from rosenblatt.data.features import Features

# Parameters of queries: flags with their defaults; numbers with the default, least and most.
FLAGS = {"explain": False, "keep": True}
NUMBERS = {"top": (1, 1, 1000), "mistakes": (10, 0, 100)}
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
_TEXT, _NUMBER = {"type": "string"}, {"type": "number"}
_TEXT_OR_NULL = {"type": ["string", "null"]}
_PRINTABLE = {"type": "string", "minLength": 1, "pattern": "^[!-~]+$"}
_ID = _PRINTABLE | {"maxLength": 100}


def description(features: Features, limits: Any, tokens: bool) -> dict[str, Any]:
    """The document of a service whose model has these features.

    >>> from rosenblatt.data import Column
    >>> from rosenblatt.serve.guard import Limits
    >>> document = description(Features(columns=(Column("text", "text"),)), Limits(), False)
    >>> sorted(document["paths"])[-1], document["openapi"]
    ('/v1/predict', '3.1.0')
    """
    paths = {
        "/v1/predict": _post(
            "The predicted labels of rows. With a log each has an id, to be labelled later. "
            "Of a request the first 100 rows are explained.",
            ("Row", "Prediction", limits.rows),
            ["413", "415"],
            ["top", "explain", "keep"],
        ),
        "/v1/label": _post(
            "Labels of predictions, at any time and in any order; all of a request or none. "
            "Repeating one changes nothing, another label for an id corrects the former.",
            ("Label", "Taken", limits.rows),
            ["404", "409", "413", "415"],
        ),
        "/v1/model": _get("The file of the current model.", {}),
        "/v1/history": _get(
            "The progressive error over time and by class, alarms, and the latest mistakes.",
            _json(_object()),
            ["mistakes"],
        ),
        "/health": _get("Whether the service answers and learns.", _json(_object())),
        "/metrics": _get("The numbers of the service, for Prometheus.", {}),
    }
    components: dict[str, Any] = {"schemas": _schemas(features)}
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


def _schemas(features: Features) -> dict[str, Any]:
    """What rows and labels are, and the answers to them."""
    cells = {
        "number": {"type": ["number", "null"], "minimum": -1e9, "maximum": 1e9},
        "date": _TEXT_OR_NULL,
    }
    cell = {"type": ["string", "number", "boolean", "null"]}
    columns: dict[str, Any] = {c.name: cells.get(c.kind, cell) for c in features.columns}
    row = _object(*columns, **columns)
    prediction = _object(
        "version",
        id=_ID,
        label=_TEXT_OR_NULL,
        labels=_list(_TEXT),
        score=_NUMBER,
        probability=_NUMBER,
        version={"type": "integer"},
        unseen=_NUMBER,
        top=_list(_object(label=_TEXT, score=_NUMBER, probability=_NUMBER)),
        explanation=_list(_object(feature=_TEXT, contribution=_NUMBER)),
    )
    name = {"anyOf": [_PRINTABLE | {"maxLength": 200}, {"type": ["number", "boolean"]}]}
    label = _object(
        "label",
        id=_ID,
        label=name,
        weight={"type": "number", "minimum": 0, "maximum": 1e6},
        row={"anyOf": [_ref("Row"), {"type": "null"}]},
    )
    label["anyOf"] = [
        {"required": ["id"]},
        {"required": ["row"], "properties": {"row": _ref("Row")}},
    ]
    label["additionalProperties"] = False
    status = {"enum": ["accepted", "repeated", "corrected"]}
    taken = _object(
        "id", "status", "predicted", id=_ID, status=status, predicted=_TEXT_OR_NULL, replaced=_TEXT
    )
    return {
        "Row": {"anyOf": [_TEXT, row]} if features.is_one_text else row,
        "Prediction": prediction,
        "Label": label,
        "Taken": taken,
    }


def _object(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def _list(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items} | more


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _parameter(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "boolean", "default": FLAGS.get(name)}
    if name in NUMBERS:
        values = zip(("default", "minimum", "maximum"), NUMBERS[name], strict=True)
        schema = {"type": "integer"} | dict(values)
    return {"name": name, "in": "query", "required": False, "schema": schema}


def _get(summary: str, answer: dict[str, Any], parameters: Any = ()) -> dict[str, Any]:
    return {"get": _operation(summary, answer, [], parameters)}


def _post(
    summary: str, schemas: tuple[str, str, int], errors: list[str], parameters: Any = ()
) -> dict[str, Any]:
    """The description of what takes one thing or many, and answers each."""
    (asked, answered), most = map(_ref, schemas[:2]), schemas[2]
    answer = _json({"anyOf": [answered, _list(answered)]})
    answer["application/x-ndjson"] = {"schema": _TEXT}
    body = _json({"anyOf": [asked, _list(asked, maxItems=most)]})
    operation = _operation(summary, answer, errors, parameters)
    return {"post": operation | {"requestBody": {"required": True, "content": body}}}


def _operation(
    summary: str, answer: dict[str, Any], errors: list[str], parameters: Any
) -> dict[str, Any]:
    error = _json(_object("error", error=_TEXT))
    responses = {
        code: {"description": _ERRORS[code], "content": error}
        for code in sorted({*_EVERYWHERE, *errors})
    }
    responses["200"] = {"description": "The answer."} | ({"content": answer} if answer else {})
    return {
        "summary": summary,
        "parameters": [_parameter(name) for name in parameters],
        "responses": responses,
    }
