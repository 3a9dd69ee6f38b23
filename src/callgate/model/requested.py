"""Requested: one call as a provider's response has it, read with care. Knows no provider, and not which tool it names.

A response is an SDK's object or plain JSON; both are read by attribute, so that no SDK is needed for either.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from callgate.errors import MalformedResponse
from callgate.model.canonical import NotCanonical, dumps, loads
from callgate.model.context import LONGEST_NAME, writable
from callgate.model.shapes import as_mapping
from callgate.model.visible import brief

CUT_SHORT = "the response was cut short in this call, so its arguments may be incomplete; make the call again"


class Requested(NamedTuple):
    """A call that a model asks for, under the name its provider knows the tool by."""

    id: str
    """The provider's own id, with which the result goes back."""
    name: str
    arguments: Mapping[str, Any]
    fault: str | None = None
    """Why it cannot be made, where it cannot: its result says so, and the other calls are made."""
    programmatic: bool = False
    """Asked for by code that the provider runs, not by the model itself."""
    echo: Mapping[str, Any] = MappingProxyType({})
    """What the provider wants to see again in the result, besides the id."""


def attribute(thing: Any, name: str) -> Any:
    """The value of a key or an attribute; None when there is none."""
    body = as_mapping(thing)
    return getattr(thing, name, None) if body is None else body.get(name)


def listed(thing: Any, name: str) -> list[Any] | None:
    """The list under that key or attribute; None when there is none."""
    found = attribute(thing, name)
    return list(cast("list[Any]", found)) if isinstance(found, list | tuple) else None


def requested(
    call_id: Any, *, name: Any, arguments: Any, fault: str | None = None, programmatic: bool = False
) -> Requested:
    """One call, whatever is wrong with its name or its arguments kept as its fault.

    Raises:
        MalformedResponse: It has no id, so that no result could be sent back for it.
    """
    if not isinstance(call_id, str) or not 0 < len(call_id) <= LONGEST_NAME or not writable(call_id):
        shown = brief(name) if isinstance(name, str) else "a tool"
        raise MalformedResponse(f"the response calls {shown} without a usable id, so its result could not be sent back")
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not writable(name):
        return Requested(call_id, "", {}, fault or "the call has no tool name", programmatic)
    body, unread = _arguments(arguments)
    return Requested(call_id, name, body, fault or unread, programmatic)


def _arguments(given: Any) -> tuple[Mapping[str, Any], str | None]:
    """The arguments and None, or nothing and the fault."""
    if given is None or (isinstance(given, str) and not given):
        # Some providers leave the text out where a tool takes nothing.
        return {}, None
    try:
        value = loads(given) if isinstance(given, str) else given
        body = as_mapping(value)
        if body is not None:
            dumps(dict(body))
    except NotCanonical as error:
        return {}, f"the arguments cannot be read: {error}"
    if body is None:
        return {}, f"the arguments must be a JSON object, not {_kind(value)}"
    return cast("Mapping[str, Any]", body), None


def _kind(value: Any) -> str:
    kinds = {"list": "an array", "str": "text", "bool": "true or false", "int": "a number", "float": "a number"}
    name = type(value).__name__
    return "null" if value is None else kinds.get(name, name)
