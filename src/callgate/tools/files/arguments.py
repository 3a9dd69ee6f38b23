"""Arguments that several tools on files take, and what they tell the policy of themselves."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field

FilePath = Annotated[str, Field(json_schema_extra={"format": "file-path"})]
DirectoryPath = Annotated[str, Field(json_schema_extra={"format": "directory-path"})]
Text = Annotated[str, Field(json_schema_extra={"format": "text"})]
"""Something to be read; it may look like a path and is none."""


_PIECE = 1024 * 1024


def digest_of(content: bytes) -> str:
    """What tells one content of a file from another."""
    return hashlib.sha256(content).hexdigest()


def digest_of_open(fd: int, most: int) -> str | None:
    """The same of an open file, piece by piece; None if it has more than so many bytes."""
    digest, at = hashlib.sha256(), 0
    while piece := os.pread(fd, _PIECE, at):
        at += len(piece)
        if at > most:
            return None
        digest.update(piece)
    return digest.hexdigest()


def moment(seconds: float) -> str:
    """A time of change, for people and programs; a file can have one that no calendar has."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return "unknown"


def what_was_seen(_arguments: dict[str, Any], output: dict[str, Any]) -> dict[str, str]:
    """The file that a call read or wrote, so that another content at the next reading is told as stale."""
    return {output["path"]: output["digest"]} if output["digest"] is not None else {}
