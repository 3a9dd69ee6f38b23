"""File facts: what tools that read and write files tell of them, and of what they have seen."""

from __future__ import annotations

import hashlib
from typing import Any


def digest_of(content: bytes) -> str:
    """What tells one content of a file from another."""
    return hashlib.sha256(content).hexdigest()


def what_was_seen(_arguments: dict[str, Any], output: dict[str, Any]) -> dict[str, str]:
    """The file that a call read or wrote, so that another content at the next reading is told as stale."""
    return {output["path"]: output["digest"]} if output["digest"] is not None else {}
