"""WithArtifact: what a handler returns when there is more than its asker should read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

ARTIFACT = "artifact"
"""Where an outcome's metadata has it."""


@dataclass(frozen=True, slots=True)
class WithArtifact:
    """The output of a call, and something beside it for the program that made the call: a table, an image."""

    content: Any
    """The output: what a model reads."""
    artifact: Any
    """Kept with the outcome, under `metadata["artifact"]`; never part of what a model reads."""
