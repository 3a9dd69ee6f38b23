"""YAML source: a strict reading of YAML text into nodes with their lines and dotted keys. Knows no key's meaning.

It goes by the parser's events and makes nothing but text, lists and mappings of them: no tag is looked up, no alias
followed, nothing constructed. What makes a file read differently from how it looks is refused: anchors, aliases, merge
keys, tags, directives, several documents, repeated keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NoReturn, cast

import yaml

from callgate.model.visible import first_hidden
from callgate.settings.complaints import Complaints, Fault, Told
from callgate.settings.nodes import Entry, ListNode, MapNode, Node, ScalarNode, WrongNode, below, item
from callgate.settings.scalars import value_of
from callgate.settings.wording import quote

DEEPEST = 20
"""Lists and mappings nest at most this deep."""

_WRITE_OUT = "a value must be seen where it counts; write it out"


_parse = partial(cast("Callable[..., Iterator[Any]]", yaml.parse), Loader=yaml.SafeLoader)


def read_nodes(text: str, complaints: Complaints) -> Node | None:
    """Read one YAML document; None if there is none, or if it is so wrong that the complaints say all."""
    try:
        return _Document(text, complaints).read()
    except Told:
        return None


class _Document:
    """One pass over the events of one text."""

    def __init__(self, text: str, complaints: Complaints) -> None:
        # The parser in Python, not the one in C: the same complaints at the same lines wherever Callgate runs.
        self._events: Iterator[Any] = iter(_parse(text))
        self._complaints = complaints
        self._line = 1

    def read(self) -> Node | None:
        self._next()
        start = self._next()
        if isinstance(start, yaml.StreamEndEvent):
            return None
        if start.version or start.tags:
            self._complain("directives (%YAML, %TAG) are not read; remove them")
        root = self._node(self._next(), key="", depth=0)
        self._next()
        if not isinstance(self._next(), yaml.StreamEndEvent):
            self._give_up("a second document starts; a configuration is one document")
        return None if isinstance(root, ScalarNode) and root.plain and not root.text else root

    def _next(self) -> Any:
        try:
            event = next(self._events)
        except yaml.MarkedYAMLError as error:
            self._line = _line_of(error) or self._line
            self._give_up(_explain(error))
        except (yaml.YAMLError, ValueError, OverflowError):
            # The parser lets chr() and int() fail on their own for some escapes and directives.
            self._give_up("is not YAML: an escape or a directive here cannot be read")
        self._line = event.start_mark.line + 1
        return event

    def _node(self, event: Any, *, key: str, depth: int) -> Node:
        if isinstance(event, yaml.AliasEvent):
            self._complain(f"aliases (*name) are not followed: {_WRITE_OUT}", key=key)
            return WrongNode(self._line, key)
        self._refuse_marks(event, key=key)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._list(key=key, depth=depth + 1)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(key=key, depth=depth + 1)
        return self._scalar(event, key=key)

    def _refuse_marks(self, event: Any, *, key: str) -> None:
        if event.anchor is not None:
            self._complain(f"anchors (&name) are not read: {_WRITE_OUT}", key=key)
        if event.tag is not None:
            self._complain("tags (!name) are not read; remove the tag", key=key)

    def _scalar(self, event: Any, *, key: str) -> Node:
        hidden = first_hidden(event.value)
        if hidden:
            self._complain(f"has the hidden character {hidden}; remove it", key=key)
            return WrongNode(self._line, key)
        return ScalarNode(self._line, key, event.value, event.style is None)

    def _list(self, *, key: str, depth: int) -> ListNode:
        line = self._enter(depth)
        items: list[Node] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            items.append(self._node(event, key=item(key, len(items)), depth=depth))
        return ListNode(line, key, tuple(items))

    def _mapping(self, *, key: str, depth: int) -> MapNode:
        line = self._enter(depth)
        entries: dict[str, Entry] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            at = self._line
            name = self._name(event, key=key, depth=depth)
            value = self._node(self._next(), key=below(key, name or "?"), depth=depth)
            if name in entries:
                first = entries[name].line
                self._complaints.add(f"is given twice, first on line {first}; keep one", line=at, key=below(key, name))
            elif name is not None:
                entries[name] = Entry(name, at, value)
        return MapNode(line, key, tuple(entries.values()))

    def _name(self, event: Any, *, key: str, depth: int) -> str | None:
        line = self._line
        node = self._node(event, key=key, depth=depth)
        if isinstance(node, WrongNode):
            return None
        fault = "a list or a mapping cannot be a key; a key is text"
        if isinstance(node, ScalarNode):
            fault = _fault_of_name(node)
        if fault:
            self._complaints.add(fault, line=line, key=key)
            return None
        return event.value

    def _enter(self, depth: int) -> int:
        if depth > DEEPEST:
            self._give_up(f"is nested more than {DEEPEST} deep, which no configuration is")
        return self._line

    def _complain(self, message: str, *, key: str = "") -> None:
        self._complaints.add(message, line=self._line, key=key)

    def _give_up(self, message: str) -> NoReturn:
        self._complain(message)
        raise Told from None


def _fault_of_name(node: ScalarNode) -> str:
    """What is wrong with a scalar as a key; empty if nothing is."""
    if node.plain and node.text == "<<":
        return f"merge keys (<<) are not followed: {_WRITE_OUT}"
    if not node.text.strip():
        return "a key is empty; a key is a word"
    try:
        value = value_of(node)
    except Fault:
        value = None
    return "" if isinstance(value, str) else f"key {quote(node.text)} is not text; put it in quotes"


def _line_of(error: yaml.MarkedYAMLError) -> int | None:
    mark = error.problem_mark or error.context_mark
    return None if mark is None else mark.line + 1


def _explain(error: yaml.MarkedYAMLError) -> str:
    problem = error.problem or "it ends in the middle of something"
    if "'\\t'" in problem:
        return "has a tab where only spaces may be"
    if "mapping values" in problem:
        return "has a colon where none may be; put text that contains ': ' in quotes"
    # The name of a tag is the file's own words, which a complaint does not repeat unseen.
    return "is not YAML: an unknown tag" if "tag" in problem else f"is not YAML: {problem}"
