"""What a tool may say of itself, and which names are too close: nothing hides, and none is mistaken for another.

Knows nothing of which names are taken; the snapshot asks for the form that must not be there twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from callgate.errors import ConfigurationError
from callgate.model.canonical import dumps
from callgate.model.naming import check_name, wire_name
from callgate.model.tool import Tool
from callgate.model.visible import code_of, hidden_places

_LOOK_ALIKE = str.maketrans({"0": "o", "1": "l"})
_MAY_HIDE = re.compile(rb"\\[bfru]|[\x7f-\xff]")
"""Escapes and bytes that a hidden character has in canonical JSON."""


def check_tool(tool: Tool) -> None:
    """Refuse what is no name of a tool, and hidden characters wherever a model would read them.

    Raises:
        ConfigurationError: Saying what is wrong, hidden characters escaped.
    """
    check_name(tool.name)
    words = " ".join((tool.category, tool.connector, tool.source_name, *tool.tags, *tool.capabilities, *tool.scopes))
    _refuse_hidden(tool, where="declaration", text=words)
    _refuse_hidden(tool, where="description", text=tool.description)
    for where, schema in (("input schema", tool.input_schema), ("output schema", tool.output_schema)):
        if schema is not None:
            _check_json(tool, where=where, value=schema)
    if tool.examples:
        _check_json(tool, where="examples", value=[dict(example) for example in tool.examples])


def fold(name: str) -> str:
    """The form of a name by which it is told apart; two names that share one must not both be registered.

    It is equal for names that differ by characters that look alike (0 and o, 1 and l). Other look-alikes, and names
    that differ by case or by the provider's mapping, cannot be: the rule for names has no place for them.
    """
    return wire_name(name).translate(_LOOK_ALIKE)


def _refuse_hidden(tool: Tool, *, where: str, text: str) -> None:
    place = next(hidden_places(text), None)
    if place is not None:
        found = f"{code_of(text[place])} at {place}"
        raise ConfigurationError(f"tool {tool.name!r}: its {where} has a hidden character ({found}); remove it")


def _check_json(tool: Tool, *, where: str, value: Any) -> None:
    if _MAY_HIDE.search(dumps(value)) is None:
        return
    for text in _texts(value):
        _refuse_hidden(tool, where=where, text=text)


def _texts(value: Any) -> Iterator[str]:
    """Every key and text of a JSON value, without recursion: foreign schemas may be deep."""
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            waiting.extend(item)  # pyright: ignore[reportUnknownArgumentType]
            waiting.extend(item.values())  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
        elif isinstance(item, (list, tuple)):
            waiting.extend(item)  # pyright: ignore[reportUnknownArgumentType]
