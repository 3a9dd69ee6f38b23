"""Coverage: what acts on this machine through Callgate, and what does without it. Reads files, and starts nothing."""

from __future__ import annotations

import shutil
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from callgate.errors import ConfigurationError
from callgate.model.credential import Credential, CredentialKind
from callgate.model.levels import Origin
from callgate.model.tool import source_title
from callgate.policy.terms import observes
from callgate.runtime.hook_entries import held
from callgate.runtime.host_entries import hooks_in, is_own_server, words_of
from callgate.runtime.host_files import CODEX, COPILOT, HostFile, host_files, parse, read_raw, servers_of
from callgate.runtime.own_program import is_this_server

if TYPE_CHECKING:
    from callgate.model.source import SourceReport
    from callgate.model.tool import Tool
    from callgate.settings.values import Observe

GOVERNED, NOT_GOVERNED, UNDECIDABLE, OBSERVED = "governed", "not governed", "undecidable", "observed"
_OWN_TOOLS = "its own tools"
_FOLDERS = {"claude-code": ".claude", "cursor": ".cursor", CODEX: ".codex", COPILOT: ".copilot"}
"""Hosts with tools of their own, and the folder by which one is known to be here."""


@dataclass(frozen=True, slots=True)
class Covered:
    """One thing that acts on this machine."""

    host: str
    what: str
    state: str
    where: str
    why: str = ""


def covered(folder: Path) -> Iterator[Covered]:
    """Everything that is found, host by host."""
    documents: list[tuple[HostFile, dict[str, Any]]] = []
    unread: set[str] = set()
    for file in host_files(folder):
        try:
            raw = read_raw(file.path)
            if raw is not None:
                documents.append((file, parse(raw, file.path)))
        except ConfigurationError as error:
            what = "its MCP servers" if file.kind == "mcp" else _OWN_TOOLS
            unread |= {file.host} if file.kind == "hooks" else set()
            yield Covered(file.host, what, UNDECIDABLE, str(file.path), str(error))
    for file, document in documents:
        if file.kind == "mcp":
            yield from _servers(file, document, folder=folder)
    yield from _own_tools(documents, folder, unread=unread)


def _servers(file: HostFile, document: Mapping[str, Any], *, folder: Path) -> Iterator[Covered]:
    for name, entry in servers_of(document, file, folder=folder).items():
        what, where = f"MCP server {name}", str(file.path)
        if entry.get("disabled"):
            continue
        if not is_own_server(entry):
            advice = f"callgate init --from auto, then callgate connect {file.host}{' --user' if file.of_user else ''}"
            yield Covered(file.host, what, NOT_GOVERNED, where, f"the host reaches it by itself: {advice}")
        elif _is_gone(words_of(entry)):
            yield Covered(file.host, what, NOT_GOVERNED, where, f"{words_of(entry)[0]} is not there any more")
        elif not is_this_server(entry, words_of(entry), folder=folder):
            why = f"{words_of(entry)[0]} is another program than this Callgate, or made one by its variables"
            yield Covered(file.host, what, NOT_GOVERNED, where, why)
        else:
            yield Covered(file.host, what, GOVERNED, where)


def _own_tools(
    documents: list[tuple[HostFile, dict[str, Any]]], folder: Path, *, unread: Container[str]
) -> Iterator[Covered]:
    for host, kept_in in _FOLDERS.items():
        if host in unread:  # What cannot be read may switch all the others off.
            continue
        mine = [(file, document) for file, document in documents if file.host == host]
        if not mine and not any((base / kept_in).is_dir() for base in (Path.home(), folder)):
            continue
        hooks = [(file, document) for file, document in mine if file.kind == "hooks"]
        off = [file for file, document in hooks if document.get("disableAllHooks") is True]
        if off:
            yield Covered(host, _OWN_TOOLS, NOT_GOVERNED, str(off[0].path), "all hooks are switched off there")
            continue
        with_ours = [(file, document) for file, document in hooks if hooks_in(document, file)]
        if not with_ours:
            yield Covered(host, _OWN_TOOLS, NOT_GOVERNED, "", f"it has no hooks of ours: callgate connect {host}")
            continue
        stand = [(held(document, file, folder=folder), file) for file, document in with_ours]
        (governs, why), file = max(stand, key=lambda each: (each[0].governs, not each[0].why))
        yield Covered(host, _OWN_TOOLS, GOVERNED if governs else NOT_GOVERNED, str(file.path), why)


def _is_gone(words: list[str]) -> bool:
    return shutil.which(words[0]) is None


class SourceCovered(NamedTuple):
    """The tools of one source that this gate has, and how they are governed."""

    source: str
    tools: int
    state: str
    """`governed`; `observed` where its calls are judged and run all the same; `undecidable` where nobody reaches it."""
    why: str
    held: int
    """Tools that nobody may call until somebody looks at them."""
    undeclared: int
    """Tools that declare nothing, which are refused."""


class AgentCovered(NamedTuple):
    """Somebody who calls through this gate."""

    name: str
    token: bool
    """Whether a token lets it in; else it calls from this machine: in a process, by the command line or as a host."""
    role: str
    last_call: float | None


@dataclass(frozen=True, slots=True)
class Coverage:
    """What this gate governs, and what acts beside it."""

    hosts: tuple[Covered, ...]
    sources: tuple[SourceCovered, ...]
    agents: tuple[AgentCovered, ...]

    @property
    def open(self) -> int:
        """How much does not go through the gate, is not enforced there, or is undecidable."""
        return sum(each.state != GOVERNED for each in (*self.hosts, *self.sources))


def sources_covered(
    tools: Iterable[Tool], reports: Iterable[SourceReport], *, held: Container[str], modes: Sequence[Observe]
) -> tuple[SourceCovered, ...]:
    """How the tools stand, source by source; sources of which nothing is there too."""
    found: dict[str, list[Tool]] = {}
    for tool in tools:
        found.setdefault(tool.source_title, []).append(tool)
    away = {source_title(each.origin, each.source): each.missing for each in reports if each.missing is not None}
    here = [_source(name, among, held=held, modes=modes) for name, among in sorted(found.items())]
    gone = [
        SourceCovered(name, 0, UNDECIDABLE, f"it cannot be reached: {why}", 0, 0) for name, why in sorted(away.items())
    ]
    return (*here, *(each for each in gone if each.source not in found))


def judged_here(tools: Iterable[Tool], hosts: Sequence[Covered]) -> list[Tool]:
    """The tools that calls come for: a server declares every host's, and where no host asks they govern nothing."""
    asked = any(each.what == _OWN_TOOLS and each.state == GOVERNED for each in hosts)
    return [tool for tool in tools if asked or tool.source is not Origin.HOST]


def agents_covered(
    credentials: Iterable[Credential], calls: Iterable[Mapping[str, Any]], *, now: float
) -> tuple[AgentCovered, ...]:
    """Whoever a token lets in, and whoever called lately without one; `calls` are entries, oldest first."""
    last = {str(each["principal"]): each for each in calls if each.get("principal")}
    let_in = {each.name: each for each in credentials if each.kind is CredentialKind.AGENT and each.counts(now)}
    known = {name: str(each.get("role", "")) for name, each in last.items()}
    known |= {name: each.role for name, each in let_in.items()}
    return tuple(
        AgentCovered(name, name in let_in, role, last[name]["asked_at"] if name in last else None)
        for name, role in sorted(known.items())
    )


def _source(name: str, tools: Sequence[Tool], *, held: Container[str], modes: Sequence[Observe]) -> SourceCovered:
    mode = next((mode for mode in modes if any(observes(mode, tool) for tool in tools)), None)
    why = (
        "" if mode is None else f"{mode.by} switched observing on: calls are judged and recorded, and run all the same"
    )
    return SourceCovered(
        name,
        len(tools),
        GOVERNED if mode is None else OBSERVED,
        why,
        sum(tool.name in held for tool in tools),
        sum(not tool.declared for tool in tools),
    )
