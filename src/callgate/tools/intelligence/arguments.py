"""Arguments that the tools on code take, and what all of them declare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from callgate.tools.intelligence.naming import LONGEST

Symbol = Annotated[str, Field(min_length=1, max_length=LONGEST, json_schema_extra={"format": "text"})]
Words = Annotated[str, Field(min_length=1, max_length=1000, json_schema_extra={"format": "text"})]
Scope = Annotated[str, Field(min_length=1, max_length=4096, json_schema_extra={"format": "path"})]
Kind = Literal[
    "class",
    "struct",
    "interface",
    "trait",
    "enum",
    "type",
    "function",
    "method",
    "macro",
    "module",
    "constant",
    "variable",
    "field",
    "declaration",
]
ReferenceType = Literal["all", "call", "import", "attribute", "type", "inherit", "name"]

PENDING: dict[str, Any] = {
    "type": "integer",
    "description": "Files that are not indexed yet because the time was up; the next call goes on with them.",
}

LEFT_OUT: dict[str, Any] = {
    "left_out": {
        "type": "array",
        "items": {"type": "string"},
        "description": "Directories that are not looked into, and why; the first of them.",
    }
}


def with_left_out(told: dict[str, Any], left_out: Sequence[str]) -> dict[str, Any]:
    """An answer, with the directories that nobody would expect to be left out, if there are any."""
    return {**told, "left_out": list(left_out)} if left_out else told


def reads_the_project(arguments: Mapping[str, Any]) -> dict[str, list[str]]:
    """What a call reads: the working directory, and what it names in it."""
    scope = arguments.get("scope")
    return {"paths": ["."] if scope is None else [".", scope]}


def declared(timeout: float) -> Any:
    """What every tool on code says of itself."""
    return {
        "effects": "read_only",
        "scopes": ["fs:read"],
        "concurrency_safe": True,
        "untrusted_output": True,  # sources are written by anybody
        "resources": reads_the_project,
        "timeout": timeout,
    }


STRING: dict[str, Any] = {"type": "string"}
INTEGER: dict[str, Any] = {"type": "integer"}
BOOLEAN: dict[str, Any] = {"type": "boolean"}
