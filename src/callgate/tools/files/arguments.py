"""Arguments that several tools on files take, and what they tell the policy of themselves."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field

FilePath = Annotated[str, Field(json_schema_extra={"format": "file-path"})]
DirectoryPath = Annotated[str, Field(json_schema_extra={"format": "directory-path"})]
Text = Annotated[str, Field(json_schema_extra={"format": "text"})]
"""Something to be read; it may look like a path and is none."""


def digest_of(content: bytes) -> str:
    """What tells one content of a file from another."""
    return hashlib.sha256(content).hexdigest()


def moment(seconds: float) -> str:
    """A time of change, for people and programs."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def what_was_seen(_arguments: dict[str, Any], output: dict[str, Any]) -> dict[str, str]:
    """The file that a call read or wrote, so that another content at the next reading is told as stale."""
    return {output["path"]: output["digest"]} if output["digest"] is not None else {}
