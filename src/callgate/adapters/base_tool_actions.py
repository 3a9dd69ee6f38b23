"""From a BaseTool to one `Tool` per action."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, cast

from callgate.adapters.assemble import Parts, about, assemble
from callgate.adapters.base_tool import BaseTool, ToolCallContext
from callgate.adapters.call_secrets import running
from callgate.adapters.declare import Declaration, declare
from callgate.adapters.docstrings import read_docstring
from callgate.adapters.fields import guess
from callgate.adapters.json_schema import compile_schema
from callgate.adapters.tool_result import unpack
from callgate.errors import ConfigurationError
from callgate.model.naming import is_name_part
from callgate.model.tool import Arguments, Handler, Tool
from callgate.model.tool_context import ToolContext
from callgate.model.visible import brief
from callgate.ports import SecretsStore

_ANYTHING = {"type": "object"}


def construct(kind: type[BaseTool], secrets: SecretsStore | None) -> BaseTool:
    """An instance of a class of tools, with its secrets.

    Raises:
        ConfigurationError: It takes more than secrets.
        SecretsClosed: It asked for a secret while it was made.
    """
    if inspect.isabstract(kind):
        missing = ", ".join(sorted(kind.__abstractmethods__))
        raise ConfigurationError(f"{kind.__qualname__} does not implement {missing}")
    try:
        inspect.signature(kind).bind(secrets)
    except TypeError:
        message = f"{kind.__qualname__} needs more than secrets to be made; add an instance"
        raise ConfigurationError(message) from None
    return kind(secrets)


def make_action_tools(thing: BaseTool, declaration: Declaration) -> list[Tool]:
    """One tool per action, in the order they are declared.

    Raises:
        ConfigurationError: An action's name, schema or declaration cannot be used.
    """
    actions = _actions(thing)
    for table in ("descriptions", "risk_map", "effects", "declarations"):
        _refuse_unknown_actions(thing, table, actions=actions)
    tools: list[Tool] = []
    for action, schema in actions.items():
        with about(f"{brief(thing.tool_name)}.{action}"):
            tools.append(_make(thing, action, schema=schema, declaration=declaration))
    return tools


def _actions(thing: BaseTool) -> Mapping[str, Mapping[str, Any]]:
    actions = thing.actions or dict.fromkeys(thing.capabilities, _ANYTHING)
    if not actions:
        raise ConfigurationError(f"{type(thing).__qualname__} declares no actions", key="actions")
    for action in actions:
        if not is_name_part(action):
            raise ConfigurationError(
                f"{brief(str(action))!r} is no name for an action: write snake_case", key="actions"
            )
    return actions


def _refuse_unknown_actions(thing: BaseTool, table: str, *, actions: Mapping[str, Any]) -> None:
    """A risk for an action that does not exist is a risk that somebody believes in."""
    entries = getattr(thing, table)
    for action in cast("Mapping[str, Any]", entries) if isinstance(entries, Mapping) else ():
        if action not in actions:
            hint = guess(str(action), actions)
            raise ConfigurationError(
                f"{type(thing).__qualname__} has no action {brief(str(action))!r}{hint}", key=table
            )


def _make(thing: BaseTool, action: str, *, schema: Mapping[str, Any], declaration: Declaration) -> Tool:
    declared = declare(**_fields(thing, action)).with_more(declaration.stated)
    name = f"{thing.tool_name}.{action}"
    declared = declared.with_more({} if "name" in declaration.stated else {"name": name})
    compiled = compile_schema(declared.input_schema or schema, limit=declared.max_argument_bytes)
    if _can_preview(thing) and declared.hooks.preview is None:
        declared = declared.with_more({"preview": _previewer(thing, action, scopes=declared.scopes)})
    return assemble(
        declared,
        Parts(
            original=thing,
            handler=_handler(thing, action, scopes=declared.scopes),
            is_async=_is_async(thing),
            input_schema=compiled.schema,
            validator=compiled.validator,
            code=thing.execute,
        ),
    )


def _fields(thing: BaseTool, action: str) -> dict[str, Any]:
    effects: Any = thing.effects
    if isinstance(effects, Mapping):
        effects = cast("Mapping[str, Any]", effects).get(action)
    words = thing.descriptions.get(action) or read_docstring(type(thing).__doc__ or "").description
    return {
        "description": words,
        "connector": thing.connector_id,
        "capabilities": thing.capabilities,
        "scopes": thing.scopes_required,
        "config_ref": thing.config_ref,
        "effects": effects,
        "risk": thing.risk_map.get(action, thing.risk_default),
        **thing.declarations.get(action, {}),
    }


def _handler(thing: BaseTool, action: str, *, scopes: frozenset[str]) -> Handler:
    if _is_async(thing):

        async def awaited(arguments: Arguments, tool_context: ToolContext) -> Any:
            with running(tool_context):
                return unpack(await thing.execute(action, arguments, _seen(tool_context, scopes)))

        return awaited

    def plain(arguments: Arguments, tool_context: ToolContext) -> Any:
        with running(tool_context):
            result = thing.execute(action, arguments, _seen(tool_context, scopes))
            return _later(result, tool_context) if inspect.isawaitable(result) else unpack(result)

    return plain


async def _later(result: Any, tool_context: ToolContext) -> Any:
    with running(tool_context):
        return unpack(await result)


def _is_async(thing: BaseTool) -> bool:
    return inspect.iscoroutinefunction(thing.execute)


def _can_preview(thing: BaseTool) -> bool:
    return type(thing).preview is not BaseTool.preview


def _previewer(thing: BaseTool, action: str, *, scopes: frozenset[str]) -> Callable[[Arguments, ToolContext], Any]:
    def preview(arguments: Arguments, tool_context: ToolContext) -> Any:
        return thing.preview(action, arguments, _seen(tool_context, scopes))

    return preview


def _seen(tool_context: ToolContext, scopes: frozenset[str]) -> ToolCallContext:
    context = tool_context.context
    return ToolCallContext(
        trace_id=context.trace_id,
        task_id=context.task_id,
        step_id=context.step_id,
        idempotency_key=tool_context.key,
        autonomy_level=None if context.autonomy is None else context.autonomy.label,
        granted_scopes=scopes if context.scopes is None else context.scopes,
        tool_context=tool_context,
    )
