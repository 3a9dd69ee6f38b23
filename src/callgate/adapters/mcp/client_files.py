"""Servers from the `mcp.json` of other clients, as they are: Claude, Cursor, VS Code, Windsurf and their kin.

What those clients allow by themselves (`autoApprove`, `alwaysAllow`) is not read: it is no declaration.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from callgate.adapters.mcp.server import McpServer
from callgate.errors import ConfigurationError
from callgate.model.own_variables import is_own_variable
from callgate.model.source import Failure
from callgate.model.visible import brief

_LARGEST = 1024 * 1024
_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)
_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")
_HTTP = frozenset({"http", "streamable-http", "streamablehttp", "streamable_http"})


class McpServers:
    """The servers of a file, each ready for `gate.attach`, and those that cannot be used here, with the reason."""

    def __init__(self, servers: Mapping[str, McpServer], failures: tuple[Failure, ...] = ()) -> None:
        self._servers = dict(servers)
        self.failures = failures

    @classmethod
    def from_file(
        cls, path: str | Path, *, declare: Mapping[str, Mapping[str, Mapping[str, Any]]] | None = None
    ) -> McpServers:
        """Read the servers of an existing file.

        Args:
            path: An `mcp.json`, or a settings file with `mcpServers`, `servers` or `mcp.servers` in it. Comments and
                trailing commas are read over, `${VAR}` and `${env:VAR}` replaced from the environment.
            declare: What the tools of each server do, by server: `{"git": {"git_status": {"effects": "read_only"}}}`.

        Raises:
            ConfigurationError: The file cannot be read, names no servers, or a declaration is for none of them.
        """
        entries = _entries(_document(Path(path)), file=str(path))
        declared = dict(declare or {})
        unknown = sorted(declared.keys() - entries.keys())
        if unknown:
            _unconfigured(unknown[0], entries)
        folder = Path(path).absolute().parent
        servers: dict[str, McpServer] = {}
        failures: list[Failure] = []
        for name, entry in entries.items():
            try:
                if not entry.get("disabled"):
                    servers[name] = _server(name, entry, declare=declared.get(name, {}), folder=folder)
            except ConfigurationError as error:
                failures.append(Failure(brief(name), str(error)))
        return cls(servers, tuple(failures))

    def get(self, name: str) -> McpServer:
        """One of them.

        Raises:
            ConfigurationError: No server of that name is configured, or why it cannot be used.
        """
        if name not in self._servers:
            for failure in self.failures:
                if failure.name == name:
                    raise ConfigurationError(f"the MCP server {name!r} cannot be used: {failure.reason}")
            _unconfigured(name, self._servers)
        return self._servers[name]

    def __iter__(self) -> Iterator[McpServer]:
        return iter(self._servers.values())

    def __len__(self) -> int:
        return len(self._servers)


def _unconfigured(name: str, known: Mapping[str, Any]) -> None:
    there = ", ".join(known) or "none"
    raise ConfigurationError(f"no MCP server called {brief(name)!r} is configured; configured are: {there}")


def _document(path: Path) -> dict[str, Any]:
    try:
        raw = path.read_bytes()
    except FileNotFoundError as error:
        raise ConfigurationError("does not exist", file=str(path)) from error
    except OSError as error:
        raise ConfigurationError(f"cannot be read ({type(error).__name__})", file=str(path)) from error
    if len(raw) > _LARGEST:
        raise ConfigurationError(f"has more than {_LARGEST} bytes", file=str(path))
    try:
        text = _PIECE.sub(lambda found: found[0] if found[0][0] == '"' else " ", raw.decode("utf-8-sig"))
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise ConfigurationError("is not JSON", file=str(path), line=line) from None
    return _mapping(document, file=str(path))


def _entries(document: dict[str, Any], *, file: str) -> dict[str, dict[str, Any]]:
    nested = document.get("mcp")
    places = [document, cast("dict[str, Any]", nested)] if isinstance(nested, dict) else [document]
    for place in places:
        for key in ("mcpServers", "servers"):
            if key in place:
                servers = _mapping(place[key], file=file)
                return {name: _mapping(entry, file=file) for name, entry in servers.items()}
    raise ConfigurationError("names no MCP servers; there is neither mcpServers nor servers in it", file=file)


def _mapping(value: Any, *, file: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigurationError("is not what a client's file of MCP servers looks like", file=file)
    return cast("dict[str, Any]", value)


def _server(name: str, entry: dict[str, Any], *, declare: Mapping[str, Any], folder: Path) -> McpServer:
    words = _Words(folder)
    kind = str(entry.get("type") or entry.get("transport") or "").lower()
    url = entry.get("url") or entry.get("serverUrl") or entry.get("httpUrl")
    if kind == "sse" or (url and kind and kind not in _HTTP):
        raise ConfigurationError(f"its transport is {kind}; only stdio and streamable HTTP can be used")
    if url:
        return McpServer(name, url=words.text(url), headers=words.texts(entry.get("headers")), declare=declare)
    command = [words.text(entry.get("command")), *words.items(entry.get("args"))]
    cwd = words.text(entry["cwd"]) if entry.get("cwd") else None
    return McpServer(name, command=command, env=words.texts(entry.get("env")), cwd=cwd, declare=declare)


class _Words:
    """Texts of an entry, with what stands in `${…}` put in."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def text(self, value: Any) -> str:
        if not isinstance(value, str) or not value:
            raise ConfigurationError("it has neither a command nor a url that is text")
        return _PLACEHOLDER.sub(self._put_in, value)

    def items(self, value: Any) -> list[str]:
        if value is not None and not isinstance(value, list):
            raise ConfigurationError("its args are no list")
        return [self._any(item) for item in cast("list[Any]", value or [])]

    def texts(self, value: Any) -> dict[str, str]:
        if value is not None and not isinstance(value, dict):
            raise ConfigurationError("its env or headers are no mapping")
        given = cast("dict[str, Any]", value or {})
        return {name: self._any(item) for name, item in given.items() if item is not None}

    def _any(self, value: Any) -> str:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ConfigurationError("a value of its args, env or headers is no text")
        return _PLACEHOLDER.sub(self._put_in, str(value))

    def _put_in(self, found: re.Match[str]) -> str:
        name, colon, default = found[1].removeprefix("env:").partition(":-")
        if found[1] in {"workspaceFolder", "workspaceRoot"}:
            return str(self._folder)
        if found[1] == "userHome":
            return str(Path.home())
        if found[1].startswith("input:"):
            advice = "write secret:connector/key in its place"
            raise ConfigurationError(f"it asks the user for {brief(found[1])!r}, which nobody is asked here; {advice}")
        if is_own_variable(name):
            raise ConfigurationError(f"it asks for {brief(name)!r}, a variable of Callgate's own, which no server gets")
        if name in os.environ or colon:
            return os.environ.get(name) or default
        raise ConfigurationError(f"there is no variable {brief(name)!r} in the environment")
