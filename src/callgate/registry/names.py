"""What a tool may be called and may say: names nobody can mistake for another's, and no characters that hide.

Knows nothing of which names are taken; the snapshot asks for the forms that must not meet.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

from callgate.errors import ConfigurationError
from callgate.model.canonical import dumps
from callgate.model.tool import Tool

LONGEST_NAME = 128

_NAME = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
_LOOK_ALIKE = str.maketrans({"-": "_", "0": "o", "1": "l"})
_ASCII_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
_JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f")
"""Needed inside emoji and some scripts; hiding places anywhere else."""
_EMOJI_JOIN = "\ufe0f\u200d"
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks that show nothing."""
_VARIANTS = (("\u180b", "\u180f"), ("\ufe00", "\ufe0f"), ("\U000e0100", "\U000e01ef"))
"""Variation selectors, with which whole messages can be smuggled behind one letter."""
_SHOWN = 80


def check_tool(tool: Tool) -> None:
    """Refuse a name that providers or people could misread, and hidden characters wherever a model would read them.

    Raises:
        ConfigurationError: Saying what is wrong, hidden characters escaped.
    """
    if not _NAME.fullmatch(tool.name) or len(tool.name) > LONGEST_NAME:
        raise ConfigurationError(
            f"tool name {visible(tool.name)!r}: use letters, digits, _ and -, in parts joined by dots, "
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


def hidden(text: str) -> str | None:
    """The first character that a reader would not see, as `U+200B at 17`; None when there is none."""
    if text.isascii():
        found = None if text.isprintable() else _ASCII_CONTROL.search(text)
        return f"U+{ord(found.group()):04X} at {found.start()}" if found else None
    before = ""
    for place, character in enumerate(text):
        if _hides(character, before=before):
            return f"U+{ord(character):04X} at {place}"
        before = character
    return None


def visible(text: str) -> str:
    """The text, shortened, with hidden characters written as `<U+200B>`; fit for a message or a log."""
    short = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    if short.isascii() and short.isprintable():
        return short
    return "".join(f"<U+{ord(item):04X}>" if _unshown(item) else item for item in short)


def _unshown(character: str) -> bool:
    return character in _JOINERS or character in "\t\n\r" or _hides(character, before="")


def _hides(character: str, *, before: str) -> bool:
    if character.isascii():
        return character not in "\t\n\r" and not character.isprintable()
    if character in _JOINERS:
        return not _joins(character, before=before)
    return (
        unicodedata.category(character) in _HIDDEN_CATEGORIES
        or character in _BLANKS
        or any(first <= character <= last for first, last in _VARIANTS)
    )


def _joins(character: str, *, before: str) -> bool:
    """Whether a joiner stands where writing needs it: once, after a visible character that is not plain ASCII."""
    if before in _JOINERS:
        return before + character == _EMOJI_JOIN
    if before.isascii():
        return character == "\ufe0f" and before != "" and before in "0123456789#*"
    return True


def _refuse_hidden(tool: Tool, *, where: str, text: str) -> None:
    found = hidden(text)
    if found is not None:
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
