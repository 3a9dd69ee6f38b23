"""Pins: the definitions somebody trusted, and the judgement of what comes after them. Pure, and JSON-able.

Knows nothing of where pins are kept (the runtime puts them into the store) nor of how a quarantine is lifted.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from callgate.errors import StoreError
from callgate.model.canonical import NotCanonical, dumps, loads
from callgate.model.levels import FOREIGN, Origin
from callgate.model.tool import Tool, source_title
from callgate.registry.shards import Shards
from callgate.registry.trust import Declaration, compare_declarations, declaration, is_declaration

_VERSION = 1
_EVERY = "*"


class Pin(NamedTuple):
    """One trusted definition."""

    name: str
    hash: str
    declaration: Declaration
    """What it declared, to say later what became looser and to show the difference."""


class Pins:
    """Trusted definitions by name, the sources that were trusted as a whole, and what is held by hand. Immutable."""

    __slots__ = ("held", "sources", "tools")

    def __init__(
        self,
        tools: Shards[Pin] | None = None,
        *,
        sources: frozenset[str] = frozenset(),
        held: Mapping[str, str] | None = None,
    ) -> None:
        self.tools: Shards[Pin] = tools or Shards()
        """By name."""
        self.sources = sources
        """`mcp github`: a further tool of one of these is not trusted by itself; `*` is whatever source."""
        self.held: Mapping[str, str] = MappingProxyType(dict(held or {}))
        """Tools that somebody holds by hand, each with the reason."""

    def get(self, name: str) -> Pin | None:
        """The trusted definition of that name, or None."""
        return self.tools.get(name)

    def with_tools(self, tools: Iterable[Tool]) -> Pins:
        """Pins that remember these definitions, as their sources gave them, as trusted in place of earlier ones."""
        draft = self.tools.edit()
        for tool in tools:
            given = tool.as_given
            draft.put(given.name, Pin(given.name, given.definition_hash, declaration(given)))
        return Pins(draft.done(), sources=self.sources, held=self.held)

    def with_source(self, source: Origin, source_name: str) -> Pins:
        """Pins for which all tools of that source have been looked at."""
        name = source_title(source, source_name)
        return self if name in self.sources else Pins(self.tools, sources=self.sources | {name}, held=self.held)

    def with_held(self, reasons: Mapping[str, str | None]) -> Pins:
        """Pins by which these tools are held whatever they are, each with its reason; None lets one go."""
        held = {name: reason for name, reason in {**self.held, **reasons}.items() if reason is not None}
        return Pins(self.tools, sources=self.sources, held=held)

    def without(self, *names: str) -> Pins:
        """Pins that have forgotten these tools."""
        draft = self.tools.edit()
        for name in names:
            draft.drop(name)
        return Pins(draft.done(), sources=self.sources, held=self.held)

    def to_json(self) -> str:
        """For the store; the same text for the same pins."""
        tools = {pin.name: {"hash": pin.hash, "declaration": dict(pin.declaration)} for pin in self}
        body = {"version": _VERSION, "tools": tools, "sources": sorted(self.sources), "held": dict(self.held)}
        return dumps(body).decode()

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
                "the trusted definitions of tools cannot be read; restore the store from a backup"
            ) from error

    def __iter__(self) -> Iterator[Pin]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)


def lost_pins() -> Pins:
    """Where pins should be and are not: nothing foreign is trusted by being seen first."""
    return Pins(sources=frozenset({_EVERY}))


def merge_pins(mine: Pins, theirs: Pins, *, since: Pins, firmly: Container[str] = ()) -> Pins:
    """Their pins with what changed in mine since `since`.

    A tool that both sides pinned meanwhile stays as they have it: it was seen here, and looked at by nobody. Only those
    in `firmly`, which somebody trusted here, stand before theirs.
    """
    changed = {
        name: pin for name, pin, before in _changed(mine, since) if name in firmly or _same(theirs.get(name), before)
    }
    if not changed and mine.sources <= theirs.sources and mine.held == since.held:
        return theirs
    draft = theirs.tools.edit()
    for name, pin in changed.items():
        if pin is None:
            draft.drop(name)
        else:
            draft.put(name, pin)
    held = _merged_held(mine.held, theirs.held, since=since.held)
    return Pins(draft.done(), sources=mine.sources | theirs.sources, held=held)


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


def _judge(pins: Pins, coming: Tool) -> str | None:
    tool = coming.as_given
    pin = pins.get(tool.name)
    if pin is None:
        if is_foreign(tool) and _EVERY in pins.sources:
            return "what was trusted before is gone from the store, so that it counts as new"
        if is_foreign(tool) and tool.source_title in pins.sources:
            return f"it is new: {tool.source_title} did not have it when its tools were trusted"
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


def _changed(mine: Pins, since: Pins) -> Iterator[tuple[str, Pin | None, Pin | None]]:
    """Each tool whose pin is another one now: its name, the pin now, and the one before."""
    for name in {pin.name for pins in (mine, since) for pin in pins}:
        now, before = mine.get(name), since.get(name)
        if not _same(now, before):
            yield name, now, before


def _same(one: Pin | None, other: Pin | None) -> bool:
    return one is other or (one is not None and other is not None and one.hash == other.hash)


def _merged_held(mine: Mapping[str, str], theirs: Mapping[str, str], *, since: Mapping[str, str]) -> dict[str, str]:
    """Holding and letting go are always somebody's doing, so that what changed here stands."""
    merged = dict(theirs)
    for name in {*mine, *since}:
        if mine.get(name) == since.get(name):
            continue
        if name in mine:
            merged[name] = mine[name]
        else:
            merged.pop(name, None)
    return merged


def _read(body: Any) -> Pins:
    if body["version"] != _VERSION or not isinstance(body["sources"], list):
        raise ValueError(body["version"])
    draft: Any = Shards[Pin]().edit()
    for name, entry in body["tools"].items():
        if not isinstance(entry["hash"], str) or not is_declaration(entry["declaration"]):
            raise TypeError(name)
        draft.put(name, Pin(name, entry["hash"], entry["declaration"]))
    held = {str(name): _text(reason) for name, reason in body["held"].items()}
    return Pins(draft.done(), sources=frozenset(map(str, cast("list[Any]", body["sources"]))), held=held)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value
