"""YamlRegistry: a YAML file that lists tools, as a source. Knows what an entry says, and nothing of who may call it."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from callgate.adapters.registry_files.claims import read_claims, said_elsewhere
from callgate.adapters.registry_files.entries import Entry, Ground, make_entry_tool
from callgate.adapters.registry_files.handlers import Found, find_handler
from callgate.adapters.registry_files.parameters import input_schema
from callgate.adapters.told import told
from callgate.errors import ConfigurationError
from callgate.model.levels import Origin
from callgate.model.naming import is_name_part, snake_case
from callgate.model.source import Failure, Loaded
from callgate.model.tool import Tool
from callgate.model.visible import brief
from callgate.ports import Desk
from callgate.settings.file_text import read_text

_log = logging.getLogger("callgate")


class YamlRegistry:
    """The tools of a YAML file, to be attached to a gate: `await gate.attach(YamlRegistry("tools.yaml"))`.

    `tools:` is a mapping of names or a list of entries with `name`. An entry has `description`, `category`,
    `parameters`, `side_effects`, `destructive`, `permission`, `allowed_callers`, `timeout` and where its handler is. A
    handler that cannot be imported leaves its tool there and unavailable; a file that does not exist has no tools.

    Args:
        path: The file.
        name: What the source is called; by default the file's name.
        prefix: The first half of every tool's name.
        accept: The file is yours, and what it declares counts. Otherwise only what tightens does, and a tool is refused
            until `declarations` says what it does.
        declarations: By a tool's name in the file, or `*` for all: fields as `@tool` takes them, before the file's.
        handlers: Functions by name, before those the file names.

    Raises:
        ConfigurationError: The name or the prefix is none.
    """

    origin = Origin.YAML

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        name: str | None = None,
        prefix: str = "",
        accept: bool = False,
        declarations: Mapping[str, Mapping[str, Any]] | None = None,
        handlers: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:
        self.path = Path(path)
        self.files = (self.path,)
        """Out of reach of every tool: who writes them says what tools there are."""
        self.name = name or snake_case(self.path.stem)
        for key, word in (("name", self.name), ("prefix", prefix or "none")):
            if not is_name_part(word):
                raise ConfigurationError(f"{brief(word)!r} is no name for a source: write snake_case", key=key)
        self._ground = Ground(
            origin=self.origin, source=self.name, prefix=prefix, accept=accept, declarations=declarations or {}
        )
        self._handlers = dict(handlers or {})

    async def load(self, desk: Desk) -> Loaded:  # noqa: ARG002 - a file needs nothing of the gate
        """Every tool of the file, and what of it cannot be one.

        Raises:
            ConfigurationError: The file cannot be read, or is no registry.
        """
        # Reading and importing may take long, and the loop has calls to run.
        return await asyncio.to_thread(self.read)

    async def close(self) -> None:
        """There is nothing to let go."""

    def read(self) -> Loaded:
        """As `load`, for code that cannot await.

        Raises:
            ConfigurationError: The file cannot be read, or is no registry.
        """
        text = read_text(str(self.path), required=False)
        if text is None:
            _log.warning("%s: does not exist; no tools were loaded", self.path)
            return Loaded(failures=(Failure(self.path.name, "the file does not exist; no tools were loaded"),))
        tools: list[Tool] = []
        failures: list[Failure] = []
        body = self._body(text)
        listed = list(self._listed(body))
        for name, entry in listed:
            try:
                tools.append(make_entry_tool(self._entry(name, entry), self._ground))
            except Exception as error:  # noqa: BLE001 - one entry harms no other
                failures.append(Failure(brief(name), told(error)))
        idle = self._ground.idle(name for name, _ in listed)
        return Loaded(tuple(tools), (*failures, *idle, *said_elsewhere(body.get("permissions"))))

    def _body(self, text: str) -> Mapping[Any, Any]:
        # Loaded with the first file, not with Callgate.
        from callgate.adapters.registry_files.yaml_text import read_yaml  # noqa: PLC0415

        body: Any = read_yaml(text, file=str(self.path))
        return cast("Mapping[Any, Any]", body) if isinstance(body, Mapping) else {}

    def _listed(self, body: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
        listed: Any = body.get("tools", self)
        if isinstance(listed, Mapping):
            yield from ((str(name), entry) for name, entry in cast("Mapping[Any, Any]", listed).items())
        elif isinstance(listed, list):
            for at, entry in enumerate(cast("list[Any]", listed)):
                named: Any = cast("Mapping[str, Any]", entry).get("name") if isinstance(entry, Mapping) else None
                yield (named if isinstance(named, str) else f"tools[{at}]"), entry
        elif listed is not None:
            message = "is no registry of tools: it needs tools:, as a mapping or a list"
            raise ConfigurationError(message, file=str(self.path))

    def _entry(self, name: str, body: Any) -> Entry:
        if not isinstance(body, Mapping):
            raise ConfigurationError("must be fields such as description, parameters and handler")
        entry = cast("Mapping[str, Any]", body)
        given = self._handlers.get(name)
        return Entry(
            name=name,
            description=str(entry.get("description") or ""),
            schema=input_schema(entry.get("parameters")),
            claims=read_claims(brief(name), entry),
            handler=find_handler(entry) if given is None else Found(given),
        )
