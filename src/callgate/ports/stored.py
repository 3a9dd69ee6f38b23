"""Values a store hands out beside those of the model: ends of streams, readings, documents, a call's past."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from callgate.model.attempt import Attempt


class Head(NamedTuple):
    """The end of a stream."""

    sequence: int
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """All heads at one moment, signed."""

    id: str
    time: float
    stream: str
    """Who made it."""
    heads: dict[str, Head]
    key_id: str
    signature: bytes


@dataclass(frozen=True, slots=True)
class Reading:
    """What was last read from a source, for staleness."""

    digest: str
    at: float


class Document(NamedTuple):
    """Something that a tool keeps."""

    key: str
    body: dict[str, Any]


class Count(NamedTuple):
    """How many entries of a projection are alike, in one stretch of time."""

    stretch: int
    """The time it begins at, divided by its length."""
    status: str | None
    tool: str | None
    entries: int
    measured: int
    """How many of them say how long they took."""
    duration_ms: float
    """How long these took together."""


class Past(NamedTuple):
    """What the ledger knows of a call before it is claimed."""

    attempt: Attempt | None = None
    """The row of its key."""
    unresolved: Attempt | None = None
    """An equal call of the session whose outcome is unknown, or was and is being tried again."""
    repeated: bool = False
    """Whether an equal call of the session succeeded lately."""
