"""Pins: the definitions somebody trusted, and the judgement of what comes after them. Pure, and JSON-able.

Knows nothing of where pins are kept (the runtime puts them into the store) nor of how a quarantine is lifted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, cast

from callgate.errors import StoreError
from callgate.model.canonical import NotCanonical, dumps, loads
from callgate.model.levels import FOREIGN, Origin
from callgate.model.tool import Tool
from callgate.registry.shards import Shards
from callgate.registry.snapshot import owner
from callgate.registry.trust import Declaration, compare_declarations, declaration, is_declaration

_VERSION = 1


class Pin(NamedTuple):
    """One trusted definition."""

    name: str
    hash: str
    declaration: Declaration
    """What it declared, to say later what became looser and to show the difference."""


class Pins:
    """Trusted definitions by name, and the sources that were trusted as a whole. Immutable."""

    __slots__ = ("_tools", "sources")

    def __init__(self, tools: Shards[Pin] | None = None, *, sources: frozenset[str] = frozenset()) -> None:
        self._tools: Shards[Pin] = tools or Shards()
        self.sources = sources
        """`mcp github`: a further tool of one of these is not trusted by itself."""

    def get(self, name: str) -> Pin | None:
        """The trusted definition of that name, or None."""
        return self._tools.get(name)

    def with_tools(self, tools: Iterable[Tool]) -> Pins:
        """Pins that remember these definitions as trusted, in place of earlier ones."""
        draft = self._tools.edit()
        for tool in tools:
            draft.put(tool.name, Pin(tool.name, tool.definition_hash, declaration(tool)))
        return Pins(draft.done(), sources=self.sources)

    def with_source(self, source: Origin, source_name: str) -> Pins:
        """Pins for which all tools of that source have been looked at."""
        return Pins(self._tools, sources=self.sources | {f"{source.value} {source_name}".rstrip()})

    def without(self, *names: str) -> Pins:
        """Pins that have forgotten these tools."""
        draft = self._tools.edit()
        for name in names:
            draft.drop(name)
        return Pins(draft.done(), sources=self.sources)

    def to_json(self) -> str:
        """For the store; the same text for the same pins."""
        tools = {pin.name: {"hash": pin.hash, "declaration": dict(pin.declaration)} for pin in self}
        return dumps({"version": _VERSION, "tools": tools, "sources": sorted(self.sources)}).decode()

    @classmethod
    def from_json(cls, text: str | None) -> Pins:
        """Read what `to_json` wrote; None is no pins.

        Raises:
            StoreError: It is something else. Pins that cannot be read must not count as none.
        """
        if text is None:
            return cls()
        try:
            return _read(loads(text))
        except (NotCanonical, KeyError, TypeError, ValueError, AttributeError) as error:
            raise StoreError(
                "the trusted definitions of tools cannot be read; restore the store or trust anew"
            ) from error

    def __iter__(self) -> Iterator[Pin]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)


def judge_pins(pins: Pins, tools: Iterable[Tool]) -> dict[str, str]:
    """Which of these tools must wait until somebody looks, each with the reason.

    That is: a foreign tool that is not what was trusted, a tool of any source that became looser than what was
    trusted, and a tool that a source trusted as a whole did not have.
    """
    found: dict[str, str] = {}
    for tool in tools:
        reason = _judge(pins, tool)
        if reason is not None:
            found[tool.name] = reason
    return found


def is_foreign(tool: Tool) -> bool:
    """Whether a tool's own claims may tighten and never loosen."""
    return tool.source in FOREIGN


def _judge(pins: Pins, tool: Tool) -> str | None:
    pin = pins.get(tool.name)
    if pin is None:
        if is_foreign(tool) and owner(tool) in pins.sources:
            return f"it is new: {owner(tool)} did not have it when its tools were trusted"
        return None
    if pin.hash == tool.definition_hash:
        return None
    change = compare_declarations(pin.declaration, declaration(tool))
    if is_foreign(tool):
        return f"it changed since it was trusted ({change})"
    if change.loosened and not _was_refused(pin):
        return f"it became looser since it was trusted ({change})"
    return None


def _was_refused(pin: Pin) -> bool:
    """A tool of our own that declared nothing was never callable: declaring it now is what its refusal asked for."""
    return pin.declaration["declared"] is False and pin.declaration["source"][0] not in FOREIGN


def _read(body: Any) -> Pins:
    if body["version"] != _VERSION or not isinstance(body["sources"], list):
        raise ValueError(body["version"])
    draft: Any = Shards[Pin]().edit()
    for name, entry in body["tools"].items():
        if not isinstance(entry["hash"], str) or not is_declaration(entry["declaration"]):
            raise TypeError(name)
        draft.put(name, Pin(name, entry["hash"], entry["declaration"]))
    return Pins(draft.done(), sources=frozenset(map(str, cast("list[Any]", body["sources"]))))
