"""Reads `mcp_servers`: how each server is reached, and what the operator declares of its tools. Starts none of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from callgate.model.levels import Caller, Effect, Risk
from callgate.model.naming import is_name_part
from callgate.settings.complaints import Fault
from callgate.settings.kinds import Block, Fields, Key, Kind, ListOf, MapOf, Reading, either
from callgate.settings.leaves import Choice, Duration, Flag, Text
from callgate.settings.nodes import ListNode, Node
from callgate.settings.read_mcp_auth import AUTH, refuse_unfit
from callgate.settings.read_scopes import ScopeName
from callgate.settings.values import McpServerSettings
from callgate.settings.wording import quote

_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}"
_PREFIX = r"[a-z][a-z0-9]*(_[a-z0-9]+)*"
_TOOL = r"\S{1,128}"
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"
_HEADER = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
_URL = r"https?://[^\s/@]+(/\S*)?"
_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Several:
    """One value of a kind, or a list of them."""

    kind: Kind

    def read(self, node: Node, reading: Reading) -> tuple[Any, ...]:
        if isinstance(node, ListNode):
            return ListOf(self.kind).read(node, reading)
        return (self.kind.read(node, reading),)

    def schema(self) -> dict[str, Any]:
        return either([self.kind.schema(), ListOf(self.kind).schema()])


def _matches(pattern: str, *, what: str) -> Any:
    def check(name: str) -> None:
        if not re.fullmatch(pattern, name):
            raise Fault(f"{quote(name)} is no {what}")

    return check


def _parse_prefix(text: str) -> str:
    if not is_name_part(text):
        raise Fault("a prefix has small letters, digits and single underscores, such as gh")
    return text


def _parse_url(text: str) -> str:
    if not re.fullmatch(_URL, text):
        raise Fault("needs a URL such as https://example.com/mcp, without a user or a password in it")
    return text


def _words(words: type[Effect | Caller]) -> Choice:
    return Choice({word.value: word.value for word in words})


def _build_declaration(fields: Fields, _: Reading) -> Mapping[str, Any]:
    if not fields:
        raise Fault("declares nothing; write what it does, such as effects: read_only")
    if Effect.READ_ONLY.value in fields.get("effects", ()) and fields.get("destructive"):
        raise Fault("a tool cannot be read_only and destructive")
    return MappingProxyType(fields)


DECLARE = MapOf(
    Block(
        {
            "effects": Key(Several(_words(Effect)), "What it does, one word or several."),
            "scopes": Key(Several(ScopeName()), "Scopes a caller needs besides mcp:connect."),
            "risk": Key(Choice({risk.label: risk.label for risk in Risk}), "Its base risk."),
            "destructive": Key(Flag(), "Whether it destroys something."),
            "idempotent": Key(Flag(), "Whether calling it twice is as calling it once."),
            "deterministic": Key(Flag(), "Whether the same arguments always give the same answer."),
            "concurrency_safe": Key(Flag(), "Whether two calls of it may overlap."),
            "egress": Key(Flag(), "Whether data leaves with its arguments."),
            "untrusted_output": Key(Flag(), "Whether strangers decide what it returns."),
            "sensitive_output": Key(Flag(), "Whether it returns private data."),
            "timeout": Key(Duration(), "Its time limit."),
            "allowed_callers": Key(Several(_words(Caller)), "Who may put calls of it together."),
            "category": Key(Text(needs="a category"), "Its category."),
        },
        _build_declaration,
    ),
    pattern=_TOOL,
    check=_matches(_TOOL, what="tool of a server, nor a glob over them"),
)


def _build_server(fields: Fields, _: Reading) -> McpServerSettings:
    if ("command" in fields) == ("url" in fields):
        raise Fault("needs either command (a program that is started) or url (a server that runs)")
    only = ("env", "cwd") if "url" in fields else ("headers", "auth")
    wrong = [key for key in only if key in fields]
    if wrong:
        raise Fault(f"{wrong[0]} is for a server with {'a command' if 'url' in fields else 'a url'}; leave it out")
    if "command" in fields and not fields["command"]:
        raise Fault("command is empty; write the program and its arguments, such as [mcp-server-time]")
    if "auth" in fields:
        refuse_unfit(fields["auth"], fields["url"], headers=fields.get("headers", {}))
    rest = {key: value for key, value in fields.items() if key != "mode"}
    return McpServerSettings(**rest)


def _build_words(kind: Kind, *, pattern: str, what: str) -> MapOf:
    return MapOf(kind, pattern=pattern, check=_matches(pattern, what=what))


_OBSERVE = "one server alone cannot be observed; write the key observe with source: source:mcp"
_VALUE = Text(needs="text, or secret:connector/key", longest=4000)

_OF_OTHER_CLIENTS = {
    "args": "put them into command, behind the program: [program, argument]",
    "type": "leave it out: a server with a command is started, one with a url is reached",
    "transport": "leave it out: a server with a command is started, one with a url is reached",
    "disabled": "leave the whole server out, or put a # before its lines",
}
"""Keys of an mcp.json; a whole one is named under `mcp_files`."""

MCP_SERVERS = MapOf(
    Block(
        {
            "command": Key(
                ListOf(Text(needs="a word of the command", longest=4000)), "The program and its arguments, as a list."
            ),
            "url": Key(
                Text(pattern=_URL, needs="a URL", parse=_parse_url, longest=2000), "Where a streamable HTTP server is."
            ),
            "env": Key(
                _build_words(_VALUE, pattern=_VARIABLE, what="name of a variable"),
                "Variables for the program; a value may be secret:connector/key.",
            ),
            "headers": Key(
                _build_words(_VALUE, pattern=_HEADER, what="name of a header"),
                "Headers of every request; a value may be Bearer secret:connector/key.",
            ),
            "auth": Key(AUTH, "How to sign in, for a server that asks for it."),
            "cwd": Key(Text(needs="a directory", longest=1000), "Where the program runs."),
            "prefix": Key(
                Text(pattern=_PREFIX, needs="a prefix such as gh", parse=_parse_prefix),
                "Stands before the names of its tools, with a dot; else the server's name.",
            ),
            "trust": Key(
                Choice({"pinned": "pinned"}),
                "pinned: a tool that changes or is new waits until somebody looks.",
                "pinned",
            ),
            "mode": Key(Choice({"enforce": "enforce"}, refused={"observe": _OBSERVE}), "enforce.", "enforce"),
            "startup": Key(Duration(most=_HOUR), "How long an opening gate waits for it.", "10s"),
            "declare": Key(DECLARE, "What its tools do, by name or glob. Without it a tool cannot be called.", {}),
        },
        _build_server,
        elsewhere=_OF_OTHER_CLIENTS,
    ),
    pattern=_NAME,
    check=_matches(_NAME, what="name of a server; write letters, digits, - and _"),
)
