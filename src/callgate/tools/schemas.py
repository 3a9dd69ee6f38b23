"""Schemas: how tools of all categories say what their outputs look like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def fields(always: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The schema of an object that has these fields and no others."""
    return {
        "type": "object",
        "properties": {**always, **(optional or {})},
        "required": list(always),
        "additionalProperties": False,
    }
