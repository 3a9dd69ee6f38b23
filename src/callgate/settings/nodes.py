"""Nodes: a document as it was written, each part with its line and dotted key. Knows nothing of YAML or of keys."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from callgate.settings.wording import is_presentable, quote

_SIMPLE = re.compile(r"\w{1,40}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """A single value, not yet read: `1h` and `"1h"` differ only in `plain`."""

    line: int
    key: str
    text: str
    plain: bool
    """Written without quotes, so that it may be a number or a truth value."""

    @property
    def shown(self) -> str:
        """The value as a complaint may repeat it."""
        return "the value" if "secret" in self.key.lower() else quote(self.text)


@dataclass(frozen=True, slots=True)
class ListNode:
    """Values in order."""

    line: int
    key: str
    items: tuple[Node, ...]


class Entry(NamedTuple):
    """One name of a mapping, and its value."""

    name: str
    line: int
    value: Node


@dataclass(frozen=True, slots=True)
class MapNode:
    """Values by name; names are text and no two are equal."""

    line: int
    key: str
    entries: tuple[Entry, ...]

    def at(self, path: Iterable[str]) -> Node:
        """The node at that path below this one, or as far as the path goes."""
        node: Node = self
        for name in path:
            entries = node.entries if isinstance(node, MapNode) else ()
            node = next((entry.value for entry in entries if entry.name == name), node)
        return node


@dataclass(frozen=True, slots=True)
class WrongNode:
    """Something that was refused while reading; its complaint has been made."""

    line: int
    key: str


Node = ScalarNode | ListNode | MapNode | WrongNode


def below(parent: str, name: str) -> str:
    """The dotted key of a name inside a mapping; a name that is no simple word stands in quotes."""
    word = name if _SIMPLE.fullmatch(name) else quote(name)
    if not is_presentable(name):
        word = "(not shown)"
    return f"{parent}.{word}" if parent else word


def item(parent: str, index: int) -> str:
    """The dotted key of an item of a list."""
    return f"{parent}[{index}]"
