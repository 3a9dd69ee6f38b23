"""Where the hosts of this machine keep what they are configured by. Looks, and reads; writes nothing."""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from callgate.errors import ConfigurationError

CLAUDE_CODE, CURSOR, VSCODE, CLAUDE_DESKTOP = "claude-code", "cursor", "vscode", "claude-desktop"
CODEX, COPILOT = "codex", "copilot"
HOSTS = (CLAUDE_CODE, CURSOR, VSCODE, CLAUDE_DESKTOP, CODEX, COPILOT)
_LARGEST = 16 * 1024 * 1024
_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)


@dataclass(frozen=True, slots=True)
class HostFile:
    """One file of a host."""

    host: str
    kind: str
    """`mcp`: the MCP servers it reaches; `hooks`: what it runs around its own tools."""
    path: Path
    key: str = ""
    """Under which key the servers are."""
    of_user: bool = False
    """Whether it counts for everything this user does, and not for one project."""


def host_files(folder: Path, *, home: Path | None = None, platform: str = sys.platform) -> tuple[HostFile, ...]:
    """Every file that could configure a host here, whether it is there or not; the project's before the user's."""
    base = Path.home() if home is None else home
    settings = _application_data(base, platform)
    return (
        HostFile(CLAUDE_CODE, "mcp", folder / ".mcp.json", "mcpServers"),
        HostFile(CLAUDE_CODE, "mcp", base / ".claude.json", "mcpServers", of_user=True),
        HostFile(CLAUDE_CODE, "hooks", folder / ".claude" / "settings.local.json"),
        HostFile(CLAUDE_CODE, "hooks", folder / ".claude" / "settings.json"),
        HostFile(CLAUDE_CODE, "hooks", base / ".claude" / "settings.json", of_user=True),
        HostFile(CURSOR, "mcp", folder / ".cursor" / "mcp.json", "mcpServers"),
        HostFile(CURSOR, "mcp", base / ".cursor" / "mcp.json", "mcpServers", of_user=True),
        HostFile(CURSOR, "hooks", folder / ".cursor" / "hooks.json"),
        HostFile(CURSOR, "hooks", base / ".cursor" / "hooks.json", of_user=True),
        HostFile(VSCODE, "mcp", folder / ".vscode" / "mcp.json", "servers"),
        HostFile(VSCODE, "mcp", settings / "Code" / "User" / "mcp.json", "servers", of_user=True),
        HostFile(CLAUDE_DESKTOP, "mcp", settings / "Claude" / "claude_desktop_config.json", "mcpServers", of_user=True),
        HostFile(CODEX, "mcp", folder / ".codex" / "config.toml", "mcp_servers"),
        HostFile(CODEX, "mcp", base / ".codex" / "config.toml", "mcp_servers", of_user=True),
        HostFile(CODEX, "hooks", folder / ".codex" / "hooks.json"),
        HostFile(CODEX, "hooks", base / ".codex" / "hooks.json", of_user=True),
        HostFile(COPILOT, "mcp", base / ".copilot" / "mcp-config.json", "mcpServers", of_user=True),
        HostFile(COPILOT, "hooks", folder / ".github" / "hooks" / "callgate.json"),
    )


def _application_data(home: Path, platform: str) -> Path:
    if platform == "darwin":
        return home / "Library" / "Application Support"
    return Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")


def read_raw(path: Path) -> bytes | None:
    """What is in a file; None if it is not there.

    Raises:
        ConfigurationError: It cannot be read.
    """
    try:
        raw = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigurationError(f"cannot be read ({type(error).__name__})", file=str(path)) from error
    if len(raw) > _LARGEST:
        raise ConfigurationError(f"has more than {_LARGEST} bytes", file=str(path))
    return raw


def parse(raw: bytes, path: Path) -> dict[str, Any]:
    """The document; comments and trailing commas are read over.

    Raises:
        ConfigurationError: It is no JSON object, or no TOML where its name says so.
    """
    if is_toml(path):
        try:
            return tomllib.loads(raw.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            raise ConfigurationError("is not TOML", file=str(path)) from None
    try:
        text = raw.decode("utf-8-sig")
        found: Any = json.loads(_PIECE.sub(_kept, text)) if text.strip() else {}
    except (ValueError, RecursionError):
        raise ConfigurationError("is not JSON", file=str(path)) from None
    if not isinstance(found, dict):
        raise ConfigurationError("is no JSON object", file=str(path))
    return cast("dict[str, Any]", found)


def is_toml(path: Path) -> bool:
    """Whether it is written as TOML."""
    return path.suffix == ".toml"


def is_plain(raw: bytes) -> bool:
    """Whether nothing is lost when the document is written anew: it has no comments."""
    try:
        text = raw.decode("utf-8-sig")
        return not text.strip() or isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _kept(found: re.Match[str]) -> str:
    return found[0] if found[0][0] == '"' else " "


def servers_of(document: Mapping[str, Any], file: HostFile, *, folder: Path | None = None) -> dict[str, dict[str, Any]]:
    """The MCP servers that a document names, by name; with `folder`, also those it names for this project alone."""
    found = dict(_named(document.get(file.key)))
    nested = document.get("mcp")
    if file.host == VSCODE and isinstance(nested, dict):
        found |= dict(_named(cast("dict[str, Any]", nested).get(file.key)))
    if folder is not None:
        found |= dict(_named(project_servers(document, file, folder=folder)))
    return {name: _as_others_say(entry) for name, entry in found.items()} if file.host == CODEX else found


def project_servers(document: Mapping[str, Any], file: HostFile, *, folder: Path) -> dict[str, Any]:
    """What a file of the user names for this project alone, as it stands in the document."""
    if file.host != CLAUDE_CODE or not file.of_user:
        return {}
    found: Any = document
    for step in ("projects", str(folder), file.key):
        found = cast("dict[str, Any]", found).get(step) if isinstance(found, dict) else None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _as_others_say(entry: dict[str, Any]) -> dict[str, Any]:
    """What Codex calls by names of its own, by those of everybody else."""
    headers: dict[str, Any] = dict(entry.get("http_headers") or {})
    token = entry.get("bearer_token_env_var")
    named = {"Authorization": f"Bearer ${{{token}}}"} if isinstance(token, str) else {}
    for header, variable in dict(entry.get("env_http_headers") or {}).items():
        named[header] = f"${{{variable}}}"
    told = {**entry, "headers": headers | named} if headers or named else entry
    return {**told, "disabled": True} if entry.get("enabled") is False else told


def _named(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(value, dict):
        for name, entry in cast("dict[str, Any]", value).items():
            if isinstance(entry, dict):
                yield name, cast("dict[str, Any]", entry)
