"""The API's own description: every answer that a route can give, and the one shape of everything that is refused."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from callgate.serve.problems import MEDIA_TYPE, TITLES

_REFUSALS = (400, 401, 403, 404, 405, 408, 409, 413, 415, 421, 422, 429, 431, 500, 503)
_OPEN = (400, 405, 408, 413, 421, 422, 431, 500, 503)
"""Of routes that ask nobody who they are."""
_PROBLEM = {
    "title": "Problem",
    "description": "Why a request was refused (RFC 9457).",
    "type": "object",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong, for a person."},
        "code": {"type": "string", "description": "What is wrong, for a program."},
        "faults": {"type": "array", "items": {"type": "string"}, "description": "Every fault of a request."},
        "outcome": {"$ref": "#/components/schemas/OutcomeBody"},
    },
}
_SCHEME = {"type": "http", "scheme": "bearer", "description": "A token of `callgate tokens`."}
_VERBS = frozenset({"get", "post", "put", "patch", "delete"})


def describe(app: FastAPI) -> None:
    """Let the app tell its API as it is."""

    def made() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _described(app)
        return app.openapi_schema

    app.openapi = made


def _described(app: FastAPI) -> dict[str, Any]:
    body = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
    schemas = body.setdefault("components", {}).setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas["Problem"] = _PROBLEM
    body["components"]["securitySchemes"] = {"token": _SCHEME}
    for path, item in body["paths"].items():
        open_to_all = not path.startswith("/api/")
        for verb in _VERBS & set(item):
            for parameter in item[verb].get("parameters", ()):
                parameter["schema"] = _without_null(parameter["schema"])
            _refuse(item[verb], _OPEN if open_to_all else _REFUSALS)
            if not open_to_all:
                item[verb]["security"] = [{"token": []}]
    return body


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a parameter, which can be left out and cannot be null: it is text on the way."""
    left = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(left) != 1:
        return schema
    return left[0] | {name: value for name, value in schema.items() if name != "anyOf"}


def _refuse(operation: dict[str, Any], statuses: tuple[int, ...]) -> None:
    """Name the refusals of one route. What it answers itself with such a status stays."""
    answers = operation["responses"]
    answers.pop("422", None)
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for status in statuses:
        answers.setdefault(str(status), {"description": TITLES[status], "content": content})
