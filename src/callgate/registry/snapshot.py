"""Snapshot: all tools at one moment, by name and in the order they came; immutable, so that calls keep theirs.

Adding gives another snapshot that shares almost everything with this one. Knows nothing of trust, health or policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypedDict, Unpack

from callgate.errors import ConfigurationError, ToolNotFoundError
from callgate.model.levels import Category, Origin
from callgate.model.outcome import ErrorInfo
from callgate.model.tool import Tool
from callgate.model.visible import brief
from callgate.registry.names import check_tool, fold
from callgate.registry.near import suggestion
from callgate.registry.search import Index
from callgate.registry.shards import MASK, Shards


class Filters(TypedDict, total=False):
    """What a listing may be narrowed by; all that are given must hold."""

    source: Origin | None
    tags: Iterable[str] | None
    """Every one of them."""
    category: str | None
    capability: str | None
    connector: str | None
    read_only: bool | None
    deterministic: bool | None
    idempotent: bool | None


class Held(NamedTuple):
    """What a snapshot is made of."""

    names: Shards[Tool]
    ids: Shards[tuple[int, Tool]]
    """With each tool's place in the order of registration."""
    folds: Shards[Tool]
    """By the form of a name that must not be there twice."""
    following: int
    """The next place."""


_NOTHING = Held(Shards(), Shards(), Shards(), 0)


class Snapshot:
    """An immutable set of tools. `Snapshot()` is empty; make others with `with_tools` and `without`."""

    __slots__ = ("_held", "_index", "_listed", "_parts")

    def __init__(self, held: Held = _NOTHING) -> None:
        self._held = held
        self._parts = held.names.parts
        self._listed: tuple[Tool, ...] | None = None
        self._index: Index | None = None

    def find(self, name: str) -> Tool | None:
        """The tool of that name, or None."""
        # On the way of every call, hence not through Shards.get.
        return self._parts[hash(name) & MASK].get(name)

    def get(self, name: str) -> Tool:
        """The tool of that name.

        Raises:
            ToolNotFoundError: `Unknown tool: <name>`; its `info.suggestion` has near matches among all tools, so it is
                for the developer, and for a model only where every tool may be known to it.
        """
        tool = self.find(name)
        if tool is None:
            raise not_found(name, (item.name for item in self))
        return tool

    def list_tools(self, **filters: Unpack[Filters]) -> tuple[Tool, ...]:
        """The tools that pass every filter given (source, tags, category, capability, connector), as they came."""
        tests = _tests(filters)
        return tuple(tool for tool in self if all(test(tool) for test in tests))

    def search(self, query: str, *, limit: int = 10, admits: Callable[[Tool], bool] | None = None) -> tuple[Tool, ...]:
        """The tools that fit some words best, best first; only those that `admits` lets through."""
        if self._index is None:
            self._index = Index(tuple(self))
        return self._index.search(query, limit=limit, admits=admits)

    def with_tools(self, tools: Iterable[Tool], *, update: bool = False) -> Snapshot:
        """A snapshot that also has these tools: all of them, or an error and none.

        With `update` each may take the place of its former self.

        Raises:
            ConfigurationError: Of the first that cannot be added: its name is taken, too close to another, or not a
                name; its id is taken; or something in its declaration hides.
        """
        draft = _Draft(self._held)
        for tool in tools:
            draft.put(tool, update=update)
        return Snapshot(draft.done())

    def without(self, *names: str) -> Snapshot:
        """A snapshot that lacks these tools.

        Raises:
            ToolNotFoundError: One of them is not there.
        """
        draft = _Draft(self._held)
        for name in names:
            draft.drop(self.get(name))
        return Snapshot(draft.done())

    def __iter__(self) -> Iterator[Tool]:
        if self._listed is None:
            self._listed = tuple(tool for _, tool in sorted(self._held.ids, key=lambda entry: entry[0]))
        return iter(self._listed)

    def __len__(self) -> int:
        return len(self._held.names)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None


class _Draft:
    """A changed snapshot in the making."""

    def __init__(self, held: Held) -> None:
        self._names = held.names.edit()
        self._ids = held.ids.edit()
        self._folds = held.folds.edit()
        self._following = held.following
        self._put: set[str] = set()

    def put(self, tool: Tool, *, update: bool) -> None:
        check_tool(tool)
        if tool.name in self._put:
            raise ConfigurationError(
                f"tool {tool.name!r} is given twice by {tool.source_title}; already registered once"
            )
        form = fold(tool.name)
        self._refuse_clash(tool, self._folds.get(form), update=update)
        place = self._following
        former = self._names.get(tool.name)
        if former is not None:
            place, _ = self._ids.get(former.id) or (place, former)
            self.drop(former)
        self._refuse_id(tool)
        self._names.put(tool.name, tool)
        self._ids.put(tool.id, (place, tool))
        self._folds.put(form, tool)
        self._following += 1
        self._put.add(tool.name)

    def drop(self, tool: Tool) -> None:
        self._names.drop(tool.name)
        self._ids.drop(tool.id)
        self._folds.drop(fold(tool.name))

    def done(self) -> Held:
        return Held(self._names.done(), self._ids.done(), self._folds.done(), self._following)

    def _refuse_clash(self, tool: Tool, held: Tool | None, *, update: bool) -> None:
        if held is None:
            return
        if held.name != tool.name:
            raise ConfigurationError(
                f"tool name {tool.name!r} is too close to {held.name!r}, which {held.source_title} has already "
                "registered: a provider or a reader could not tell them apart"
            )
        if held.source_title != tool.source_title:
            raise ConfigurationError(
                f"tool {tool.name!r} is already registered by {held.source_title}; {tool.source_title} cannot take "
                "its place, give it another name or prefix"
            )
        if not update:
            raise ConfigurationError(
                f"tool {tool.name!r} is already registered by {held.source_title}; pass update=True to replace it"
            )

    def _refuse_id(self, tool: Tool) -> None:
        entry = self._ids.get(tool.id)
        if entry is not None:
            raise ConfigurationError(f"the id of tool {tool.name!r} is already registered for {entry[1].name!r}")


def not_found(name: str, names: Iterable[str]) -> ToolNotFoundError:
    """The error for an absent name, with the nearest of `names` as its suggestion."""
    message = f"Unknown tool: {brief(name)}"
    info = ErrorInfo(
        code=ToolNotFoundError.code,
        message=message,
        category=Category.CONFIGURATION,
        tool=brief(name),
        suggestion=suggestion(name, names),
    )
    return ToolNotFoundError(message, info=info)


_FLAGS = ("read_only", "deterministic", "idempotent")


def _tests(filters: Filters) -> list[Callable[[Tool], bool]]:
    tests: list[Callable[[Tool], bool]] = []
    if (source := filters.get("source")) is not None:
        tests.append(lambda tool: tool.source == source)
    if (tags := filters.get("tags")) is not None:
        wanted = {tags} if isinstance(tags, str) else set(tags)
        tests.append(lambda tool: wanted.issubset(tool.tags))
    if (category := filters.get("category")) is not None:
        tests.append(lambda tool: tool.category == category)
    if (capability := filters.get("capability")) is not None:
        tests.append(lambda tool: capability in tool.capabilities)
    if (connector := filters.get("connector")) is not None:
        tests.append(lambda tool: (tool.connector or tool.name) == connector)
    flags = {flag: said for flag in _FLAGS if (said := filters.get(flag)) is not None}
    if flags:
        tests.append(lambda tool: all(getattr(tool, flag) is is_so for flag, is_so in flags.items()))
    return tests
