"""What is told of a request that does not fit its schema, by place. What was sent is not told: it may hold anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse

from callgate.serve.problems import problem

_BODY = ("body",)


async def misread(request: Request, error: Exception) -> JSONResponse:
    """Every place that does not fit, and what would."""
    found = error.errors() if isinstance(error, RequestValidationError) else ()
    faults = [_fault(request, each) for each in found]
    return problem(422, "; ".join(faults) or "it cannot be read", code="invalid_request", faults=faults)


def _fault(request: Request, found: Mapping[str, Any]) -> str:
    place = tuple(found["loc"])
    if found["type"] == "json_invalid":
        return f"body: {found['ctx']['error']}"
    if place == _BODY and found["type"] != "missing" and not _is_json(request):
        return "body: it is not sent as JSON; send Content-Type: application/json"
    told = f"{'.'.join(map(str, place[1:])) or 'body'}: {found['msg']}"
    known = _known(request, place[1:-1]) if found["type"] == "extra_forbidden" else []
    return f"{told}; known here: {', '.join(known)}" if known else told


def _is_json(request: Request) -> bool:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


def _known(request: Request, place: Sequence[str | int]) -> list[str]:
    """The fields that are taken there."""
    body = getattr(request.scope.get("route"), "body_field", None)
    model = None if body is None else _model(body.field_info.annotation)
    for step in place:
        if model is not None and isinstance(step, str):
            field = model.model_fields.get(step)
            model = None if field is None else _model(field.annotation)
    return [] if model is None else [field.alias or name for name, field in model.model_fields.items()]


def _model(annotation: Any) -> type[BaseModel] | None:
    """The model that an annotation means: itself, or one of which it is a list or which may be left out."""
    kinds = (annotation, *get_args(annotation))
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)
