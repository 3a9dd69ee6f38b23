"""MCP servers that other clients on this machine have, as entries for `callgate.yaml`. Their secrets are set apart."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from callgate.cli.secret_looks import looks_secret, secret_in_address, secrets_among, telling
from callgate.errors import ConfigurationError
from callgate.model.own_variables import is_own_variable
from callgate.runtime.host_entries import is_own_server
from callgate.runtime.host_files import CODEX, HostFile, host_files, is_toml, parse, read_raw, servers_of

_HTTP = frozenset({"", "http", "streamable-http", "streamablehttp", "streamable_http"})
_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")
_BEARER = re.compile(r"(?P<before>[A-Za-z][A-Za-z0-9_-]* )(?P<rest>\S+)")
_PLAIN_URL = re.compile(r"https?://[^\s/@?]+(/[^\s?]*)?")
_SHORTEST = 4
"""What is shorter could not be struck from texts, and is no secret."""
_REFERENCE = "secret:"
_PLACES = {"env": "variable", "headers": "header"}
_NOT_NAME = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A value that a server's file takes from variables of whoever starts it."""

    variables: tuple[str, ...]
    place: str
    """Where it goes: a header, or a variable of the server's own."""
    value: str


@dataclass(slots=True)
class Found:
    """One server that another client has."""

    name: str
    where: list[str]
    """The files that name it."""
    entry: dict[str, Any]
    """As `mcp_servers` takes it."""
    secrets: dict[str, str] = field(default_factory=dict[str, str])
    """Literal values, by the key they will be kept under."""
    wanted: dict[str, Wanted] = field(default_factory=dict[str, Wanted])
    """What it would get from the environment, by the key it would be kept under; somebody has to say yes."""
    missing: list[str] = field(default_factory=list[str])
    """Keys whose values are nowhere to be found; somebody has to set them."""
    warnings: list[str] = field(default_factory=list[str])
    hidden: list[str] = field(default_factory=list[str])
    """What stays in the entry and is not shown."""


@dataclass(slots=True)
class Findings:
    """Everything that was found."""

    servers: dict[str, Found] = field(default_factory=dict[str, Found])
    unusable: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    """Name, file, and why it cannot be used."""
    unread: list[str] = field(default_factory=list[str])
    """Files that could not be read, with the reason."""


def find_servers(folder: Path, *, only: Path | None = None) -> Findings:
    """The servers of every client here; with `only`, of that one file."""
    findings = Findings()
    files = host_files(folder) if only is None else _as_host_files(only)
    for file in files:
        if file.kind != "mcp":
            continue
        try:
            raw = read_raw(file.path)
            named = {} if raw is None else servers_of(parse(raw, file.path), file, folder=folder)
        except ConfigurationError as error:
            findings.unread.append(str(error))
            continue
        for name, entry in named.items():
            _take(findings, name, entry=entry, where=str(file.path))
    return findings


def _as_host_files(path: Path) -> tuple[HostFile, ...]:
    if is_toml(path):
        return (HostFile(CODEX, "mcp", path, "mcp_servers"),)
    return tuple(HostFile("", "mcp", path, key) for key in ("mcpServers", "servers"))


def _take(findings: Findings, name: str, *, entry: Mapping[str, Any], where: str) -> None:
    if is_own_server(entry) or entry.get("disabled"):
        return
    try:
        found = _read(_server_name(name), entry, where=where)
    except ConfigurationError as error:
        findings.unusable.append((name, where, str(error)))
        return
    for other in findings.servers.values():
        if _reached(other.entry) == _reached(found.entry):
            other.where += [where] if where not in other.where else []
            return
    number = 2
    while found.name in findings.servers:
        found = _read(f"{_server_name(name)}_{number}", entry, where=where)
        number += 1
    findings.servers[found.name] = found


def _reached(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    return (entry.get("command"), entry.get("url"), entry.get("cwd"))


def _server_name(name: str) -> str:
    return _NOT_NAME.sub("_", name).strip("_-")[:60] or "server"


def _read(name: str, entry: Mapping[str, Any], *, where: str) -> Found:
    kind = str(entry.get("type") or entry.get("transport") or "").lower()
    url = entry.get("url") or entry.get("serverUrl") or entry.get("httpUrl")
    if isinstance(url, str) and url:
        if kind not in _HTTP:
            raise ConfigurationError(f"its transport is {kind}; only stdio and streamable HTTP can be used")
        if not _PLAIN_URL.fullmatch(url) or _PLACEHOLDER.search(url) or secret_in_address(url):
            raise ConfigurationError("its address has something secret in it, or is none; write it down by hand")
        found = Found(name, [where], {"url": url})
        _values(found, "headers", given=entry.get("headers"), always=True)
        return found
    command = [str(word) for word in (entry.get("command"), *_words(entry.get("args"))) if word is not None]
    if not command or not command[0]:
        raise ConfigurationError("it has neither a command nor a url")
    found = Found(name, [where], {"command": command})
    for word in command:
        _no_placeholder(word)
    for called, value in secrets_among(command):
        # A command cannot name a secret: one that stands there stays, and somebody has to know.
        found.warnings.append(f"the argument {called} looks like a secret, and a command cannot name one")
        found.hidden.append(value)
    _values(found, "env", given=entry.get("env"), always=False)
    if isinstance(entry.get("cwd"), str) and entry["cwd"]:
        _no_placeholder(entry["cwd"])
        found.entry["cwd"] = entry["cwd"]
    return found


def _words(value: Any) -> Sequence[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else ()


def _no_placeholder(word: str) -> None:
    if _PLACEHOLDER.search(word):
        raise ConfigurationError("its command has ${…} in it, which nobody puts in here; write it down by hand")


def _values(found: Found, where: str, *, given: Any, always: bool) -> None:
    kept: dict[str, str] = {}
    for name, value in _texts(given):
        key = _key(found, name)
        if _REFERENCE in value:
            raise ConfigurationError(f"its {name} names a secret that Callgate keeps; write it down by hand")
        if _PLACEHOLDER.search(value):
            _from_environment(found, value, key=key, place=f"{_PLACES[where]} {name}")
            kept[name] = _reference(found.name, key, value=value)
        elif _is_secret(name, value, always=always):
            found.secrets[key] = _bare(value)
            kept[name] = _reference(found.name, key, value=value)
        else:
            kept[name] = value
    if kept:
        found.entry[where] = kept


def _key(found: Found, name: str) -> str:
    """Under what a value is kept: names that differ only in case or signs are two."""
    first = key = _NOT_NAME.sub("_", name).lower()
    number = 2
    while key in found.secrets or key in found.wanted or key in found.missing:
        key, number = f"{first}_{number}", number + 1
    return key


def _texts(given: Any) -> Iterator[tuple[str, str]]:
    if isinstance(given, dict):
        for name, value in cast("dict[str, Any]", given).items():
            if isinstance(value, str | int | float) and not isinstance(value, bool):
                yield name, str(value)


def _is_secret(name: str, value: str, *, always: bool) -> bool:
    return len(value.strip()) >= _SHORTEST and (always or telling(name) or looks_secret(value))


def _from_environment(found: Found, value: str, *, key: str, place: str) -> None:
    """What `${…}` stands for: of a variable that is there somebody has to say yes; what is not has to be set."""
    inside = [name.removeprefix("env:").partition(":-")[0] for name in _PLACEHOLDER.findall(value)]
    own = [name for name in inside if is_own_variable(name)]
    if own:
        raise ConfigurationError(f"its {place} asks for {own[0]}, a variable of Callgate's own, which no server gets")
    if all(os.environ.get(name) for name in inside):
        put_in = iter(inside)
        put = _bare(_PLACEHOLDER.sub(lambda _: os.environ[next(put_in)], value))
        found.wanted[key] = Wanted(tuple(dict.fromkeys(inside)), place, put)
    else:
        found.missing.append(key)


def _reference(server: str, key: str, *, value: str) -> str:
    scheme = _BEARER.fullmatch(value)
    return f"{scheme['before'] if scheme else ''}secret:{server}/{key}"


def _bare(value: str) -> str:
    scheme = _BEARER.fullmatch(value)
    return scheme["rest"] if scheme else value
