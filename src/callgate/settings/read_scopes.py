"""Reads `scopes`: the families of scopes with their defaults, and the scopes that a role is given."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from callgate.settings.complaints import Fault, Told
from callgate.settings.kinds import Block, Fields, Key, ListOf, MapOf, Reading
from callgate.settings.leaves import Flag, Text
from callgate.settings.nodes import MapNode, Node
from callgate.settings.values import DEFAULT_FAMILIES, Family
from callgate.settings.wording import instead, quote

_FAMILY = r"[a-z][a-z0-9_]*"
_SCOPE = rf"\*|({_FAMILY}):(\*|[a-z][a-z0-9_.]*)"
_HOST = (
    r"(?:[A-Za-z0-9*?._-]+|\[(?P<bracketed>[0-9A-Fa-f:.]+)\])(?::(?P<port>[0-9]{1,5}))?"
    r"|(?P<bare>[0-9A-Fa-f]*:[0-9A-Fa-f]*:[0-9A-Fa-f:.]*)"
)
_PORTS = 65536


def parse_path(text: str) -> str:
    """A directory as it is written.

    Raises:
        Fault: It has something that is not expanded here.
    """
    if text.startswith("~") or "$" in text:
        raise Fault("~ and $ are not expanded in a path; write it out")
    if "*" in text or "?" in text:
        raise Fault("a path is a directory, and everything below it counts; leave out * and ?")
    return text


def parse_host(text: str) -> str:
    """A host name, a glob over host names, or an address, perhaps with a port, in lower case.

    Raises:
        Fault: It is none of these.
    """
    if "/" in text:
        raise Fault(f"{quote(text)} is more than a host; write the name alone, such as example.com")
    if not text.isascii():
        raise Fault("a host has letters of ASCII only; write an international name in its xn-- form")
    match = re.fullmatch(_HOST, text)
    if match is None or not (_is_port(match["port"]) and _is_address(match["bracketed"] or match["bare"])):
        raise Fault(f"{quote(text)} is no host; write example.com, *.example.com, 192.0.2.1, or one with its port")
    return text.lower()


def _is_port(text: str | None) -> bool:
    return text is None or 0 < int(text) < _PORTS


def _is_address(text: str | None) -> bool:
    try:
        return text is None or bool(ipaddress.IPv6Address(text))
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class ScopeName:
    """A scope that a role is given: `family:verb`, `family:*` or `*`, of a family that exists."""

    text = Text(pattern=_SCOPE, needs="a scope such as fs:read, fs:* or *")

    def read(self, node: Node, reading: Reading) -> str:
        scope: str = self.text.read(node, reading)
        family, colon, _ = scope.partition(":")
        if colon and family not in reading.families:
            advice = instead(family, sorted(reading.families))
            raise Fault(f"unknown scope family {quote(family)}; {advice} (a family of your own: scopes, custom: true)")
        return scope

    def schema(self) -> dict[str, Any]:
        return self.text.schema()


def _read_family(fields: Fields, _: Reading) -> Fields:
    return fields


def _check_family(name: str) -> None:
    if not re.fullmatch(_FAMILY, name):
        raise Fault(f"{quote(name)} is no scope family; one has small letters, digits and _")


_FAMILIES = MapOf(
    Block(
        {
            "requires_approval": Key(Flag(), "Calls that need a scope of this family are at least confirm."),
            "paths": Key(
                ListOf(Text(needs="a directory", parse=parse_path, longest=1000)),
                "Directories that may be touched, with everything below; relative ones are in the working directory.",
            ),
            "hosts": Key(
                ListOf(Text(needs="a host name or a glob such as *.example.com", parse=parse_host)),
                "Hosts that may be reached: names, globs or addresses, with or without a port.",
            ),
            "private_addresses": Key(
                Flag(), "Whether loopback, private and link-local addresses may be reached.", default=False
            ),
            "custom": Key(Flag(), "true makes a family of your own; the others exist already.", default=False),
        },
        _read_family,
    ),
    pattern=_FAMILY,
    check=_check_family,
)


@dataclass(frozen=True, slots=True)
class Scopes:
    """Every family with its defaults: those that exist, changed where the file says so, and the file's own."""

    def read(self, node: Node, reading: Reading) -> Mapping[str, Family]:
        if not isinstance(node, MapNode):
            raise Fault("needs a mapping with families such as fs, net, shell")
        # Known from here on, also when something below is wrong: one fault is one complaint.
        reading.families.update(entry.name for entry in node.entries)
        given = _FAMILIES.read(node, reading)
        wrong = {name: fault for name, fields in given.items() if (fault := _fault_of(name, fields))}
        for name, fault in wrong.items():
            reading.complain(node.at([name]), fault)
        if wrong:
            raise Told
        return MappingProxyType(dict(DEFAULT_FAMILIES) | {name: _family(name, given[name]) for name in given})

    def schema(self) -> dict[str, Any]:
        return _FAMILIES.schema()


def _fault_of(name: str, fields: Fields) -> str:
    known = name in DEFAULT_FAMILIES
    custom = fields.get("custom", False)
    if known and custom:
        return f"the family {name} exists already; leave custom out"
    if not known and not custom:
        return f"unknown scope family {quote(name)}; {instead(name, DEFAULT_FAMILIES)} (custom: true makes a new one)"
    return ""


def _family(name: str, fields: Fields) -> Family:
    changes = {key: value for key, value in fields.items() if key != "custom"}
    return replace(DEFAULT_FAMILIES.get(name, Family()), **changes)
