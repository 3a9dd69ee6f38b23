"""Handlers: from final arguments and a `ToolContext` to the call as the function wants it. Nothing is run here."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from callgate.adapters.parameters import Parameters
from callgate.adapters.target import Target
from callgate.model.tool import Arguments, Handler

Convert = Callable[[Arguments], dict[str, Any]]


def make_handler(
    target: Target,
    parameters: Parameters,
    *,
    to_python: Convert | None,
    to_json: Callable[[Any], Any] | None,
) -> Handler:
    """The handler of a function: a coroutine function exactly if the function must be awaited.

    Args:
        target: What is called.
        parameters: How it wants to be called.
        to_python: Makes Python values of the arguments, where JSON values will not do.
        to_json: Makes JSON of what is returned, where that is not known to be JSON.
    """
    invoke = _make_invoke(target.call, parameters, to_python=to_python)
    return _awaited(invoke, to_json) if target.is_async else _plain(invoke, to_json)


def _make_invoke(call: Callable[..., Any], parameters: Parameters, *, to_python: Convert | None) -> Handler:
    context, positional = parameters.context, parameters.positional
    if context is None and not positional and to_python is None:
        # Arguments travel as keywords of the function and of nothing else, so no name can collide with ours.
        return lambda arguments, _tool_context: call(**arguments)

    def invoke(arguments: Arguments, tool_context: Any) -> Any:
        values = dict(arguments) if to_python is None else to_python(arguments)
        if context is not None:
            values[context] = tool_context
        return call(*[values.pop(name) for name in positional if name in values], **values)

    return invoke


def _awaited(invoke: Handler, to_json: Callable[[Any], Any] | None) -> Handler:
    async def handler(arguments: Arguments, tool_context: Any) -> Any:
        output = await invoke(arguments, tool_context)
        return output if to_json is None else to_json(output)

    return handler


def _plain(invoke: Handler, to_json: Callable[[Any], Any] | None) -> Handler:
    if to_json is None:
        return invoke

    def handler(arguments: Arguments, tool_context: Any) -> Any:
        output = invoke(arguments, tool_context)
        # A function that hands on another's coroutine: whoever runs handlers awaits it.
        return _later(output, to_json) if inspect.isawaitable(output) else to_json(output)

    return handler


async def _later(output: Any, to_json: Callable[[Any], Any]) -> Any:
    return to_json(await output)
