"""One tool of a server as a tool of the gate: its name, words and schemas as they are, declared by the operator."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from callgate.adapters.assemble import Parts, assemble
from callgate.adapters.declare import declare
from callgate.adapters.json_schema import compile_output, compile_schema
from callgate.adapters.mcp.annotations import tighten
from callgate.adapters.mcp.content import structured_check
from callgate.errors import ConfigurationError
from callgate.model.canonical import NotCanonical, dumps
from callgate.model.levels import Effect, Origin
from callgate.model.naming import check_name, snake_case
from callgate.model.tool import Arguments, Tool
from callgate.model.tool_context import ToolContext
from callgate.model.visible import brief, one_line

if TYPE_CHECKING:
    from mcp_types import Tool as Listed

CONNECT = "mcp:connect"
_SHOWN_TO_NOBODY = {"meta", "icons"}
"""Of a listed tool: neither a model nor a person reads it here, and some servers write the time into it."""
Declarations = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """The server a tool is of."""

    name: str
    prefix: str
    connector: str
    place: str
    """What stands for the code of its tools: the command, or the URL."""
    declared: Declarations
    send: Callable[[Request], Awaitable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A call of a tool, as it was when the tool was listed."""

    tool: str
    """The server's own name."""
    digest: str
    arguments: Arguments
    context: ToolContext
    repeatable: bool
    """Whether it may be sent twice: it only reads, or twice is once."""


def make_tool(listed: Listed, home: Home) -> tuple[Tool, list[str]]:
    """The tool, and where the server's claims made it stricter than it is declared.

    Raises:
        ConfigurationError: Its name or one of its schemas cannot be used.
    """
    digest = definition_digest(listed)
    stated = declaration_of(listed.name, home.declared)
    fields, changed = tighten(stated or {}, listed.annotations)
    compiled = compile_schema(listed.input_schema, limit=declare().max_argument_bytes)
    output = None if listed.output_schema is None else compile_output(listed.output_schema)
    declaration = declare(
        **{
            **fields,
            "scopes": {CONNECT, *fields.get("scopes", ())},
            "name": tool_name(listed.name, home.prefix),
            "description": listed.description or "",
            "connector": home.connector,
            "source": Origin.MCP,
            "source_name": home.name,
            "tags": [f"mcp_server:{home.name}"],
            "config_ref": f"mcp_servers.{home.name}.declare",
        }
    )
    repeatable = declaration.idempotent or Effect.READ_ONLY in declaration.effects
    handler = _handler(listed.name, digest=digest, home=home, repeatable=repeatable)
    parts = Parts(
        original=None,
        handler=handler,
        is_async=True,
        input_schema=compiled.schema,
        validator=compiled.validator,
        code=handler,
        output_schema=None if output is None else output[0],
        output_check=None if output is None else structured_check(output[1]),
        marks_effect=True,
    )
    made = assemble(declaration, parts)
    code = hashlib.sha256(dumps([home.place, digest])).hexdigest()
    tool = dataclasses.replace(
        made,
        code_digest=code,
        declared=stated is not None,
        claims=_claims(listed),
        foreign_name=listed.name,
    )
    return tool, changed


def _claims(listed: Listed) -> dict[str, Any]:
    """What the server says of the tool, for a person who reviews it."""
    said = listed.annotations
    return {} if said is None else said.model_dump(mode="json", by_alias=True, exclude_none=True)


def tool_name(name: str, prefix: str) -> str:
    """The gate's name of a server's tool.

    Raises:
        ConfigurationError: The name hides something, or nothing of it can be one.
    """
    if one_line(name) != name:
        raise ConfigurationError(f"the name {brief(name)!r} has hidden characters or line breaks in it")
    return check_name(f"{prefix}.{snake_case(name)}")


def declaration_of(name: str, declared: Declarations) -> Mapping[str, Any] | None:
    """What the operator declares of a tool: under its exact name, else under the first glob that fits."""
    if name in declared:
        return declared[name]
    return next((fields for pattern, fields in declared.items() if fnmatchcase(name, pattern)), None)


def definition_digest(listed: Listed) -> str:
    """Changes with anything the server says about the tool that anybody reads.

    Raises:
        ConfigurationError: What it says is not JSON that has one form.
    """
    try:
        return hashlib.sha256(
            dumps(listed.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=_SHOWN_TO_NOBODY))
        ).hexdigest()
    except NotCanonical as error:
        raise ConfigurationError(f"{brief(listed.name)!r} is not plain JSON: {error}") from None


def _handler(
    name: str, *, digest: str, home: Home, repeatable: bool
) -> Callable[[Arguments, ToolContext], Awaitable[Any]]:
    async def call(arguments: Arguments, context: ToolContext) -> Any:
        return await home.send(
            Request(tool=name, digest=digest, arguments=arguments, context=context, repeatable=repeatable)
        )

    return call
