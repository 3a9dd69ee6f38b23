"""What a tool may be called and may say: names nobody can mistake for another's, and no characters that hide.

Knows nothing of which names are taken; the snapshot asks for the forms that must not meet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from callgate.errors import ConfigurationError
from callgate.model.canonical import dumps
from callgate.model.tool import Tool
from callgate.model.visible import brief, code_of, hidden_places

LONGEST_NAME = 128

_NAME = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
_LOOK_ALIKE = str.maketrans({"-": "_", "0": "o", "1": "l"})


def check_tool(tool: Tool) -> None:
    """Refuse a name that providers or people could misread, and hidden characters wherever a model would read them.

    Raises:
        ConfigurationError: Saying what is wrong, hidden characters escaped.
    """
    if not _NAME.fullmatch(tool.name) or len(tool.name) > LONGEST_NAME:
        raise ConfigurationError(
            f"tool name {brief(tool.name)!r}: use letters, digits, _ and -, in parts joined by dots, "
            f"at most {LONGEST_NAME} characters"
        )
    words = "\n".join((tool.category, tool.connector, tool.source_name, *tool.tags, *tool.capabilities, *tool.scopes))
    _refuse_hidden(tool, where="declaration", text=words)
    _refuse_hidden(tool, where="description", text=tool.description)
    for where, schema in (("input schema", tool.input_schema), ("output schema", tool.output_schema)):
        if schema is not None:
            _check_json(tool, where=where, value=schema)
    if tool.examples:
        _check_json(tool, where="examples", value=[dict(example) for example in tool.examples])


def wire_name(name: str) -> str:
    """The form in which a name travels to providers that forbid dots."""
    return name.replace(".", "__")


def folds(name: str) -> tuple[str, ...]:
    """The forms of a name; two names that share one must not both be registered.

    They are equal for names that differ by the provider's mapping, by case, by - and _, or by characters that look
    alike (0 and o, 1 and l; a capital I reads as i and as l). Other look-alikes cannot be in a name.
    """
    wire = wire_name(name).translate(_LOOK_ALIKE)
    plain = wire.lower()
    if "I" not in wire:
        return (plain,)
    return plain, wire.replace("I", "l").lower()


def _refuse_hidden(tool: Tool, *, where: str, text: str) -> None:
    place = next(hidden_places(text), None)
    if place is not None:
        found = f"{code_of(text[place])} at {place}"
        raise ConfigurationError(f"tool {tool.name!r}: its {where} has a hidden character ({found}); remove it")


def _check_json(tool: Tool, *, where: str, value: Any) -> None:
    body = dumps(value)
    # Without escapes and beyond-ASCII characters there is nothing to look for, and most schemas have neither.
    if body.isascii() and b"\\u" not in body and b"\x7f" not in body:
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
