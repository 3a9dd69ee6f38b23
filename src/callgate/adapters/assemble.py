"""The last step of every adapter: a declaration and what was compiled become one `Tool`."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from callgate.adapters.declare import Declaration
from callgate.adapters.digest import code_digest
from callgate.adapters.fields import HOOKS
from callgate.adapters.json_schema import compile_output
from callgate.errors import ConfigurationError, InvalidArguments
from callgate.model.ids import uuid7
from callgate.model.naming import check_name
from callgate.model.tool import Handler, OutputCheck, Tool, Validator


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What an adapter made of the thing it was given."""

    original: Any
    handler: Handler | None
    """None: its code is missing, and the declaration says why it is unavailable."""
    is_async: bool
    input_schema: dict[str, Any]
    validator: Validator
    code: Any
    """What runs, for the digest."""
    output_schema: dict[str, Any] | None = None
    output_check: OutputCheck | None = None
    marks_effect: bool = False
    runs_elsewhere: bool = False
    """Whether another process could run it: a function that takes JSON by its own names."""


def assemble(declaration: Declaration, parts: Parts) -> Tool:
    """Make the tool.

    Raises:
        ConfigurationError: It has no name, or an example of its own does not fit its schema.
    """
    name = check_name(declaration.name)
    if declaration.isolation == "process" and not parts.runs_elsewhere:
        message = f"{name} cannot run in a process: only functions whose parameters are plain JSON types can"
        raise ConfigurationError(message, key="isolation")
    _try_examples(declaration, parts.validator)
    schema, check = _output(declaration, parts)
    return Tool(
        id=declaration.id or uuid7(),
        name=name,
        description=declaration.description or "",
        input_schema=parts.input_schema,
        handler=parts.handler,
        validator=parts.validator,
        output_schema=schema,
        output_check=check,
        is_async=parts.is_async,
        connector=declaration.connector or name.partition(".")[0],
        tags=tuple(dict.fromkeys((f"source:{declaration.source.value}", *declaration.tags))),
        marks_effect=parts.marks_effect if declaration.marks_effect is None else declaration.marks_effect,
        code_digest=code_digest(parts.code, *_hook_code(declaration)),
        original=parts.original,
        **{field: getattr(declaration, field) for field in _AS_DECLARED},
    )


_MADE_HERE = frozenset(
    {"id", "name", "description", "input_schema", "output_schema", "connector", "tags", "marks_effect"}
)
_AS_DECLARED = tuple(
    field.name
    for field in dataclasses.fields(Tool)
    if field.init and field.name in Declaration.__slots__ and field.name not in _MADE_HERE
)


def _hook_code(declaration: Declaration) -> list[Any]:
    """The functions beside the handler decide about calls, so another check is another tool."""
    return [declaration.stated[key] for key in sorted(HOOKS) if key in declaration.stated]


def _output(declaration: Declaration, parts: Parts) -> tuple[dict[str, Any] | None, OutputCheck | None]:
    schema, check = parts.output_schema, parts.output_check
    if declaration.output_schema is not None:
        schema, check = compile_output(declaration.output_schema)
    elif declaration.check_output and schema is not None and check is None:
        schema, check = compile_output(schema)
    return schema, None if declaration.check_output is False else check


def _try_examples(declaration: Declaration, validate: Validator) -> None:
    for number, example in enumerate(declaration.examples, 1):
        try:
            validate(example)
        except InvalidArguments as error:
            raise ConfigurationError(f"example {number} is refused by its own tool: {error}", key="examples") from None


@contextmanager
def about(name: str | None) -> Generator[None]:
    """Name the tool in whatever is wrong with it."""
    try:
        yield
    except ConfigurationError as error:
        raise ConfigurationError(f"{name}: {error}") from error


def named(declaration: Declaration, name: str, *, description: str) -> Declaration:
    """The declaration with what the thing itself says, where the author said nothing."""
    more: dict[str, Any] = {}
    if declaration.name is None:
        more["name"] = name
    if declaration.description is None and description:
        more["description"] = description
    return declaration.with_more(more)
