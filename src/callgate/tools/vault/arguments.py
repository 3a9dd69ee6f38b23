"""Arguments that the tools on notes take, and what they tell the policy and the record of themselves."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field

NotePath = Annotated[str, Field(min_length=1, max_length=256, json_schema_extra={"format": "note-path"})]
"""From the folder of the project's notes; the policy judges the folder that all of them lie in."""
NoteFolder = Annotated[str, Field(max_length=256, json_schema_extra={"format": "note-path"})]
ProjectId = Annotated[str, Field(max_length=200, json_schema_extra={"format": "name"})]
Text = Annotated[str, Field(json_schema_extra={"format": "text"})]
"""Something to be read; it may look like a path and is none."""

Touched = Callable[[dict[str, Any]], dict[str, list[str]]]


def touching(place: str) -> Touched:
    """What the calls of a tool touch: the folder of all notes."""

    def resources(_: dict[str, Any]) -> dict[str, list[str]]:
        return {"paths": [place]}

    return resources


def what_was_seen(_arguments: dict[str, Any], output: dict[str, Any]) -> dict[str, str]:
    """The note that a call read or wrote, so that another content at the next reading is told as stale."""
    return {output["path"]: output["digest"]}


def moment(nanoseconds: int) -> str:
    """A time of change, for people and programs; a file can have one that no calendar has."""
    try:
        return datetime.fromtimestamp(nanoseconds / 1e9, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return "unknown"


def object_of(properties: dict[str, Any], *, optional: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The schema of an output with these fields and no others."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


TEXT: dict[str, Any] = {"type": "string"}
DIGEST: dict[str, Any] = {"type": "string", "description": "SHA-256 of the note's file as it is now."}
