"""From an entry of a file to a tool: its schema, its claims, its handler, and the operator's word on top."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from callgate.adapters.assemble import Parts, about, assemble
from callgate.adapters.declare import Declaration, declare
from callgate.adapters.fields import read_mapping
from callgate.adapters.function import make_function_tool, marked_declaration
from callgate.adapters.json_schema import compile_schema
from callgate.adapters.registry_files.claims import DECLARING, tightening
from callgate.adapters.registry_files.handlers import Found
from callgate.adapters.registry_files.parameters import disagreement
from callgate.errors import ConfigurationError
from callgate.model.levels import Origin
from callgate.model.source import Failure
from callgate.model.tool import Tool
from callgate.model.visible import brief

EVERY = "*"
"""The operator's declaration for every tool of a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Where the entries of one file come from, and what the operator says of them."""

    origin: Origin
    source: str
    prefix: str = ""
    accept: bool = False
    """Whether what the file declares counts."""
    declarations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])

    def said(self, name: str) -> dict[str, Any]:
        """The operator's own words about a tool, by the name the file has for it."""
        return {**self.declarations.get(EVERY, {}), **self.declarations.get(name, {})}

    def idle(self, names: Iterable[str]) -> list[Failure]:
        """Declarations of tools that the file does not have: whoever wrote them believes in them."""
        unknown = self.declarations.keys() - {EVERY, *names}
        return [Failure(brief(name), "it is declared here, and the file has no such tool") for name in sorted(unknown)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One tool of a file."""

    name: str
    description: str
    schema: dict[str, Any] | None
    claims: Mapping[str, Any]
    handler: Found


def make_entry_tool(entry: Entry, ground: Ground) -> Tool:
    """An entry as a tool; one without a handler is there, and unavailable.

    Raises:
        ConfigurationError: Its name, its schema or its declaration cannot be.
    """
    name = f"{ground.prefix}.{entry.name}" if ground.prefix else entry.name
    said = ground.said(entry.name)
    with about(name):
        counted = {**_marked(entry), **entry.claims} if ground.accept else tightening(entry.claims)
        own = {
            "name": name,
            "description": entry.description,
            "source": ground.origin,
            "source_name": ground.source,
            "tags": (f"registry:{ground.source}", *entry.claims.get("tags", ())),
            "input_schema": entry.schema,
        }
        declaration = declare(**{**counted, **own, **said})
        tool = _make(entry, declaration)
        if ground.accept or DECLARING & said.keys():
            return tool
        # Shown to whoever declares it, and not believed.
        hint = {"destructiveHint": True} if entry.claims.get("destructive") is True else {}
        return replace(tool, declared=False, claims=read_mapping("claims", {**entry.claims, **hint}))


def _marked(entry: Entry) -> Mapping[str, Any]:
    """What `@tool` says over the handler itself."""
    function = entry.handler.function
    marked = None if function is None else marked_declaration(function)
    return {} if marked is None else marked.stated


def _make(entry: Entry, declaration: Declaration) -> Tool:
    function, missing = entry.handler
    if function is not None:
        try:
            wrong = disagreement(function, entry.schema) if entry.schema is not None else None
            if wrong is None:
                return make_function_tool(function, declaration)
        except ConfigurationError as error:
            wrong = error.message
        missing = wrong
    return _without_handler(declaration, missing, function=function)


def _without_handler(declaration: Declaration, missing: str, *, function: Callable[..., Any] | None) -> Tool:
    schema = declaration.input_schema or {"type": "object"}
    compiled = compile_schema(schema, limit=declaration.max_argument_bytes)
    parts = Parts(
        original=function,
        handler=None,
        is_async=False,
        input_schema=compiled.schema,
        validator=compiled.validator,
        code=function,
    )
    return assemble(declaration.with_more({"unavailable": missing, "isolation": "thread"}), parts)
