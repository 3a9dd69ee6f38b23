"""Steps: where a sandbox stops and asks, and what it can be answered. Knows no sandbox by name."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple


class Called(NamedTuple):
    """The program calls a function that is not its own."""

    id: int
    """The sandbox's number of this call, by which it is settled later."""
    name: str
    positional: tuple[Any, ...]
    named: dict[str, Any]
    awaited: bool
    """Whether the program goes on only with the answer."""


class Named(NamedTuple):
    """The program reads a name it has not defined."""

    name: str


class System(NamedTuple):
    """The program asks something of the machine: the time, a file, its environment, an import."""

    function: str
    positional: tuple[Any, ...]


class Blocked(NamedTuple):
    """Everything in the program waits for calls that were promised an answer."""

    ids: tuple[int, ...]


class Ended(NamedTuple):
    """The program came to its end."""

    value: Any


Step = Called | Named | System | Blocked | Ended


class Value(NamedTuple):
    """An answer: what the call returned."""

    value: Any


class Error(NamedTuple):
    """An answer: what the call raises inside the program. Only built-in exceptions travel."""

    kind: str
    message: str


Answer = Value | Error


class SandboxError(Exception):
    """The program cannot go on: it raised, reached a limit, or was never one. The message is for whoever wrote it."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Gone(Exception):
    """The interpreter ended, and not by a limit of the program: begun again, it comes to where it was."""

    def __init__(self) -> None:
        super().__init__("its interpreter ended, or was stopped; the program can go on from its journal")


class Pace(Enum):
    """How a sandbox takes its steps."""

    NEW = "new"
    """On a thread, until many were short."""
    QUICK = "quick"
    """In place; none may be long."""
    SLOW = "slow"
    """On a thread, each for as long as it takes."""


class Elsewhere(Exception):
    """The program has to begin again in a sandbox of another pace; what it was answered here is in its journal."""

    def __init__(self, pace: Pace) -> None:
        super().__init__()
        self.pace = pace


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What a sandbox is begun with."""

    source: str
    inputs: dict[str, Any]
    stubs: str
    seed: str
    seconds: float
    memory_bytes: int
    recursion: int
    calls: int
    plain: bool
    """Whether calls are made without `await`: their answers are values at once."""
    functions: frozenset[str]
    """What it may call."""
    output_bytes: int
    """What its value may take."""
    unawaited: str | None = None
    """The same text with its calls made without `await`, where it awaits each at once."""
