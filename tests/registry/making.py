"""Tools and a clock for the registry's tests."""

from collections.abc import Mapping
from typing import Any

from callgate.model.levels import Effect, Origin
from callgate.model.tool import Arguments, Tool
from callgate.registry.health import HealthBoard
from callgate.registry.registry import Registry
from callgate.registry.trust import Change, compare_declarations, declaration

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"to": {"type": "string"}}}


def as_given(arguments: Mapping[str, Any], /) -> Arguments:
    return dict(arguments)


def nothing(_arguments: Arguments, _context: Any) -> None:
    """The handler of a tool that is never run."""


def make(name: str, description: str = "Does something.", **facts: Any) -> Tool:
    body: dict[str, Any] = {
        "input_schema": SCHEMA,
        "handler": nothing,
        "validator": as_given,
        "effects": frozenset({Effect.NETWORK_ACCESS}),
    }
    return Tool(name=name, description=description, **{**body, **facts})


def from_server(name: str, description: str = "Does something.", **facts: Any) -> Tool:
    return make(name, description, **{"source": Origin.MCP, "source_name": "github", **facts})


def compare(old: Tool, new: Tool) -> Change:
    """What changed from one definition to another, as whoever looks at a difference is told."""
    same = old.definition_hash == new.definition_hash
    return Change() if same else compare_declarations(declaration(old), declaration(new))


class Clock:
    """Stands still until it is turned."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.wall = now
        self.ticks = 50.0

    def now(self) -> float:
        return self.wall

    def monotonic(self) -> float:
        return self.ticks

    def turn(self, seconds: float) -> None:
        self.wall += seconds
        self.ticks += seconds


def registry() -> Registry:
    return Registry(HealthBoard(Clock()))
