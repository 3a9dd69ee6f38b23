"""Arguments that the tools on notes take, and what they tell the policy of themselves."""

from __future__ import annotations

from collections.abc import Callable
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


TEXT: dict[str, Any] = {"type": "string"}
DIGEST: dict[str, Any] = {"type": "string", "description": "SHA-256 of the note's file as it is now."}
