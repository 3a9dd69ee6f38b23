"""Moments: what a host tells its hook, in our words, and what the hook answers, in the host's. Knows no gate."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from callgate.runtime.host_arguments import Misread


class Kind(enum.Enum):
    """What happens at the host."""

    PROMPT = enum.auto()
    """The user said something."""
    BEFORE = enum.auto()
    """A tool is about to run."""
    AFTER = enum.auto()
    """A tool has run, or failed."""
    ELSE = enum.auto()
    """Something that is none of the gate's business."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One event at a host."""

    kind: Kind
    session: str = ""
    """The host's own name of the conversation."""
    use: str = ""
    """The host's id of the tool use; empty where it gives none."""
    tool: str = ""
    """The gate's name of the tool; a name with a colon in it is nobody's, and refused."""
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    folder: str | None = None
    """Where the host works right now; relative paths are meant there."""
    root: str | None = None
    """The folder that the conversation is about."""
    prompt: str = ""
    ok: bool = True
    output: Any = None
    error: str | None = None
    told: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """All that the host said, for the words in which it is answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the hook process says and how it ends."""

    out: Mapping[str, Any] | None = None
    """The one JSON document on stdout; None is silence."""
    err: str = ""
    code: int = 0


EVENT = "hook_event_name"
"""Where the name of the event stands."""


class Host(Protocol):
    """How one host speaks."""

    name: str
    """Also the principal that its calls are made by."""
    seconds: float
    """How long the host waits for its hook, where nobody says."""
    quiet: Reply
    """What is said where there is nothing to say."""
    kinds: Mapping[str, Kind]
    """What its events are, by their names; an event that is not here is `Kind.ELSE`."""

    def read(self, told: Mapping[str, Any], environment: Mapping[str, str]) -> Moment:
        """What happens there.

        Raises:
            Misread: It cannot be understood.
        """
        ...

    def takes_edits(self, moment: Moment) -> bool:
        """Whether it can be told to run something else than it asked about."""
        ...

    def allow(self, moment: Moment, edited: Mapping[str, Any] | None) -> Reply:
        """The tool may run; with `edited`, with these arguments of the gate's tool instead."""
        ...

    def deny(self, told: Mapping[str, Any], reason: str) -> Reply:
        """The tool may not run. `told` is what could be read, perhaps nothing."""
        ...

    def note(self, message: str) -> Reply:
        """Something to tell the user, after which everything goes its way."""
        ...


def text(told: Mapping[str, Any], name: str, *, needed: bool = True) -> str:
    """A text of what was told.

    Raises:
        Misread: It is needed and missing, or no text.
    """
    found = told.get(name)
    if isinstance(found, str) and (found or not needed):
        return found
    if found is None and not needed:
        return ""
    raise Misread(f"the host did not say its {name}" if found is None or found == "" else f"{name} is no text")


def mapping(told: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A mapping of what was told.

    Raises:
        Misread: It is missing, or something else.
    """
    found = told.get(name)
    if not isinstance(found, dict):
        raise Misread(f"the host did not say {name}, or not as a mapping")
    return {str(key): value for key, value in found.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
