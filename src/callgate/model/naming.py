"""Names of tools: `snake_case`, optionally `connector.name`, short enough for every provider. Knows none of them."""

from __future__ import annotations

import re

from callgate.errors import ConfigurationError
from callgate.model.visible import brief

LONGEST = 64
"""Counted as providers see it, where the dot travels as two underscores."""
_PART = "[a-z][a-z0-9]*(?:_[a-z0-9]+)*"
# Single underscores only: two of them stand for the dot on the way to a provider.
_PART_ALONE = re.compile(_PART)
_NAME = re.compile(rf"{_PART}(?:\.{_PART})?")
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def check_name(name: object) -> str:
    """The name, if it may be one.

    Raises:
        ConfigurationError: It is not `snake_case` or `connector.name`, or too long; says what would do.
    """
    if not isinstance(name, str):
        raise ConfigurationError(f"a tool's name is text, not {type(name).__name__}", key="name")
    if _NAME.fullmatch(name) is None:
        raise ConfigurationError(f"{brief(name)!r} is no tool name: {_advice(name)}", key="name")
    if len(wire_name(name)) > LONGEST:
        raise ConfigurationError(f"the name {brief(name)!r} is longer than {LONGEST} characters", key="name")
    return name


def wire_name(name: str) -> str:
    """The form in which a name travels to providers that forbid dots; never that of another name."""
    return name.replace(".", "__")


def is_name_part(text: str) -> bool:
    """Whether the text can stand before or after the dot of a name."""
    return _PART_ALONE.fullmatch(text) is not None


def snake_case(text: str) -> str:
    """`WordCount`, `word-count` and `__word__count_` as `word_count`; empty when nothing is left."""
    words = re.split(r"[^A-Za-z0-9]+", _WORD_START.sub("_", text))
    return "_".join(word.lower() for word in words if word)


def _advice(name: str) -> str:
    rule = "write snake_case, optionally connector.name"
    proposal = ".".join(part for part in map(snake_case, name[:LONGEST].split(".", 1)) if part)
    return f"{rule}: name={proposal!r}" if _NAME.fullmatch(proposal) else rule
