"""Objects that satisfy the Tool protocol: a name, a description, an input_schema, and functions.

execute(payload, context)              the work; sync or async; a plain value or {output, error, duration_ms}
check_permissions(payload, context)    raises PermissionError to refuse; sync or async
is_read_only(), is_concurrency_safe()  what it says about itself

One that only reads and takes a path reads files: it needs `fs:read` unless scopes are declared, and is confined.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any

from callgate.adapters.assemble import Parts, about, assemble, named
from callgate.adapters.declare import Declaration
from callgate.adapters.json_schema import compile_schema
from callgate.adapters.tool_result import unpack
from callgate.errors import ConfigurationError
from callgate.model.context import Context
from callgate.model.levels import FOREIGN, Effect
from callgate.model.shapes import as_mapping
from callgate.model.tool import Arguments, Handler, Tool
from callgate.model.tool_context import ToolContext
from callgate.policy.survey import Kind, kind_of_name

Execute = Callable[[Arguments, Any], Any]
_READS_FILES = "fs:read"


def satisfies_protocol(thing: Any) -> bool:
    """Whether a thing has what every tool of the protocol has."""
    return (
        not isinstance(thing, type)
        and isinstance(getattr(thing, "name", None), str)
        and isinstance(getattr(thing, "input_schema", None), dict)
        and callable(getattr(thing, "execute", None))
    )


def make_protocol_tool(thing: Any, declaration: Declaration) -> Tool:
    """An object of the protocol as a tool. What it says about itself counts where the declaration is silent.

    Raises:
        ConfigurationError: Its schema, its name or one of its functions cannot be used.
    """
    declaration = _with_own_words(thing, declaration)
    execute = _two_arguments(thing.execute, "execute")
    with about(declaration.name):
        compiled = compile_schema(declaration.input_schema or thing.input_schema, limit=declaration.max_argument_bytes)
        parts = Parts(
            original=thing,
            handler=_handler(execute),
            is_async=inspect.iscoroutinefunction(execute) or _has_async_call(execute),
            input_schema=compiled.schema,
            validator=compiled.validator,
            code=execute,
        )
        return assemble(declaration, parts)


def _with_own_words(thing: Any, declaration: Declaration) -> Declaration:
    declaration = named(declaration, thing.name, description=str(getattr(thing, "description", "") or ""))
    more: dict[str, Any] = {}
    # A foreign object's word about itself never loosens; only whoever adds it can say so.
    trusted = declaration.source not in FOREIGN
    if trusted and "effects" not in declaration.stated and _says_yes(thing, "is_read_only"):
        more["effects"] = Effect.READ_ONLY
    if trusted and "concurrency_safe" not in declaration.stated and hasattr(thing, "is_concurrency_safe"):
        more["concurrency_safe"] = _says_yes(thing, "is_concurrency_safe")
    check = getattr(thing, "check_permissions", None)
    if declaration.hooks.check is None and check is not None:
        more["check"] = _check(_two_arguments(check, "check_permissions"), name=str(declaration.name))
    declared = declaration.with_more(more)
    if Effect.READ_ONLY in declared.effects and "scopes" not in declared.stated and _takes_a_path(thing.input_schema):
        # The protocol has no word for scopes, and without one a path that is only read is the tool's own affair.
        return declared.with_more({"scopes": _READS_FILES})
    return declared


def _takes_a_path(schema: dict[str, Any]) -> bool:
    names = as_mapping(schema.get("properties")) or {}
    return any(kind_of_name(str(name)) in {Kind.PATH, Kind.PLACE} for name in names)


def _says_yes(thing: Any, question: str) -> bool:
    """Only a plain True is a yes."""
    answer = getattr(thing, question, None)
    try:
        answer = answer() if callable(answer) else answer
    except Exception as error:
        raise ConfigurationError(f"{question}() of {thing.name} failed: {type(error).__name__}") from error
    if inspect.iscoroutine(answer):
        answer.close()
        raise ConfigurationError(f"{question}() of {thing.name} must not be async: it is asked once, on adding")
    return answer is True


def _two_arguments(function: Any, name: str) -> Execute:
    if not callable(function):
        raise ConfigurationError(f"{name} must be a function of (payload, context)")
    try:
        inspect.signature(function).bind({}, None)
    except TypeError:
        raise ConfigurationError(f"{name} must take (payload, context)") from None
    except ValueError:
        # A function of C without a signature: it will say so itself.
        return function
    return function


def _has_async_call(function: Any) -> bool:
    return inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004 - async or not is asked


def _handler(execute: Execute) -> Handler:
    if inspect.iscoroutinefunction(execute) or _has_async_call(execute):

        async def awaited(arguments: Arguments, tool_context: Any) -> Any:
            return unpack(await execute(arguments, tool_context))

        return awaited

    def plain(arguments: Arguments, tool_context: Any) -> Any:
        result = execute(arguments, tool_context)
        return _later(result) if inspect.isawaitable(result) else unpack(result)

    return plain


async def _later(result: Any) -> Any:
    return unpack(await result)


def _check(check: Execute, *, name: str) -> Callable[[Arguments, Context], Any]:
    async def checked(arguments: Arguments, context: Context) -> Any:
        answer = check(arguments, _seen(context, name))
        return await answer if inspect.isawaitable(answer) else answer

    return checked


def _seen(context: Context, name: str) -> ToolContext:
    """The protocol's context: a session_id and a working directory, and no secrets before the call may run."""
    directory = os.path.realpath(context.working_directory or ".")
    return ToolContext(context=context, tool=name, call_id="", working_directory=directory)
