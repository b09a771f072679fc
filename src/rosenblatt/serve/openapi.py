"""The description of the service by the OpenAPI standard: a document, and what the model adds."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from rosenblatt import __version__
from rosenblatt.data.features import Features

_EVERYWHERE = ("400", "401", "403", "405", "421", "429", "503", "504")  # answers of all paths
_TEXT = files("rosenblatt.serve").joinpath("static/openapi.json").read_text("utf-8")
PARAMETERS: dict[str, Any] = json.loads(_TEXT)["components"]["parameters"]


def description(features: Features, most_rows: int, tokens: bool) -> dict[str, Any]:
    """The document of a service whose model has these features.

    >>> from rosenblatt.data import Column
    >>> document = description(Features(columns=(Column("text", "text"),)), 10_000, False)
    >>> sorted(document["paths"])[-1], document["openapi"]
    ('/v1/predict', '3.1.0')
    """
    document: dict[str, Any] = json.loads(_TEXT)
    document["info"]["version"] = __version__
    if not tokens:
        del document["security"]
    for methods in document["paths"].values():
        for operation in methods.values():
            operation["responses"] |= {
                code: {"$ref": f"#/components/responses/{code}"} for code in _EVERYWHERE
            }
    schemas = document["components"]["schemas"]
    schemas["Rows"]["maxItems"] = schemas["Labels"]["maxItems"] = most_rows
    cells = {
        "number": {"type": ["number", "null"], "minimum": -1e9, "maximum": 1e9},
        "date": {"type": ["string", "null"]},
    }
    cell = {"type": ["string", "number", "boolean", "null"]}
    columns = {c.name: cells.get(c.kind, cell) for c in features.columns}
    row = {"type": "object", "properties": columns, "required": list(columns)}
    schemas["Row"] = {"anyOf": [{"type": "string"}, row]} if features.is_one_text else row
    return document
