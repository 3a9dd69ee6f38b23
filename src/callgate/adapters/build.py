"""`build_tool`: a tool from a dict of plain functions. What the dict does not say is assumed worst."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, Unpack

from callgate.adapters.declare import Declaration, Fields, declare
from callgate.adapters.fields import READERS, guess
from callgate.adapters.protocol_object import make_protocol_tool
from callgate.errors import ConfigurationError
from callgate.model.tool import Tool
from callgate.model.visible import brief

_NEEDED = ("name", "input_schema", "execute")
_OWN = frozenset({"execute", "check_permissions", "is_read_only", "is_concurrency_safe"})
_SAID_BY_THE_OBJECT = frozenset({"name", "description", "input_schema"})


def build_tool(definition: Mapping[str, Any], **declaration: Unpack[Fields]) -> Tool:
    """Make a tool from a dict.

    Args:
        definition: `name`, `description`, `input_schema`, `execute(payload, context)`, and optionally
            `check_permissions(payload, context)`, `is_read_only()`, `is_concurrency_safe()` and any field of a
            declaration. Functions are taken as they are: none of them gets a `self`.
        **declaration: Further fields; they stand before those of the dict.

    Returns:
        The tool. Without stated permissions (effects, scopes or a check) it is undeclared, in no pool, and refused.

    Raises:
        ConfigurationError: Something is missing, unknown or wrong.
    """
    return build_declared(definition, declare(**declaration))


def build_declared(definition: Mapping[str, Any], declaration: Declaration) -> Tool:
    """`build_tool` with a declaration that is already made.

    Raises:
        ConfigurationError: As `build_tool`.
    """
    _refuse_faulty(definition)
    fields = {key: value for key, value in definition.items() if key not in _OWN | _SAID_BY_THE_OBJECT}
    thing = SimpleNamespace(
        **{key: _as_function(value) for key, value in definition.items() if key in _OWN | _SAID_BY_THE_OBJECT}
    )
    return make_protocol_tool(thing, declare(**fields).with_more(declaration.stated))


def _refuse_faulty(definition: Mapping[str, Any]) -> None:
    for key in definition:
        if key not in READERS and key not in _OWN:
            hint = guess(str(key), [*_OWN, *READERS])
            raise ConfigurationError(f"build_tool knows no {brief(str(key))!r}{hint}", key=brief(str(key)))
    for key in _NEEDED:
        if definition.get(key) is None:
            raise ConfigurationError(f"build_tool needs {', '.join(_NEEDED)}; {key} is missing", key=key)
    if not isinstance(definition["input_schema"], Mapping):
        raise ConfigurationError("must be a JSON Schema", key="input_schema")


def _as_function(value: Any) -> Any:
    """Functions wrapped as the chapter's own defaults are."""
    return value.__func__ if isinstance(value, staticmethod) else value  # pyright: ignore[reportUnknownMemberType]
