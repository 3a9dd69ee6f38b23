"""`callgate coverage`: which tools of the hosts on this machine go through Callgate, and which do not."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from callgate.cli.document import json_option, print_document
from callgate.cli.exit_codes import ExitCode
from callgate.cli.host_entries import hook_commands, hooks_in, is_own_server, words_of
from callgate.cli.host_files import CODEX, COPILOT, HostFile, host_files, parse, read_raw, servers_of
from callgate.cli.screen import Cell, Column, Screen
from callgate.errors import ConfigurationError

GOVERNED, NOT_GOVERNED, UNKNOWN = "governed", "not governed", "unknown"
_STYLES = {GOVERNED: "green", NOT_GOVERNED: "red", UNKNOWN: "yellow"}
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


@click.command("coverage")
@json_option
def command(*, as_json: bool) -> ExitCode:
    """Say which MCP servers and own tools of the hosts here go through Callgate, and which do not.

    Looks at the files of Claude Code, Cursor, VS Code, Claude Desktop, Codex and Copilot, of this folder and of you. A
    host that is configured elsewhere is not seen. Ends with 1 where something is not governed, or not known.
    """
    found = list(covered(Path.cwd()))
    ok = all(each.state == GOVERNED for each in found)
    if as_json:
        body = [
            {"host": each.host, "what": each.what, "state": each.state, "where": each.where, "why": each.why}
            for each in found
        ]
        print_document({"ok": ok, "covered": body})
    else:
        _show(Screen(sys.stdout), found)
    return ExitCode.SUCCEEDED if ok else ExitCode.FAILED


def covered(folder: Path) -> Iterator[Covered]:
    """Everything that is found, host by host."""
    documents: list[tuple[HostFile, dict[str, Any]]] = []
    for file in host_files(folder):
        try:
            raw = read_raw(file.path)
            if raw is not None:
                documents.append((file, parse(raw, file.path)))
        except ConfigurationError as error:
            what = "its MCP servers" if file.kind == "mcp" else _OWN_TOOLS
            yield Covered(file.host, what, UNKNOWN, str(file.path), str(error))
    for file, document in documents:
        if file.kind == "mcp":
            yield from _servers(file, document, folder=folder)
    yield from _own_tools(documents, folder)


def _servers(file: HostFile, document: Mapping[str, Any], *, folder: Path) -> Iterator[Covered]:
    for name, entry in servers_of(document, file, folder=folder).items():
        what, where = f"MCP server {name}", str(file.path)
        if entry.get("disabled"):
            continue
        if not is_own_server(entry):
            advice = "callgate init --from auto, then callgate connect " + file.host
            yield Covered(file.host, what, NOT_GOVERNED, where, f"the host reaches it by itself: {advice}")
        elif _is_gone(words_of(entry)):
            yield Covered(file.host, what, NOT_GOVERNED, where, f"{words_of(entry)[0]} is not there any more")
        else:
            yield Covered(file.host, what, GOVERNED, where)


def _own_tools(documents: list[tuple[HostFile, dict[str, Any]]], folder: Path) -> Iterator[Covered]:
    for host, kept_in in _FOLDERS.items():
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
        file, document = with_ours[0]
        gone = [words[0] for words in map(shlex.split, hook_commands(document)) if _is_gone(words)]
        if gone:
            why = f"{gone[0]} is not there any more; every tool is denied"
            yield Covered(host, _OWN_TOOLS, GOVERNED, str(file.path), why)
        else:
            yield Covered(host, _OWN_TOOLS, GOVERNED, str(file.path))


def _is_gone(words: list[str]) -> bool:
    return shutil.which(words[0]) is None


def _show(screen: Screen, found: list[Covered]) -> None:
    if not found:
        screen.say("No host was found here: nothing of Claude Code, Cursor, VS Code, Claude Desktop, Codex or Copilot.")
        return
    heads = [Column("HOST", whole=True), Column("WHAT"), Column("STATE", whole=True), Column("WHERE"), Column("WHY")]
    rows = [[each.host, each.what, Cell(each.state, _STYLES[each.state]), each.where, each.why] for each in found]
    screen.table(heads, rows)
    left = sum(each.state != GOVERNED for each in found)
    screen.say()
    if left:
        screen.say(f"{left} of {len(found)} do not go through Callgate", style="red")
    else:
        screen.say("everything that was found goes through Callgate", style="green")
