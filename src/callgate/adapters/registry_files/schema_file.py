"""SchemaFile: a JSON file with the schemas of tools, whose handlers the caller gives. Read once, and kept."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from callgate.adapters.registry_files.entries import Entry, Ground, make_entry_tool
from callgate.adapters.registry_files.handlers import Found
from callgate.errors import CallgateError, ConfigurationError
from callgate.model.canonical import NotCanonical, loads
from callgate.model.levels import Origin
from callgate.model.naming import is_name_part, snake_case
from callgate.model.source import Failure, Loaded
from callgate.model.tool import Tool
from callgate.model.visible import brief
from callgate.ports import Desk
from callgate.settings.file_text import read_text


@dataclass(frozen=True, slots=True)
class _Definition:
    """One schema of the file."""

    name: str
    description: str
    parameters: dict[str, Any]
    category: str | None
    agent_scope: frozenset[str]


class SchemaFile:
    """The tools of a JSON file of schemas, to be attached to a gate.

    The file is a list, or an object with `tools`, of `{"type": "function", "function": {"name", "description",
    "parameters"}, "agent_scope": […], "category": …}`. What a tool does is declared over its handler
    (`@tool(effects=…)`) or in `declarations`; one without a handler is there, and unavailable.

    Args:
        paths: The file, and others that are looked for where it does not exist.
        handlers: Functions by the name of their tool.
        scope: Only tools whose `agent_scope` has this word; all of them when left out.
        name: What the source is called; by default the first file's name.
        declarations: By a tool's name, or `*` for all: fields as `@tool` takes them.

    Raises:
        ConfigurationError: No file is named, or the name is none.
    """

    origin = Origin.FUNCTION

    def __init__(
        self,
        *paths: str | os.PathLike[str],
        handlers: Mapping[str, Callable[..., Any]] | None = None,
        scope: str | None = None,
        name: str | None = None,
        declarations: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        if not paths:
            raise ConfigurationError("name the file of schemas")
        self.files = tuple(Path(path) for path in paths)
        """Out of reach of every tool: who writes them says what tools there are."""
        self.name = name or snake_case(self.files[0].stem)
        if not is_name_part(self.name):
            raise ConfigurationError(f"{brief(self.name)!r} is no name for a source: write snake_case", key="name")
        self._scope = scope
        self._handlers = dict(handlers or {})
        self._ground = Ground(origin=self.origin, source=self.name, accept=True, declarations=declarations or {})
        self._kept: tuple[_Definition, ...] | None = None
        self._loaded = False

    def schemas(self, scope: str | None = None) -> list[dict[str, Any]]:
        """The definitions for a model, in the form of the file and without what only we read.

        Args:
            scope: As for the source; the source's own when left out.

        Raises:
            ConfigurationError: The file is missing or malformed.
        """
        return [
            {
                "type": "function",
                "function": {"name": each.name, "description": each.description, "parameters": each.parameters},
            }
            for each in self._chosen(scope or self._scope)
        ]

    async def load(self, desk: Desk) -> Loaded:  # noqa: ARG002 - a file needs nothing of the gate
        """Every tool of the scope, and what of it cannot be one.

        Raises:
            ConfigurationError: The file is missing or malformed.
        """
        if self._loaded:
            # Somebody asked for what the file says now.
            self._kept = None
        loaded = await asyncio.to_thread(self._load)
        self._loaded = True
        return loaded

    async def close(self) -> None:
        """There is nothing to let go."""

    def _load(self) -> Loaded:
        tools: list[Tool] = []
        failures: list[Failure] = []
        for definition in self._chosen(self._scope):
            try:
                tools.append(make_entry_tool(self._entry(definition), self._ground))
            except CallgateError as error:
                failures.append(Failure(brief(definition.name), str(error)))
        known = {each.name for each in self._chosen(None)}
        failures += [
            Failure(brief(name), "it has a handler, and the file has no such tool")
            for name in sorted(self._handlers.keys() - known)
        ]
        return Loaded(tuple(tools), (*failures, *self._ground.idle(known)))

    def _entry(self, definition: _Definition) -> Entry:
        given = self._handlers.get(definition.name)
        scopes = [f"agent_scope:{scope}" for scope in sorted(definition.agent_scope)]
        return Entry(
            name=definition.name,
            description=definition.description,
            schema=definition.parameters,
            claims={"tags": scopes} | ({"category": definition.category} if definition.category else {}),
            handler=Found(None, "no handler was given for it") if given is None else Found(given),
        )

    def _chosen(self, scope: str | None) -> list[_Definition]:
        if self._kept is None:
            self._kept = self._read()
        return [each for each in self._kept if scope is None or scope in each.agent_scope]

    def _read(self) -> tuple[_Definition, ...]:
        for path in self.files:
            text = read_text(str(path), required=False)
            if text is not None:
                return tuple(
                    _definition(item, at, file=str(path)) for at, item in enumerate(_items(text, file=str(path)))
                )
        raise ConfigurationError(
            "does not exist; a model would be told that there are no tools", file=str(self.files[0])
        )


def _items(text: str, *, file: str) -> list[Any]:
    try:
        body: Any = loads(text)
    except (NotCanonical, ValueError, RecursionError):
        raise ConfigurationError("is not JSON", file=file) from None
    listed: Any = cast("Mapping[str, Any]", body).get("tools") if isinstance(body, Mapping) else body
    if not isinstance(listed, list):
        raise ConfigurationError("is no file of schemas: it needs a list of tools", file=file)
    return cast("list[Any]", listed)


def _definition(item: Any, at: int, *, file: str) -> _Definition:
    outer: Mapping[str, Any] = cast("Mapping[str, Any]", item) if isinstance(item, Mapping) else {}
    inner: Any = outer.get("function", outer)
    said: Mapping[str, Any] = cast("Mapping[str, Any]", inner) if isinstance(inner, Mapping) else {}
    name: Any = said.get("name")
    parameters: Any = said.get("parameters", {"type": "object", "properties": {}})
    if not isinstance(name, str) or not isinstance(parameters, dict):
        raise ConfigurationError("needs a function with name and parameters", file=file, key=f"tools[{at}]")
    return _Definition(
        name=name,
        description=str(said.get("description") or ""),
        parameters=cast("dict[str, Any]", parameters),
        category=_text(outer.get("category", said.get("category"))),
        agent_scope=_scopes(
            outer.get("agent_scope", said.get("agent_scope")), file=file, key=f"tools[{at}].agent_scope"
        ),
    )


def _scopes(value: Any, *, file: str, key: str) -> frozenset[str]:
    words: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(word, str) for word in words):
        raise ConfigurationError("must be a word or a list of words", file=file, key=key)
    return frozenset(words)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
